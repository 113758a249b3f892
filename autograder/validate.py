"""The quality of a pack, measured: what the scores that it gives are worth.

For every exercise: the reference and every alternative must pass; every misconception must
be caught and named as itself; every case must see what it says it separates; no two
misconceptions may be equal; and the smallest error of a wrong variant must stand far above
the largest of a right one.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from autograder.checks import PackFault
from autograder.diagnose import same_outcome, summary
from autograder.exercise import Exercise
from autograder.form import Step
from autograder.judge import judge, judge_case
from autograder.numerics import error_ratio, tolerance_for
from autograder.pack import Pack, load_pack
from autograder.program import Observed
from autograder.quiz import load_quiz
from autograder.results_view import Part, expected_count, part_of, parts_of
from autograder.specification import Case, CustomCheck, ExerciseSpec

Observations = Mapping[str, tuple[Observed, ...]]

# A wrong variant stands at least this many times further off than the furthest right one.
SEPARATION = 100.0
# A right variant that nobody wrote yet may round to a tenth of the tolerance. With this floor
# a wrong one must stand ten tolerances off, whatever the pack's own right variants do.
LEAST_RIGHT = 0.1
ALLOWED_IN_PUBLIC_CHECKS = {"numpy", "np", "torch", "math", "Interval", "Verdict"}


@dataclass(frozen=True)
class ExerciseReport:
    """One exercise. matrix: case → misconceptions that fail in it.

    separation: smallest wrong over largest right error, both in units of the tolerance;
    None when every wrong variant differs in kind (NaN, shape, exception, statistics).
    """

    name: str
    reference_passes: bool
    alternatives: int
    alternatives_passed: int
    misconceptions: int
    named: int
    blind_cases: int
    separation: float | None
    matrix: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class PackReport:
    """One assignment: figures by exercise, and complaints in sentences."""

    assignment: str
    seed: str
    exercises: tuple[ExerciseReport, ...]
    complaints: tuple[str, ...]

    @property
    def well(self) -> bool:
        """Whether there is nothing to complain about."""
        return not self.complaints


def validate_pack(course: Path, assignment: str, seed: str) -> PackReport:
    """Measure an assignment's pack with cases drawn for `seed`."""
    pack = load_pack(course, assignment)
    load_quiz(pack.folder)  # raises with a sentence when it is malformed
    complaints: list[str] = []
    reports = tuple(
        _Examination(pack, pack.draw(name, seed), complaints).report() for name in pack.exercises
    )
    return PackReport(assignment, seed, reports, tuple(complaints))


def write_json(reports: Sequence[PackReport], path: Path) -> None:
    """The figures as JSON, for programs."""
    plain = [
        {**msgspec.to_builtins(report), "well": report.well, "schema": 1} for report in reports
    ]
    path.write_bytes(msgspec.json.format(msgspec.json.encode(plain), indent=2) + b"\n")


class _Examination:
    """One exercise under examination."""

    def __init__(self, pack: Pack, spec: ExerciseSpec, complaints: list[str]) -> None:
        self.pack, self.spec, self.complaints = pack, spec, complaints
        self.exercise: Exercise = pack.exercises[spec.name]
        self.mistakes = {
            known.name: self._observe(known.implementation)
            for known in self.exercise.misconceptions
        }

    def report(self) -> ExerciseReport:
        """Everything there is to say of the exercise."""
        spec, exercise = self.spec, self.exercise
        reference = self._observe(exercise.reference)
        reference_passes = self._passes(exercise.reference, "the reference")
        passed = sum(
            self._passes(known.implementation, f"the alternative {known.name}")
            for known in exercise.alternatives
        )
        matrix = {case.name: self._caught_in(case) for case in spec.cases}
        named = sum(self._is_named(name) for name in self.mistakes)
        self._complain_of_equals()
        blind = self._complain_of_cases(matrix)
        self._complain_of_public_coverage(matrix)
        self._complain_of_hints()
        self._complain_of_public_checks()
        right = [reference] + [self._observe(a.implementation) for a in exercise.alternatives]
        return ExerciseReport(
            name=spec.name,
            reference_passes=reference_passes,
            alternatives=len(exercise.alternatives),
            alternatives_passed=passed,
            misconceptions=len(self.mistakes),
            named=named,
            blind_cases=blind,
            separation=self._separation(right, matrix),
            matrix=matrix,
        )

    def _complain(self, sentence: str) -> None:
        self.complaints.append(f"{self.spec.name}: {sentence}")

    def _observe(self, implementation: Any) -> Observations:
        return {
            case.name: self.pack.observe(self.spec.name, implementation, case.program)
            for case in self.spec.cases
        }

    def _passes(self, implementation: Any, what: str) -> bool:
        try:
            result = judge(self.spec, self._observe(implementation))
        except PackFault as fault:
            self._complain(f"{fault}; repair the check")
            return False
        if result.outcome != "passed":
            self._complain(f"{what} is rejected: {result.feedback}")
        return result.outcome == "passed"

    def _caught_in(self, case: Case) -> tuple[str, ...]:
        return tuple(
            name
            for name, observations in self.mistakes.items()
            if judge_case(self.spec, case, observations[case.name]) is not None
        )

    def _is_named(self, name: str) -> bool:
        result = judge(self.spec, self.mistakes[name])
        if result.outcome == "passed":
            self._complain(f"no case sees the misconception {name}; add one that does")
            return False
        if result.misconceptions != (name,):
            got = ", ".join(result.misconceptions) or "nothing"
            self._complain(f"the misconception {name} is caught but named as {got}")
            return False
        return True

    def _complain_of_equals(self) -> None:
        names = list(self.mistakes)
        for position, left in enumerate(names):
            for right in names[position + 1 :]:
                if all(
                    same_outcome(
                        self.spec,
                        case,
                        self.mistakes[left][case.name],
                        self.mistakes[right][case.name],
                    )
                    for case in self.spec.cases
                ):
                    self._complain(f"{left} and {right} give equal results: they are one")

    def _complain_of_cases(self, matrix: Mapping[str, Sequence[str]]) -> int:
        """Cases that do not see what they say; returns how many are blind."""
        blind = 0
        for case in self.spec.cases:
            unknown = [name for name in case.separates if name not in self.mistakes]
            if unknown:
                self._complain(
                    f"the case {case.name} separates {unknown[0]}, which is no misconception "
                    "here; correct the name"
                )
            missed = [
                n for n in case.separates if n in self.mistakes and n not in matrix[case.name]
            ]
            if missed:
                self._complain(
                    f"the case {case.name} does not see {', '.join(missed)}; draw other inputs, "
                    "or take the name out of separates"
                )
            if case.kind == "separating" and (not case.separates or not matrix[case.name]):
                blind += 1
                self._complain(
                    f"the case {case.name} separates nothing; say what it separates, or make it "
                    'kind="robustness"'
                )
        return blind

    def _complain_of_public_coverage(self, matrix: Mapping[str, Sequence[str]]) -> None:
        public = {name for case in self.spec.cases if not case.hidden for name in matrix[case.name]}
        for known in self.exercise.misconceptions:
            caught = any(known.name in names for names in matrix.values())
            if caught and not known.hidden and known.name not in public:
                self._complain(
                    f"no public case sees the public misconception {known.name}; add one, or "
                    "make it hidden"
                )

    def _complain_of_hints(self) -> None:
        expressions = _expressions(inspect.getsource(self.exercise.reference))
        for known in self.exercise.misconceptions:
            for text in (known.hint, known.sentence):
                squeezed = "".join(text.split())
                given = next((e for e in expressions if e in squeezed), None)
                if given is not None:
                    self._complain(
                        f"the words of {known.name} contain {given!r}, an expression of the "
                        "reference; say it without code"
                    )
            if not known.hint.strip():
                self._complain(f"{known.name} has no hint; ask a question that leads on")

    def _complain_of_public_checks(self) -> None:
        for check in self.exercise.checks:
            if isinstance(check, CustomCheck) and check.public:
                stray = _stray_names(check)
                if stray:
                    self._complain(
                        f"the public check {check.name} uses {', '.join(stray)}; it travels "
                        "alone and may use numpy or torch only"
                    )

    def _separation(
        self, right: Sequence[Observations], matrix: Mapping[str, Sequence[str]]
    ) -> float | None:
        """Smallest wrong error over largest right one, each at its most telling case."""
        largest_right = LEAST_RIGHT
        for observations in right:
            for case in self.spec.cases:
                largest_right = max(largest_right, self._error(case, observations) or 0.0)
        smallest_wrong: float | None = None
        for name, observations in self.mistakes.items():
            errors = [self._error(case, observations) for case in self.spec.cases]
            known = [error for error in errors if error is not None]
            if not known or any(error is None for error in errors):
                continue  # it differs in kind somewhere
            worst = max(known)
            if worst == float("inf"):
                continue
            caught = any(name in names for names in matrix.values())
            if caught and worst / largest_right < SEPARATION:
                self._complain(
                    f"{name} stands only {worst / largest_right:.3g} times further off than the "
                    f"furthest right variant, below {SEPARATION:g}; add a case that tells it apart"
                )
            smallest_wrong = worst if smallest_wrong is None else min(smallest_wrong, worst)
        return None if smallest_wrong is None else smallest_wrong / largest_right

    def _error(self, case: Case, observations: Observations) -> float | None:
        """The largest error of a case in units of the tolerance; None when not a matter of size."""
        observed = observations[case.name]
        if summary(self.spec, case, observed) is not None:
            return None
        largest = 0.0
        for index, (step, wanted) in enumerate(zip(observed, case.expected, strict=False)):
            if bool(step.changed) != bool(wanted.changed):
                return None
            if step.raised is not None or wanted.raised is not None:
                return None if (step.raised is None) != (wanted.raised is None) else largest
            count = expected_count(wanted.value)
            pairs = [(step.value, wanted.value)]
            if count > 1:
                parts = parts_of(step.value, count)
                if parts is None:
                    return None
                pairs = list(zip(parts, wanted.value, strict=True))
            for got_value, wanted_value in pairs:
                got, expected = part_of(got_value), part_of(wanted_value)
                if not isinstance(got, Part) or not isinstance(expected, Part):
                    return None
                if got.data is None or expected.data is None or got.shape != expected.shape:
                    return None
                inputs = Step(self.spec, case, index).input_dtypes()
                tolerance = tolerance_for([got.dtype, *inputs], expected.data)
                largest = max(largest, error_ratio(got.data, expected.data, tolerance))
        return largest


def _expressions(source: str) -> list[str]:
    """Operations and calls of a reference, without white space, long enough to mean something."""
    import textwrap

    found: set[str] = set()
    for node in ast.walk(ast.parse(textwrap.dedent(source))):
        if isinstance(node, (ast.BinOp, ast.Call, ast.Subscript)):
            text = "".join(ast.unparse(node).split())
            if len(text) >= 3:
                found.add(text)
    return sorted(found, key=len, reverse=True)


def _stray_names(check: CustomCheck) -> list[str]:
    """Global names of a public check that would not be there in a student's folder."""
    import builtins

    function = check.function
    code = [function.__code__]
    names: set[str] = set()
    while code:
        one = code.pop()
        code += [constant for constant in one.co_consts if inspect.iscode(constant)]
        names |= {name for name in one.co_names if name in function.__globals__}
    return sorted(names - set(dir(builtins)) - ALLOWED_IN_PUBLIC_CHECKS)
