"""Large classes with a few hostile submissions among them, graded by the real command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autograder.journal import FINISHED
from tests.hostile.kinds import EXERCISE, Hostile
from tests.hostile.suite import SUITE
from tests.hostile.world import World, descendants, is_alive, open_descriptors
from tests.unit.courses import NAME, RIGHT, SQUARED, make_course, submit

# What honest students hand in, and the points that it has; four are the whole.
HONEST = (
    (RIGHT, 4.0),
    ("import numpy as np\ndef double(x):\n    return np.add(x, x)\n", 2.0),
    (SQUARED, 1.0),
    ("def double(x):\n    return x\nq_kind = 'quadratic'\n", 0.0),
    ("def double(x):\n    raise NotImplementedError()\n", 0.0),
    ("def double(x:\n    return 2\n", 0.0),
    ("def double(x):\n    return x.undefined\n", 0.0),
    ("helper = lambda x: 2 * x\n\ndef double(x):\n    print('hello')\n    return helper(x)\n", 2.0),
)


def hostile_ones() -> list[Hostile]:
    """Those that are for one exercise alone, quick first: what sleeps comes last."""
    fitting = [h for h in SUITE if not h.earns and h.kind != "carrying" and h.machine is None]
    return sorted(fitting, key=lambda h: ("timed_out" in h.ends, h.name))


def make_class(root: Path, count: int, every: int = 100) -> tuple[Path, dict[str, float]]:
    """A course with `count` submissions, one in `every` hostile; returns the points expected."""
    course = make_course(root / "course")
    hostiles = hostile_ones()
    points = {}
    with World(root / "world") as world:
        for number in range(count):
            student = f"s{number:05d}"
            if number % every == every // 2:
                hostile = hostiles[(number // every) % len(hostiles)]
                code = world.code_of(hostile, "no seed")
                code = code.replace(EXERCISE, "double").replace("scores", "x")
                points[student] = 0.0
            else:
                code, points[student] = HONEST[number % len(HONEST)]
            submit(course, student, code)
    return course, points


@dataclass
class Command:
    """`autograder grade` on a class, as a process."""

    course: Path
    json_file: Path
    options: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def journal(self) -> Path:
        """Where results are written down as they come."""
        return self.json_file.with_name(self.json_file.name + ".journal")

    def line(self) -> list[str]:
        """The command and its arguments."""
        line = [sys.executable, "-m", "autograder.cli", "grade", NAME]
        line += ["--course", str(self.course), "--json", str(self.json_file)]
        line += ["--timeout", "1", "--memory", "96", "--workers", "2", "--progress", "none"]
        return [*line, *self.options]

    def start(self, out: int = subprocess.PIPE) -> subprocess.Popen[str]:
        """Start it. out: DEVNULL where nobody reads the table of a large class."""
        return subprocess.Popen(
            self.line(),
            cwd="/",
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100", **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, seconds: float = 300.0) -> subprocess.CompletedProcess[str]:
        """Run it to its end; TimeoutExpired when it does not come to one."""
        process = self.start()
        try:
            out, err = process.communicate(timeout=seconds)
        except BaseException:
            process.kill()
            process.communicate()
            raise
        return subprocess.CompletedProcess(self.line(), process.returncode, out, err)

    def written(self) -> int:
        """How many results are in the journal."""
        try:
            lines = self.journal.read_bytes()
        except OSError:
            return 0
        # the first line says what was asked, and the last one that the run came to its end
        return max(lines.count(b"\n") - 1 - lines.endswith(FINISHED + b"\n"), 0)

    def document(self) -> dict[str, Any]:
        """The result document."""
        return json.loads(self.json_file.read_text("utf-8"))


def comparable(document: dict[str, Any]) -> dict[str, Any]:
    """A document without what is another in every run: how long things took."""
    return {
        **document,
        "submissions": [{**entry, "seconds": 0} for entry in document["submissions"]],
    }


# --- looking at a run from outside -----------------------------------------------------


@dataclass(frozen=True)
class Sample:
    """A grader and its zygotes at one moment. Memory in MiB."""

    graded: int
    grader: float
    zygotes: tuple[float, ...]
    descriptors: tuple[int, ...]
    processes: int

    def __str__(self) -> str:
        zygotes = " and ".join(f"{size:.1f}" for size in self.zygotes)
        return (
            f"after {self.graded:6d} submissions: grader {self.grader:.1f} MiB, zygotes {zygotes} "
            f"MiB, descriptors {self.descriptors}"
        )


def samples(process: subprocess.Popen[str], command: Command) -> Iterator[Sample]:
    """Samples of a running command, until it ends."""
    while process.poll() is None:
        below = sorted(descendants(process.pid))
        zygotes = [pid for pid in below if _is_zygote(pid)]
        try:
            yield Sample(
                command.written(),
                _resident(process.pid),
                tuple(_resident(pid) for pid in zygotes),
                (open_descriptors(process.pid), *(open_descriptors(pid) for pid in zygotes)),
                len(below),
            )
        except OSError:  # something ended between two looks
            continue
        time.sleep(0.02)


def _is_zygote(pid: int) -> bool:
    """Whether a process is a zygote: its children have the same command line, and a parent."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        parent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]
        above = Path(f"/proc/{parent}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    runs = any(word.endswith(b"/zygote.py") for word in words) and b"bwrap" not in words[0]
    return runs and above != words


def _resident(pid: int) -> float:
    return (
        int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
    )


def wait_until_gone(pids: set[int], seconds: float = 10.0) -> set[int]:
    """Those that are still there after a while."""
    deadline = time.monotonic() + seconds
    while (left := {pid for pid in pids if is_alive(pid)}) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left
