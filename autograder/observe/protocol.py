"""The language between the grader and the process that holds student code.

A frame is a fixed header (magic, a fresh 16-byte nonce, kind, body length) and a body;
a body is one value in a small tagged binary encoding. There is no pickle anywhere and no
text is ever evaluated. The reader bounds everything before it allocates: body length,
nesting, number of nodes, text length, array size. Whatever a submission may return is
described by one of the tags; anything else arrives as `Opaque` with its type's name.

This module imports the standard library and NumPy only, since it is loaded on both sides.
"""

from __future__ import annotations

import math
import secrets
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, BinaryIO, NamedTuple

import numpy as np

MAGIC = b"AGP1"
HEADER = struct.Struct("<4s16sBQ")
NONCE_BYTES = 16

# kinds of frames: the first four go to the worker, the others come from it
LOAD, RUN, ANSWER, TRY = 1, 2, 3, 4
LOADED, OBSERVED, ASK, REFUSED, TRIED = 11, 12, 13, 14, 16

MAX_DEPTH = 16
MAX_NODES = 50_000
MAX_TEXT = 64 * 1024
MAX_DIMENSIONS = 16
# Enough for every case of the course; a case that needs more says so in its program.
DEFAULT_BODY_LIMIT = 64 * 1024 * 1024

# Array dtypes that may cross, by code. bfloat16 has no NumPy type: it travels as the
# two bytes it is and is widened to float32, which holds each of its values exactly.
DTYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128", "bfloat16",
)  # fmt: skip
_CODES = {name: code for code, name in enumerate(DTYPES)}
_ITEM_BYTES = {name: 2 if name == "bfloat16" else np.dtype(name).itemsize for name in DTYPES}

_NONE, _FALSE, _TRUE, _INT, _FLOAT, _TEXT, _BYTES = range(7)
_LIST, _TUPLE, _MAP, _ARRAY, _OPAQUE, _HUGE = range(7, 13)


class ProtocolError(Exception):
    """Bytes that no honest worker would have written."""


@dataclass(frozen=True)
class Array:
    """An array or tensor as it crossed: `data` is None when only its shape was sent.

    framework: "numpy", "torch", or "list" for nested Python lists of numbers.
    """

    dtype: str
    shape: tuple[int, ...]
    data: np.ndarray[Any, Any] | None = field(compare=False)
    framework: str = "numpy"
    requires_grad: bool = False


@dataclass(frozen=True)
class Opaque:
    """Something that cannot be compared; `type_name` is all that is known of it."""

    type_name: str


class Frame(NamedTuple):
    """One message."""

    nonce: bytes
    kind: int
    body: bytes


FRAMEWORKS = ("numpy", "torch", "list")


def fresh_nonce() -> bytes:
    """A nonce that student code cannot know in advance."""
    return secrets.token_bytes(NONCE_BYTES)


def pack_frame(kind: int, nonce: bytes, body: bytes) -> bytes:
    """Header and body as they go over the pipe."""
    return HEADER.pack(MAGIC, nonce, kind, len(body)) + body


def unpack_header(header: bytes, limit: int) -> tuple[bytes, int, int]:
    """(nonce, kind, body length); ProtocolError when it is no header or exceeds `limit`."""
    magic, nonce, kind, length = HEADER.unpack(header)
    if magic != MAGIC:
        raise ProtocolError("something other than the worker wrote to the result channel")
    if length > limit:
        raise ProtocolError(f"a message of {length} bytes is above the limit of {limit}")
    return nonce, kind, length


def read_frame(read: Callable[[int], bytes], limit: int) -> Frame:
    """Read one frame; `read(n)` returns exactly n bytes or raises EOFError."""
    nonce, kind, length = unpack_header(read(HEADER.size), limit)
    return Frame(nonce, kind, read(length))


def pack_programs(programs: Iterable[Prepared]) -> bytes:
    """Programs as a zygote is handed them, in a file."""
    return b"".join(pack_frame(RUN, bytes(NONCE_BYTES), program.body) for program in programs)


def read_programs(file: BinaryIO) -> list[Any]:
    """The programs of such a file, in plain form."""
    programs = []
    while header := file.read(HEADER.size):
        _, _, length = unpack_header(header, limit=1 << 34)
        programs.append(decode(file.read(length)))
    return programs


def array_from_numpy(value: Any, framework: str = "numpy", requires_grad: bool = False) -> Array:
    """Describe a NumPy array; TypeError for dtypes that may not cross (object, text …)."""
    name, little = _little(value.dtype)
    if name not in _CODES:
        raise TypeError(f"arrays of dtype {name} cannot be compared")
    if value.dtype is not little or not value.flags.c_contiguous:
        value = np.ascontiguousarray(value).astype(little, copy=False).reshape(value.shape)
    return Array(name, tuple(value.shape), value, framework, requires_grad)


@lru_cache(maxsize=64)
def _little(dtype: np.dtype[Any]) -> tuple[str, np.dtype[Any]]:
    """A dtype's name, and the same dtype with the lowest byte first, which is how it crosses."""
    little = dtype.newbyteorder("<")
    return dtype.name, dtype if little == dtype else little


class Prepared(dict[str, Any]):
    """A map that is encoded once, however often it is sent: a case, to a whole class."""

    @cached_property
    def body(self) -> bytes:
        """The map as bytes."""
        return encode(dict(self))


def encode(value: Any) -> bytes:
    """A value of the protocol as bytes; TypeError for anything that is not one."""
    out = bytearray()
    _encode(value, out, 0)
    return bytes(out)


def _encode(value: Any, out: bytearray, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise TypeError(f"values nested more than {MAX_DEPTH} deep cannot cross")
    kind = type(value)
    if value is None:
        out.append(_NONE)
    elif kind is bool:
        out.append(_TRUE if value else _FALSE)
    elif kind is int:
        if not -(2**63) <= value < 2**63:
            _encode(Opaque("int with more than 64 bits"), out, depth)
        else:
            out.append(_INT)
            out += struct.pack("<q", value)
    elif kind is float:
        out.append(_FLOAT)
        out += struct.pack("<d", value)
    elif kind is str:
        out.append(_TEXT)
        _encode_text(value, out)
    elif kind is bytes:
        out.append(_BYTES)
        out += struct.pack("<Q", len(value))
        out += value
    elif kind is list or kind is tuple:
        out.append(_LIST if kind is list else _TUPLE)
        out += struct.pack("<I", len(value))
        for item in value:
            _encode(item, out, depth + 1)
    elif kind is dict:
        out.append(_MAP)
        out += struct.pack("<I", len(value))
        for key, item in value.items():
            _encode_text(key, out)
            _encode(item, out, depth + 1)
    elif kind is Array:
        _encode_array(value, out)
    elif kind is Opaque:
        out.append(_OPAQUE)
        _encode_text(value.type_name, out)
    else:
        raise TypeError(f"{kind.__name__} is not a value of the protocol")


def _encode_text(text: str, out: bytearray) -> None:
    raw = text.encode("utf-8", "replace")
    if len(raw) > MAX_TEXT:
        raw = raw[: MAX_TEXT - 3].decode("utf-8", "ignore").encode() + "…".encode()
    out += struct.pack("<I", len(raw))
    out += raw


def _encode_array(array: Array, out: bytearray) -> None:
    out.append(_ARRAY if array.data is not None else _HUGE)
    flags = FRAMEWORKS.index(array.framework) | (8 if array.requires_grad else 0)
    out += struct.pack("<BBB", _CODES[array.dtype], flags, len(array.shape))
    out += struct.pack(f"<{len(array.shape)}Q", *array.shape)
    if array.data is not None:
        data = array.data
        if array.dtype == "bfloat16":
            # widened float32 back to its upper two bytes
            data = (np.ascontiguousarray(data, "<f4").view("<u4") >> 16).astype("<u2")
        out += data.tobytes()


def decode(body: bytes) -> Any:
    """Bytes back to a value. Never raises anything but ProtocolError."""
    reader = _Reader(body)
    try:
        value = reader.value(0)
    except (struct.error, UnicodeDecodeError, IndexError, ValueError, OverflowError) as fault:
        raise ProtocolError(f"a malformed message: {fault}") from None
    if reader.at != len(body):
        raise ProtocolError(f"{len(body) - reader.at} bytes too many in a message")
    return value


_U32, _U64 = struct.Struct("<I"), struct.Struct("<Q")
_I64, _F64 = struct.Struct("<q"), struct.Struct("<d")


class _Reader:
    """A cursor over a body that counts nodes and never reads past the end."""

    def __init__(self, body: bytes) -> None:
        self.body = memoryview(body)
        self.at = 0
        self.nodes = 0

    def past(self, count: int) -> int:
        """Move over the next `count` bytes; where they begin."""
        start = self.at
        if count > len(self.body) - start:
            raise ProtocolError("a message ends in the middle of a value")
        self.at = start + count
        return start

    def take(self, count: int) -> memoryview:
        start = self.past(count)
        return self.body[start : start + count]

    def number(self, layout: struct.Struct) -> Any:
        return layout.unpack_from(self.body, self.past(layout.size))[0]

    def text(self) -> str:
        length = self.number(_U32)
        if length > MAX_TEXT:
            raise ProtocolError(f"a text of {length} bytes is above the limit")
        return str(self.take(length), "utf-8")

    def value(self, depth: int) -> Any:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            raise ProtocolError("a value is nested too deep or has too many parts")
        tag = self.body[self.past(1)]
        if tag == _NONE:
            return None
        if tag in (_FALSE, _TRUE):
            return tag == _TRUE
        if tag == _INT:
            return self.number(_I64)
        if tag == _FLOAT:
            return self.number(_F64)
        if tag == _TEXT:
            return self.text()
        if tag == _BYTES:
            return bytes(self.take(self.number(_U64)))
        if tag in (_LIST, _TUPLE):
            count = self.number(_U32)
            items = [self.value(depth + 1) for _ in self.counted(count)]
            return items if tag == _LIST else tuple(items)
        if tag == _MAP:
            count = self.number(_U32)
            return {self.text(): self.value(depth + 1) for _ in self.counted(count)}
        if tag in (_ARRAY, _HUGE):
            return self.array(with_data=tag == _ARRAY)
        if tag == _OPAQUE:
            return Opaque(self.text())
        raise ProtocolError(f"unknown tag {tag}")

    def counted(self, count: int) -> range:
        if count > len(self.body) - self.at:  # each item takes at least one byte
            raise ProtocolError("a sequence claims more items than the message holds")
        return range(count)

    def array(self, with_data: bool) -> Array:
        code, flags, ndim = self.take(3)
        if code >= len(DTYPES) or flags & 7 >= len(FRAMEWORKS) or ndim > MAX_DIMENSIONS:
            raise ProtocolError("an array with an unknown dtype or too many axes")
        name = DTYPES[code]
        shape = struct.unpack(f"<{ndim}Q", self.take(8 * ndim))
        data = None
        if with_data:
            # Python integers: a product of hostile sizes cannot wrap around
            raw = self.take(math.prod(shape) * _ITEM_BYTES[name])
            if name == "bfloat16":
                wide = np.frombuffer(raw, "<u2").astype("<u4") << 16
                data = wide.view("<f4").reshape(shape)
            elif name == "bool":  # a byte other than 0 and 1 would be a bool that equals neither
                data = (np.frombuffer(raw, "u1") != 0).reshape(shape)
            else:
                data = np.frombuffer(raw, np.dtype(name).newbyteorder("<")).reshape(shape)
        return Array(name, shape, data, FRAMEWORKS[flags & 7], bool(flags & 8))
