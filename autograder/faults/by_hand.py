"""A small case in words: input, expected and got as numbers that can be checked by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from autograder import wording
from autograder.faults.counterexample import Counterexample, wrong_step
from autograder.observe.protocol import Array
from autograder.program import Call, Construct, LoadWeights, Program, Slot
from autograder.results_view import Part, part_of, parts_of, shape_words, words_for
from autograder.specification import DTYPE

MOST_NUMBERS = 64  # of one array: beyond, its shape alone is shown
DIGITS = (4, 6, 9)


def input_words(program: Program) -> str:
    """“scores = [[0, 1], [2, 0]], d_k = 4”; of a module how it is built, and its weights."""
    return ", ".join(_inputs(program))


def _inputs(program: Program) -> Iterator[str]:
    for step in program.steps:
        if isinstance(step, Construct):
            given = [numbers(item) for item in step.args]
            given += [f"{name}={numbers(item)}" for name, item in step.kwargs.items()]
            yield f"{step.target}({', '.join(given)})"
        elif isinstance(step, LoadWeights):
            yield from _named(step.weights)
        elif isinstance(step, Call):
            yield from _named(step.named)


def _named(values: Mapping[str, Any]) -> Iterator[str]:
    for name, value in values.items():
        if value is not None and not isinstance(value, Slot):
            yield f"{name} = {numbers(value)}"


def results_words(found: Counterexample) -> tuple[str, str]:
    """(expected, got) of the part of the result that is wrong."""
    at = wrong_step(found)
    if at >= len(found.case.expected):
        return "", ""
    expected = found.case.expected[at].value
    if at >= len(found.observed) or found.observed[-1].raised is not None:
        raised = found.observed[-1].raised
        said = wording.exception_name(raised) if raised is not None else "nothing"
        if raised is not None and raised.message:
            said += f" ({wording.one_line(raised.message, 120)})"
        return _whole(expected), said
    got = found.observed[at].value
    if isinstance(expected, (list, tuple)) and len(expected) > 1:
        parts = parts_of(got, len(expected))
        if parts is None:
            return _whole(expected), words_for(got)
        for number, (one, other) in enumerate(zip(expected, parts, strict=True)):
            shown, theirs = both(one, other)
            if shown != theirs:
                return f"{shown} as return value {number + 1}", theirs
        return _whole(expected), _whole(got)
    if found.fault.check == DTYPE and isinstance(expected, Array) and isinstance(got, Array):
        return f"a result like the input's, such as {numbers(expected)}", f"{got.dtype}"
    return both(expected, got)


def _whole(value: Any) -> str:
    if isinstance(value, (list, tuple)) and not isinstance(part_of(value), Part):
        return " and ".join(numbers(item) for item in value)
    return numbers(value)


def both(expected: Any, got: Any) -> tuple[str, str]:
    """Two values, with as many digits as tell them apart."""
    for digits in DIGITS:
        one, other = numbers(expected, digits), numbers(got, digits)
        if one != other:
            break
    wanted, given = part_of(expected), part_of(got)
    if isinstance(wanted, Part) and isinstance(given, Part) and wanted.shape != given.shape:
        one += f" of shape {shape_words(wanted.shape)}"
        other += f" of shape {shape_words(given.shape)}"
    return one, other


def numbers(value: Any, digits: int = DIGITS[0]) -> str:
    """A value as Python would write it, its numbers short."""
    if isinstance(value, np.ndarray):
        value = Array(value.dtype.name, value.shape, value)
    if isinstance(value, (Array, int, float)):
        part = part_of(value)
        if isinstance(part, Part) and part.data is not None:
            if part.data.size > MOST_NUMBERS:
                return words_for(value)
            return _nested(np.asarray(part.data), digits)
        return words_for(value)
    if isinstance(value, (list, tuple)):
        inner = ", ".join(numbers(item, digits) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return "None" if value is None else wording.one_line(words_for(value), 80)


def _nested(data: np.ndarray[Any, Any], digits: int) -> str:
    if data.ndim:
        return f"[{', '.join(_nested(np.asarray(item), digits) for item in data)}]"
    entry = data.item()
    if isinstance(entry, (bool, int)):
        return str(entry)
    if isinstance(entry, complex):
        return f"{entry:.{digits}g}"
    if entry == np.round(entry) and abs(entry) < 1e6:
        return str(int(entry))
    short = f"{entry:.{digits}g}"
    return "0" if short == "-0" else short
