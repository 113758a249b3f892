"""What an answer earns, and what its student is told."""

from __future__ import annotations

import ast
import math

from autograder.quiz.answers import NotAnAnswer, literal
from autograder.quiz.questions import Question
from autograder.quiz.reading import read_answer
from autograder.result import QuestionOutcome, QuestionResult
from autograder.wording import one_line


def judge_answer(question: Question, node: ast.expr | None) -> QuestionResult:
    """What the expression assigned to the question's name earns."""
    try:
        value = read_answer(question.form, literal(node))
    except NotAnAnswer as problem:
        return _result(question, "unreadable", 0.0, f"could not be read: {problem}.")
    if value is None:
        return _result(question, "unanswered", 0.0, "no answer was given.")
    if question.type == "single_choice":
        return _judge_choice(question, value)
    return _judge_number(question, value)


def _judge_choice(question: Question, value: str) -> QuestionResult:
    if value == question.answer:
        return _result(question, "correct", question.points, f"“{value}” is right.")
    chosen = next(option for option in question.options if option.id == value)
    return _result(question, "incorrect", 0.0, _wrong(value, chosen.misconception, chosen.hint))


def _judge_number(question: Question, value: float) -> QuestionResult:
    shown = f"{value:.12g}"
    if is_near(question, value, question.answer):
        return _result(question, "correct", question.points, f"“{shown}” is right.")
    near = [item for item in question.wrong if is_near(question, value, item[0], least=1e-6)]
    if near:
        _, misconception, hint = min(near, key=lambda item: abs(value - item[0]))
        return _result(question, "incorrect", 0.0, _wrong(shown, misconception, hint))
    return _result(question, "incorrect", 0.0, _wrong(shown, "", ""))


def is_near(question: Question, value: float, wanted: float, least: float = 0.0) -> bool:
    """Whether a number is another one within the question's tolerance, the edge included."""
    allowed = max(question.absolute, max(question.relative, least) * abs(wanted))
    # 0.3 - 0.2 is above 0.1 by rounding alone
    rounding = 4 * math.ulp(max(abs(value), abs(wanted)))
    return abs(value - wanted) <= allowed + rounding


def _wrong(value: str, misconception: str, hint: str) -> str:
    parts = [f"“{one_line(value, 60)}” is not right.", misconception, hint]
    return " ".join(part for part in parts if part)


def _result(
    question: Question, outcome: QuestionOutcome, score: float, message: str
) -> QuestionResult:
    # the explanation is for after grading, which is when this is read
    text = message if outcome == "correct" else f"{message} {question.explanation}"
    return QuestionResult(
        id=question.id, outcome=outcome, score=score, max_score=question.points, message=text
    )
