"""Results that exist already: what `autograder grade --gradebook --feedback` calls."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from autograder.grading import Assignment, grade_submission
from autograder.nbgrader_plugin import NbgraderError, record, write_feedback
from autograder.observe.session import Stopped
from tests.e2e.nbgrader_course import (
    OWN_TEST,
    PS1,
    autograded,
    cell_of,
    comments_of,
    open_cells_of,
    scores_of,
)

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def course(nbgrader_class, tmp_path_factory) -> Path:
    """Neither gradebook nor autograded/; source/ and submitted/ are elsewhere or not there."""
    root = tmp_path_factory.mktemp("record")
    shutil.copy(nbgrader_class.course / "nbgrader_config.py", root)
    for name in ("solutions", "source"):
        shutil.copytree(nbgrader_class.course / name, root / name)
    for student in ("right", "stub", "module", "looping"):
        folder = nbgrader_class.course / "submitted" / student
        shutil.copytree(folder, root / "handed in" / student)
    (root / "handed in" / "module" / PS1 / f"{PS1}.ipynb").unlink()
    return root


def unobservable():
    raise Stopped("infrastructure", "no process could be started")


@pytest.fixture(scope="module")
def results(course):
    """With no process to observe in: everything written is open, through no fault of theirs."""
    assignment = Assignment.draw(course, PS1, "record")
    folders = {name: course / "handed in" / name / PS1 for name in ("right", "stub", "module")}
    return [
        grade_submission(assignment, student, folder, unobservable, "strong")
        for student, folder in folders.items()
    ]


@pytest.fixture(scope="module")
def recorded(course, results):
    found = results[2]
    passed = [
        msgspec.structs.replace(exercise, outcome="passed", score=exercise.max_score)
        for exercise in found.exercises
    ]
    module = msgspec.structs.replace(found, exercises=tuple(passed))
    record(course, PS1, [*results[:2], module], submitted=course / "handed in")
    return course


def test_an_outcome_that_is_our_fault_stays_open(recorded, results):
    assert results[0].score is None
    scores = scores_of(recorded, "right")
    checks = {name for name in scores if name.startswith("check_") and "q_" not in name}
    assert {scores[name] for name in checks} == {None}
    assert scores["check_q_column_layout"] == 1.0  # answers are read, not run
    assert open_cells_of(recorded, "right") == checks | {OWN_TEST}
    comment = comments_of(recorded, "right")["softmax"]
    assert "process could be started" in comment
    assert "through no fault of yours" in comment and "The score is left open" in comment
    outputs = cell_of(autograded(recorded, "right"), "check_softmax")["outputs"]
    assert [output["output_type"] for output in outputs] == ["stream"]


def test_what_needs_no_process_is_graded(recorded):
    assert scores_of(recorded, "stub")["check_softmax"] == 0


def test_only_these_students_are_touched(recorded):
    assert {path.name for path in (recorded / "autograded").iterdir()} == {
        "module",
        "right",
        "stub",
    }
    assert scores_of(recorded, "module")["check_softmax"] == 4


def test_feedback_goes_where_it_is_asked_to(recorded, tmp_path):
    folder = write_feedback(recorded, PS1, tmp_path / "pages")
    assert folder == tmp_path / "pages"
    page = folder / "module" / PS1 / f"{PS1}.html"
    assert "Score: 4.0 / 4.0" in page.read_text("utf-8")


def test_a_gradebook_elsewhere(recorded, results, tmp_path, monkeypatch):
    """A relative URL is relative to where the command was called."""
    monkeypatch.chdir(tmp_path)
    record(recorded, PS1, results[:2], "sqlite:///grades.db", recorded / "handed in")
    assert (tmp_path / "grades.db").stat().st_size > 0
    assert not (recorded / "grades.db").exists()
    write_feedback(recorded, PS1, tmp_path / "pages", "sqlite:///grades.db")
    # autograded/ holds a third one, whom this gradebook does not know
    assert {path.name for path in (tmp_path / "pages").iterdir()} == {"right", "stub"}


def test_who_could_not_be_recorded_is_named_and_the_others_are(recorded, results, monkeypatch):
    short = msgspec.structs.replace(results[1], exercises=None)
    with pytest.raises(NbgraderError, match=r"not written for ps1_numpy_attention: stub \("):
        record(recorded, PS1, [short, results[0]], submitted=recorded / "handed in")
    assert (recorded / "autograded" / "right").exists()


def test_a_gradebook_that_cannot_be_opened(recorded, results):
    with pytest.raises(NbgraderError, match="unable to open database file"):
        record(recorded, PS1, results, "sqlite:////no/such/folder/g.db", recorded / "handed in")
