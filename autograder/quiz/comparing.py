"""A process that compares formulas, and its limits: what takes too long costs no one else time.

One process serves all questions that this one asks, since its start takes longer than any
comparison. After a request that it did not survive there is a new one.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

# A comparison takes some milliseconds; a limit of processor time does not depend on the load.
CPU_SECONDS = 3.0
# For systems that have no such limit, and for a machine that is very busy.
WALL_SECONDS = 60.0
MEMORY = 1 << 30

# Importing NumPy would reserve memory for a thread a core, and count against the limit.
_ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")

MODULE = "autograder.quiz.agreement"


class TookTooLong(Exception):
    """The comparison was given up."""


class CannotCompare(Exception):
    """The process does not work here: no fault of an answer. The message says what to do."""


class Comparer:
    """Asks `agreement` in a process of its own; threads may share one."""

    def __init__(
        self,
        *,
        cpu_seconds: float = CPU_SECONDS,
        wall_seconds: float = WALL_SECONDS,
        module: str = MODULE,
    ) -> None:
        self._command = [
            *(sys.executable, "-P", "-X", "utf8", "-m", module),
            *(str(cpu_seconds), str(MEMORY)),
        ]
        self._wall_seconds = wall_seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        self._replies: queue.SimpleQueue[str] = queue.SimpleQueue()

    def ask(self, request: Sequence[Any]) -> str:
        """The verdict on `[student, answer, symbols, seed]`; TookTooLong, or CannotCompare."""
        with self._lock:
            for attempt in range(2):
                process = self._running()
                try:
                    assert process.stdin is not None
                    process.stdin.write(json.dumps(request) + "\n")
                    process.stdin.flush()
                    reply = self._replies.get(timeout=self._wall_seconds)
                except queue.Empty:
                    self._end()
                    raise TookTooLong from None
                except OSError:
                    reply = ""
                if reply:
                    return reply
                status = process.wait()
                self._end()
                if status == -getattr(signal, "SIGVTALRM", -1):
                    raise TookTooLong
                if attempt:
                    break
            raise CannotCompare(
                f"the process that compares formulas ended with status {status}; check that "
                f"`{sys.executable} -c 'import mpmath'` works"
            )

    def close(self) -> None:
        """End the process; the next question starts another."""
        with self._lock:
            self._end()

    def _running(self) -> subprocess.Popen[str]:
        # the pipes of a process that forked us are not ours to read
        if self._process is None or self._owner != os.getpid():
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                encoding="utf-8",
                env={**os.environ, **_ONE_THREAD},
            )
            self._owner = os.getpid()
            self._replies = queue.SimpleQueue()
            threading.Thread(
                target=_forward, args=(self._process, self._replies), daemon=True
            ).start()
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()


def _forward(process: subprocess.Popen[str], replies: queue.SimpleQueue[str]) -> None:
    """Each reply, and an empty one at the end; a thread, since Windows cannot wait for pipes."""
    assert process.stdout is not None
    with contextlib.suppress(ValueError, OSError):  # closed while it is read
        for line in process.stdout:
            replies.put(line.strip())
    replies.put("")


@functools.cache
def _shared() -> Comparer:
    comparer = Comparer()
    atexit.register(comparer.close)
    return comparer


@functools.lru_cache(maxsize=4096)
def verdict(request: str) -> str:
    """What `agreement` says to a request in JSON; a class gives the same answers often."""
    return _shared().ask(json.loads(request))
