"""Variants of a submission, tried in one sandboxed child: many small edits, one fork.

The variants are a student's own code and may loop or crash like it: a child that dies costs the
variant that it was at, and the others go on in a fresh one. Expected values stay on this side.
"""

from __future__ import annotations
import __future__

import ast
import contextlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autograder.faults.failure import Clock
from autograder.judge import CaseOutcome, judge_case
from autograder.observe.protocol import ProtocolError
from autograder.observe.session import Session, Stopped
from autograder.observing import MAX_STATEMENTS, OpenSession
from autograder.parsing import Cell, parse
from autograder.program import Backward, Call, Observed
from autograder.specification import Case, ExerciseSpec
from autograder.submission import Submission
from autograder.syntax import is_future_import
from autograder.wire import observed_from_wire, program_to_wire, raised_from_wire

# Position of a top-level statement → its text.
Variant = Mapping[int, str]

BATCH = 16
# Of the clock on the wall: for one variant, and how much longer than processor time in all.
TRIAL_SECONDS = 0.3
WALL_TO_PROCESSOR = 4.0
LOADING_SECONDS = 5.0
# Deaths of children after which a search is given up: it is the code itself that kills them.
MAX_DEATHS = 6
_POSTPONED = __future__.annotations.compiler_flag


class GivenUp(Exception):
    """No more can be tried: the time is over, or no child can be had."""


@dataclass(frozen=True)
class Outcome:
    """What a variant gave in one case; None where its child died or it was not reached."""

    variant: Variant
    observed: Sequence[Observed] | None


class Trials:
    """Tries variants of one submission. Close it in the end."""

    def __init__(
        self,
        submission: Submission,
        spec: ExerciseSpec,
        open_session: OpenSession,
        clock: Clock,
        names: Iterable[str] = (),
    ) -> None:
        self.submission = submission
        self.spec = spec
        self.clock = clock
        self.count = 0
        self.reserve = 0.0  # seconds of the clock that are left to others
        self._open_session = open_session
        self.positions = submission.slice_for([spec.name, *spec.needs, *names])
        self._session: Session | None = None
        self._reported = 0.0
        self._deaths = 0
        self._ends = time.monotonic() + WALL_TO_PROCESSOR * clock.seconds
        statements = [submission.statements[i] for i in self.positions]
        self._flags = _POSTPONED if any(is_future_import(s.node) for s in statements) else 0

    def close(self) -> None:
        """End the child."""
        if self._session is not None:
            with contextlib.suppress(Exception):
                self._session.close()
        self._session = None

    # --- one case ---------------------------------------------------------------------

    def run(self, case: Case, variant: Variant | None = None) -> CaseOutcome | None:
        """What the submission, or a variant of it, gives in a case, fully observed."""
        outcome = next(iter(self.try_all([variant or {}], case)))
        return outcome.observed

    def passes(self, variant: Variant, cases: Sequence[Case]) -> int:
        """How many of the cases a variant passes before the first that it fails."""
        for count, case in enumerate(cases):
            observed = self.run(case, variant)
            if observed is None or judge_case(self.spec, case, observed) is not None:
                return count
        return len(cases)

    def try_all(
        self, variants: Sequence[Variant], case: Case | Quick, made_once: bool = False
    ) -> Iterable[Outcome]:
        """Each variant's observation of one case. Raises GivenUp when nothing more can be tried.

        All at once; where that ends the child, one by one. made_once: of a quick case, objects
        are made by the unchanged code, once.
        """
        left = list(variants)
        while left:
            batch = left[: 1 if self._may_loop(left[0]) else BATCH]
            left = left[len(batch) :]
            results = self._request(batch, case, made_once)
            if results is None and len(batch) > 1:
                for variant in batch:
                    alone = self._request([variant], case, made_once)
                    yield Outcome(variant, None if alone is None else alone[0])
                continue
            for number, variant in enumerate(batch):
                yield Outcome(variant, None if results is None else results[number])

    def _may_loop(self, variant: Variant) -> bool:
        return any("while" in text for text in variant.values())

    def _request(
        self, batch: Sequence[Variant], case: Case | Quick, made_once: bool
    ) -> list[Sequence[Observed] | None] | None:
        """Observations of a batch; None when the child died of it."""
        self._check()
        session = self._begun()
        before, program, skipped = (
            None,
            dict(case.wire if isinstance(case, Case) else case.case.wire),
            0,
        )
        if isinstance(case, Quick) and made_once and case.before is not None:
            before, program, skipped = case.before, case.rest, case.skipped
        touched = sorted({position for variant in batch for position in variant})
        request = {
            "trials": [self._statements(variant, touched) for variant in batch],
            "restore": self._statements({}, touched),
            "before": before,
            "program": program,
            "seconds": max(self.clock.left, 0.01),
            "flags": self._flags,
        }
        session.wall = min(  # type: ignore[attr-defined]
            TRIAL_SECONDS * (1 + len(batch) / 4), max(self._ends - time.monotonic(), 0.01)
        )
        started = time.monotonic()
        try:
            results = session.try_each(request)  # type: ignore[attr-defined]
        except Stopped:
            self.clock.add(time.monotonic() - started)
            self.close()
            self._deaths += 1
            return None
        self.count += len(batch)
        self._account(results[-1], time.monotonic() - started)
        return [_observed(result, skipped) for result in results[:-1]]

    def _account(self, last: Any, wall: float) -> None:
        """Add the child's processor time, as it says; never more than the clock on the wall."""
        said = last.get("seconds") if isinstance(last, dict) else None
        spent = said - self._reported if isinstance(said, float) else wall
        self._reported = said if isinstance(said, float) else 0.0
        self.clock.add(min(max(spent, 0.0), wall))

    def _check(self) -> None:
        if (
            self.clock.left <= self.reserve
            or time.monotonic() > self._ends
            or self._deaths > MAX_DEATHS
        ):
            raise GivenUp

    # --- the child --------------------------------------------------------------------

    def _begun(self) -> Session:
        if self._session is None:
            started = time.monotonic()
            try:
                session = self._open_session(**self.spec.limits.of_process())
                self._session = session
                if not hasattr(session, "try_each"):
                    raise GivenUp
                statements = [self._wire(i) for i in self.positions]
                inert = ["autograder", "IPython"]
                inert += [] if self.spec.axes_needed else ["matplotlib"]
                options = {"stand_ins": inert}
                session.wall = LOADING_SECONDS  # type: ignore[attr-defined]
                for start in range(0, len(statements), MAX_STATEMENTS):
                    session.load(statements[start : start + MAX_STATEMENTS], options)
            except Stopped as stopped:
                self.close()
                raise GivenUp from stopped
            self._reported = 0.0
            self._ends += time.monotonic() - started  # to start a process takes what it takes
            self.clock.add(0.1 * (time.monotonic() - started))  # mostly waiting
        return self._session

    def _wire(self, position: int, text: str | None = None) -> dict[str, Any]:
        statement = self.submission.statements[position]
        wire = statement.to_wire()
        return wire if text is None else {**wire, "source": text}

    def _statements(self, variant: Variant, touched: Sequence[int]) -> list[dict[str, Any]]:
        """What has to be executed for a variant: what differs, and what was made of it."""
        wires = [self._wire(position, variant.get(position)) for position in touched]
        if not touched:
            return wires
        bound = {name for i in touched for name in self.submission.statements[i].binds}
        for position in self.positions:
            if position > touched[0] and position not in touched:
                statement = self.submission.statements[position]
                if _reads_at_once(statement.node, bound):
                    wires.append(self._wire(position))
                    bound |= statement.binds
        return wires


def _reads_at_once(node: ast.stmt, names: set[str]) -> bool:
    """Whether a statement, when executed, uses one of the names: a base class, an alias."""
    if isinstance(node, ast.FunctionDef):
        parts: list[ast.AST] = [*node.decorator_list, *node.args.defaults]
    elif isinstance(node, ast.ClassDef):
        parts = [*node.bases, *node.decorator_list]
    else:
        parts = [node]
    return any(
        isinstance(part, ast.Name) and part.id in names for top in parts for part in ast.walk(top)
    )


def _observed(result: Any, skipped: int) -> Sequence[Observed] | None:
    try:
        if isinstance(result, dict) and "outcomes" in result:
            return (*[Observed()] * skipped, *observed_from_wire(result["outcomes"]))
        if isinstance(result, dict) and "raised" in result:
            return [Observed(raised=raised_from_wire(result["raised"]))]
    except (ProtocolError, KeyError, TypeError, ValueError, AttributeError):
        return None
    return None


@dataclass(frozen=True)
class Quick:
    """A case without what is only watched for, and without gradients: a third of the time.

    before: the first steps, which make an object and give it weights; None without such.
    rest: the others. skipped: how many steps stand in `before`.
    """

    case: Case
    before: dict[str, Any] | None
    rest: dict[str, Any]
    skipped: int


def quick(case: Case) -> Quick:
    """What a case becomes where many variants are tried in it."""
    steps = [
        replace(step, watch=()) if isinstance(step, Call) else step for step in case.program.steps
    ]
    while steps and isinstance(steps[-1], Backward):
        steps.pop()
    program = replace(case.program, steps=tuple(steps), forbidden={}, operators=False)
    light = replace(case, program=program, expected=case.expected[: len(steps)])
    skipped = next((i for i, step in enumerate(steps) if isinstance(step, Call)), 0)
    before = program_to_wire(replace(program, steps=program.steps[:skipped]))
    rest = program_to_wire(replace(program, steps=program.steps[skipped:]))
    return Quick(light, before if skipped else None, rest, skipped)


def patched(submission: Submission, variant: Variant) -> Submission:
    """The submission with a variant's statements, names looked up anew."""
    statements = list(submission.statements)
    for position, text in sorted(variant.items(), reverse=True):
        old = statements[position]
        made, _ = parse([Cell(old.cell, text, old.line)], "module")
        statements[position : position + 1] = made
    return replace(submission, statements=tuple(statements))
