"""Repair search: which small edits of a failed exercise make it right.

    find_repairs(failure) -> Repairs         (`failure.Failure` says what it is given)
    agreement.agree(repairs, failure) -> Place | None

Edits come from `edits` and its families, cheap ones first, those of suspect lines before others.
All of one cost are tried before a dearer one, so that the agreement can be judged; where none
repairs, the best few are edited once more. A variant has to pass the smallest failing case to
meet the next, then all cases by the judge, then, in a child of its own, the same exercise drawn
afresh. The time is bounded by `failure.clock`, whatever the code does.
"""

from __future__ import annotations

import ast
import itertools
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from autograder.faults import (
    edits_names,
    edits_numbers,
    edits_operators,
    edits_steps,
    edits_transposes,
)
from autograder.faults.candidates import Candidate, Line, each_once, in_turn
from autograder.faults.edits import Edit, Text, edits_of
from autograder.faults.failure import Failure
from autograder.faults.nearness import distance
from autograder.faults.trials import GivenUp, Outcome, Quick, Trials, patched, quick
from autograder.judge import CaseOutcome, judge_case
from autograder.likeness import summary
from autograder.observe.session import Stopped
from autograder.program import Backward, Observed
from autograder.specification import UNTOUCHED, Case, ExerciseSpec
from autograder.submission import Submission
from autograder.syntax import Imported, Node, is_stub

FAMILIES = (
    *edits_numbers.FAMILIES,
    *edits_operators.FAMILIES,
    *edits_transposes.FAMILIES,
    *edits_names.FAMILIES,
    *edits_steps.FAMILIES,
)
# Longer functions are not looked at.
MAX_TEXT = 12_000
# Partial repairs that are edited once more, and how many of the second edits each is given.
BEAM = 6
# Of the time, what is kept for judging repairs afresh; of what is left when the first repair is
# found, what is spent on others.
RESERVE, PROOF = 0.15, 0.5
# Slips of which all pairs are tried, and candidates between two looks at the clock.
MAX_SLIPS, BATCHES = 70, 64
# Repairs that are judged afresh; that many different ones agree on nothing.
MAX_REPAIRS = 8


@dataclass
class Repairs:
    """What a search has found.

    found: the cheapest that repair, all of one cost. tried: variants. complete: whether all of
    that cost were. reason: why there is nothing, if there is a reason.
    """

    found: list[Candidate] = field(default_factory=list)
    tried: int = 0
    complete: bool = False
    reason: str = ""


def find_repairs(failure: Failure) -> Repairs:
    """The cheapest repairs of a failed exercise; none where it is not for a search."""
    result = Repairs(reason=_refused(failure))
    if result.reason:
        return result
    search = _Search(failure)
    try:
        search.run(result)
    except GivenUp:
        result.reason = result.reason or "no time"
    finally:
        search.trials.close()
        result.tried = search.trials.count
    return result


def _refused(failure: Failure) -> str:
    """Why there is nothing to search; "" when there is."""
    node = failure.submission.definition(failure.spec.name)
    if node is None:
        return "no definition"
    if is_stub(node):
        return "a stub"
    if isinstance(node, ast.FunctionDef) and not _uses_parameters(node):
        return "a constant"
    return ""


def _uses_parameters(node: ast.FunctionDef) -> bool:
    arguments = {a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
    calls = any(isinstance(part, (ast.Call, ast.BinOp, ast.Subscript)) for part in ast.walk(node))
    return calls and any(
        isinstance(part, ast.Name) and part.id in arguments for part in ast.walk(node)
    )


class _Search:
    """One search, with the child in which its variants are tried."""

    def __init__(self, failure: Failure) -> None:
        self.failure = failure
        self.spec = failure.spec
        self.submission = failure.submission
        self.modules = _modules(self.submission)
        self.trials = Trials(
            self.submission, self.spec, failure.open_session, failure.clock, self.modules
        )
        self.trials.reserve = RESERVE * failure.clock.seconds
        self.cases = sorted(self.spec.cases, key=_size)
        # a whole case where only the judge can tell, for want of comparable values
        self.first: Case | Quick = self.cases[0]
        self.constructible = False  # whether its object can be made by the unchanged code
        self.suspects = list(failure.suspects)
        self.singles: list[Candidate] = []
        self.partial: list[tuple[float, Candidate]] = []

    # --- the search -------------------------------------------------------------------

    def run(self, result: Repairs) -> None:
        base = self._first_failing()
        if base is None:
            result.reason = "nothing fails here"
            return
        for candidates in (self._singles, lambda: self._beam(base), self._all_pairs):
            self._found_among(candidates(), result)
            if result.found:
                break
        unproved, result.found = result.found, []
        result.found = self._lasting(unproved)

    def _found_among(self, candidates: Sequence[Candidate], result: Repairs) -> None:
        """Try candidates in order; once one repairs, those that cost no more."""
        left = list(candidates)
        enough = math.inf  # time left at which those found have to do
        result.complete = False
        try:
            while left:
                batch, left = left[:BATCHES], left[BATCHES:]
                result.found += self._repairing(batch)
                if result.found:
                    if math.isinf(enough):
                        enough = self.failure.clock.left * (1 - PROOF)
                    if self.failure.clock.left < enough:
                        return
                    least = min(repair.cost for repair in result.found)
                    result.found = [r for r in result.found if r.cost == least]
                    left = [c for c in left if c.cost <= least]
        except GivenUp:
            if not result.found:
                raise
            return
        result.complete = True

    def _repairing(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        found = []
        for candidate, outcome in self._tried(candidates):
            apart = self._apart(outcome.observed)
            passed = 0
            if apart == 0.0:
                passed = self.trials.passes(candidate.variant, self.cases)
                if passed == len(self.cases):
                    found.append(candidate)
                    continue
            if len(candidate.edits) == 1:
                # right in the first case is nearer than anything that is not
                nearness = apart if apart else -1.0 - passed / len(self.cases)
                self.partial.append((nearness, candidate))
        return found

    def _tried(self, candidates: Sequence[Candidate]) -> list[tuple[Candidate, Outcome]]:
        """Candidates in order, each with what it gave in the first case."""
        outcomes: dict[int, Outcome] = {}
        for made_once in (False, True) if self.constructible else (False,):
            group = [
                i for i, c in enumerate(candidates)
                if not self.constructible or self._is_constructed_alike(c) is made_once
            ]  # fmt: skip
            variants = [candidates[i].variant for i in group]
            tried = self.trials.try_all(variants, self.first, made_once)
            outcomes.update(zip(group, tried, strict=True))
        return [(candidates[i], outcomes[i]) for i in sorted(outcomes)]

    def _is_constructed_alike(self, candidate: Candidate) -> bool:
        """Whether the edits leave alone how an object of the exercise's class is made."""
        return all(
            not edit.constructs and self.spec.name in self.submission.statements[position].binds
            for position, edit in candidate.edits
        )

    def _apart(self, observed: Sequence[Observed] | None) -> float:
        if observed is None:
            return math.inf
        if isinstance(self.first, Quick):
            return distance(self.first.case, observed)
        return 0.0 if judge_case(self.spec, self.first, observed) is None else 1.0

    def _first_failing(self) -> float | None:
        """Find the smallest failing case, and how far off the submission is there."""
        own = {i: self.submission.statements[i].source for i in self._editable()[:1]}
        for case in self.cases:
            observed = self.trials.run(case, own)
            fault = None if observed is None else judge_case(self.spec, case, observed)
            if observed is None:
                raise GivenUp
            if fault is None:
                continue
            self._suspect(observed)
            if isinstance(observed, Stopped) or fault.check == UNTOUCHED:
                self.first = case
                return 1.0
            if summary(self.spec, case, case.expected) is None:
                first = quick(case)
                apart = distance(first.case, observed)
                if apart:
                    self.first = first
                    self.constructible = not any(
                        step.raised for step in observed[: first.skipped]
                    ) and bool(first.skipped)
                    return apart
            self.first = case
            return 1.0
        return None

    def _suspect(self, observed: CaseOutcome) -> None:
        """An exception's line is the first suspect."""
        if isinstance(observed, Stopped):
            return
        for step in observed:
            raised = step.raised
            if raised is not None and raised.line and raised.cell:
                self.suspects.insert(0, (raised.cell, raised.line))

    # --- candidates -------------------------------------------------------------------

    def _singles(self) -> list[Candidate]:
        for position in self._editable():
            source = self.submission.statements[position].source
            for edit in self._edits(Text(source)):
                text = edit.applied(source)
                self.singles.append(Candidate(((position, edit),), {position: text}))
        self.singles = in_turn(self.singles, self._suspected())
        return self.singles

    def _beam(self, base: float) -> list[Candidate]:
        """Second edits of the best variants that one edit has made."""
        best = sorted(self.partial, key=lambda item: (item[0], item[1].cost))
        best = [item for item in best if item[0] < base - 1e-6][:BEAM]
        found: list[Candidate] = []
        for _, first in best:
            for position, text in first.variant.items():
                found += [
                    Candidate((*first.edits, (position, edit)), {position: edit.applied(text)})
                    for edit in self._edits(Text(text))
                ]
        return in_turn(found)

    def _all_pairs(self) -> list[Candidate]:
        """Any two slips together, where there are few."""
        slips = [single for single in self.singles if single.cost == 1][:MAX_SLIPS]
        found: list[Candidate] = []
        for one, other in itertools.combinations(slips, 2):
            (position, first), (elsewhere, second) = one.edits[0], other.edits[0]
            if position != elsewhere:
                found.append(
                    Candidate((*one.edits, *other.edits), {**one.variant, **other.variant})
                )
                continue
            changes = sorted((*first.changes, *second.changes))
            pairs = itertools.pairwise(changes)
            if all(left.end <= right.start for left, right in pairs):
                both = replace(first, changes=tuple(changes))
                text = both.applied(self.submission.statements[position].source)
                found.append(Candidate((*one.edits, *other.edits), {position: text}))
        return each_once(found)

    def _edits(self, text: Text) -> list[Edit]:
        others = {*self.spec.needs} & self.submission.bound
        torch = self.spec.framework == "torch"
        return edits_of(text, FAMILIES, frozenset(), self.modules, sorted(others), torch)

    def _editable(self) -> list[int]:
        """Statements with the exercise and its own helpers; parts of other exercises are not."""
        frozen = (self.failure.right | set(self.spec.needs)) - {self.spec.name}
        found = []
        last = {
            name: position
            for position in self.trials.positions
            for name in self.submission.statements[position].binds
        }
        for position in sorted(set(last.values())):  # what is defined again has no say
            statement = self.submission.statements[position]
            if not isinstance(statement.node, Node) or len(statement.source) > MAX_TEXT:
                continue
            if statement.node.name not in frozen and not is_stub(statement.node):
                found.append(position)
        # the exercise itself first
        return sorted(
            found, key=lambda i: self.spec.name not in self.submission.statements[i].binds
        )

    def _suspected(self) -> list[Line]:
        """The suspect lines, as far as they are in what may be edited."""
        starts = [(i, self.submission.statements[i]) for i in self._editable()]
        return [
            (position, line - statement.line + 1)
            for cell, line in self.suspects
            for position, statement in starts
            if cell == statement.cell
            and 0 <= line - statement.line < statement.source.count("\n") + 1
        ]

    # --- the last word ----------------------------------------------------------------

    def _lasting(self, repairs: Sequence[Candidate]) -> list[Candidate]:
        """Those that are right on fresh inputs too, in a child that has seen nothing else.

        One for each set of lines: whether they agree on these is all that matters.
        """
        spec = self._fresh()
        lasting: dict[frozenset[Line], Candidate] = {}
        self.trials.close()
        for repair in repairs[:MAX_REPAIRS]:
            if repair.lines not in lasting and self._is_right(repair, spec):
                lasting[repair.lines] = repair
        return list(lasting.values())

    def _is_right(self, repair: Candidate, spec: ExerciseSpec) -> bool:
        whole = patched(self.submission, repair.variant)
        if whole.uses(spec.name, spec.forbids) is not None:
            return False
        trials = Trials(whole, spec, self.failure.open_session, self.failure.clock)
        try:
            return trials.passes({}, spec.cases) == len(spec.cases)
        finally:
            trials.close()

    def _fresh(self) -> ExerciseSpec:
        fresh = self.failure.fresh
        if fresh is None:
            return self.spec
        started = time.thread_time()
        spec = fresh()
        # drawn for a whole class, by whoever comes first: it is not on this student's clock
        self.failure.clock.add(started - time.thread_time())
        return spec


def _size(case: Case) -> tuple[int, float]:
    """What to look at first: little to compute, no gradients, no exception asked for."""
    numbers = sum(
        abs(value) if type(value) is int else math.prod(getattr(value, "shape", ()))
        for _, call in case.program.calls
        for value in call.named.values()
    )
    asked = any(step.raised is not None for step in case.expected)
    heavy = any(isinstance(step, Backward) for step in case.program.steps)
    return (2 * asked + heavy, numbers + 40 * len(case.program.steps))


def _modules(submission: Submission) -> dict[str, str]:
    """What NumPy, PyTorch and their parts are called in a file."""
    known = Imported()
    for statement in submission.statements:
        if isinstance(statement.node, ast.Import | ast.ImportFrom):
            known.follow(statement, [statement.node])
    tops = ("numpy", "torch", "math", "scipy")
    return {name: dotted for name, dotted in known.aliases.items() if dotted.split(".")[0] in tops}
