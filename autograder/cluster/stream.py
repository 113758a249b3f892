"""Batches out to the workers, results in as they complete: each submission once.

Dask may run a task twice, lose it with its worker, or let it come back late. So a batch is sent to
one worker, and what it brings is taken by the key of each submission, once. When a worker dies,
nobody knows which submission it was: all that it had are sent again, each by itself and alone on
its worker, so that one that kills workers is found and harms no other.
"""

from __future__ import annotations

import itertools
import math
import queue
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from distributed import KilledWorker

from autograder.cluster.connecting import Cluster, differing
from autograder.cluster.hosting import Report, grade_batch
from autograder.cluster.parcels import (
    BATCH_BYTES,
    Course,
    Graded,
    Item,
    digest,
    items,
    packed,
    unpacked,
)
from autograder.grading import Assignment, Earlier, ungraded
from autograder.opening import CannotGrade
from autograder.result import Isolation, SubmissionResult

# Worker deaths beside one submission after which it is given up, and errors of our own in it.
MOST_DEATHS = 3
MOST_FAULTS = 2
# Submissions in one batch, and batches that each thread of a worker has at a time: one to work
# at, and one so that it need not wait for the next.
MOST_ITEMS = 64
AHEAD = 2
# Seconds between two looks at who is there, and for which a run waits for a worker to come back.
LOOK = 0.5
PATIENCE = 600.0
# Seconds to fetch what a task brought.
FETCH = 30.0

_RUNGS: tuple[Isolation, ...] = ("strong+", "strong", "basic", "none")


@dataclass
class _Host:
    """A worker that grades. token: of its process; another one may come back at its address."""

    address: str
    token: str
    isolation: Isolation
    threads: int
    sent: set[str] = field(default_factory=set)
    is_alone: bool = False


@dataclass(frozen=True)
class _Sent:
    """A batch that is out."""

    batch: list[Item]
    host: _Host
    future: Any


class Stream:
    """One class over a cluster. Use: `with Stream(…) as stream: for result in stream.results()`.

    isolation: the weakest of all workers that grade, or have graded.
    """

    def __init__(
        self,
        cluster: Cluster,
        course: Course,
        assignment: Assignment,
        submissions: Mapping[str, Path],
        earlier: Mapping[str, Earlier],
        notice: Callable[[str], None] | None = None,
    ) -> None:
        """notice: takes a sentence about a worker; by default it goes to standard error."""
        self.isolation: Isolation = "strong+"
        self._cluster = cluster
        self._course = course
        self._assignment = assignment
        self._key = course.key
        self._items = items(self._key, assignment, submissions, earlier)
        self._left = len(submissions)  # not sent so far
        self._notice = notice or _to_stderr
        self._hosts: dict[str, _Host] = {}
        self._refused: dict[str, str] = {}
        self._unsaid: list[str] = []
        self._sent: dict[str, _Sent] = {}
        self._landed: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._again: deque[list[Item]] = deque()
        self._alone: deque[Item] = deque()
        self._open: dict[str, Item] = {}  # by key: sent at least once, without a result
        self._given_up: list[SubmissionResult] = []
        self._number = itertools.count()
        self._seconds = 0.0  # for one submission on one thread, on average of late
        self._looked = -math.inf
        self._nobody_since: float | None = None

    def __enter__(self) -> Stream:
        self._stack = ExitStack()
        self._plugin = self._stack.enter_context(self._cluster.hosting(self._course))
        return self

    def __exit__(self, *details: object) -> None:
        for sent in self._sent.values():
            sent.future.release()
        self._stack.close()

    def results(self) -> Iterator[SubmissionResult]:
        """Every submission's result, as they complete."""
        while True:
            self._look_around()
            self._send_all()
            yield from self._take_given_up()
            if not self._sent and not self._left and not self._alone and not self._again:
                return
            for future in self._wait():
                yield from self._take(future)

    # --- who is there -----------------------------------------------------------------

    def _look_around(self) -> None:
        """Notice workers that joined and that went."""
        now = time.monotonic()
        if now - self._looked < LOOK:
            return
        self._looked = now
        threads = self._cluster.threads()
        for host in [host for host in self._hosts.values() if host.address not in threads]:
            self._lose(host)
        for address in self._refused.keys() - threads.keys():
            del self._refused[address]
        fresh = [a for a in threads if a not in self._hosts and a not in self._refused]
        if fresh:
            for address, report in self._cluster.reports(fresh).items():
                self._greet(address, report, threads[address])
        self._see_that_somebody_is_there(threads, now)

    def _greet(self, address: str, report: Report, threads: int) -> None:
        wrong = differing(report.versions or {})
        if report.state == "absent":  # it is being made ready: asked again at the next look
            return
        if report.state == "refused" or wrong:
            self._refused[address] = reason = report.reason or f"it {wrong}"
            self._unsaid.append(f"the worker {address} does not grade: {reason}")
            return
        self._hosts[address] = _Host(address, report.token, report.isolation, threads)
        self.isolation = max(self.isolation, report.isolation, key=_RUNGS.index)

    def _see_that_somebody_is_there(self, threads: Mapping[str, int], now: float) -> None:
        if self._hosts:
            self._nobody_since = None
            while self._unsaid:  # where nobody grades, that one sentence is enough
                self._notice(self._unsaid.pop(0))
            return
        if threads and self._refused.keys() >= threads.keys():
            reason = next(iter(self._refused.values()))
            raise CannotGrade(f"no worker of {self._cluster.name} grades: {reason}")
        if self._nobody_since is None:
            self._nobody_since = now
            if self._open:
                self._notice(f"no worker of {self._cluster.name} is left; waiting for one to join")
        if now - self._nobody_since > PATIENCE:
            raise CannotGrade(
                f"no worker of {self._cluster.name} is left; what was graded is kept: start "
                "workers, and run the same command again"
            )

    def _lose(self, host: _Host) -> None:
        """A worker's process is gone: what it had is sent again, each by itself."""
        self._hosts.pop(host.address, None)
        for key in [*host.sent]:
            sent = self._sent.pop(key)
            sent.future.release()
            for item in sent.batch:
                item.deaths = item.deaths + 1 if host.is_alone else max(item.deaths, 1)
                if item.deaths < MOST_DEATHS:
                    self._alone.append(item)
                else:
                    self._give_up(item, f"{item.deaths} workers ended while they graded it")
        host.sent.clear()

    # --- out --------------------------------------------------------------------------

    def _send_all(self) -> None:
        """Give every worker something to do, and something to go on with."""
        kept_free = 0
        for host in self._hosts.values():
            while not host.is_alone and len(host.sent) < AHEAD * host.threads:
                if kept_free < len(self._alone):
                    if not host.sent:
                        host.is_alone = True
                        self._send(host, [self._alone.popleft()])
                    else:  # it gets nothing more until it is free for one of these
                        kept_free += 1
                    break
                batch = self._next_batch()
                if not batch:
                    break
                self._send(host, batch)

    def _next_batch(self) -> list[Item]:
        """As many as take about a second; fewer near the end, so that all end together."""
        if self._again:
            return self._again.popleft()
        threads = sum(host.threads for host in self._hosts.values())
        # the client takes in some twenty batches a second
        most = (1.0 + threads / 10) / self._seconds if self._seconds else 4
        most = min(most, MOST_ITEMS, math.ceil(self._left / (AHEAD * threads)))
        batch: list[Item] = []
        size = 0
        while self._left and len(batch) < max(most, 1) and size < BATCH_BYTES:
            item = next(self._items)
            self._left -= 1
            size += item.size
            batch.append(item)
        return batch

    def _send(self, host: _Host, batch: list[Item]) -> None:
        key = f"grade-{self._key}-{digest(*(i.key for i in batch))}-{next(self._number)}"
        self._open.update((item.key, item) for item in batch)
        future = self._cluster.client.submit(
            grade_batch,
            self._plugin,
            host.token,
            packed(batch),
            key=key,
            workers=[host.address],
            allow_other_workers=False,
            pure=False,
        )
        self._sent[key] = _Sent(batch, host, future)
        host.sent.add(key)
        future.add_done_callback(self._landed.put)

    # --- in ---------------------------------------------------------------------------

    def _wait(self) -> Iterator[Any]:
        """Tasks that are done; waits for one, but not long."""
        try:
            yield self._landed.get(timeout=LOOK)
            while True:
                yield self._landed.get_nowait()
        except queue.Empty:
            return

    def _take(self, future: Any) -> Iterator[SubmissionResult]:
        sent = self._sent.get(future.key)
        if sent is None:  # it was on a worker that is gone: its submissions are on others by now
            return
        if future.status == "finished":
            found = self._fetched(future)
            if found is not None:
                self._is_back(sent)
                yield from self._accept(unpacked(found))
            else:  # by another process at the same address: the one that was asked is gone
                self._lose(sent.host)
        elif future.status == "error":
            problem = future.exception()
            if isinstance(problem, KilledWorker):
                self._lose(sent.host)
            else:
                self._is_back(sent)
                self._failed(sent.batch, problem)
        else:  # cancelled, as when the scheduler is gone: the next look will tell
            self._is_back(sent)
            self._again.append(sent.batch)

    def _fetched(self, future: Any) -> bytes | None:
        """What a task brought; None where it cannot be had any more."""
        try:
            found: bytes | None = future.result(timeout=FETCH)
        except (OSError, CancelledError):  # its worker ended just now; a timeout is one of these
            return None
        return found

    def _is_back(self, sent: _Sent) -> None:
        self._sent.pop(sent.future.key)
        sent.host.sent.discard(sent.future.key)
        sent.host.is_alone = False
        sent.future.release()

    def _accept(self, found: list[Graded]) -> Iterator[SubmissionResult]:
        for graded in found:
            item = self._open.pop(graded.key, None)
            if item is not None:
                yield _with_kept(graded, item)
        # what is unreadable takes no time, and is no measure of the others
        seconds = max(sum(graded.result.seconds for graded in found) / len(found), 0.001)
        self._seconds = (self._seconds + seconds) / 2 if self._seconds else seconds

    def _failed(self, batch: list[Item], problem: BaseException) -> None:
        """A fault of ours in a batch: once more, each by itself."""
        for item in batch:
            item.faults += 1
            if item.faults < MOST_FAULTS:
                self._again.append([item])
            else:
                self._give_up(item, f"{type(problem).__name__}: {problem}")

    def _give_up(self, item: Item, reason: str) -> None:
        self._open.pop(item.key, None)
        self._given_up.append(ungraded(self._assignment, item.student, reason, self.isolation))

    def _take_given_up(self) -> Iterator[SubmissionResult]:
        while self._given_up:
            yield self._given_up.pop()


def _with_kept(graded: Graded, item: Item) -> SubmissionResult:
    """The result, with results of before as the very objects that they were: see `Regrade`."""
    if item.earlier is None or not graded.kept:
        return graded.result
    before = {one.name: one for one in item.earlier.result.exercises}
    exercises = tuple(
        before[one.name] if one.name in graded.kept else one for one in graded.result.exercises
    )
    return msgspec.structs.replace(graded.result, exercises=exercises)


def _to_stderr(sentence: str) -> None:
    print(f"autograder: {sentence}", file=sys.stderr, flush=True)
