"""What has to hold in a result, or in what a call was watched for, by itself.

Each function is given the view of a case and the check's parameters, and returns None when
all is well, or a sentence. They are named in `autograder.checks`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.numerics import HALF_TYPES, unit_in_last_place
from autograder.source_trees import parse_expression
from autograder.specification import CallView, CaseView

# A sum of n terms that are each right to the tolerance of the values is right to this:
# float32 weights over thousands of keys stay well inside, a missing key never does.
SUM_TOLERANCE = 1e-4
# In a half type: what is rounded are the weights. Each is off by half a unit in its last place at
# most, so their sum by half a unit at 1; computed in the half type, exponential, sum and
# quotient round too. Measured for 4096 keys: 2.3 units.
SUM_UNITS = 6.0

# A weight that is meant to be zero. A mask of −100 leaves 4e-44 and one of −30 leaves 1e-13;
# a weaker one is no mask, since scores of that size do occur.
ZERO_WEIGHT = 1e-12


def part(value: Any, index: int) -> np.ndarray[Any, Any]:
    """Number `index` of several results, or the only one, in float64."""
    found = np.asarray(value[index] if isinstance(value, tuple) else value)
    return found.astype(np.float64)


def dtype_of_part(call: CallView, index: int) -> str:
    """As reported; empty where it is not known."""
    known = call.dtypes[index : index + 1] if len(call.dtypes) > 1 else call.dtypes[:1]
    return (known[0] if known else None) or ""


# --- weights -----------------------------------------------------------------------------


def sums_to_one(view: CaseView, axis: int, result: int) -> str | None:
    """Weights sum to one; to zero where the reference's do, since nothing may be attended to."""
    return _first(_sums_to_one(call, axis, result) for call in view.calls)


def _sums_to_one(call: CallView, axis: int, result: int) -> str | None:
    values = part(call.result, result)
    sums = values.sum(axis=axis)
    wanted = np.ones(sums.shape)
    if call.expected is not None:
        wanted[part(call.expected, result).sum(axis=axis) == 0.0] = 0.0
    off = np.abs(sums - wanted)
    allowed = _allowed_of_sums(call, dtype_of_part(call, result))
    if sums.size == 0 or (off <= allowed).all():  # NaN is not
        return None
    worst = np.unravel_index(int(np.nan_to_num(off, nan=np.inf).argmax()), off.shape)
    if wanted[worst] == 0.0:
        found = f"{float(sums[worst]):.4g}, expected 0: nothing may be attended to there"
    else:
        found = f"{_unlike_one(float(sums[worst]))}, expected 1"
    if values.ndim == 1:
        return f"the entries sum to {found}"
    where = ", ".join(str(int(index)) for index in worst)
    if values.ndim != 2:
        return f"slice {where} sums to {found}"
    what, other = ("column", "row") if axis % 2 == 0 else ("row", "column")
    message = f"{what} {where} sums to {found}"
    if wanted[worst] and np.allclose(values.sum(axis=1 - axis % 2), 1.0, rtol=0.0, atol=allowed):
        message += f"; each {other} sums to 1 instead"
    return message


def _allowed_of_sums(call: CallView, dtype: str) -> float:
    """Half types count where an input is of one: whoever rounds the result alone, rounds too far.

    (NumPy has no bfloat16, and PyTorch results have the dtype of an input.)
    """
    given = {value.dtype.name for value in call.arguments.values() if isinstance(value, np.ndarray)}
    if dtype in HALF_TYPES and (dtype == "bfloat16" or dtype in given):
        return SUM_UNITS * unit_in_last_place(dtype, 1.0)
    return SUM_TOLERANCE


def _unlike_one(number: float) -> str:
    """As many digits as tell it from 1."""
    shown = (f"{number:.{digits}g}" for digits in (4, 6, 9))
    return next((text for text in shown if text != "1"), str(number))


def not_negative(view: CaseView, result: int) -> str | None:
    """No entry is below zero."""
    return _first(_not_negative(call, result) for call in view.calls)


def _not_negative(call: CallView, result: int) -> str | None:
    values = part(call.result, result)
    if (values >= 0).all():
        return None
    negative = values[values < 0]
    lowest = float(negative.min()) if negative.size else float("nan")
    return f"the smallest entry is {lowest:.4g}, expected none below 0"


def exact_zeros(view: CaseView, result: int) -> str | None:
    """Where the reference has zeros, there are zeros: hidden keys have no weight."""
    return _first(_exact_zeros(call, result) for call in view.calls)


def _exact_zeros(call: CallView, result: int) -> str | None:
    values, expected = part(call.result, result), part(call.expected, result)
    stray = (expected == 0.0) & ~(np.abs(values) <= ZERO_WEIGHT)
    if not stray.any():
        return None
    first = tuple(int(i) for i in np.unravel_index(int(stray.argmax()), stray.shape))
    count = int(stray.sum())
    return (
        f"{count} {'entry' if count == 1 else 'entries'} should be 0, and {_are(count)} not: "
        f"{values[first]:.4g} at [{', '.join(map(str, first))}]"
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


# --- gradients ---------------------------------------------------------------------------


def finite_gradients(view: CaseView) -> str | None:
    """Every gradient that a Backward step gave is a finite number."""
    for step in view.steps:
        if isinstance(step, Mapping):
            for group in step.values():
                message = _stray_gradient(group) if isinstance(group, Mapping) else None
                if message is not None:
                    return message
    return None


def _stray_gradient(group: Mapping[str, Any]) -> str | None:
    for name, values in group.items():
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            stray = ~np.isfinite(values)
            if stray.any():
                what = "NaN" if np.isnan(values[stray]).all() else "NaN or infinite"
                return (
                    f"the gradient of {name} is {what} in {int(stray.sum())} of {stray.size} "
                    "entries, expected finite numbers"
                )
    return None


# --- memory ------------------------------------------------------------------------------


def largest_allocation(
    view: CaseView, limit: str, sizes: Mapping[str, Sequence[Any]]
) -> str | None:
    """The largest tensor that a call made has fewer elements than `limit` (advisory).

    limit: an expression of `sizes`, which says where each is found: ("Q", -2) is the size of
    the last but one axis of the argument Q; and of arguments that are whole numbers.
    """
    return _first(_largest_allocation(call, limit, sizes) for call in view.calls)


def _largest_allocation(
    call: CallView, limit: str, sizes: Mapping[str, Sequence[Any]]
) -> str | None:
    largest = call.notes.get("largest_allocation")
    if not isinstance(largest, int):
        return None  # this call was not watched
    names = {
        name: value
        for name, value in call.arguments.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }
    names |= {
        name: int(np.shape(call.arguments[argument])[axis])
        for name, (argument, axis) in sizes.items()
    }
    allowed = evaluate(limit, names)
    if largest < allowed:
        return None
    return (
        f"the largest tensor that is made holds {largest:,} numbers, expected fewer than "
        f"{limit} = {allowed:,.0f}"
    )


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Pow: operator.pow,
}


def evaluate(expression: str, names: Mapping[str, int]) -> float:
    """The value of an expression of names and numbers; ValueError for anything else."""

    def value(node: ast.AST) -> float:
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return float(_OPERATORS[type(node.op)](value(node.left), value(node.right)))
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return float(node.value)
        if isinstance(node, ast.Name) and node.id in names:
            return float(names[node.id])
        raise ValueError(f"{ast.unparse(node)} in {expression!r} is no size, number or operation")

    return value(parse_expression(expression))


def _first(messages: Iterator[str | None]) -> str | None:
    return next((message for message in messages if message), None)
