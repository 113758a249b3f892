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
    part = np.asarray(value[index] if isinstance(value, tuple) else value)
    return part.astype(np.float64)


def _check_sums_to_one(call: CallView, axis: int, result: int) -> str | None:
    values = _part(call.result, result)
    sums = values.sum(axis=axis)
    off = np.abs(sums - 1.0)
    if sums.size == 0 or (off <= SUM_TOLERANCE).all():  # NaN is not
        return None
    worst = np.unravel_index(int(np.nan_to_num(off, nan=np.inf).argmax()), off.shape)
    found = f"{_unlike_one(float(sums[worst]))}, expected 1"
    if values.ndim == 1:
        return f"the entries sum to {found}"
    where = ", ".join(str(int(index)) for index in worst)
    if values.ndim != 2:
        return f"slice {where} sums to {found}"
    what, other = ("column", "row") if axis % 2 == 0 else ("row", "column")
    message = f"{what} {where} sums to {found}"
    if np.allclose(values.sum(axis=1 - axis % 2), 1.0, rtol=0.0, atol=SUM_TOLERANCE):
        message += f"; each {other} sums to 1 instead"
    return message


def _unlike_one(number: float) -> str:
    """As many digits as tell it from 1."""
    shown = (f"{number:.{digits}g}" for digits in (4, 6, 9))
    return next((text for text in shown if text != "1"), str(number))


def _check_not_negative(call: CallView, result: int) -> str | None:
    values = _part(call.result, result)
    if (values >= 0).all():
        return None
    negative = values[values < 0]
    lowest = float(negative.min()) if negative.size else float("nan")
    return f"the smallest entry is {lowest:.4g}, expected none below 0"


BUILTIN: dict[str, Callable[..., str | None]] = {
    "sums_to_one": _check_sums_to_one,
    "not_negative": _check_not_negative,
}


class PackFault(Exception):
    """A check raised, or returned what it must not: a fault of ours, never of the student."""

    def __init__(self, check: str, problem: str) -> None:
        super().__init__(f"the check {check} {problem}")
        self.check = check


def run_builtin(check: BuiltinCheck, call: CallView) -> str | None:
    """Run a built-in check on one call; PackFault when it cannot be run."""
    try:
        with np.errstate(all="ignore"):
            return BUILTIN[check.name](call, **check.parameters)
    except Exception as error:
        raise PackFault(check.name, f"raised {type(error).__name__}: {error}") from error


def run_custom(check: CustomCheck, view: CaseView) -> str | Verdict | None:
    """Run an author's check on a case; PackFault when it raises."""
    try:
        with np.errstate(all="ignore"):
            found = check.function(view)
    except Exception as error:
        raise PackFault(check.name, f"raised {type(error).__name__}: {error}") from error
    if found is None or isinstance(found, (str, Verdict)):
        return found
    raise PackFault(
        check.name, f"returned {type(found).__name__}, not None, a sentence or a Verdict"
    )
