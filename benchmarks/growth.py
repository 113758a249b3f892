"""How the grader grows with the class: `python -m benchmarks.growth`, or `make soak`.

The same class ten and a hundred times as large: the time for each submission and the memory of
the grader's own process have to stay as they are. Times are taken while the runs go on, from the
first results on, so that starting, which is paid once, is in none of them. Exit status 1 when
either grows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from benchmarks.course import ROOT, Class, make_class

SIZES = (100, 1_000, 10_000)
MOST_TIME = 1.15  # times the smallest class's, per submission
# Of the grader's process: a list of the students, what a regrade is told by, the allocator's slack.
MOST_KIB_EACH = 4.0
FIRST = 40  # results before the clock starts


@dataclass(frozen=True)
class Grown:
    """One class: milliseconds of processor and wall time for each submission, MiB at the end."""

    size: int
    cpu: float
    wall: float
    memory: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure all sizes and print them; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--assignment", default="ps1_numpy_attention")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-explain", action="store_true", help="as of autograder grade")
    options = parser.parse_args(arguments)
    found = []
    more = ["--no-explain"] if options.no_explain else []
    with tempfile.TemporaryDirectory(prefix="autograder-growth-") as folder:
        for size in options.sizes:
            class_ = make_class(Path(folder) / str(size), size, options.assignment)
            found.append(grow(class_, options.workers, more))
            print(
                f"{size:6} submissions: {found[-1].wall:.1f} ms each, {found[-1].cpu:.1f} ms of "
                f"processor time, the grader {found[-1].memory:.0f} MiB",
                flush=True,
            )
    problems = faults(found)
    for problem in problems:
        print(f"growth: {problem}", file=sys.stderr)
    return 1 if problems else 0


def faults(found: Sequence[Grown]) -> list[str]:
    """What has grown, in sentences.

    By processor time, since wall time is also that of whatever else the machine does.
    """
    said = []
    first = found[0]
    for other in found[1:]:
        if other.cpu > MOST_TIME * first.cpu:
            said.append(
                f"{other.size} submissions take {other.cpu / first.cpu:.2f} times as long for "
                f"each as {first.size} (at most {MOST_TIME})"
            )
        grown = 1024 * (other.memory - first.memory) / (other.size - first.size)
        if grown > MOST_KIB_EACH and other.memory - first.memory > 16:
            said.append(f"{other.size} submissions leave {grown:.1f} KiB each in the grader")
    return said


def grow(class_: Class, workers: int, more: Sequence[str] = ()) -> Grown:
    """Grade one class and watch it from outside. more: options of `autograder grade`."""
    with tempfile.TemporaryDirectory() as folder:
        json_file = Path(folder) / "result.json"
        journal = json_file.with_name("result.json.journal")
        command = [sys.executable, "-m", "autograder.cli", "grade", class_.assignment]
        command += ["--course", str(ROOT), "--submitted", str(class_.submitted), "--no-resume"]
        command += ["--json", str(json_file), "--workers", str(workers), "--seed", "growth"]
        command += ["--allow-unsandboxed", *more]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ
        )
        samples: list[tuple[int, float, float, float]] = []  # results, when, cpu, MiB
        while process.poll() is None:
            graded, now = _lines(journal), time.perf_counter()
            try:
                cpu, memory = _used(psutil.Process(process.pid))
            except psutil.Error:
                break
            if FIRST <= graded < class_.size:
                samples.append((graded, now, cpu, memory))
            time.sleep(0.25)
        if process.wait() != 0 or len(samples) < 2:
            raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    first, last = samples[0], samples[-1]
    count = max(last[0] - first[0], 1)
    return Grown(
        class_.size,
        1000 * (last[2] - first[2]) / count,
        1000 * (last[1] - first[1]) / count,
        last[3],
    )


_counted: dict[Path, tuple[int, int]] = {}  # bytes looked at, and lines in them


def _lines(journal: Path) -> int:
    """Results in the journal so far; only what is new is read."""
    at, count = _counted.get(journal, (0, 0))
    try:
        with journal.open("rb") as file:
            file.seek(at)
            piece = file.read()
    except OSError:
        return 0
    _counted[journal] = (at + len(piece), count + piece.count(b"\n"))
    return count + piece.count(b"\n") - 1


def _used(root: psutil.Process) -> tuple[float, float]:
    """(seconds of processor time of the tree with its ended children, MiB of the root alone)."""
    cpu = 0.0
    for process in (root, *root.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:
            continue
        cpu += times.user + times.system + times.children_user + times.children_system
    return cpu, root.memory_info().rss / 2**20


if __name__ == "__main__":
    sys.exit(main())
