"""Observed values beside the expected ones: of a call, gradients, parameters, a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from autograder import wording
from autograder.form import Fault, Step, kind_of
from autograder.numerics import compare, magnitude_of
from autograder.observe.protocol import Array, Opaque
from autograder.program import Backward, DescribeModule, Observed, ReadAxes
from autograder.results_view import (
    Part,
    Unreadable,
    expected_count,
    one_line,
    part_of,
    parts_of,
    shown,
    words_for,
)
from autograder.specification import GRADIENTS, VALUES, ValueSpec


@dataclass(frozen=True)
class _Pair:
    """Two values to be compared; `label` stands before the message."""

    label: str
    got: Any
    wanted: Any
    returns: ValueSpec = field(default_factory=ValueSpec)


def judge_values(step: Step, observed: Observed, expected: Observed) -> Fault | None:
    """The values of any step: of a call, gradients, parameters, a picture."""
    done = step.case.program.steps[step.index]
    got, wanted = observed.value, expected.value
    if isinstance(done, ReadAxes):
        return _judge_picture(step, got, wanted)
    if isinstance(done, DescribeModule):
        return _judge_parameters(step, got, wanted, done.values)
    if isinstance(done, Backward):
        return _judge_gradients(step, got, wanted)
    return _first_fault(step, _pairs(step, got, wanted, step.returns(0)))


def _pairs(
    step: Step, got: Any, wanted: Any, returns: ValueSpec, label: str = ""
) -> Iterator[_Pair]:
    """Everything in a result that can be compared."""
    if isinstance(wanted, Mapping):
        for key, item in wanted.items():
            yield from _pairs(step, _inside(got, key), item, ValueSpec(), f"{label}{key}: ")
    elif _are_several(wanted, at_top=not label):
        count = expected_count(wanted)
        parts = parts_of(got, count) or [None] * count
        for number, (part, item) in enumerate(zip(parts, wanted, strict=True)):
            where = f"{label}{number + 1}: " if label else f"return value {number + 1}: "
            inner = ValueSpec() if label else step.returns(number)
            yield from _pairs(step, part, item, inner, where)
    else:
        yield _Pair(label, got, wanted, returns)


def _are_several(wanted: Any, at_top: bool) -> bool:
    """Whether a sequence holds values of their own, and is not an array written as lists."""
    if not isinstance(wanted, (list, tuple)):
        return False
    return (at_top and len(wanted) > 1) or isinstance(part_of(wanted), Unreadable)


def _inside(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _first_fault(step: Step, pairs: Iterable[_Pair]) -> Fault | None:
    for pair in pairs:
        message = _difference(step, pair)
        if message is not None:
            return Fault(VALUES, pair.label + message)
    return None


def _difference(step: Step, pair: _Pair, magnitude: float | None = None) -> str | None:
    """What is wrong with one value, or None."""
    got, wanted = part_of(pair.got), part_of(pair.wanted)
    if isinstance(wanted, Unreadable):
        return _other_difference(step, pair.got, pair.wanted)
    if isinstance(got, Unreadable) or got.data is None or got.dtype.startswith("complex"):
        return f"expected {kind_of(wanted)}, got {step.words(pair.got)}"
    if wanted.data is None:
        return "what is expected is too large to be compared"
    if got.shape != wanted.shape:
        return wording.shape(got.shape, wanted.shape, pair.returns, {})
    tolerance = step.tolerance(got.dtype, wanted.data, magnitude)
    found = compare(got.data, wanted.data, tolerance)
    return None if found is None else wording.difference(found, pair.returns, step.hidden)


def _other_difference(step: Step, got: Any, wanted: Any) -> str | None:
    """Of values that are no numbers: objects, texts, nothing."""
    if isinstance(wanted, Opaque):
        return None if isinstance(got, Opaque) else f"got {step.words(got)}"
    if wanted is None and got is None:
        return None
    if isinstance(wanted, str) and isinstance(got, str):
        if got == wanted:
            return None
        if step.hidden:
            return "the text is wrong"
        return f"expected “{one_line(wanted, 60)}”, got “{one_line(got, 60)}”"
    return f"expected {words_for(wanted)}, got {step.words(got)}"


# --- modules and pictures ----------------------------------------------------------------


def _judge_gradients(step: Step, got: Any, wanted: Mapping[str, Any]) -> Fault | None:
    """Gradients of one step belong together: each is as exact as the largest of them needs.

    One that never arrived is zero, and wrong only where it should not be.
    """
    pairs = [
        _Pair(f"gradient of {name}: ", _inside(got, group, name), item)
        for group, items in wanted.items()
        for name, item in items.items()
    ]
    parts = [part_of(pair.wanted) for pair in pairs]
    arrays = [part.data for part in parts if isinstance(part, Part) and part.data is not None]
    magnitude = magnitude_of(arrays)
    for pair in pairs:
        message = _difference(step, _with_zeros(pair), magnitude)
        if message is not None:
            if pair.got is None:
                message = "none arrives; is the graph cut, by detach, item, NumPy or no_grad?"
            return Fault(GRADIENTS, pair.label + message)
    return None


def _with_zeros(pair: _Pair) -> _Pair:
    got, wanted = pair.got, pair.wanted
    if got is None and isinstance(wanted, Array) and wanted.data is not None:
        got = replace(wanted, data=np.zeros_like(wanted.data))
    if wanted is None and isinstance(got, Array) and got.data is not None:
        wanted = replace(got, data=np.zeros_like(got.data))
    return replace(pair, got=got, wanted=wanted)


def _judge_parameters(
    step: Step, got: Any, wanted: Mapping[str, Any], values: bool
) -> Fault | None:
    """A module has the parameters that are asked for, and no others.

    Without `values`, what is compared are their shapes.
    """
    names = list(got) if isinstance(got, Mapping) else []
    absent = [name for name in wanted if name not in names]
    if absent:
        have = one_line(", ".join(names), 120) or "none"
        return Fault(VALUES, f"expected a parameter {absent[0]}; the module has {have}")
    extra = [name for name in names if name not in wanted]
    if extra:
        asked = ", ".join(wanted) or "none"
        return Fault(VALUES, f"expected the parameters {asked}, got {one_line(extra[0], 80)} too")
    if values:
        pairs = (_Pair(f"parameter {name}: ", got[name], item) for name, item in wanted.items())
        return _first_fault(step, pairs)
    for name, item in wanted.items():
        found, asked_for = _as_shape(got[name]), _as_shape(item)
        if found != asked_for:
            message = wording.shape(found, asked_for, ValueSpec(), {})
            return Fault(VALUES, f"parameter {name}: {message}")
    return None


def _as_shape(value: Any) -> tuple[int, ...]:
    part = part_of(value)
    if isinstance(part, Unreadable) or part.data is None or part.data.dtype.kind not in "iu":
        return ()
    return tuple(int(size) for size in part.data.reshape(-1))


_PICTURE = {
    "linear": "the colours do not grow in proportion to the values",
    "distinct": "the colours run into each other between the cells",
    "complete": "a part is cut off: a cell, or values beyond the ends of the colour scale",
}


def _judge_picture(step: Step, got: Any, wanted: Any) -> Fault | None:
    """What a reader sees of a heat map, whatever made it."""
    seen, meant = shown(got), shown(wanted)
    if not isinstance(seen, Mapping) or seen.get("values") is None:
        return Fault(VALUES, "the picture shows no values: draw them with imshow or pcolormesh")
    fault = _first_fault(step, [_Pair("the picture: ", seen["values"], meant["values"])])
    if fault is not None:
        return fault
    for key, which in (("row_labels", "rows, from the top"), ("column_labels", "columns")):
        if seen.get(key) != meant[key]:
            return Fault(VALUES, f"the labels of the {which}: {_labels(step, seen, meant, key)}")
    for key, message in _PICTURE.items():
        if meant[key] and not seen.get(key):
            return Fault(VALUES, f"the picture: {message}")
    return None


def _labels(step: Step, seen: Mapping[str, Any], meant: Mapping[str, Any], key: str) -> str:
    if step.hidden:
        return "some are wrong"
    got = seen.get(key)
    listed = ", ".join(f"“{label}”" if isinstance(label, str) else "none" for label in meant[key])
    if not isinstance(got, list):
        return f"expected {one_line(listed, 120)}, got {words_for(got)}"
    found = ", ".join(f"“{label}”" if isinstance(label, str) else "none" for label in got)
    return f"expected {one_line(listed, 120)}, got {one_line(found, 120)}"
