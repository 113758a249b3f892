"""A class of 60 as Canvas and as Moodle download it, with everything that goes wrong in one."""

from __future__ import annotations

import stat
import subprocess
import sys
import zipfile

import pytest

from autograder.importing import import_submissions

PS = "ps1_numpy_attention"
NAMES = ["Ann O'Neill", "李小明", "José da Silva", "Zoë_Müller", "=SUM(A1)", "Ann O'Neill"]


def archive(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFREG | 0o644) << 16
            if content.startswith("-> "):
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
                content = content.removeprefix("-> ")
            target.writestr(info, content)
    return path


def tree(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8", "replace")
        for path in folder.rglob("*")
        if path.is_file()
    }


def canvas_class():
    """(members of the archive, student → what is to be graded)."""
    members, expected = [], {}
    for number in range(60):
        who = "".join(c for c in NAMES[number % 6] if c.isalnum()).lower()
        student, attempt = 1000 + number, 9000 + number
        late = "LATE_" if number % 7 == 0 else ""
        suffix = ".py" if number % 3 == 0 else ".ipynb"
        again = f"-{number % 4}" if number % 4 else ""
        text = f"of {student}"
        members.append((f"{who}_{late}{student}_{attempt}_{PS}{again}{suffix}", text))
        if number % 10 == 5:  # an earlier attempt, which Canvas keeps when there are several files
            members.append((f"{who}_{student}_{attempt - 500}_{PS}{suffix}", "too early"))
        expected[f"{student}/{PS}/{PS}{suffix}"] = text
    return members, expected


def moodle_class():
    members, expected = [], {}
    for number in range(60):
        who, student = NAMES[number % 6], 70 + number
        suffix = ".py" if number % 3 == 0 else ".ipynb"
        name = f"{PS}{suffix}" if number % 5 else f"{PS.upper()} ({number // 5}){suffix}"
        joint = "_/" if number % 2 else "_"
        text = f"of {student}"
        members.append((f"{who}_{student}_assignsubmission_file{joint}{name}", text))
        if number % 10 == 5:  # a browser's copy, uploaded once more
            again = f"{PS} (99){suffix}"
            members[-1] = (members[-1][0], "too early")
            members.append((f"{who}_{student}_assignsubmission_file{joint}{again}", text))
        expected[f"{who}_{student}/{PS}/{PS}{suffix}"] = text
    return members, expected


# What a student, or whoever made the archive, has put in; with the reason that is reported.
BAD_CANVAS = [
    (f"../../../eve_1_2_{PS}.py", "evil", "its path leads out of the archive"),
    (f"/tmp/eve_1_2_{PS}.py", "evil", "its path leads out of the archive"),
    (f"link_2000_1_{PS}.py", "-> /etc/passwd", "not a regular file"),
    ("eve_2001_2_notes.pdf", "x", "neither a notebook nor a module (.pdf)"),
    ("eve_2001_3_all.zip", "x", "neither a notebook nor a module (.zip)"),
    ("eve_2001_4_other.py", "x", f"not called {PS}.ipynb or .py"),
    # a name that would be somebody else's, were the last place that fits taken
    (f"eve_2001_5_x_1000_9999_{PS}.py", "x", f"not called {PS}.ipynb or .py"),
    ("index.html", "x", "not a name that Canvas gives (name_user_submission_file)"),
]
BAD_MOODLE = [
    (f"../../Eve_1_assignsubmission_file/{PS}.py", "evil", "its path leads out of the archive"),
    (f"..\\..\\Eve_9_assignsubmission_file\\{PS}.py", "e", "its path leads out of the archive"),
    (f"Eve_2_assignsubmission_file/{PS}.py", "-> ../../../x", "not a regular file"),
    ("Eve_3_assignsubmission_file/notes.pdf", "x", "neither a notebook nor a module (.pdf)"),
    (
        f"Eve_3_assignsubmission_file_Ann O'Neill_70_assignsubmission_file_{PS}.py",
        "x",
        f"not called {PS}.ipynb or .py",
    ),
    (
        f"Eve_3_assignsubmission_onlinetext/{PS}.py",
        "x",
        "not a name that Moodle gives (Full Name_number_assignsubmission_file)",
    ),
]


@pytest.fixture
def outside(tmp_path):
    """The folder around the course, with its content before."""
    (tmp_path / "course" / "submitted").mkdir(parents=True)
    (tmp_path / "keep.txt").write_text("as it was", "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "made", "bad", "earlier"),
    [("canvas", canvas_class, BAD_CANVAS, 6), ("moodle", moodle_class, BAD_MOODLE, 6)],
    ids=["canvas", "moodle"],
)
def test_a_class_of_sixty(outside, kind, made, bad, earlier):
    members, expected = made()
    source = archive(
        outside / "submissions.zip", [*((name, text) for name, text, _ in bad), *members]
    )
    before = tree(outside)
    submitted = outside / "course" / "submitted"
    report = import_submissions(kind, source, PS, submitted)
    assert len(report.imported) == 60
    assert tree(submitted) == expected
    after = {path: text for path, text in tree(outside).items() if "submitted/" not in path}
    assert after == before
    assert not any(path.is_symlink() for path in outside.rglob("*"))
    # each that was left out is in the report, with the reason
    reasons = {name.replace("\\", "/"): why for name, _, why in bad}
    told = dict(report.left_out)
    assert {name: told[name] for name in reasons} == reasons
    assert list(told.values()).count("there is a later attempt") == earlier
    assert len(told) == len(bad) + earlier
    # and so are those who were late, and those whom names would mix up
    notes = [note for _, note in report.noted]
    assert notes.count("handed in late") == (9 if kind == "canvas" else 0)
    assert sum("has the name of another student" in note for note in notes) == 60


def test_again_without_and_with_replace(outside):
    members, expected = moodle_class()
    source = archive(outside / "submissions.zip", members)
    submitted = outside / "course" / "submitted"
    import_submissions("moodle", source, PS, submitted)
    again = import_submissions("moodle", source, PS, submitted)
    assert again.imported == {}
    assert sum("give --replace" in why for _, why in again.left_out) == 60
    replaced = import_submissions("moodle", source, PS, submitted, replace=True)
    assert len(replaced.imported) == 60
    assert tree(submitted) == expected


def test_the_command_lists_each(outside):
    members, _ = canvas_class()
    bad = [(name, text) for name, text, _ in BAD_CANVAS]
    source = archive(outside / "submissions.zip", [*bad, *members])
    target = outside / "course" / "submitted"
    done = subprocess.run(
        [sys.executable, "-m", "autograder.cli", "import", "canvas", source, PS,
         "--submitted", target],
        capture_output=True, encoding="utf-8", check=True,
    )  # fmt: skip
    assert "Imported 60 files of 60 students" in done.stdout
    for name, _, why in BAD_CANVAS:
        assert f"left out: {name}: {why}" in done.stdout
    assert done.stdout.count(": handed in late") == 9


class TestGradescope:
    PEOPLE = """
submission_11:
  :submitters:
  - :name: Ann
    :sid: s-1
    :email: ann@x.edu
submission_12:
  :submitters:
  - :name: Bo
    :sid:
    :email: bo@x.edu
submission_13:
  :submitters: []
"""

    @pytest.mark.parametrize("around", ["", "assignment_5_export/"])
    def test_by_student_number_else_by_address(self, outside, around):
        members = [
            (f"{around}submission_11/{PS}.py", "ann"),
            (f"{around}submission_12/work/{PS}.ipynb", "bo"),
            (f"{around}submission_13/{PS}.py", "nobody"),
            (f"{around}submission_13/notes.txt", "x"),
            (f"{around}submission_metadata.yml", self.PEOPLE),
        ]
        source = archive(outside / "export.zip", members)
        report = import_submissions("gradescope", source, PS, outside / "course" / "submitted")
        assert set(report.imported) == {"s-1", "bo@x.edu", "submission_13"}
        assert [why for _, why in report.left_out] == ["neither a notebook nor a module (.txt)"]

    @pytest.mark.parametrize(
        "people", ["", "[", "- 1", "submission_11: 3", "a: {':submitters': 1}"]
    )
    def test_without_knowing_who(self, outside, people):
        members = [(f"submission_11/{PS}.py", "x"), ("submission_metadata.yml", people)]
        source = archive(outside / "export.zip", members)
        report = import_submissions("gradescope", source, PS, outside / "course" / "submitted")
        assert set(report.imported) == {"submission_11"}


def test_two_folders_of_one_name(outside):
    """Which is whose cannot be told: the first counts, and the other is reported."""
    for group in ("a", "b"):
        (outside / "export" / group / "ann").mkdir(parents=True)
        (outside / "export" / group / "ann" / f"{PS}.py").write_text(group, "utf-8")
    submitted = outside / "course" / "submitted"
    report = import_submissions("folders", outside / "export", PS, submitted)
    assert tree(submitted) == {f"ann/{PS}/{PS}.py": "a"}
    assert report.left_out == ((f"b/ann/{PS}.py", f"the same student's as a/ann/{PS}.py"),)
