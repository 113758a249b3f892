"""What has to hold between the calls of one case, whatever the values are.

Each function is given the view of a case and the check's parameters, and returns None when
all is well, or a sentence. They are named in `autograder.checks`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.invariants import dtype_of_part, part
from autograder.numerics import tolerance_for
from autograder.specification import CallView, CaseView

# In units of the largest entry: the reference computes in float64, where whatever it leaves as
# it was is off by rounding at most.
UNMOVED = 1e-9


def same_twice(view: CaseView, result: int) -> str | None:
    """Calls with the same inputs give the same result."""
    for later, second in enumerate(view.calls):
        for first in view.calls[:later]:
            if equal_arguments(first.arguments, second.arguments):
                got, again = part(first.result, result), part(second.result, result)
                if got.shape != again.shape or _moved(got, again, second, result).any():
                    return (
                        "the same inputs gave another result when it was called again; is "
                        "something kept between calls, or drawn at random?"
                    )
    return None


def unaffected(
    view: CaseView, changed: str, what: str, axis: int, result: int, calls: Sequence[int]
) -> str | None:
    """Entries that the reference leaves as they were from one call to another stay.

    changed: what is different in the second call, as the subject of the sentence. what: what
    `axis` counts.
    """
    first, second = (view.calls[index] for index in calls)
    before, after = part(first.expected, result), part(second.expected, result)
    size = float(np.abs(before).max(initial=0.0))
    stays = np.abs(before - after) <= UNMOVED * size
    if not stays.any():
        raise ValueError("the reference moves every entry: there is nothing that has to stay")
    got, again = part(first.result, result), part(second.result, result)
    moved = stays & _moved(got, again, second, result)
    if not moved.any():
        return None
    worst = np.where(moved, np.nan_to_num(np.abs(got - again), nan=np.inf), -1.0)
    index = [int(i) for i in np.unravel_index(int(worst.argmax()), worst.shape)]
    position = index.pop(axis % len(index))
    where = f"{what} {position}"
    if len(index) > 1:  # beyond the features: which sample, which head
        where += f" in [{', '.join(map(str, index[:-1]))}]"
    return (
        f"{changed} changed the result of {where}, by {float(worst.max()):.3g}, "
        "expected it to stay as it was"
    )


def equivariant(
    view: CaseView, argument: str, axis: int, what: str, axes: Sequence[int], result: int
) -> str | None:
    """When the second call has an argument permuted along `axis`, the result is permuted too.

    axes: those of the result that the permutation acts on.
    """
    first, second = view.calls[:2]
    order = _permutation(first.arguments[argument], second.arguments[argument], axis)
    wanted, got = part(first.result, result), part(second.result, result)
    for number in axes:
        wanted = np.take(wanted, order, axis=number)
    if wanted.shape == got.shape and not _moved(wanted, got, second, result).any():
        return None
    return (
        f"with its {what} in another order, the result is not the same in that order; "
        f"the position of a {what.removesuffix('s')} should make no difference"
    )


def _permutation(before: Any, after: Any, axis: int) -> list[int]:
    """Where each slice of `after` stood in `before`; ValueError when it is no permutation."""
    old, new = np.moveaxis(before, axis, 0), np.moveaxis(after, axis, 0)
    order = [
        next((i for i in range(len(old)) if np.array_equal(old[i], slice_)), -1) for slice_ in new
    ]
    if sorted(order) != list(range(len(old))):
        raise ValueError("the second call does not hold the first one's argument permuted")
    return order


def equal_arguments(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two calls were given the same."""
    return first.keys() == second.keys() and all(
        _equal(first[name], second[name]) for name in first
    )


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return (
            isinstance(left, np.ndarray)
            and isinstance(right, np.ndarray)
            and np.array_equal(left, right, equal_nan=left.dtype.kind == "f")
        )
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_equal, left, right))
    return bool(left == right)


def _moved(
    before: np.ndarray[Any, Any], after: np.ndarray[Any, Any], call: CallView, result: int
) -> np.ndarray[Any, Any]:
    """Which entries differ by more than another order of the same sums can explain."""
    tolerance = tolerance_for([dtype_of_part(call, result)], before, half=True)
    moved: np.ndarray[Any, Any] = ~(np.abs(before - after) <= tolerance.bound(before))
    moved &= ~(np.isnan(before) & np.isnan(after)) & (before != after)
    return moved
