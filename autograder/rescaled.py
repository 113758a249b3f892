"""The right numbers changed: by a factor, an offset, a function of each, or for want of digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from autograder.samples import FEWEST, Numbers, Relation, Sample, comparable, holds

# --- a factor, an offset -------------------------------------------------------------------


def scaled(samples: Sequence[Sample]) -> Relation | None:
    """One factor for all entries of a value."""
    factors = [_factor(sample) for sample in samples]
    known = [factor for factor in factors if factor is not None]
    if len(known) < len(factors):
        return None
    look = "see where this factor comes in, or is left out"
    if all(math.isclose(factor, -1.0, rel_tol=1e-6) for factor in known):
        return Relation("is the right one with the sign changed", "look for a sign, or an order "
                        "of two operands, that is the wrong way round")  # fmt: skip
    named = _named_factor(samples, known)
    if named is not None:
        return Relation("is consistent with " + named + " times the right one", look)
    slack = max(sample.slack for sample in samples)
    equal = all(math.isclose(factor, known[0], rel_tol=4 * slack) for factor in known)
    if equal and not all(sample.hidden for sample in samples):
        return Relation(f"is {known[0]:.4g} times the right one, in every entry", look)
    if max(sample.wanted.size for sample in samples) >= FEWEST:
        return Relation(
            "is the right one up to one factor, another in each case",
            "see which size of the arguments this factor goes with",
        )
    return None


def _factor(sample: Sample) -> float | None:
    """By what the right value was multiplied; None when it was not one number."""
    got, wanted = sample.got, sample.wanted
    if got.shape != wanted.shape or not np.isfinite(got).all() or not wanted.any():
        return None
    top = np.unravel_index(int(np.abs(wanted).argmax()), wanted.shape)
    factor = float(got[top] / wanted[top])
    if factor == 0.0 or not math.isfinite(factor) or not sample.near(got, factor * wanted):
        return None
    return factor


def _named_factor(samples: Sequence[Sample], factors: Sequence[float]) -> str | None:
    """The one expression of the sizes that gives all factors; None when several do, or none."""
    slack = 4 * max(sample.slack for sample in samples)
    names = set.intersection(*(set(sample.sizes) for sample in samples))
    found = []
    for name in sorted(names):
        sizes = [sample.sizes[name] for sample in samples]
        if min(sizes) < 1 or max(sizes) == 1:
            continue
        for words, make in _POWERS:
            if all(
                math.isclose(factor, make(size), rel_tol=slack)
                for factor, size in zip(factors, sizes, strict=True)
            ):
                found.append(words.format(name))
    return found[0] if len(found) == 1 else None


_POWERS: tuple[tuple[str, Callable[[int], float]], ...] = (
    ("√{}", lambda n: math.sqrt(n)),
    ("1/√{}", lambda n: 1 / math.sqrt(n)),
    ("{}", lambda n: float(n)),
    ("1/{}", lambda n: 1 / n),
    ("{}²", lambda n: float(n * n)),
    ("1/{}²", lambda n: 1 / (n * n)),
)


def scaled_by_slices(samples: Sequence[Sample]) -> Relation | None:
    """A factor for each slice: what is not normalised, or normalised over another axis."""
    if not comparable(samples):
        return None
    for axis in range(samples[0].wanted.ndim):
        if all(_has_factors(sample, axis) for sample in samples):
            name = samples[0].axis(axis)
            return Relation(
                "is right up to a factor in each slice along the axis " + name,
                "see over which axis your code adds up before it divides, and whether it does",
            )
    return None


def _has_factors(sample: Sample, axis: int) -> bool:
    """Whether all entries with one index along an axis are off by one factor."""
    got, wanted = np.moveaxis(sample.got, axis, 0), np.moveaxis(sample.wanted, axis, 0)
    if len(wanted) < 2 or wanted[0].size < 2 or not np.isfinite(got).all():
        return False
    one = _numbers_of(wanted[0].ndim)
    tops = np.abs(wanted).max(axis=one, keepdims=True)
    at_top = np.where(np.abs(wanted) == tops, got / wanted, np.nan)
    if np.isnan(at_top).all(axis=one).any():  # a slice of zeros has no factor
        return False
    factors = np.nanmax(at_top, axis=one, keepdims=True)
    return bool(np.isfinite(factors).all() and (factors != 0).all()) and all(
        sample.near(mine, factor * right)
        for mine, factor, right in zip(got, factors.reshape(-1), wanted, strict=True)
    )


def _numbers_of(dimensions: int) -> tuple[int, ...]:
    return tuple(range(1, dimensions + 1))


def shifted(samples: Sequence[Sample]) -> Relation | None:
    """One number added to all entries, or to all of a slice."""
    if not comparable(samples):
        return None
    if all(sample.wanted.size > 1 and _is_even(sample, sample.got - sample.wanted)
           for sample in samples):  # fmt: skip
        return Relation(
            "is the right one plus one number, the same in every entry",
            "look for a term that is added, or left out, everywhere",
        )
    for axis in range(samples[0].wanted.ndim):
        if all(_has_offsets(sample, axis) for sample in samples):
            name = samples[0].axis(axis)
            return Relation(
                "is the right one plus one number for each slice along the axis " + name,
                "look for a term that is added, or left out, along this axis",
            )
    return None


def _has_offsets(sample: Sample, axis: int) -> bool:
    off = np.moveaxis(sample.got - sample.wanted, axis, 0)
    return len(off) > 1 and off[0].size > 1 and all(_is_even(sample, piece) for piece in off)


def _is_even(sample: Sample, off: Numbers) -> bool:
    """Whether all entries are one number, as far as the dtype can tell."""
    size = float(np.abs(sample.wanted).max(initial=0.0))
    return bool(np.isfinite(off).all() and np.ptp(off) <= sample.slack * size)


# --- entry by entry ------------------------------------------------------------------------


def transformed(samples: Sequence[Sample]) -> Relation | None:
    """One function applied to each entry."""
    if any(sample.is_mask for sample in samples):
        return None
    for words, look, make in _TRANSFORMS:
        if holds(samples, lambda s, make=make: make(s.wanted)):  # type: ignore[misc]
            return Relation("is consistent with " + words, look)
    return None


_TRANSFORMS: tuple[tuple[str, str, Callable[[Numbers], Numbers]], ...] = (
    ("the logarithm of the right one", "see whether a step back from logarithms is missing",
     lambda x: np.where(x > 0, np.log(x), np.nan)),
    ("the exponential of the right one", "see whether you take the exponential once too often",
     np.exp),
    ("the square of the right one", "see whether a root is missing", np.square),
    ("the root of the right one", "see whether you take a root once too often",
     lambda x: np.where(x >= 0, np.sqrt(x), np.nan)),
    ("one divided by the right one", "see whether a fraction is upside down",
     lambda x: np.where(x != 0, 1 / x, np.nan)),
    ("the absolute value of the right one", "see where the signs get lost", np.abs),
    ("the right one with 0 in place of negative numbers", "see what cuts negative numbers off",
     lambda x: np.maximum(x, 0.0)),
    ("the right one rounded to whole numbers", "look for whole-number division, or an array of "
     "integers that takes fractions", np.rint),
    ("the right one rounded down to whole numbers", "look for whole-number division, or an array "
     "of integers that takes fractions", np.floor),
    ("the right one cut to whole numbers", "look for whole-number division, or an array of "
     "integers that takes fractions", np.trunc),
)  # fmt: skip


def imprecise(samples: Sequence[Sample]) -> Relation | None:
    """Three digits are right, no more: what float16 keeps."""
    if not comparable(samples) or any(sample.slack > 1e-3 for sample in samples):
        return None
    for sample in samples:
        error = np.abs(sample.got - sample.wanted)
        if not (error <= 2e-3 * np.abs(sample.wanted) + 1e-6 * np.abs(sample.wanted).max()).all():
            return None
    return Relation(
        "is right to about three digits",
        "look for a conversion to a dtype of half precision, or a number that is rounded",
    )
