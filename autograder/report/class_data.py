"""What a class report shows, computed from a result document: tables, and rows for its script.

Nothing here is HTML. Rows of students are lists of numbers and of positions in one list of
texts, because most texts are said to many students: a class of thousands stays small.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from autograder.result import ExerciseResult, ResultDocument, SubmissionResult
from autograder.wording import clean

# One letter for each outcome: what the script draws a cell by.
LETTERS = {
    "passed": "p",
    "failed": "f",
    "error": "e",
    "missing": "m",
    "forbidden": "b",
    "timed_out": "t",
    "out_of_memory": "o",
    "crashed": "c",
    "infrastructure": "i",
}
LONGEST = 1500  # characters of one feedback


@dataclass(frozen=True)
class Facility:
    """An exercise in numbers. facility: the mean share of its points, None without any score.

    counts: right, followed (right given right parts), named (a known misconception), other
    (wrong in another way, an exception, a limit), missing, open (could not be graded).
    """

    name: str
    max_score: float
    facility: float | None
    counts: Mapping[str, int]

    @property
    def graded(self) -> int:
        """How many have a score."""
        return sum(self.counts.values()) - self.counts["open"]


@dataclass(frozen=True)
class Held:
    """A misconception and how many hold it. holders: positions of the students."""

    exercise: str
    name: str
    holders: tuple[int, ...]


@dataclass(frozen=True)
class Cluster:
    """Submissions with a mistake that has no name, alike in what is wrong with them.

    words: the repair, the first wrong step or the wrong numbers that they share. question: what
    was asked about it. holders: positions of the students.
    """

    exercise: str
    words: str
    question: str
    holders: tuple[int, ...]


@dataclass(frozen=True)
class ClassData:
    """A class in numbers. students: in the document's order, as `held` counts them."""

    students: Sequence[SubmissionResult] = field(repr=False)
    max_score: float
    mean: float | None
    median: float | None
    exercises: tuple[Facility, ...]
    held: tuple[Held, ...]
    clusters: tuple[Cluster, ...]
    quiz_points: float

    @property
    def scores(self) -> list[float]:
        """Of everybody who has one."""
        return [s.score for s in self.students if s.score is not None]

    @property
    def not_graded(self) -> list[tuple[str, str, str]]:
        """(student, outcome, why) of everybody who could not be graded, wholly or in part."""
        return [
            (clean(s.student, 200), s.outcome, clean("; ".join(_reasons(s)), LONGEST))
            for s in self.students
            if s.outcome != "graded"
        ]


def _reasons(result: SubmissionResult) -> Iterator[str]:
    yield from (message.rstrip(".") for message in result.messages)
    for exercise in result.exercises:
        if exercise.outcome == "infrastructure":
            yield " ".join(exercise.feedback.split())


def summarise(document: ResultDocument) -> ClassData:
    """The numbers of a class. Who could not be read counts as everybody else does: with 0."""
    students = document.submissions
    scores = [result.score for result in students if result.score is not None]
    # of all, since a document may have been put together from several versions of a set
    exercises: dict[str, list[ExerciseResult]] = {}
    for student in students:
        for item in student.exercises:
            exercises.setdefault(item.name, []).append(item)
    return ClassData(
        students=students,
        max_score=students[0].max_score if students else 0.0,
        mean=sum(scores) / len(scores) if scores else None,
        median=median(scores) if scores else None,
        exercises=tuple(_facility(name, results) for name, results in exercises.items()),
        held=_held(students),
        clusters=clusters_of(students),
        quiz_points=sum(item.max_score for item in students[0].questions) if students else 0.0,
    )


def _facility(name: str, results: Sequence[ExerciseResult]) -> Facility:
    counts = Counter({"right": 0, "followed": 0, "named": 0, "other": 0, "missing": 0, "open": 0})
    counts.update(_kind(result) for result in results)
    shares = [r.score / r.max_score for r in results if r.score is not None and r.max_score]
    return Facility(name, results[0].max_score, _mean(shares), counts)


def _kind(result: ExerciseResult) -> str:
    if result.outcome == "passed":
        return "followed" if result.followed_through else "right"
    if result.outcome == "infrastructure":
        return "open"
    if result.outcome == "missing":
        return "missing"
    return "named" if result.misconceptions else "other"


def _held(students: Sequence[SubmissionResult]) -> tuple[Held, ...]:
    """Every misconception that somebody holds, the most frequent first."""
    holders: dict[tuple[str, str], list[int]] = {}
    for position, student in enumerate(students):
        for exercise in student.exercises:
            for name in exercise.misconceptions:
                holders.setdefault((exercise.name, name), []).append(position)
    found = [Held(*key, tuple(positions)) for key, positions in holders.items()]
    return tuple(sorted(found, key=lambda item: (-len(item.holders), item.exercise, item.name)))


def clusters_of(students: Sequence[SubmissionResult]) -> tuple[Cluster, ...]:
    """Groups of two and more with the same mistake in an exercise, the largest first.

    Who holds a misconception of it is counted there.
    """
    holders: dict[tuple[str, ...], list[int]] = {}
    questions: dict[tuple[str, ...], str] = {}
    for position, student in enumerate(students):
        for exercise in student.exercises:
            remark = exercise.remark or None
            if remark is None or not remark.cluster or exercise.misconceptions:
                continue
            key: tuple[str, ...] = (exercise.name, remark.cluster)
            if remark.line is None:  # alike by what it gives: then in all that is checked
                failed = [check.name for check in exercise.checks if check.outcome == "failed"]
                key = (*key, *failed)
            holders.setdefault(key, []).append(position)
            questions.setdefault(key, remark.question)
    found = [
        Cluster(key[0], key[1], questions[key], tuple(positions))
        for key, positions in holders.items()
        if len(positions) > 1
    ]
    return tuple(sorted(found, key=lambda item: (-len(item.holders), item.exercise, item.words)))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


# --- for the script ----------------------------------------------------------------------


def rows(data: ClassData) -> dict[str, Any]:
    """The table of students, as compact as it can be read back.

    students: [name, score or null, letters of the exercises, points by exercise, points in the
    quiz, texts by exercise, texts of the whole, 1 if graded]. Points are there where they are
    neither none nor all; texts are positions in `texts` (-1: none).
    """
    texts: dict[str, int] = {}

    def text(value: str) -> int:
        value = clean(value.strip(), LONGEST)
        return texts.setdefault(value, len(texts)) if value else -1

    students = []
    for result in data.students:
        own = {item.name: item for item in result.exercises}
        items = [own.get(exercise.name) for exercise in data.exercises]
        letters = "".join(
            LETTERS["missing"] if item is None
            else "r" if item.followed_through
            else LETTERS[item.outcome]
            for item in items
        )  # fmt: skip
        partial = {
            position: item.score
            for position, item in enumerate(items)
            if item is not None and item.score and item.score != item.max_score
        }
        told = [
            -1
            if item is None or (item.outcome == "passed" and not item.followed_through)
            else text(item.feedback)
            for item in items
        ]
        students.append([
            clean(result.student, 200),
            result.score,
            letters,
            partial or 0,
            round(sum(item.score or 0.0 for item in result.questions), 2),
            told if any(at >= 0 for at in told) else 0,
            [text(message) for message in result.messages] or 0,
            1 if result.outcome == "graded" else 0,
        ])  # fmt: skip
    return {
        "exercises": [[item.name, item.max_score] for item in data.exercises],
        "quiz": data.quiz_points,
        "max": data.max_score,
        "students": students,
        # of misconceptions, then of clusters: the page numbers them in this order
        "holders": [
            *(list(item.holders) for item in data.held),
            *(list(item.holders) for item in data.clusters),
        ],
        "texts": list(texts),
    }
