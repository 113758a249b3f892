"""The built-in checks that an exercise may ask for, beyond the fixed order of judging.

A check here is a name and parameters, so that it can travel to students in the self-check
key. Each returns None when all is well, or a sentence that says what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.specification import BuiltinCheck, CallView, CaseView, CustomCheck, Verdict

# A sum of n terms that are each right to the tolerance of the values is right to this:
# float32 weights over thousands of keys stay well inside, a missing key never does.
SUM_TOLERANCE = 1e-4


def sums_to_one(axis: int, line: str, *, result: int = 0, credit: float = 0.0) -> BuiltinCheck:
    """Weights along `axis` of result number `result` sum to one; `line` is shown."""
    return BuiltinCheck("sums_to_one", line, {"axis": axis, "result": result}, credit)


def not_negative(line: str, *, result: int = 0, credit: float = 0.0) -> BuiltinCheck:
    """No entry of result number `result` is below zero."""
    return BuiltinCheck("not_negative", line, {"result": result}, credit)


def _part(value: Any, index: int) -> np.ndarray[Any, Any]:
    return np.asarray(value[index] if isinstance(value, tuple) else value)


def _check_sums_to_one(call: CallView, axis: int, result: int) -> str | None:
    values = _part(call.result, result).astype(np.float64)
    sums = values.sum(axis=axis)
    off = np.abs(sums - 1.0)
    if sums.size == 0 or off.max() <= SUM_TOLERANCE:
        return None
    worst = np.unravel_index(int(off.argmax()), off.shape)
    where = ", ".join(str(int(index)) for index in worst)
    what = {0: "column", 1: "row"}.get(axis % values.ndim, "slice")
    if values.ndim != 2:
        what = "slice"
    other = values.sum(axis=1 - axis) if values.ndim == 2 else None
    message = f"{what} {where} sums to {float(sums[worst]):.4g}, expected 1"
    if other is not None and np.allclose(other, 1.0, atol=SUM_TOLERANCE):
        message += f"; each {'row' if what == 'column' else 'column'} sums to 1 instead"
    return message


def _check_not_negative(call: CallView, result: int) -> str | None:
    values = _part(call.result, result)
    lowest = float(values.min()) if values.size else 0.0
    return None if lowest >= 0 else f"the smallest entry is {lowest:.4g}, expected none below 0"


BUILTIN: dict[str, Callable[..., str | None]] = {
    "sums_to_one": _check_sums_to_one,
    "not_negative": _check_not_negative,
}


def run_builtin(check: BuiltinCheck, call: CallView) -> str | None:
    """Run a built-in check on one call."""
    return BUILTIN[check.name](call, **check.parameters)


class PackFault(Exception):
    """An author's check raised: a fault of ours, never of the student."""

    def __init__(self, check: str, error: Exception) -> None:
        super().__init__(f"the check {check} raised {type(error).__name__}: {error}")
        self.check = check


def run_custom(check: CustomCheck, view: CaseView) -> str | Verdict | None:
    """Run an author's check on a case; PackFault when it raises."""
    try:
        found: str | Verdict | None = check.function(view)
        return found
    except Exception as error:
        raise PackFault(check.name, error) from error
