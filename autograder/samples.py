"""Wrong values beside the right ones, in the form in which relations between them are sought.

A relation is sought over many samples at once (one value of one call each) and holds only if
it does in all of them. Words are given with it: what holds, no more, and what to look at. They
name axes and sizes, never a value of a hidden case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.float64]]

# What a result has in common with the right one by chance alone: nothing, from so many numbers.
FEWEST = 4


@dataclass(frozen=True)
class Relation:
    """`says`: “is consistent with …”, after a subject. `look`: what to look at next."""

    says: str
    look: str


@dataclass(frozen=True)
class Sample:
    """One wrong value. `slack` is the relative error that its dtype may have.

    sizes: of named axes and whole-number arguments of the call. axes: names of its own axes,
    if it has any. arguments: arrays of the call by name. hidden: it is one of a hidden case.
    """

    got: Numbers
    wanted: Numbers
    slack: float
    sizes: Mapping[str, int]
    axes: tuple[str, ...] | None
    arguments: Mapping[str, Numbers]
    is_mask: bool = False
    hidden: bool = False

    def near(self, got: Any, wanted: Any) -> bool:
        """Whether two arrays are equal as far as the dtype can tell."""
        got, wanted = np.asarray(got), np.asarray(wanted)
        if got.shape != wanted.shape:
            return False
        if got.size and not abs(got.flat[0] - wanted.flat[0]) <= 0.1 * np.abs(wanted).max():
            return False  # seen at once, as nearly always
        return bool(self.near_each(got, wanted).all())

    def near_each(self, got: Numbers, wanted: Numbers) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The same entry by entry."""
        sizes = np.abs(wanted)
        floor = 0.1 * self.slack * float(sizes.max(initial=0.0))
        same: np.ndarray[Any, np.dtype[np.bool_]]
        same = np.abs(got - wanted) <= self.slack * sizes + floor
        return same

    def axis(self, number: int) -> str:
        """How an axis is called."""
        if self.axes is not None and len(set(self.axes)) == len(self.axes) == self.wanted.ndim:
            return f"`{self.axes[number]}`"
        if self.wanted.ndim == 2:
            return ("that goes down", "that goes across")[number]
        return str(number)


def holds(samples: Sequence[Sample], make: Callable[[Sample], Any]) -> bool:
    """Whether what was got is what `make` makes of a sample, in all of them."""
    for sample in samples:
        made = make(sample)
        if made is None or not sample.near(sample.got, made):
            return False
    return True


def comparable(samples: Sequence[Sample]) -> bool:
    """Whether the values have the right shapes, of one number of axes in all samples."""
    dimensions = {sample.wanted.ndim for sample in samples}
    return len(dimensions) == 1 and all(s.got.shape == s.wanted.shape for s in samples)
