"""What a run has to grade of a class that was graded before, and what it makes of the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from autograder.grading import Assignment, Earlier
from autograder.journal import Entries, Entry, digest_of
from autograder.moves import QUIZ, Kept, Move, keep, moves_between
from autograder.result import SubmissionResult
from autograder.standing import Standing
from autograder.versions import cause

# Outcomes that other limits may change.
_ENDED = ("timed_out", "out_of_memory", "crashed")


@dataclass(frozen=True)
class Wish:
    """What was asked for: only some students or exercises, which are then graded in any case."""

    students: Collection[str] = ()
    exercises: Collection[str] = ()
    resume: bool = True
    allow_lower: bool = False


class Regrade:
    """One run over a class. `todo` is to be graded with `earlier`; then `settle` each result.

    entries: by student, what stands as of now. gone: students graded before whose submission is
    not there any more. observed: for how many students each exercise was graded in this run.
    """

    def __init__(
        self,
        assignment: Assignment | Standing,
        submissions: Mapping[str, Path],
        former: Mapping[str, Entry],
        wish: Wish,
        limits: str = "",
        *,
        told: bool = True,
    ) -> None:
        """former: the journal's entries. told: whether their moves have been printed."""
        self.assignment = assignment
        self.wish = wish
        self.limits = limits
        self.entries = Entries()
        self.todo: dict[str, Path] = {}
        self.earlier: dict[str, Earlier] = {}
        self.gone = sorted(former.keys() - submissions.keys())
        self.observed: Counter[str] = Counter()
        self._digests: dict[str, str] = {}
        for student, folder in submissions.items():
            entry = former.get(student)
            if entry is not None:
                moves = tuple(move for move in entry.moves if move.kept or not told)
                entry = msgspec.structs.replace(entry, moves=moves)
                self.entries[student] = entry
            if wish.students and student not in wish.students:
                continue
            self._digests[student] = digest = digest_of(folder, assignment.name)
            if entry is None or entry.folder != digest or not wish.resume:
                self.todo[student] = folder
                continue
            again = set(self._to_observe(entry))
            if again or self._is_outdated(entry):
                self.todo[student] = folder
                self.earlier[student] = Earlier(entry.result, again)
            else:
                self.entries[student] = self._released(entry)

    @property
    def observes(self) -> bool:
        """Whether any submission has to be run."""
        return any(
            student not in self.earlier or self.earlier[student].again for student in self.todo
        )

    def settle(self, result: SubmissionResult) -> Entry:
        """Take a result in; the entry that it makes for the journal."""
        student, now = result.student, self.assignment.bases
        former, digest = self.entries.get(student), self._digests[result.student]
        graded = set(self._graded(result))
        self.observed.update(
            one.name for one in result.exercises if one.name in graded and one.outcome != "missing"
        )
        entry = Entry(
            folder=digest,
            limits=self.limits,
            bases={
                name: basis if former is None or name in graded else former.bases[name]
                for name, basis in now.items()
            },
            quiz=self.assignment.quiz_basis,
            result=result,
        )
        if former is not None:
            entry = self._compared(former, entry, graded)
        self.entries[student] = entry
        return entry

    def results(self) -> list[SubmissionResult]:
        """What counts, of every student."""
        return [entry.counting(self.assignment) for entry in self.entries.values()]

    def moves(self) -> list[Move]:
        """What moved, by student: in this run, in one before that was interrupted, or waiting."""
        return [move for student in sorted(self.entries) for move in self.entries[student].moves]

    def faults(self) -> list[str]:
        """Students of whom something could not be graded through a fault of ours."""
        found = (e.result.student for e in self.entries.values() if e.result.score is None)
        return sorted(found)

    def kept_results(self) -> int:
        """How many results of exercises were not graded in this run."""
        all_of_them = sum(len(entry.result.exercises) for entry in self.entries.values())
        return all_of_them - self._graded_count

    _graded_count = 0

    # --- before -----------------------------------------------------------------------

    def _released(self, entry: Entry) -> Entry:
        """The entry with the lower scores that waited taken over, where that is allowed now."""
        if not entry.kept.exercises and not entry.kept.questions:
            return entry
        moves = tuple(map(self._still_kept, entry.moves))
        still = {move.name for move in moves if move.kept}
        return msgspec.structs.replace(entry, kept=keep(entry.counting(), still), moves=moves)

    def _still_kept(self, move: Move) -> Move:
        """A move of before, which waits on unless its like was asked for and is allowed."""
        asked = not self.wish.exercises or move.name in self.wish.exercises
        taken = asked and self.wish.allow_lower and move.score is not None
        return msgspec.structs.replace(move, kept=False) if taken else move

    def _to_observe(self, entry: Entry) -> Iterator[str]:
        outcomes = {result.name: result.outcome for result in entry.result.exercises}
        for name, basis in self.assignment.bases.items():
            if self.wish.exercises:
                stale = name in self.wish.exercises
            else:
                outcome = outcomes.get(name, "infrastructure")
                stale = (
                    bool(self.wish.students)
                    or entry.bases.get(name) != basis
                    or outcome == "infrastructure"
                    or (outcome in _ENDED and entry.limits != self.limits)
                )
            if stale or name not in entry.bases:
                yield name

    def _is_outdated(self, entry: Entry) -> bool:
        """Whether there is something to do that takes no observing."""
        return (
            entry.quiz != self.assignment.quiz_basis
            or entry.result.score is None
            or entry.bases.keys() != self.assignment.bases.keys()
        )

    # --- after ------------------------------------------------------------------------

    def _graded(self, result: SubmissionResult) -> Iterator[str]:
        """Names of the exercises that were graded in this run: the others are as they were."""
        earlier = self.earlier.get(result.student)
        before = {} if earlier is None else {one.name: one for one in earlier.result.exercises}
        for one in result.exercises:
            if before.get(one.name) is not one:
                self._graded_count += 1
                yield one.name

    def _compared(self, former: Entry, entry: Entry, graded: Collection[str]) -> Entry:
        """The entry with what moved, and what is kept because it would fall."""
        student, before = entry.result.student, former.counting()
        is_new = former.folder != entry.folder
        anew = self.earlier[student].again if student in self.earlier else graded

        def why(name: str) -> str:
            if is_new:
                return "a new submission"
            if name.startswith(QUIZ):
                return cause(former.quiz, entry.quiz, "the quiz")
            if name not in anew:
                return "an exercise that it calls came out otherwise"
            return cause(former.bases.get(name), entry.bases[name])

        names = {*graded, *(f"{QUIZ}{question.id}" for question in entry.result.questions)}
        moved = list(moves_between(before, entry.result, why, names))
        kept = {
            move.name
            for move in moved
            if move.falls and not is_new and not (self.wish.allow_lower and move.score is not None)
        }
        waiting = [self._still_kept(move) for move in former.moves if move.name not in names]
        stand = kept | {move.name for move in waiting if move.kept}
        return msgspec.structs.replace(
            entry,
            kept=keep(before, stand) if stand else Kept(),
            moves=(
                *waiting,
                *(msgspec.structs.replace(move, kept=move.name in kept) for move in moved),
            ),
        )


def only(
    wish: Wish, assignment: Assignment | Standing, submissions: Mapping[str, Path]
) -> str | None:
    """What is wrong with the names that were asked for, in a sentence; None when nothing is."""
    for name in wish.exercises:
        if name not in assignment.bases:
            known = ", ".join(assignment.bases)
            return f"{assignment.name} has no exercise {name}; write one of {known}"
    for student in wish.students:
        if student not in submissions:
            return (
                f"nothing is handed in by {student} for {assignment.name}; look up how the folder "
                "of the student is spelled"
            )
    if (wish.students or wish.exercises) and not wish.resume:
        return (
            "--no-resume grades everybody, so it cannot go with --student or --exercise; leave "
            "one of them out"
        )
    return None
