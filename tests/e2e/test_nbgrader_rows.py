"""Both ways into nbgrader write the same: its Autograde with our plug-in, and `autograder grade`.

The same class, with everything that students do to notebooks, is graded both ways in two courses:
first from nothing, then again after people have entered scores, comments, a due date and an
extension, and students have handed in anew. Every row and every file is compared.
"""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from autograder.run import Run
from tests.e2e.gradebook_rows import rows
from tests.e2e.nbgrader_course import (
    OWN_TEXT,
    PS1,
    Written,
    api_of,
    autograded,
    cell_of,
    feedback_page,
    gradebook_of,
    hand_in,
    scores_of,
)
from tests.e2e.nbgrader_students import SEED, WALL

pytestmark = pytest.mark.e2e

ANEW = ("wrong", "tampered", "late", "excused", "nothing", "module", "right", "own-files")


def grade_quickly(course: Path) -> None:
    Run(
        course=course, assignment=PS1, seed=SEED, timeout=WALL, quiet=True, explain=False,
        gradebook=f"sqlite:///{course / 'gradebook.db'}",
    ).grade()  # fmt: skip


@pytest.fixture(scope="module")
def courses(nbgrader_class, tmp_path_factory):
    """(graded by nbgrader's Autograde, by ours): copies, to be changed."""
    root = tmp_path_factory.mktemp("two ways")
    theirs, ours = root / "theirs", root / "ours"
    for copy in (theirs, ours):
        copy.mkdir()
        shutil.copy(nbgrader_class.course / "nbgrader_config.py", copy)
        for name in ("solutions", "source", "assignments", "submitted"):
            shutil.copytree(nbgrader_class.course / name, copy / name, symlinks=True)
    shutil.copy(nbgrader_class.course / "gradebook.db", theirs)
    shutil.copytree(nbgrader_class.course / "autograded", theirs / "autograded")
    grade_quickly(ours)
    return theirs, ours


def files(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Path → (permissions, content) of everything in a folder."""
    return {
        str(path.relative_to(folder)): (
            stat.S_IMODE(path.stat().st_mode),
            path.read_bytes() if path.is_file() else None,
        )
        for path in folder.rglob("*")
    }


def submitted(course: Path) -> list[Path]:
    return list((course / "submitted").rglob("*"))


def relative(path: Path) -> tuple[str, ...]:
    return path.parts[path.parts.index("submitted") :]


def assert_same(theirs: Path, ours: Path) -> None:
    one, other = (rows(f"sqlite:///{course / 'gradebook.db'}") for course in (theirs, ours))
    assert one.keys() == other.keys()
    for table in one:
        assert one[table] == other[table], table
    one_tree, other_tree = files(theirs / "autograded"), files(ours / "autograded")
    assert one_tree.keys() == other_tree.keys()
    different = [name for name, found in one_tree.items() if other_tree[name] != found]
    assert not different, different
    one_set, other_set = (set(map(relative, submitted(course))) for course in (theirs, ours))
    assert one_set == other_set


def test_the_same_rows_and_files(courses):
    theirs, ours = courses
    assert_same(theirs, ours)
    found = rows(f"sqlite:///{ours / 'gradebook.db'}")
    students = len(list((ours / "submitted").iterdir()))
    assert students >= 20
    assert len(found["submitted_assignment"]) == students == len(found["student"])
    assert len(found["grade"]) > 10 * students
    assert sum("auto_comment', None" not in row for row in found["comment"]) > 5 * students


def change(course: Path) -> None:
    """What people enter, and what students hand in, between two runs."""
    written = Written(course)
    right = written.right()
    for folder in (course / "submitted").iterdir():
        if folder.name not in ANEW:  # whose rows and files are to stay as they are
            shutil.rmtree(folder)
    with gradebook_of(course) as gradebook:
        grade = gradebook.find_grade("check_softmax", PS1, PS1, "wrong")
        grade.manual_score, grade.extra_credit = 3.5, 0.5
        text = gradebook.find_grade(OWN_TEXT, PS1, PS1, "tampered")
        text.manual_score, text.needs_manual_grade = 2.0, False
        gradebook.find_comment("softmax", PS1, PS1, "wrong").manual_comment = "Nearly!"
        gradebook.update_or_create_assignment(PS1, duedate="2030-01-01 00:00:00 UTC")
        gradebook.add_student("excused")
        gradebook.update_or_create_submission(PS1, "excused", timestamp="2030-01-03 00:00:00 UTC")
        gradebook.grant_extension(PS1, "excused", days=5)
        gradebook.db.commit()
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write("\nc = get_config()\nc.LateSubmissionPlugin.penalty_method = 'zero'\n")
        config.write("c.LimitOutput.max_lines = 2\n")
    hand_in(course, "excused", written.notebook(right))
    hand_in(course, "nothing", written.module(right), suffix=".py")  # there was nothing
    own = hand_in(course, "own-files", written.notebook(right)).parent
    (own / "data").mkdir()
    (own / "data" / "Ünal [1].csv").write_text("1,2", "utf-8")
    (own / "selfcheck.safetensors").write_text("mine", "utf-8")  # which is the course's
    (own / "__pycache__").mkdir()
    (own / "__pycache__" / "x.py").write_text("", "utf-8")
    (own / "a.pyc").write_text("", "utf-8")
    (own / ".hidden").write_text("", "utf-8")
    (own / "other.ipynb").write_text("{}", "utf-8")
    (own / "timestamp.txt").write_text("2029-12-31 22:30:00 America/New_York", "utf-8")
    (course / "submitted" / "right" / PS1 / "timestamp.txt").write_text("yesterday", "utf-8")
    (course / "autograded" / "wrong" / PS1 / "left over").write_text("", "utf-8")


def test_the_same_after_people_have_had_their_hands_in_it(courses):
    theirs, ours = courses
    for course in courses:
        change(course)
    settings = {"ObserveAndJudge__seed": SEED, "ObserveAndJudge__timeout": WALL}
    settings["ObserveAndJudge__explain"] = False  # what is found in time varies
    answer = api_of(theirs, **settings)
    got = answer.autograde(PS1, "*")
    assert got["success"], got["log"]
    grade_quickly(ours)
    assert_same(theirs, ours)
    with gradebook_of(ours) as gradebook:
        grade = gradebook.find_grade("check_softmax", PS1, PS1, "wrong")
        assert (grade.auto_score, grade.score) == (1.0, 4.0)
        assert grade.needs_manual_grade
        assert gradebook.find_comment("softmax", PS1, PS1, "wrong").comment == "Nearly!"
        late = gradebook.find_submission_notebook(PS1, PS1, "late")
        assert late.late_submission_penalty == late.score > 20
        own = gradebook.find_submission_notebook(PS1, PS1, "own-files")
        assert own.late_submission_penalty == own.score > 20  # three hours and a half in UTC
        excused = gradebook.find_submission_notebook(PS1, PS1, "excused")
        assert excused.late_submission_penalty is None
    assert scores_of(ours, "nothing")["check_softmax"] == 4
    shown = cell_of(autograded(ours, "wrong"), "check_softmax")["outputs"][0]["text"]
    assert "".join(shown).endswith("... Output truncated ...")


def test_formgrader_and_feedback_show_the_same(courses):
    """What formgrader asks nbgrader's API for, and the page that a student gets."""
    shown = []
    for course in courses:
        api = api_of(course)
        listed = [*api.get_submissions(PS1), *api.get_notebook_submissions(PS1, PS1)]
        assert len(listed) > 2 * len(ANEW)
        got = api.generate_feedback(PS1, "wrong")
        assert got["success"], got["log"]
        page = feedback_page(course, "wrong")
        assert "Nearly!" in page and "Score: 4.0 / 4.0" in page
        shown.append((sorted(map(without_ids, listed), key=repr), page))
    assert shown[0] == shown[1]


def without_ids(entry: dict) -> dict:
    """nbgrader numbers submissions in the order of their random ids."""
    return {key: value for key, value in entry.items() if key not in ("id", "index")}
