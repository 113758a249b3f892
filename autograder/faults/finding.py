"""One failed exercise after another: what can be said of its fault, within its time.

Nothing here changes a score, and nothing that goes wrong here is told to a student: then there
is no remark. Sessions are fresh ones, so that a submission's own clock and state stay as they are.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence, Set
from typing import Any

from autograder.faults.failure import Clock, Failure, Place
from autograder.faults.remark import with_remark
from autograder.observing import OpenSession
from autograder.pack import Pack
from autograder.result import ExerciseResult, Remark
from autograder.specification import Case, ExerciseSpec
from autograder.submission import Submission

# Of processor time, for one failed exercise.
GRADING_SECONDS, SELFCHECK_SECONDS = 2.0, 1.0

# What ended early, was forbidden or never written has its reason already.
EXPLAINED = ("failed", "error")


class Finder:
    """Looks for the faults of a class or of one student.

    pack: the references, where there are some; a student's machine has none.
    """

    def __init__(self, pack: Pack | None = None, seconds: float = GRADING_SECONDS) -> None:
        self.pack = pack
        self.seconds = seconds

    def with_remarks(
        self,
        submission: Submission,
        specs: Sequence[ExerciseSpec],
        results: Sequence[ExerciseResult],
        names: Set[str],
        open_session: OpenSession,
    ) -> list[ExerciseResult]:
        """The results, those called `names` with a remark where something was found."""
        right = frozenset(r.name for r in results if r.outcome == "passed")
        explained = []
        for spec, result in zip(specs, results, strict=True):
            if spec.name in names and result.outcome in EXPLAINED:
                failure = Failure(
                    submission=submission,
                    spec=spec,
                    result=result,
                    right=right,
                    small=self.small(spec),
                    open_session=open_session,
                    clock=Clock(self.seconds),
                )
                result = self._with_remark(failure)
            explained.append(result)
        return explained

    def small(self, spec: ExerciseSpec) -> Sequence[Case]:
        """Small inputs of an exercise, smallest first."""
        return ()

    def _with_remark(self, failure: Failure) -> ExerciseResult:
        try:
            remark = self.remark(failure)
        except Exception:  # of ours, of a library, of a session: the result stands without
            return failure.result
        return failure.result if remark is None else with_remark(failure.result, remark)

    def remark(self, failure: Failure) -> Remark | None:
        """What can be said; None when nothing can."""
        place = None if failure.result.misconceptions else self._place(failure)
        if place is None:
            return None
        return Remark(
            line=place.line,
            cell=place.cell,
            source=place.source,
            step=place.step,
            question=place.question,
            cluster=place.key,
            edit=self._edit(failure, place),
        )

    def _edit(self, failure: Failure, place: Place) -> str:
        """The edit itself: in a self-check, where the author allows it."""
        return place.edit if self.pack is None and failure.spec.show_edits else ""

    def _place(self, failure: Failure) -> Place | None:
        """Where the fault is; None when unsure, or when a part that is called is wrong."""
        if not failure.right.issuperset(failure.spec.needs):
            return None
        return _repaired(failure)


def _repaired(failure: Failure) -> Place | None:
    """The place on which the cheapest repairs agree."""
    try:
        search: Any = importlib.import_module("autograder.faults.search")
        agreement: Any = importlib.import_module("autograder.faults.agreement")
    except ModuleNotFoundError:
        return None
    found: Place | None = agreement.agree(search.find_repairs(failure), failure)
    return found
