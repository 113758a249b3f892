"""Programs and observations in the plain form that crosses the protocol, and back.

The plain form holds maps, lists, numbers, texts and `Array`s only. It is also what the
self-check key stores, so both directions live here, side by side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.observe.protocol import Array, ProtocolError, array_from_numpy
from autograder.observe.values import SPECIAL
from autograder.program import (
    Backward,
    Call,
    Construct,
    DescribeModule,
    Generator,
    LoadWeights,
    Mode,
    Observed,
    Probe,
    Program,
    Raised,
    ReadAxes,
    Slot,
    Step,
)


def program_to_wire(program: Program) -> dict[str, Any]:
    """A program in its plain form."""
    wire = {
        "steps": [_step_to_wire(step) for step in program.steps],
        "answered": list(program.answered),
        "seed": program.seed,
        "double": program.double,
    }
    if program.forbidden:
        wire["forbidden"] = dict(program.forbidden)
        wire["operators"] = program.operators
    if program.trace:
        wire["trace"] = True
    return wire


def program_from_wire(wire: Mapping[str, Any]) -> Program:
    """The program that `program_to_wire` made this of (tensors stay `Array`s)."""
    return Program(
        steps=tuple(_step_from_wire(step) for step in wire["steps"]),
        answered=tuple(wire["answered"]),
        seed=wire["seed"],
        double=wire["double"],
        forbidden=wire.get("forbidden", {}),
        operators=wire.get("operators", False),
        trace=wire.get("trace", False),
    )


def in_double(program: Program) -> Program:
    """The same program with every floating array widened to float64."""
    return replace(program, steps=tuple(_widen_step(step) for step in program.steps), double=True)


def to_wire(value: Any) -> Any:
    """An argument in its plain form; TypeError for what the vocabulary does not have."""
    # NumPy scalars first: np.float64 is a float, but not one that the protocol carries
    if isinstance(value, np.generic):
        return to_wire(value.item())
    if isinstance(value, np.ndarray):
        return array_from_numpy(np.asarray(value))
    if value is None or type(value) in (bool, int, float, str, Array):
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise TypeError(f"a case cannot hand over {value}: whole numbers have 64 bits at most")
        return value
    if isinstance(value, Generator):
        return {SPECIAL: "generator", "seed": value.seed, "framework": value.framework}
    if isinstance(value, Probe):
        call = None if value.call is None else [to_wire(item) for item in value.call]
        return {SPECIAL: "probe", "source": value.source, "name": value.name, "call": call}
    if isinstance(value, Slot):
        return {SPECIAL: "slot", "name": value.name, "item": value.item}
    if isinstance(value, list):
        return [to_wire(item) for item in value]
    if isinstance(value, tuple):
        return tuple(to_wire(item) for item in value)
    if isinstance(value, Mapping):
        return _mapping_to_wire(value)
    if type(value).__module__.split(".")[0] == "torch":
        return _tensor_to_wire(value)
    raise TypeError(
        f"a case cannot hand over a {type(value).__name__}: use arrays, numbers, strings, "
        "None, lists, Generator, Probe or Slot"
    )


def _mapping_to_wire(value: Mapping[Any, Any]) -> dict[str, Any]:
    if value.get(SPECIAL) == "dtype":  # one that came over the wire
        return dict(value)
    if SPECIAL in value or not all(type(key) is str for key in value):
        raise TypeError(f"a case cannot hand over a dictionary with keys {list(value)!r:.80}")
    return {key: to_wire(item) for key, item in value.items()}


def _tensor_to_wire(value: Any) -> Any:
    import torch  # only a case that made a tensor comes here

    if isinstance(value, torch.dtype):
        return {SPECIAL: "dtype", "name": str(value).removeprefix("torch.")}
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"a case cannot hand over a {type(value).__name__}")
    grad = bool(value.requires_grad)
    plain = value.detach().cpu()
    if plain.dtype == torch.bfloat16:
        wide = plain.to(torch.float32).numpy()
        return Array("bfloat16", tuple(wide.shape), wide, "torch", grad)
    return array_from_numpy(plain.numpy(), "torch", grad)


def _step_to_wire(step: Step) -> dict[str, Any]:
    match step:
        case Call():
            return {
                "do": "call",
                "target": to_wire(step.target),
                "args": [to_wire(item) for item in step.args],
                "kwargs": {key: to_wire(item) for key, item in step.kwargs.items()},
                "names": list(step.argument_names),
                "slot": step.slot,
                "watch": list(step.watch),
            }
        case Construct():
            return {
                "do": "construct",
                "target": step.target,
                "slot": step.slot,
                "args": [to_wire(item) for item in step.args],
                "kwargs": {key: to_wire(item) for key, item in step.kwargs.items()},
            }
        case LoadWeights():
            weights = {key: to_wire(item) for key, item in step.weights.items()}
            return {"do": "load_weights", "slot": step.slot, "weights": weights}
        case Mode():
            return {"do": "mode", "slot": step.slot, "training": step.training}
        case Backward():
            wire = {"do": "backward", "slot": step.slot, "seed": step.seed}
            return {**wire, "module": step.module, "item": step.item}
        case DescribeModule():
            return {"do": "describe_module", "slot": step.slot, "values": step.values}
        case ReadAxes():
            return {"do": "read_axes", "slot": step.slot}


def _widen_step(step: Step) -> Step:
    match step:
        case Call() | Construct():
            kwargs = {key: _widen(item) for key, item in step.kwargs.items()}
            return replace(step, args=tuple(_widen(item) for item in step.args), kwargs=kwargs)
        case LoadWeights():
            return replace(step, weights={key: _widen(v) for key, v in step.weights.items()})
        case _:
            return step


def _widen(value: Any) -> Any:
    plain = to_wire(value)
    if isinstance(plain, Array):
        if plain.dtype in ("float16", "bfloat16", "float32") and plain.data is not None:
            return replace(plain, dtype="float64", data=plain.data.astype(np.float64))
        return plain
    if isinstance(value, list):
        return [_widen(item) for item in value]
    if isinstance(value, tuple):
        return tuple(_widen(item) for item in value)
    if isinstance(value, Probe) and value.call is not None:
        return replace(value, call=_widen(value.call))
    if isinstance(value, Mapping):
        return {key: _widen(item) for key, item in value.items()}
    return value


def _step_from_wire(wire: Mapping[str, Any]) -> Step:
    fields = {key: value for key, value in wire.items() if key != "do"}
    match wire["do"]:
        case "call":
            return Call(
                target=from_wire(fields["target"]),
                args=tuple(from_wire(item) for item in fields["args"]),
                kwargs={key: from_wire(item) for key, item in fields["kwargs"].items()},
                argument_names=tuple(fields["names"]),
                slot=fields["slot"],
                watch=tuple(fields["watch"]),
            )
        case "construct":
            kwargs = {key: from_wire(item) for key, item in fields["kwargs"].items()}
            args = tuple(from_wire(item) for item in fields["args"])
            return Construct(fields["target"], fields["slot"], args, kwargs)
        case "load_weights":
            return LoadWeights(**fields)
        case "mode":
            return Mode(**fields)
        case "backward":
            return Backward(**fields)
        case "describe_module":
            return DescribeModule(**fields)
        case "read_axes":
            return ReadAxes(**fields)
        case other:
            raise ValueError(f"no step is called {other!r}")


def from_wire(value: Any) -> Any:
    """An argument back from its plain form; arrays stay `Array`s."""
    if isinstance(value, list):
        return [from_wire(item) for item in value]
    if isinstance(value, tuple):
        return tuple(from_wire(item) for item in value)
    if not isinstance(value, dict):
        return value
    match value.get(SPECIAL):
        case "generator":
            return Generator(value["seed"], value["framework"])
        case "probe":
            call = value["call"]
            return Probe(
                value["source"],
                value["name"],
                None if call is None else tuple(from_wire(item) for item in call),
            )
        case "slot":
            return Slot(value["name"], value["item"])
        case "dtype":
            return value  # only a torch process can make a dtype of it
        case _:
            return {key: from_wire(item) for key, item in value.items()}


def observed_to_wire(observed: Observed) -> dict[str, Any]:
    """One step's outcome in its plain form."""
    raised = observed.raised
    return {
        "value": observed.value,
        "raised": None
        if raised is None
        else {
            "type": raised.type_name,
            "bases": list(raised.bases),
            "message": raised.message,
            "line": raised.line,
            "cell": raised.cell,
            "function": raised.function,
        },
        "changed": list(observed.changed),
        "notes": dict(observed.notes),
    }


def observed_from_wire(wire: Any) -> tuple[Observed, ...]:
    """Every step's outcome, in order; ProtocolError when it is not of the known form."""
    if not isinstance(wire, (list, tuple)):
        raise ProtocolError("a list of observations was expected")
    try:
        return tuple(_one_observed(item) for item in wire)
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise ProtocolError(f"an observation of an unknown form: {fault}") from None


def _one_observed(wire: Mapping[str, Any]) -> Observed:
    raised = wire.get("raised")
    return Observed(
        value=wire.get("value"),
        raised=None if raised is None else raised_from_wire(raised),
        changed=_texts(wire.get("changed", [])),
        notes=dict(wire.get("notes", {})),
    )


def raised_from_wire(wire: Mapping[str, Any]) -> Raised:
    """An exception from its plain form; KeyError or TypeError when it is none."""
    type_name, message = _texts([wire["type"], wire["message"]])
    line, cell, function = wire.get("line"), wire.get("cell"), wire.get("function")
    return Raised(
        type_name=type_name,
        bases=_texts(wire["bases"]),
        message=message,
        line=line if type(line) is int and line > 0 else None,
        cell=cell if isinstance(cell, str) else None,
        function=function if isinstance(function, str) else None,
    )


def _texts(values: Any) -> tuple[str, ...]:
    """A list of texts; TypeError for anything else."""
    if not isinstance(values, (list, tuple)) or not all(isinstance(v, str) for v in values):
        raise TypeError("texts were expected")
    return tuple(values)
