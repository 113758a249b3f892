"""Observation and expectation in, result out. Nothing of the student's runs here.

Each case is judged in a fixed order: it runs → it returns something of the right type →
exact shape → dtype → finite → invariants → values → gradients → side effects. The first
that fails explains the rest, so later ones are not reported for that case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder import wording
from autograder.checks import run_builtin, run_custom
from autograder.diagnose import diagnose
from autograder.numerics import compare, tolerance_for
from autograder.observe.protocol import Array
from autograder.observe.session import Stopped
from autograder.program import Backward, Call, Observed, Raised
from autograder.result import CheckResult, ExerciseOutcome, ExerciseResult
from autograder.results_view import (
    Part,
    Unreadable,
    case_view,
    expected_count,
    part_of,
    parts_of,
    words_for,
)
from autograder.specification import (
    BuiltinCheck,
    Case,
    ExerciseSpec,
    ValueSpec,
    Verdict,
)

CaseOutcome = Sequence[Observed] | Stopped

RUNS, TYPE, SHAPE, DTYPE, FINITE = "runs", "type", "shape", "dtype", "finite"
VALUES, GRADIENTS, UNTOUCHED = "values", "gradients", "arguments untouched"


@dataclass(frozen=True)
class Fault:
    """The first thing that is wrong in one case."""

    check: str
    message: str
    outcome: ExerciseOutcome = "failed"


def check_names(spec: ExerciseSpec) -> tuple[str, ...]:
    """The checks of an exercise in the order in which they are judged."""
    own = tuple(check.line for check in spec.checks)
    gradients = any(
        isinstance(step, Backward) for case in spec.cases for step in case.program.steps
    )
    dtype = (DTYPE,) if spec.framework == "torch" else ()
    middle = (GRADIENTS,) if gradients else ()
    return (RUNS, TYPE, SHAPE, *dtype, FINITE, *own, VALUES, *middle, UNTOUCHED)


def judge(spec: ExerciseSpec, observations: Mapping[str, CaseOutcome]) -> ExerciseResult:
    """The result of one exercise. Cases that were not observed are left out of the judgement.

    Raises nothing on any observation: what a submission returned can be anything.
    """
    faults: dict[str, Fault] = {}
    for case in spec.cases:
        if case.name in observations:
            fault = judge_case(spec, case, observations[case.name])
            if fault is not None:
                faults[case.name] = fault
    if not observations or not faults:
        return _passed(spec, observations)
    # what a student can look at comes first
    ordered = sorted(
        (case for case in spec.cases if case.name in faults),
        key=lambda case: (_GRAVITY.get(faults[case.name].outcome, 9), case.hidden),
    )
    first = ordered[0]
    fault = faults[first.name]
    found = diagnose(spec, observations, tuple(faults)) if fault.outcome == "failed" else ()
    if fault.outcome == "error":
        found = diagnose(spec, observations, tuple(faults))
    score = _score(spec, faults, found, observations)
    return ExerciseResult(
        name=spec.name,
        outcome=fault.outcome,
        score=None if fault.outcome == "infrastructure" else score,
        max_score=spec.points,
        misconceptions=tuple(found),
        checks=_check_results(spec, faults),
        feedback=wording.feedback(spec, first, fault.check, fault.message, found, len(faults)),
    )


# An exception says more than wrong values in another case; a limit says more than both.
_GRAVITY = {
    "infrastructure": 0,
    "missing": 1,
    "timed_out": 2,
    "out_of_memory": 2,
    "crashed": 2,
    "error": 3,
    "failed": 4,
}


def judge_case(spec: ExerciseSpec, case: Case, observed: CaseOutcome) -> Fault | None:
    """The first fault of one case, or None."""
    if isinstance(observed, Stopped):
        return Fault(RUNS, observed.message, observed.reason)
    for index, expected in enumerate(case.expected):
        if index >= len(observed):
            return Fault(RUNS, "the call did not finish", "crashed")
        fault = _judge_step(spec, case, index, observed[index], expected)
        if fault is not None:
            return fault
    fault, is_statistical = _judge_invariants(spec, case, observed)
    if fault is not None:
        return fault
    if not is_statistical:
        for index, expected in enumerate(case.expected):
            fault = _judge_values(spec, case, index, observed[index], expected)
            if fault is not None:
                return fault
    for index, expected in enumerate(case.expected):
        changed = [name for name in observed[index].changed if name not in expected.changed]
        if changed:
            names = " and ".join(f"`{name}`" for name in changed[:3])
            return Fault(UNTOUCHED, f"the call changed its argument {names}; work on a copy")
    return None


def _judge_step(
    spec: ExerciseSpec, case: Case, index: int, observed: Observed, expected: Observed
) -> Fault | None:
    if expected.raised is not None:
        return _judge_exception(observed, expected.raised)
    if observed.raised is not None:
        return _fault_of_exception(observed.raised)
    step = case.program.steps[index]
    if not isinstance(step, Call):
        return None  # gradients and descriptions are compared with the values
    count = expected_count(expected.value)
    if count == 1:
        returns = spec.returns[0]
        return _judge_form(spec, case, index, observed.value, expected.value, returns, "")
    parts = parts_of(observed.value, count)
    if parts is None:
        got = words_for(observed.value)
        return Fault(TYPE, f"returned {got}, expected {count} values")
    for number, (got_part, wanted) in enumerate(zip(parts, expected.value, strict=True)):
        returns = spec.returns[number] if number < len(spec.returns) else ValueSpec()
        where = f"return value {number + 1}: "
        fault = _judge_form(spec, case, index, got_part, wanted, returns, where)
        if fault is not None:
            return fault
    return None


def _judge_exception(observed: Observed, wanted: Raised) -> Fault | None:
    if observed.raised is None:
        return Fault(VALUES, f"expected {wanted.type_name} to be raised, but nothing was raised")
    if observed.raised.is_a(wanted.type_name):
        return None
    fault = _fault_of_exception(observed.raised)
    if fault.outcome == "error":
        return Fault(
            VALUES,
            f"expected {wanted.type_name} to be raised, got {observed.raised.type_name}",
        )
    return fault


def _fault_of_exception(raised: Raised) -> Fault:
    if raised.type_name == "Missing" or raised.is_a("NotImplementedError"):
        return Fault(RUNS, "not written yet", "missing")
    if raised.is_a("MemoryError"):
        return Fault(RUNS, wording.out_of_memory(raised), "out_of_memory")
    return Fault(RUNS, wording.exception(raised), "error")


def _judge_form(
    spec: ExerciseSpec,
    case: Case,
    index: int,
    value: Any,
    expected: Any,
    returns: ValueSpec,
    where: str,
) -> Fault | None:
    """Type, shape, dtype and finiteness of one returned value."""
    wanted = part_of(expected)
    if isinstance(wanted, Unreadable):
        return None  # an object such as an Axes, which later steps look into
    got = part_of(value)
    if isinstance(got, Unreadable):
        hint = "; is there a return statement?" if value is None else ""
        return Fault(TYPE, f"{where}returned {got.words}, expected {_kind(wanted)}{hint}")
    if wanted.framework == "torch" and got.framework not in ("torch", "scalar"):
        return Fault(TYPE, f"{where}returned {words_for(value)}, expected a tensor")
    if wanted.framework == "numpy" and got.framework == "torch":
        return Fault(TYPE, f"{where}returned a tensor, expected a NumPy array")
    if got.shape != wanted.shape:
        sizes = wording.sizes(spec, case, index)
        return Fault(SHAPE, where + wording.shape(got.shape, wanted.shape, returns, sizes))
    if got.data is None or got.dtype.startswith("complex"):
        return Fault(
            DTYPE, f"{where}returned values of dtype {got.dtype}, which cannot be compared"
        )
    fault = _judge_dtype(spec, case, index, got, wanted, where)
    if fault is not None:
        return fault
    assert wanted.data is not None
    stray = ~np.isfinite(got.data) & np.isfinite(wanted.data)
    if got.data.dtype.kind == "f" and stray.any():
        message = wording.not_finite(got.data, stray, returns, case.hidden)
        return Fault(FINITE, where + message)
    return None


def _kind(wanted: Part) -> str:
    if wanted.framework == "torch":
        return "a tensor"
    return "a number" if wanted.shape == () else "an array"


def _judge_dtype(
    spec: ExerciseSpec, case: Case, index: int, got: Part, wanted: Part, where: str
) -> Fault | None:
    """PyTorch results have the dtype of the floating inputs; masks are bool; NumPy is free."""
    if spec.framework != "torch" or wanted.framework != "torch":
        return None
    if wanted.dtype == "bool":
        if got.dtype != "bool":
            return Fault(DTYPE, f"{where}returned dtype {got.dtype}, expected bool")
        return None
    if not wanted.dtype.startswith(("float", "bfloat")):
        return None
    inputs = _input_dtypes(case, index)
    if inputs and got.dtype not in inputs:
        return Fault(
            DTYPE, f"{where}returned dtype {got.dtype}, expected {inputs[0]} as the inputs have"
        )
    return None


def _input_dtypes(case: Case, index: int) -> list[str]:
    """Floating dtypes of a call's arguments; for other steps, of every call's."""
    step = case.program.steps[index]
    calls = [step] if isinstance(step, Call) else [call for _, call in case.program.calls]
    return [
        dtype
        for call in calls
        for dtype in _dtypes_in(list(call.named.values()))
        if dtype.startswith(("float", "bfloat"))
    ]


def _dtypes_in(values: Sequence[Any]) -> list[str]:
    found: list[str] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            found += _dtypes_in(value)
        elif isinstance(value, Array):
            found.append(value.dtype)
        elif isinstance(value, np.ndarray):
            found.append(value.dtype.name)
        elif type(value).__module__.split(".")[0] == "torch" and hasattr(value, "dtype"):
            found.append(str(value.dtype).removeprefix("torch."))
    return found


def _judge_invariants(
    spec: ExerciseSpec, case: Case, observed: Sequence[Observed]
) -> tuple[Fault | None, bool]:
    """(the first fault, whether the values of this case are random and not compared)."""
    view = case_view(case.program, observed, case.expected)
    if view is None:
        return None, False
    is_statistical = False
    for check in spec.checks:
        if isinstance(check, BuiltinCheck):
            for call in view.calls:
                message = run_builtin(check, call)
                if message:
                    return Fault(check.line, message), is_statistical
        else:
            found = run_custom(check, view)
            is_statistical |= isinstance(found, Verdict)
            message = found.message if isinstance(found, Verdict) else found
            if message:
                return Fault(check.line, str(message)), is_statistical
    return None, is_statistical


def _judge_values(
    spec: ExerciseSpec, case: Case, index: int, observed: Observed, expected: Observed
) -> Fault | None:
    if expected.raised is not None:
        return None
    step = case.program.steps[index]
    check = GRADIENTS if isinstance(step, Backward) else VALUES
    count = expected_count(expected.value)
    for number, (label, got, wanted) in enumerate(_pairs(observed.value, expected.value, count)):
        returns = ValueSpec()
        if isinstance(step, Call):
            returns = spec.returns[min(number, len(spec.returns) - 1)]
        fault = _compare_part(spec, case, index, check, label, got, wanted, returns)
        if fault is not None:
            return fault
    return None


def _pairs(got: Any, wanted: Any, count: int) -> list[tuple[str, Any, Any]]:
    """(label, got, expected) of everything in a result that can be compared."""
    if isinstance(wanted, Mapping):
        inner = got if isinstance(got, Mapping) else {}
        return [
            (f"{key}{': ' if not isinstance(item, Mapping) else ' '}{label}", g, w)
            for key, item in wanted.items()
            for label, g, w in _pairs(inner.get(key), item, 1)
        ]
    if count > 1:
        parts = parts_of(got, count) or [None] * count
        return [
            (f"return value {number + 1}: ", part, item)
            for number, (part, item) in enumerate(zip(parts, wanted, strict=True))
        ]
    return [("", got, wanted)]


def _compare_part(
    spec: ExerciseSpec,
    case: Case,
    index: int,
    check: str,
    label: str,
    got_value: Any,
    wanted_value: Any,
    returns: ValueSpec,
) -> Fault | None:
    wanted = part_of(wanted_value)
    if isinstance(wanted, Unreadable):
        same = type(got_value) is type(wanted_value) and (
            got_value == wanted_value or not isinstance(wanted_value, str)
        )
        return None if same else Fault(check, f"{label}got {words_for(got_value)}")
    got = part_of(got_value)
    if isinstance(got, Unreadable) or got.data is None or wanted.data is None:
        if check == GRADIENTS and got_value is None:
            return Fault(check, f"{label}no gradient arrives: the graph is cut before it")
        return Fault(check, f"{label}got {words_for(got_value)}, expected {_kind(wanted)}")
    if got.shape != wanted.shape:
        return Fault(check, label + wording.shape(got.shape, wanted.shape, returns, {}))
    dtypes = [got.dtype, *_input_dtypes(case, index)]
    found = compare(got.data, wanted.data, tolerance_for(dtypes, wanted.data))
    if found is None:
        return None
    return Fault(check, label + wording.difference(found, returns, case.hidden))


def _passed(spec: ExerciseSpec, observations: Mapping[str, CaseOutcome]) -> ExerciseResult:
    if not observations:
        return infrastructure(spec, "no case was observed")
    return ExerciseResult(
        name=spec.name,
        outcome="passed",
        score=spec.points,
        max_score=spec.points,
        checks=tuple(CheckResult(name=name, outcome="passed") for name in check_names(spec)),
        feedback=wording.passed(spec, len(observations)),
    )


def missing(spec: ExerciseSpec) -> ExerciseResult:
    """The result of an exercise that was left as the stub was, or is not there."""
    skipped = tuple(CheckResult(name=name, outcome="skipped") for name in check_names(spec)[1:])
    return ExerciseResult(
        name=spec.name,
        outcome="missing",
        score=0.0,
        max_score=spec.points,
        checks=(CheckResult(name=RUNS, outcome="failed", message="not written yet"), *skipped),
        feedback=f"{spec.name}: not written yet.",
    )


def infrastructure(spec: ExerciseSpec, message: str) -> ExerciseResult:
    """The result of an exercise that we could not grade, which costs no point."""
    return ExerciseResult(
        name=spec.name,
        outcome="infrastructure",
        score=None,
        max_score=spec.points,
        feedback=f"{spec.name}: could not be graded, through no fault of yours ({message}).",
    )


def _check_results(spec: ExerciseSpec, faults: Mapping[str, Fault]) -> tuple[CheckResult, ...]:
    """One entry a check: failed with the first message; skipped after every case's fault."""
    names = check_names(spec)
    cases = {case.name: case for case in spec.cases}
    reached = max(names.index(fault.check) for fault in faults.values())
    all_failed = len(faults) == len(spec.cases)
    results = []
    for position, name in enumerate(names):
        here = [(cases[key], fault) for key, fault in faults.items() if fault.check == name]
        here.sort(key=lambda pair: pair[0].hidden)
        if here:
            case, fault = here[0]
            message = f"{wording.case_words(spec, case)}: {fault.message}"
            results.append(CheckResult(name=name, outcome="failed", message=message))
        else:
            skipped = all_failed and position > reached
            results.append(CheckResult(name=name, outcome="skipped" if skipped else "passed"))
    return tuple(results)


def _score(
    spec: ExerciseSpec,
    faults: Mapping[str, Fault],
    found: Sequence[str],
    observations: Mapping[str, CaseOutcome],
) -> float:
    """Nothing, unless the one misconception found or the checks that passed carry credit."""
    share = spec.mistake(found[0]).credit if len(found) == 1 else 0.0
    failed = {fault.check for fault in faults.values()}
    if not failed & {RUNS, TYPE, SHAPE}:
        earned = sum(check.credit for check in spec.checks if check.line not in failed)
        share = max(share, earned)
    return round(spec.points * min(share, 1.0), 2)
