"""How far what a variant gave is from what is expected, as one number.

Quick, and no verdict: what is near enough is judged by the judge. Two variants are compared by
it when no single edit repairs a submission and the best ones are edited once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from autograder.program import Call, Observed
from autograder.results_view import Unreadable, part_of, parts_of
from autograder.specification import Case

# An exception in the first of n steps is further than one in the last, or in a later line.
RAISED, SHAPE, VALUES = 3.0, 2.0, 1.0
# Of the largest expected value; the judge is stricter.
SLACK = 2e-3


def distance(case: Case, observed: Sequence[Observed] | None) -> float:
    """0 where all calls gave about what is expected, up to 4 where nothing was given at all."""
    if observed is None:
        return RAISED + 1.0
    worst = 0.0
    count = len(case.expected)
    for index, expected in enumerate(case.expected):
        if index >= len(observed):
            return max(worst, RAISED + 1 - index / (count + 1))
        got = observed[index]
        if (got.raised is None) != (expected.raised is None):
            line = 0 if got.raised is None else min(got.raised.line or 0, 9999)
            return max(worst, RAISED + 1 - (index + 1 + line / 10_000) / (count + 1))
        if got.raised is None and isinstance(case.program.steps[index], Call):
            worst = max(worst, _of_values(got.value, expected.value))
    return worst


def _of_values(got: Any, wanted: Any) -> float:
    several = isinstance(wanted, (list, tuple)) and len(wanted) > 1
    if several and isinstance(part_of(wanted), Unreadable):
        parts = parts_of(got, len(wanted))
        if parts is None:
            return SHAPE + 0.5
        each = [_of_values(part, item) for part, item in zip(parts, wanted, strict=True)]
        # one of two right is nearer than none
        return max(each) - 0.1 * sum(value == 0.0 for value in each) / len(each)
    known, mine = part_of(wanted), part_of(got)
    if isinstance(known, Unreadable):
        return 0.0  # an object, a text: the judge will tell
    if isinstance(mine, Unreadable) or mine.data is None or known.data is None:
        return SHAPE + 0.5
    if mine.shape != known.shape:
        return SHAPE if len(mine.shape) == len(known.shape) else SHAPE + 0.3
    return _of_arrays(mine.data, known.data)


def _of_arrays(got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any]) -> float:
    """The share of wrong values, and a little for how wrong they are; 0 when none is."""
    if got.size == 0:
        return 0.0
    if got.dtype.kind == "c":
        return VALUES
    with np.errstate(all="ignore"):
        left, right = got.astype(float).ravel(), wanted.astype(float).ravel()
        apart = np.abs(left - right)
        apart[(left == right) | ((left != left) & (right != right))] = 0.0
        finite = right[np.isfinite(right)]
        scale = float(np.abs(finite).max()) if finite.size else 1.0
        wrong = apart[~(apart <= SLACK * scale)]
        if not wrong.size:
            return 0.0
        typical = float(np.sort(wrong)[wrong.size // 2]) / (scale or 1.0)
    share = float(wrong.size / left.size)
    grade = typical / (1 + typical) if np.isfinite(typical) else 1.0
    return VALUES * (0.05 + 0.65 * share + 0.3 * grade)
