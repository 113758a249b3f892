"""One submission in a sandboxed child of a zygote, and what its end means."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from autograder.observe import protocol
from autograder.observe.conversation import (
    HELLO,
    WORKER_OUT_OF_MEMORY,
    ClockRanOut,
    Conversation,
    closed_its_channel,
    ended_with,
    infrastructure,
    out_of_memory,
    out_of_processor_time,
)
from autograder.observe.protocol import HEADER, ProtocolError
from autograder.observe.session import Limits, Stopped
from autograder.observe.supervisor import Ended, Started, Supervisor, ZygoteDied

HELLO_SECONDS = 20.0
KILLED = "something else on this machine killed the process, or the machine has too little memory"
# Bytes written at a time, as many as a pipe holds, and read at a time: of the next answer too.
_PIECE, _AHEAD = 1 << 16, 1 << 18
# What a library says before it gives up; a submission that prints it gains nothing.
_OUT_OF_MEMORY_WORDS = (b"MemoryError", b"bad_alloc", b"Memory allocation still failed")


class ChildSession(Conversation):
    """A Session with a child of a zygote. Made by `ZygotePool.session`."""

    limits_files = True

    def __init__(
        self,
        zygote: Supervisor,
        started: Started,
        limits: Limits,
        nonce: bytes,
        expected: tuple[str, ...] | None,
        body_limit: int = protocol.DEFAULT_BODY_LIMIT,
    ) -> None:
        super().__init__(limits, body_limit)
        self._zygote = zygote
        self._nonce = nonce
        self._expected = expected  # layers; None: whatever they are
        self._entered: tuple[str, ...] | None = None
        self._received = bytearray()
        self._unsent = bytearray()
        self._to_send: deque[tuple[protocol.Prepared, bytes]] = deque()  # after what is unsent
        self._sending = False  # whether the poll waits for room in the pipe
        self._deaf = False  # the child has closed its end
        self._pid, self._pidfd = started.pid, started.pidfd
        self._requests, self._results, self._log = started.channels
        self._logging = True
        self._closed = False
        self._poll = select.poll()
        for descriptor in (self._results, self._log):
            self._poll.register(descriptor, select.POLLIN)

    def layers(self) -> tuple[str, ...]:
        """The layers that the child says it has entered, before it saw any student code."""
        if self._entered is None:
            self._begin()
        assert self._entered is not None
        return self._entered

    def can_read(self, paths: Iterable[Path]) -> list[str]:
        """Which of these paths this child can open. To be asked before student code runs."""
        names = [os.path.realpath(path) for path in paths]
        statements = [
            # READ_ONLY is 0; a folder can be opened like a file
            {"source": f"__import__('os').open({name!r}, 0)", "line": 1, "cell": "", "binds": []}
            for name in names
        ]
        outcomes = self.load(statements, {})
        return [name for name, raised in zip(names, outcomes, strict=True) if raised is None]

    def _begin(self) -> None:
        if self._entered is not None:
            return
        try:
            frame = self._exchange(b"", time.monotonic() + HELLO_SECONDS)
            if frame.kind != HELLO or frame.nonce != self._nonce:
                raise ProtocolError("a child that does not greet")
        except (EOFError, ClockRanOut, ProtocolError):  # no code of theirs has run yet
            self._drain_log()
            said = (self.log.strip().splitlines() or ["no reason given"])[-1]
            if self._zygote.has_died():
                said = "the zygote has died"
            self._zygote.retire(f"a child could not enter the sandbox: {said}")
            raise infrastructure(f"the sandbox could not be entered: {said}") from None
        entered = tuple(protocol.decode(frame.body))
        if not set(self._expected or ()) <= set(entered):
            raise infrastructure(f"the sandbox had layers {entered}, not {self._expected}")
        self._entered = entered

    def _send_ahead(self, program: protocol.Prepared, nonce: bytes) -> bool:
        self._to_send.append((program, nonce))
        return True

    def _body_of(self, program: protocol.Prepared) -> bytes:
        number = self._zygote.numbers.get(id(program))
        return program.body if number is None else protocol.encode(number)

    def _transfer(self, out: bytes, need: int, deadline: float) -> bytes:
        self._unsent += out
        if self._unsent or self._to_send:
            self._send()
        while len(self._received) < need:
            ready = self._wait(deadline)
            if self._deaf and not ready:
                raise EOFError
            for descriptor, _ in ready:
                if descriptor == self._requests:
                    self._send()
                elif descriptor == self._results:
                    self._receive()
                else:
                    self._read_log()
        taken = bytes(memoryview(self._received)[:need])
        del self._received[:need]
        return taken

    def _wait(self, deadline: float) -> list[tuple[int, int]]:
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise ClockRanOut
        # a millisecond more, not a busy loop; none where the child will be told nothing more
        return self._poll.poll(0 if self._deaf else seconds * 1000 + 1)

    def _send(self) -> None:
        """As much as there is room for. What the child said before it hung up is still read."""
        while not self._deaf and self._load_up():
            try:
                del self._unsent[: os.write(self._requests, self._unsent[:_PIECE])]
            except BlockingIOError:
                break
            except BrokenPipeError:
                self._deaf = True
        wanted = not self._deaf and bool(self._unsent)
        if wanted and not self._sending:
            self._poll.register(self._requests, select.POLLOUT)
        elif self._sending and not wanted:
            self._poll.unregister(self._requests)
        self._sending = wanted

    def _load_up(self) -> bool:
        """Pack requests that go ahead, a pipe's worth at a time; whether there is any."""
        while self._to_send and len(self._unsent) < _PIECE:
            program, nonce = self._to_send.popleft()
            self._unsent += protocol.pack_frame(protocol.RUN, nonce, self._body_of(program))
        return bool(self._unsent)

    def _receive(self) -> None:
        piece = os.read(self._results, _AHEAD)
        if not piece:
            raise EOFError
        self._received += piece
        if len(self._received) > self._body_limit + HEADER.size + _AHEAD:
            raise ProtocolError("more than an answer may take")

    def _read_log(self) -> bool:
        """Take what was printed; False when there is nothing now, or ever again."""
        try:
            piece = os.read(self._log, 1 << 16)
        except BlockingIOError:
            return False
        if not piece:
            self._poll.unregister(self._log)
            self._logging = False
            return False
        self._take_output(piece)
        return True

    def _drain_log(self) -> None:
        try:
            while self._logging and self._read_log():
                pass
        except Exception:  # a flood: there is no process left to stop
            self._logging = False

    def _explain_end(self) -> Stopped:
        # A process ends a moment after its channels do; one that lives on has closed them.
        gone = select.poll()
        gone.register(self._pidfd, select.POLLIN)
        by_itself = bool(gone.poll(500))
        if not by_itself:
            self._kill()
        try:
            ended = self._zygote.wait_for(self._pid)
        except ZygoteDied as fault:
            return infrastructure(str(fault))
        self._drain_log()
        if not by_itself:
            return closed_its_channel()
        return explain(ended, self.limits, bytes(self._printed[-4096:]), self._zygote.resident)

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Kill the child, keep what it had printed, and free what it held."""
        if self._closed:
            return
        self._closed = True
        self._kill()
        self._drain_log()
        for descriptor in (self._requests, self._results, self._log, self._pidfd):
            os.close(descriptor)
        self._zygote.forget(self._pid)


def explain(ended: Ended, limits: Limits, printed: bytes, resident: int) -> Stopped:
    """What the end of a child that was not killed by us means.

    printed: the end of its log; resident: bytes that it had in memory at its start.
    """
    code = os.waitstatus_to_exitcode(ended.status)
    if code == -signal.SIGXCPU or (code == -signal.SIGKILL and ended.cpu >= limits.cpu):
        return out_of_processor_time(limits)
    # C code that gets no memory aborts, faults or exits, all of which have other causes too.
    used = (ended.resident - resident) / (limits.memory << 20)
    said_so = any(words in printed for words in _OUT_OF_MEMORY_WORDS)
    if used > 0.9 or said_so or code == WORKER_OUT_OF_MEMORY:
        return out_of_memory(limits)
    if code == -signal.SIGKILL:
        # Not ours, and a child can send none: the kernel's, for want of memory on the whole
        # machine, or an administrator's. One that took little of its share is not at fault.
        return out_of_memory(limits) if used > 0.5 else infrastructure(KILLED)
    return ended_with(code)
