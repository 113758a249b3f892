"""Where a student's numbers part from the reference's: the first wrong step, if it is clear.

A trace holds the arrays that a function made on its way. Those of the reference are milestones:
queries, scores, weights, output. A student's arrays are matched with them up to the order of
axes and the layout of batches. Only a clean beginning of right ones, followed by a wrong one, says
anything. A student's trace comes from beside student code: it is read as data that may be forged.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.observe.protocol import Array

Numbers = np.ndarray[Any, Any]

MOST_RECORDS = 96
MOST_AXES = 5
# float32 beside float64, after a few products; another formula is off by far more.
RELATIVE = 1e-3


@dataclass(frozen=True)
class Record:
    """An array that a line made. name: of the variable; empty for what is returned."""

    cell: str
    line: int
    function: str
    name: str
    values: Numbers


@dataclass(frozen=True)
class Parting:
    """Where numbers part: all before are right, this record should be the milestone.

    reached: names of the milestones before.
    """

    record: Record
    milestone: Record
    reached: tuple[str, ...]


def read_trace(notes: Mapping[str, Any]) -> list[Record]:
    """The records of a call's notes; what is not of the known form is left out."""
    plain = notes.get("trace")
    if not isinstance(plain, list):
        return []
    return [record for item in plain[:MOST_RECORDS] if (record := _read(item)) is not None]


def _read(plain: Any) -> Record | None:
    if not isinstance(plain, dict):
        return None
    cell, line, value = plain.get("cell"), plain.get("line"), plain.get("value")
    function, name = plain.get("function"), plain.get("name")
    if not (isinstance(cell, str) and isinstance(function, str) and isinstance(name, str)):
        return None
    if type(line) is not int or not 0 < line < 1_000_000:
        return None
    if not isinstance(value, Array) or value.data is None or value.data.dtype.kind not in "biuf":
        return None
    with np.errstate(invalid="ignore"):  # a signalling NaN, which only hostile code hands over
        numbers = np.asarray(value.data, dtype=np.float64)
    return Record(cell, line, function, name, numbers)


# --- matching ----------------------------------------------------------------------------


def same_numbers(one: Numbers, other: Numbers) -> bool:
    """Whether two arrays hold the same numbers, but for the order of axes and merged axes."""
    if one.size != other.size:
        return False
    size = _largest(other)
    bound = RELATIVE * size + 1e-9

    def near(left: Numbers, right: Numbers) -> bool:
        with np.errstate(all="ignore"):
            return bool(np.all((np.abs(left - right) <= bound) | (left == right)))

    if not near(_sorted(one), _sorted(other)):
        return False
    flat = other.ravel()
    slim = np.squeeze(one)
    if slim.ndim > MOST_AXES:
        return near(slim.ravel(), flat)
    if any(near(slim.transpose(axes).ravel(), flat) for axes in _orders(slim.ndim)):
        return True
    thin = np.squeeze(other)
    return thin.ndim <= MOST_AXES and any(
        near(slim.ravel(), thin.transpose(axes).ravel()) for axes in _orders(thin.ndim)
    )


def _orders(count: int) -> Iterator[tuple[int, ...]]:
    return itertools.permutations(range(count))


def _sorted(values: Numbers) -> Numbers:
    return np.sort(np.nan_to_num(values.ravel(), nan=0.0, posinf=np.inf, neginf=-np.inf))


def _largest(values: Numbers) -> float:
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max()) if finite.size else 0.0


def _tells(values: Numbers) -> bool:
    """Whether an array can be told from another one: not one number, over and over."""
    return values.size > 1 and np.unique(values).size > 1


def distinct(records: Sequence[Record], known: Sequence[Numbers]) -> list[Record]:
    """The records that are new: not an input and not what an earlier one holds."""
    found: list[Record] = []
    for record in records:
        if not _tells(record.values):
            continue
        if any(same_numbers(record.values, values) for values in known):
            continue
        if any(same_numbers(record.values, earlier.values) for earlier in found):
            continue
        found.append(record)
    return found


# --- parting -----------------------------------------------------------------------------


def parting(
    student: Sequence[Record], reference: Sequence[Record], inputs: Sequence[Numbers]
) -> Parting | None:
    """The first wrong record, where it is clear which one that is.

    All records before it have to be inputs or milestones, and none after it may be one. Either it
    is the last of its kind, or what follows fits the milestones that are left, one by one.
    """
    milestones = distinct(reference, inputs)
    own = distinct(student, inputs)
    reached = [_match(record, milestones) for record in own]
    first = next((at for at, match in enumerate(reached) if match is None), None)
    if first is None or any(match is not None for match in reached[first:]):
        return None
    before = [match for match in reached[:first] if match is not None]
    left = milestones[max(before, default=-1) + 1 :]
    wrong = own[first:]
    if not left or (not before and len(wrong) > 1):
        return None
    lines = {(record.cell, record.line) for record in wrong}
    aligned = [r.values.size for r in wrong] == [r.values.size for r in left]
    if len(lines) > 1 and not aligned:
        return None
    names = tuple(milestones[at].name for at in before)
    return Parting(wrong[0], left[0] if aligned else left[-1], names)


def _match(record: Record, milestones: Sequence[Record]) -> int | None:
    for at, milestone in enumerate(milestones):
        if same_numbers(record.values, milestone.values):
            return at
    return None


def suspects(
    student: Sequence[Record], reference: Sequence[Record], inputs: Sequence[Numbers]
) -> list[tuple[str, int]]:
    """Lines in the order in which they are worth a look: the unmatched ones, in time."""
    milestones = distinct(reference, inputs)
    lines = [
        (record.cell, record.line)
        for record in distinct(student, inputs)
        if _match(record, milestones) is None
    ]
    return list(dict.fromkeys(lines))
