"""One submission, observed and judged: what `check`, pytest, `grade` and nbgrader share.

Every exercise is observed in a session; the sessions differ (a sandboxed child, a spawned
process), the rest does not. When a session ends in the middle, its exercise gets that
outcome and the remaining ones go on in a fresh session. Nothing that a submission or a
session does makes `evaluate` raise.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder import wording
from autograder.hints import with_hints, with_lines
from autograder.judge import CaseOutcome, infrastructure, judge, missing
from autograder.observe.protocol import ProtocolError
from autograder.observe.session import Session, Stopped
from autograder.program import Observed, Raised
from autograder.result import CheckResult, ExerciseOutcome, ExerciseResult
from autograder.specification import ExerciseSpec
from autograder.submission import Submission
from autograder.wire import observed_from_wire, raised_from_wire

# Called without arguments, or with those of Limits that an exercise has set for itself.
OpenSession = Callable[..., Session]

STAND_INS = ("autograder", "IPython")
DRAWING = ("matplotlib",)

# Of one request: the protocol bounds the parts of a message, and a failure has up to 25.
MAX_STATEMENTS = 1500
# Of one statement, in UTF-8: a longer text would be cut on its way.
MAX_TEXT = 60_000


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
    open_session = _sharing_time(open_session)
    sliced = _Run(submission, open_session, whole=False)
    results.update(sliced.run(observable))
    raised = dict(sliced.raised)
    again = [spec for spec in observable if sliced.may_lack_something(spec)]
    if again:
        # something outside the slice was needed: run the cells in order, as a kernel would
        whole = _Run(submission, open_session, whole=True)
        for name, result in whole.run(again).items():
            if _tells_more(result, results[name]):
                results[name] = result
                raised[name] = whole.raised.get(name)
    return [with_hints(submission, spec, results, raised.get(spec.name)) for spec in specs]


def _sharing_time(open_session: OpenSession) -> OpenSession:
    """Sessions of one submission that go on from the time that those before have spent."""
    last: list[Session] = []

    def opened(**limits: int) -> Session:
        session = open_session(**limits)
        if last and hasattr(session, "spent"):
            session.spent = getattr(last[0], "spent", 0.0)
        last[:] = [session]
        return session

    return opened


def _tells_more(whole: ExerciseResult, sliced: ExerciseResult) -> bool:
    """Whether running all cells told more than the slice did."""
    if whole.outcome not in ("passed", "failed", "error"):
        return False
    if sliced.outcome in ("error", "missing"):
        return True
    return (whole.score or 0.0) > (sliced.score or 0.0)


def _without_observing(submission: Submission, spec: ExerciseSpec) -> ExerciseResult | None:
    """Results that the syntax alone gives: missing, unparsable, forbidden."""
    if not submission.stands(spec.name):
        cell = submission.broken_cell(spec.name)
        if cell is None:
            return _missing(submission, spec)
        return _not_run(spec, "a syntax error", wording.one_line(cell.words), "error")
    found = submission.uses(spec.name, spec.forbids)
    if found is not None:
        message = f"it uses `{found}`, which this exercise forbids"
        return _not_run(spec, "a forbidden call", message, "forbidden")
    return None


def _missing(submission: Submission, spec: ExerciseSpec) -> ExerciseResult:
    result = missing(spec)
    hidden = submission.hidden_by_stub(spec.name)
    if hidden is None:
        return result
    own, stub = (f"line {item.line} of {item.cell}" for item in hidden)
    line = f"It is defined in {own}, but the empty one in {stub} comes later and counts."
    return with_lines(result, [line])


def _not_run(
    spec: ExerciseSpec, heading: str, message: str, outcome: ExerciseOutcome
) -> ExerciseResult:
    """The result of an exercise of which no case could be run."""
    base = missing(spec)
    return ExerciseResult(
        name=spec.name,
        outcome=outcome,
        score=0.0,
        max_score=spec.points,
        checks=(CheckResult(name="runs", outcome="failed", message=message), *base.checks[1:]),
        feedback=f"{spec.name}: {heading}\n  {wording.sentence(message)}",
    )


def _ended_while_loading(
    spec: ExerciseSpec, message: str, outcome: ExerciseOutcome
) -> ExerciseResult:
    if outcome == "infrastructure":
        return infrastructure(spec, message)
    heading = f"{wording.headline('runs', outcome)} before any case was run"
    return _not_run(spec, heading, message, outcome)


class _Run:
    """One pass over a submission, in as many sessions as it takes."""

    def __init__(self, submission: Submission, open_session: OpenSession, whole: bool) -> None:
        self.submission = submission
        self.open_session = open_session
        self.whole = whole
        self.results: dict[str, ExerciseResult] = {}
        self.raised: dict[str, Raised | None] = {}  # what made an exercise an error
        self._retried: set[str] = set()

    def run(self, specs: Sequence[ExerciseSpec]) -> dict[str, ExerciseResult]:
        """Results by name; exercises with limits of their own have processes of their own."""
        together: dict[Any, list[ExerciseSpec]] = {}
        for spec in specs:
            own = spec.limits.of_process()
            # what adds up is for this exercise alone; what does not can be shared
            alone = spec.name if own.keys() & {"cpu", "output"} else None
            together.setdefault((alone, *sorted(own.items())), []).append(spec)
        for group in together.values():
            self._run_together(group)
        return self.results

    def _run_together(self, todo: list[ExerciseSpec]) -> None:
        """Every pass of the loop settles or retries at least one exercise."""
        while todo:
            try:
                loaded = self._load(todo)
            except Stopped as stop:
                if self._may_retry(todo, stop):
                    continue
                if len(todo) > 1 and stop.reason != "infrastructure":
                    for spec in todo:  # which exercise brought it down? each alone will tell
                        self.run([spec])
                else:
                    for spec in todo:
                        self.results[spec.name] = _ended_while_loading(
                            spec, stop.message, stop.reason
                        )
                break
            try:
                self._observe_until_stopped(todo, loaded)
            finally:
                _close(loaded.session)

    def may_lack_something(self, spec: ExerciseSpec) -> bool:
        """Whether an exercise may have failed for want of what the slice leaves out."""
        result, raised = self.results[spec.name], self.raised.get(spec.name)
        if result.outcome not in ("failed", "error", "missing"):
            return False
        # Missing: its own name is bound, but not in the slice. An UnboundLocalError is no sign.
        if raised is not None and raised.type_name in ("NameError", "Missing"):
            return True
        return result.outcome != "missing" and self.submission.left_out_for([spec.name])

    def _may_retry(self, specs: Sequence[ExerciseSpec], stop: Stopped) -> bool:
        """Once for each exercise, after a fault of ours."""
        names = {spec.name for spec in specs}
        if stop.reason != "infrastructure" or names <= self._retried:
            return False
        self._retried |= names
        return True

    # --- loading ----------------------------------------------------------------------

    def _load(self, specs: Sequence[ExerciseSpec]) -> Loaded:
        inert = STAND_INS if any(spec.axes_needed for spec in specs) else STAND_INS + DRAWING
        options: dict[str, Any] = {"stand_ins": list(inert)}
        with _only_stopped():
            session = self.open_session(**specs[0].limits.of_process())
        try:
            failures: dict[int, Raised] = {}
            for batch in self._batches(specs):
                positions = [position for position, _ in batch]
                with _only_stopped():
                    outcomes = session.load([statement for _, statement in batch], options)
                options = {"stand_ins": []}  # once is enough
                failures |= _failures(positions, outcomes)
        except BaseException:
            _close(session)
            raise
        return Loaded(session, failures)

    def _batches(self, specs: Sequence[ExerciseSpec]) -> Iterator[list[tuple[int, dict[str, Any]]]]:
        """Statements to execute with their positions, in as many requests as it takes."""
        statements = self.submission.statements
        if self.whole:
            positions: Sequence[int] = range(len(statements))
        else:
            positions = self.submission.slice_for(spec.name for spec in specs)
        # a kernel gives up a cell at its first exception; in a module, the rest may still count
        stops = self.whole and self.submission.kind == "notebook"
        batch: list[tuple[int, dict[str, Any]]] = []
        for position in positions:
            wire = {**statements[position].to_wire(), "stops_cell": stops}
            batch.append((position, {**wire, "source": _in_parts(wire["source"])}))
            if len(batch) >= MAX_STATEMENTS:
                yield batch
                batch = []
        yield batch

    # --- observing --------------------------------------------------------------------

    def _observe_until_stopped(self, todo: list[ExerciseSpec], loaded: Loaded) -> None:
        """Settle exercises in order and take them off `todo`, until the session ends."""
        while todo:
            stop = self._observe(todo[0], loaded)
            if stop is not None and self._may_retry(todo[:1], stop):
                return
            todo.pop(0)
            if stop is not None:
                return

    def _observe(self, spec: ExerciseSpec, loaded: Loaded) -> Stopped | None:
        """Observe and judge one exercise; returns what ended the session, if anything did."""
        observations: dict[str, CaseOutcome] = {}
        raised: Raised | None = None
        stop: Stopped | None = None
        _give_seconds(loaded.session, spec.limits.seconds)
        for case in spec.cases:
            try:
                with _only_stopped():
                    wire = loaded.session.run(case.wire)
                    observed = observed_from_wire(wire)
            except Stopped as ended:
                observations[case.name] = stop = ended
                break
            observations[case.name] = observed
            raised = raised or _unexpected(observed, case.expected)
        result = self._judge(spec, observations)
        failure = self._load_failure(spec, loaded)
        if failure is not None and result.outcome in ("error", "missing"):
            raised = failure
            result = _ended_while_loading(spec, wording.exception(failure), "error")
        self.results[spec.name] = result
        self.raised[spec.name] = raised
        return stop

    def _judge(self, spec: ExerciseSpec, observations: Mapping[str, CaseOutcome]) -> ExerciseResult:
        try:
            return judge(spec, observations)
        except Exception as fault:  # of the pack or of ours
            return infrastructure(spec, wording.one_line(f"{type(fault).__name__}: {fault}"))

    def _load_failure(self, spec: ExerciseSpec, loaded: Loaded) -> Raised | None:
        """The first failed statement that the exercise depends on, unless later ones make up."""
        if self.whole or not loaded.failures:
            return None  # when all is run, what is missing shows when the exercise is called
        made: set[str] = set()
        found: Raised | None = None
        for position in reversed(self.submission.slice_for([spec.name])):
            statement = self.submission.statements[position]
            if position not in loaded.failures:
                made |= statement.binds
            elif not (statement.binds | statement.changes or {"*"}) <= made:
                found = loaded.failures[position]
        return found


@contextlib.contextmanager
def _only_stopped() -> Iterator[None]:
    """Whatever else than Stopped is raised inside becomes that: a fault of ours, mostly."""
    try:
        yield
    except Stopped:
        raise
    except ProtocolError as fault:
        raise _disturbed(fault) from None
    except Exception as fault:
        words = wording.one_line(f"{type(fault).__name__}: {fault}")
        raise Stopped("infrastructure", f"the grader failed ({words})") from fault


def _give_seconds(session: Session, seconds: float | None) -> None:
    """For one request: the exercise's own, or those of the run."""
    limits = getattr(session, "limits", None)
    if limits is not None:
        session.wall = limits.wall if seconds is None else seconds  # type: ignore[attr-defined]


def _close(session: Session) -> None:
    with contextlib.suppress(Exception):
        session.close()


def _failures(positions: Sequence[int], outcomes: Any) -> dict[int, Raised]:
    """Failures by position; Stopped when the outcomes are none."""
    try:
        return {
            position: raised_from_wire(outcome)
            for position, outcome in zip(positions, outcomes, strict=True)
            if outcome is not None
        }
    except (ValueError, KeyError, TypeError, AttributeError) as fault:
        raise _disturbed(fault) from None


def _disturbed(fault: Exception) -> Stopped:
    return Stopped("crashed", f"your code disturbed the grader's channel ({fault})")


def _unexpected(observed: Sequence[Observed], expected: Sequence[Observed]) -> Raised | None:
    """The exception that a case ended with, unless one was asked for."""
    if any(step.raised is not None for step in expected):
        return None
    return next((step.raised for step in observed if step.raised is not None), None)


def _in_parts(text: str) -> str | list[str]:
    """A text that would be cut on its way, in parts that the worker joins."""
    if len(text) * 4 <= MAX_TEXT or len(text.encode("utf-8", "replace")) <= MAX_TEXT:
        return text
    size = MAX_TEXT // 4
    return [text[start : start + size] for start in range(0, len(text), size)]
