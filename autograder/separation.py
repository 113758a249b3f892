"""How far a result stands from the expected one, in units of what is tolerated.

`validate` sets the smallest error of a wrong variant beside the largest of a right one.
Results that differ in kind (a shape, an exception, NaN, a detached graph, statistics of
random draws) are not a matter of size, and have no figure here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.form import Step, judge_form
from autograder.likeness import summary
from autograder.numerics import HALF_TYPES, error_ratio, magnitude_of
from autograder.observe.protocol import Opaque
from autograder.program import Backward, Call, Construct, LoadWeights, Mode, Observed, ReadAxes
from autograder.results_view import Part, expected_count, part_of, parts_of, shown
from autograder.specification import Case, ExerciseSpec

# A wrong variant stands at least this many times further off than the furthest right one.
ENOUGH = 100.0
# Two units in the last place of a half type are 0.2% or 1.6%: less room, the bound is its own.
ENOUGH_IN_HALF = 3.0
# A right variant that nobody wrote yet may round to a tenth of the tolerance. With this floor
# a wrong one must stand ten tolerances off, whatever the pack's own right variants do.
LEAST_RIGHT = 0.1

# Steps that give nothing to be compared.
_SILENT = (Construct, LoadWeights, Mode)


class DiffersInKind(Exception):
    """Two results between which there is no distance."""


Observations = Mapping[str, Sequence[Observed]]


def separate(
    spec: ExerciseSpec, right: Sequence[Observations], wrong: Mapping[str, Observations]
) -> tuple[float | None, list[str]]:
    """(smallest wrong error over largest right one, a sentence for each that is too near).

    Each wrong variant counts at its most telling case. Cases in half precision, where less is
    enough, have a largest right error of their own.
    """
    allowed = {case.name: enough(spec, case) for case in spec.cases}
    furthest = dict.fromkeys(allowed.values(), LEAST_RIGHT)
    for observations in right:
        for case, error in _by_case(spec, observations).items():
            furthest[allowed[case]] = max(furthest[allowed[case]], error or 0.0)
    smallest: float | None = None
    too_near: list[str] = []
    for name, observations in wrong.items():
        errors = _by_case(spec, observations)
        if _differs_in_kind(list(errors.values())):
            continue
        times = {case: (error or 0.0) / furthest[allowed[case]] for case, error in errors.items()}
        best = max(times, key=lambda case: times[case] / allowed[case])
        smallest = times[best] if smallest is None else min(smallest, times[best])
        if times[best] < allowed[best]:
            too_near.append(
                f"{name} stands only {times[best]:.3g} times further off than the furthest "
                f"right variant, below {allowed[best]:g}; add a case that tells it apart"
            )
    return smallest, too_near


def _by_case(spec: ExerciseSpec, observations: Observations) -> dict[str, float | None]:
    """The error in every case but those of random results, which say nothing of size."""
    return {
        case.name: error_of(spec, case, observations[case.name])
        for case in spec.cases
        if case.name in observations and summary(spec, case, case.expected) is None
    }


def _differs_in_kind(errors: Sequence[float | None]) -> bool:
    """Whether size says nothing: it differs in kind somewhere, or beside values that are right."""
    known = [error for error in errors if error is not None]
    if not known or len(known) < len(errors):
        return True
    return max(known) == float("inf") or max(known) <= 1.0


def enough(spec: ExerciseSpec, case: Case) -> float:
    """How many times further off a wrong variant has to stand in a case, to be told apart."""
    calls = (index for index, _ in case.program.calls)
    dtypes = {dtype for index in calls for dtype in Step(spec, case, index).input_dtypes()}
    return ENOUGH_IN_HALF if spec.half_precision and dtypes & set(HALF_TYPES) else ENOUGH


def error_of(spec: ExerciseSpec, case: Case, observed: Sequence[Observed]) -> float | None:
    """The largest error of a case in units of the tolerance; None when not a matter of size."""
    if summary(spec, case, observed) is not None:
        return None
    try:
        return max(_errors(spec, case, observed), default=0.0)
    except DiffersInKind:
        return None


def _errors(spec: ExerciseSpec, case: Case, observed: Sequence[Observed]) -> Iterator[float]:
    for index, wanted in enumerate(case.expected):
        if index >= len(observed):
            raise DiffersInKind
        got = observed[index]
        if bool(got.changed) != bool(wanted.changed):
            raise DiffersInKind
        if got.raised is not None or wanted.raised is not None:
            if (got.raised is None) != (wanted.raised is None):
                raise DiffersInKind
            return  # both end here
        done = case.program.steps[index]
        if isinstance(done, _SILENT):
            continue
        step = Step(spec, case, index)
        if isinstance(done, Call) and judge_form(step, got.value, wanted.value) is not None:
            raise DiffersInKind
        seen = shown if isinstance(done, ReadAxes) else _as_it_is
        pairs = list(_pairs(seen(got.value), seen(wanted.value)))
        # gradients of one step are as exact as the largest of them needs, see `comparison`
        together = isinstance(done, Backward)
        magnitude = magnitude_of(wanted for _, _, wanted in pairs) if together else None
        for dtype, left, right in pairs:
            yield error_ratio(left, right, step.tolerance(dtype, right, magnitude))


def _as_it_is(value: Any) -> Any:
    return value


def _pairs(
    got: Any, wanted: Any
) -> Iterator[tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    """(dtype of the result, result, expected) of every array inside; DiffersInKind."""
    if isinstance(wanted, Mapping):
        if not isinstance(got, Mapping) or not set(wanted) <= set(got):
            raise DiffersInKind
        for key, item in wanted.items():
            yield from _pairs(got[key], item)
        return
    count = expected_count(wanted)
    if count > 1:
        parts = parts_of(got, count)
        if parts is None:
            raise DiffersInKind
        for part, item in zip(parts, wanted, strict=True):
            yield from _pairs(part, item)
        return
    left, right = part_of(got), part_of(wanted)
    if not isinstance(left, Part) or not isinstance(right, Part):
        # of objects no more is known than that they are there: a module, an Axes
        both_objects = isinstance(got, Opaque) and isinstance(wanted, Opaque)
        if got != wanted and not both_objects:
            raise DiffersInKind
        return
    if left.data is None or right.data is None or left.shape != right.shape:
        raise DiffersInKind
    yield left.dtype, left.data, right.data
