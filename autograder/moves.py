"""A regrade as a diff: what moved, from what to what, and why; no score falls in silence."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from autograder.result import ExerciseResult, QuestionResult, SubmissionResult, total

QUIZ = "quiz: "  # before the id of a question, in a move's name


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """One exercise, or question of the quiz, of one student that came out otherwise.

    kept: whether the score of before stands, since it would fall and nobody has allowed that.
    """

    student: str
    name: str
    outcome_before: str
    score_before: float | None
    outcome: str
    score: float | None
    max_score: float
    cause: str
    kept: bool = False

    @property
    def falls(self) -> bool:
        """Whether there is less than before; not known is less than known."""
        if self.score_before is None:
            return False
        return self.score is None or self.score < self.score_before


class Kept(msgspec.Struct, frozen=True, array_like=True):
    """Results of before that stand in the place of lower ones."""

    exercises: tuple[ExerciseResult, ...] = ()
    questions: tuple[QuestionResult, ...] = ()


def moves_between(
    before: SubmissionResult,
    after: SubmissionResult,
    why: Callable[[str], str],
    among: Collection[str] | None = None,
) -> Iterator[Move]:
    """What moved between two results of a student, in the order of the set.

    why: the cause, by name. among: names to look at, by default all. What was not there before
    has not moved.
    """
    former = _entries(before)
    for name, now in _entries(after).items():
        was = former.get(name)
        if was is None or (among is not None and name not in among):
            continue
        if (was.outcome, was.score) != (now.outcome, now.score):
            yield Move(
                student=after.student,
                name=name,
                outcome_before=was.outcome,
                score_before=was.score,
                outcome=now.outcome,
                score=now.score,
                max_score=now.max_score,
                cause=why(name),
            )


def keep(before: SubmissionResult, names: Collection[str]) -> Kept:
    """The results of before called `names`."""
    return Kept(
        tuple(result for result in before.exercises if result.name in names),
        tuple(result for result in before.questions if f"{QUIZ}{result.id}" in names),
    )


def with_kept(
    after: SubmissionResult, kept: Kept, outdated: Sequence[str] = ()
) -> SubmissionResult:
    """The result that counts: `kept` in the place of lower scores, with a message about it.

    outdated: exercises that were not graded again when their version changed.
    """
    if not (kept.exercises or kept.questions or outdated):
        return after
    exercises = {result.name: result for result in after.exercises}
    exercises |= {result.name: result for result in kept.exercises if result.name in exercises}
    questions = {result.id: result for result in after.questions}
    questions |= {result.id: result for result in kept.questions if result.id in questions}
    entries: list[ExerciseResult | QuestionResult] = [*exercises.values(), *questions.values()]
    score = total(entries)
    graded = "graded" if after.outcome == "infrastructure" else after.outcome
    messages = list(after.messages)
    names = [*(one.name for one in kept.exercises), *(f"{QUIZ}{one.id}" for one in kept.questions)]
    if names:
        messages.append(f"the earlier score stands: {', '.join(names)}")
    if outdated:
        messages.append(f"graded by an earlier version: {', '.join(outdated)}")
    return msgspec.structs.replace(
        after,
        outcome="infrastructure" if score is None else graded,
        score=score,
        max_score=sum(result.max_score for result in entries),
        exercises=tuple(exercises.values()),
        questions=tuple(questions.values()),
        messages=tuple(messages),
    )


def _entries(result: SubmissionResult) -> dict[str, ExerciseResult | QuestionResult]:
    found: dict[str, ExerciseResult | QuestionResult] = {one.name: one for one in result.exercises}
    return found | {f"{QUIZ}{one.id}": one for one in result.questions}
