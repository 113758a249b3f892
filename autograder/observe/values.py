"""Arguments made from the plain form, and results described in it, beside student code.

Results are described by what they are, never by what they say they are: a subclass of
ndarray with methods of its own is read as the plain array underneath, and an object of
any other class crosses as the name of its type.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from autograder.observe.protocol import (
    DEFAULT_BODY_LIMIT,
    MAX_DEPTH,
    Array,
    Opaque,
    array_from_numpy,
)

SPECIAL = "$"
MAX_ITEMS = 4096  # of one list or tuple; numbers in nested lists travel as one array
MAX_MESSAGE = 2000
NOT_AN_ARRAY = object()


class Missing(Exception):
    """The submission does not define a name that was asked for."""


# --- arguments -------------------------------------------------------------------------


def make_argument(plain: Any, slots: dict[str, Any], double: bool) -> Any:
    """What the student's code is handed for one argument in plain form."""
    if isinstance(plain, Array):
        return make_array(plain)
    if isinstance(plain, list):
        return [make_argument(item, slots, double) for item in plain]
    if isinstance(plain, tuple):
        return tuple(make_argument(item, slots, double) for item in plain)
    if not isinstance(plain, dict):
        return plain
    match plain.get(SPECIAL):
        case "generator":
            return _make_generator(plain["seed"], plain["framework"])
        case "probe":
            return _make_probe(plain, slots, double)
        case "slot":
            kept = slots[plain["name"]]
            return kept if plain["item"] is None else kept[plain["item"]]
        case "dtype":
            import torch

            return torch.float64 if double else getattr(torch, plain["name"])
        case _:
            return {key: make_argument(item, slots, double) for key, item in plain.items()}


def make_array(plain: Array) -> Any:
    """A fresh, writable array or tensor of the described dtype."""
    if plain.data is None:
        raise TypeError("an argument array came without its data")
    # native byte order and memory of its own: the student may do with it what they like
    data = np.array(plain.data, dtype=plain.data.dtype.newbyteorder("="), order="C")
    if plain.framework != "torch":
        return data
    import torch

    tensor = torch.from_numpy(data)
    if plain.dtype == "bfloat16":
        tensor = tensor.to(torch.bfloat16)
    return tensor.requires_grad_(plain.requires_grad)


def _make_generator(seed: int, framework: str) -> Any:
    if framework == "torch":
        import torch

        return torch.Generator().manual_seed(seed)
    return np.random.default_rng(seed)


def _make_probe(plain: dict[str, Any], slots: dict[str, Any], double: bool) -> Any:
    namespace: dict[str, Any] = {"__name__": "probe"}
    exec(compile(plain["source"], "<probe>", "exec"), namespace)
    made = namespace[plain["name"]]
    if plain["call"] is None:
        return made
    return made(*(make_argument(item, slots, double) for item in plain["call"]))


# --- results ---------------------------------------------------------------------------


def describe(value: Any, limit: int = DEFAULT_BODY_LIMIT, depth: int = 0) -> Any:
    """A result in plain form. Arrays above `limit` bytes cross as their shape alone."""
    kind = type(value)
    if value is None or kind in (bool, int, float):
        return value
    if kind is str:
        return value[:MAX_MESSAGE]
    if isinstance(value, (np.ndarray, np.generic)):
        return _describe_numpy(value, limit)
    if _is_tensor(value):
        return _describe_tensor(value, limit)
    if depth >= MAX_DEPTH:
        return Opaque("something nested too deeply")
    if isinstance(value, (list, tuple)):
        return _describe_sequence(value, limit, depth)
    if kind is dict and len(value) <= MAX_ITEMS and all(type(key) is str for key in value):
        return {key: describe(item, limit, depth + 1) for key, item in value.items()}
    for base in (int, float, str):  # a subclass is read as what it is underneath
        if isinstance(value, base):
            return describe(base.__new__(base, value), limit, depth)  # type: ignore[type-var]
    return Opaque(type_name(value))


def _describe_numpy(value: Any, limit: int) -> Any:
    plain = np.asarray(value).view(np.ndarray)
    size = plain.size * plain.itemsize  # of a broadcast view too, which owns far less
    try:
        if size > limit:
            return Array(plain.dtype.name, tuple(plain.shape), None)
        return array_from_numpy(plain.copy())
    except TypeError:
        return Opaque(f"NumPy array of dtype {plain.dtype.name}")


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    tensor = getattr(torch, "Tensor", None)
    return isinstance(tensor, type) and isinstance(value, tensor)


def _describe_tensor(value: Any, limit: int) -> Any:
    import torch

    plain = value.detach()
    grad = bool(value.requires_grad)
    name = str(plain.dtype).removeprefix("torch.")
    shape = tuple(int(size) for size in plain.shape)
    try:
        if plain.numel() * plain.element_size() > limit:
            return Array(name, shape, None, "torch", grad)
        plain = plain.cpu().resolve_conj().resolve_neg()
        if plain.dtype == torch.bfloat16:
            return Array(name, shape, plain.to(torch.float32).numpy().copy(), "torch", grad)
        return array_from_numpy(plain.numpy().copy(), "torch", grad)
    except (TypeError, RuntimeError, KeyError):
        return Opaque(f"tensor of dtype {name}")


def _describe_sequence(value: Any, limit: int, depth: int) -> Any:
    items = list(value)
    # a tuple that a function returns is several values, also when they are all numbers
    several = depth == 0 and isinstance(value, tuple)
    numbers = NOT_AN_ARRAY if several else _numbers(items)
    if numbers is not NOT_AN_ARRAY:
        described = _describe_numpy(numbers, limit)
        if isinstance(described, Array):
            return Array(described.dtype, described.shape, described.data, "list")
    if len(items) > MAX_ITEMS:
        return Opaque(f"{type_name(value)} of {len(items)} items")
    return [describe(item, limit, depth + 1) for item in items]


def _numbers(items: list[Any]) -> Any:
    """Nested lists of plain numbers as one array, or NOT_AN_ARRAY."""
    if not items or not _only_numbers(items, 0):
        return NOT_AN_ARRAY
    try:
        array = np.asarray(items)
    except (ValueError, TypeError, OverflowError):  # ragged
        return NOT_AN_ARRAY
    return array if array.dtype.kind in "biuf" else NOT_AN_ARRAY


def _only_numbers(items: Any, depth: int) -> bool:
    if isinstance(items, (list, tuple)):
        return depth < MAX_DEPTH and all(_only_numbers(item, depth + 1) for item in items)
    return isinstance(items, (bool, int, float, np.generic))


def type_name(value: Any) -> str:
    """The name of a value's type, whatever its metaclass tries."""
    try:
        return str(type(value).__name__)[:200]
    except Exception:
        return "an unnamed type"


def describe_exception(error: BaseException, marker: str) -> dict[str, Any]:
    """An exception in plain form; line and cell are of the last frame in student code."""
    try:
        message = str(error)[:MAX_MESSAGE]
    except BaseException:  # a hostile __str__
        message = "(its message could not be read)"
    bases = [base.__name__ for base in type(error).__mro__[1:-1]][:16]
    line, cell = None, None
    if isinstance(error, SyntaxError) and (error.filename or "").startswith(marker):
        line, cell = error.lineno, str(error.filename)[len(marker) :]
        message = str(error.msg)[:MAX_MESSAGE]
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(marker):
            line, cell = trace.tb_lineno, name[len(marker) :]
        trace = trace.tb_next
    return {
        "type": type_name(error),
        "bases": bases,
        "message": message,
        "line": line,
        "cell": cell,
    }


def snapshot(argument: Any) -> Callable[[], bool]:
    """A function that tells later whether `argument` has been modified."""
    if isinstance(argument, np.ndarray):
        before = argument.copy()
        return lambda: argument.shape != before.shape or argument.tobytes() != before.tobytes()
    if _is_tensor(argument):
        kept = argument.detach().clone()
        return lambda: argument.shape != kept.shape or not _same_bits(argument.detach(), kept)
    if isinstance(argument, list):
        copies = list(argument)
        inner = [snapshot(item) for item in argument]
        return lambda: (
            len(argument) != len(copies)
            or any(a is not b for a, b in zip(argument, copies, strict=True))
            or any(changed() for changed in inner)
        )
    return lambda: False


def _same_bits(left: Any, right: Any) -> bool:
    import torch

    if left.dtype != right.dtype:
        return False
    return bool(torch.equal(left, right)) or bool(
        torch.equal(torch.nan_to_num(left), torch.nan_to_num(right))
        and torch.equal(torch.isnan(left), torch.isnan(right))
    )
