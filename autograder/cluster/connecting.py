"""How a cluster is found or started, and what is asked of it before it grades."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dask
from distributed import Client, LocalCluster, Security

from autograder.cluster.hosting import Hosting, Leaving, Report, report_of
from autograder.cluster.parcels import Course, versions
from autograder.opening import CannotGrade

LOCAL = "local"

# Seconds for a scheduler to answer, and then for a first worker to be there.
CONNECT = 10.0

_AGAIN = "and run the same command again"
_CHATTY = ("distributed", "tornado", "asyncio")

# On one machine Dask's bookkeeping takes the same cores as the grading: five processes' worth of
# clocks that tick fifty times a second, measurements for a dashboard that is off, tasks looked
# over for stealing that are each for one worker. And a tuning of malloc for large frames gives
# memory back so eagerly that every larger array of NumPy is a fresh mapping.
_LEAN = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.nanny.pre-spawn-environ": {
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), 1),
        "PYTHONHASHSEED": "random",  # Dask's own is known to everybody
    },
}


class Cluster:
    """A cluster that answers. Its calls raise CannotGrade when its scheduler is gone."""

    def __init__(self, client: Any, name: str) -> None:
        self.client = client
        self.name = name  # in words, for sentences
        self._plugin = f"attention-autograder-{client.id}"

    @contextmanager
    def hosting(self, course: Course) -> Iterator[str]:
        """Give the course to all workers, also to those that join; the name to ask for it by.

        Raises CannotGrade where no worker is there, or one could not give equal results.
        """
        self._see_that_there_are_workers()
        self._refuse_other_versions()
        with contextlib.suppress(Exception):  # a scheduler without our package: only kills matter
            self.client.register_plugin(Leaving(self.client.id, self._plugin))
        with self._asking():
            self.client.register_plugin(Hosting(self._plugin, course), name=self._plugin)
        try:
            yield self._plugin
        finally:
            with contextlib.suppress(Exception):  # workers or the scheduler may be gone
                self.client.unregister_worker_plugin(self._plugin)

    def threads(self) -> dict[str, int]:
        """The addresses of all workers, and how many threads each has."""
        with self._asking():
            return dict(self.client.nthreads())

    def reports(self, addresses: Sequence[str]) -> dict[str, Report]:
        """How some workers are placed; those that do not answer are left out."""
        with self._asking():
            found = self.client.run(
                report_of, self._plugin, workers=list(addresses), on_error="return"
            )
        return {where: report for where, report in found.items() if isinstance(report, Report)}

    @contextmanager
    def _asking(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:  # Dask's own errors of this kind are such
            raise CannotGrade(
                f"{self.name} does not answer any more ({_first_line(problem)}); what was graded "
                f"is kept: see that its scheduler runs, {_AGAIN}"
            ) from problem

    def _see_that_there_are_workers(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=CONNECT)
        except TimeoutError as problem:
            raise CannotGrade(
                f"{self.name} has no workers; start some, with dask worker ADDRESS --nthreads 1 "
                f"for each core, {_AGAIN}"
            ) from problem

    def _refuse_other_versions(self) -> None:
        with self._asking():
            found = self.client.run(versions, "numpy", on_error="return")
        for address, theirs in sorted(found.items()):
            if isinstance(theirs, OSError):  # it is gone
                continue
            if not isinstance(theirs, dict):  # it could not even import what it was to run
                raise CannotGrade(
                    f"the worker {address} has no attention-autograder that grades on clusters "
                    f"({_first_line(theirs)}); install attention-autograder[grading,cluster] "
                    f"{versions('numpy')['attention-autograder']} there, {_AGAIN}"
                )
            if wrong := differing(theirs):
                raise CannotGrade(f"the worker {address} {wrong}, {_AGAIN}")


def differing(theirs: dict[str, str]) -> str:
    """What a worker has otherwise than this machine, and what to do; empty when nothing."""
    ours = {name: found for each in theirs for name, found in versions(each).items()}
    wrong = [name for name in theirs if theirs[name] != ours.get(name)]
    if not wrong:
        return ""
    shown = ", ".join(
        f"{name} {theirs[name]} where this machine has {ours[name]}" for name in wrong
    )
    return f"has {shown}; give both the same"


@contextmanager
def connected(scheduler: str, workers: int) -> Iterator[Cluster]:
    """A cluster of `workers` processes of this machine for "local"; else the one that runs there.

    scheduler: "local", an address such as tcp://host:8786, or the path of a scheduler file.
    """
    with _quiet(), contextlib.ExitStack() as stack:
        if scheduler == LOCAL:
            cluster = stack.enter_context(_started(workers))
            where: dict[str, Any] = {"address": cluster}
            name = "the cluster on this machine"
        else:
            is_file = Path(scheduler).is_file()
            where = {"scheduler_file" if is_file else "address": scheduler}
            name = f"the cluster {scheduler}"
        yield Cluster(stack.enter_context(_client(where, name)), name)


@contextmanager
def _client(where: dict[str, Any], name: str) -> Iterator[Any]:
    try:
        client = Client(**where, timeout=CONNECT, set_as_default=False, name="attention-autograder")
    except (OSError, ValueError, TypeError) as problem:  # nobody there; no such kind of address
        raise CannotGrade(
            f"{name} cannot be reached ({_first_line(problem)}); see that a scheduler runs there "
            "and that --scheduler is as it prints it, such as tcp://host:8786, or use "
            "--scheduler local"
        ) from problem
    try:
        yield client
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=5)


@contextmanager
def _started(workers: int) -> Iterator[Any]:
    """Worker processes on this machine, each with one thread.

    Whoever may speak to a Dask scheduler may run code as its user, and others on this machine
    can reach its port: so it speaks TLS, by a certificate that nobody else has.
    """
    import cryptography  # noqa: F401 -- Dask's own error would name no package of ours

    with (
        TemporaryDirectory(prefix="autograder-dask-", ignore_cleanup_errors=True) as scratch,
        dask.config.set({**_LEAN, "temporary-directory": scratch}),
    ):
        try:
            cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                processes=True,
                security=Security.temporary(),
                dashboard_address=None,
                memory_limit=0,  # what takes memory is in the sandbox, which has limits
                silence_logs=logging.CRITICAL,
                local_directory=scratch,
            )
        except (OSError, RuntimeError) as problem:
            raise CannotGrade(
                f"the cluster on this machine did not start ({_first_line(problem)}); give fewer "
                "--workers, or leave --scheduler out"
            ) from problem
        try:
            yield cluster
        finally:
            with contextlib.suppress(Exception):
                cluster.close(timeout=10)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Dask's own words, which are for operators of clusters; what matters, we say."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in _CHATTY]
    loggers = [logging.getLogger(name) for name in {*names, *_CHATTY}]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"(distributed|dask)(\.|$)")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _first_line(problem: BaseException) -> str:
    lines = str(problem).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(problem).__name__
