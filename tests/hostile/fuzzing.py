"""Random inputs for the parts of the grader that read what a stranger wrote."""

from __future__ import annotations

import json
import math
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from autograder.observe.protocol import DTYPES, Array, Opaque


class Hang(BaseException):
    """One input took far too long; not an Exception, so that nobody swallows it."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Hang when the body has not ended after so many seconds. In the main thread only."""

    def ring(*details: object) -> None:
        raise Hang(f"not done after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def fuzz(seconds: float, attempt: Callable[[random.Random], object], each: float = 20.0) -> int:
    """Call `attempt` with ever other generators for so long; how often it was called.

    What it raises is raised again with the seed that repeats it.
    """
    first = time.time_ns() % 10**9
    deadline = time.monotonic() + seconds
    number = 0
    while time.monotonic() < deadline or number < 20:
        try:
            with limited(each):
                attempt(random.Random(first + number))
        except (Exception, Hang) as fault:
            raise AssertionError(
                f"{type(fault).__name__}: {fault} (repeat it with random.Random({first + number}))"
            ) from fault
        number += 1
    return number


# --- bytes -----------------------------------------------------------------------------


def damaged(data: bytes, rng: random.Random, pieces: Sequence[bytes] = ()) -> bytes:
    """Bytes with some changed, left out, repeated or put in."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(made) + 1)
        until = min(len(made), at + rng.choice((1, 1, 4, 8, 64)))
        match rng.randrange(6):
            case 0 if made:
                made[min(at, len(made) - 1)] = rng.randrange(256)
            case 1:
                del made[at:until]
            case 2:
                made[at:at] = made[at:until] * rng.choice((1, 2, 50))
            case 3:
                made[at:until] = rng.choice((b"\xff", b"\0")) * (until - at)
            case 4:
                made[at:at] = rng.randbytes(rng.randrange(9))
            case _ if pieces:
                made[at:at] = rng.choice(pieces)
    return bytes(made)


# --- values of the protocol ------------------------------------------------------------

_FLOATS = (math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1.8e308, 1.0)
_WORDS = ("", "x", "\x1b[2J", "<script>", "\u202e", "x" * 3000, "\n\n", "passed", "NameError")


def array(rng: random.Random, shape: tuple[int, ...]) -> Array:
    """An array of any dtype with anything in it."""
    name = rng.choice(DTYPES)
    dtype = np.dtype("float32" if name == "bfloat16" else name)
    data = np.frombuffer(rng.randbytes(math.prod(shape) * dtype.itemsize), "u1")
    made = (data & 1).astype(bool) if name == "bool" else data.view(dtype)
    if dtype.kind == "f" and rng.random() < 0.5:
        made = np.full(made.shape, rng.choice(_FLOATS), np.float64).astype(dtype)
    framework = rng.choice(("numpy", "torch", "list"))
    return Array(name, shape, made.reshape(shape), framework, rng.random() < 0.5)


def _shape(rng: random.Random, like: tuple[int, ...]) -> tuple[int, ...]:
    pick = rng.random()
    if pick < 0.6 and all(size < 1000 for size in like):  # some are too large to be made
        return like if pick < 0.5 else like[::-1]
    return tuple(rng.choice((0, 1, 2, 3, 5)) for _ in range(rng.randrange(5)))


def value(rng: random.Random, like: Any, depth: int = 0) -> Any:
    """A value of the protocol that has something in common with another."""
    if isinstance(like, (list, tuple)) and rng.random() < 0.5 and depth < 3:
        items = [value(rng, item, depth + 1) if rng.random() < 0.6 else item for item in like]
        return rng.choice((list, tuple))(items * rng.choice((1, 1, 1, 0, 2)))
    if isinstance(like, dict) and rng.random() < 0.6:
        return {
            key: value(rng, item, depth + 1) if rng.random() < 0.5 else item
            for key, item in like.items()
            if rng.random() < 0.9
        }
    if rng.random() < 0.5:
        return array(rng, _shape(rng, like.shape if isinstance(like, Array) else ()))
    huge = tuple(rng.choice((0, 7, 2**63, 2**64 - 1)) for _ in range(rng.randrange(17)))
    return rng.choice(
        (
            None,
            rng.random() < 0.5,
            rng.choice((0, 1, -(2**63), 2**63 - 1)),
            rng.choice(_FLOATS),
            rng.choice(_WORDS),
            b"\0x",
            Opaque(rng.choice(_WORDS)),
            Array(rng.choice(DTYPES), huge, None),
            {rng.choice(_WORDS): None, "$": "slot"},
            [[[[[1]]]]],
            [array(rng, (0,)), 1.0],
            (),
        )
    )


def outcome(rng: random.Random, like: dict[str, Any]) -> Any:
    """The outcome of a step, in plain form, that differs from another."""
    made: Any = {**like, "value": value(rng, like["value"])}
    if rng.random() < 0.2:
        made["raised"] = {
            "type": rng.choice((*_WORDS, "Missing", "MemoryError", "NotImplementedError")),
            "message": rng.choice(_WORDS),
            "bases": [rng.choice(_WORDS) for _ in range(rng.randrange(3))],
            "line": rng.choice((None, 1, -5, 2**62, True, 0.5, "x")),
            "cell": rng.choice((None, *_WORDS)),
            "function": rng.choice((None, *_WORDS)),
        }
    if rng.random() < 0.2:
        made["changed"] = [rng.choice(_WORDS) for _ in range(rng.randrange(5))]
    if rng.random() < 0.2:
        made["notes"] = {"largest_allocation": value(rng, 1)}
    if rng.random() < 0.05:
        made = value(rng, made)
    return made


# --- submissions -----------------------------------------------------------------------

TOKENS = (
    "%%", "%time ", "!", "?", "'''", '"""', "'", '"', "\\", "\\\n", "(", ")", "[", "]", "{", "}",
    "#", "@", ":", ";", ",", "=", "==", ":=", "->", "**", "...", "\n", "\n\n", "\r\n", "\r", "\t",
    "    ", "\f", "\0", "\ufeff", "\ud800", "\u2028", "ﬁ", "𝐱", "é", "\x1b[2J", "async ", "await ",
    "def softmax(x):\n    return x\n", "class softmax:\n    pass\n", "lambda: ", "yield ",
    "import ", "from x import *\n", "global softmax\n", "nonlocal x\n", "del softmax\n",
    "match x:\n", "case _:\n", "try:\n", "except* E:\n", "finally:\n", "if 1:\n", "else:\n",
    "with x as y:\n", "return\n", "break\n", "f'{x!r:{y}}'", "f'{", "rb'", "u'", "0x", "1e999",
    "1_0", "9" * 5000, "1j", "None", "True", "__import__('os')", "print", "softmax",
    "q_column_layout = ", "q_", "# coding: undefined\n", "from __future__ import annotations\n",
    "not " * 50, "-" * 90, "(" * 90, "x." * 90, "type X = int\n",
)  # fmt: skip


def source(rng: random.Random, like: str) -> str:
    """Source code with something wrong in it."""
    made = like
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        at = rng.randrange(len(made) + 1)
        until = min(len(made), at + rng.choice((0, 0, 1, 5, 80)))
        made = made[:at] + rng.choice(TOKENS) * rng.choice((1, 1, 1, 3)) + made[until:]
    return made


_STRANGE: tuple[Any, ...] = (
    None, True, 0, -1, 1e400, 2**70, "", "x", "\ud800", "\0", [], [[]], {}, {"x": {}}, ["a", 1],
    "code", "markdown", "raw", {"nbgrader": []}, {"nbgrader": {"grade_id": 5}}, [None] * 5,
)  # fmt: skip


def plain(rng: random.Random, like: Any) -> Any:
    """JSON with some of its parts replaced, renamed, repeated or left out."""
    if isinstance(like, dict):
        made = {}
        for key, item in like.items():
            if rng.random() < 0.01:
                continue
            name = rng.choice(("x", "source", "cells", "metadata")) if rng.random() < 0.01 else key
            made[name] = plain(rng, item)
        return made
    if isinstance(like, list):
        items = [plain(rng, item) for item in like if rng.random() < 0.99]
        return items * rng.choice((1,) * 60 + (0, 2))
    if isinstance(like, str) and rng.random() < 0.05:
        return source(rng, like)
    return rng.choice(_STRANGE) if rng.random() < 0.02 else like


def notebook(rng: random.Random, like: dict[str, Any]) -> bytes:
    """A notebook as no program writes it."""
    book = plain(rng, like)
    if isinstance(book, dict) and rng.random() < 0.2:
        book["nbformat"] = rng.choice((0, 1, 2, 3, 4, 5, 99, -1, "4", None))
        if rng.random() < 0.5:
            book["worksheets"] = [{"cells": book.pop("cells", None)}]
    data = json.dumps(book, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    return damaged(data, rng, (b"[" * 900, b'{"a":' * 90, b"\xff")) if rng.random() < 0.3 else data
