"""Running a command to its end while its whole process tree is weighed."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

# A sample of five processes costs up to 15 ms of one core, which both graders pay alike.
INTERVAL = 0.2


@dataclass(frozen=True)
class Measured:
    """What a command took. `peak` is the largest sum of one sample, in bytes.

    `cpu` is the processor time of the tree, which other work on the machine hardly changes.
    """

    seconds: float
    cpu: float
    peak: int
    status: int
    output: str


class CommandFailed(Exception):
    """A measured command did not end well; the message holds the end of its output."""


def measure(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Measured:
    """Run a command; wall time from before its start until after its end."""
    with tempfile.TemporaryFile() as output:
        start, cpu = time.perf_counter(), _cpu_of_children()
        process = subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
        scales = _Scales(process.pid)
        scales.start()
        try:
            status = process.wait()
        except BaseException:
            process.kill()
            raise
        seconds = time.perf_counter() - start
        scales.stop()
        output.seek(0)
        text = output.read().decode("utf-8", "replace")
    if status != 0:
        raise CommandFailed(f"{' '.join(command[-6:])} ended with {status}:\n{text[-2000:]}")
    return Measured(seconds, _cpu_of_children() - cpu, scales.peak, status, text)


def _cpu_of_children() -> float:
    """Seconds that all ended children and their children have used so far."""
    times = os.times()
    return times.children_user + times.children_system


class _Scales(threading.Thread):
    """Adds up what a process and all its descendants take, again and again."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._pid = pid
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(INTERVAL):
            try:
                root = psutil.Process(self._pid)
                tree = [root, *root.children(recursive=True)]
            except psutil.Error:
                return
            self.peak = max(self.peak, sum(map(_weight, tree)))

    def stop(self) -> None:
        self._over.set()
        self.join()


def unit() -> str:
    """What is summed: PSS counts a page that n processes share as 1/n in each of them."""
    return "PSS" if hasattr(psutil.Process().memory_full_info(), "pss") else "USS"


def _weight(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        try:
            info = process.memory_full_info()
        except psutil.AccessDenied:  # a sandboxed child of another user: what is known of it
            return int(process.memory_info().rss)
        return int(getattr(info, "pss", info.uss))
    return 0
