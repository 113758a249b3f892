"""Our grader: the command as it is used, and the same work taken apart in this process."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.evaluation import OpenSession
from autograder.grading import DEFAULT_LIMITS, Assignment, grade_submission
from autograder.observe import worker
from autograder.observe.session import Answer, Session
from autograder.opening import observer, teach
from autograder.result import SubmissionResult
from benchmarks.course import ROOT, Class
from benchmarks.processes import Measured, measure

RUN_SEED = "benchmark"  # the same cases in every measurement


class Ours:
    """`autograder grade` on a class."""

    title = "autograder grade"

    def __init__(
        self, class_: Class, folder: Path, workers: int, options: Sequence[str] = ()
    ) -> None:
        """options: more of `autograder grade`."""
        self.class_ = class_
        self._more = options
        self.count = class_.size
        self.workers = workers
        self.document: dict[str, Any] = {}
        self.course = ROOT
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def grade(self) -> Measured:
        """The measured command: full cases, nothing kept from an earlier run."""
        json_file = self._folder / "result.json"
        command = [sys.executable, "-m", "autograder.cli", "grade", self.class_.assignment]
        command += ["--course", str(self.course)]
        command += ["--submitted", str(self.class_.submitted), "--json", str(json_file)]
        command += ["--no-resume", "--workers", str(self.workers), "--seed", RUN_SEED]
        # the code is ours; the isolation that there was stands in the table
        command += ["--allow-unsandboxed", *self.options(), *self._more]
        measured = measure(command, self._folder, os.environ)
        self.document = json.loads(json_file.read_text("utf-8"))
        return measured

    def options(self) -> list[str]:
        """On top of what is graded how."""
        return []

    def wrongly_graded(self) -> list[str]:
        """Students whose score is not what their code deserves, or who have none."""
        found = {item["student"]: item for item in self.document["submissions"]}
        return [
            student
            for student, is_right in self.class_.right.items()
            if student not in found
            or found[student]["outcome"] != "graded"
            or (found[student]["score"] == found[student]["max_score"]) != is_right
        ]


# --- taken apart -----------------------------------------------------------------------


@dataclass
class Clock:
    """Seconds by what they were spent on."""

    spent: dict[str, float] = field(default_factory=dict)

    def timed(self, name: str, action: Callable[..., Any], *arguments: Any) -> Any:
        start = time.perf_counter()
        try:
            return action(*arguments)
        finally:
            self.spent[name] = self.spent.get(name, 0.0) + time.perf_counter() - start


class TimedSession:
    """A session that says how long its parts took."""

    def __init__(self, session: Session, clock: Clock) -> None:
        self._session = session
        self._replying: Any = session  # those of a pool are
        self._clock = clock

    def load(self, statements: Sequence[dict[str, Any]], options: dict[str, Any]) -> list[Any]:
        found: list[Any] = self._clock.timed("load", self._session.load, statements, options)
        return found

    def run(self, program: dict[str, Any], answer: Answer | None = None) -> Any:
        return self._clock.timed("calls", self._session.run, program, answer)

    def reply_to(self, program: dict[str, Any]) -> bytes:
        found: bytes = self._clock.timed("calls", self._replying.reply_to, program)
        return found

    def read(self, reply: bytes) -> list[Any]:
        return self._replying.read(reply)

    def close(self) -> None:
        self._clock.timed("close", self._session.close)


class BareSession:
    """The worker's own functions in this process, with no wall and no channel: the floor.

    For code that is known to be harmless only.
    """

    def __init__(self, clock: Clock) -> None:
        self._namespace: dict[str, Any] = {"__name__": "submission"}
        self._clock = clock

    def load(self, statements: Sequence[dict[str, Any]], options: dict[str, Any]) -> list[Any]:
        # no stand-ins: they would take the place of the grader's own modules
        return self._clock.timed("calls", worker.load, statements, self._namespace, ())

    def run(self, program: dict[str, Any], answer: Answer | None = None) -> Any:
        return self._clock.timed("calls", worker.run, program, self._namespace)

    def close(self) -> None:
        self._namespace.clear()


@dataclass(frozen=True)
class Parts:
    """Seconds: once for a run, and of one submission after the other on one core.

    floor: the calls alone, in one process. judged: with reading and judging.
    """

    once: dict[str, float]
    each: dict[str, float]
    floor: float
    judged: float


def take_apart(class_: Class, workers: int) -> Parts:
    """Where the time goes, measured with one submission at a time."""
    _use_one_thread()
    once = Clock()
    assignment: Assignment = once.timed(
        "draw cases", Assignment.draw, ROOT, class_.assignment, RUN_SEED
    )
    bare = Clock()

    def in_this_process(**limits: int) -> Session:
        return BareSession(bare)

    with _silence():  # what a submission prints is its own
        _grade_all(class_, assignment, in_this_process)  # first uses, which happen once
        bare.spent.clear()
        start = time.perf_counter()
        _grade_all(class_, assignment, in_this_process)
        judged = (time.perf_counter() - start) / class_.size
    floor = bare.spent["calls"] / class_.size

    opening = observer(assignment, ROOT, DEFAULT_LIMITS, workers, allow_unsandboxed=True)
    open_session, _ = once.timed("start zygotes", opening.__enter__)
    try:
        once.timed("teach them the cases", teach, open_session, assignment.specs)
        each = _each(class_, assignment, open_session)
    finally:
        opening.__exit__(None, None, None)
    return Parts(once.spent, each, floor, judged)


def _use_one_thread() -> None:
    """As a submission's process has it."""
    with contextlib.suppress(ImportError):
        import torch

        torch.set_num_threads(1)


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
        yield


def _each(class_: Class, assignment: Assignment, open_session: OpenSession) -> dict[str, float]:
    clock = Clock()

    def open_timed(**limits: int) -> Session:
        return TimedSession(clock.timed("spawn", lambda: open_session(**limits)), clock)

    start = time.perf_counter()
    _grade_all(class_, assignment, open_timed)
    total = time.perf_counter() - start
    reading = Clock()
    for folder in _folders(class_):
        reading.timed("read", assignment.choose, folder)
    parts = {"read": reading.spent["read"], **clock.spent}
    parts["judge and rest"] = total - sum(parts.values())
    return {name: seconds / class_.size for name, seconds in parts.items()}


def _grade_all(
    class_: Class, assignment: Assignment, open_session: OpenSession
) -> list[SubmissionResult]:
    return [
        grade_submission(assignment, folder.parent.name, folder, open_session, "none")
        for folder in _folders(class_)
    ]


def _folders(class_: Class) -> list[Path]:
    return [class_.submitted / student / class_.assignment for student in class_.right]
