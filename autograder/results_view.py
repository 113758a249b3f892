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
from autograder.program import Call, Observed
from autograder.specification import CallView, Case, CaseView, LazySequence
from autograder.wire import to_wire

MAX_MESSAGE = 300


@dataclass(frozen=True)
class Part:
    """One array or number of a result. `data` is None when only the shape is known."""

    data: np.ndarray[Any, Any] | None
    dtype: str
    shape: tuple[int, ...]
    framework: str  # "numpy", "torch", "list" or "scalar"


@dataclass(frozen=True)
class Unreadable:
    """A value that is no array and no number; `words` complete “got …”."""

    value: Any
    words: str


# NumPy takes longer to spell a dtype's name than to make the array.
_SCALARS = {bool: "bool", int: "int64", float: "float64"}


def part_of(value: Any) -> Part | Unreadable:
    """An observed value as an array, or why it is none."""
    if isinstance(value, Array):
        return Part(value.data, value.dtype, value.shape, value.framework)
    if isinstance(value, (bool, int, float)):
        data = np.asarray(value)
        return Part(data, _SCALARS.get(type(value)) or data.dtype.name, (), "scalar")
    if isinstance(value, (list, tuple)):
        stacked = _stacked(value)
        if stacked is not None:
            return stacked
    return Unreadable(value, words_for(value))


def _stacked(items: Sequence[Any]) -> Part | None:
    """Rows of one shape as one array: nested tuples of numbers, a list of NumPy arrays."""
    rows = [part_of(item) for item in items]
    arrays = [
        row.data
        for row in rows
        if isinstance(row, Part) and row.data is not None and row.framework != "torch"
    ]
    if len(arrays) < len(rows) or len({array.shape for array in arrays}) > 1:
        return None
    with np.errstate(invalid="ignore"):  # a signalling NaN, which only hostile code hands over
        stacked = np.asarray(arrays)
    return Part(stacked, stacked.dtype.name, stacked.shape, "list")


def words_for(value: Any) -> str:
    """A value in words, for messages."""
    if value is None:
        return "nothing (None)"
    if isinstance(value, Array):
        what = {"torch": "a tensor", "list": "a list of numbers"}.get(value.framework, "an array")
        return f"{what} of shape {shape_words(value.shape)}"
    if isinstance(value, bool):
        return f"the truth value {value}"
    if isinstance(value, int):
        return f"the number {value}"
    if isinstance(value, float):
        return f"the number {value:.6g}"
    if isinstance(value, str):
        return "a string"
    if isinstance(value, Opaque):
        return f"a value of type {one_line(value.type_name, 60)}"
    if isinstance(value, (list, tuple)):
        return "an empty list" if not value else f"a sequence of {len(value)} values"
    if isinstance(value, Mapping):
        return "a dictionary"
    return f"a value of type {type(value).__name__}"


def kind_words(value: Any) -> str:
    """A value in words that give nothing of it away but its kind."""
    if isinstance(value, (bool, int, float)):
        return "a truth value" if isinstance(value, bool) else "a number"
    if isinstance(value, Opaque) and not value.type_name.isidentifier():
        return "a value of another type"
    return words_for(value)


def shape_words(shape: tuple[int, ...]) -> str:
    """A shape as Python writes it, with an end to the number of axes."""
    return str(shape) if len(shape) <= 16 else f"({', '.join(map(str, shape[:16]))}, …)"


def clean(text: str, limit: int = MAX_MESSAGE) -> str:
    """A student's text made safe to print: no control characters, bounded length.

    (Escaping for HTML is the business of whoever writes HTML.)
    """
    visible = "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    return visible if len(visible) <= limit else visible[: limit - 1] + "…"


def one_line(text: str, limit: int = MAX_MESSAGE) -> str:
    """The same in a single line: what a student wrote cannot look like a line of ours."""
    return clean(" ".join(text.split()), limit)


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
    return None if isinstance(part, Unreadable) else _sealed(part.data)


def _sealed(data: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any] | None:
    """A view that a check cannot write through: expected values are shared by a whole class."""
    if data is None:
        return None
    view = data.view()
    view.flags.writeable = False
    return view


def argument_view(value: Any) -> Any:
    """An argument of a case as a check sees it: arrays and tensors as NumPy arrays."""
    if isinstance(value, (list, tuple)):
        return tuple(argument_view(item) for item in value)
    if isinstance(value, np.ndarray):
        return _sealed(value)
    if type(value).__module__.split(".")[0] == "torch":
        value = to_wire(value)
    return _sealed(value.data) if isinstance(value, Array) else value


def shown(value: Any) -> Any:
    """Of what was read from an Axes, what counts: the picture and its labels."""
    return value.get("shown") if isinstance(value, Mapping) else None


def step_view(value: Any) -> Any:
    """What a step gave as a check sees it: dictionaries and lists of arrays."""
    if isinstance(value, Mapping):
        return {key: step_view(item) for key, item in value.items()}
    part = part_of(value)
    if isinstance(part, Part):
        return _sealed(part.data)
    if isinstance(value, (list, tuple)):
        return tuple(step_view(item) for item in value)
    return value


def expected_count(value: Any) -> int:
    """How many values the reference returned."""
    return len(value) if isinstance(value, (list, tuple)) else 1


def case_view(case: Case, observed: Sequence[Observed]) -> CaseView | None:
    """The steps of a case for a check; None when any of them raised or is unreadable."""
    if len(observed) < len(case.expected) or any(step.raised is not None for step in observed):
        return None
    views = []
    for index, frame in _frames(case):
        value = observed[index].value
        result = plain(value, frame.count)
        missing = result is None or (isinstance(result, tuple) and any(p is None for p in result))
        if missing and frame.expected is not None:
            return None
        dtype = value.dtype if isinstance(value, Array) else None
        notes, dtypes = observed[index].notes, _dtypes(value, frame.count)
        views.append(CallView(frame.arguments, result, frame.expected, dtype, notes, dtypes))
    if not views:
        return None
    # most steps are calls, which have their view already
    steps = LazySequence(len(observed), lambda index: step_view(observed[index].value))
    return CaseView(tuple(views), steps)


def _dtypes(value: Any, count: int) -> tuple[str | None, ...]:
    """As reported, of each of `count` values; None for what is no array."""
    parts = parts_of(value, count) or [] if count > 1 else [value]
    return tuple(part.dtype if isinstance(part, Array) else None for part in parts)


def argument_views(case: Case, index: int) -> Mapping[str, Any]:
    """The arguments of the call at that step, as checks see them."""
    return dict(_frames(case))[index].arguments


@dataclass(frozen=True)
class _Frame:
    """What every view of one call has in common, whoever's it is."""

    arguments: Mapping[str, Any]
    expected: Any
    count: int


def _frames(case: Case) -> Sequence[tuple[int, _Frame]]:
    """Of every call that the reference reached; made once a case, for a whole class."""
    known: Sequence[tuple[int, _Frame]] | None = vars(case).get("_frames")
    if known is None:
        known = [
            (index, _frame(call, case.expected[index].value))
            for index, call in case.program.calls
            if index < len(case.expected)
        ]
        vars(case)["_frames"] = known  # beside the fields: equality and repr do not see it
    return known


def _frame(call: Call, expected: Any) -> _Frame:
    count = expected_count(expected)
    arguments = {name: argument_view(item) for name, item in call.named.items()}
    return _Frame(arguments, plain(expected, count), count)
