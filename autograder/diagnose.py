"""Which misconception explains what was observed.

A misconception explains a submission when it gives the same results on the same inputs,
in every case, the passed ones too. “Same” means equal within the tolerance, with equal
NaN patterns, or the same kind of exception; for random results, agreeing statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from autograder.checks import PackFault, is_for, run_check
from autograder.numerics import compare, magnitude_of, tolerance_for
from autograder.observe.protocol import Array, Opaque
from autograder.observe.session import Stopped
from autograder.program import Backward, Construct, Observed, ReadAxes, Step
from autograder.results_view import (
    Part,
    case_view,
    expected_count,
    part_of,
    parts_of,
    shown,
)
from autograder.specification import (
    Case,
    ExerciseSpec,
    Interval,
    KnownMistake,
    Verdict,
)

CaseOutcome = Sequence[Observed] | Stopped


class Likeness(Enum):
    """How two observations of one case that cannot be told apart are alike."""

    EQUAL = "equal"  # values, or an exception with its message
    AGREEING = "agreeing"  # statistics of random results
    SAME_EXCEPTION = "same exception"  # of one type: many causes have it


@dataclass(frozen=True)
class Diagnosis:
    """The misconceptions that explain a failed exercise, and how well.

    matching: in how many of the `failing` cases. statistical: by agreeing statistics.
    """

    names: tuple[str, ...] = ()
    matching: int = 0
    failing: int = 0
    statistical: bool = False


def diagnose(
    spec: ExerciseSpec, observations: Mapping[str, CaseOutcome], failing: Sequence[str]
) -> Diagnosis:
    """The misconceptions that explain a failed exercise; none when none do.

    A misconception that matches every case wins. When a student's variation of a mistake
    parts from ours on some unusual input, one that matches more than half of the failing
    cases, and is contradicted by no separating case, is named too. That exceptions are of
    one type is no evidence alone: somewhere values, or a message, have to be equal too.
    """
    best = Diagnosis()
    # failing cases first: they rule most misconceptions out, so that few are run elsewhere
    cases = sorted(spec.cases, key=lambda case: case.name not in failing)
    for known in spec.mistakes:
        found = _explanation(spec, known, cases, observations, failing)
        if found is not None and found.matching > best.matching:
            best = found
    return best


def _explanation(
    spec: ExerciseSpec,
    known: KnownMistake,
    cases: Sequence[Case],
    observations: Mapping[str, CaseOutcome],
    failing: Sequence[str],
) -> Diagnosis | None:
    """How well one misconception explains the observations; None when something contradicts it."""
    matches: list[Likeness] = []
    for case in cases:
        observed = observations.get(case.name)
        if observed is None or known.name not in case.explanations:
            continue
        like = None
        if not isinstance(observed, Stopped):
            like = likeness(spec, case, observed, case.explanations[known.name])
        if like is None and (case.kind == "separating" or case.name not in failing):
            return None
        if like is not None and case.name in failing:
            matches.append(like)
    if 2 * len(matches) <= len(failing) or set(matches) == {Likeness.SAME_EXCEPTION}:
        return None
    statistical = Likeness.AGREEING in matches
    return Diagnosis((known.name,), len(matches), len(failing), statistical)


def same_outcome(
    spec: ExerciseSpec, case: Case, observed: Sequence[Observed], other: Sequence[Observed]
) -> bool:
    """Whether two observations of one case cannot be told apart."""
    return likeness(spec, case, observed, other) is not None


def likeness(
    spec: ExerciseSpec, case: Case, observed: Sequence[Observed], other: Sequence[Observed]
) -> Likeness | None:
    """How two observations of one case are alike; None when they can be told apart."""
    if len(observed) != len(other):
        return None
    for left, right in zip(observed, other, strict=True):
        if bool(left.changed) != bool(right.changed):
            return None
        if (left.raised is None) != (right.raised is None):
            return None
    mine, theirs = summary(spec, case, observed), summary(spec, case, other)
    if mine and theirs:
        return Likeness.AGREEING if summaries_agree(mine, theirs) else None
    like = Likeness.EQUAL
    for index, (left, right) in enumerate(zip(observed, other, strict=True)):
        if left.raised is not None and right.raised is not None:
            if left.raised.type_name != right.raised.type_name:
                return None
            if left.raised.message != right.raised.message:
                like = Likeness.SAME_EXCEPTION
        else:
            wanted = case.expected[index].value if index < len(case.expected) else None
            if not _same_step(case.program.steps[index], left.value, right.value, wanted):
                return None
    return like


def _same_step(step: Step, left: Any, right: Any, wanted: Any) -> bool:
    """Whether a step gave the same. wanted: what the reference gave."""
    if isinstance(step, Construct):
        return True  # the class has another name, and no more is known
    if isinstance(step, ReadAxes):
        return same_value(shown(left), shown(right), shown(wanted))
    magnitude = magnitude_of(_arrays_in(right)) if isinstance(step, Backward) else None
    return same_value(left, right, wanted, magnitude)


def _arrays_in(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _arrays_in(item)
    elif isinstance(value, Array) and value.data is not None:
        yield value.data


def same_value(left: Any, right: Any, wanted: Any, magnitude: float | None = None) -> bool:
    """Whether two results are equal within the coarser tolerance of the two.

    wanted: what the reference gave, which says how many values they hold. magnitude: see
    `numerics.tolerance_for`.
    """
    if isinstance(right, Mapping):
        return isinstance(left, Mapping) and _same_mapping(left, right, wanted, magnitude)
    count = expected_count(wanted)
    if count > 1:
        ours, theirs = parts_of(left, count), parts_of(right, count)
        if ours is not None and theirs is not None:
            return all(_same_single(a, b, None) for a, b in zip(ours, theirs, strict=True))
        if (ours is None) != (theirs is None):
            return False
    return _same_single(left, right, magnitude)


def _same_mapping(
    left: Mapping[str, Any], right: Mapping[str, Any], wanted: Any, magnitude: float | None
) -> bool:
    """The keys that the reference has; all keys when it has none."""
    inside = wanted if isinstance(wanted, Mapping) else {}
    return all(
        same_value(left.get(key), right.get(key), inside.get(key), magnitude)
        for key in inside or right
    )


def _same_single(left: Any, right: Any, magnitude: float | None) -> bool:
    ours, theirs = part_of(left), part_of(right)
    if not isinstance(ours, Part) or not isinstance(theirs, Part):
        return _same_object(left, right)
    if ours.shape != theirs.shape:
        return False
    if ours.data is None or theirs.data is None:
        return ours.data is None and theirs.data is None
    dtypes = [ours.dtype, theirs.dtype]
    tolerance = tolerance_for(dtypes, theirs.data, half=True, magnitude=magnitude)
    return compare(ours.data, theirs.data, tolerance, nan_equal=True) is None


def _same_object(left: Any, right: Any) -> bool:
    """Values that are no arrays: nothing, texts, objects of one type, sequences of values."""
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(
            _same_single(a, b, None) for a, b in zip(left, right, strict=True)
        )
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and _same_mapping(left, right, right, None)
    if left is None or isinstance(left, (str, Opaque)):
        return type(left) is type(right) and bool(left == right)
    return False


def summary(
    spec: ExerciseSpec, case: Case, observed: Sequence[Observed]
) -> tuple[Interval, ...] | None:
    """The statistics of a case with random results; None for all other cases."""
    checks = [check for check in spec.checks if is_for(check, case)]
    if not checks:
        return None
    view = case_view(case, observed)
    if view is None:
        return None
    for check in checks:
        try:
            found = run_check(check, view)
        except PackFault:
            continue  # the judge has reported it
        if isinstance(found, Verdict):
            return found.summary
    return None


def summaries_agree(left: Sequence[Interval], right: Sequence[Interval]) -> bool:
    """Whether two lists of statistics could be estimates of the same numbers."""
    theirs = {interval.name: interval for interval in right}
    return len(left) == len(right) and all(
        interval.name in theirs and interval.agrees_with(theirs[interval.name]) for interval in left
    )
