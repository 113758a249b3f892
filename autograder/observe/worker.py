"""All of ours that runs beside student code: execute statements, run programs, reply.

Everything here can be read and patched by the submission, so nothing here is secret and
nothing here decides: it holds no expected value, no seed of the run and no verdict. What
it reports beyond values (`changed`, `notes`) is advisory.

It imports the standard library and NumPy; torch and matplotlib only where a program needs
them; and of ours only the modules named in `BESIDE`, which is all that the zygote loads.
"""

from __future__ import annotations

import contextlib
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from autograder.observe import drawing, modules, protocol, tracing, watching
from autograder.observe.answered import Ask, answered
from autograder.observe.loading import FUTURE_FLAGS, MARKER, compiled, load
from autograder.observe.protocol import DEFAULT_BODY_LIMIT, Frame
from autograder.observe.stand_ins import install_stand_ins
from autograder.observe.values import (
    SPECIAL,
    Budget,
    Missing,
    describe,
    describe_exception,
    make_argument,
    type_name,
)

# Modules of ours that may stand in a process with student code, in loading order.
BESIDE = (
    "protocol",
    "values",
    "watching",
    "tracing",
    "drawing",
    "modules",
    "stand_ins",
    "answered",
    "loading",
    "worker",
)

# --- running ---------------------------------------------------------------------------


@dataclass
class _Scene:
    """What the steps of one program share."""

    namespace: dict[str, Any]
    double: bool
    budget: Budget
    forbidden: Mapping[str, str]  # what calls are watched for
    operators: bool
    trace: bool = False
    module: str | None = None  # of live objects, whose code we did not compile
    notes: dict[str, Any] = field(default_factory=dict)  # of the step that is carried out
    slots: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict)  # of calls, by slot
    places: dict[str, dict[str, modules.Place]] = field(default_factory=dict)  # by slot

    def made(self, plain: Any) -> Any:
        """An argument from its plain form."""
        return make_argument(plain, self.slots, self.double)

    def target(self, plain: Any) -> Any:
        """What is to be called: the object in a slot, or a name of the submission."""
        if isinstance(plain, dict):
            return self.made(plain)
        if plain not in self.namespace:
            raise Missing(f"{plain} is not defined")
        return self.namespace[plain]


def run(
    program: dict[str, Any],
    namespace: dict[str, Any],
    ask: Ask | None = None,
    limit: int = DEFAULT_BODY_LIMIT,
    *,
    live: bool = False,
    keep_random: bool = True,
    slots: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """Run a program; the outcome of each step in plain form, ending at the first that raises.

    limit: bytes that all results together may take. live: the namespace is that of a running
    notebook or module, whose code we did not compile; there a KeyboardInterrupt is somebody's
    wish to stop, and passes through. keep_random: when live, the global generators are left as
    they were. slots: what earlier programs have stored; more is added.
    """
    originals = {name: namespace[name] for name in program["answered"] if name in namespace}
    for name in program["answered"]:
        namespace[name] = answered(name, ask)
    state = random_state() if live and keep_random else None
    _seed_everything(program["seed"])
    figures = drawing.open_figures()
    scene = _Scene(
        namespace,
        program["double"],
        Budget(limit),
        program.get("forbidden", {}),
        program.get("operators", False),
        program.get("trace", False),
        namespace.get("__name__") if live else None,
        slots={} if slots is None else slots,
    )
    outcomes: list[dict[str, Any]] = []
    try:
        with np.errstate(all="ignore"), _Precision(program["double"]):
            for step in program["steps"]:
                scene.notes = {}
                try:
                    outcomes.append(_STEPS[step["do"]](step, scene))
                except BaseException as error:
                    if live and type(error) is KeyboardInterrupt:
                        raise
                    module = namespace.get("__name__") if live else None
                    raised = describe_exception(error, MARKER, module)
                    outcomes.append({"raised": raised, "notes": scene.notes})
                    break
    finally:
        for name in program["answered"]:
            namespace.pop(name, None)
        namespace.update(originals)
        drawing.close_figures(figures)
        if state is not None:
            restore_random_state(state)
    return outcomes


def _call(step: dict[str, Any], scene: _Scene) -> dict[str, Any]:
    function = scene.target(step["target"])
    args = [scene.made(item) for item in step["args"]]
    kwargs = {key: scene.made(item) for key, item in step["kwargs"].items()}
    names = list(step["names"][: len(args)])
    names += [f"argument {number + 1}" for number in range(len(names), len(args))]
    named = {**dict(zip(names, args, strict=True)), **kwargs}
    watched = named if "arguments" in step["watch"] else {}
    before = {name: watching.snapshot(value) for name, value in watched.items()}
    with contextlib.ExitStack() as stack:
        if "allocation" in step["watch"]:
            stack.enter_context(watching.largest_allocation(scene.notes))
        if scene.forbidden:
            watch = watching.forbidden_calls(scene.forbidden, scene.operators, scene.notes)
            stack.enter_context(watch)
        if scene.trace:
            stack.enter_context(tracing.traced(scene.notes, MARKER, scene.module))
        result = function(*args, **kwargs)
    if step["slot"] is not None:
        slot = step["slot"]
        scene.slots[slot] = result
        scene.slots.update({f"{slot}.{name}": value for name, value in named.items()})
        scene.arguments[slot] = named
    changed = [name for name, was_changed in before.items() if was_changed()]
    return {"value": describe(result, scene.budget), "changed": changed, "notes": scene.notes}


def _construct(step: dict[str, Any], scene: _Scene) -> dict[str, Any]:
    target = scene.target(step["target"])
    args = [scene.made(item) for item in step["args"]]
    kwargs = {key: scene.made(item) for key, item in step["kwargs"].items()}
    scene.slots[step["slot"]] = made = target(*args, **kwargs)
    return {"value": protocol.Opaque(type_name(made))}


def _load_weights(step: dict[str, Any], scene: _Scene) -> dict[str, Any]:
    weights = {name: scene.made(item) for name, item in step["weights"].items()}
    slot = step["slot"]
    scene.places[slot] = modules.load_weights(scene.slots[slot], weights)
    return {"value": None}


def _mode(step: dict[str, Any], scene: _Scene) -> dict[str, Any]:
    modules.expect_module(scene.slots[step["slot"]]).train(step["training"])
    return {"value": None}


def _backward(step: dict[str, Any], scene: _Scene) -> dict[str, Any]:
    slot, name = step["slot"], step["module"]
    result = scene.slots[slot]
    if step["item"] is not None:
        result = result[step["item"]]
    module = None if name is None else scene.slots[name]
    places = None if name is None else scene.places.get(name)
    arguments: Mapping[str, Any] = scene.arguments.get(slot, {})
    found = modules.gradients(result, arguments, module, places, step["seed"])
    return {"value": describe(found, scene.budget)}


def _describe_module(step: dict[str, Any], scene: _Scene) -> dict[str, Any]:
    found = modules.parameters(scene.slots[step["slot"]], step["values"])
    return {"value": describe(found, scene.budget)}


def _read_axes(step: dict[str, Any], scene: _Scene) -> dict[str, Any]:
    return {"value": describe(drawing.read_axes(scene.slots[step["slot"]]), scene.budget)}


_STEPS: dict[str, Callable[[dict[str, Any], _Scene], dict[str, Any]]] = {
    "call": _call,
    "construct": _construct,
    "load_weights": _load_weights,
    "mode": _mode,
    "backward": _backward,
    "describe_module": _describe_module,
    "read_axes": _read_axes,
}


def _seed_everything(seed: int) -> None:
    """Seed the global generators of this process: children of a zygote inherit one state."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "default_generator"):
        torch.default_generator.manual_seed(seed)  # manual_seed takes 300 times as long for it


def random_state() -> dict[str, Any]:
    """The states of the global generators, to be put back; takes a fifth of a millisecond."""
    state: dict[str, Any] = {"random": random.getstate(), "numpy": np.random.get_state()}
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "get_rng_state"):
        state["torch"] = torch.get_rng_state()
    return state


def restore_random_state(state: dict[str, Any]) -> None:
    """Put the global generators back, each of which was there then."""
    random.setstate(state["random"])
    np.random.set_state(state["numpy"])
    if "torch" in state:
        sys.modules["torch"].set_rng_state(state["torch"])


class _Precision:
    """Modules that a reference builds hold float64 weights while `double` is on."""

    def __init__(self, double: bool) -> None:
        self.torch = sys.modules.get("torch") if double else None

    def __enter__(self) -> None:
        if self.torch is not None:
            self.before = self.torch.get_default_dtype()
            self.torch.set_default_dtype(self.torch.float64)

    def __exit__(self, *details: Any) -> None:
        if self.torch is not None:
            self.torch.set_default_dtype(self.before)


# --- trying ----------------------------------------------------------------------------


def try_each(request: dict[str, Any], namespace: dict[str, Any]) -> list[dict[str, Any] | None]:
    """Several variants of some statements, one after another: each executed, the program run.

    For each its outcomes, or what executing it raised; None for those that were not reached
    within `seconds` of processor time. What the program `before` stores, an object with weights
    say, is made once for all. `restore` is executed at the end, and the last entry tells the
    processor time of this process so far.
    """
    results: list[dict[str, Any] | None] = []
    ends = time.process_time() + request["seconds"]
    slots: dict[str, Any] = {}
    if request["before"] is not None:
        run(request["before"], namespace, slots=slots)
    for statements in request["trials"]:
        late = time.process_time() > ends
        results.append(None if late else _trial(statements, request, namespace, slots))
    load(request["restore"], namespace, ())
    return [*results, {"seconds": time.process_time()}]


def _trial(
    statements: Sequence[dict[str, Any]],
    request: dict[str, Any],
    namespace: dict[str, Any],
    slots: Mapping[str, Any],
) -> dict[str, Any]:
    flags = FUTURE_FLAGS & request["flags"]
    limit = DEFAULT_BODY_LIMIT // (2 * len(request["trials"]))
    try:
        for statement in statements:
            exec(compiled(statement, flags), namespace)
        for made in slots.values():  # an object becomes one of its class's variant
            variant = namespace.get(type_name(made))
            if isinstance(variant, type):
                made.__class__ = variant
    except BaseException as error:
        return {"raised": describe_exception(error, MARKER)}
    return {"outcomes": run(request["program"], namespace, limit=limit, slots=dict(slots))}


# --- serving ---------------------------------------------------------------------------


def serve(
    read: Callable[[int], bytes],
    write: Callable[[bytes], None],
    programs: Sequence[dict[str, Any]] = (),
) -> None:
    """Answer requests until the channel closes. `read(n)` gives n bytes or raises EOFError.

    programs: those that this process holds; a request may give the number of one.
    """
    namespace: dict[str, Any] = {"__name__": "submission", "__builtins__": __builtins__}
    while True:
        try:
            frame = protocol.read_frame(read, limit=1 << 34)
        except EOFError:
            return
        request = protocol.decode(frame.body)
        if frame.kind == protocol.LOAD:
            stand_ins = request["options"].get("stand_ins", ())
            failures = load(request["statements"], namespace, stand_ins)
            _reply(write, frame, protocol.LOADED, failures)
        elif frame.kind == protocol.RUN:
            program = programs[request] if type(request) is int else request
            ask = _asking(frame, read, write)
            _reply(write, frame, protocol.OBSERVED, run(program, namespace, ask))
        elif frame.kind == protocol.TRY:
            _reply(write, frame, protocol.TRIED, try_each(request, namespace))


def _reply(write: Callable[[bytes], None], frame: Frame, kind: int, value: Any) -> None:
    try:
        body = protocol.encode(value)
    except (TypeError, ValueError, MemoryError) as fault:
        kind, body = protocol.REFUSED, protocol.encode(str(fault))
    write(protocol.pack_frame(kind, frame.nonce, body))


def _asking(frame: Frame, read: Callable[[int], bytes], write: Callable[[bytes], None]) -> Ask:
    """A function that puts a call to the grader and waits for its answer."""

    def ask(question: dict[str, Any]) -> Any:
        write(protocol.pack_frame(protocol.ASK, frame.nonce, protocol.encode(question)))
        answer = protocol.decode(protocol.read_frame(read, limit=1 << 34).body)
        if "refused" in answer:
            raise RuntimeError(answer["refused"])
        return answer["value"]

    return ask


__all__ = ["BESIDE", "MARKER", "SPECIAL", "install_stand_ins", "load", "run", "serve", "try_each"]
