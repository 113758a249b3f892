"""Writing the self-check key: the public part of a pack, as data (see `autograder.selfcheck`)."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder import __version__
from autograder.faults.storing import to_plain
from autograder.judge import judge_case
from autograder.numerics import Bound
from autograder.observe.protocol import Array, Opaque
from autograder.program import Observed
from autograder.selfcheck import FLOATS, FORMAT, METADATA, SMALL
from autograder.specification import (
    BuiltinCheck,
    Case,
    CustomCheck,
    ExerciseLimits,
    ExerciseSpec,
    ValueSpec,
)
from autograder.wire import observed_to_wire, program_to_wire


def make_key(
    assignment: str,
    title: str,
    specs: Sequence[ExerciseSpec],
    questions: Mapping[str, Mapping[str, Any]],
    small: Mapping[str, Sequence[Case]] | None = None,
) -> bytes:
    """The key of an assignment. `specs` hold public cases and misconceptions only.

    small: small inputs made of these public cases, by exercise (see `faults.small_inputs`).
    """
    from safetensors.numpy import save

    writer = _Writer()
    document: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "assignment": assignment,
        "title": title,
        "questions": questions,
        "exercises": [_spec_to_plain(spec, writer) for spec in specs],
    }
    for plain in document["exercises"]:
        cases = (small or {}).get(plain["name"], ())
        if cases:
            pool: list[float] = []
            plain["small"] = [to_plain(case, pool) for case in cases]
            writer.tensors[f"{plain['name']}/{SMALL}"] = np.asarray(pool, dtype=np.float64)
    tensors = {**writer.tensors, FLOATS: np.asarray(writer.floats, dtype=np.float64)}
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return save(tensors, metadata={METADATA: text})


class _Writer:
    """Takes the arrays out of plain forms and leaves references behind."""

    def __init__(self) -> None:
        self.tensors: dict[str, np.ndarray[Any, Any]] = {}
        self.floats: list[float] = []

    def plain(self, value: Any, path: str) -> Any:
        if isinstance(value, Array):
            return self._array(value, path)
        if isinstance(value, Opaque):
            return {"@": "opaque", "type": value.type_name}
        if isinstance(value, float):
            self.floats.append(value)
            return {"@": "float", "at": len(self.floats) - 1}
        if isinstance(value, tuple):
            items = [self.plain(item, f"{path}/{i}") for i, item in enumerate(value)]
            return {"@": "tuple", "items": items}
        if isinstance(value, list):
            return [self.plain(item, f"{path}/{i}") for i, item in enumerate(value)]
        if isinstance(value, dict):
            return {key: self.plain(item, f"{path}/{key}") for key, item in value.items()}
        return value

    def _array(self, array: Array, path: str) -> Any:
        about: dict[str, Any] = {"@": "array", "framework": array.framework}
        if array.requires_grad:
            about["grad"] = True
        if array.data is not None:
            about["tensor"] = path
            # a fresh copy, since views of a larger array would be written whole
            self.tensors[path] = np.array(array.data, order="C")
        if array.data is None or array.data.dtype.name != array.dtype:
            about["dtype"], about["shape"] = array.dtype, list(array.shape)
        return about


def _spec_to_plain(spec: ExerciseSpec, writer: _Writer) -> dict[str, Any]:
    return {
        "name": spec.name,
        "points": spec.points,
        "needs": list(spec.needs),
        "forbids": list(spec.forbids),
        "framework": spec.framework,
        "axes_needed": spec.axes_needed,
        "seconds": spec.limits.seconds,
        "memory": spec.limits.memory,
        **_other_limits(spec.limits),
        **({"half_precision": True} if spec.half_precision else {}),
        **({"show_edits": True} if spec.show_edits else {}),
        **_bound_to_plain(spec.tolerance),
        "parameters": {name: _value_spec(value) for name, value in spec.parameters.items()},
        "returns": [_value_spec(value) for value in spec.returns],
        "checks": [_check_to_plain(check) for check in spec.checks if _travels(check)],
        "mistakes": [
            {"name": known.name, "sentence": known.sentence, "hint": known.hint}
            for known in spec.mistakes
        ],
        "cases": [_case_to_plain(spec, case, writer) for case in spec.cases],
    }


def _other_limits(limits: ExerciseLimits) -> dict[str, Any]:
    given = limits.as_given()
    others = {name: given[name] for name in given if name not in ("seconds", "memory")}
    return {"limits": others} if others else {}


def _bound_to_plain(bound: Bound | None) -> dict[str, Any]:
    return {} if bound is None else {"tolerance": dict(vars(bound))}


def _travels(check: BuiltinCheck | CustomCheck) -> bool:
    return isinstance(check, BuiltinCheck) or check.public


def _value_spec(value: ValueSpec) -> dict[str, Any]:
    axes = None if value.axes is None else list(value.axes)
    return {"kind": value.kind, "axes": axes, "framework": value.framework}


def _check_to_plain(check: BuiltinCheck | CustomCheck) -> dict[str, Any]:
    if isinstance(check, CustomCheck):
        plain: dict[str, Any] = {
            "custom": check.name,
            "line": check.line,
            "source": source_of(check),
        }
    else:
        plain = {"builtin": check.name, "line": check.line, "parameters": dict(check.parameters)}
    return {**plain, "cases": list(check.cases)} if check.cases else plain


def source_of(check: CustomCheck) -> str:
    """A custom check's own source, without its decorator."""
    source = inspect.getsource(check.function)
    return source[source.index("def ") :].rstrip()


def _case_to_plain(spec: ExerciseSpec, case: Case, writer: _Writer) -> dict[str, Any]:
    # no pairs of misconceptions: there are hundreds, and the key is small. Where two mistakes
    # come together, a self-check has the structural observation (`autograder.structure`)
    path = f"{spec.name}/{case.name}"
    # what calls are watched for follows from the exercise's own list
    program = replace(case.program, forbidden={}, operators=False)

    harmless = _harmless(spec, case)

    def outcomes(observed: Any, where: str) -> Any:
        return writer.plain([_told(step) for step in observed], f"{path}/{where}")

    return {
        "name": case.name,
        "title": case.title,
        "kind": case.kind,
        "separates": [name for name in case.separates if name in case.explanations],
        "program": writer.plain(program_to_wire(program), f"{path}/program"),
        "expected": outcomes(case.expected, "expected"),
        "explanations": {
            known.name: outcomes(case.explanations[known.name], known.name)
            for known in spec.mistakes
            if known.name in case.explanations and known.name not in harmless[1:]
        },
        "harmless": harmless,
        **({"operators": True} if case.program.operators else {}),
        **_bound_to_plain(case.tolerance),
    }


def _told(step: Observed) -> dict[str, Any]:
    """A step's outcome without what is empty, which is most of it."""
    plain = observed_to_wire(step)
    empty: dict[str, Any] = {"value": None, "raised": None, "changed": [], "notes": {}}
    return {key: item for key, item in plain.items() if item is not None and item != empty[key]}


def _harmless(spec: ExerciseSpec, case: Case) -> list[str]:
    """Misconceptions that do no harm in this case: the first stands for all of them.

    Which these are is the judge's to say and not a comparison of bits, so that the key does not
    change with the processor.
    """
    return [
        known.name
        for known in spec.mistakes
        if known.name in case.explanations
        and judge_case(spec, case, case.explanations[known.name]) is None
    ]
