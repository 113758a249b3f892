"""Arguments made from the plain form, and results described in it, beside student code.

Results are described by what they are, never by what they say they are: a subclass of
ndarray, list, str or int with methods of its own is read as the plain value underneath, and
an object of any other class crosses as the name of its type. Nothing here calls a method
that a submission may have written, except `__str__` of an exception that it raised.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

import numpy as np

from autograder.observe.protocol import (
    DEFAULT_BODY_LIMIT,
    DTYPES,
    MAX_DEPTH,
    MAX_DIMENSIONS,
    Array,
    Opaque,
    array_from_numpy,
)

SPECIAL = "$"
MAX_MESSAGE = 2000
# Parts of the results of one program: well below what the protocol reads of one message.
MAX_PARTS = 20_000
# Numbers and lists looked at in nested lists. Lists can hold each other and grow exponentially.
MAX_NUMBERS = 1 << 20
# A result stands some levels deep in the message that carries it.
DEEPEST = MAX_DEPTH - 4

# The true attributes of a class, whatever its metaclass says.
_NAME, _BASES = type.__dict__["__name__"], type.__dict__["__mro__"]
_TRACEBACK = BaseException.__dict__["__traceback__"]
_SYNTAX_ERRORS = (SyntaxError, IndentationError, TabError)  # themselves: a subclass may lie


class Missing(Exception):
    """The submission does not define a name that was asked for."""


class Unfit(Exception):
    """What the submission made has not the form that a step works on; the message says why."""


def is_a(value: Any, *classes: type) -> bool:
    """Like isinstance, but `__class__` cannot lie to it."""
    return issubclass(type(value), classes)


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

            dtype = getattr(torch, plain["name"])
            return torch.float64 if double and dtype.is_floating_point else dtype
        case _:
            return {key: make_argument(item, slots, double) for key, item in plain.items()}


def make_array(plain: Array) -> Any:
    """A fresh, writable array or tensor of the described dtype, or nested lists of numbers."""
    if plain.data is None:
        raise TypeError("an argument array came without its data")
    # native byte order and memory of its own: the student may do with it what they like
    data = np.array(plain.data, dtype=plain.data.dtype.newbyteorder("="), order="C")
    if plain.framework == "list":
        return data.tolist()
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
    exec(compile(plain["source"], "<probe>", "exec", dont_inherit=True), namespace)
    made = namespace[plain["name"]]
    if plain["call"] is None:
        return made
    return made(*(make_argument(item, slots, double) for item in plain["call"]))


# --- results ---------------------------------------------------------------------------


class Budget:
    """What the results of one program may take: bytes, parts of nested values, numbers in lists.

    Arrays that no bytes are left for cross as their shape alone; longer sequences as the name
    of their type.
    """

    def __init__(self, limit: int = DEFAULT_BODY_LIMIT) -> None:
        self.bytes = limit - limit // 16
        self.parts = MAX_PARTS
        self.numbers = MAX_NUMBERS

    def take(self, count: int) -> bool:
        """Whether `count` more bytes may be sent; if so, they are taken."""
        if count > self.bytes:
            return False
        self.bytes -= count
        return True


class _NotNumbers(Exception):
    """A list holds something else than numbers, or too many of them."""


def describe(value: Any, budget: Budget | None = None, depth: int = 0) -> Any:
    """A result in plain form."""
    budget = budget or Budget()
    budget.parts -= 1
    kind = type(value)
    if value is None or kind in (bool, float):
        return value
    if is_a(value, np.ndarray, np.generic):
        return _describe_numpy(value, budget, depth)
    if is_tensor(value):
        return _describe_tensor(value, budget)
    # a subclass is read as what it is underneath
    if is_a(value, int):
        whole = int.__pos__(value)
        return whole if -(2**63) <= whole < 2**63 else Opaque("int with more than 64 bits")
    if is_a(value, float):
        return float.__pos__(value)
    if is_a(value, str):
        text = exact_text(value)
        return text if budget.take(4 * len(text)) else Opaque("str")
    if depth >= DEEPEST:
        return Opaque("something nested too deeply")
    if is_a(value, list):
        return _describe_items(list.__getitem__(value, slice(None)), budget, depth, "list")
    if is_a(value, tuple):
        return _describe_items(tuple.__getitem__(value, slice(None)), budget, depth, "tuple")
    if kind is dict and len(value) <= budget.parts and all(type(key) is str for key in value):
        items = list(value.items())
        return {exact_text(key): describe(item, budget, depth + 1) for key, item in items}
    return Opaque(type_name(value))


def _describe_numpy(value: Any, budget: Budget, depth: int, framework: str = "numpy") -> Any:
    plain = np.asarray(value)
    kind, name = plain.dtype.kind, plain.dtype.name
    if kind == "O" and depth < DEEPEST and plain.size <= budget.parts:
        return describe(plain.tolist(), budget, depth + 1)
    if kind in "fc" and name not in DTYPES:  # long double has more digits than can be compared
        with np.errstate(all="ignore"):
            plain = plain.astype(np.float64 if kind == "f" else np.complex128)
        name = plain.dtype.name
    if kind not in "biufc" or name not in DTYPES:
        return Opaque(f"NumPy array of dtype {name}")
    if plain.ndim > MAX_DIMENSIONS:
        return Opaque(f"NumPy array with {plain.ndim} axes")
    # the size of a broadcast view too, which owns far less
    if not budget.take(plain.size * plain.itemsize):
        return Array(name, tuple(plain.shape), None, framework)
    return array_from_numpy(plain.copy(), framework)


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor; torch is not imported for it."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return isinstance(tensor, type) and is_a(value, tensor)


def _describe_tensor(value: Any, budget: Budget) -> Any:
    import torch

    try:
        with torch._C.DisableTorchFunctionSubclass():  # or a subclass would be asked
            plain = torch.Tensor.detach(value)
            grad = bool(torch.Tensor.requires_grad.__get__(value))
            name = _torch_name(plain.dtype)
            shape = tuple(map(int, plain.shape))
            if name not in DTYPES or plain.layout is not torch.strided:
                return Opaque(f"tensor of dtype {name} and layout {plain.layout}")
            if len(shape) > MAX_DIMENSIONS:
                return Opaque(f"tensor with {len(shape)} axes")
            if not budget.take(plain.numel() * plain.element_size()):
                return Array(name, shape, None, "torch", grad)
            if name == "bfloat16":
                wide = plain.cpu().to(torch.float32)
                return Array(name, shape, wide.numpy().copy(), "torch", grad)
            return array_from_numpy(_as_numpy(plain).copy(), "torch", grad)
    except (TypeError, RuntimeError, ValueError, AttributeError):
        return Opaque(type_name(value))


@functools.lru_cache(maxsize=64)
def _torch_name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _as_numpy(tensor: Any) -> Any:
    try:
        return tensor.numpy()
    except (TypeError, RuntimeError):  # on another device, conjugated or negated when it is read
        return tensor.cpu().resolve_conj().resolve_neg().numpy()


def _describe_items(items: Any, budget: Budget, depth: int, kind: str) -> Any:
    """A list of numbers, nested or not, as one array; other sequences as a list."""
    # a tuple that a function returns is several values, also when they are all numbers
    if items and not (depth == 0 and kind == "tuple"):
        try:
            numbers = np.asarray(_plain_numbers(items, budget, 0))
        except (_NotNumbers, ValueError, TypeError, OverflowError):  # also when it is ragged
            pass
        else:
            if numbers.dtype.kind in "biuf" and numbers.ndim <= MAX_DIMENSIONS:
                return _describe_numpy(numbers, budget, depth, "list")
    if len(items) > budget.parts:
        return Opaque(f"{kind} of {len(items)} items")
    return [describe(item, budget, depth + 1) for item in items]


def _plain_numbers(items: Any, budget: Budget, depth: int) -> list[Any]:
    """Nested lists with nothing in them but numbers of NumPy and Python, all of exact types."""
    if depth > MAX_DIMENSIONS:
        raise _NotNumbers
    budget.numbers -= len(items) + 1
    if budget.numbers < 0:
        raise _NotNumbers
    found: list[Any] = []
    for item in items:
        kind = type(item)
        if kind in (bool, int, float) or (is_a(item, np.generic) and kind.__module__ == "numpy"):
            found.append(item)
        elif is_a(item, list):
            found.append(_plain_numbers(list.__getitem__(item, slice(None)), budget, depth + 1))
        elif is_a(item, tuple):
            found.append(_plain_numbers(tuple.__getitem__(item, slice(None)), budget, depth + 1))
        else:
            raise _NotNumbers
    return found


# --- names and exceptions --------------------------------------------------------------


def exact_text(text: Any, limit: int = MAX_MESSAGE) -> str:
    """The characters of a str, or of a subclass of it, as they cross the protocol."""
    plain: str = str.__getitem__(text, slice(0, limit))
    return plain.encode("utf-8", "replace").decode("utf-8")


def type_name(value: Any) -> str:
    """The name of a value's type, whatever its metaclass tries."""
    return exact_text(_NAME.__get__(type(value)), 200)


def describe_exception(
    error: BaseException, marker: str, module: str | None = None
) -> dict[str, Any]:
    """An exception in plain form; line, cell and function are of the last frame in student code.

    A frame is the student's when its file name begins with `marker` (the rest is the cell), or
    when its globals are those of `module`: that of a notebook, whose cells we do not compile.
    """
    try:
        message = exact_text(str(error))
    except BaseException:  # a hostile __str__
        message = "(its message could not be read)"
    bases = [exact_text(_NAME.__get__(base), 200) for base in _BASES.__get__(type(error))[1:-1]]
    line, cell, function = None, None, None
    if type(error) in _SYNTAX_ERRORS:
        filename = error.filename  # type: ignore[attr-defined]
        if type(filename) is str and filename.startswith(marker):
            message = exact_text(str(error.msg))  # type: ignore[attr-defined]
            line, cell = error.lineno, filename[len(marker) :]  # type: ignore[attr-defined]
    trace = _TRACEBACK.__get__(error)
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(marker):
            line, cell = trace.tb_lineno, exact_text(code.co_filename[len(marker) :], 200)
            function = exact_text(code.co_qualname, 200)
        elif module is not None and dict.get(trace.tb_frame.f_globals, "__name__") == module:
            line, cell, function = trace.tb_lineno, None, exact_text(code.co_qualname, 200)
        trace = trace.tb_next
    return {
        "type": type_name(error),
        "bases": bases[:16],
        "message": message,
        "line": line,
        "cell": cell,
        "function": function,
    }
