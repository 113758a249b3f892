"""One submission, observed and judged: what `check`, pytest, `grade` and nbgrader share.

Every exercise is observed in a session; the sessions differ (a sandboxed child, a spawned
process), the rest does not. When a session ends in the middle, its exercise gets that
outcome and the remaining ones go on in a fresh session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from autograder import wording
from autograder.checks import PackFault
from autograder.judge import CaseOutcome, infrastructure, judge, missing
from autograder.observe.protocol import ProtocolError
from autograder.observe.session import Session, Stopped
from autograder.program import Observed, Raised
from autograder.result import CheckResult, ExerciseResult
from autograder.specification import ExerciseSpec
from autograder.submission import Submission
from autograder.wire import observed_from_wire, program_to_wire, raised_from_wire

OpenSession = Callable[[], Session]

STAND_INS = ("autograder", "IPython")
DRAWING = ("matplotlib",)


@dataclass(frozen=True)
class Loaded:
    """A session with a submission in it; failures by position of the statement."""

    session: Session
    failures: Mapping[int, Raised]


def evaluate(
    submission: Submission, specs: Sequence[ExerciseSpec], open_session: OpenSession
) -> list[ExerciseResult]:
    """The result of every exercise, in the order of `specs`."""
    results: dict[str, ExerciseResult] = {}
    observable: list[ExerciseSpec] = []
    for spec in specs:
        early = _without_observing(submission, spec)
        if early is None:
            observable.append(spec)
        else:
            results[spec.name] = early
    sliced = _Run(submission, open_session, whole=False)
    results.update(sliced.run(observable))
    unresolved = [spec for spec in observable if spec.name in sliced.name_errors]
    if unresolved:
        # something outside the slice was needed: run the cells in order, as a kernel would
        whole = _Run(submission, open_session, whole=True).run(unresolved)
        results.update({name: result for name, result in whole.items() if _is_better(result)})
    return [_with_needs(spec, results) for spec in specs]


def _is_better(result: ExerciseResult) -> bool:
    """Whether running all cells told more than the NameError of the slice."""
    return result.outcome not in ("timed_out", "out_of_memory", "crashed", "infrastructure")


def _without_observing(submission: Submission, spec: ExerciseSpec) -> ExerciseResult | None:
    """Results that the syntax alone gives: missing, unparsable, forbidden."""
    if not submission.written(spec.name):
        return missing(spec)
    if spec.name not in submission.bound:
        cell = next(item for item in submission.broken if spec.name in item.defines)
        message = f"line {cell.line} of {cell.label} is not Python: {wording.clean(cell.message)}"
        return _failed_to_load(spec, message, "error")
    found = submission.uses(submission.slice_for([spec.name]), spec.forbids)
    if found is not None:
        return _failed_to_load(spec, f"uses `{found}`, which this exercise forbids", "forbidden")
    return None


def _failed_to_load(spec: ExerciseSpec, message: str, outcome: str) -> ExerciseResult:
    checks = (CheckResult(name="runs", outcome="failed", message=message),)
    feedback = f"{spec.name}: {message}."
    base = missing(spec)
    return ExerciseResult(
        name=spec.name,
        outcome=outcome,  # type: ignore[arg-type]
        score=0.0,
        max_score=spec.points,
        checks=checks + base.checks[1:],
        feedback=feedback,
    )


class _Run:
    """One pass over a submission, in as many sessions as it takes."""

    def __init__(self, submission: Submission, open_session: OpenSession, whole: bool) -> None:
        self.submission = submission
        self.open_session = open_session
        self.whole = whole
        self.name_errors: set[str] = set()
        self.results: dict[str, ExerciseResult] = {}

    def run(self, specs: Iterable[ExerciseSpec]) -> dict[str, ExerciseResult]:
        """Results by name. Every pass of the loop settles at least one exercise."""
        todo = list(specs)
        retried: set[str] = set()
        while todo:
            try:
                loaded = self._load(todo)
            except Stopped as stop:
                if len(todo) > 1:  # which exercise brought it down? each alone will tell
                    for spec in todo:
                        self.run([spec])
                    break
                if stop.reason == "infrastructure" and todo[0].name not in retried:
                    retried.add(todo[0].name)
                    continue
                self._settle(todo.pop(0), {"": stop})
                continue
            try:
                while todo:
                    spec = todo[0]
                    ended = self._observe(spec, loaded, may_retry=spec.name not in retried)
                    ours = ended is not None and ended.reason == "infrastructure"
                    if ours and spec.name not in retried:
                        retried.add(spec.name)
                        break  # once more, in a fresh session
                    todo.pop(0)
                    if ended is not None:
                        break
            finally:
                loaded.session.close()
        return self.results

    def _load(self, specs: Sequence[ExerciseSpec]) -> Loaded:
        submission = self.submission
        if self.whole:
            positions = tuple(range(len(submission.statements)))
        else:
            positions = submission.slice_for(spec.name for spec in specs)
        statements = [
            {**submission.statements[i].to_wire(), "stops_cell": self.whole} for i in positions
        ]
        inert = STAND_INS if any(spec.axes_needed for spec in specs) else STAND_INS + DRAWING
        session = self.open_session()
        try:
            outcomes = session.load(statements, {"stand_ins": list(inert)})
            failures = {
                position: raised_from_wire(outcome)
                for position, outcome in zip(positions, outcomes, strict=True)
                if outcome is not None
            }
        except (ProtocolError, ValueError, KeyError, TypeError, AttributeError) as fault:
            session.close()
            raise Stopped(
                "crashed", f"your code disturbed the grader's channel ({fault})"
            ) from None
        except BaseException:
            session.close()
            raise
        return Loaded(session, failures)

    def _observe(self, spec: ExerciseSpec, loaded: Loaded, may_retry: bool) -> Stopped | None:
        """Observe and judge one exercise; returns what ended the session, if anything did."""
        failure = self._load_failure(spec, loaded)
        if failure is not None:
            if failure.is_a("NameError"):
                self.name_errors.add(spec.name)
            self._settle_load_failure(spec, failure)
            return None
        observations: dict[str, CaseOutcome] = {}
        for case in spec.cases:
            try:
                wire = loaded.session.run(program_to_wire(case.program))
                observed = observed_from_wire(wire)
            except Stopped as stop:
                if stop.reason == "infrastructure" and may_retry:
                    return stop
                observations[case.name] = stop
                self._settle(spec, observations)
                return stop
            except ProtocolError as fault:
                disturbed = _disturbed(fault)
                observations[case.name] = disturbed
                self._settle(spec, observations)
                return disturbed
            observations[case.name] = observed
            if _raises_name_error(observed):
                self.name_errors.add(spec.name)
        self._settle(spec, observations)
        return None

    def _load_failure(self, spec: ExerciseSpec, loaded: Loaded) -> Raised | None:
        """The first failed statement that the exercise depends on."""
        if self.whole:
            return None  # what is missing then shows when the exercise is called
        for position in self.submission.slice_for([spec.name]):
            if position in loaded.failures:
                return loaded.failures[position]
        return None

    def _settle(self, spec: ExerciseSpec, observations: Mapping[str, CaseOutcome]) -> None:
        if "" in observations:  # the session ended while loading: no case was reached
            observations = {spec.cases[0].name: observations[""]}
        try:
            self.results[spec.name] = judge(spec, observations)
        except PackFault as fault:
            self.results[spec.name] = infrastructure(spec, str(fault))

    def _settle_load_failure(self, spec: ExerciseSpec, failure: Raised) -> None:
        message = wording.exception(failure)
        if failure.is_a("ImportError"):
            message += "; only the packages named in the notebook can be imported"
        self.results[spec.name] = _failed_to_load(spec, message, "error")


def _disturbed(fault: Exception) -> Stopped:
    return Stopped("crashed", f"your code disturbed the grader's channel ({fault})")


def _raises_name_error(observed: Sequence[Observed]) -> bool:
    return any(step.raised is not None and step.raised.is_a("NameError") for step in observed)


def _with_needs(spec: ExerciseSpec, results: Mapping[str, ExerciseResult]) -> ExerciseResult:
    """Say so when an exercise fails while a part that it may call fails too."""
    result = results[spec.name]
    if result.outcome not in ("failed", "error"):
        return result
    wrong = [name for name in spec.needs if name in results and results[name].outcome != "passed"]
    if not wrong:
        return result
    names = " and ".join(f"`{name}`" for name in wrong)
    line = f"  It may call {names}, not right yet: repair that first, then look here again."
    return msgspec.structs.replace(result, feedback=f"{result.feedback}\n{line}")
