"""When two numbers count as equal, and why.

Right implementations differ by rounding: another order of summation, a scale applied
earlier, float32 inside. Measured on attention up to n = 512, d = 64, right orders of
operations in float32 differ by at most 6e-7 of unit-size values, and the mildest wrong
scale by a few hundredths. The tolerances below stand between, far from both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

# dtype → (relative tolerance, absolute tolerance at unit magnitude).
# float64: rounding of sums of a thousand terms is 1e-13; 1e-9 leaves room for powers and
#   logarithms (log-space softmax), and sees a missing scale at inputs of 1e-3 (1e-6).
# float32: 6e-7 is what right orders differ by; 1e-4 is two powers of ten above.
# Half types: two units in the last place (2^-10 and 2^-7), since results are rounded once
#   on the way out and once in the comparison.
TOLERANCES: dict[str, tuple[float, float]] = {
    "float64": (1e-9, 1e-10),
    "float32": (1e-4, 1e-5),
    "float16": (2 * 2.0**-10, 2.0**-10),
    "bfloat16": (2 * 2.0**-7, 2.0**-7),
}
_COARSENESS = ("float64", "float32", "float16", "bfloat16")
HALF_TYPES = _COARSENESS[2:]

# The bits of a fraction that is written down: neighbours of x differ by 2^-bits of its power of 2.
_FRACTION_BITS = {"float64": 52, "float32": 23, "float16": 10, "bfloat16": 7}

# A sum of n terms, in whatever order, is off by a random walk of roundings: by sqrt(n) times the
# unit roundoff, of the largest entry of the result. Measured in float32, added one after
# another, for n from 64 to 65536: 0.4 of that for products of normal draws, 0.5 for attention's
# weighted sums, 0.8 for positive terms. Ten times as much is allowed; up to 437 terms
# float32's own tolerance is wider. Where terms cancel to much less than themselves in every
# entry, this says too little, and an author states a Bound.
GROWTH = 8.0

# A whole number that was computed in floating point is off by rounding, never by this much.
# Without a bound, 10^12 plus 500 would pass as 10^12 to a relative 1e-9.
WHOLE_SLACK = 1e-3

_TINY = float(np.finfo(np.float64).tiny)
_WHOLE = "biu"  # kinds of dtypes: bool, signed and unsigned integers


@dataclass(frozen=True)
class Tolerance:
    """|got − expected| may be at most absolute + relative·|expected|."""

    relative: float
    absolute: float

    def bound(self, expected: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The allowed error of each entry."""
        allowed: np.ndarray[Any, Any] = self.absolute + self.relative * np.abs(expected)
        return allowed


@dataclass(frozen=True)
class Bound:
    """What an author allows the values of an exercise or of a case to be off by, and why.

    An entry may be off by relative·|expected| + absolute·s + ulps units in the last place of the
    result's dtype at s. The size s is 1; with `of`, that of the largest entry of the argument
    of that name, or with of="result" of what is expected. beside: all this is on top of the
    usual tolerance, and not in its place.
    """

    reason: str
    absolute: float = 0.0
    relative: float = 0.0
    ulps: float = 0.0
    of: str | None = None
    beside: bool = False

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ValueError("a bound has its reason beside it")
        figures = (self.absolute, self.relative, self.ulps)
        if not all(np.isfinite(figures)) or min(figures) < 0 or max(figures) == 0:
            raise ValueError("a bound allows a finite error above 0")

    def tolerance(self, usual: Tolerance, dtype: str, size: float) -> Tolerance:
        """The tolerance for a result of `dtype`; size: that of what `of` names, else 1."""
        allowed = self.absolute * size + self.ulps * unit_in_last_place(dtype, size)
        if self.beside:
            return Tolerance(usual.relative + self.relative, usual.absolute + allowed)
        return Tolerance(self.relative, allowed)


def unit_in_last_place(dtype: str, size: float) -> float:
    """How far numbers of that dtype lie apart at `size`; 0 for other dtypes and sizes."""
    if dtype not in _FRACTION_BITS or not (size > 0 and np.isfinite(size)):
        return 0.0
    _, exponent = np.frexp(size)  # size = fraction · 2^exponent, 0.5 ≤ fraction < 1
    return float(np.ldexp(1.0, int(exponent) - 1 - _FRACTION_BITS[dtype]))


@dataclass(frozen=True)
class Difference:
    """How two arrays of one shape differ.

    worst: index of the wrong entry that is furthest off, the first one that is no finite number
    where there is one. error: how far; infinite or NaN where one side is.
    ratio: the largest error in units of the tolerance (above 1 is a difference).
    """

    count: int
    size: int
    worst: tuple[int, ...]
    got: float | complex | bool
    expected: float | complex | bool
    error: float
    ratio: float


def magnitude_of(arrays: Iterable[np.ndarray[Any, Any]]) -> float:
    """The largest finite absolute value in any of the arrays; 0 when there is none."""
    largest = 0.0
    for array in arrays:
        sizes = np.abs(_wide(array))
        finite = sizes[np.isfinite(sizes)]
        largest = max(largest, float(finite.max(initial=0.0)))
    return largest


def tolerance_for(
    dtypes: Iterable[str],
    expected: np.ndarray[Any, Any],
    *,
    half: bool = False,
    magnitude: float | None = None,
    terms: int = 1,
) -> Tolerance:
    """The tolerance for a result, by the coarsest of the floating dtypes involved.

    terms: how many numbers an entry may be a sum of (see GROWTH).

    Without `half`, float32 is the coarsest that counts: a half-precision result then has
    to be as right as a float32 one. The absolute part grows and shrinks with the largest
    expected value, so that tiny inputs are judged as sharply as unit-size ones. Where
    several arrays belong together, `magnitude` is that of all: a gradient that is zero but
    for rounding has to be as small beside the others, not beside itself.
    """
    known = [name for name in dtypes if name in TOLERANCES]
    rank = max((_COARSENESS.index(name) for name in known), default=0)
    name = _COARSENESS[rank if half else min(rank, 1)]
    relative, absolute = TOLERANCES[name]
    # sums are carried in float32 where results are of a half type
    roundoff = 2.0 ** -(_FRACTION_BITS["float64" if name == "float64" else "float32"] + 1)
    absolute = max(absolute, GROWTH * roundoff * max(terms, 1) ** 0.5)
    if magnitude is None:
        magnitude = magnitude_of([expected])
    return Tolerance(relative, absolute * (magnitude if magnitude > 0 else 1.0))


def compare(
    got: np.ndarray[Any, Any],
    expected: np.ndarray[Any, Any],
    tolerance: Tolerance,
    *,
    nan_equal: bool = False,
) -> Difference | None:
    """None when every entry is close enough, else how they differ.

    Shapes must be equal already: nothing is broadcast here. Infinities equal only
    themselves. A NaN equals nothing, unless `nan_equal` (used to compare a wrong
    submission with a misconception, where NaN patterns are evidence). Integers and truth
    values are exact; a float may stand for one when it is off by rounding only.
    """
    if _surely_close(got, expected, tolerance):
        return None
    error, ratio = _errors(got, expected, tolerance)
    if nan_equal:
        ratio = np.where(_is_nan(got) & _is_nan(expected), 0.0, ratio)
    wrong = ratio > 1.0
    if not wrong.any():
        return None
    distance = np.where(wrong, np.where(np.isfinite(error), error, np.inf), -1.0)
    worst = tuple(int(i) for i in np.unravel_index(int(distance.argmax()), distance.shape))
    return Difference(
        count=int(wrong.sum()),
        size=int(wrong.size),
        worst=worst,
        got=got[worst].item(),
        expected=expected[worst].item(),
        error=float(error[worst]),
        ratio=float(ratio.max()),
    )


def wrong_entries(
    got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], tolerance: Tolerance
) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which entries of two arrays of one shape are further apart than is tolerated."""
    wrong: np.ndarray[Any, np.dtype[np.bool_]] = _errors(got, expected, tolerance)[1] > 1.0
    return wrong


def error_ratio(
    got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], tolerance: Tolerance
) -> float:
    """The largest error in units of the tolerance: what `validate` calls separation.

    Infinite where one side is NaN or infinite and the other is not.
    """
    _, ratio = _errors(got, expected, tolerance)
    ratio = np.where(_is_nan(got) & _is_nan(expected), 0.0, ratio)
    return float(ratio.max(initial=0.0))


def _surely_close(
    got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], tolerance: Tolerance
) -> bool:
    """Whether a short look is enough to see that all is right, as most is; no does not say so."""
    if got.dtype.kind != "f" or expected.dtype.kind != "f" or got.shape != expected.shape:
        return False
    with np.errstate(all="ignore"):
        right = expected.astype(np.float64)
        error = np.abs(got.astype(np.float64) - right)
        # strictly below: no error is below an infinite one, nor is a NaN
        return bool((error < tolerance.bound(right)).all())


def _errors(
    got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], tolerance: Tolerance
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(absolute errors, errors in units of what is allowed); infinite: never equal."""
    if got.shape != expected.shape:
        raise ValueError(f"shapes differ: {got.shape} and {expected.shape}")
    left, right = _wide(got), _wide(expected)
    with np.errstate(all="ignore"):
        error = np.abs(left - right)
        allowed = tolerance.bound(right)
        if expected.dtype.kind in _WHOLE:
            allowed = np.minimum(allowed, WHOLE_SLACK)
        ratio = error / np.maximum(allowed, _TINY)
        if got.dtype.kind in _WHOLE and expected.dtype.kind in _WHOLE:
            # not as float64, to which integers above 2^53 are rounded
            return error, np.where(got == expected, 0.0, np.maximum(ratio, 2.0))
        comparable = np.isfinite(left) & np.isfinite(right)
        return error, np.where(left == right, 0.0, np.where(comparable, ratio, np.inf))


def _wide(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with np.errstate(invalid="ignore"):  # a signalling NaN, which a submission can make
        return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _is_nan(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    nan: np.ndarray[Any, Any] = np.isnan(_wide(array))
    return nan
