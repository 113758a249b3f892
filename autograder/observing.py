"""One pass over a submission: load it, run the cases of some exercises, judge them.

When a session ends in the middle, its exercise gets that outcome and the remaining ones go on
in a fresh session. Nothing that a submission or a session does makes a pass raise.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder import wording
from autograder.equal_answers import Judged
from autograder.judge import CaseOutcome, infrastructure, judge, missing
from autograder.observe.protocol import ProtocolError
from autograder.observe.session import Replying, Session, Stopped
from autograder.program import Observed, Raised
from autograder.references import Desk
from autograder.result import CheckResult, ExerciseOutcome, ExerciseResult
from autograder.specification import Case, ExerciseSpec
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


def not_run(
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
    return not_run(spec, heading, message, outcome)


class Pass:
    """One pass over a submission, in as many sessions as it takes.

    whole: run all cells in order, and not just what the exercises depend on. desk: what answers
    the calls of some exercises, whose own code is then left out. is_followed: says, from the
    results so far, of which exercises the parts are going to be answered: only what is left of
    a failure then is worth looking for two misconceptions at once. `unpaired` does that after
    all, where nothing came of it.
    """

    def __init__(
        self,
        submission: Submission,
        open_session: OpenSession,
        *,
        whole: bool = False,
        desk: Desk | None = None,
        is_followed: Callable[[ExerciseSpec, Mapping[str, ExerciseResult]], bool] | None = None,
    ) -> None:
        self.submission = submission
        self.open_session = open_session
        self.whole = whole
        self.desk = desk
        self.parts: tuple[str, ...] = () if desk is None else desk.parts
        self.results: dict[str, ExerciseResult] = {}
        self.raised: dict[str, Raised | None] = {}  # what made an exercise an error
        self.unpaired: dict[str, Callable[[], ExerciseResult]] = {}
        self._is_followed = is_followed
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
                loaded = self.load(todo)
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

    def load(self, specs: Sequence[ExerciseSpec]) -> Loaded:
        """A fresh session with the submission in it; the caller closes it. May raise Stopped."""
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
            positions: Sequence[int] = [
                i for i, s in enumerate(statements) if not s.binds or s.binds - set(self.parts)
            ]
        else:
            positions = self.submission.slice_for((spec.name for spec in specs), self.parts)
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
        ahead = getattr(loaded.session, "ahead", None)
        if ahead is not None and self.desk is None:  # a desk makes its programs as they come
            ahead([case.wire for spec in todo for case in spec.cases])
        while todo:
            stop = self._observe(todo[0], loaded)
            if stop is not None and self._may_retry(todo[:1], stop):
                return
            todo.pop(0)
            if stop is not None:
                return

    def _observe(self, spec: ExerciseSpec, loaded: Loaded) -> Stopped | None:
        """Observe and judge one exercise; returns what ended the session, if anything did."""
        _give_seconds(loaded.session, spec.limits.seconds)
        # a desk answers each submission for itself, so its programs are its own
        replying = loaded.session if self.desk is None else None
        if isinstance(replying, Replying):
            judged, stop = self._judge_replies(spec, replying)
        else:
            judged, stop = self._judge_each(spec, lambda case: self._run(case, loaded.session))
        result, raised = judged.result, judged.raised
        failure = self._load_failure(spec, loaded)
        if failure is not None and result.outcome in ("error", "missing"):
            raised = failure
            result = _ended_while_loading(spec, wording.exception(failure), "error")
            self.unpaired.pop(spec.name, None)
        self.results[spec.name] = result
        self.raised[spec.name] = raised
        return stop

    def _judge_replies(
        self, spec: ExerciseSpec, session: Replying
    ) -> tuple[Judged, Stopped | None]:
        """All cases run, then read and judged; what equal replies have been given is known."""
        replies: dict[str, bytes] = {}
        stop: Stopped | None = None
        for case in spec.cases:
            try:
                with _only_stopped():
                    replies[case.name] = session.reply_to(case.wire)
            except Stopped as ended:
                stop = ended
                break

        def read(case: Case) -> Any:
            if case.name in replies:
                return session.read(replies[case.name])
            assert stop is not None
            raise stop

        def judged(with_pairs: bool) -> tuple[Judged, Stopped | None]:
            key, known = spec.equal_answers.get(list(replies.values()), with_pairs)
            if known is not None and stop is None:
                return known, None
            found, ended = self._judge_each(spec, read, with_pairs)
            if ended is None:
                spec.equal_answers.keep(key, found)
            return found, ended

        if self._is_followed is None or not self._is_followed(spec, self.results):
            return judged(with_pairs=True)
        self.unpaired[spec.name] = lambda: judged(with_pairs=True)[0].result
        return judged(with_pairs=False)

    def _judge_each(
        self, spec: ExerciseSpec, outcomes_of: Callable[[Case], Any], with_pairs: bool = True
    ) -> tuple[Judged, Stopped | None]:
        """The cases one after another, until one of them ends the session."""
        observations: dict[str, CaseOutcome] = {}
        raised: Raised | None = None
        stop: Stopped | None = None
        for case in spec.cases:
            try:
                with _only_stopped():
                    observed = observed_from_wire(outcomes_of(case))
            except Stopped as ended:
                observations[case.name] = stop = ended
                break
            observations[case.name] = observed
            raised = raised or _unexpected(observed, case.expected)
        return Judged(self._judge(spec, observations, with_pairs), raised), stop

    def _run(self, case: Case, session: Session) -> Any:
        if self.desk is None:
            return session.run(case.wire)
        return session.run(self.desk.program(case), self.desk.answers(case))

    def _judge(
        self, spec: ExerciseSpec, observations: Mapping[str, CaseOutcome], with_pairs: bool
    ) -> ExerciseResult:
        try:
            return judge(spec, observations, with_pairs=with_pairs)
        except Exception as fault:  # of the pack or of ours
            return infrastructure(spec, wording.one_line(f"{type(fault).__name__}: {fault}"))

    def _load_failure(self, spec: ExerciseSpec, loaded: Loaded) -> Raised | None:
        """The first failed statement that the exercise depends on, unless later ones make up."""
        if self.whole or not loaded.failures:
            return None  # when all is run, what is missing shows when the exercise is called
        made: set[str] = set()
        found: Raised | None = None
        for position in reversed(self.submission.slice_for([spec.name], self.parts)):
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
