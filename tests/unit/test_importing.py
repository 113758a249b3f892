"""Exports of an LMS into nbgrader's layout; tricks in archives are left out with a reason."""

import os
import stat
import zipfile

import pytest

from autograder import archives
from autograder.importing import CannotImport, import_submissions, student_folder

PS = "ps1"


def make_zip(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return path


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def submitted(tmp_path):
    return tmp_path / "submitted"


class TestCanvas:
    def test_names(self, tmp_path, submitted):
        source = make_zip(
            tmp_path / "submissions.zip",
            [
                ("doejane_1001_55_ps1.ipynb", "jane"),
                ("muellerjoerg_LATE_1002_56_ps1.py", "jörg"),
                ("wang_1003_57_notes.txt", "no"),
                ("readme.md", "no"),
            ],
        )
        report = import_submissions("canvas", source, PS, submitted)
        assert tree(submitted) == {"1001/ps1/ps1.ipynb": "jane", "1002/ps1/ps1.py": "jörg"}
        assert dict(report.left_out) == {
            "wang_1003_57_notes.txt": "neither a notebook nor a module (.txt)",
            "readme.md": "not a name that Canvas gives (name_user_submission_file)",
        }

    @pytest.mark.parametrize("order", [1, -1])
    def test_the_last_attempt_counts(self, tmp_path, submitted, order):
        names = [("doe_1_55_ps1-2.py", "late"), ("doe_1_55_ps1.py", "first")][::order]
        report = import_submissions("canvas", make_zip(tmp_path / "a.zip", names), PS, submitted)
        assert tree(submitted) == {"1/ps1/ps1.py": "late"}
        assert report.left_out == (("doe_1_55_ps1.py", "there is a later attempt"),)


class TestMoodle:
    def test_with_and_without_folders(self, tmp_path, submitted):
        source = make_zip(
            tmp_path / "moodle.zip",
            [
                ("Jane Doe_77_assignsubmission_file_/ps1.ipynb", "jane"),
                ("王小明_78_assignsubmission_file_ps1.py", "wang"),
                ("Ann_79_assignsubmission_file/PS1 (3).ipynb", "ann"),
                ("Ann_79_assignsubmission_onlinetext/onlinetext.html", "no"),
            ],
        )
        report = import_submissions("moodle", source, PS, submitted)
        assert tree(submitted) == {
            "Jane Doe_77/ps1/ps1.ipynb": "jane",
            "王小明_78/ps1/ps1.py": "wang",
            "Ann_79/ps1/ps1.ipynb": "ann",
        }
        assert len(report.left_out) == 1


class TestFolders:
    def test_layouts(self, tmp_path, submitted):
        source = tmp_path / "export"
        for path in ("a/ps1.py", "b/ps1/ps1.ipynb", "c/other.py"):
            (source / path).parent.mkdir(parents=True)
            (source / path).write_text(path, "utf-8")
        report = import_submissions("folders", source, PS, submitted)
        assert set(tree(submitted)) == {"a/ps1/ps1.py", "b/ps1/ps1.ipynb"}
        assert report.left_out == (("c/other.py", "not called ps1.ipynb or .py"),)

    def test_what_is_there_is_kept(self, tmp_path, submitted):
        source = tmp_path / "export"
        (source / "a").mkdir(parents=True)
        (source / "a" / "ps1.py").write_text("new", "utf-8")
        old = submitted / "a" / "ps1" / "ps1.py"
        old.parent.mkdir(parents=True)
        old.write_text("old", "utf-8")
        report = import_submissions("folders", source, PS, submitted)
        assert old.read_text("utf-8") == "old"
        assert "give --replace" in report.left_out[0][1]
        import_submissions("folders", source, PS, submitted, replace=True)
        assert old.read_text("utf-8") == "new"

    def test_links_are_not_followed(self, tmp_path, submitted):
        secret = tmp_path / "secret.py"
        secret.write_text("secret", "utf-8")
        (tmp_path / "export" / "a").mkdir(parents=True)
        os.symlink(secret, tmp_path / "export" / "a" / "ps1.py")
        os.symlink(tmp_path, tmp_path / "export" / "b")
        report = import_submissions("folders", tmp_path / "export", PS, submitted)
        assert report.imported == {}
        assert report.left_out == (("a/ps1.py", "not a regular file"),)

    def test_a_link_in_the_way_is_not_written_through(self, tmp_path, submitted):
        victim = tmp_path / "victim"
        victim.write_text("whole", "utf-8")
        (submitted / "a" / "ps1").mkdir(parents=True)
        os.symlink(victim, submitted / "a" / "ps1" / "ps1.py")
        (tmp_path / "export" / "a").mkdir(parents=True)
        (tmp_path / "export" / "a" / "ps1.py").write_text("new", "utf-8")
        import_submissions("folders", tmp_path / "export", PS, submitted, replace=True)
        assert victim.read_text("utf-8") == "whole"


class TestTricks:
    @pytest.mark.parametrize(
        "name",
        [
            "../../evil_1_2_ps1.py",
            "/etc/evil_1_2_ps1.py",
            "..\\..\\evil_1_2_ps1.py",
            "a/../../evil_1_2_ps1.py",
        ],
    )
    def test_paths_that_lead_out(self, tmp_path, submitted, name):
        report = import_submissions(
            "canvas", make_zip(tmp_path / "a.zip", [(name, "x")]), PS, submitted
        )
        assert report.imported == {}
        assert "leads out" in report.left_out[0][1]

    def test_links_in_an_archive(self, tmp_path, submitted):
        link = zipfile.ZipInfo("x_1_2_ps1.py")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        source = make_zip(tmp_path / "a.zip", [(link, "/etc/shadow")])
        report = import_submissions("canvas", source, PS, submitted)
        assert report.left_out == (("x_1_2_ps1.py", "not a regular file"),)

    def test_a_bomb(self, tmp_path, submitted, monkeypatch):
        monkeypatch.setattr(archives, "MAX_FILE", 10_000)
        source = make_zip(tmp_path / "a.zip", [("x_1_2_ps1.py", b"\0" * 1_000_000)])
        report = import_submissions("canvas", source, PS, submitted)
        assert report.left_out == (("x_1_2_ps1.py", "larger than 256 MB"),)

    def test_a_damaged_file_costs_itself(self, tmp_path, submitted):
        source = make_zip(
            tmp_path / "a.zip", [("x_1_2_ps1.py", "damage me" * 50), ("y_3_4_ps1.py", "whole")]
        )
        data = bytearray(source.read_bytes())
        position = data.index(b"x_1_2_ps1.py") + 14
        data[position : position + 8] = b"\xff" * 8
        source.write_bytes(bytes(data))
        report = import_submissions("canvas", source, PS, submitted)
        assert set(report.imported) == {"3"}
        assert "damaged" in report.left_out[0][1]

    def test_too_many_files(self, tmp_path, submitted, monkeypatch):
        monkeypatch.setattr(archives, "MAX_ENTRIES", 1)
        source = make_zip(tmp_path / "a.zip", [("a", "x"), ("b", "x")])
        with pytest.raises(CannotImport, match="import it in parts"):
            import_submissions("canvas", source, PS, submitted)


class TestSources:
    @pytest.mark.parametrize("content", [b"", b"PK", b"not a zip", b"PK\x05\x06" + b"\0" * 18])
    def test_what_is_no_archive(self, tmp_path, submitted, content):
        source = tmp_path / "a.zip"
        source.write_bytes(content)
        try:
            report = import_submissions("canvas", source, PS, submitted)
        except CannotImport as problem:
            assert "name one of these" in str(problem) or "export it again" in str(problem)
        else:
            assert report.imported == {}  # an empty archive

    def test_nothing_there(self, tmp_path, submitted):
        with pytest.raises(CannotImport, match=r"there is no .*; name the folder"):
            import_submissions("canvas", tmp_path / "none.zip", PS, submitted)

    def test_an_unknown_kind(self, tmp_path, submitted):
        with pytest.raises(CannotImport, match="there are: canvas, moodle, gradescope, folders"):
            import_submissions("blackboard", tmp_path, PS, submitted)


@pytest.mark.parametrize(
    "who, folder",
    [
        ("Jane Doe", "Jane Doe"),
        ("../x", "x"),
        ("a/b\\c", "a_b_c"),
        ("..", ""),
        (" . ", ""),
        ("a\x00\x1b[31mb", "a__[31mb"),
        ("x" * 300, "x" * 100),
        ("e\u0301", "é"),
    ],
)
def test_student_folder(who, folder):
    assert student_folder(who) == folder
