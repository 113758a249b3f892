"""How two observations of one case are alike: equal, agreeing, or not to be told apart otherwise.

“Same” means equal within the tolerance, with equal NaN patterns, or the same kind of
exception; for random results, agreeing statistics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from autograder import form
from autograder.checks import PackFault, is_for, may_be_statistical, run_check
from autograder.numerics import HALF_TYPES, compare, magnitude_of, tolerance_for
from autograder.observe.protocol import Array, Opaque
from autograder.observe.session import Stopped
from autograder.program import Backward, Construct, Observed, ReadAxes
from autograder.results_view import (
    Part,
    case_view,
    expected_count,
    part_of,
    parts_of,
    shown,
)
from autograder.specification import Case, ExerciseSpec, Interval, Verdict

CaseOutcome = Sequence[Observed] | Stopped


class Likeness(Enum):
    """How two observations of one case that cannot be told apart are alike."""

    EQUAL = "equal"  # values, or an exception with its message
    AGREEING = "agreeing"  # statistics of random results
    SAME_EXCEPTION = "same exception"  # of one type: many causes have it


@dataclass(frozen=True)
class _Exactness:
    """What the tolerance of a comparison depends on beside the values themselves.

    magnitude: see `numerics.tolerance_for`. step: whose arguments have dtypes too.
    """

    magnitude: float | None = None
    step: form.Step | None = None

    @property
    def inputs(self) -> list[str]:
        """Floating dtypes of the arguments."""
        return [] if self.step is None else self.step.input_dtypes()


class Seen:
    """The observations of a submission; their statistics are computed once a case."""

    def __init__(self, spec: ExerciseSpec, observations: Mapping[str, CaseOutcome]) -> None:
        self.spec = spec
        self.observations = observations
        self._summaries: dict[str, tuple[Interval, ...] | None] = {}

    def like(self, case: Case, known: Sequence[Observed]) -> Likeness | None:
        """How the observation of a case is like what a misconception gives there."""
        observed = self.observations[case.name]
        if isinstance(observed, Stopped) or _differ_in_kind(observed, known):
            return None
        mine = self.statistics(case)
        theirs = mine and _known_summary(self.spec, case, known)
        if mine and theirs:
            return Likeness.AGREEING if summaries_agree(mine, theirs) else None
        return _likeness_of_steps(self.spec, case, observed, known)

    def statistics(self, case: Case) -> tuple[Interval, ...] | None:
        """Those of a case with random results; None for all other cases."""
        observed = self.observations[case.name]
        if case.name not in self._summaries and not isinstance(observed, Stopped):
            self._summaries[case.name] = summary(self.spec, case, observed)
        return self._summaries.get(case.name)

    def near(self, case: Case, known: Sequence[Observed]) -> bool:
        """Whether the values of a case are those of `known`, whatever their dtypes."""
        observed = self.observations[case.name]
        return not isinstance(observed, Stopped) and same_values(self.spec, case, observed, known)


def same_outcome(
    spec: ExerciseSpec, case: Case, observed: Sequence[Observed], other: Sequence[Observed]
) -> bool:
    """Whether two observations of one case cannot be told apart."""
    return likeness(spec, case, observed, other) is not None


def likeness(
    spec: ExerciseSpec, case: Case, observed: Sequence[Observed], other: Sequence[Observed]
) -> Likeness | None:
    """How two observations of one case are alike; None when they can be told apart."""
    return Seen(spec, {case.name: observed}).like(case, other)


def same_values(
    spec: ExerciseSpec, case: Case, observed: Sequence[Observed], other: Sequence[Observed]
) -> bool:
    """Whether two observations of one case have equal values, whatever their dtypes."""
    if _differ_in_kind(observed, other):
        return False
    return _likeness_of_steps(spec, case, observed, other, dtypes=False) is not None


def _differ_in_kind(observed: Sequence[Observed], other: Sequence[Observed]) -> bool:
    """Whether one raises, or changes an argument, where the other does not."""
    return len(observed) != len(other) or any(
        bool(left.changed) != bool(right.changed) or (left.raised is None) != (right.raised is None)
        for left, right in zip(observed, other, strict=True)
    )


def _likeness_of_steps(
    spec: ExerciseSpec,
    case: Case,
    observed: Sequence[Observed],
    other: Sequence[Observed],
    dtypes: bool = True,
) -> Likeness | None:
    like = Likeness.EQUAL
    for index, (left, right) in enumerate(zip(observed, other, strict=True)):
        if left.raised is not None and right.raised is not None:
            if left.raised.type_name != right.raised.type_name:
                return None
            asked = index < len(case.expected) and case.expected[index].raised is not None
            # where an exception is asked for, its type is the whole matter
            if left.raised.message != right.raised.message and not asked:
                like = Likeness.SAME_EXCEPTION
        else:
            wanted = case.expected[index].value if index < len(case.expected) else None
            step = form.Step(spec, case, index)
            if not _same_step(step, left.value, right.value, wanted):
                return None
            if dtypes and not _same_dtypes(step, left.value, right.value, wanted):
                return None
    return like


def _same_step(step: form.Step, left: Any, right: Any, wanted: Any) -> bool:
    """Whether a step gave the same. wanted: what the reference gave."""
    done = step.case.program.steps[step.index]
    if isinstance(done, Construct):
        return True  # the class has another name, and no more is known
    if isinstance(done, ReadAxes):
        return same_value(shown(left), shown(right), shown(wanted))
    magnitude = magnitude_of(_arrays_in(right)) if isinstance(done, Backward) else None
    return same_value(left, right, wanted, _Exactness(magnitude, step))


def _same_dtypes(step: form.Step, left: Any, right: Any, wanted: Any) -> bool:
    """Whether two results would be told the same of their dtypes, as far as these are judged."""
    count = expected_count(wanted)
    ours, theirs = (parts_of(value, count) if count > 1 else [value] for value in (left, right))
    for a, b in zip(map(part_of, ours or ()), map(part_of, theirs or ()), strict=False):
        if not isinstance(a, Part) or not isinstance(b, Part) or a.dtype == b.dtype:
            continue
        if a.framework == b.framework == "torch":
            floats = all("float" in part.dtype for part in (a, b))
            # without a floating input, any float dtype is right
            if not floats or step.input_dtypes():
                return False
    return True


def _arrays_in(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _arrays_in(item)
    elif isinstance(value, Array) and value.data is not None:
        yield value.data


def same_value(left: Any, right: Any, wanted: Any, exactness: _Exactness = _Exactness()) -> bool:
    """Whether two results are equal within the coarser tolerance of the two.

    wanted: what the reference gave, which says how many values they hold.
    """
    if isinstance(right, Mapping):
        return isinstance(left, Mapping) and _same_mapping(left, right, wanted, exactness)
    count = expected_count(wanted)
    if count > 1:
        ours, theirs = parts_of(left, count), parts_of(right, count)
        if ours is not None and theirs is not None:
            return all(_same_single(a, b, exactness) for a, b in zip(ours, theirs, strict=True))
        if (ours is None) != (theirs is None):
            return False
    return _same_single(left, right, exactness)


def _same_mapping(
    left: Mapping[str, Any], right: Mapping[str, Any], wanted: Any, exactness: _Exactness
) -> bool:
    """The keys that the reference has; all keys when it has none."""
    inside = wanted if isinstance(wanted, Mapping) else {}
    return all(
        same_value(left.get(key), right.get(key), inside.get(key), exactness)
        for key in inside or right
    )


def _same_single(left: Any, right: Any, exactness: _Exactness) -> bool:
    ours, theirs = part_of(left), part_of(right)
    if not isinstance(ours, Part) or not isinstance(theirs, Part):
        return _same_object(left, right, exactness)
    if ours.shape != theirs.shape:
        return False
    if ours.data is None or theirs.data is None:
        return ours.data is None and theirs.data is None
    if _begin_differently(ours.data, theirs.data):
        return False
    dtypes = [ours.dtype, theirs.dtype]
    half = all(dtype in HALF_TYPES for dtype in dtypes)
    tolerance = tolerance_for(
        [*dtypes, *exactness.inputs], theirs.data, half=half, magnitude=exactness.magnitude
    )
    return compare(ours.data, theirs.data, tolerance, nan_equal=True) is None


def _begin_differently(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    """Whether the first entries alone tell two arrays apart; most are, in hundreds of pairs.

    No tolerance comes near a tenth of the largest entry.
    """
    if not left.size or left.dtype.kind != "f" or right.dtype.kind != "f":
        return False
    largest = float(np.abs(right).max())
    off = abs(float(left.flat[0]) - float(right.flat[0]))
    return 1e-3 < largest < float("inf") and 0.1 * largest < off < float("inf")


def _same_object(left: Any, right: Any, exactness: _Exactness) -> bool:
    """Values that are no arrays: nothing, texts, objects of one type, sequences of values."""
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(
            _same_single(a, b, exactness) for a, b in zip(left, right, strict=True)
        )
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and _same_mapping(left, right, right, exactness)
    if left is None or isinstance(left, (str, Opaque)):
        return type(left) is type(right) and bool(left == right)
    return False


def summary(
    spec: ExerciseSpec, case: Case, observed: Sequence[Observed]
) -> tuple[Interval, ...] | None:
    """The statistics of a case with random results; None for all other cases."""
    checks = [check for check in spec.checks if may_be_statistical(check) and is_for(check, case)]
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


def _known_summary(
    spec: ExerciseSpec, case: Case, known: Sequence[Observed]
) -> tuple[Interval, ...] | None:
    """The statistics of what a misconception gave, computed once for a whole class."""
    made = vars(case).setdefault("_summaries", {})  # beside the fields, as equality ignores it
    if id(known) not in made:
        made[id(known)] = known, summary(spec, case, known)  # kept, so that its id stays its own
    found: tuple[Interval, ...] | None = made[id(known)][1]
    return found


def summaries_agree(left: Sequence[Interval], right: Sequence[Interval]) -> bool:
    """Whether two lists of statistics could be estimates of the same numbers."""
    theirs = {interval.name: interval for interval in right}
    return len(left) == len(right) and all(
        interval.name in theirs and interval.agrees_with(theirs[interval.name]) for interval in left
    )
