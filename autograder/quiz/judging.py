"""What an answer earns, and what its student is told."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from autograder.quiz.answers import NotAnAnswer, literal
from autograder.quiz.comparing import CannotCompare
from autograder.quiz.kinds import KINDS, form_of, read_answer
from autograder.quiz.parameterised import for_student
from autograder.quiz.questions import Question, Verdict
from autograder.quiz.variants import plain_id
from autograder.result import QuestionOutcome, QuestionResult
from autograder.wording import one_line

STUDENT_ID = "student_id"
_LONGEST = 200

# The name of an answer → the expression assigned to it, None where there is none.
Written = Callable[[str], "ast.expr | None"]


def judge_quiz(
    questions: Sequence[Question], written: Written, student: str
) -> tuple[tuple[QuestionResult, ...], tuple[str, ...]]:
    """The results of a student's quiz, and what the student should know about it as a whole.

    Numbers are drawn for `student`, the id that the course knows, whatever the submission says.
    """
    drawn = [question for question in questions if question.draws is not None]
    claimed = claimed_id(written(STUDENT_ID)) if drawn else student
    other = claimed if plain_id(claimed) != plain_id(student) else None
    results = tuple(
        judge_answer(question, written(question.variable), student, other) for question in questions
    )
    answered = any(
        result.outcome != "unanswered"
        for question, result in zip(questions, results, strict=True)
        if question.draws is not None
    )
    if other is None or not answered:
        return results, ()
    said = f"says “{one_line(other, 40)}”" if other.strip() else "was left empty"
    return results, (
        f"student_id {said}, and this submission is {one_line(student, 40)}'s: questions with "
        f"numbers of one's own were graded with those of {one_line(student, 40)}",
    )


def claimed_id(node: ast.expr | None) -> str:
    """The id that a submission says, empty when it says none."""
    try:
        value = literal(node)
    except NotAnAnswer:
        return ""
    return "" if value is None or isinstance(value, (list, dict)) else str(value)


def judge_answer(
    question: Question, node: ast.expr | None, student: str = "", other: str | None = None
) -> QuestionResult:
    """What the expression assigned to the question's name earns.

    student: whose numbers count. other: whose the submission says it has, where it differs.
    """
    own = for_student(question, student)
    kind = KINDS[question.type]
    try:
        answer = read_answer(form_of(own), literal(node))
    except NotAnAnswer as problem:
        return _result(own, "unreadable", 0.0, f"could not be read: {problem}.")
    if answer is None:
        return _result(own, "unanswered", 0.0, "no answer was given.")
    shown = kind.shown(answer)
    try:
        verdict = kind.judge(own, answer)
    except NotAnAnswer as problem:  # a formula that nothing can be compared with
        return _result(own, "unreadable", 0.0, f"could not be judged: {problem}.", shown)
    except CannotCompare as fault:
        message = f"could not be judged through a fault of ours: {fault}."
        return _result(own, "unreadable", None, message, shown)
    if not verdict.credit and other is not None and question.draws is not None and other.strip():
        theirs = for_student(question, other)
        if kind.judge(theirs, answer).credit:
            name = one_line(other, 40)
            return _result(
                own,
                "unreadable",
                0.0,
                f"“{one_line(shown, 60)}” goes with the numbers of student_id “{name}”, which is "
                f"not yours.{_numbers(own)}",
                shown,
            )
    return _judged(own, verdict, shown)


def _judged(question: Question, verdict: Verdict, shown: str) -> QuestionResult:
    said = f"“{one_line(shown, 60)}”"
    if verdict.credit >= 1:
        return _result(question, "correct", question.points, f"{said} is right.", shown)
    partial = verdict.credit > 0
    first = f"{said} is partly right." if partial else f"{said} is not right."
    message = " ".join([first + _numbers(question), *verdict.notes])
    score = round(question.points * verdict.credit, 2)
    return _result(question, "partial" if partial else "incorrect", score, message, shown)


def _numbers(question: Question) -> str:
    """“Your numbers were d_k = 32 and h = 4.”"""
    if not question.values:
        return ""
    each = [f"{name} = {value}" for name, value in question.values.items()]
    listed = " and ".join([", ".join(each[:-1]), each[-1]] if len(each) > 1 else each)
    return f" Your numbers were {listed}."


def _result(
    question: Question,
    outcome: QuestionOutcome,
    score: float | None,
    message: str,
    answer: Any = "",
) -> QuestionResult:
    # the explanation is for after grading, which is when this is read
    text = message if outcome == "correct" else f"{message} {question.explanation}"
    return QuestionResult(
        id=question.id,
        outcome=outcome,
        score=score,
        max_score=question.points,
        message=text,
        answer=one_line(str(answer), _LONGEST) if answer else "",
    )
