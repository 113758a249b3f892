"""Every entry through the whole path: chosen and read, observed in the sandbox, judged."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from autograder.grading import DEFAULT_LIMITS, Assignment, grade_class
from autograder.opening import observer
from autograder.pack import load_pack
from autograder.result import ExerciseResult, Isolation
from benchmarks.kinds.catalogue import SETS, Entry, UnusableFile

COURSE = Path(__file__).parents[2]


@dataclass(frozen=True)
class Graded:
    """An entry, its result, and the sentences of the misconceptions that were named."""

    entry: Entry
    result: ExerciseResult
    sentences: tuple[str, ...]
    isolation: Isolation

    @property
    def caught(self) -> bool:
        """Whether something was found wrong with it."""
        return self.rejected and self.result.outcome != "missing"

    @property
    def rejected(self) -> bool:
        """Whether it did not pass. A fault of ours is no verdict."""
        return self.result.outcome not in ("passed", "infrastructure")

    @property
    def as_it_should(self) -> bool:
        return self.result.outcome == "passed" if self.entry.right else self.caught

    @property
    def named(self) -> bool:
        return self.entry.described_by(self.result.misconceptions)


def grade(entries: Sequence[Entry], seed: str, processes: int = 2) -> list[Graded]:
    """Results in the order of `entries`; sets are graded side by side."""
    by_set = [[entry for entry in entries if entry.assignment == name] for name in SETS.values()]
    by_set = sorted(filter(None, by_set), key=len, reverse=True)  # what takes longest first
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        jobs = [pool.submit(_grade_set, chosen, seed) for chosen in by_set]
        found = {graded.entry: graded for job in jobs for graded in job.result()}
    return [found[entry] for entry in entries]


def _grade_set(entries: Sequence[Entry], seed: str) -> list[Graded]:
    assignment = _draw(entries, seed)
    specs = {spec.name: spec for spec in assignment.specs}
    with tempfile.TemporaryDirectory(prefix="autograder-kinds-") as folder:
        submissions = {}
        for number, entry in enumerate(entries):
            place = Path(folder, str(number), assignment.name)
            place.mkdir(parents=True)
            shutil.copy(entry.path, place / f"{assignment.name}.py")
            submissions[str(number)] = place
        # the code is ours, and harmless wherever there are no walls
        with observer(assignment, COURSE, DEFAULT_LIMITS, 1, True) as (open_session, isolation):
            results = {
                submission.student: submission
                for submission in grade_class(assignment, submissions, open_session, isolation, 1)
            }
    graded = []
    for number, entry in enumerate(entries):
        result = results[str(number)].exercise(entry.exercise)
        spec = specs[entry.exercise]
        sentences = tuple(spec.mistake(name).sentence for name in result.misconceptions)
        graded.append(Graded(entry, result, sentences, results[str(number)].isolation))
    return graded


def _draw(entries: Sequence[Entry], seed: str) -> Assignment:
    """The assignment, reduced to the exercises of these entries."""
    pack = load_pack(COURSE, entries[0].assignment)
    wanted = {entry.exercise for entry in entries}
    for entry in entries:
        if entry.exercise not in pack.exercises:
            raise UnusableFile(
                f"{entry.path}: {pack.name} has no exercise {entry.exercise}; "
                f"it has {', '.join(pack.exercises)}"
            )
    exercises = {name: known for name, known in pack.exercises.items() if name in wanted}
    return Assignment(replace(pack, exercises=exercises), seed, ())
