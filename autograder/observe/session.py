"""A session with one process that holds one submission, whatever kind of process it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

StopReason = Literal["timed_out", "out_of_memory", "crashed", "infrastructure"]

# The rungs of the ladder, best first: what the layers that a child really entered amount to.
Isolation = Literal["strong+", "strong", "basic", "none"]


@dataclass(frozen=True)
class Question:
    """A call of a submission that the grader is to answer, as its process has put it.

    name: of the exercise. args, kwargs: in plain form. cotangents: None when the results are
    wanted; else one for each result, or None, and the answer is a list of the gradients for
    the tensors among the arguments that require one. All of it can be anything.
    """

    name: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    cotangents: Sequence[Any] | None = None

    @classmethod
    def read(cls, plain: Any) -> Question:
        """From its plain form; ValueError when it is none."""
        if not isinstance(plain, dict):
            raise ValueError("a question of an unknown form")
        name, args, kwargs = plain.get("name"), plain.get("args"), plain.get("kwargs")
        cotangents = plain.get("cotangents")
        if (
            not isinstance(name, str)
            or not isinstance(args, list)
            or not isinstance(kwargs, dict)
            or not (cotangents is None or isinstance(cotangents, list))
        ):
            raise ValueError("a question of an unknown form")
        return cls(name, args, kwargs, cotangents)


# Returns a value in plain form, or raises Refused.
Answer = Callable[[Question], Any]


@dataclass(frozen=True)
class Limits:
    """What one submission may use.

    wall: seconds for one request (loading, or one case).
    total: seconds for the whole submission. cpu: seconds of processor time for it.
    memory: MiB above what the process has at its start. output: bytes printed.
    processes: processes and threads beside its own; the sandbox can give none.
    files: open at a time, five of which are its standard streams and the grader's channels.
    own: names of those that an exercise has set for itself, which the words for a student say.
    """

    wall: float = 10.0
    total: float = 60.0
    cpu: int = 60
    memory: int = 1024
    output: int = 1 << 20
    processes: int = 0
    files: int = 64
    own: frozenset[str] = frozenset()

    def for_exercise(self, **own: int) -> Limits:
        """These, with the limits that an exercise has set for itself."""
        return replace(self, **own, own=frozenset(own)) if own else self

    def whose(self, name: str) -> str:
        """Who may use no more of it: “a submission”, or “this exercise” where it is its own."""
        return "this exercise" if name in self.own else "a submission"


class Stopped(Exception):
    """The process can be asked nothing more. `message` names the limit or the cause."""

    def __init__(self, reason: StopReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Refused(Exception):
    """The grader does not answer this call; the student's call fails with the message."""


class Session(Protocol):
    """One submission in one process. Every method may raise Stopped."""

    def load(self, statements: Sequence[dict[str, Any]], options: dict[str, Any]) -> list[Any]:
        """Execute the statements in order.

        A statement is {"source", "line", "cell", "binds"}; one that raises does not stop the
        others. Returns, for each, None or a raised exception in its plain form.
        """

    def run(self, program: dict[str, Any], answer: Answer | None = None) -> Any:
        """Run a program (plain form); returns the outcome of each step (plain form)."""

    def close(self) -> None:
        """End the process and free what it held. May be called twice."""


@runtime_checkable
class Replying(Protocol):
    """A session whose replies can be had as they came, and read later or never."""

    def reply_to(self, program: dict[str, Any]) -> bytes:
        """Run a program; the bytes of the reply. Raises Stopped."""

    def read(self, reply: bytes) -> list[Any]:
        """The outcome of each step (plain form). Raises Stopped where it is no reply."""
