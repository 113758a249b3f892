"""Requests and replies with a worker in another process, whatever carries the bytes.

The order of a conversation, the nonce, the clocks and the words for a student are here;
`pool` (sandboxed children) and `spawned` (plain processes) move the bytes.
"""

from __future__ import annotations

import abc
import signal
import time
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, Self

from autograder.observe import protocol
from autograder.observe.protocol import HEADER, Frame, ProtocolError
from autograder.observe.session import Answer, Limits, Question, Refused, Stopped

# The worker's first frame: sent once it is ready and before it has seen any student code,
# so that what happens earlier is ours and what happens later is theirs.
HELLO = 15

# Exit codes of a worker. A submission can end with the same: nothing but words follows.
WORKER_FAILED, WORKER_OUT_OF_MEMORY = 96, 95

# What PyTorch says when it gets no memory; a submission that raises the same gains nothing.
_TORCH_OUT_OF_MEMORY = "DefaultCPUAllocator: can't allocate memory"

INFRASTRUCTURE = (
    "The grader's own process failed ({cause}). This is not the fault of your code and costs "
    "no points: the submission has to be graded again."
)


class ClockRanOut(Exception):
    """The other side has not said what was waited for within the time it had."""


class OutputFlood(Exception):
    """More was printed than the limit allows."""


def infrastructure(cause: str) -> Stopped:
    """What is raised when the fault is ours."""
    return Stopped("infrastructure", INFRASTRUCTURE.format(cause=cause))


def out_of_memory(limits: Limits) -> Stopped:
    """What is raised when the process died for want of memory."""
    return Stopped(
        "out_of_memory",
        f"Your code needed more than the {limits.memory} MiB of memory that "
        f"{limits.whose('memory')} may use: look for an array that grows in a loop or has an "
        "axis too many.",
    )


def memory_hint(limits: Limits) -> str:
    """Said with a MemoryError, which the process has survived."""
    return (
        f"{limits.whose('memory')} may use {limits.memory} MiB: look for an array that grows "
        "in a loop or has an axis too many"
    )


def files_hint(limits: Limits) -> str:
    """Said when no more files can be opened."""
    return (
        f"{limits.whose('files')} may have {limits.files} files open: close each one, as "
        "`with open(…)` does"
    )


def out_of_processor_time(limits: Limits) -> Stopped:
    """What is raised when the process was ended by its limit of processor time."""
    return Stopped(
        "timed_out",
        f"Your code used more than the {limits.cpu} s of processor time that "
        f"{limits.whose('cpu')} has: look for a loop that never ends.",
    )


def closed_its_channel() -> Stopped:
    """What is raised when the process lives on but can no longer be heard."""
    return Stopped(
        "crashed",
        "Your code closed the channel on which its results are sent: remove calls that close "
        "file descriptors, such as os.close and os.closerange.",
    )


def crashed(cause: str) -> Stopped:
    """What is raised when the interpreter itself was brought down."""
    return Stopped(
        "crashed",
        f"Your code crashed the Python interpreter ({cause}): look for endless recursion or "
        "code that goes around Python, such as ctypes.",
    )


def ended_with(code: int) -> Stopped:
    """What is raised for an exit code that no limit explains; negative: a signal."""
    if code >= 0xC0000000:  # Windows: an exception that nothing handled
        return crashed(f"error 0x{code:X}")
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            return crashed(f"signal {-code}")
        return crashed(f"{name}, {(signal.strsignal(-code) or 'no description').lower()}")
    if code == WORKER_FAILED:
        return Stopped(
            "crashed",
            "The part of the grader that runs beside your code failed: remove code that changes "
            "builtins, the modules of Python or NumPy, or file descriptors.",
        )
    return Stopped(
        "crashed",
        f"Your code ended the process (exit code {code}): remove calls such as os._exit.",
    )


class Conversation(abc.ABC):
    """A Session over some channel. Not for several threads at a time."""

    limits_files = False  # whether Limits.files is kept

    def __init__(self, limits: Limits, body_limit: int = protocol.DEFAULT_BODY_LIMIT) -> None:
        self.limits = limits
        self.wall = limits.wall  # of the requests to come; an exercise may have its own
        self._body_limit = body_limit
        self.spent = 0.0  # seconds of the submission's total, also by sessions before this one
        self._printed = bytearray()
        self._stopped: Stopped | None = None
        self._coming: deque[tuple[Any, bytes]] = deque()  # sent ahead: programs, their nonces

    # --- what carries the bytes -------------------------------------------------------

    @abc.abstractmethod
    def _transfer(self, out: bytes, need: int, deadline: float) -> bytes:
        """Send all of `out` and return the next `need` bytes.

        Raises ClockRanOut, OutputFlood, or EOFError when the other side has hung up.
        """

    @abc.abstractmethod
    def _begin(self) -> None:
        """Wait until the worker is ready; the first request calls it. May raise Stopped."""

    @abc.abstractmethod
    def _explain_end(self) -> Stopped:
        """Why the other side hung up."""

    @abc.abstractmethod
    def close(self) -> None:
        """End the process and free what it held. May be called twice."""

    def _send_ahead(self, program: protocol.Prepared, nonce: bytes) -> bool:
        """Send a request whose reply nobody waits for yet; False where that cannot be done."""
        return False

    def _body_of(self, program: protocol.Prepared) -> bytes:
        """A program as it is sent: whole, or in a way that the other side knows it by."""
        return program.body

    # --- Session ----------------------------------------------------------------------

    def ahead(self, programs: Iterable[protocol.Prepared]) -> None:
        """Send programs before their turn, so that the worker waits for nobody between them.

        `run` has to be called with the same ones in the same order, and its clock starts then:
        the worker has no less time than if each were sent in its turn. A channel that cannot
        do that sends each in its turn.
        """
        for program in programs:
            nonce = protocol.fresh_nonce()
            if self._stopped is not None or not self._send_ahead(program, nonce):
                return
            self._coming.append((program, nonce))

    def load(self, statements: Sequence[dict[str, Any]], options: dict[str, Any]) -> list[Any]:
        """Execute the statements in order; for each None or the exception it raised."""
        body = {"statements": list(statements), "options": options}
        outcomes = self.read(self._request(protocol.LOAD, protocol.LOADED, body, None))
        if len(outcomes) != len(statements):
            raise self._stop(_not_the_worker())
        return outcomes

    def run(self, program: dict[str, Any], answer: Answer | None = None) -> list[Any]:
        """Run a program in plain form; the outcome of each step in plain form."""
        return self.read(self._request(protocol.RUN, protocol.OBSERVED, program, answer))

    def reply_to(self, program: dict[str, Any]) -> bytes:
        """Run a program; its reply as it came, for `read`, in this order or any other."""
        return self._request(protocol.RUN, protocol.OBSERVED, program, None)

    def read(self, reply: bytes) -> list[Any]:
        """The outcomes in plain form; Stopped, also for all that follows, where it has none."""
        try:
            outcomes = protocol.decode(reply)
        except ProtocolError as fault:
            raise self._stop(_not_the_worker(str(fault))) from None
        if not isinstance(outcomes, list):
            raise self._stop(_not_the_worker())
        self._name_limits(outcomes)
        return outcomes

    def try_each(self, request: dict[str, Any]) -> list[Any]:
        """Variants of some statements, each executed and the program run: see `worker.try_each`.

        Returns, for each, its outcomes in plain form or None, and then what was spent.
        """
        results = self.read(self._request(protocol.TRY, protocol.TRIED, request, None))
        if len(results) != len(request["trials"]) + 1:
            raise self._stop(_not_the_worker())
        return results

    @property
    def log(self) -> str:
        """What the submission has printed, up to the limit."""
        return self._printed[: self.limits.output].decode("utf-8", "replace")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()

    # --- one request ------------------------------------------------------------------

    def _request(self, kind: int, expected: int, value: Any, answer: Answer | None) -> bytes:
        """The body of the reply, of the expected kind and not looked into."""
        if self._stopped is not None:
            raise self._stopped
        # a TypeError here is a mistake of the caller
        if self._coming:
            expected_next, nonce = self._coming.popleft()
            if expected_next is not value:
                raise RuntimeError("another request was sent ahead")
            out = b""
        else:
            nonce = protocol.fresh_nonce()
            prepared = isinstance(value, protocol.Prepared)
            body = self._body_of(value) if prepared else protocol.encode(value)
            out = protocol.pack_frame(kind, nonce, body)
        try:
            self._begin()
            reply = self._converse(out, nonce, answer)
            if reply.kind == protocol.REFUSED:
                raise Stopped("crashed", _text(protocol.decode(reply.body)))
            if reply.kind != expected:
                raise _not_the_worker()
            return reply.body
        except Stopped as stopped:
            raise self._stop(stopped) from None
        except ProtocolError as fault:
            raise self._stop(_not_the_worker(str(fault))) from None
        except ClockRanOut:
            raise self._stop(self._too_slow()) from None
        except OutputFlood:
            raise self._stop(_flooded(self.limits)) from None
        except EOFError:
            raise self._stop(self._explain_end()) from None

    def _name_limits(self, outcomes: list[Any]) -> None:
        """Where a limit was met as an exception, say in its message which one it was."""
        for outcome in outcomes:
            raised = outcome.get("raised", outcome) if isinstance(outcome, dict) else None
            message = raised.get("message") if isinstance(raised, dict) else None
            if not isinstance(raised, dict) or not isinstance(message, str):
                continue
            if _TORCH_OUT_OF_MEMORY in message:  # it raises a RuntimeError of many lines
                raised["type"], raised["bases"], message = "MemoryError", ["Exception"], ""
            if raised.get("type") == "MemoryError":
                hint = memory_hint(self.limits)
            elif self.limits_files and "Too many open files" in message:
                hint = files_hint(self.limits)
            else:
                continue
            raised["message"] = f"{message} ({hint})" if message else hint

    def _converse(self, out: bytes, nonce: bytes, answer: Answer | None) -> Frame:
        """Send a request and answer what the worker asks until its reply comes."""
        left = min(self.wall, self.limits.total - self.spent)
        while True:
            started = time.monotonic()
            try:
                frame = self._exchange(out, started + left)
            finally:
                took = time.monotonic() - started
                self.spent += took
                left -= took
            if frame.nonce != nonce:
                raise ProtocolError("a message with a wrong nonce")
            if frame.kind != protocol.ASK:
                return frame
            asked = time.monotonic()
            reply = _answer(protocol.decode(frame.body), answer)
            out = protocol.pack_frame(protocol.ANSWER, nonce, protocol.encode(reply))
            if "refused" in reply:  # what takes time to be answered is not the worker's; asking is
                took = time.monotonic() - asked
                self.spent += took
                left -= took

    def _exchange(self, out: bytes, deadline: float) -> Frame:
        header = self._transfer(out, HEADER.size, deadline)
        nonce, kind, length = protocol.unpack_header(header, self._body_limit)
        return Frame(nonce, kind, self._transfer(b"", length, deadline))

    def _stop(self, stopped: Stopped) -> Stopped:
        """Remember why, since every later request has the same answer; end the process."""
        self._stopped = stopped
        self.close()
        return stopped

    def _too_slow(self) -> Stopped:
        limits = self.limits
        if self.spent >= limits.total:
            return Stopped(
                "timed_out",
                f"Your code used up the {limits.total:g} s that a whole submission has: "
                "look for a loop that is longer than it needs to be.",
            )
        return Stopped(
            "timed_out",
            f"Your code gave no answer within {self.wall:g} s, the limit for one request: "
            "look for a loop that never ends.",
        )

    def _take_output(self, piece: bytes) -> None:
        """Keep what was printed, up to a byte more than the limit."""
        room = self.limits.output + 1 - len(self._printed)
        self._printed += piece[: max(room, 0)]
        if len(self._printed) > self.limits.output:
            raise OutputFlood


def _answer(question: Any, answer: Answer | None) -> dict[str, Any]:
    """The grader's answer to an ASK, as the body of an ANSWER."""
    try:
        read = Question.read(question)
    except ValueError as fault:
        raise ProtocolError(str(fault)) from None
    if answer is None:
        return {"refused": f"nobody answers for {read.name[:100]} here"}
    try:
        return {"value": answer(read)}
    except Refused as refused:
        return {"refused": str(refused)}


def _text(value: Any) -> str:
    known = isinstance(value, str) and value
    return str(value) if known else "Your code returned something that cannot be compared."


def _not_the_worker(detail: str = "a reply of an unknown form") -> Stopped:
    return Stopped(
        "crashed",
        f"The result channel carried something else than results ({detail}): your code must "
        "not write to file descriptors or change the grader's own functions.",
    )


def _flooded(limits: Limits) -> Stopped:
    size = limits.output
    amount = f"{size / 2**20:g} MiB" if size >= 2**20 else f"{size} bytes"
    return Stopped(
        "crashed",
        f"Your code printed more than the {amount} that {limits.whose('output')} may print: "
        "remove the print from the loop.",
    )
