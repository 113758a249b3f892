"""How much there is in the course: exercises, cases, misconceptions, questions, facts."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

from autograder.exercise import AuthoringError
from autograder.pack import CourseNotFound, assignments_of, load_pack
from autograder.quiz import load_quiz
from tests.course_facts import FACTS

COURSE = Path(__file__).parents[1]
WIDTH = 110  # also where there is no terminal, which would be taken for 80 wide


@dataclass(frozen=True)
class Counts:
    """What one set holds. facts: those of the course's list that are taught there."""

    exercises: int
    cases: int
    misconceptions: int
    alternatives: int
    questions: int
    facts: int


def count(assignment: str) -> Counts:
    """The figures of one set; cases that are drawn again to be called twice are left out."""
    pack = load_pack(COURSE, assignment)
    exercises = pack.exercises.values()
    return Counts(
        exercises=len(exercises),
        cases=sum(len(exercise.cases) for exercise in exercises),
        misconceptions=sum(len(exercise.misconceptions) for exercise in exercises),
        alternatives=sum(len(exercise.alternatives) for exercise in exercises),
        questions=len(load_quiz(pack.folder)),
        facts=sum(any(place[0] == assignment for place in fact.taught) for fact in FACTS),
    )


def total(counts: Sequence[Counts]) -> Counts:
    """All sets together; a fact that two sets teach is one fact."""
    sums = [sum(column) for column in zip(*map(astuple, counts), strict=True)]
    return Counts(*sums[:-1], facts=len(FACTS))


def main(arguments: Sequence[str] | None = None) -> int:
    argparse.ArgumentParser(prog="python -m benchmarks.counts", description=__doc__).parse_args(
        arguments
    )
    try:
        counts = {name: count(name) for name in assignments_of(COURSE)}
    except (AuthoringError, CourseNotFound) as problem:
        print(f"counts: {problem}", file=sys.stderr)
        return 2
    table = Table(box=box.SIMPLE)
    table.add_column("set", no_wrap=True)
    for field in fields(Counts):
        table.add_column(field.name, justify="right", no_wrap=True)
    for name, found in counts.items():
        table.add_row(name, *map(str, astuple(found)), end_section=name == list(counts)[-1])
    table.add_row("all", *map(str, astuple(total(list(counts.values())))))
    Console(width=WIDTH).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
