"""Grading hostile submissions for real, and saying which of them got what they wanted.

    with World(folder) as world, Arena(world) as arena:
        report = arena.run(SUITE)

Each is handed in as a module, graded by `grade_submission` in a child of the arena's one zygote,
and followed there by a benign one. As a program, `python -m tests.hostile.arena`, it runs the
whole suite as whatever user calls it, prints the figure and writes the faults as JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import pwd
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import msgspec

from autograder.grading import Assignment, grade_submission
from autograder.observe.pool import ZygotePool
from autograder.observe.session import Limits, Session
from autograder.observe.spawned import SpawnedSession
from autograder.result import SubmissionResult
from tests.hostile import suite, torch_set
from tests.hostile.kinds import EXERCISE, GOT, Hostile
from tests.hostile.world import BENIGN, World, descendants, draw, open_descriptors, settle

# For what may end by the clock, and for what may not, however busy the machine is.
HURRIED = Limits(wall=0.3, total=20.0, cpu=20, memory=96, output=1 << 16)
PATIENT = Limits(wall=20.0, total=60.0, cpu=60, memory=96, output=1 << 16)

# A result is read by people: whatever a submission says, it is no longer than this.
LONGEST_RESULT = 40_000


@dataclass
class Report:
    """What came of a run of the suite."""

    rung: str
    user: str
    layers: tuple[str, ...]
    seconds: float = 0.0
    tried: int = 0
    through: dict[str, list[str]] = field(default_factory=dict)
    otherwise: dict[str, str] = field(default_factory=dict)

    @property
    def figure(self) -> str:
        """The one line that counts."""
        return (
            f"{self.tried} hostile submissions, {len(self.through)} got through, "
            f"at rung {self.rung} as user {self.user} ({self.seconds:.0f} s)"
        )

    def faults(self) -> list[str]:
        """Everything that should be otherwise, in lines."""
        lines = [f"GOT THROUGH {name}: {'; '.join(why)}" for name, why in self.through.items()]
        return lines + [f"ended otherwise {name}: {how}" for name, how in self.otherwise.items()]


class Arena:
    """One pool of one zygote (or spawned processes, with layers=None), and a drawn assignment.

    The zygote is one of the world's framework.
    """

    def __init__(self, world: World, layers: Collection[str] | None = ()) -> None:
        self.world = world
        self.pool: ZygotePool | None = None
        if layers is not None:
            options: dict[str, Any] = {"layers": layers} if layers else {}
            secret = [world.course / "solutions", world.course / "source"]
            self.pool = ZygotePool(world.framework, size=1, secret=secret, **options)
        self._drawn: dict[str, Assignment] = {}
        self._seed = os.urandom(8).hex()

    @property
    def rung(self) -> str:
        """What the pool calls itself."""
        return "none" if self.pool is None else self.pool.isolation

    def run(self, hostiles: Iterable[Hostile], tell: Callable[[str], None] = str) -> Report:
        """Try each of them. A fault ends up in the report, not in an exception."""
        user = pwd.getpwuid(os.getuid()).pw_name
        report = Report(self.rung, user, () if self.pool is None else tuple(self.pool.layers))
        started = time.monotonic()
        for hostile in hostiles:
            if hostile.machine not in (None, platform.machine()):
                continue
            report.tried += 1
            before = time.monotonic()
            through, otherwise = self.fight(hostile)
            if through:
                report.through[hostile.title] = through
            elif otherwise:
                report.otherwise[hostile.title] = otherwise
            tell(f"{time.monotonic() - before:6.2f} s  {hostile.title}  {through or otherwise}")
        report.seconds = time.monotonic() - started
        return report

    def fight(self, hostile: Hostile) -> tuple[list[str], str]:
        """(what a submission got that it must not get, how it ended if not as it has to)."""
        seed = hostile.seed or self._seed
        folder = self.world.write(hostile, seed)
        descriptors, zygote = open_descriptors(), self._zygote()
        processes = descendants(os.getpid())
        through: list[str] = []
        otherwise = ""
        try:
            hurry = "timed_out" in hostile.ends
            result = self._grade(folder, seed, HURRIED if hurry else PATIENT)
        except Exception as fault:  # the grader was brought down
            through.append(f"grade_submission raised {type(fault).__name__}: {fault}")
        else:
            through += self._read(hostile, result, seed)
            exercise = result.exercise(hostile.attacks)
            if not hostile.ended_well(exercise.outcome, exercise.feedback):
                otherwise = f"{exercise.outcome}: {exercise.feedback}"
        through += self.world.harm()
        if left := settle(processes, os.getpid()):
            through.append(f"processes were left: {left}")
        if open_descriptors() != descriptors:
            through.append(f"{open_descriptors() - descriptors} descriptors were left open")
        if self._zygote() != zygote:
            through.append("the zygote is another")
        if self.pool is not None:  # a process of its own has nobody after it
            through += self._benign(seed)
        return through, otherwise

    def _grade(self, folder: Path, seed: str, limits: Limits) -> SubmissionResult:
        if seed not in self._drawn:
            self._drawn[seed] = draw(self.world.course, seed)
        return grade_submission(
            self._drawn[seed], folder.parent.name, folder, lambda: self._session(limits), "strong"
        )

    def _session(self, limits: Limits) -> Session:
        if self.pool is None:
            return SpawnedSession(limits, self.world.framework)
        return self.pool.session(limits)

    def _zygote(self) -> int | None:
        return None if self.pool is None else self.pool.pids[0]

    def _read(self, hostile: Hostile, result: SubmissionResult, seed: str) -> list[str]:
        """What the result tells that it must not tell."""
        found = []
        for exercise in result.exercises:
            if exercise.score is None:
                found.append(f"{exercise.name} has no score: {exercise.feedback}")
            elif exercise.score > 0 and exercise.name not in hostile.earns:
                found.append(f"{exercise.name} has {exercise.score} points: {exercise.feedback}")
        text = msgspec.json.encode(result).decode("utf-8")
        found += [f"a canary of {place} is in the result" for place in self.world.canaries_in(text)]
        if GOT in text:
            found.append(result.exercise(hostile.attacks).feedback)
        if seed in text and hostile.seed is None:
            found.append("the seed is in the result")
        if len(text) > LONGEST_RESULT:
            found.append(f"the result is {len(text)} characters long")
        found += [f"unprintable: {line!r}" for line in _texts(result) if not _is_printable(line)]
        return found

    def _benign(self, seed: str) -> list[str]:
        names, code = [EXERCISE], BENIGN
        if self.world.framework == "torch":
            names, code = [*names, *torch_set.EXERCISES], code + torch_set.RIGHT
        graded = self._grade(self.world.hand_in("bob", code), seed, PATIENT)
        wrong = [r for r in map(graded.exercise, names) if r.score != r.max_score]
        return [f"the benign one after it was judged {r.outcome}: {r.feedback}" for r in wrong]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        if self.pool is not None:
            self.pool.close()


def _texts(result: SubmissionResult) -> Iterator[str]:
    yield from result.messages
    for exercise in result.exercises:
        yield exercise.feedback
        yield from (check.message for check in exercise.checks)


def _is_printable(text: str) -> bool:
    return all(character.isprintable() or character == "\n" for character in text)


@contextmanager
def arena(
    root: Path, layers: Collection[str] | None = (), framework: str = "numpy"
) -> Iterator[Arena]:
    """An arena in a world of its own."""
    with World(root, framework) as world, Arena(world, layers) as made:
        yield made


def main() -> int:
    """Run the suite from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile.arena")
    parser.add_argument("--layers", default="", help="by default all; “spawned”: no sandbox")
    parser.add_argument("--kind", action="append", help="these kinds only")
    parser.add_argument("--torch", action="store_true", help="in children of a PyTorch zygote")
    parser.add_argument("--every", type=int, default=1, help="of each kind, one in so many")
    parser.add_argument("--name", help="submissions with this in their name only")
    parser.add_argument("--json", action="store_true", help="print the report as a last line")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    chosen = suite.choose(options.kind, options.name, torch=options.torch, every=options.every)
    framework = "torch" if options.torch else "numpy"
    layers: Collection[str] | None = [name for name in options.layers.split(",") if name]
    if options.layers == "spawned":
        layers = None
        chosen = [hostile for hostile in chosen if hostile.kind in suite.HARMLESS]
    with (
        tempfile.TemporaryDirectory(prefix="autograder-hostile-") as folder,
        arena(Path(folder) / "world", layers, framework) as made,
    ):
        report = made.run(chosen, print if options.verbose else str)
    for line in report.faults():
        print(line)
    print(report.figure)
    if options.json:
        print(json.dumps(asdict(report)))
    return 1 if report.faults() else 0


if __name__ == "__main__":
    sys.exit(main())
