"""Small inputs as they stand in the key for self-checks: what was changed of a public case.

A case is the name of the public one, the new shapes and whole numbers in the order of its
arguments, and what is expected. All entries of an exercise's arrays are one tensor: a few dozen
cases take a few kilobytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.faults.small_inputs import KEPT, leaves_of, mapped, one_call
from autograder.observe.protocol import Array, Opaque
from autograder.program import Observed, Program
from autograder.specification import Case


def to_plain(case: Case, pool: list[float]) -> dict[str, Any]:
    """The case in its stored form; entries of its arrays are put into `pool`."""
    shapes, whole = [], []
    start = len(pool)
    for name, value in leaves_of(case.program):
        if isinstance(value, Array):
            shapes.append(list(value.shape))
            pool += np.asarray(value.data, dtype=np.float64).ravel().tolist()
        elif type(value) is int and name not in KEPT:
            whole.append(value)
    # a step that gives nothing, such as loading weights, is a null
    expected = [_stored(step.value, pool) for step in case.expected]
    return {"of": case.title, "at": start, "shapes": shapes, "whole": whole, "expected": expected}


def _stored(value: Any, pool: list[float]) -> Any:
    if isinstance(value, Array):
        pool += np.asarray(value.data, dtype=np.float64).ravel().tolist()
        return {"array": value.dtype, "shape": list(value.shape), "framework": value.framework}
    if isinstance(value, Opaque):
        return {"opaque": value.type_name}
    if isinstance(value, float):
        pool.append(value)
        return {"float": 1}
    if isinstance(value, (list, tuple)):
        return [_stored(item, pool) for item in value]
    return value


class _Pool:
    """The entries, taken in the order in which they were put in."""

    def __init__(self, entries: np.ndarray[Any, Any], at: int) -> None:
        self.entries, self.at = entries, at

    def take(self, shape: Sequence[int]) -> np.ndarray[Any, Any]:
        count = math.prod(shape)
        taken = self.entries[self.at : self.at + count]
        self.at += count
        return np.asarray(taken.reshape(tuple(shape)))


def from_plain(
    plain: Mapping[str, Any], number: int, public: Mapping[str, Case], entries: Any
) -> Case:
    """The case back from its stored form; KeyError or ValueError where it is none.

    public: the public cases by name, of the same drawing.
    """
    base = one_call(public[plain["of"]].program)
    if base is None:
        raise ValueError(f"{plain['of']} has no small inputs")
    pool = _Pool(entries, int(plain["at"]))
    shapes, whole = iter(plain["shapes"]), iter(plain["whole"])

    def change(name: str, value: Any) -> Any:
        if isinstance(value, Array) and value.data is not None:
            shape = tuple(next(shapes))
            return replace(value, shape=shape, data=pool.take(shape).astype(value.data.dtype))
        if type(value) is int and name not in KEPT:
            return next(whole)
        return value

    program: Program = mapped(base, change)
    expected = tuple(Observed(_read(value, pool)) for value in plain["expected"])
    return Case(f"small_{number}", "a small case", program, expected, kind="robustness")


def _read(plain: Any, pool: _Pool) -> Any:
    if isinstance(plain, list):
        return [_read(item, pool) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if "array" in plain:
        shape = tuple(plain["shape"])
        data = pool.take(shape).astype(plain["array"])
        return Array(plain["array"], shape, data, plain["framework"])
    if "float" in plain:
        return float(pool.take(()))
    return Opaque(plain["opaque"])
