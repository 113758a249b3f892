"""A submission in a fresh session, for questions that the judging did not ask.

Everything it says is that of student code: it words a remark, and decides nothing.
"""

from __future__ import annotations

import contextlib
import time
from typing import Any, Protocol, Self

from autograder.faults.failure import Failure
from autograder.observe.session import Session, Stopped
from autograder.observing import Loaded, Pass
from autograder.program import Observed, Program, Raised
from autograder.wire import observed_from_wire, program_to_wire

# For one program: they are small, and a loop that never ends would take all there is.
WALL = 1.0
# What the part that an exercise depends on may lack, and a whole file has.
_LACKS = ("NameError", "Missing")


class Runner(Protocol):
    """Runs programs on a student's code; None when nothing more can be asked."""

    def __call__(self, program: Program) -> tuple[Observed, ...] | None:
        """What each step gave."""


class SessionRunner:
    """Runs programs in one session of a submission, opened at the first. Use it in a `with`."""

    def __init__(self, failure: Failure, cpu: int | None = None) -> None:
        """cpu: seconds of processor time for the session; its own limit without."""
        self.failure = failure
        self._own = {} if cpu is None else {"cpu": cpu}
        self._loaded: Loaded | None = None
        self._whole = False
        self._ended = False
        self.raised: Raised | None = None  # by the last program

    def __call__(self, program: Program) -> tuple[Observed, ...] | None:
        """What each step gave."""
        observed = self._run(program)
        raised = observed[-1].raised if observed else None
        if raised is not None and raised.type_name in _LACKS and not self._whole:
            self.close()
            self._whole = True  # as when it was judged: all cells in order
            observed = self._run(program)
        self.raised = observed[-1].raised if observed else None
        return observed

    def _run(self, program: Program) -> tuple[Observed, ...] | None:
        clock = self.failure.clock
        if self._ended or clock.left <= 0:
            return None
        started, own = time.monotonic(), time.thread_time()
        try:
            if self._loaded is None:
                judged = Pass(self.failure.submission, self._open, whole=self._whole)
                self._loaded = judged.load([self.failure.spec])
                # a process that starts is no work of the student's
                started, own = time.monotonic(), time.thread_time()
            session: Any = self._loaded.session
            if hasattr(session, "wall"):
                session.wall = min(WALL, max(clock.left, 0.01))
            return observed_from_wire(session.run(program_to_wire(program)))
        except Stopped:
            self._ended = True
            return None
        finally:
            # what this thread did meanwhile is counted by the clock itself
            waited = time.monotonic() - started - (time.thread_time() - own)
            clock.wait(max(0.0, waited))

    def _open(self, **own: int) -> Session:
        return self.failure.open_session(**{**own, **self._own})

    def close(self) -> None:
        """End the session, if there is one."""
        if self._loaded is not None:
            with contextlib.suppress(Exception):
                self._loaded.session.close()
            self._loaded = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()
