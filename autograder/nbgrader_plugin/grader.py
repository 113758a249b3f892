"""One drawn assignment and one sandbox, kept for as long as the process works on it.

formgrader's server grades student by student: drawing the cases and starting a sandbox each
time would cost more than the grading.
"""

from __future__ import annotations

import atexit
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from autograder.case_drops import stamp_of_drops
from autograder.grading import Assignment, grade_submission
from autograder.nbgrader_plugin.release import stamp_of
from autograder.observe.session import Limits
from autograder.opening import observer, teach
from autograder.result import SubmissionResult


@dataclass(frozen=True)
class Settings:
    """What ObserveAndJudge was configured with."""

    limits: Limits
    seed: str | None
    allow_unsandboxed: bool
    explain: bool = True


class Grader:
    """Grades folders of one assignment; closed when another takes its place, or at exit."""

    def __init__(self, course: Path, name: str, settings: Settings) -> None:
        self.assignment = Assignment.draw(course, name, settings.seed, explain=settings.explain)
        self._stack = ExitStack()
        self._open_session, self.isolation = self._stack.enter_context(
            observer(
                self.assignment,
                course,
                settings.limits,
                workers=1,  # nbgrader hands over one submission at a time
                allow_unsandboxed=settings.allow_unsandboxed,
            )
        )
        teach(self._open_session, self.assignment.specs)

    def grade(self, student: str, folder: Path) -> SubmissionResult:
        """What `autograder grade` says of this folder."""
        return grade_submission(
            self.assignment, student, folder, self._open_session, self.isolation
        )

    def close(self) -> None:
        """End the sandbox."""
        self._stack.close()


_lock = threading.Lock()
_current: tuple[object, Grader] | None = None


def grader_for(course: Path, name: str, settings: Settings) -> Grader:
    """The grader of an assignment; a fresh one when its files or the settings changed.

    Raises run.CannotGrade on a machine that cannot isolate submissions.
    """
    global _current
    drops = stamp_of_drops(course, name)
    key = (course, name, settings, stamp_of(course, name), drops)
    with _lock:
        if _current is None or _current[0] != key:
            _close()
            _current = (key, Grader(course, name, settings))
        return _current[1]


def _close() -> None:
    global _current
    if _current is not None:
        _current[1].close()
        _current = None


atexit.register(_close)
