"""The right numbers in other places: transposed, reshaped, reordered; or right in parts only."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from autograder.samples import Numbers, Relation, Sample, comparable, holds

Flags = np.ndarray[Any, np.dtype[np.bool_]]

# Orders of slices and axes are looked for up to these sizes only; a student's cases are small.
MAX_AXES, MAX_SLICES, MAX_NUMBERS = 5, 64, 20_000


# --- the right numbers in other places -----------------------------------------------------


def transposed(samples: Sequence[Sample]) -> Relation | None:
    """The axes in another order."""
    for order in _orders_of_axes(samples):
        if not holds(samples, lambda s, order=order: s.wanted.transpose(order)):  # type: ignore[misc]
            continue
        moved = [axis for axis, place in enumerate(order) if axis != place]
        if len(moved) > 2:
            return Relation(
                "is consistent with the right one with its axes in another order",
                "write the shape beside each line that moves axes",
            )
        if samples[0].wanted.ndim == 2:
            return Relation(
                "is consistent with the transpose of the right one",
                "see which index goes down and which across, in your code and in the docstring",
            )
        names = " and ".join(samples[0].axis(axis) for axis in moved)
        return Relation(
            "is consistent with the right one with the axes " + names + " exchanged",
            "write the shape beside each line that moves axes",
        )
    return None


def reshaped(samples: Sequence[Sample]) -> Relation | None:
    """The right numbers read in another shape, or put down in one."""

    def flat(sample: Sample) -> Any:
        same = sample.got.size == sample.wanted.size and sample.got.shape != sample.wanted.shape
        return sample.wanted.reshape(sample.got.shape) if same else None

    if holds(samples, flat):
        return Relation(
            "has the right numbers in the right order, in another shape",
            "compare the shape of your result with the one in the docstring, axis by axis",
        )
    for order in _orders_of_axes(samples):

        def laid_out(sample: Sample, order: tuple[int, ...] = order) -> Any:
            if sample.got.size != sample.wanted.size:
                return None
            return sample.wanted.transpose(order).reshape(sample.got.shape)

        if holds(samples, laid_out):
            return Relation(
                "is consistent with a reshape where axes should change places",
                "a reshape keeps the order of all numbers in memory: does an axis have to move "
                "before or after yours?",
            )
    return None


def _orders_of_axes(samples: Sequence[Sample]) -> list[tuple[int, ...]]:
    """Orders of the axes other than theirs, the exchange of the last two first."""
    dimensions = {sample.wanted.ndim for sample in samples}
    if len(dimensions) != 1 or not 2 <= max(dimensions) <= MAX_AXES:
        return []
    own = tuple(range(max(dimensions)))

    def strangeness(order: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        moved = sum(axis != place for axis, place in enumerate(order))
        return moved, tuple(-axis for axis, place in enumerate(order) if axis != place)

    return sorted((o for o in itertools.permutations(own) if o != own), key=strangeness)


def reordered(samples: Sequence[Sample]) -> Relation | None:
    """Slices along one axis in another order, or numbers anywhere."""
    if not comparable(samples):
        return None
    for axis in range(samples[0].wanted.ndim):
        if not any(sample.wanted.shape[axis] > 1 for sample in samples):
            continue
        name = samples[0].axis(axis)
        for words, make in _ORDERS:
            if holds(samples, lambda s, make=make, axis=axis: make(s.wanted, axis)):  # type: ignore[misc]
                return Relation(
                    "is consistent with the right one " + words + " along the axis " + name,
                    "print one small example and see where its first slice along this axis went",
                )
        if all(_is_permuted(sample, axis) for sample in samples):
            return Relation(
                "is consistent with the right one with its slices in another order along the "
                f"axis {name}",
                "see in which order your code puts them together, or takes them apart",
            )
    if all(sample.near(np.sort(sample.got, axis=None), np.sort(sample.wanted, axis=None))
           for sample in samples):  # fmt: skip
        return Relation(
            "has the right numbers in other places",
            "follow one number from the argument to the result; look at each reshape, transpose "
            "and index on its way",
        )
    return None


_ORDERS: tuple[tuple[str, Callable[[Numbers, int], Numbers]], ...] = (
    ("in reverse order", lambda wanted, axis: np.flip(wanted, axis)),
    ("moved on by one", lambda wanted, axis: np.roll(wanted, 1, axis)),
    ("moved back by one", lambda wanted, axis: np.roll(wanted, -1, axis)),
)


def _is_permuted(sample: Sample, axis: int) -> bool:
    got, wanted = np.moveaxis(sample.got, axis, 0), np.moveaxis(sample.wanted, axis, 0)
    if not 1 < len(wanted) <= MAX_SLICES or wanted[0].size < 2 or wanted.size > MAX_NUMBERS:
        return False
    left = list(range(len(wanted)))
    for piece in got:
        place = next((i for i in left if sample.near(piece, wanted[i])), None)
        if place is None:
            return False
        left.remove(place)
    return True


# --- right in parts ------------------------------------------------------------------------


def partly(samples: Sequence[Sample]) -> Relation | None:
    """Right everywhere but in one kind of places."""
    if not comparable(samples):
        return None
    wrong = [~sample.near_each(sample.got, sample.wanted) for sample in samples]
    for words, look, places in _places(samples):
        expected = [places(sample.wanted.shape) for sample in samples]
        if all(map(_are_these, wrong, expected)):
            return Relation("is right " + words, look)
    return None


def _are_these(bad: Flags, places: Flags) -> bool:
    """Whether wrong entries are in these places only, and in most of them."""
    if not bad.any() or (bad & ~places).any() or places.all():
        return False
    return int(places.sum()) > 1 and 2 * int(bad.sum()) >= int(places.sum())


Places = Callable[[tuple[int, ...]], Flags]


def _places(samples: Sequence[Sample]) -> Iterator[tuple[str, str, Places]]:
    dimensions = samples[0].wanted.ndim
    if dimensions >= 2 and all(s.wanted.shape[-1] == s.wanted.shape[-2] for s in samples):
        yield (
            "but on the diagonal",
            "see what your code does with a token and itself",
            _matrix(lambda i, j: i == j),
        )
        yield "on the diagonal and below it, and wrong above", _HALF, _matrix(lambda i, j: j > i)
        yield "on the diagonal and above it, and wrong below", _HALF, _matrix(lambda i, j: j < i)
        yield "below the diagonal only", _HALF, _matrix(lambda i, j: j >= i)
        yield "above the diagonal only", _HALF, _matrix(lambda i, j: j <= i)
    for axis in range(dimensions):
        name = samples[0].axis(axis)
        if max(sample.wanted.shape[axis] for sample in samples) < 2:
            continue
        for word, index in (("last", -1), ("first", 0)):
            yield (
                f"but for the {word} slice along the axis {name}",
                f"see whether your code reaches the {word} one, and treats it as the others",
                _slices(axis, index, inside=True),
            )
        yield (
            f"for the first slice along the axis {name} only",
            "see what of the first one your code uses for all the others",
            _slices(axis, 0, inside=False),
        )


_HALF = "see which side of the diagonal each index of a row stands on"


def _matrix(condition: Callable[[Any, Any], Any]) -> Places:
    def places(shape: tuple[int, ...]) -> Flags:
        rows, columns = np.indices(shape[-2:])
        return np.broadcast_to(condition(rows, columns), shape)

    return places


def _slices(axis: int, index: int, *, inside: bool) -> Places:
    def places(shape: tuple[int, ...]) -> Flags:
        made = np.full(shape, not inside)
        made[(slice(None),) * axis + (index,)] = inside
        return made

    return places
