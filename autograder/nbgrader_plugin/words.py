"""What is said beside a score: in the output of a check cell, and as a comment."""

from __future__ import annotations

import re

from autograder.result import SubmissionResult
from autograder.wording import clean

LIMIT = 8000
NOT_OURS = (
    "This cell is not graded by attention-autograder, which runs no test cells: its score is "
    "left open for you to give."
)
LEFT_OPEN = "The score is left open: autograde again, or give it by hand."


def of_exercise(result: SubmissionResult, name: str) -> str:
    """Everything that is said about an exercise."""
    exercise = result.exercise(name)
    text = exercise.feedback
    if result.outcome == "unreadable":
        text = _unreadable(result, name)
    if exercise.score is None:
        text += f"\n{LEFT_OPEN}"
    return clean(text, LIMIT)


def of_question(result: SubmissionResult, identifier: str) -> str:
    """Everything that is said about a question."""
    question = next(item for item in result.questions if item.id == identifier)
    if result.outcome == "unreadable":
        return clean(_unreadable(result, f"q_{identifier}"), LIMIT)
    text = f"q_{identifier}: {question.message}"
    if question.score is None:
        text += f"\n{LEFT_OPEN}"
    return clean(text, LIMIT)


def of_submission(result: SubmissionResult, notebook: str) -> str:
    """What concerns the submission as a whole; empty when nothing is to be said."""
    if result.outcome == "unreadable":
        return ""  # it stands beside every exercise
    lines = list(result.messages)
    if result.file is not None and result.file != notebook:
        lines.append(f"{result.file} was graded")
    return clean("\n".join(f"{line.rstrip('.')}." for line in lines), LIMIT)


def _unreadable(result: SubmissionResult, name: str) -> str:
    return f"{name}: nothing could be graded: {'; '.join(result.messages)}."


_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
_MATH = (("$$", "$ $"), ("\\\\[", "\\\\ ["), ("\\begin{", "\\begin {"))


def as_comment(text: str) -> str:
    """Text for a comment, which nbgrader renders as Markdown in which HTML is live.

    A student's words are in it, so all of it is set as code. Mathematics goes before code in
    nbconvert, and would get out of it: its delimiters are broken up.
    """
    text = _TAG.sub("‹", text)
    for delimiter, harmless in _MATH:
        text = text.replace(delimiter, harmless)
    return "\n".join(f"    {line}" for line in text.split("\n"))
