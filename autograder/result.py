"""Outcomes and the result document: what `autograder grade --json` writes.

Other programs read this document, so its field names are fixed (schema 1). Every
number in it is finite: `infrastructure` outcomes carry a null score, never a zero,
because a fault of ours must not cost a student a point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

import msgspec

SCHEMA = 1

ExerciseOutcome = Literal[
    "passed",
    "failed",
    "error",  # the student's code raised an exception
    "missing",  # left as the stub was, not defined, or NotImplementedError
    "forbidden",  # used something that the exercise forbids
    "timed_out",
    "out_of_memory",
    "crashed",  # the process running the student's code ended
    "infrastructure",  # a fault of ours: never costs a point
]
SubmissionOutcome = Literal["graded", "unreadable", "crashed", "infrastructure"]
QuestionOutcome = Literal["correct", "partial", "incorrect", "unanswered", "unreadable"]
CheckOutcome = Literal["passed", "failed", "skipped"]
Isolation = Literal["strong+", "strong", "basic", "none"]


class CheckResult(msgspec.Struct, frozen=True, kw_only=True):
    """One check of one exercise; `message` is empty when it passed."""

    name: str
    outcome: CheckOutcome
    message: str = ""


class Remark(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was found of a fault beside the judging of it: advisory, and no part of a score.

    input, expected, got: the smallest input found on which the code is wrong, in words. line,
    cell, source: the likely place in the student's file. step: what that line should compute.
    question: about the concept. edit: a repair, only where the author allows it and never in
    graded work. cluster: the same for all who seem to have made one mistake.
    """

    input: str = ""
    expected: str = ""
    got: str = ""
    size: int = 0  # numbers in the input
    line: int | None = None
    cell: str = ""
    source: str = ""
    step: str = ""
    question: str = ""
    edit: str = ""
    cluster: str = ""


class ExerciseResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one exercise earned and why. `score` is None only for infrastructure.

    remark: left out of the document where there is none.
    """

    name: str
    outcome: ExerciseOutcome
    score: float | None
    max_score: float
    followed_through: bool = False
    misconceptions: tuple[str, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    feedback: str = ""
    remark: Remark | msgspec.UnsetType = msgspec.UNSET


class QuestionResult(msgspec.Struct, frozen=True, kw_only=True):
    """What one quiz question earned; `message` says how the answer was read.

    answer: as it was read, option ids separated by commas; empty when there is none. `score` is
    None only where it could not be judged through a fault of ours.
    """

    id: str
    outcome: QuestionOutcome
    score: float | None
    max_score: float
    message: str = ""
    answer: str = ""


class SubmissionResult(msgspec.Struct, frozen=True, kw_only=True):
    """Everything known about one student's submission to one assignment."""

    student: str
    file: str | None
    sha256: str | None
    outcome: SubmissionOutcome
    isolation: Isolation
    score: float | None
    max_score: float
    seconds: float
    exercises: tuple[ExerciseResult, ...] = ()
    questions: tuple[QuestionResult, ...] = ()
    messages: tuple[str, ...] = ()

    def exercise(self, name: str) -> ExerciseResult:
        """The result of the exercise called `name`; KeyError when there is none."""
        for result in self.exercises:
            if result.name == name:
                return result
        raise KeyError(name)


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """What produced a document: the package and a digest of each exercise's source.

    quiz: a digest of the quiz's. dropped: by exercise, the cases that were left out as faulty.
    """

    package: str
    exercises: dict[str, str]
    quiz: str = ""
    dropped: dict[str, tuple[str, ...]] = {}


class ResultDocument(msgspec.Struct, frozen=True, kw_only=True):
    """One run of `autograder grade`."""

    assignment: str
    seed: str
    isolation: Isolation
    version: Version
    submissions: tuple[SubmissionResult, ...]
    schema: int = SCHEMA


def total(results: Iterable[ExerciseResult | QuestionResult]) -> float | None:
    """Sum the scores, rounded once to cents of a point; None if any is unknown."""
    scores = [result.score for result in results]
    if any(score is None for score in scores):
        return None
    return round(math.fsum(score for score in scores if score is not None), 2)


def encode(document: ResultDocument) -> bytes:
    """The document as indented UTF-8 JSON with the fixed key order of the contract."""
    fields = ("schema", "assignment", "seed", "isolation", "version", "submissions")
    plain = msgspec.to_builtins(document)
    ordered = {name: plain[name] for name in fields}
    return msgspec.json.format(msgspec.json.encode(ordered), indent=2) + b"\n"


def decode(data: bytes) -> ResultDocument:
    """Read a document back; raises msgspec.ValidationError when it is not one."""
    return msgspec.json.decode(data, type=ResultDocument)
