"""The quality of a pack, measured: what the scores that it gives are worth.

For every exercise: the reference and every alternative must pass; every misconception must
be caught and named as itself; every case must see what it says it separates; no two
misconceptions may be equal; and the smallest error of a wrong variant must stand far above
the largest of a right one.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from autograder.checks import PackFault
from autograder.exercise import AuthoringError, Exercise
from autograder.judge import judge, judge_case
from autograder.likeness import Likeness, likeness
from autograder.observe.inprocess import random_state_kept
from autograder.pack import Pack, assignments_of, load_pack
from autograder.program import Observed
from autograder.quiz import Question, load_quiz
from autograder.quiz.guessing import share_of_any_set
from autograder.separation import separate
from autograder.source_rules import broken_rules
from autograder.specification import Case, ExerciseSpec

Observations = Mapping[str, tuple[Observed, ...]]

# Fewer exercises than this are examined here: a process for them would start for longer.
WORTH_PROCESSES = 4

# The share of a multiple choice's points that choosing at random may earn before it is remarked on:
# two right options of six earn 0.06, two of four 0.2.
MOST_BY_GUESSING = 0.1


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
    names: tuple[str, ...] = ()
    complaints: tuple[str, ...] = ()


@dataclass(frozen=True)
class PackReport:
    """One assignment: figures by exercise, and complaints in sentences.

    remarks: what an author may want to improve, though nothing is wrong with it.
    """

    assignment: str
    seed: str
    exercises: tuple[ExerciseReport, ...]
    complaints: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def well(self) -> bool:
        """Whether there is nothing to complain about."""
        return not self.complaints


def validate_pack(course: Path, assignment: str, seed: str) -> PackReport:
    """Measure an assignment's pack with cases drawn for `seed`."""
    return validate(course, [assignment], seed, workers=1)[0]


def validate(
    course: Path, targets: Sequence[str] = (), seed: str = "validate", *, workers: int | None = None
) -> list[PackReport]:
    """Measure packs, each exercise in one of `workers` processes (by default one a core).

    A target is an assignment or "assignment/exercise"; none means all assignments. Raises
    CourseNotFound for one that does not exist, AuthoringError for a file that is no exercise.
    """
    packs: dict[str, Pack] = {}
    wanted: dict[str, list[str]] = {}
    remarks: dict[str, tuple[str, ...]] = {}
    for target in targets or assignments_of(course):
        assignment = target.partition("/")[0]
        if assignment not in packs:
            packs[assignment] = load_pack(course, assignment)
            # raises with a sentence when it is malformed
            remarks[assignment] = _remarks(load_quiz(packs[assignment].folder))
        names = wanted.setdefault(assignment, [])
        names += [name for name in _exercises(packs[assignment], target) if name not in names]
    todo = [(assignment, name) for assignment, names in wanted.items() for name in names]
    workers = min(workers or os.cpu_count() or 1, len(todo))
    if workers < 2 or len(todo) < WORTH_PROCESSES:
        found = [_examine(packs[assignment], name, seed) for assignment, name in todo]
    else:
        # what takes longest is begun first, so that no process is left with it at the end;
        # that is, roughly, what has most misconceptions and cases, and so the longest file
        todo.sort(key=lambda item: -len(packs[item[0]].sources[item[1]]))
        # not forked: PyTorch's threads do not survive that
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(workers, context, initializer=_single_threaded) as pool:
            work = [(course, *item, seed) for item in todo]
            found = list(pool.map(_examine_elsewhere, *zip(*work, strict=True)))
    reports = dict(zip(todo, found, strict=True))
    return [
        _pack_report(
            assignment, seed, [reports[assignment, name] for name in names], remarks[assignment]
        )
        for assignment, names in wanted.items()
    ]


def to_json(reports: Sequence[PackReport]) -> str:
    """The figures for programs: a list with an object for each assignment."""
    plain = [
        {"schema": 1, **msgspec.to_builtins(report), "well": report.well} for report in reports
    ]
    return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n"


def _exercises(pack: Pack, target: str) -> list[str]:
    """Names of the exercises that a target stands for."""
    name = target.partition("/")[2]
    if name and name not in pack.exercises:
        known = ", ".join(pack.exercises)
        raise AuthoringError(f"{pack.name} has no exercise called {name}; it has: {known}")
    return [name] if name else list(pack.exercises)


def _pack_report(
    assignment: str, seed: str, reports: Sequence[ExerciseReport], remarks: tuple[str, ...]
) -> PackReport:
    complaints = (sentence for report in reports for sentence in report.complaints)
    return PackReport(assignment, seed, tuple(reports), tuple(complaints), remarks)


def _remarks(questions: Sequence[Question]) -> tuple[str, ...]:
    """Multiple choices that pay those who choose at random."""
    found = []
    for question in questions:
        right = len(question.answer) if question.type == "multiple_choice" else 0
        wrong = len(question.options) - right
        if right and (share := share_of_any_set(right, wrong)) > MOST_BY_GUESSING:
            found.append(
                f"the question {question.id}: choosing at random earns {share:.2f} of its points, "
                f"with {right} right options of {right + wrong}; add wrong options"
            )
    return tuple(found)


@lru_cache(maxsize=8)
def _loaded(course: Path, assignment: str) -> Pack:
    """Loaded once in a process that was started for one command."""
    return load_pack(course, assignment)


def _single_threaded() -> None:
    """One thread for each process: those of PyTorch would fight over the same cores."""
    os.environ["OMP_NUM_THREADS"] = "1"  # read when PyTorch is imported, which is later


def _examine_elsewhere(course: Path, assignment: str, name: str, seed: str) -> ExerciseReport:
    return _examine(_loaded(course, assignment), name, seed)


@random_state_kept()
def _examine(pack: Pack, name: str, seed: str) -> ExerciseReport:
    return _Examination(pack, pack.draw(name, seed)).report()


class _Examination:
    """One exercise under examination."""

    def __init__(self, pack: Pack, spec: ExerciseSpec) -> None:
        self.pack, self.spec = pack, spec
        self.complaints: list[str] = []
        self.exercise: Exercise = pack.exercises[spec.name]
        # what the judge compares with is what is examined: nothing is run twice
        self.mistakes: dict[str, Observations] = {
            known.name: {
                case.name: case.explanations[known.name]
                for case in spec.cases
                if known.name in case.explanations
            }
            for known in self.exercise.misconceptions
        }

    def report(self) -> ExerciseReport:
        """Everything there is to say of the exercise."""
        spec, exercise = self.spec, self.exercise
        right = {"the reference": self._observe(exercise.reference)}
        for known in exercise.alternatives:
            right[f"the alternative {known.name}"] = self._observe(known.implementation)
        passed = [self._passes(observations, what) for what, observations in right.items()]
        matrix = {case.name: self._caught_in(case) for case in spec.cases}
        named = [name for name in self.mistakes if self._is_named(name)]
        self._complain_of_equals(matrix, named)
        blind = self._complain_of_cases(matrix)
        self._complain_of_public_coverage(matrix)
        for sentence in broken_rules(exercise):
            self._complain(sentence)
        caught = {name for names in matrix.values() for name in names}
        separation, too_near = separate(
            spec, list(right.values()), {name: self.mistakes[name] for name in caught}
        )
        for sentence in too_near:
            self._complain(sentence)
        return ExerciseReport(
            name=spec.name,
            reference_passes=passed[0],
            alternatives=len(exercise.alternatives),
            alternatives_passed=sum(passed[1:]),
            misconceptions=len(self.mistakes),
            named=len(named),
            blind_cases=blind,
            separation=separation,
            matrix=matrix,
            names=tuple(self.mistakes),
            complaints=tuple(self.complaints),
        )

    def _complain(self, sentence: str) -> None:
        self.complaints.append(f"{self.spec.name}: {sentence}")

    def _observe(self, implementation: Any) -> Observations:
        return {
            case.name: self.pack.observe(self.spec.name, implementation, case.program)
            for case in self.spec.cases
        }

    def _passes(self, observations: Observations, what: str) -> bool:
        if _not_written(observations):
            self._complain(f"{what} is not written yet")
            return False
        try:
            result = judge(self.spec, observations)
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
            if case.name in observations
            and judge_case(self.spec, case, observations[case.name]) is not None
        )

    def _is_named(self, name: str) -> bool:
        if _not_written(self.mistakes[name]):
            self._complain(f"the misconception {name} is not written yet")
            return False
        result = judge(self.spec, self.mistakes[name])
        if result.outcome in ("passed", "infrastructure"):  # no fault in what was observed
            self._complain(f"no case sees the misconception {name}; add one that does")
            return False
        if result.misconceptions != (name,):
            got = ", ".join(result.misconceptions) or "nothing"
            self._complain(f"the misconception {name} is caught but named as {got}")
            return False
        return True

    def _complain_of_equals(
        self, matrix: Mapping[str, Sequence[str]], named: Sequence[str]
    ) -> None:
        """named: those that were named as themselves.

        Of two that are equal, the later one is named as the earlier one: a pair in which both
        were named as themselves has been compared already.
        """
        names = list(self.mistakes)
        for position, left in enumerate(names):
            for right in names[position + 1 :]:
                looked_at = left in named and right in named
                if not looked_at and self._are_one(left, right, matrix):
                    self._complain(f"{left} and {right} give equal results: they are one")

    def _are_one(self, left: str, right: str, matrix: Mapping[str, Sequence[str]]) -> bool:
        """Whether nothing tells two misconceptions apart, a message of an exception neither."""
        alike: set[Likeness] = set()
        for case in self.spec.cases:
            if not case.explanations:
                continue
            mine, theirs = self.mistakes[left][case.name], self.mistakes[right][case.name]
            like = likeness(self.spec, case, mine, theirs)
            if like is None:
                return False
            if left in matrix[case.name]:
                alike.add(like)
        return alike != {Likeness.SAME_EXCEPTION}  # which is no evidence alone, see `diagnose`

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


def _not_written(observations: Observations) -> bool:
    """Whether all that an implementation does is to raise NotImplementedError."""
    return bool(observations) and all(
        any(step.raised is not None and step.raised.is_a("NotImplementedError") for step in steps)
        for steps in observations.values()
    )
