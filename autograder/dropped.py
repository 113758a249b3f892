"""What dropout does to its argument, judged by statistics and never by fixed draws."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.intervals import count_range, standard_errors
from autograder.invariants import dtype_of_part, part
from autograder.numerics import tolerance_for
from autograder.program import Generator
from autograder.relations import equal_arguments
from autograder.specification import CallView, CaseView, Interval, Verdict


@dataclass(frozen=True)
class _Draw:
    """One call: what it dropped. kept: of the entries of the argument that are not zero."""

    call: CallView
    given: np.ndarray[Any, Any]
    got: np.ndarray[Any, Any]
    kept: np.ndarray[Any, Any]
    p: float
    training: bool


def dropout_statistics(
    view: CaseView, values: str, rate: str, training: str, result: int
) -> Verdict:
    """Share of what is kept, its scale, independence of entries and of calls, identity in eval.

    values, rate, training: the names of the arguments. All counts together leave their exact
    binomial intervals by chance once in a million gradings.
    """
    draws = [_draw(call, values, rate, training, result) for call in view.calls]
    random = [draw for draw in draws if draw.training and draw.p > 0.0]
    agreements = [*_within(random), *_between(random)]
    looked_at = len(random) + len(agreements)
    messages = [_wrong_values(draw, result) for draw in draws]
    messages += [_not_repeated(random)]
    # what is dropped together also spoils the counts: the strongest tie is the cause
    agreements.sort(key=lambda agreement: -agreement.excess)
    messages += [agreement.fault(looked_at) for agreement in agreements]
    messages += [_wrong_share(draw, looked_at) for draw in random]
    return Verdict(next((m for m in messages if m), None), tuple(_summary(draws, agreements)))


def _draw(call: CallView, values: str, rate: str, training: str, result: int) -> _Draw:
    given = np.asarray(call.arguments[values], dtype=np.float64)
    got = part(call.result, result)
    if (given == 0.0).any():
        raise ValueError("a zero that comes in looks like one that was dropped: hand over none")
    is_training = bool(call.arguments.get(training, True))
    return _Draw(call, given, got, got != 0.0, float(call.arguments[rate]), is_training)


def _wrong_values(draw: _Draw, result: int) -> str | None:
    """Kept entries are scaled by 1/(1 − p) while training; all are kept as they are otherwise."""
    active = draw.training and draw.p > 0.0
    wanted = draw.given / (1.0 - draw.p) if active else draw.given
    tolerance = tolerance_for([dtype_of_part(draw.call, result)], wanted, half=True)
    off = ~(np.abs(draw.got - wanted) <= tolerance.bound(wanted))
    if active:
        off &= draw.kept
    if not off.any():
        return None
    if not active:
        why = "p is 0" if draw.training else "training is False"
        return f"when {why}, expected every entry as it was given; {int(off.sum())} are not"
    ratio = float(np.median((draw.got / draw.given)[draw.kept]))
    return (
        f"entries that are kept come out {ratio:.4g} times as large (p = {draw.p:g}), expected "
        f"{1 / (1 - draw.p):.4g} times, so that their mean stays as it was"
    )


def _wrong_share(draw: _Draw, looked_at: int) -> str | None:
    n, kept = draw.kept.size, int(draw.kept.sum())
    allowed = count_range(n, 1.0 - draw.p, statistics=looked_at)
    if kept in allowed:
        return None
    return (
        f"{kept} of {n} entries are kept at p = {draw.p:g}, expected between "
        f"{allowed.low:g} and {allowed.high:g}"
    )


def _not_repeated(random: list[_Draw]) -> str | None:
    for later, second in enumerate(random):
        for first in random[:later]:
            if _one_generator(first, second) and not np.array_equal(first.got, second.got):
                return (
                    "two generators in the same state gave different results: all randomness "
                    "must come from `generator`"
                )
    return None


def _one_generator(first: _Draw, second: _Draw) -> bool:
    """Whether both calls were given everything alike, a generator among it."""
    given = first.call.arguments
    has_generator = any(isinstance(value, Generator) for value in given.values())
    return has_generator and equal_arguments(given, second.call.arguments)


@dataclass(frozen=True)
class _Agreement:
    """How many of n pairs of entries, which should be independent, were treated alike.

    probability: at the rate that was asked for; as_kept: at the share that was kept.
    """

    name: str
    message: str
    n: int
    alike: int
    probability: float
    as_kept: float

    @property
    def excess(self) -> float:
        """How far the share of pairs that were treated alike is from what is expected."""
        return abs(self.alike / self.n - self.as_kept)

    def fault(self, looked_at: int) -> str | None:
        """The message, when that is no chance, and no consequence of another rate either."""
        for probability in (self.probability, self.as_kept):
            if self.alike in count_range(self.n, probability, statistics=looked_at):
                return None
        return self.message


def _within(random: list[_Draw]) -> Iterator[_Agreement]:
    """Neighbours along each axis: a row dropped as a whole, or one mask for all samples."""
    for number, draw in enumerate(random):
        for axis, size in enumerate(draw.kept.shape):
            if size > 1:
                pairs = np.moveaxis(draw.kept, axis, 0)[: size // 2 * 2]
                yield _agreement(
                    f"axis {axis} of {number}",
                    f"entries that differ in axis {axis} alone are dropped together, expected "
                    "each to be dropped independently",
                    pairs[0::2],
                    pairs[1::2],
                    draw.p,
                )


def _between(random: list[_Draw]) -> Iterator[_Agreement]:
    """Calls that draw anew drop other entries."""
    for number, (first, second) in enumerate(itertools.pairwise(random)):
        fits = first.kept.shape == second.kept.shape and first.p == second.p
        if fits and not _one_generator(first, second):
            yield _agreement(
                f"calls {number}",
                "two calls dropped the same entries, expected new draws in each call",
                first.kept,
                second.kept,
                first.p,
            )


def _agreement(name: str, message: str, left: Any, right: Any, p: float) -> _Agreement:
    alike = int((left == right).sum())
    share = float((left.mean() + right.mean()) / 2)
    return _Agreement(
        name,
        message,
        n=int(left.size),
        alike=alike,
        probability=p**2 + (1.0 - p) ** 2,
        as_kept=share**2 + (1.0 - share) ** 2,
    )


def _summary(draws: list[_Draw], agreements: list[_Agreement]) -> Iterator[Interval]:
    """By which misconceptions are matched; half widths are of one side's sampling error."""
    width = standard_errors(len(draws) + len(agreements), rate=1e-4)
    for number, draw in enumerate(draws):
        share = float(draw.kept.mean())
        # a share of 0 or 1 has been no chance, and has no error
        error = width * float(np.sqrt(share * (1.0 - share) / draw.kept.size))
        yield Interval(f"kept {number}", share, error)
        scales = (draw.got / draw.given)[draw.kept]
        scale = float(np.median(scales)) if scales.size else 0.0
        yield Interval(f"scale {number}", scale, 2e-3 * abs(scale))
    for agreement in agreements:
        share = agreement.alike / agreement.n
        error = width * float(np.sqrt(share * (1.0 - share) / agreement.n))
        yield Interval(agreement.name, share, error)
