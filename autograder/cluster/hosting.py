"""What runs on a Dask worker: it holds a course and its sandbox, and grades batches of submissions.

Dask gives the plug-in to every worker that there is and to every one that joins later.
"""

from __future__ import annotations

import asyncio
import gc
import secrets
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from distributed import SchedulerPlugin, WorkerPlugin, get_worker

from autograder.cluster.parcels import Course, Graded, Item, packed, unpacked, versions
from autograder.grading import Assignment, grade_submission
from autograder.observe.session import Session
from autograder.opening import observer, teach
from autograder.result import Isolation


@dataclass(frozen=True)
class Report:
    """How a worker is placed to grade a course. token: of this very process and course.

    reason: why it does not grade, in a sentence that ends with what to do.
    """

    state: Literal["absent", "ready", "refused"]
    token: str = ""
    isolation: Isolation = "none"
    reason: str = ""
    versions: dict[str, str] | None = None


@dataclass(frozen=True)
class _Open:
    """An open course."""

    assignment: Assignment
    open_session: Callable[..., Session]


class Hosting(WorkerPlugin):
    """Holds the course and its zygotes on a worker for as long as the run takes."""

    def __init__(self, name: str, course: Course) -> None:
        self.name = name
        self.course = course
        self.report = Report("absent")
        self._open: _Open | None = None

    async def setup(self, worker: Any) -> None:
        """Unpack the course and start the zygotes, one for each of the worker's threads."""
        self._lock = threading.Lock()
        self._stack, self._over = ExitStack(), False
        scratch, threads = Path(worker.local_directory), int(worker.state.nthreads)
        # it takes seconds, in which the worker has to answer its scheduler
        await asyncio.to_thread(self._prepare, scratch, threads)

    async def teardown(self, worker: Any) -> None:
        """End the zygotes, and delete the folder with the solutions."""
        await asyncio.to_thread(self._close)

    def grade(self, items: list[Item]) -> list[Graded]:
        """Grade one submission after the other."""
        assert self._open is not None
        return [self._graded(self._open, item) for item in items]

    def _graded(self, opened: _Open, item: Item) -> Graded:
        result = grade_submission(
            opened.assignment,
            item.student,
            item.handed,
            opened.open_session,
            self.report.isolation,
            item.earlier,
        )
        before = {} if item.earlier is None else {e.name: e for e in item.earlier.result.exercises}
        kept = frozenset(one.name for one in result.exercises if before.get(one.name) is one)
        return Graded(item.key, result, kept)

    def _prepare(self, scratch: Path, threads: int) -> None:
        about = versions("numpy")
        try:
            # open to this user alone; Dask clears its scratch space of workers that were killed
            made = TemporaryDirectory(prefix="course-", dir=scratch, ignore_cleanup_errors=True)
            folder = Path(self._stack.enter_context(made))
            assignment = self.course.unpack(folder)
            about = versions(assignment.framework)
            limits, trusted = self.course.limits, self.course.allow_unsandboxed
            walls = observer(assignment, folder, limits, threads, trusted)
            open_session, isolation = self._stack.enter_context(walls)
            teach(open_session, assignment.specs)
        except Exception as fault:
            self._stack.close()
            known = type(fault).__module__.startswith("autograder")
            reason = str(fault) if known else f"{type(fault).__name__}: {fault}"
            self.report = Report("refused", reason=reason, versions=about)
            return
        gc.collect()
        gc.freeze()  # what lives as long as the run is not gone through again and again
        self._stack.callback(gc.unfreeze)
        with self._lock:
            if self._over:  # the run ended while this was made ready
                self._stack.close()
                return
            self._open = _Open(assignment, open_session)
            self.report = Report("ready", secrets.token_hex(8), isolation, versions=about)

    def _close(self) -> None:
        with self._lock:
            is_ready = self.report.state == "ready"
            self.report, self._open, self._over = Report("absent"), None, True
            if is_ready:
                self._stack.close()


def grade_batch(name: str, token: str, batch: bytes) -> bytes | None:
    """A task: the results of a packed list of items, packed.

    None where this process is not the one that was asked, or does not hold the course any more.
    """
    plugin = get_worker().plugins.get(name)
    if plugin is None or plugin.report.token != token:
        return None
    return packed(plugin.grade(unpacked(batch)))


def report_of(name: str, dask_worker: Any) -> Report:
    """How a worker is placed; Dask gives the worker."""
    plugin = dask_worker.plugins.get(name)
    return Report("absent") if plugin is None else plugin.report


class Leaving(SchedulerPlugin):
    """Takes a course from the workers when its client is gone without a word, by kill -9 say."""

    def __init__(self, client: str, name: str) -> None:
        self.client = client
        self.name = f"{name}-leaving"
        self._hosting = name

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Dask calls this whenever a client has gone."""
        if client == self.client:
            scheduler.loop.add_callback(self._take_away, scheduler)

    async def _take_away(self, scheduler: Any) -> None:
        scheduler.remove_plugin(self.name)
        if self._hosting in scheduler.worker_plugins:
            await scheduler.unregister_worker_plugin(None, self._hosting)
