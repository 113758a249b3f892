"""Grading again: what people have entered stays, and what changed is noticed."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

import pytest

from autograder.nbgrader_plugin import gradebooks
from tests.e2e.nbgrader_course import (
    OWN_TEXT,
    PS1,
    Written,
    api_of,
    autograded,
    cell_of,
    comments_of,
    gradebook_of,
    hand_in,
    scores_of,
)

pytestmark = pytest.mark.e2e

FEW = ("right", "wrong", "tampered", "late", "nothing")


@pytest.fixture(scope="module")
def course(nbgrader_class, tmp_path_factory) -> Path:
    """A copy of the graded course with a few of the students, to change and grade again."""
    root = tmp_path_factory.mktemp("again")
    for name in ("nbgrader_config.py", "gradebook.db"):
        shutil.copy(nbgrader_class.course / name, root)
    for name in ("solutions", "source", "assignments"):
        shutil.copytree(nbgrader_class.course / name, root / name)
    for student in FEW:
        for name in ("submitted", "autograded"):
            shutil.copytree(nbgrader_class.course / name / student, root / name / student)
    return root


def autograde(course: Path, student: str = "*", **settings: object) -> dict:
    answer = api_of(course, **settings).autograde(PS1, student)
    assert answer["success"], answer["error"]
    return answer


def backups(course: Path) -> list[Path]:
    return sorted((course / ".autograder" / "backups").glob("gradebook-*.db"))


class TestPeoplesWorkStays:
    def test_scores_and_comments_given_by_hand(self, course):
        with gradebook_of(course) as gradebook:
            grade = gradebook.find_grade("check_softmax", PS1, PS1, "wrong")
            grade.manual_score, grade.extra_credit = 3.5, 0.5
            text = gradebook.find_grade(OWN_TEXT, PS1, PS1, "tampered")
            text.manual_score, text.needs_manual_grade = 2.0, False
            gradebook.find_comment("softmax", PS1, PS1, "wrong").manual_comment = "Nearly!"
            gradebook.db.commit()
        autograde(course, "wrong")
        autograde(course, "tampered")
        with gradebook_of(course) as gradebook:
            grade = gradebook.find_grade("check_softmax", PS1, PS1, "wrong")
            assert (grade.auto_score, grade.manual_score, grade.score) == (1.0, 3.5, 4.0)
            assert grade.needs_manual_grade  # as nbgrader has it: look at it again
            assert gradebook.find_grade(OWN_TEXT, PS1, PS1, "tampered").score == 2.0
        assert comments_of(course, "wrong")["softmax"] == "Nearly!"
        # ours, beside it: the composition is right but for that part
        assert "`softmax` cannot be relied on yet" in comments_of(course, "wrong")["self_attention"]

    def test_late_penalties(self, course):
        with gradebook_of(course) as gradebook:
            gradebook.update_or_create_assignment(PS1, duedate="2030-01-01 00:00:00 UTC")
        autograde(course, "late", LateSubmissionPlugin__penalty_method="zero")
        with gradebook_of(course) as gradebook:
            book = gradebook.find_submission_notebook(PS1, PS1, "late")
            assert book.late_submission_penalty == book.score > 20
            gradebook.grant_extension(PS1, "late", days=2)
        autograde(course, "late", LateSubmissionPlugin__penalty_method="zero")
        with gradebook_of(course) as gradebook:
            book = gradebook.find_submission_notebook(PS1, PS1, "late")
            assert book.late_submission_penalty is None


class TestOurNotebookInSubmitted:
    def test_it_is_no_submission(self, course):
        """It was put there by the first run: the second must not take it for the student's."""
        autograde(course, "nothing")
        comment = comments_of(course, "nothing")["softmax"]
        assert "was handed in" in comment
        assert f"found {PS1}.ipynb" not in comment

    def test_it_is_made_anew_when_a_module_comes(self, course):
        written = Written(course)
        path = hand_in(course, "nothing", written.module(written.right()), suffix=".py")
        autograde(course, "nothing")
        assert scores_of(course, "nothing")["check_softmax"] == 4
        assert "axis=0" in path.with_suffix(".ipynb").read_text("utf-8")

    def test_it_gives_way_to_a_notebook(self, course):
        written = Written(course)
        hand_in(course, "nothing", written.notebook({}), suffix=".ipynb")
        hand_in(course, "nothing", written.module({}), suffix=".py")
        autograde(course, "nothing")
        assert scores_of(course, "nothing")["check_softmax"] == 0
        assert autograded(course, "nothing")["cells"][0]["id"] == "title"


class TestBackups:
    def test_before_the_first_write_of_a_run_and_not_for_each_student(self, course, monkeypatch):
        monkeypatch.setattr(gradebooks, "_last_use", {})
        shutil.rmtree(course / ".autograder", ignore_errors=True)
        with gradebook_of(course) as gradebook:
            gradebook.find_grade("check_project", PS1, PS1, "right").manual_score = 0.25
            gradebook.db.commit()
        autograde(course, "right")
        autograde(course, "wrong")
        [backup] = backups(course)
        with sqlite3.connect(backup) as copy:
            scores = [row[0] for row in copy.execute("select manual_score from grade")]
        copy.close()
        assert 0.25 in scores

    def test_the_last_ten_are_kept(self, course, monkeypatch):
        monkeypatch.setattr(gradebooks, "SAME_RUN_SECONDS", 0.0)
        url = f"sqlite:///{course / 'gradebook.db'}"
        made = [gradebooks.back_up(url, course) for _ in range(12)]
        assert backups(course) == made[2:]

    def test_other_databases_have_their_own_tools(self, course):
        assert gradebooks.back_up("mysql://user@host/grades", course) is None


class TestTheCourseChanges:
    def test_a_solution_file_that_changes_is_noticed(self, course):
        """One process grades on, as formgrader's server does, with the cases drawn anew."""
        path = course / "solutions" / PS1 / "softmax.py"
        text = path.read_text("utf-8")
        before = autograded(course, "right")["metadata"]["autograder"]["seed"]
        try:
            path.write_text(text.replace("points=4", "points=8"), "utf-8")
            autograde(course, "right")
            assert scores_of(course, "right")["check_softmax"] == 8
            after = autograded(course, "right")["metadata"]["autograder"]["seed"]
            assert after != before
        finally:
            path.write_text(text, "utf-8")

    def test_cells_that_change_after_grading_are_refused_with_a_sentence(self, course):
        path = course / "source" / PS1 / f"{PS1}.ipynb"
        text = path.read_text("utf-8")
        try:
            path.write_text(text.replace(f'"{OWN_TEXT}"', '"essay"'), "utf-8")
            answer = api_of(course).autograde(PS1, "right")
        finally:
            path.write_text(text, "utf-8")
        assert not answer["success"]
        assert f"essay is new, {OWN_TEXT} is gone" in answer["log"]
        assert f"nbgrader db assignment remove {PS1} --force" in answer["log"]


class TestRefusals:
    def test_without_solutions(self, course):
        shutil.copytree(course / "submitted" / "right", course / "submitted" / "other")
        (course / "submitted" / "other" / PS1).rename(course / "submitted" / "other" / "ps9")
        answer = api_of(course).autograde("ps9", "*")
        shutil.rmtree(course / "submitted" / "other")
        assert not answer["success"]
        assert answer["log"].count("\n") == 1
        assert "there is no solutions/ps9" in answer["log"]

    def test_without_isolation(self, course, monkeypatch):
        monkeypatch.setattr("autograder.opening.STRONG", ())
        answer = api_of(course, ObserveAndJudge__seed="refused").autograde(PS1, "right")
        assert not answer["success"]
        assert answer["log"].count("\n") == 1
        assert "c.ObserveAndJudge.allow_unsandboxed = True" in answer["log"]
        settings = {"ObserveAndJudge__allow_unsandboxed": True, "ObserveAndJudge__seed": "allowed"}
        autograde(course, "right", **settings)
        assert scores_of(course, "right")["check_softmax"] == 4

    def test_autograde_with_other_preprocessors_is_nbgraders_own(self, course):
        from nbgrader.preprocessors import ClearOutput, OverwriteCells, SaveAutoGrades

        settings = {
            "Autograde__exporter_class": "nbconvert.exporters.NotebookExporter",
            "Autograde__sanitize_preprocessors": [ClearOutput, OverwriteCells],
            "Autograde__autograde_preprocessors": [SaveAutoGrades],
        }
        autograde(course, "wrong", **settings)
        assert scores_of(course, "wrong")["check_softmax"] == 4  # nothing ran: full marks
        assert cell_of(autograded(course, "wrong"), "check_softmax")["outputs"] == []
