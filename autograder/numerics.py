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
class Difference:
    """How two arrays of one shape differ.

    ratio: the largest error in units of the tolerance (above 1 is a difference).
    """

    count: int
    size: int
    worst: tuple[int, ...]
    got: float | complex | bool
    expected: float | complex | bool
    error: float
    ratio: float


def tolerance_for(
    dtypes: Iterable[str], expected: np.ndarray[Any, Any], *, half: bool = False
) -> Tolerance:
    """The tolerance for a result, by the coarsest of the floating dtypes involved.

    Without `half`, float32 is the coarsest that counts: a half-precision result then has
    to be as right as a float32 one. The absolute part grows and shrinks with the largest
    expected value, so that tiny inputs are judged as sharply as unit-size ones.
    """
    known = [name for name in dtypes if name in TOLERANCES]
    rank = max((_COARSENESS.index(name) for name in known), default=0)
    name = _COARSENESS[rank if half else min(rank, 1)]
    relative, absolute = TOLERANCES[name]
    finite = np.abs(expected[np.isfinite(expected)]) if expected.size else np.zeros(0)
    magnitude = float(finite.max()) if finite.size else 0.0
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
    submission with a misconception, where NaN patterns are evidence).
    """
    if got.shape != expected.shape:
        raise ValueError(f"shapes differ: {got.shape} and {expected.shape}")
    if got.size == 0:
        return None
    left = got.astype(np.complex128 if got.dtype.kind == "c" else np.float64)
    right = expected.astype(np.complex128 if expected.dtype.kind == "c" else np.float64)
    with np.errstate(all="ignore"):
        error = np.abs(left - right)
        ratio = error / np.maximum(tolerance.bound(right), np.finfo(np.float64).tiny)
    finite = np.isfinite(left) & np.isfinite(right)
    same = np.where(finite, ratio <= 1.0, left == right)
    if nan_equal:
        same |= np.isnan(left) & np.isnan(right)
    if same.all():
        return None
    badness = np.where(same, -1.0, np.where(finite, ratio, np.inf))
    worst = tuple(int(i) for i in np.unravel_index(int(badness.argmax()), badness.shape))
    return Difference(
        count=int((~same).sum()),
        size=int(same.size),
        worst=worst,
        got=got[worst].item(),
        expected=expected[worst].item(),
        error=float(error[worst]),
        ratio=float(badness[worst]),
    )


def error_ratio(
    got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], tolerance: Tolerance
) -> float:
    """The largest error in units of the tolerance: what `validate` calls separation.

    Infinite where one side is NaN or infinite and the other is not.
    """
    if got.size == 0:
        return 0.0
    left, right = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        ratio = np.abs(left - right) / np.maximum(tolerance.bound(right), np.finfo(np.float64).tiny)
    equal = (left == right) | (np.isnan(left) & np.isnan(right))
    ratio = np.where(equal, 0.0, np.where(np.isfinite(ratio), ratio, np.inf))
    return float(ratio.max())
