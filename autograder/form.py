"""The form of what a call returned: type, shape, dtype, finite, in this order.

Values are another matter (`autograder.comparison`), because an author's checks stand between
the two in the order of judging.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder import wording
from autograder.numerics import HALF_TYPES, Tolerance, magnitude_of, tolerance_for
from autograder.observe.protocol import Array, Opaque
from autograder.program import Call, LoadWeights
from autograder.result import ExerciseOutcome
from autograder.results_view import (
    Part,
    Unreadable,
    expected_count,
    kind_words,
    part_of,
    parts_of,
    words_for,
)
from autograder.specification import (
    DTYPE,
    FINITE,
    SHAPE,
    TYPE,
    Case,
    ExerciseSpec,
    ValueSpec,
)
from autograder.wire import to_wire


@dataclass(frozen=True)
class Fault:
    """The first thing that is wrong in one case. `heading` says it in two or three words."""

    check: str
    message: str
    outcome: ExerciseOutcome = "failed"
    heading: str = ""

    @property
    def headline(self) -> str:
        """What stands before the name of the case."""
        return self.heading or wording.headline(self.check, self.outcome)


@dataclass(frozen=True)
class Step:
    """A step of a case, with what its values are called."""

    spec: ExerciseSpec
    case: Case
    index: int

    @property
    def hidden(self) -> bool:
        """Whether values may not be shown."""
        return self.case.hidden

    def returns(self, number: int) -> ValueSpec:
        """What the annotation says of a call's result."""
        returns = self.spec.returns
        is_call = isinstance(self.case.program.steps[self.index], Call)
        return returns[number] if is_call and number < len(returns) else ValueSpec()

    def sizes(self) -> dict[str, int]:
        """Axis names and sizes of the call."""
        return wording.sizes(self.spec, self.case, self.index)

    def input_dtypes(self) -> list[str]:
        """Floating dtypes of a call's arguments; for other steps, of every call's."""
        known: dict[int, list[str]] = _once_a_case(self.case, "_input_dtypes")
        if self.index not in known:
            step = self.case.program.steps[self.index]
            calls = [step] if isinstance(step, Call) else [c for _, c in self.case.program.calls]
            known[self.index] = [
                dtype
                for call in calls
                for dtype in _dtypes_in(call.named.values())
                if _is_float(dtype)
            ]
        return known[self.index]

    def tolerance(
        self, dtype: str, expected: np.ndarray[Any, Any], magnitude: float | None = None
    ) -> Tolerance:
        """What a value of that dtype, returned where `expected` should be, may be off by.

        By the coarser of the inputs' and the result's dtypes; half types count where the
        exercise says so and an input is of one. For a call's results the author's bound comes
        first. magnitude: see `numerics.tolerance_for`. Found once a case where `expected` is
        the reference's, for a whole class.
        """
        if _expected_arrays(self.case).get(id(expected)) is not expected:
            return self._tolerance(dtype, expected, magnitude)
        known: dict[Any, Tolerance] = _once_a_case(self.case, "_tolerances")
        own = (self.spec.tolerance, self.spec.half_precision)
        key = (self.index, dtype, id(expected), magnitude, own)
        if key not in known:
            known[key] = self._tolerance(dtype, expected, magnitude)
        return known[key]

    def _tolerance(
        self, dtype: str, expected: np.ndarray[Any, Any], magnitude: float | None
    ) -> Tolerance:
        inputs = self.input_dtypes()
        half = self.spec.half_precision and any(name in HALF_TYPES for name in inputs)
        usual = tolerance_for(
            [dtype, *inputs], expected, half=half, magnitude=magnitude, terms=_longest(self.case)
        )
        step = self.case.program.steps[self.index]
        bound = self.case.tolerance or self.spec.tolerance
        if bound is None or not isinstance(step, Call):
            return usual
        size = 1.0
        if bound.of == "result":
            size = magnitude_of([expected])
        elif bound.of is not None:
            size = magnitude_of(_arrays_in([step.named[bound.of]]))
        return bound.tolerance(usual, dtype, size)

    def words(self, value: Any) -> str:
        """A value that was returned, as far as it may be shown."""
        return kind_words(value) if self.hidden else words_for(value)


def _once_a_case(case: Case, name: str) -> dict[Any, Any]:
    """What is found once a case for a whole class: beside the fields, unseen by equality."""
    found: dict[Any, Any] = vars(case).setdefault(name, {})
    return found


def _expected_arrays(case: Case) -> Mapping[int, np.ndarray[Any, Any]]:
    """By identity, the arrays that the reference gave; they live as long as the case."""
    known: dict[int, np.ndarray[Any, Any]] | None = vars(case).get("_expected_arrays")
    if known is None:
        known = {}
        todo: list[Any] = [step.value for step in case.expected]
        while todo:
            value = todo.pop()
            if isinstance(value, Array) and value.data is not None:
                known[id(value.data)] = value.data
            elif isinstance(value, (list, tuple)):
                todo += value
            elif isinstance(value, Mapping):
                todo += value.values()
        vars(case)["_expected_arrays"] = known
    return known


def _longest(case: Case) -> int:
    """The longest axis of all arrays that a case hands over: no sum runs over more terms.

    Found once a case, for a whole class.
    """
    known: int | None = vars(case).get("_longest")
    if known is None:
        known = 1
        for step in case.program.steps:
            given: Any = ()
            if isinstance(step, Call):
                given = step.named.values()
            elif isinstance(step, LoadWeights):
                given = step.weights.values()
            for array in _arrays_in(given):
                known = max(known, *array.shape, 1)
        vars(case)["_longest"] = known  # beside the fields: equality and repr do not see it
    return known


def _arrays_in(values: Iterable[Any]) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays of arguments, tensors among them."""
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _arrays_in(value)
        elif isinstance(value, Mapping):
            yield from _arrays_in(value.values())
        elif wording.dtype_of(value) is not None:
            array = to_wire(value).data
            if array is not None:
                yield array


def _dtypes_in(values: Any) -> Iterator[str]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _dtypes_in(value)
        else:
            dtype = wording.dtype_of(value)
            if dtype is not None:
                yield dtype


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def judge_form(step: Step, value: Any, expected: Any) -> Fault | None:
    """Type, shape, dtype and finiteness of what a call returned."""
    count = expected_count(expected)
    if count == 1:
        return _judge_part(step, value, expected, step.returns(0), "")
    parts = parts_of(value, count)
    if parts is None:
        hint = "; is there a return statement?" if value is None else ""
        return Fault(TYPE, f"expected {count} values, got {step.words(value)}{hint}")
    for number, (got, wanted) in enumerate(zip(parts, expected, strict=True)):
        where = f"return value {number + 1}: "
        fault = _judge_part(step, got, wanted, step.returns(number), where)
        if fault is not None:
            return fault
    return None


def _judge_part(
    step: Step, value: Any, expected: Any, returns: ValueSpec, where: str
) -> Fault | None:
    wanted, got = part_of(expected), part_of(value)
    if isinstance(wanted, Unreadable):
        return _judge_object(step, value, expected, where)
    if isinstance(got, Unreadable):
        hint = "; is there a return statement?" if value is None else ""
        return Fault(TYPE, f"{where}expected {kind_of(wanted)}, got {step.words(value)}{hint}")
    # a plain number is right where a tensor of no axes is
    if wanted.framework == "torch" and got.framework not in ("torch", "scalar"):
        return Fault(TYPE, f"{where}expected a tensor, got {step.words(value)}")
    if wanted.framework != "torch" and got.framework == "torch" and wanted.shape:
        return Fault(TYPE, f"{where}expected a NumPy array, got {step.words(value)}")
    if got.shape != wanted.shape:
        message = wording.shape(got.shape, wanted.shape, returns, step.sizes())
        return Fault(SHAPE, where + message)
    if got.data is None:
        return Fault(TYPE, f"{where}expected {kind_of(wanted)}, got one too large to be compared")
    if got.dtype.startswith("complex"):
        return Fault(TYPE, f"{where}expected real numbers, got complex ones")
    fault = _judge_dtype(step, got, wanted, where)
    if fault is not None:
        return fault
    assert wanted.data is not None
    finite = np.isfinite(got.data)
    if finite.all():
        return None
    stray = ~finite & np.isfinite(wanted.data)
    if stray.any():
        return Fault(FINITE, where + wording.not_finite(got.data, stray, returns, step.hidden))
    return None


def _judge_object(step: Step, value: Any, expected: Any, where: str) -> Fault | None:
    """Where the reference returned no array: an Axes, a module, a string, nothing."""
    same = type(value) is type(expected)
    if isinstance(expected, Opaque):
        same = same and value.type_name == expected.type_name
    if same:
        return None
    return Fault(TYPE, f"{where}expected {words_for(expected)}, got {step.words(value)}")


def kind_of(wanted: Part) -> str:
    """What was expected, in words."""
    if wanted.framework == "torch":
        return "a tensor"
    if wanted.dtype == "bool" and wanted.shape == ():
        return "True or False"
    return "a number" if wanted.shape == () else "an array"


def _judge_dtype(step: Step, got: Part, wanted: Part, where: str) -> Fault | None:
    """PyTorch results have the dtype of the floating inputs; masks are bool; NumPy is free."""
    if step.spec.framework != "torch" or wanted.framework != "torch" or got.framework == "scalar":
        return None
    if wanted.dtype == "bool":
        if got.dtype == "bool":
            return None
        return Fault(DTYPE, f"{where}expected dtype bool, got {got.dtype}")
    if not _is_float(wanted.dtype):
        return None
    inputs = step.input_dtypes()
    if inputs and got.dtype not in inputs:
        return Fault(DTYPE, f"{where}expected dtype {inputs[0]}, as the input has, got {got.dtype}")
    if not _is_float(got.dtype):
        return Fault(DTYPE, f"{where}expected a floating dtype, got {got.dtype}")
    return None
