"""Values of a formula at a point, enclosed so tightly that a difference is certain.

Everything rational is computed exactly; roots, logarithms and the like in interval arithmetic
(mpmath's), where an interval holds the true value whatever was rounded or cancelled. Every step
refuses numbers that would take long, before it computes them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from mpmath import iv

# An exact number may have so many bits; larger ones are enclosed.
EXACT_BITS = 20_000
# log2 of the largest and of the smallest number: beyond, a formula is refused.
LARGEST_LOG2 = 10**6


class Undefined(Exception):
    """No real number: a division by zero, a root or a logarithm of something negative."""


class TooLarge(Exception):
    """A number whose size no formula of the course has."""


class Undecided(Exception):
    """Whether there is a value depends on digits that were not computed."""


def value_of(tree: Any, values: Mapping[str, Fraction]) -> Any:
    """A Fraction where that is possible, else an interval, at the precision of `iv`."""
    kind = tree[0]
    if kind == "number":
        return Fraction(tree[1])
    if kind == "symbol":
        return values[tree[1]]
    if kind == "constant":
        return iv.pi if tree[1] == "pi" else iv.e
    if kind == "neg":
        return -value_of(tree[1], values)
    if kind == "call":
        return bounded(FUNCTIONS[tree[1]](value_of(tree[2], values)))
    return bounded(OPERATORS[kind](value_of(tree[1], values), value_of(tree[2], values)))


def enclosed(value: Any) -> Any:
    """An interval that holds the value."""
    if isinstance(value, Fraction):
        return iv.mpf(value.numerator) / iv.mpf(value.denominator)
    return value


def bounded(value: Any) -> Any:
    """The value, as an interval if it has many digits; TooLarge if it is too large or too small."""
    if isinstance(value, Fraction):
        bits = max(value.numerator.bit_length(), value.denominator.bit_length())
        if bits > LARGEST_LOG2:
            raise TooLarge
        return value if bits <= EXACT_BITS else enclosed(value)
    if abs(_log2(value)) > LARGEST_LOG2:
        raise TooLarge
    return value


def _log2(value: Any) -> float:
    """Roughly, of the larger end's size; 0 for zero."""
    raw = value._mpi_
    sizes = [end[2] + end[3] for end in raw if end[1]]
    if any(not end[1] and end[2] for end in raw):  # infinity or nan
        raise Undecided
    return max(sizes, default=0)


def _sign(value: Any) -> int:
    """-1, 0 or 1; Undecided for an interval that reaches over zero."""
    if isinstance(value, Fraction):
        return (value > 0) - (value < 0)
    if (value > 0) is True:
        return 1
    if (value < 0) is True:
        return -1
    raise Undecided


def _both(exact: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def apply(one: Any, other: Any) -> Any:
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            return exact(one, other)
        return exact(enclosed(one), enclosed(other))

    return apply


def _divided(one: Any, other: Any) -> Any:
    if _sign(other) == 0:
        raise Undefined
    return _both(lambda a, b: a / b)(one, other)


def _floor(value: Any) -> Fraction:
    if isinstance(value, Fraction):
        return Fraction(math.floor(value))
    low, high = (_end(end) for end in value._mpi_)
    if math.floor(low) != math.floor(high):
        raise Undecided
    return Fraction(math.floor(low))


def _end(raw: Any) -> Fraction:
    sign, mantissa, exponent, bits = raw
    if exponent + bits > EXACT_BITS:
        raise TooLarge
    value = int(mantissa) * Fraction(2) ** int(max(exponent, -EXACT_BITS))
    return -value if sign else value


def _remainder(one: Any, other: Any) -> Any:
    whole = _floor(_divided(one, other))
    return _both(lambda a, b: a - b)(one, _both(lambda a, b: a * b)(other, whole))


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(exponent, Fraction) and exponent.denominator == 1:
        return _whole_power(base, int(exponent))
    sign = _sign(base)
    if sign < 0 or (sign == 0 and _sign(exponent) <= 0):
        raise Undefined
    if sign == 0:
        return Fraction(0)
    if isinstance(base, Fraction) and exponent == Fraction(1, 2):
        return _root(base)
    return _exp(_both(lambda a, b: a * b)(exponent, _log(base)))


def _whole_power(base: Any, exponent: int) -> Any:
    if exponent < 0 and _sign(base) == 0:
        raise Undefined
    if base in (0, 1, -1):
        return base ** (abs(exponent) % 2 + 2 * (exponent != 0))
    if isinstance(base, Fraction):
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        if bits * abs(exponent) <= EXACT_BITS:
            return base**exponent
    size = abs(_log2(enclosed(base))) + 1
    if size * abs(exponent) > LARGEST_LOG2:
        raise TooLarge
    return enclosed(base) ** exponent


def _root(value: Any) -> Any:
    if _sign_or_zero(value) < 0:
        raise Undefined
    if isinstance(value, Fraction):
        over, under = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if over**2 == value.numerator and under**2 == value.denominator:
            return Fraction(over, under)
    return iv.sqrt(enclosed(value))


def _sign_or_zero(value: Any) -> int:
    """As `_sign`; an interval that begins at zero is not below it."""
    if not isinstance(value, Fraction) and (value >= 0) is True:
        return 1
    return _sign(value)


def _log(value: Any) -> Any:
    if _sign(value) <= 0:
        raise Undefined
    return Fraction(0) if value == 1 else iv.log(enclosed(value))


def _exp(value: Any) -> Any:
    if value == 0:
        return Fraction(1)
    interval = enclosed(value)
    if _log2(interval) > 20:  # e**(2**20) is beyond the largest; e**-(2**20) beyond the smallest
        raise TooLarge
    return iv.exp(interval)


def _wave(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        interval = enclosed(value)
        if _log2(interval) > 256:  # its remainder by 2π would take as many digits
            raise TooLarge
        return function(interval)

    return apply


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": _both(lambda a, b: a + b),
    "-": _both(lambda a, b: a - b),
    "*": _both(lambda a, b: a * b),
    "/": _divided,
    "//": lambda a, b: _floor(_divided(a, b)),
    "%": _remainder,
    "**": _power,
}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "sqrt": _root,
    "log": _log,
    "log2": lambda a: _divided(_log(a), _log(Fraction(2))),
    "log10": lambda a: _divided(_log(a), _log(Fraction(10))),
    "exp": _exp,
    "abs": abs,
    "sin": _wave(iv.sin),
    "cos": _wave(iv.cos),
    "floor": _floor,
    "ceil": lambda a: -_floor(-a),
}
