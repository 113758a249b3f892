"""Which misconception explains what was observed.

A misconception explains a submission when it gives the same results on the same inputs,
in every case, the passed ones too. “Same” means equal within the tolerance, with equal
NaN patterns, or the same kind of exception; for random results, agreeing statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from autograder.checks import PackFault, run_custom
from autograder.numerics import compare, tolerance_for
from autograder.observe.session import Stopped
from autograder.program import Observed
from autograder.results_view import (
    Unreadable,
    case_view,
    expected_count,
    part_of,
    parts_of,
)
from autograder.specification import Case, CustomCheck, ExerciseSpec, Interval, Verdict

CaseOutcome = Sequence[Observed] | Stopped


def diagnose(
    spec: ExerciseSpec, observations: Mapping[str, CaseOutcome], failing: Sequence[str]
) -> tuple[str, ...]:
    """Names of the misconceptions that explain a failed exercise; empty when none does.

    A misconception that matches every case wins. When a student's variation of a mistake
    parts from ours on some unusual input, one that matches more than half of the failing
    cases, and is contradicted by no separating case, is named too.
    """
    best: tuple[float, str] | None = None
    for known in spec.mistakes:
        matches, contradictions = 0, 0
        for case in spec.cases:
            observed = observations.get(case.name)
            if observed is None or known.name not in case.explanations:
                continue
            same = (
                not isinstance(observed, Stopped)
                and same_outcome(spec, case, observed, case.explanations[known.name])
            )  # fmt: skip
            if case.name in failing:
                matches += same
            if not same and (case.kind == "separating" or case.name not in failing):
                contradictions += 1
        if contradictions or matches * 2 <= len(failing):
            continue
        share = matches / len(failing)
        if best is None or share > best[0]:
            best = (share, known.name)
    return () if best is None else (best[1],)


def same_outcome(
    spec: ExerciseSpec, case: Case, observed: Sequence[Observed], other: Sequence[Observed]
) -> bool:
    """Whether two observations of one case cannot be told apart."""
    if len(observed) != len(other):
        return False
    for left, right in zip(observed, other, strict=True):
        if (left.raised is None) != (right.raised is None):
            return False
        names = [side.raised.type_name for side in (left, right) if side.raised is not None]
        if len(set(names)) > 1:
            return False
        if bool(left.changed) != bool(right.changed):
            return False
    mine, theirs = summary(spec, case, observed), summary(spec, case, other)
    if mine is not None and theirs is not None:
        return summaries_agree(mine, theirs)
    return all(
        left.raised is not None or same_value(left.value, right.value, wanted.value)
        for left, right, wanted in zip(observed, other, case.expected, strict=False)
    )


def same_value(left: Any, right: Any, wanted: Any) -> bool:
    """Whether two results are equal within the coarser tolerance of the two."""
    if isinstance(wanted, Mapping):
        if not isinstance(left, Mapping) or not isinstance(right, Mapping):
            return bool(left == right)
        return all(same_value(left.get(k), right.get(k), item) for k, item in wanted.items())
    count = expected_count(wanted)
    if count > 1:
        ours, theirs = parts_of(left, count), parts_of(right, count)
        if ours is None or theirs is None:
            return ours is None and theirs is None and _same_single(left, right)
        return all(_same_single(a, b) for a, b in zip(ours, theirs, strict=True))
    return _same_single(left, right)


def _same_single(left: Any, right: Any) -> bool:
    ours, theirs = part_of(left), part_of(right)
    if isinstance(ours, Unreadable) or isinstance(theirs, Unreadable):
        return ours == theirs
    if ours.shape != theirs.shape or ours.data is None or theirs.data is None:
        return ours.shape == theirs.shape and ours.data is None and theirs.data is None
    tolerance = tolerance_for([ours.dtype, theirs.dtype], theirs.data)
    return compare(ours.data, theirs.data, tolerance, nan_equal=True) is None


def summary(
    spec: ExerciseSpec, case: Case, observed: Sequence[Observed]
) -> tuple[Interval, ...] | None:
    """The statistics of a case with random results; None for all other cases."""
    checks = [check for check in spec.checks if isinstance(check, CustomCheck)]
    if not checks:
        return None
    view = case_view(case.program, observed, case.expected)
    if view is None:
        return None
    for check in checks:
        try:
            found = run_custom(check, view)
        except PackFault:
            continue  # the judge has reported it
        if isinstance(found, Verdict):
            return found.summary
    return None


def summaries_agree(left: Sequence[Interval], right: Sequence[Interval]) -> bool:
    """Whether two lists of statistics could be estimates of the same numbers."""
    theirs = {interval.name: interval for interval in right}
    return len(left) == len(right) and all(
        interval.name in theirs and interval.agrees_with(theirs[interval.name]) for interval in left
    )
