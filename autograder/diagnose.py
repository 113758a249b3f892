"""Which misconceptions explain what was observed.

A misconception explains a submission when it gives the same results on the same inputs,
in every case, the passed ones too (`autograder.likeness` says what the same is). Where no
single one does, two that are put together may (see `autograder.pairs`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autograder.likeness import CaseOutcome, Likeness, Seen, same_outcome, same_values
from autograder.observe.session import Stopped
from autograder.specification import Case, ExerciseSpec, KnownMistake, Pair

# So many pairs are merged and run for one submission at most, the likely ones first: all of 25
# misconceptions. More would make a failure without an explanation take longer than all the rest.
MAX_PAIRS = 300
# So many failing and passing cases, the smallest ones, tell which pairs are likely.
CASES = 6


@dataclass(frozen=True)
class Diagnosis:
    """The misconceptions that explain a failed exercise, and how well.

    matching: in how many of the `failing` cases that could be compared. statistical: by
    agreeing statistics.
    """

    names: tuple[str, ...] = ()
    matching: int = 0
    failing: int = 0
    statistical: bool = False


def diagnose(
    spec: ExerciseSpec,
    observations: Mapping[str, CaseOutcome],
    failing: Sequence[str],
    *,
    with_pairs: bool = True,
) -> Diagnosis:
    """The misconceptions that explain a failed exercise; none when none do.

    One that matches every case wins; then, with_pairs, two that do together. When a student's
    variation of a mistake parts from ours on some unusual input, one that matches more than half
    of the failing cases, and is contradicted by no separating case, is named too. That exceptions
    are of one type is no evidence alone: somewhere values, or a message, have to be equal.
    """
    best = Diagnosis()
    seen = Seen(spec, observations)
    # a large case may have no explanations: it speaks for none and against none
    failing = [case.name for case in spec.cases if case.name in failing and case.explanations]
    if not failing:
        return best
    # failing cases first: they rule most misconceptions out, so that few are run elsewhere
    cases = sorted(spec.cases, key=lambda case: case.name not in failing)
    for known in spec.mistakes:
        found = _explanation(seen, known, cases, failing)
        if found is not None and found.matching > best.matching:
            best = found
    if best.names and best.matching == len(failing):
        return best
    return (_pair(seen, failing) if with_pairs else None) or best


def _pair(seen: Seen, failing: Sequence[str]) -> Diagnosis | None:
    """The two misconceptions that together match every case; None when no two do.

    Every observed case has to match, without the allowance for a student's variations that
    a single misconception has. Where several pairs do, the one that was merged most surely,
    then the one of more common misconceptions.
    """
    cases = [case for case in seen.spec.cases if case.name in seen.observations and case.pairs]
    if any(isinstance(seen.observations[case.name], Stopped) for case in cases):
        return None
    # small failing cases first: after one of them, hardly a pair is left
    cases.sort(key=lambda case: (case.name not in failing, _cost(case)))
    best: tuple[int, Diagnosis] | None = None
    for pair in _likely_pairs(seen, cases, failing)[:MAX_PAIRS]:
        for merge, matches in _matching_merges(seen, cases, pair).items():
            failed = [
                like for case, like in zip(cases, matches, strict=True) if case.name in failing
            ]
            if set(failed) == {Likeness.SAME_EXCEPTION} or (best and best[0] <= merge):
                continue
            if not _is_single(seen.spec, cases, pair, merge):
                statistical = Likeness.AGREEING in failed
                best = merge, Diagnosis(pair, len(failed), len(failing), statistical)
        if best and best[0] == 0:
            break
    return best[1] if best else None


def _likely_pairs(seen: Seen, cases: Sequence[Case], failing: Sequence[str]) -> list[Pair]:
    """All pairs, the likely ones first, then those of more common misconceptions.

    Where one of the two makes no difference by itself, both mostly make the difference that
    the other makes. Not always: no shift by the maximum shows where nothing is normalised.
    """
    pairs = list(cases[0].pairs) if cases else []
    if len(pairs) <= MAX_PAIRS:
        return pairs
    names = {name for pair in pairs for name in pair}
    bad = [case for case in cases if case.name in failing][:CASES]
    good = [case for case in cases if case.name not in failing][:CASES]
    against = dict.fromkeys(pairs, 0)
    for case in (*bad, *good):
        if seen.statistics(case) is not None:
            continue
        idle = {name for name in names if _is_idle(seen.spec, case, name)}
        is_right = seen.near(case, case.expected)
        own = {name for name in names if seen.near(case, case.explanations[name])}
        for one, other in pairs:
            if one in idle and other in idle:
                fits = is_right
            elif one in idle or other in idle:
                fits = (other if one in idle else one) in own
            else:
                continue
            against[one, other] += not fits
    return sorted(pairs, key=against.__getitem__)


def _is_idle(spec: ExerciseSpec, case: Case, name: str) -> bool:
    """Whether a misconception makes no difference in a case; found once for a whole class."""
    known: dict[str, bool] = vars(case).setdefault("_idle", {})  # beside the fields
    if name not in known:
        known[name] = same_values(spec, case, case.explanations[name], case.expected)
    return known[name]


def _matching_merges(
    seen: Seen, cases: Sequence[Case], pair: Pair
) -> dict[int, tuple[Likeness, ...]]:
    """The ways to merge two misconceptions that match every case, and how they do."""
    left: dict[int, tuple[Likeness, ...]] | None = None
    for case in cases:
        known = case.pairs[pair]
        if left is None:
            left = dict.fromkeys(range(len(known)), ())
        likes = {merge: seen.like(case, known[merge]) for merge in left}
        left = {m: (*left[m], like) for m, like in likes.items() if like is not None}
        if not left:
            break
    return left or {}


def _is_single(spec: ExerciseSpec, cases: Sequence[Case], pair: Pair, merge: int) -> bool:
    """Whether two misconceptions together give no more than one alone: one hides the other."""
    return any(
        all(
            same_outcome(spec, case, case.pairs[pair][merge], case.explanations[known.name])
            for case in cases
        )
        for known in spec.mistakes
    )


def _cost(case: Case) -> int:
    """How much there is to do in a case, roughly: numbers in its arguments, and steps."""
    numbers = sum(
        math.prod(getattr(value, "shape", ()))
        for _, call in case.program.calls
        for value in call.named.values()
    )
    return numbers + 100 * len(case.program.steps)


def _explanation(
    seen: Seen, known: KnownMistake, cases: Sequence[Case], failing: Sequence[str]
) -> Diagnosis | None:
    """How well one misconception explains the observations; None when something contradicts it."""
    matches: list[Likeness] = []
    for case in cases:
        if case.name not in seen.observations or known.name not in case.explanations:
            continue
        like = seen.like(case, case.explanations[known.name])
        if like is None and (case.kind == "separating" or case.name not in failing):
            return None
        if like is not None and case.name in failing:
            matches.append(like)
    if 2 * len(matches) <= len(failing) or set(matches) == {Likeness.SAME_EXCEPTION}:
        return None
    statistical = Likeness.AGREEING in matches
    return Diagnosis((known.name,), len(matches), len(failing), statistical)
