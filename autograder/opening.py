"""How sessions are opened on this machine, and how strong their walls are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.grading import Assignment
from autograder.observe.session import Limits, Session
from autograder.result import Isolation
from autograder.specification import ExerciseSpec

if TYPE_CHECKING:
    from autograder.observe.pool import ZygotePool

STRONG = ("strong", "strong+")


class CannotGrade(Exception):
    """The run cannot start; the message says why and what to do."""


@dataclass(frozen=True)
class PoolSessions:
    """Opens sessions of a pool; to be called with the limits that an exercise has of its own."""

    pool: ZygotePool
    limits: Limits

    def __call__(self, **own: int) -> Session:
        """A fresh session."""
        return self.pool.session(self.limits.for_exercise(**own))


def teach(open_session: Callable[..., Session], specs: Sequence[ExerciseSpec]) -> None:
    """Tell what opens the sessions which cases there are, where it can make use of that.

    To be called once they are drawn: before that, sessions work, and are sent each case whole.
    """
    if isinstance(open_session, PoolSessions):
        open_session.pool.teach([case.wire for spec in specs for case in spec.cases])


@contextmanager
def observer(
    assignment: Assignment, course: Path, limits: Limits, workers: int, allow_unsandboxed: bool
) -> Iterator[tuple[Callable[..., Session], Isolation]]:
    """How sessions are opened on this machine, and how strong their walls are.

    Raises CannotGrade below "strong", unless `allow_unsandboxed`.
    """
    if sys.platform == "linux":
        with _pool(assignment, course, workers) as pool:
            level: Isolation = pool.isolation
            if level not in STRONG and not allow_unsandboxed:
                reasons = "; ".join(f"{name}: {why}" for name, why in pool.missing.items())
                raise CannotGrade(
                    f"this machine isolates submissions only to the level {level!r} ({reasons}); "
                    "grade on Linux with Landlock and seccomp, or trust the code and give "
                    "--allow-unsandboxed"
                )
            yield PoolSessions(pool, limits), level
        return
    if not allow_unsandboxed:
        raise CannotGrade(
            f"submissions cannot be isolated on {sys.platform}; grade on Linux, or trust the "
            "code and give --allow-unsandboxed"
        )
    from autograder.observe.spawned import SpawnedSession

    framework = assignment.framework
    yield (lambda **own: SpawnedSession(limits.for_exercise(**own), framework)), "none"


def _pool(assignment: Assignment, course: Path, workers: int) -> ZygotePool:
    from autograder.observe.pool import ZygotePool
    from autograder.observe.supervisor import ZygoteDied

    secret = [path for path in (course / "solutions", course / "source") if path.exists()]
    try:
        return ZygotePool(
            assignment.framework, size=workers, packages=assignment.pack.packages, secret=secret
        )
    except (ZygoteDied, ValueError) as problem:
        raise CannotGrade(f"the sandbox could not be started: {problem}") from problem
