"""A JSON file with what a spreadsheet has, for programs that need neither checks nor feedback.

    {"schema": 1, "assignment": "…", "submissions": [
      {"student": "s01", "outcome": "graded", "score": 17.0, "max_score": 25.0,
       "exercises": {"softmax": 4.0}, "questions": {"variance": 1.0},
       "misconceptions": {"attend": ["transposed"]}, "messages": []}]}

A score is null where the outcome is `infrastructure`. UTF-8, no NaN; a text is escaped as JSON
has it, and as HTML only by whoever puts it into a page.
"""

from __future__ import annotations

from typing import Any

import msgspec

from autograder.export import Options
from autograder.result import SCHEMA, ResultDocument, SubmissionResult


def write(document: ResultDocument, options: Options) -> bytes:
    """The scores of a class."""
    plain = {
        "schema": SCHEMA,
        "assignment": document.assignment,
        "submissions": [_submission(result) for result in document.submissions],
    }
    return msgspec.json.format(msgspec.json.encode(plain), indent=2) + b"\n"


def _submission(result: SubmissionResult) -> dict[str, Any]:
    return {
        "student": result.student,
        "outcome": result.outcome,
        "score": _rounded(result.score),
        "max_score": _rounded(result.max_score),
        "exercises": {each.name: _rounded(each.score) for each in result.exercises},
        "questions": {each.id: _rounded(each.score) for each in result.questions},
        "misconceptions": {
            each.name: list(each.misconceptions) for each in result.exercises if each.misconceptions
        },
        "messages": list(result.messages),
    }


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 2) + 0.0
