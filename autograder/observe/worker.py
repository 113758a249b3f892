"""All of ours that runs beside student code: execute statements, run programs, reply.

Everything here can be read and patched by the submission, so nothing here is secret and
nothing here decides: it holds no expected value, no seed of the run and no verdict. What
it reports beyond values (`changed`, `notes`) is advisory.

It imports the standard library and NumPy; torch and matplotlib only where a program needs
them; and of ours only the modules named in `BESIDE`, which is all that the zygote loads.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import random
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autograder.observe import drawing, modules, protocol
from autograder.observe.protocol import DEFAULT_BODY_LIMIT, Frame
from autograder.observe.values import (
    SPECIAL,
    Missing,
    describe,
    describe_exception,
    make_argument,
    snapshot,
    type_name,
)

# Modules of ours that may stand in a process with student code, in loading order.
BESIDE = ("protocol", "values", "drawing", "modules", "worker")

# Compiled student code is named with this, so that its frames are found in tracebacks.
MARKER = "submission: "

Ask = Callable[[str, Sequence[Any]], Any]


# --- loading ---------------------------------------------------------------------------


def load(
    statements: Sequence[dict[str, Any]], namespace: dict[str, Any], stand_ins: Sequence[str]
) -> list[dict[str, Any] | None]:
    """Execute statements one by one; for each None, or what it raised.

    A statement that fails costs what it would have bound, and nothing else; unless it is
    marked `stops_cell`, as in a kernel, where the rest of its cell is not executed.
    """
    install_stand_ins(stand_ins)
    outcomes: list[dict[str, Any] | None] = []
    stopped: str | None = None
    for statement in statements:
        if stopped is not None and statement["cell"] == stopped:
            outcomes.append(None)
            continue
        try:
            # blank lines first, so that line numbers are those of the student's cell
            source = "\n" * (statement["line"] - 1) + statement["source"]
            code = compile(source, MARKER + statement["cell"], "exec", dont_inherit=True)
            exec(code, namespace)
            outcomes.append(None)
        except BaseException as error:  # SystemExit too: the next statement still counts
            outcomes.append(describe_exception(error, MARKER))
            stopped = statement["cell"] if statement.get("stops_cell") else None
    return outcomes


class Inert:
    """Stands in for a plotting or notebook library: whatever is done to it does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __iter__(self) -> Any:
        return iter((self, self))  # `figure, axes = plt.subplots()`

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *details: Any) -> None:
        return None


class _InertModule(types.ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []  # so that modules inside it are looked for
        self.__all__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Inert()


class _StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of the named packages and of everything inside them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if any(fullname == name or fullname.startswith(name + ".") for name in self.names):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        return _InertModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        return None


def install_stand_ins(names: Sequence[str]) -> None:
    """Make the named packages inert, here and for all that is imported later.

    Modules of ours are taken out of sys.modules too: a submission that imports
    `autograder` gets the stand-in. (This process keeps working: it has its references.)
    """
    if not names:
        return
    for loaded in list(sys.modules):
        if any(loaded == name or loaded.startswith(name + ".") for name in names):
            del sys.modules[loaded]
    sys.meta_path.insert(0, _StandInFinder(names))


# --- running ---------------------------------------------------------------------------


def run(
    program: dict[str, Any],
    namespace: dict[str, Any],
    ask: Ask | None = None,
    limit: int = DEFAULT_BODY_LIMIT,
) -> list[dict[str, Any]]:
    """Run a program; the outcome of each step in plain form, ending at the first that raises."""
    originals = _answer_instead(program["answered"], namespace, ask)
    state = _seed_everything(program["seed"])
    slots: dict[str, Any] = {}
    outcomes: list[dict[str, Any]] = []
    try:
        with np.errstate(all="ignore"), _Precision(program["double"]):
            for step in program["steps"]:
                try:
                    outcome = _STEPS[step["do"]](step, namespace, slots, program["double"], limit)
                except BaseException as error:
                    outcomes.append({"raised": describe_exception(error, MARKER)})
                    break
                outcomes.append(outcome)
    finally:
        for name in program["answered"]:
            namespace.pop(name, None)
        namespace.update(originals)
        _restore(state)
    return outcomes


def _look_up(target: Any, namespace: dict[str, Any], slots: dict[str, Any]) -> Any:
    if isinstance(target, dict):
        return make_argument(target, slots, False)
    if target not in namespace:
        raise Missing(f"{target} is not defined")
    return namespace[target]


def _call(
    step: dict[str, Any], namespace: dict[str, Any], slots: dict[str, Any], double: bool, limit: int
) -> dict[str, Any]:
    function = _look_up(step["target"], namespace, slots)
    args = [make_argument(item, slots, double) for item in step["args"]]
    kwargs = {key: make_argument(item, slots, double) for key, item in step["kwargs"].items()}
    names = [*step["names"][: len(args)], *kwargs]
    watched = list(zip(names, [*args, *kwargs.values()], strict=False))
    before = [(name, snapshot(value)) for name, value in watched]
    notes: dict[str, Any] = {}
    if "allocation" in step["watch"]:
        with modules.largest_allocation() as largest:
            result = function(*args, **kwargs)
        notes["largest_allocation"] = largest[0]
    else:
        result = function(*args, **kwargs)
    if step["slot"] is not None:
        slots[step["slot"]] = result
        slots[step["slot"] + ".arguments"] = dict(watched)
    described = describe(result, limit)
    changed = [name for name, was_changed in before if was_changed()]
    return {"value": described, "changed": changed, "notes": notes}


def _construct(
    step: dict[str, Any], namespace: dict[str, Any], slots: dict[str, Any], double: bool, limit: int
) -> dict[str, Any]:
    args = [make_argument(item, slots, double) for item in step["args"]]
    kwargs = {key: make_argument(item, slots, double) for key, item in step["kwargs"].items()}
    slots[step["slot"]] = made = _look_up(step["target"], namespace, slots)(*args, **kwargs)
    return {"value": protocol.Opaque(type_name(made))}


def _load_weights(
    step: dict[str, Any], namespace: dict[str, Any], slots: dict[str, Any], double: bool, limit: int
) -> dict[str, Any]:
    weights = {name: make_argument(item, slots, double) for name, item in step["weights"].items()}
    modules.load_weights(slots[step["slot"]], weights)
    return {"value": None}


def _mode(
    step: dict[str, Any], namespace: dict[str, Any], slots: dict[str, Any], double: bool, limit: int
) -> dict[str, Any]:
    slots[step["slot"]].train(step["training"])
    return {"value": None}


def _backward(
    step: dict[str, Any], namespace: dict[str, Any], slots: dict[str, Any], double: bool, limit: int
) -> dict[str, Any]:
    arguments = slots.get(step["slot"] + ".arguments", {})
    module = None if step["module"] is None else slots[step["module"]]
    found = modules.gradients(slots[step["slot"]], arguments, module, step["seed"])
    return {"value": describe(found, limit)}


def _describe_module(
    step: dict[str, Any], namespace: dict[str, Any], slots: dict[str, Any], double: bool, limit: int
) -> dict[str, Any]:
    return {"value": describe(modules.parameters(slots[step["slot"]], step["values"]), limit)}


def _read_axes(
    step: dict[str, Any], namespace: dict[str, Any], slots: dict[str, Any], double: bool, limit: int
) -> dict[str, Any]:
    return {"value": describe(drawing.read_axes(slots[step["slot"]]), limit)}


_STEPS: dict[str, Callable[..., dict[str, Any]]] = {
    "call": _call,
    "construct": _construct,
    "load_weights": _load_weights,
    "mode": _mode,
    "backward": _backward,
    "describe_module": _describe_module,
    "read_axes": _read_axes,
}


def _answer_instead(
    names: Sequence[str], namespace: dict[str, Any], ask: Ask | None
) -> dict[str, Any]:
    """Put functions that ask the grader where the student's own stood; return the originals."""
    originals = {name: namespace[name] for name in names if name in namespace}
    for name in names:

        def answered(*args: Any, _name: str = name) -> Any:
            if ask is None:
                raise RuntimeError(f"nobody answers for {_name} here")
            return make_argument(ask(_name, [describe(item) for item in args]), {}, False)

        answered.__name__ = name
        namespace[name] = answered
    return originals


def _seed_everything(seed: int) -> dict[str, Any]:
    """Seed the global generators of this process; returns the states to put back."""
    state: dict[str, Any] = {"random": random.getstate(), "numpy": np.random.get_state()}
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None and hasattr(torch, "manual_seed"):
        state["torch"] = torch.get_rng_state()
        torch.manual_seed(seed)
    return state


def _restore(state: dict[str, Any]) -> None:
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


# --- serving ---------------------------------------------------------------------------


def serve(read: Callable[[int], bytes], write: Callable[[bytes], None]) -> None:
    """Answer requests until the channel closes. `read(n)` gives n bytes or raises EOFError."""
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
            ask = _asking(frame, read, write)
            _reply(write, frame, protocol.OBSERVED, run(request, namespace, ask))


def _reply(write: Callable[[bytes], None], frame: Frame, kind: int, value: Any) -> None:
    try:
        body = protocol.encode(value)
    except (TypeError, ValueError, MemoryError) as fault:
        kind, body = protocol.REFUSED, protocol.encode(str(fault))
    write(protocol.pack_frame(kind, frame.nonce, body))


def _asking(frame: Frame, read: Callable[[int], bytes], write: Callable[[bytes], None]) -> Ask:
    """A function that puts a call to the grader and waits for its answer."""

    def ask(name: str, args: Sequence[Any]) -> Any:
        body = protocol.encode({"name": name, "args": list(args)})
        write(protocol.pack_frame(protocol.ASK, frame.nonce, body))
        answer = protocol.decode(protocol.read_frame(read, limit=1 << 34).body)
        if "refused" in answer:
            raise RuntimeError(answer["refused"])
        return answer["value"]

    return ask


__all__ = ["BESIDE", "MARKER", "SPECIAL", "install_stand_ins", "load", "run", "serve"]
