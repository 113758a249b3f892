"""What is reported beside the values: changed arguments, large tensors, forbidden calls.

All of it is advisory: it is measured in the process that holds the student's code.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from autograder.observe.values import is_a, is_tensor

Changed = Callable[[], bool]
Note = Callable[[str], None]


def snapshot(argument: Any) -> Changed:
    """A function that tells later whether `argument` has been modified."""
    if is_a(argument, np.ndarray):
        return _snapshot_array(argument)
    if is_tensor(argument):
        return _snapshot_tensor(argument)
    if isinstance(argument, (list, tuple, dict)):
        return _snapshot_container(argument)
    return lambda: False


def _snapshot_array(array: Any) -> Changed:
    shape, dtype, before = array.shape, array.dtype, array.tobytes()
    return lambda: array.shape != shape or array.dtype != dtype or array.tobytes() != before


def _snapshot_tensor(tensor: Any) -> Changed:
    import torch

    def bits() -> bytes:
        plain = torch.Tensor.detach(tensor)
        try:
            found: bytes = plain.numpy().tobytes()
        except (TypeError, RuntimeError):  # NumPy has no bfloat16
            found = plain.reshape(-1).view(torch.uint8).numpy().tobytes()
        return found

    shape, dtype, before = tensor.shape, tensor.dtype, bits()
    return lambda: tensor.shape != shape or tensor.dtype != dtype or bits() != before


def _snapshot_container(container: Any) -> Changed:
    def pairs() -> list[tuple[Any, Any]]:
        if isinstance(container, dict):
            return list(container.items())
        return list(enumerate(container))

    before = pairs()
    inner = [snapshot(item) for _, item in before]

    def changed() -> bool:
        now = pairs()
        if len(now) != len(before):
            return True
        replaced = any(
            key != old_key or item is not old_item
            for (key, item), (old_key, old_item) in zip(now, before, strict=True)
        )
        return replaced or any(was_changed() for was_changed in inner)

    return changed


@contextlib.contextmanager
def largest_allocation(notes: dict[str, Any]) -> Iterator[None]:
    """Note the elements in the storage of the largest tensor made by any torch operation inside."""
    mode = _torch_modes().allocations()
    try:
        with mode:
            yield
    finally:
        notes["largest_allocation"] = mode.largest


# --- forbidden calls ---------------------------------------------------------------------


@contextlib.contextmanager
def forbidden_calls(
    names: Mapping[str, str], operators: bool, notes: dict[str, Any]
) -> Iterator[None]:
    """Note the first call inside of something in `names`, as what the name maps to.

    A name without a dot is that of a function of PyTorch, in whatever way it is reached;
    with `operators`, also of an operator that another function, or a graph compiled
    earlier, runs. Measured on attention of eleven calls that takes 100 µs: functions add 60 µs,
    operators 420 µs. A name with dots is a function of Python, a method of a built-in
    class or a module of another library; what C code calls is not seen (NumPy's ufuncs).
    """

    def note(told: str) -> None:
        notes.setdefault("forbidden", told)

    dotted = {name: told for name, told in names.items() if "." in name}
    of_torch = {name: told for name, told in names.items() if "." not in name}
    with contextlib.ExitStack() as stack:
        if of_torch:
            modes = _torch_modes()
            if operators:
                stack.enter_context(modes.operators(of_torch, note))
            stack.enter_context(modes.functions(of_torch, note))
        if dotted:
            stack.enter_context(_profiled(dotted, note))
        yield


@functools.cache
def _torch_modes() -> Any:
    """The classes that watch PyTorch; made when first needed, since torch may not be there."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    class Functions(TorchFunctionMode):  # type: ignore[misc]
        def __init__(self, names: Mapping[str, str], note: Note) -> None:
            super().__init__()
            self.names, self.note = names, note
            self.told: dict[Any, str | None] = {}  # by function, since most are called often

        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            try:
                told = self.told[function]
            except KeyError:
                # an operator's overload calls itself softmax.int
                name = getattr(function, "__name__", "").partition(".")[0]
                told = self.told[function] = self.names.get(name)
            if told is not None:
                self.note(told)
            return function(*args, **kwargs) if kwargs else function(*args)

    class Operators(TorchDispatchMode):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # PyTorch would import its compiler at the first call, for seconds

        def __init__(self, names: Mapping[str, str], note: Note) -> None:
            super().__init__()
            self.names, self.note = names, note

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            told = self.names.get(function.__name__.partition(".")[0])
            if told is not None:
                self.note(told)
            return function(*args, **(kwargs or {}))

    class Allocations(TorchDispatchMode):  # type: ignore[misc]
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            return False  # PyTorch would import its compiler at the first call, for seconds

        def __init__(self) -> None:
            super().__init__()
            self.largest = 0

        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            made = function(*args, **(kwargs or {}))
            for value in made if isinstance(made, (list, tuple)) else (made,):
                if isinstance(value, torch.Tensor):
                    size = value.untyped_storage().nbytes() // max(value.element_size(), 1)
                    self.largest = max(self.largest, size)
            return made

    return types.SimpleNamespace(functions=Functions, operators=Operators, allocations=Allocations)


@contextlib.contextmanager
def _profiled(names: Mapping[str, str], note: Note) -> Iterator[None]:
    """Watch for functions and modules that are no part of PyTorch, by the profiler's hook."""
    codes: dict[Any, str] = {}
    built_in: dict[int, str] = {}
    modules: dict[str, str] = {}
    for dotted, told in names.items():
        found = _found(dotted)
        if isinstance(found, types.ModuleType):
            modules[dotted] = told
        # NumPy wraps its functions; the code is that of what is wrapped
        for one in (found, getattr(found, "__wrapped__", None)):
            code = getattr(one, "__code__", None)
            if code is not None:
                codes[code] = told
            elif one is not None:
                built_in[id(one)] = told

    def look(frame: Any, event: str, called: Any) -> None:
        told = None
        if event == "call":
            told = codes.get(frame.f_code)
            if told is None and modules:
                told = _of_module(frame.f_globals.get("__name__"), modules)
        elif event == "c_call":
            owner = type(getattr(called, "__self__", None))
            method = f"{owner.__module__}.{owner.__name__}.{called.__name__}"
            told = built_in.get(id(called)) or names.get(method)
        if told is not None:
            note(told)

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(before)


def _found(dotted: str) -> Any:
    """The object of that name among the modules that are loaded; None where there is none."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        found: Any = sys.modules.get(".".join(parts[:count]))
        if found is not None:
            for part in parts[count:]:
                found = getattr(found, part, None)
            return found
    return None


def _of_module(name: Any, modules: Mapping[str, str]) -> str | None:
    if not isinstance(name, str):
        return None
    return next(
        (told for dotted, told in modules.items() if f"{name}.".startswith(f"{dotted}.")), None
    )
