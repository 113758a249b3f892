"""What the searches for a fault are given, and the place that they may find."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from autograder.observing import OpenSession
from autograder.result import ExerciseResult
from autograder.specification import Case, ExerciseSpec
from autograder.submission import Submission


@dataclass(frozen=True)
class Place:
    """Where a fault is, with the words for it.

    line, cell: in the student's file; source: that line. step: what the line should compute
    (“the weights”). question: about the concept, giving nothing away. key: the same for all who
    made this mistake, in words for an instructor. edit: what would repair it; shown only where
    the author allows it.
    """

    line: int
    cell: str
    source: str
    step: str = ""
    question: str = ""
    key: str = ""
    edit: str = ""


class Clock:
    """The time that may be spent on one failed exercise, in seconds of processor time.

    Our own is that of this thread; what others used is added. Where only the wait for an answer is
    known, which grows with the load of the machine, PATIENCE times as much is allowed.
    """

    PATIENCE = 4.0

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._started = time.thread_time()
        self._elsewhere = 0.0
        self._waited = 0.0

    def add(self, seconds: float) -> None:
        """What was spent in another process."""
        self._elsewhere += seconds

    def wait(self, seconds: float) -> None:
        """How long an answer took, by the clock on the wall."""
        self._waited += seconds

    @property
    def left(self) -> float:
        """What may still be spent; 0 when nothing may."""
        spent = time.thread_time() - self._started + self._elsewhere
        patience = self.PATIENCE * self.seconds - self._waited
        return max(0.0, min(self.seconds - spent, patience))


@dataclass(frozen=True)
class Failure:
    """A failed exercise of one submission, and what may be asked about it.

    spec: as it was judged. right: names of the exercises that passed. small: small inputs with
    what is expected, smallest first; they give no hidden case away. suspects: lines of the
    student's source, the likely ones first, as far as they are known. open_session: fresh ones,
    not on the submission's clock. fresh: draws the exercise once more with other inputs; None
    where nothing can be drawn.
    """

    submission: Submission
    spec: ExerciseSpec
    result: ExerciseResult
    right: frozenset[str]
    small: Sequence[Case]
    open_session: OpenSession
    clock: Clock
    suspects: Sequence[tuple[str, int]] = field(default=())
    fresh: Callable[[], ExerciseSpec] | None = None


# Small inputs of an exercise by its name; empty where there are none.
SmallInputs = Callable[[str], Sequence[Case]]
