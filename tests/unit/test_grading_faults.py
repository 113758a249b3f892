"""A fault of ours while a quiz is judged costs nobody points, and not the rest of the class."""

import ast

import pytest

from autograder import grading
from autograder.grading import Assignment, grade_submission
from autograder.quiz import Question, Wrong, judge_answer
from autograder.quiz.comparing import CannotCompare
from autograder.quiz.symbols import Symbol
from tests.unit.courses import NAME, make_course, submit


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    root = make_course(tmp_path_factory.mktemp("course"))
    submit(root, "s1", "q_twice = 42\n")
    return root


def grade(course):
    def none_is_needed(**limits):
        raise AssertionError("nothing of this submission runs")

    folder = course / "submitted" / "s1" / NAME
    return grade_submission(
        Assignment.draw(course, NAME, "a seed"), "s1", folder, none_is_needed, "none"
    )


def test_without_a_fault(course):
    result = grade(course)
    assert (result.outcome, result.score) == ("graded", 1.0)


def test_with_one(course, monkeypatch):
    def fail(*given):
        raise CannotCompare("the process ended; look at it")

    monkeypatch.setattr(grading, "judge_quiz", fail)
    result = grade(course)
    assert (result.outcome, result.score, result.questions) == ("infrastructure", None, ())
    assert "the process ended; look at it" in result.messages[-1]
    assert result.exercises[0].outcome == "missing"


def test_a_known_mistake_that_cannot_be_compared_is_no_fault_of_an_answer():
    question = Question(
        id="cost", type="expression", points=1.0, prompt="How much?", answer="n",
        explanation="So much.", symbols=(Symbol("n"),),
        wrong=(Wrong("sqrt(-n)", "No number.", ""), Wrong("2*n", "Twice.", "")),
    )  # fmt: skip
    result = judge_answer(question, ast.parse("'n + n'", mode="eval").body)
    assert (result.outcome, result.score) == ("incorrect", 0.0)
    assert "Twice." in result.message
