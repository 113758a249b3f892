"""One failed exercise after another: what can be said of its fault, within its time.

Nothing here changes a score, and nothing that goes wrong here is told to a student: then there
is no remark. Sessions are fresh ones, so that a submission's own clock and state stay as they are.
"""

from __future__ import annotations

import functools
import math
import secrets
import threading
from collections.abc import Callable, Sequence, Set
from dataclasses import replace

import msgspec

from autograder.faults.agreement import agree
from autograder.faults.alike import without_own_names
from autograder.faults.by_hand import input_words, results_words
from autograder.faults.counterexample import Counterexample, smallest, whatever_the_input
from autograder.faults.failure import Clock, Failure, Place, SmallInputs
from autograder.faults.milestones import Traced, compare_traces
from autograder.faults.remark import with_remark
from autograder.faults.runner import Runner, SessionRunner
from autograder.faults.search import find_repairs
from autograder.faults.small_inputs import expected_of, is_fair, small_inputs
from autograder.observing import OpenSession
from autograder.pack import Pack
from autograder.program import Program
from autograder.result import ExerciseResult, Remark
from autograder.specification import Case, ExerciseSpec
from autograder.submission import Submission

# Of processor time, for one failed exercise.
GRADING_SECONDS, SELFCHECK_SECONDS = 2.0, 1.0

# What ended early, was forbidden or never written has its reason already.
EXPLAINED = ("failed", "error")


class Finder:
    """Looks for the faults of a class or of one student.

    pack: the references, where there are some; a student's machine has none, and its small
    inputs are `stored` ones, by exercise.
    """

    def __init__(
        self,
        pack: Pack | None = None,
        seconds: float = GRADING_SECONDS,
        stored: SmallInputs = lambda name: (),
    ) -> None:
        self.pack = pack
        self.seconds = seconds
        self._stored = stored
        self._small: dict[str, Sequence[Case]] = {}
        self._known: dict[tuple[str, str], Case | None] = {}
        self._again: dict[str, ExerciseSpec] = {}
        self._lock = threading.RLock()  # a class is judged in several threads

    def with_remarks(
        self,
        submission: Submission,
        specs: Sequence[ExerciseSpec],
        results: Sequence[ExerciseResult],
        names: Set[str],
        open_session: OpenSession,
    ) -> list[ExerciseResult]:
        """The results, those called `names` with a remark where something was found."""
        wrong = {r.name for r in results if r.outcome not in ("passed", "infrastructure")}
        explained = []
        for spec, result in zip(specs, results, strict=True):
            # what calls a wrong part is told to repair that first, and to look again then
            if spec.name in names and result.outcome in EXPLAINED and not wrong & set(spec.needs):
                known = frozenset({r.name for r in results} | set(spec.needs))
                try:
                    failure = Failure(
                        submission=submission,
                        spec=spec,
                        result=result,
                        right=known - wrong,
                        small=self.small(spec),
                        open_session=open_session,
                        clock=Clock(self.seconds),
                    )
                    remark = self.remark(failure)
                except Exception:  # of ours, of a library, of a session: the result stands without
                    remark = None
                result = result if remark is None else with_remark(result, remark)
            explained.append(result)
        return explained

    def small(self, spec: ExerciseSpec) -> Sequence[Case]:
        """Small inputs of an exercise, smallest first; made once, when somebody first fails it."""
        with self._lock:
            if spec.name not in self._small:
                self._small[spec.name] = self._made(spec)
            return self._small[spec.name]

    def _made(self, spec: ExerciseSpec) -> Sequence[Case]:
        if self.pack is None:
            return self._stored(spec.name)
        try:
            return small_inputs(self.pack, spec)
        except Exception:  # of an author's case that cannot be made small
            return ()

    def remark(self, failure: Failure) -> Remark | None:
        """What can be said; None when nothing can."""
        # a plain process counts its own start, on a student's machine
        cpu = None if self.pack is None else max(1, math.ceil(self.seconds))
        with SessionRunner(failure, cpu) as run:
            found = self.counterexample(failure, run)
            traced = self._traced(failure, run)
            if run.raised is not None and whatever_the_input(run.raised):
                return None  # the message names it, and its line
        failure = replace(failure, suspects=traced.suspects, fresh=self._fresh(failure.spec))
        place = None if failure.result.misconceptions else self._place(failure) or traced.place
        if found is None and place is None:
            return None
        made = Remark() if found is None else _by_hand(found)
        if place is not None:
            made = msgspec.structs.replace(
                made,
                line=place.line,
                cell=place.cell,
                source=place.source,
                step=place.step,
                question=place.question,
                cluster=without_own_names(place.key, failure.submission, failure.spec.name),
                edit=self._edit(failure, place),
            )
        if found is not None and not made.cluster and not failure.result.misconceptions:
            made = msgspec.structs.replace(made, cluster=_behaviour(found))
        return made

    def counterexample(self, failure: Failure, run: Runner) -> Counterexample | None:
        """The smallest input found on which the submission is wrong."""
        spec, pack = failure.spec, self.pack
        if pack is None:
            return smallest(spec, failure.small, run, failure.clock)
        if len(failure.result.misconceptions) == 1:
            known = self._of_misconception(failure)
            if known is None:  # what its own code shows in no small input, nobody's does
                return None
            found = smallest(spec, (known,), run, failure.clock)
            if found is not None:
                return found
        return self._searched(pack, failure, run, failure.clock)

    def _searched(
        self, pack: Pack, failure: Failure, run: Runner, clock: Clock
    ) -> Counterexample | None:
        spec = failure.spec

        def expect(program: Program) -> Case | None:
            return expected_of(pack, spec, program, "a small case")

        fair = functools.partial(is_fair, pack, spec)
        return smallest(spec, failure.small, run, clock, expect, fair)

    def _of_misconception(self, failure: Failure) -> Case | None:
        """The smallest case of a misconception's own code, searched once for a whole class."""
        pack, spec = self.pack, failure.spec
        assert pack is not None
        (name,) = failure.result.misconceptions
        key = spec.name, name
        with self._lock:
            if key not in self._known:
                found = None
                for known in pack.exercises[spec.name].misconceptions:
                    if known.name == name:
                        run = functools.partial(pack.observe, spec.name, known.implementation)
                        found = self._searched(pack, failure, run, Clock(self.seconds))
                self._known[key] = None if found is None else found.case
            return self._known[key]

    def _traced(self, failure: Failure, run: Runner) -> Traced:
        """What a trace tells of a mistake without a name, where all that is called is right."""
        if failure.result.misconceptions or self.pack is None:
            return Traced()
        return compare_traces(self.pack, failure, run)

    def _edit(self, failure: Failure, place: Place) -> str:
        """The edit itself: in a self-check, where the author allows it."""
        return place.edit if self.pack is None and failure.spec.show_edits else ""

    def _place(self, failure: Failure) -> Place | None:
        """Where the fault is; None when unsure."""
        return agree(find_repairs(failure), failure)

    def _fresh(self, spec: ExerciseSpec) -> Callable[[], ExerciseSpec] | None:
        """Draws an exercise with inputs that no repair has seen, once for a whole class."""
        pack = self.pack
        if pack is None:
            return None

        def draw() -> ExerciseSpec:
            with self._lock:
                if spec.name not in self._again:
                    self._again[spec.name] = pack.draw(spec.name, secrets.token_hex(8))
                return self._again[spec.name]

        return draw


def explained_live(
    spec: ExerciseSpec, result: ExerciseResult, small: Sequence[Case], run: Runner
) -> ExerciseResult:
    """The result of live objects in a notebook, with the smallest of the small inputs that fails.

    run: runs a program on these objects.
    """
    if result.outcome not in EXPLAINED:
        return result
    try:
        found = smallest(spec, small, run, Clock(SELFCHECK_SECONDS))
    except Exception:  # as in grading: the result stands without
        return result
    return result if found is None else with_remark(result, _by_hand(found))


def _behaviour(found: Counterexample) -> str:
    """What all give who made a mistake alike, where no place is known: the same wrong numbers.

    Small cases are tried in one order and made simpler in one way, so that they meet there.
    """
    _, got = results_words(found)
    raised = next((s.raised for s in found.observed if s.raised is not None), None)
    said = got if raised is None else raised.type_name
    return f"gives {said} for {input_words(found.case.program)}"[:300]


def _by_hand(found: Counterexample) -> Remark:
    expected, got = results_words(found)
    given = input_words(found.case.program)
    return Remark(input=given, expected=expected, got=got, size=found.size)
