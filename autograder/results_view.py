"""Observed values turned into what checks and comparisons work on.

Return values come in many right forms: a list of lists, a 0-d array, a tuple or a list of
two. This module reads them by what is expected, and says in words what does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.observe.protocol import Array, Opaque
from autograder.program import Call, Observed, Program
from autograder.specification import CallView, CaseView


@dataclass(frozen=True)
class Part:
    """One array or number of a result. `data` is None when only the shape is known."""

    data: np.ndarray[Any, Any] | None
    dtype: str
    shape: tuple[int, ...]
    framework: str  # "numpy", "torch", "list" or "scalar"


@dataclass(frozen=True)
class Unreadable:
    """Why a value cannot be compared, in words that complete "returned …"."""

    words: str


_PLAIN = ("list", "scalar")


def part_of(value: Any) -> Part | Unreadable:
    """An observed value as an array, or why it is none."""
    if isinstance(value, Array):
        return Part(value.data, value.dtype, value.shape, value.framework)
    if isinstance(value, (bool, int, float)):
        data = np.asarray(value)
        return Part(data, data.dtype.name, (), "scalar")
    if isinstance(value, (list, tuple)) and value:
        rows = [part_of(item) for item in value]  # nested tuples of numbers are an array too
        numbers = [row.data for row in rows if isinstance(row, Part) and row.data is not None]
        plain_rows = all(isinstance(row, Part) and row.framework in _PLAIN for row in rows)
        if plain_rows and len(numbers) == len(rows) and len({x.shape for x in numbers}) == 1:
            stacked = np.asarray(numbers)
            return Part(stacked, stacked.dtype.name, stacked.shape, "list")
    return Unreadable(words_for(value))


def words_for(value: Any) -> str:
    """A value in words, for messages."""
    if value is None:
        return "nothing (None)"
    if isinstance(value, Array):
        what = {"torch": "a tensor", "list": "a list of numbers"}.get(value.framework, "an array")
        return f"{what} of shape {value.shape}"
    if isinstance(value, bool):
        return f"the truth value {value}"
    if isinstance(value, (int, float)):
        return f"the number {value:.6g}"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, Opaque):
        return f"a value of type {value.type_name}"
    if isinstance(value, (list, tuple)):
        return f"a sequence of {len(value)} values"
    if isinstance(value, Mapping):
        return "a dictionary"
    return f"a value of type {type(value).__name__}"


def parts_of(value: Any, count: int) -> Sequence[Any] | None:
    """The `count` values of a result that should hold several; None when it does not.

    A list of two equally shaped lists of numbers has crossed as one array, and an array
    whose first axis has `count` entries is a sequence of `count` arrays: both are split.
    """
    if isinstance(value, (list, tuple)):
        return value if len(value) == count else None
    if isinstance(value, Array) and value.shape[:1] == (count,) and value.data is not None:
        return [
            Array(value.dtype, value.shape[1:], np.asarray(piece), value.framework)
            for piece in value.data
        ]
    return None


def plain(value: Any, count: int = 1) -> Any:
    """What a check sees: an array, or a tuple of `count` arrays; None when unreadable."""
    if count > 1:
        parts = parts_of(value, count)
        return None if parts is None else tuple(plain(part) for part in parts)
    part = part_of(value)
    return part.data if isinstance(part, Part) else None


def argument_view(value: Any) -> Any:
    """An argument of a case as a check sees it: arrays as NumPy arrays."""
    return value.data if isinstance(value, Array) else value


def expected_count(value: Any) -> int:
    """How many values the reference returned."""
    return len(value) if isinstance(value, (list, tuple)) else 1


def case_view(
    program: Program, observed: Sequence[Observed], expected: Sequence[Observed]
) -> CaseView | None:
    """The calls of a case for a check; None when any of them raised or is unreadable."""
    views = []
    for index, call in program.calls:
        if index >= len(observed) or observed[index].raised is not None:
            return None
        count = expected_count(expected[index].value)
        result = plain(observed[index].value, count)
        if result is None or (isinstance(result, tuple) and any(p is None for p in result)):
            return None
        views.append(_call_view(call, observed[index], result, expected[index]))
    return CaseView(tuple(views)) if views else None


def _call_view(call: Call, observed: Observed, result: Any, expected: Observed) -> CallView:
    value = observed.value
    return CallView(
        arguments={name: argument_view(item) for name, item in call.named.items()},
        result=result,
        expected=plain(expected.value, expected_count(expected.value)),
        dtype=value.dtype if isinstance(value, Array) else None,
    )
