"""Whether two formulas have the same values: run as a process of its own, by `comparing`.

They are compared at seeded points. A difference is certain, since values are enclosed in
intervals (`enclosures`) and no rounding parts two that are equal. That formulas which agree at
all points are equal is as good as certain: the points are drawn from many, and whoever writes
an answer does not know them.

A request is a line of JSON, `[student, answer, symbols, seed]`, and a reply the verdict in a line.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from mpmath import iv

from autograder.quiz.enclosures import TooLarge, Undecided, Undefined, enclosed, value_of

# Digits: the first tells almost all apart; the last decides what cancels to nearly nothing.
PRECISIONS = (50, 400)
# Points at which both formulas have a value, and how many are tried to find them.
POINTS, TRIED = 16, 80


def compare(student: Any, answer: Any, symbols: Sequence[Mapping[str, Any]], seed: str) -> str:
    """Whether two trees have the same value at seeded points; certain when they have not."""
    met, one_sided, too_large, missing, undecided = 0, 0, 0, 0, 0
    for values in _points(symbols, seed):
        theirs, ours = _settled(student, values), _settled(answer, values)
        if theirs is Undecided or ours is Undecided:
            undecided += 1
        elif ours is None or ours is TooLarge:
            missing += 1
            # where neither has a value, nothing is learnt
            one_sided += theirs is not None and theirs is not TooLarge
        elif theirs is TooLarge:
            too_large += 1
        elif theirs is None:
            one_sided += 1
        elif _differ(student, answer, values):
            return "different"
        else:
            met += 1
        if met == POINTS:
            break
    if missing > TRIED // 2 and not met:
        return "answer undefined"
    if undecided and not met:
        return "undecided"
    if too_large and not met:
        return "too large"
    # a hole where a factor cancels, (n²−1)/(n−1) at 1, is none of the formula's making
    return "equal" if met and one_sided <= met // 2 else "different"


def _points(symbols: Sequence[Mapping[str, Any]], seed: str) -> Iterator[dict[str, Fraction]]:
    """Values for the symbols, pairwise different where the ranges allow: first small, then all."""
    draw = random.Random(seed)
    for place in range(TRIED):
        small = place % 2 == 0
        for _ in range(50):
            values: dict[str, Fraction] = {}
            for symbol in sorted(symbols, key=lambda each: bool(each["multiple_of"])):
                value = _drawn(draw, symbol, small)
                values[symbol["name"]] = value * values.get(symbol["multiple_of"], Fraction(1))
            if len(set(values.values())) == len(values):
                break
        yield values


def _drawn(draw: random.Random, symbol: Mapping[str, Any], small: bool) -> Fraction:
    low, high = symbol["low"], symbol["high"]
    if symbol["real"]:
        return Fraction(low) + Fraction(draw.randint(1, 9_999), 10_000) * (
            Fraction(high) - Fraction(low)
        )
    return Fraction(draw.randint(low, min(high, low + 30) if small else high))


def _settled(tree: Any, values: Mapping[str, Fraction]) -> Any:
    """The value, with as many digits as it takes; None where there is none, TooLarge, Undecided."""
    for digits in PRECISIONS:
        iv.dps = digits
        try:
            return value_of(tree, values)
        except Undecided:
            continue
        except TooLarge:
            return TooLarge
        except Undefined:
            return None
    return Undecided


def _differ(student: Any, answer: Any, values: Mapping[str, Fraction]) -> bool:
    for digits in PRECISIONS:
        iv.dps = digits
        try:
            one, other = value_of(student, values), value_of(answer, values)
        except Undecided:
            continue
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            return one != other
        one, other = enclosed(one), enclosed(other)
        if (one < other) is True or (other < one) is True:
            return True
    return False


def serve(cpu_seconds: float, memory: int) -> None:
    """Answer requests until there are no more. Ends at once when one takes longer."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows; a tighter limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    for line in sys.stdin:
        _end_after(cpu_seconds)
        verdict = compare(*json.loads(line))
        _end_after(0)
        print(verdict, flush=True)


def _end_after(cpu_seconds: float) -> None:
    """By a signal that is left to its default: a long multiplication lets no handler run."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_VIRTUAL, cpu_seconds)


if __name__ == "__main__":
    serve(float(sys.argv[1]), int(sys.argv[2]))
