"""How sessions are opened on this machine, and how strong their walls are."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.grading import Assignment
from autograder.observe.session import Limits, Session
from autograder.result import Isolation

if TYPE_CHECKING:
    from autograder.observe.pool import ZygotePool

STRONG = ("strong", "strong+")


class CannotGrade(Exception):
    """The run cannot start; the message says why and what to do."""


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
            yield (lambda **own: pool.session(limits.for_exercise(**own))), level
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
