"""The arrays that a function makes on its way: its variables after each line, what it returns.

Only frames of the student's own code are looked at. What is noted is advisory like everything
that is reported from beside student code: it words a remark and decides nothing. All of it is
bounded, in records, in bytes and in the lines that are followed.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np

from autograder.observe.protocol import Array
from autograder.observe.values import Budget, describe, exact_text, is_a, is_tensor

MAX_RECORDS = 96
MAX_BYTES = 1 << 18
MAX_NUMBERS = 4096  # of one array
MAX_LINES = 2000  # executed lines of the student's code that are followed
MAX_NAMES = 40  # variables of one function


@contextlib.contextmanager
def traced(notes: dict[str, Any], marker: str, module: str | None) -> Iterator[None]:
    """Note as "trace" what student code computes inside.

    Student code is compiled under a name that begins with `marker`, or its globals are those of
    `module`: that of a notebook or a module that runs.
    """
    tracer = _Tracer(marker, module)
    before = sys.gettrace()
    sys.settrace(tracer.enter)
    try:
        yield
    finally:
        sys.settrace(before)
        notes["trace"] = tracer.records


class _Tracer:
    def __init__(self, marker: str, module: str | None) -> None:
        self.marker, self.module = marker, module
        self.records: list[dict[str, Any]] = []
        self.budget = Budget(MAX_BYTES)
        self.lines = 0

    def enter(self, frame: FrameType, event: str, argument: Any) -> Any:
        """The trace function of a new frame: None for what is not the student's."""
        code = frame.f_code
        if event != "call" or self._is_full() or code.co_name.startswith("<"):
            return None
        if code.co_filename.startswith(self.marker):
            cell = exact_text(code.co_filename[len(self.marker) :], 200)
        elif self.module is not None and dict.get(frame.f_globals, "__name__") == self.module:
            cell = ""
        else:
            return None
        return _Frame(self, frame, cell).follow

    def _is_full(self) -> bool:
        return len(self.records) >= MAX_RECORDS or self.lines >= MAX_LINES

    def note(self, frame: FrameType, cell: str, line: int, name: str, value: Array) -> None:
        if not self._is_full():
            self.records.append({
                "cell": cell,
                "line": line,
                "function": exact_text(frame.f_code.co_qualname, 200),
                "name": name,
                "value": value,
            })  # fmt: skip

    def described(self, value: Any) -> Array | None:
        """An array as it crosses; None for anything else, and where it is large."""
        if is_a(value, np.ndarray):
            size = int(np.ndarray.size.__get__(value))
        elif is_tensor(value):
            size = int(np.prod([int(length) for length in value.shape]))
        else:
            return None
        if size > MAX_NUMBERS:
            return None
        found = describe(value, self.budget)
        return found if isinstance(found, Array) and found.data is not None else None


class _Frame:
    """One call of a student's function."""

    def __init__(self, tracer: _Tracer, frame: FrameType, cell: str) -> None:
        self.tracer, self.cell = tracer, cell
        self.line = frame.f_lineno
        self.seen: dict[str, tuple[Any, ...]] = {}
        self._changed(frame)  # the arguments

    def follow(self, frame: FrameType, event: str, argument: Any) -> Any:
        """After each line: which arrays are new or have changed."""
        tracer = self.tracer
        if event in ("line", "return"):
            tracer.lines += 1
            for name, value in self._changed(frame):
                tracer.note(frame, self.cell, self.line, name, value)
            if event == "return":
                self._returned(frame, argument)
            self.line = frame.f_lineno
        return None if tracer._is_full() else self.follow

    def _changed(self, frame: FrameType) -> list[tuple[str, Array]]:
        found = []
        for name, value in list(frame.f_locals.items())[:MAX_NAMES]:
            described = self.tracer.described(value)
            if described is None or described.data is None:
                continue
            now = (described.shape, described.dtype, described.data.tobytes())
            if self.seen.get(name) != now:
                self.seen[name] = now
                found.append((exact_text(name, 80), described))
        return found

    def _returned(self, frame: FrameType, argument: Any) -> None:
        values = list(tuple.__iter__(argument)) if is_a(argument, tuple) else [argument]
        for value in values[:8]:
            described = self.tracer.described(value)
            if described is not None:
                self.tracer.note(frame, self.cell, frame.f_lineno, "", described)
