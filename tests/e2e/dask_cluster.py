"""A real Dask cluster for tests: a scheduler and workers, each a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

SECONDS = 120.0  # for anything that is waited for; reaching it is a failure


class DaskCluster:
    """`with DaskCluster(folder) as cluster: cluster.start_worker()`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.scheduler_file = folder / "scheduler.json"
        self._folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> DaskCluster:
        self._start("scheduler", "--host", "127.0.0.1", "--port", "0")
        wait_until(lambda: self.scheduler_file.exists() and self.scheduler_file.stat().st_size > 0)
        return self

    def __exit__(self, *details: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    @property
    def address(self) -> str:
        """What the scheduler prints: tcp://127.0.0.1:…"""
        return str(json.loads(self.scheduler_file.read_text("utf-8"))["address"])

    def start_worker(self, *before: str) -> subprocess.Popen[bytes]:
        """A worker with one thread and no nanny, so that a dead one stays dead.

        before: arguments of the interpreter; by default those that start `dask worker`.
        """
        scratch = self._folder / "scratch"
        options = ("--no-nanny", "--nthreads", "1", "--local-directory", str(scratch))
        return self._start("worker", *options, before=before)

    def _start(
        self, what: str, *arguments: str, before: tuple[str, ...] = ()
    ) -> subprocess.Popen[bytes]:
        line = [sys.executable, *(before or ("-m", f"distributed.cli.dask_{what}"))]
        line += ["--scheduler-file", str(self.scheduler_file), *arguments, "--no-dashboard"]
        said = (self._folder / f"{what}{len(self.processes)}.log").open("wb")
        with said:
            process = subprocess.Popen(
                line,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
                env={**os.environ, "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"},
            )
        self.processes.append(process)
        return process


def wait_until(holds: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(0.02)
