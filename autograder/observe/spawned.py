"""A submission in a plain process of its own, on any system: loops and crashes are survived.

This is no sandbox: the code can do whatever its user can. It serves a student's check of
their own code, on Windows and macOS too, so nothing here needs fork, select on pipes or a
signal: threads move the bytes, and `Popen.kill` ends the process.
"""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

from autograder.observe import protocol
from autograder.observe.conversation import (
    HELLO,
    WORKER_OUT_OF_MEMORY,
    ClockRanOut,
    Conversation,
    OutputFlood,
    closed_its_channel,
    ended_with,
    out_of_memory,
    out_of_processor_time,
)
from autograder.observe.protocol import ProtocolError
from autograder.observe.session import Limits, Stopped

# Until the worker greets: Python and the imports, under a virus scanner, from a slow disk.
START_SECONDS = 120.0
# How often a wait looks whether the process still lives: its own children can keep the
# pipes open. It is also how long Ctrl-C may take on Windows.
_LOOK_SECONDS = 0.2

_RESULTS, _LOG = "results", "log"
# A variable by which the processes that a submission started are known.
_MARK = "AUTOGRADER_SPAWNED"


class SpawnedSession(Conversation):
    """A Session in a process of its own, started at once, with `folder` as its directory.

    Of the limits, `processes` is not kept, `cpu` and `files` are not on Windows, and `memory`
    is on Linux only. It has the packages of the Python that runs this; modules in `folder`
    cannot be imported, as in grading.
    """

    limits_files = sys.platform != "win32"

    def __init__(
        self,
        limits: Limits | None = None,
        framework: str = "numpy",
        folder: Path | None = None,
        body_limit: int = protocol.DEFAULT_BODY_LIMIT,
    ) -> None:
        super().__init__(limits or Limits(), body_limit)
        self._nonce = protocol.fresh_nonce()
        self._mark = secrets.token_hex(8)
        self._greeted = False
        self._closed = False
        self._received = bytearray()
        # Bounded, so that a flood waits in the pipe and not in this process.
        self._arrived: queue.Queue[tuple[str, bytes]] = queue.Queue(maxsize=64)
        self._to_send: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            _command(framework, self._nonce, self.limits),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            cwd=folder,
            env=_environment(self._mark),
            start_new_session=True,  # a group of its own, by which its children are killed
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._threads = [
            threading.Thread(target=_read, args=(stream, kind, self._arrived), daemon=True)
            for stream, kind in ((self._process.stdout, _RESULTS), (self._process.stderr, _LOG))
        ]
        self._threads.append(
            threading.Thread(target=_write, args=(self._process.stdin, self._to_send), daemon=True)
        )
        for thread in self._threads:
            thread.start()

    def _begin(self) -> None:
        if self._greeted:
            return
        try:
            frame = self._exchange(b"", time.monotonic() + START_SECONDS)
            if frame.kind != HELLO or frame.nonce != self._nonce:
                raise ProtocolError("a process that does not greet")
        except (EOFError, ClockRanOut, ProtocolError):  # no code of theirs has run yet
            self._end()
            said = (self.log.strip().splitlines() or ["no reason given"])[-1]
            raise Stopped(
                "infrastructure",
                f"A process for your code could not be started ({said}): "
                f"check that `{sys.executable} -c 'import numpy'` works.",
            ) from None
        self._greeted = True

    def _transfer(self, out: bytes, need: int, deadline: float) -> bytes:
        if out:
            self._to_send.put(out)
        while len(self._received) < need:
            self._take_next(deadline)
        taken = bytes(memoryview(self._received)[:need])
        del self._received[:need]
        return taken

    def _take_next(self, deadline: float) -> None:
        """Take the next piece that arrives; EOFError when none will."""
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise ClockRanOut
            lives = not self._has_ended()
            try:
                kind, piece = self._arrived.get(timeout=min(left, _LOOK_SECONDS))
                break
            except queue.Empty:
                if not lives:
                    raise EOFError from None
        if kind == _LOG:
            self._take_output(piece)
        elif piece:
            self._received += piece
        else:
            raise EOFError

    def _explain_end(self) -> Stopped:
        deadline = time.monotonic() + 1.0
        while not self._has_ended():
            if time.monotonic() > deadline:
                return closed_its_channel()
            time.sleep(0.005)
        self._kill()  # what it has left behind
        code = self._process.wait()
        if code == -getattr(signal, "SIGXCPU", 0):
            return out_of_processor_time(self.limits)
        # -9: the system did it, for want of memory
        if code in (WORKER_OUT_OF_MEMORY, -9):
            return out_of_memory(self.limits)
        return ended_with(code)

    def close(self) -> None:
        """Kill the process, keep what it had printed, and free what it held."""
        self._end()

    def _end(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._kill()
        self._to_send.put(None)
        # What is left in the queue would keep the reading threads waiting for room.
        deadline = time.monotonic() + 1.0
        while any(thread.is_alive() for thread in self._threads) and time.monotonic() < deadline:
            self._take_leftovers(0.02)
        self._take_leftovers(0.0)
        self._process.wait()
        for thread, stream in zip(
            self._threads,
            (self._process.stdout, self._process.stderr, self._process.stdin),
            strict=True,
        ):
            # one that still waits, since a child of the child has the pipe, ends with it
            if not thread.is_alive() and stream is not None:
                stream.close()

    def _take_leftovers(self, seconds: float) -> None:
        with contextlib.suppress(queue.Empty, OutputFlood):
            while True:
                kind, piece = (
                    self._arrived.get(timeout=seconds) if seconds else (self._arrived.get_nowait())
                )
                if kind == _LOG:
                    self._take_output(piece)

    def _has_ended(self) -> bool:
        """Whether it has, without reaping it where that can be told.

        Until it is reaped its number is nobody else's, and its group can be killed by it.
        """
        if self._process.returncode is None and sys.platform == "linux":
            options = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self._process.pid, options) is not None
        return self._process.poll() is not None

    def _kill(self) -> None:
        if self._process.returncode is None and hasattr(os, "killpg"):
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            _kill_marked(self._mark)
        self._process.kill()


class Spare:
    """The next processes, started before they are needed: imports take longer than a check.

    Each is for one submission, as others are; what waits has seen none. Two wait, since what
    looks for the fault in a wrong exercise has a process of its own.
    """

    def __init__(self, count: int = 2) -> None:
        self._count = count
        self._like: tuple[Limits, str, Path | None] | None = None
        self._waiting: list[SpawnedSession] = []

    def open(self, limits: Limits, framework: str, folder: Path | None) -> SpawnedSession:
        """One that waits, if it is like that, else a new one."""
        wanted = (limits, framework, folder)
        if self._like is None:
            self._like = wanted
        while self._waiting and wanted == self._like:
            session = self._waiting.pop(0)
            if not session._has_ended():
                return session
            session.close()
        return SpawnedSession(limits, framework, folder)

    def prepare(self) -> None:
        """Start as many as are missing, like the first that was asked for."""
        while self._like is not None and len(self._waiting) < self._count:
            self._waiting.append(SpawnedSession(*self._like))

    def close(self) -> None:
        """End those that wait."""
        while self._waiting:
            self._waiting.pop().close()


def _kill_marked(mark: str) -> None:
    """Kill what has left the group, as a daemon does: found by its environment, on Linux."""
    if sys.platform != "linux":
        return
    wanted = f"{_MARK}={mark}".encode()
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            if entry.isdigit() and wanted in Path("/proc", entry, "environ").read_bytes():
                os.kill(int(entry), signal.SIGKILL)


def _read(stream: IO[bytes], kind: str, arrived: queue.Queue[tuple[str, bytes]]) -> None:
    """Pass on what arrives, an empty piece at the end."""
    while True:
        try:
            piece = stream.read(1 << 16)
        except OSError:
            piece = b""
        arrived.put((kind, piece))
        if not piece:
            return


def _write(stream: IO[bytes], to_send: queue.SimpleQueue[bytes | None]) -> None:
    """Send what is put into the queue until None comes or nobody reads."""
    with contextlib.suppress(OSError):
        while (data := to_send.get()) is not None:
            left = memoryview(data)
            while left:
                left = left[stream.write(left) or 0 :]


def _command(framework: str, nonce: bytes, limits: Limits) -> list[str]:
    """-P: the folder of the program is not a place to import from."""
    file = Path(__file__).with_name("spawned_child.py")
    bounds = map(str, (limits.memory, limits.cpu, limits.files))
    options = ["-P", "-X", "utf8"]
    return [sys.executable, *options, str(file), framework, nonce.hex(), str(HELLO), *bounds]


def _environment(mark: str) -> dict[str, str]:
    environment = {**os.environ, _MARK: mark}
    environment.setdefault("MPLBACKEND", "Agg")  # no windows
    for name in ("OMP", "OPENBLAS", "MKL"):  # threads would each need memory of their own
        environment.setdefault(f"{name}_NUM_THREADS", "1")
    return environment
