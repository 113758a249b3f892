"""What is said of mistakes, over the students' corpus: small cases, first suspects, groups.

    python -m benchmarks.counterexamples [--sets ps1 ps2 ps3] [--class 200]

Every wrong entry of tests/students is graded in the sandbox. With --class, a class is made of
twelve of them, each many times over with its variables called otherwise, the pack's
misconceptions are switched off, and the groups in which the report puts them are measured.
"""

from __future__ import annotations

import argparse
import ast
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from autograder.evaluation import evaluate
from autograder.faults.finding import Finder
from autograder.grading import DEFAULT_LIMITS, Assignment
from autograder.observe.pool import ZygotePool
from autograder.report.class_data import clusters_of
from autograder.result import ExerciseResult, SubmissionResult
from autograder.specification import ExerciseSpec
from autograder.submission import Submission, read
from tests.students.corpus import Student, students_of
from tests.students.grading import ASSIGNMENTS

COURSE = Path(__file__).parents[1]
BY_HAND = 9  # numbers in an input that anybody works out
KINDS = 12  # of mistakes in a class


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(ASSIGNMENTS), choices=list(ASSIGNMENTS))
    parser.add_argument("--every", type=int, default=1, help="every so many entries only")
    parser.add_argument("--class", type=int, default=0, dest="students", help="size of a class")
    chosen = parser.parse_args(arguments)
    if chosen.students:
        measure_class(chosen.sets[0], chosen.students)
    else:
        measure_corpus(chosen.sets, chosen.every)
    return 0


def measure_corpus(sets: Sequence[str], every: int = 1) -> None:
    """Sizes of the small cases, and how often the first suspect of a trace is the wrong line."""
    sizes, seconds, wrong, first, suspected = [], [], 0, 0, 0
    for ps in sets:
        with grading(ps) as (assignment, open_session, folder):
            finder = Noting(assignment.pack)
            specs = {spec.name: spec for spec in assignment.specs}
            bare = {name: without_names(spec) for name, spec in specs.items()}
            for number, student in enumerate(students_of(ps)):
                if student.entry.right or number % every:
                    continue
                wrong += 1
                place = folder / str(number)
                place.mkdir()
                submission = read(student.hand_in(place, assignment.name))
                spec = specs[student.exercise]
                finder.small(spec)  # once for a class
                (result,) = evaluate(submission, [spec], open_session)
                started = time.process_time()
                (again,) = finder.with_remarks(
                    submission, [spec], [result], {spec.name}, open_session
                )
                seconds.append(time.process_time() - started)
                if again.remark and again.remark.input:
                    sizes.append(again.remark.size)
                # the trace speaks where nothing is named
                finder.noted = ()
                evaluate(submission, [bare[student.exercise]], open_session, finder=finder)
                if finder.noted:
                    suspected += 1
                    first += _is_wrong(student, submission, finder.noted[0])
    share = sum(size <= BY_HAND for size in sizes) / max(len(sizes), 1)
    print(f"{wrong} wrong submissions, a small failing case for {len(sizes)}")
    print(f"numbers in its input: median {median(sizes):g}, at most {BY_HAND}: {share:.0%}")
    print(
        f"processor time of ours for one: median {median(seconds):.3f} s, most {max(seconds):.2f}"
    )
    print(f"first suspect of the trace: {first} of {suspected} in a wrong line")


def measure_class(ps: str, size: int) -> dict[str, float]:
    """Groups of a class with planted mistakes, none of which has a name: purity and time."""
    with grading(ps) as (assignment, open_session, folder):
        specs = {spec.name: without_names(spec) for spec in assignment.specs}
        finder = Finder(assignment.pack)
        planted = [s for s in students_of(ps) if not s.entry.right][::1]
        # spread over the exercises of the set
        chosen = planted[:: max(1, len(planted) // KINDS)][:KINDS]
        results = []
        started = time.monotonic()
        for number in range(size):
            kind = number % len(chosen)
            student = chosen[kind]
            place = folder / str(number)
            place.mkdir()
            other = replace(student, entry=replace(
                student.entry, source=renamed(student.entry.source, number // len(chosen))
            ))  # fmt: skip
            submission = read(other.hand_in(place, assignment.name))
            spec = specs[student.exercise]
            (result,) = evaluate(submission, [spec], open_session, finder=finder)
            results.append(result)
        seconds = time.monotonic() - started
    whole = [_graded(number, result) for number, result in enumerate(results)]
    groups = [[at % len(chosen) for at in cluster.holders] for cluster in clusters_of(whole)]
    grouped = sum(map(len, groups))
    alone = size - grouped
    pure = sum(max(Counter(kinds).values()) for kinds in groups)
    purity = pure / max(grouped, 1)
    print(f"{size} submissions with {len(chosen)} kinds of mistakes without a name")
    print(f"{grouped} in {len(groups)} groups, purity {purity:.1%}; {alone} in none")
    print(f"{seconds:.1f} s, {1000 * seconds / size:.0f} ms each, in one process")
    return {"purity": purity, "grouped": grouped / size, "groups": len(groups)}


def _graded(number: int, result: ExerciseResult) -> SubmissionResult:
    return SubmissionResult(
        student=f"s{number:03}", file="work.py", sha256="", outcome="graded", isolation="strong",
        score=result.score, max_score=result.max_score, seconds=0.0, exercises=(result,),
    )  # fmt: skip


class Noting(Finder):
    """A finder that keeps the suspects of the last trace."""

    noted: Sequence[tuple[str, int]] = ()

    def _traced(self, failure: Any, run: Any) -> Any:
        found = super()._traced(failure, run)
        self.noted = found.suspects
        return found


@contextmanager
def grading(ps: str) -> Iterator[tuple[Assignment, Any, Path]]:
    """A set, sessions in the sandbox, and a folder for what is handed in."""
    assignment = Assignment.load(COURSE, ASSIGNMENTS[ps], "counterexamples")
    with ZygotePool(assignment.framework, size=1) as pool, TemporaryDirectory() as folder:

        def open_session(**own: int) -> Any:
            return pool.session(replace(DEFAULT_LIMITS, **own))  # type: ignore[arg-type]

        yield assignment, open_session, Path(folder)


def without_names(spec: ExerciseSpec) -> ExerciseSpec:
    """The exercise with its misconceptions switched off."""
    cases = tuple(replace(case, explanations={}, pairs={}) for case in spec.cases)
    return replace(spec, mistakes=(), cases=cases)


def renamed(source: str, number: int) -> str:
    """The source with its functions' own variables called otherwise; the same for number 0."""
    if number == 0:
        return source
    cells = source.split("# %%\n")
    return "# %%\n".join(ast.unparse(_Renaming(number).visit(ast.parse(cell))) for cell in cells)


class _Renaming(ast.NodeTransformer):
    def __init__(self, number: int) -> None:
        self.number = number
        self.own: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        names = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name)]
        before = self.own
        self.own = before | {name.id for name in names if isinstance(name.ctx, ast.Store)}
        self.own -= {item.arg for item in node.args.args}
        changed = self.generic_visit(node)
        self.own = before
        return changed

    def visit_Name(self, node: ast.Name) -> ast.AST:
        name = f"{node.id}_{self.number}" if node.id in self.own else node.id
        return ast.copy_location(ast.Name(name, node.ctx), node)


def _is_wrong(student: Student, submission: Submission, place: tuple[str, int]) -> bool:
    cell, line = place
    for statement in submission.statements:
        lines = statement.source.split("\n")
        if statement.cell == cell and 0 <= line - statement.line < len(lines):
            return bool(student.entry.is_wrong_at(lines[line - statement.line]))
    return False


if __name__ == "__main__":
    sys.exit(main())
