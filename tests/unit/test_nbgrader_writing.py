"""Results into nbgrader's gradebook and autograded/: what fails, fails alone and leaves no half."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder import nbgrader_plugin
from autograder.build import build
from autograder.grading import Assignment, grade_submission
from autograder.nbgrader_plugin import (
    NbgraderError,
    folders,
    gradebooks,
    nodes,
    preparing,
    transactions,
)
from tests.e2e.gradebook_rows import rows
from tests.unit.courses import NAME, RIGHT, SQUARED, make_course, submit
from tests.unit.test_evaluation import Fake

STUDENTS = ("ada", "[bob]", "王 小明")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A course, the results of three students, and three gradebooks with autograded/ beside them.

    In empty/ there are no students, in full/ there is everybody, in better/ with `better` results.
    """
    course = make_course(tmp_path_factory.mktemp("writing"))
    build(course)
    config = "c = get_config()\nc.CourseDirectory.course_id = 'attention'\n"
    (course / "nbgrader_config.py").write_text(config, "utf-8")
    for student, text in zip(STUDENTS, (RIGHT, SQUARED, ""), strict=True):
        submit(course, student, text)
    assignment = Assignment.draw(course, NAME, "writing")
    results = [
        grade_submission(assignment, name, course / "submitted" / name / NAME, Fake(), "strong")
        for name in STUDENTS
    ]
    (course / "autograded").mkdir()
    given = {"empty": [], "full": results, "better": better(results)}
    for name, some in given.items():
        nbgrader_plugin.record(course, NAME, some)
        shutil.copytree(course / "autograded", course / name / "autograded")
        shutil.copy(course / "gradebook.db", course / name)
        shutil.rmtree(course / "autograded")
        shutil.copytree(course / "empty" / "autograded", course / "autograded")
        shutil.copy(course / "empty" / "gradebook.db", course)
    return course, results


@pytest.fixture
def written(made, tmp_path, monkeypatch):
    """A course of the test's own in which everybody is written, and the results."""
    from autograder.nbgrader_plugin import release

    course = tmp_path / "course"
    shutil.copytree(made[0], course)
    begin_with(course, "full")
    monkeypatch.setattr(gradebooks, "LOCKED_SECONDS", 0.05)
    monkeypatch.setattr(gradebooks, "back_up", lambda *arguments: None)
    # the same release, which it takes a second to make
    _, books = release._released[made[0], NAME]
    known = {(course, NAME): (release.stamp_of(course, NAME), books)}
    monkeypatch.setattr(release, "_released", known)
    return course, made[1]


def begin_with(course: Path, name: str) -> None:
    """Have one of the gradebooks, with its autograded/."""
    shutil.rmtree(course / "autograded", ignore_errors=True)
    shutil.copytree(course / name / "autograded", course / "autograded")
    shutil.copy(course / name / "gradebook.db", course)


def url(course: Path) -> str:
    return f"sqlite:///{course / 'gradebook.db'}"


def tree(course: Path) -> dict[str, bytes | None]:
    root = course / "autograded"
    found = {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in root.rglob("*")
    }
    # a student's folder may be left empty, where nothing was written for them
    return {name: data for name, data in found.items() if data is not None or os.sep in name}


def state(course: Path):
    return rows(url(course)), tree(course)


def better(results):
    """The same with half a point for everything."""
    return [
        msgspec.structs.replace(
            one,
            exercises=tuple(
                msgspec.structs.replace(item, outcome="failed", score=0.5, feedback="half")
                for item in one.exercises
            ),
        )
        for one in results
    ]


def test_all_students_are_written_whatever_they_are_called(written):
    course, _ = written
    assert {path.name for path in (course / "autograded").iterdir()} == set(STUDENTS)
    assert len(rows(url(course))["submitted_assignment"]) == 3


def test_writing_again_changes_nothing(written):
    course, results = written
    before = state(course)
    nbgrader_plugin.record(course, NAME, results)
    assert state(course) == before


class Broken(Exception):
    pass


def broken(*arguments, **options):
    raise Broken


class TestNothingIsHalf:
    @pytest.mark.parametrize(
        "where",
        ["folders.Fresh.fill", "folders.Fresh.put", "rows._write_grades", "rows._write_comments"],
    )
    @pytest.mark.parametrize("before", ["empty", "full"])
    def test_what_fails_leaves_all_as_it_was(self, written, monkeypatch, where, before):
        course, results = written
        begin_with(course, before)
        with monkeypatch.context() as patch:
            patch.setattr(f"autograder.nbgrader_plugin.{where}", broken)
            with pytest.raises(NbgraderError, match=r"for \w+: \[bob\] \(Broken: .*ada"):
                nbgrader_plugin.record(course, NAME, better(results))
        assert state(course) == state(course / before)
        nbgrader_plugin.record(course, NAME, better(results))
        assert state(course) == state(course / "better")

    @pytest.mark.parametrize("before", ["empty", "full"])
    def test_a_commit_that_fails_brings_the_former_folder_back(self, written, before):
        course, results = written
        begin_with(course, before)
        with closing(sqlite3.connect(course / "gradebook.db")) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM assignment").fetchall()  # which lets nobody commit
            with pytest.raises(NbgraderError, match=r"is locked .* \(0 of 3 are written\)"):
                nbgrader_plugin.record(course, NAME, better(results))
        assert state(course) == state(course / before)
        nbgrader_plugin.record(course, NAME, better(results))
        assert state(course) == state(course / "better")

    @pytest.mark.parametrize("when", ["before put", "within put", "after put"])
    def test_a_run_that_is_killed_is_made_good_by_the_next(self, written, monkeypatch, when):
        course, results = written
        put = folders.Fresh.put

        def killed(fresh):
            if when == "within put":
                fresh.target.rename(fresh._old)
            elif when == "after put":
                put(fresh)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(folders.Fresh, "put", killed)
            patch.setattr(folders.Fresh, "__exit__", lambda *arguments: None)
            with pytest.raises(KeyboardInterrupt):
                nbgrader_plugin.record(course, NAME, better(results))
        assert list((course / "autograded").glob("*/.*"))
        nbgrader_plugin.record(course, NAME, better(results))
        assert state(course) == state(course / "better")

    def test_one_that_cannot_be_written_is_named_and_the_others_are(self, written):
        course, results = written
        results = better(results)
        results[1] = msgspec.structs.replace(results[1], exercises=None)
        before = tree(course)
        with pytest.raises(NbgraderError, match=r"not written for \w+: \[bob\] \(TypeError"):
            nbgrader_plugin.record(course, NAME, results)
        after = tree(course)
        changed = {name.split(os.sep)[0] for name in before if before[name] != after[name]}
        assert changed == {"ada", "王 小明"}

    def test_one_who_has_taken_the_work_back(self, written):
        course, results = written
        shutil.rmtree(course / "submitted" / "ada")
        with pytest.raises(NbgraderError, match=r"ada \(nothing is handed in any more\)"):
            nbgrader_plugin.record(course, NAME, results)

    def test_a_folder_that_cannot_be_written_to(self, written, monkeypatch):
        course, results = written
        (course / "submitted" / "ada" / NAME / f"{NAME}.ipynb").unlink()  # ours, of a module
        monkeypatch.setattr(preparing, "see_to_a_notebook", lambda *arguments: None)
        with pytest.raises(NbgraderError, match=r"ada \(nbgrader needs a notebook in .*submitted"):
            nbgrader_plugin.record(course, NAME, results)


class TestLocked:
    def test_by_a_program_that_does_not_let_go(self, written):
        course, results = written
        with closing(sqlite3.connect(course / "gradebook.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(NbgraderError, match="is locked by another program; close that"):
                nbgrader_plugin.record(course, NAME, results)

    def test_in_the_middle_of_a_class(self, written):
        course, results = written
        before = tree(course)
        with closing(sqlite3.connect(course / "gradebook.db")) as other:

            def advance(student: str) -> None:
                if student == STUDENTS[0]:  # the second, by name
                    other.execute("BEGIN IMMEDIATE")

            with pytest.raises(NbgraderError, match=r"close that .* is kept \(1 of 3 are written"):
                nbgrader_plugin.record(course, NAME, better(results), advance=advance)
        after = tree(course)
        changed = {name.split(os.sep)[0] for name in before if before[name] != after[name]}
        assert changed == {"[bob]"}

    def test_it_waits_for_one_that_does(self, written, monkeypatch):
        course, results = written
        monkeypatch.setattr(gradebooks, "LOCKED_SECONDS", 600.0)
        begins = threading.Event()
        theirs = transactions._lock_at_once

        def begin(connection):
            begins.set()
            theirs(connection)

        monkeypatch.setattr(transactions, "_lock_at_once", begin)
        with closing(sqlite3.connect(course / "gradebook.db")) as other:
            other.execute("BEGIN IMMEDIATE")
            failed = []

            def work():
                try:
                    nbgrader_plugin.record(course, NAME, better(results))
                except Exception as fault:
                    failed.append(fault)

            thread = threading.Thread(target=work)
            thread.start()
            assert begins.wait(600)
            other.commit()
            thread.join(600)
        assert not failed
        assert all("0.5" in row for row in rows(url(course))["grade"] if "check_double" in row)


class TestTheInstructorsConfiguration:
    def configure(self, course: Path, *lines: str) -> None:
        with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
            config.write("\n".join(lines) + "\n")

    def test_hooks(self, written):
        course, results = written
        self.configure(
            course,
            "def tell(name, text):",
            "    with open(name, 'a', encoding='utf-8') as file:",
            "        print(text, file=file)",
            "def before(assignment, student, notebooks):",
            "    tell('before.txt', notebooks[0])",
            "def after(assignment, student, notebooks):",
            "    tell('after.txt', assignment)",
            "c.Autograde.pre_convert_hook = before",
            "c.Autograde.post_convert_hook = after",
        )
        nbgrader_plugin.record(course, NAME, results)
        lines = (course / "before.txt").read_text("utf-8").splitlines()
        assert [Path(line).parts[-3] for line in lines] == sorted(STUDENTS)
        assert (course / "after.txt").read_text("utf-8") == f"{NAME}\n" * 3

    def test_students_are_added_by_the_instructor_alone(self, written):
        course, results = written
        begin_with(course, "empty")
        self.configure(course, "c.Autograde.create_student = False")
        with pytest.raises(NbgraderError, match=r"ada \(the gradebook has no student ada; add"):
            nbgrader_plugin.record(course, NAME, results[:1])
        assert not rows(url(course))["student"]

    def test_a_student_who_is_left_out(self, written):
        course, results = written
        self.configure(course, "c.CourseDirectory.student_id_exclude = 'ada,other'")
        before = tree(course)
        nbgrader_plugin.record(course, NAME, better(results))
        after = tree(course)
        changed = {name.split(os.sep)[0] for name in before if before[name] != after[name]}
        assert changed == {"[bob]", "王 小明"}

    def test_a_course_that_a_group_works_on(self, written):
        course, results = written
        self.configure(course, "c.CourseDirectory.groupshared = True")
        nbgrader_plugin.record(course, NAME, results)
        folder = course / "autograded" / "ada" / NAME
        for place in (folder, course / "autograded"):
            assert stat.S_IMODE(place.stat().st_mode) & 0o2770 == 0o2770
        modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
        assert modes == {0o664}

    def test_files_that_are_not_to_be_replaced(self, written):
        course, results = written
        (course / "source" / NAME / "helper.py").write_text("ours", "utf-8")
        (course / "source" / NAME / "kept.py").write_text("ours", "utf-8")
        for name in ("helper.py", "kept.py"):
            (course / "submitted" / "ada" / NAME / name).write_text("theirs", "utf-8")
        self.configure(course, f"c.Autograde.exclude_overwriting = {{'{NAME}': ['kept.py']}}")
        nbgrader_plugin.record(course, NAME, results[:1])
        folder = course / "autograded" / "ada" / NAME
        assert (folder / "helper.py").read_text("utf-8") == "ours"
        assert (folder / "kept.py").read_text("utf-8") == "theirs"

    def test_folders_in_the_place_of_files_and_files_in_the_place_of_folders(self, written):
        course, results = written
        source, theirs = course / "source" / NAME, course / "submitted" / "ada" / NAME
        (source / "data").mkdir()
        (source / "data" / "x.csv").write_text("ours", "utf-8")
        (source / "notes.txt").write_text("ours", "utf-8")
        (theirs / "data").write_text("a file", "utf-8")
        (theirs / "notes.txt").mkdir()
        (theirs / "notes.txt" / "in it").write_text("theirs", "utf-8")
        nbgrader_plugin.record(course, NAME, results[:1])
        folder = course / "autograded" / "ada" / NAME
        assert (folder / "data" / "x.csv").read_text("utf-8") == "ours"
        assert (folder / "notes.txt").read_text("utf-8") == "ours"


class TestFiles:
    def test_as_nbgrader_finds_them(self, tmp_path):
        from nbgrader.utils import find_all_files

        names = (
            "a.pyc", ".a.pyc", "b.txt", "feedback/x", "deep/feedback/x", "deep/er/c.pyc", ".h/x",
            "__pycache__/x", "deep/.ipynb_checkpoints/n", "deep/n.ipynb", ".n.ipynb", "x.ipynb/y",
        )  # fmt: skip
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("", "utf-8")
        ignore = [".ipynb_checkpoints", "*.pyc", "__pycache__", "feedback", "*.ipynb", ".h"]
        found = [str(path) for path in folders.files_in(tmp_path, ignore)]
        assert sorted(found) == sorted(find_all_files(str(tmp_path), ignore))
        assert {os.path.basename(name) for name in found} == {".a.pyc", "b.txt", ".n.ipynb"}

    def test_nothing_of_a_folder_that_is_a_link(self, written):
        from autograder.nbgrader_plugin.preparing import not_to_be_copied

        course, results = written
        target = course / "elsewhere"
        (course / "submitted" / "ada" / NAME).rename(target)
        (target / ".secret").write_text("x", "utf-8")
        (course / "submitted" / "ada" / NAME).symlink_to(target)
        assert not_to_be_copied(course / "submitted" / "ada" / NAME) == ["*"]
        nbgrader_plugin.record(course, NAME, results[:1])
        assert not (course / "autograded" / "ada" / NAME / ".secret").exists()


# Every kind of character that is in a file, and those that end lines in Python or in JSON's eyes.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ["", "\n", "a\r\nb\x0b\x0c\x1c\x85\u2028c\n\n", '"\\/\x00\x1f\x7f</script>', "é王\U0001f600"]
)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.sampled_from([0.5, -0.0, 4.0])
    | TEXTS,
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(TEXTS, inside, max_size=3),
    max_leaves=6,
)  # fmt: skip
BUNDLES = st.dictionaries(
    st.sampled_from(["text/plain", "text/html", "image/png", "image/svg+xml"]), TEXTS, max_size=3
)
OUTPUTS = st.one_of(
    st.fixed_dictionaries(
        {"output_type": st.just("stream"), "name": st.just("stdout"), "text": TEXTS}
    ),
    st.fixed_dictionaries(
        {"output_type": st.just("execute_result"), "execution_count": st.integers(1, 99),
         "metadata": st.dictionaries(TEXTS, PLAIN, max_size=2), "data": BUNDLES}
    ),
)  # fmt: skip
METADATA = st.dictionaries(TEXTS | st.sampled_from(["trusted", "signature"]), PLAIN, max_size=3)
NAMES = st.from_regex(r"[a-zA-Z0-9_-]{1,64}", fullmatch=True)
CELLS = st.one_of(
    st.fixed_dictionaries(
        {"cell_type": st.just("code"), "id": NAMES, "source": TEXTS, "metadata": METADATA,
         "execution_count": st.none() | st.integers(1, 99),
         "outputs": st.lists(OUTPUTS, max_size=3)}
    ),
    st.fixed_dictionaries(
        {"cell_type": st.sampled_from(["markdown", "raw"]), "id": NAMES, "source": TEXTS,
         "metadata": METADATA, "attachments": st.dictionaries(TEXTS, BUNDLES, max_size=2)}
    ),
)  # fmt: skip


@settings(max_examples=60)
@given(st.lists(CELLS, max_size=4), METADATA)
def test_a_notebook_is_written_as_nbformat_writes_it(cells, metadata):
    from nbformat.v4 import writes_json

    book = nodes.notebook([nodes.node(cell) for cell in cells], metadata)
    assert nodes.dumps(book) == writes_json(book) + "\n"
