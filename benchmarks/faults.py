"""Repair search over the students' corpus and the packs' misconceptions, their names switched off.

    python -m benchmarks.faults [--sets ps1 ps2 ps3] [--every 1] [--fresh 0]

One table: how many wrong implementations are repaired, how often the search says a place, how
often it is one that was labelled by hand, processor time (child and ours) and variants tried. The
operators were made while looking at one half of the corpus (odd positions); the other was held
out. Misconceptions are labelled by the lines in which they differ from the reference. With
--fresh 200, every repair is judged on so many more cases. Exit status 1 when a repair fails there
or something right is given a remark.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import count
from pathlib import Path
from statistics import median

from rich import box
from rich.console import Console
from rich.table import Table

from autograder.evaluation import evaluate
from autograder.faults.agreement import agree
from autograder.faults.failure import Clock, Failure
from autograder.faults.finding import GRADING_SECONDS, Finder
from autograder.faults.search import Repairs, find_repairs
from autograder.faults.trials import Trials, patched
from autograder.grading import Assignment
from autograder.judge import missing
from autograder.observing import OpenSession
from autograder.specification import ExerciseSpec
from autograder.stubs import student_code
from autograder.submission import Submission, read
from benchmarks.counterexamples import grading, without_names
from tests.students.corpus import students_of
from tests.students.grading import ASSIGNMENTS

WIDTH = 110


@dataclass(frozen=True)
class Work:
    """A submission for one exercise. is_wrong_at: None for one that is right."""

    group: str
    title: str
    submission: Submission
    exercise: str
    is_wrong_at: Callable[[str], bool] | None


@dataclass(frozen=True)
class Found:
    """What the search made of one. said: None where it is silent, else whether it is right.

    failed_afresh: repairs that a fresh case shows to be none.
    """

    work: Work
    repaired: bool
    said: bool | None
    seconds: float
    tried: int
    failed_afresh: int = 0


@dataclass
class Figures:
    """All that was found."""

    found: list[Found] = field(default_factory=list)
    right: int = 0
    remarked: list[str] = field(default_factory=list)

    def of(self, group: str) -> list[Found]:
        """One group's, or all."""
        return [one for one in self.found if group in ("all of the corpus", one.work.group)
                and (group != "all of the corpus" or one.work.group != MISCONCEPTIONS)]  # fmt: skip


HELD_OUT, LOOKED_AT, MISCONCEPTIONS = "held out", "looked at", "misconceptions"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(ASSIGNMENTS), choices=list(ASSIGNMENTS))
    parser.add_argument("--every", type=int, default=1, help="every so many entries only")
    parser.add_argument("--fresh", type=int, default=0, help="cases for every repair")
    chosen = parser.parse_args(arguments)
    figures = measure(chosen.sets, chosen.every, chosen.fresh)
    show(figures)
    failed = sum(one.failed_afresh for one in figures.found)
    if chosen.fresh:
        print(f"repairs that fail one of {chosen.fresh} fresh cases: {failed}")
    return 1 if failed or figures.remarked else 0


def measure(sets: Sequence[str], every: int = 1, fresh: int = 0) -> Figures:
    """Search in every so many-th implementation of some sets."""
    figures = Figures()
    for ps in sets:
        with grading(ps) as (assignment, open_session, folder):
            specs = {spec.name: without_names(spec) for spec in assignment.specs}
            afresh = Afresh(assignment)
            for number, work in enumerate(implementations(ps, assignment, folder)):
                if number % every:
                    continue
                spec = specs[work.exercise]
                if work.is_wrong_at is None:
                    figures.right += 1
                    figures.remarked += _remarked(work, spec, assignment, open_session)
                else:
                    figures.found.append(_searched(work, spec, afresh, open_session, fresh))
    return figures


class Afresh:
    """Exercises drawn again, as often as it takes."""

    def __init__(self, assignment: Assignment) -> None:
        self.assignment = assignment
        self._drawn: dict[tuple[str, int], ExerciseSpec] = {}

    def __call__(self, name: str, number: int = 0) -> ExerciseSpec:
        """The exercise in its so many-th drawing."""
        if (name, number) not in self._drawn:
            seed = f"afresh {number}"
            self._drawn[name, number] = self.assignment.pack.draw(name, seed)
        return self._drawn[name, number]


def implementations(ps: str, assignment: Assignment, folder: Path) -> Iterator[Work]:
    """The corpus of a set, then its pack's misconceptions and alternatives."""
    for number, student in enumerate(students_of(ps)):
        place = folder / f"corpus{number}"
        place.mkdir()
        group = HELD_OUT if student.held_out else LOOKED_AT
        submission = read(student.hand_in(place, assignment.name))
        wrong = None if student.entry.right else student.entry.is_wrong_at
        yield Work(group, str(student), submission, student.exercise, wrong)
    pack = assignment.pack
    header = "import numpy as np\n" + import_module(f"tests.students.{ps}.companions").header
    right = {name: student_code(source, name, name) for name, source in pack.sources.items()}
    for name, exercise in pack.exercises.items():
        known = [(m.name, m.implementation.__name__, True) for m in exercise.misconceptions]
        known += [(a.name, a.implementation.__name__, False) for a in exercise.alternatives]
        for title, function, wrong in known:
            code = student_code(pack.sources[name], function, name)
            parts = [other for part, other in right.items() if part != name]
            path = folder / f"{name}-{function}.py"
            path.write_text("\n\n\n".join([header, *parts, code]) + "\n", "utf-8")
            differs = _differing(right[name], code) if wrong else None
            yield Work(MISCONCEPTIONS, f"{ps}/{name}: {title}", read(path), name, differs)


def _differing(right: str, wrong: str) -> Callable[[str], bool]:
    """Whether a line is one of those of `wrong` that differ, or follow what is left out."""
    ours = [line.strip() for line in wrong.split("\n")]
    theirs = [line.strip() for line in right.split("\n")]
    lines: set[str] = set()
    for kind, _, _, start, end in difflib.SequenceMatcher(None, theirs, ours).get_opcodes():
        if kind != "equal":
            lines |= {*ours[max(start - 1, 0) : end + 1]} if start == end else {*ours[start:end]}
    return lines.__contains__


def _searched(
    work: Work, spec: ExerciseSpec, afresh: Afresh, open_session: OpenSession, fresh: int
) -> Found:
    failure = Failure(
        submission=work.submission,
        spec=spec,
        result=missing(spec),
        right=frozenset(spec.needs),
        small=(),
        open_session=open_session,
        clock=Clock(GRADING_SECONDS),
        fresh=lambda: afresh(spec.name),
    )
    repairs = find_repairs(failure)
    spent = failure.clock.seconds - failure.clock.left
    place = agree(repairs, failure)
    said = None
    if place is not None and work.is_wrong_at is not None:
        said = work.is_wrong_at(place.source)
    failed = _failing_afresh(work, repairs, afresh, open_session, fresh)
    return Found(work, bool(repairs.found), said, spent, repairs.tried, failed)


def _failing_afresh(
    work: Work, repairs: Repairs, afresh: Afresh, open_session: OpenSession, fresh: int
) -> int:
    """How many of the repairs fail one of so many fresh cases."""
    failed = 0
    for repair in repairs.found if fresh else ():
        whole = patched(work.submission, repair.variant)
        left = fresh
        for number in count(1):
            spec = afresh(work.exercise, number)
            trials = Trials(whole, spec, open_session, Clock(600.0))
            try:
                cases = spec.cases[:left]
                if trials.passes({}, cases) < len(cases):
                    failed += 1
                    break
            finally:
                trials.close()
            left -= len(cases)
            if left <= 0:
                break
    return failed


def _remarked(
    work: Work, spec: ExerciseSpec, assignment: Assignment, open_session: OpenSession
) -> list[str]:
    """What is said of right work, which should be nothing: at grading, and if one searched."""
    finder = Finder(assignment.pack)
    (result,) = evaluate(work.submission, [spec], open_session, finder=finder)
    failure = Failure(
        work.submission, spec, result, frozenset(spec.needs), (), open_session, Clock(60.0)
    )
    place = agree(find_repairs(failure), failure)
    said = result.outcome != "passed" or bool(result.remark) or place is not None
    return [work.title] if said else []


def show(figures: Figures) -> None:
    """The table, and what was said of right work."""
    table = Table(box=box.SIMPLE, title="repair search")
    for name in ("", "wrong", "repaired", "says a place", "right", "median s", "p90 s",
                 "variants", "p90"):  # fmt: skip
        table.add_column(name, justify="left" if not name else "right")
    for group in (HELD_OUT, LOOKED_AT, "all of the corpus", MISCONCEPTIONS):
        some = figures.of(group)
        if some:
            table.add_row(group, *_row(some))
    Console(width=WIDTH).print(table)
    for one in figures.found:
        if one.said is False:
            print(f"another place: {one.work.title}")
    print(f"{figures.right} right implementations, {len(figures.remarked)} with a remark")
    for title in figures.remarked:
        print(f"a remark on what is right: {title}")


def _row(some: Sequence[Found]) -> list[str]:
    said = [one.said for one in some if one.said is not None]
    seconds = sorted(one.seconds for one in some)
    tried = sorted(one.tried for one in some)
    repaired = sum(one.repaired for one in some)
    last = int(0.9 * (len(some) - 1))
    return [
        str(len(some)),
        f"{repaired} ({repaired / len(some):.0%})",
        f"{len(said)} ({len(said) / len(some):.0%})",
        f"{sum(said)} ({sum(said) / max(len(said), 1):.1%})",
        f"{median(seconds):.2f}",
        f"{seconds[last]:.2f}",
        f"{median(tried):.0f}",
        str(tried[last]),
    ]


if __name__ == "__main__":
    sys.exit(main())
