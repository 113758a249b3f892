"""Formulas as answers: `n^2·d_k` is right where `d_k * n**2` is the answer.

    symbols = ["n", "d_k"]
    answer = read_expression("n**2 * d_k", symbols)
    equal(read_expression("n² dₖ", symbols), answer, symbols, seed=1)   # True

Nothing that is typed is evaluated by Python or simplified by an algebra system: `notation`
reads it into a tree of a few kinds of nodes, and `agreement`, in another process with a limit of
time, finds out whether two trees have the same values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from autograder.exercise import AuthoringError
from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.comparing import TookTooLong, verdict
from autograder.quiz.formulas import evaluate
from autograder.quiz.notation import Tree, parse, shown
from autograder.quiz.symbols import Entries, read_symbols

__all__ = ["Expression", "equal", "evaluate", "read_expression"]

# Of a number that stands in an exponent; n**1000 is large enough to be a slip.
LARGEST_POWER = 1000

_TOO_LARGE = "this number is too large to be meant"
_UNDEFINED = "this divides by zero, or takes a root or logarithm of something negative"


@dataclass(frozen=True)
class Expression:
    """A formula that was read; `str` of it says how, in Python's notation."""

    tree: Tree

    def __str__(self) -> str:
        return shown(self.tree)


def read_expression(text: str, symbols: Entries) -> Expression:
    """The formula that a text is, in these symbols.

    Raises NotAnAnswer for what is no formula, has other names or can be meant in two ways, and
    where a part without symbols is no number, or one like 9**9**9.
    """
    tree = parse(text, read_symbols(symbols))
    _constant(tree)
    return Expression(tree)


def equal(a: Expression, b: Expression, symbols: Entries, seed: int | str) -> bool:
    """Whether an answer `a` has the same values as the right one, `b`, whatever its form.

    `symbols` say at which values; formulas with a hole where a factor cancels count as equal.
    Raises NotAnAnswer when `a` is too large to be computed, AuthoringError when `b` has no value,
    and CannotCompare when the process that compares does not work here.
    """
    if a == b:
        return True
    request = [a.tree, b.tree, [asdict(symbol) for symbol in read_symbols(symbols)], str(seed)]
    try:
        found = verdict(json.dumps(request))
    except TookTooLong:
        raise NotAnAnswer("this formula takes too long to compute; write it more simply") from None
    if found == "too large":
        raise NotAnAnswer("this formula is too large to be computed; look at its powers")
    if found == "undecided":
        raise NotAnAnswer(
            "whether this formula has a value here cannot be decided; write it more simply"
        )
    if found == "answer undefined":
        raise AuthoringError(f"the formula {b} has no value; look at the range of its symbols")
    return found == "equal"


# --- numbers within a formula ------------------------------------------------------------


def _constant(tree: Tree) -> float | None:
    """The value of a part without symbols, to about 15 digits; None with symbols."""
    kind = tree[0]
    if kind == "symbol":
        return None
    if kind == "number":
        over, _, under = str(tree[1]).partition("/")
        return _finite(lambda: int(over) / int(under or 1))
    if kind == "constant":
        return math.pi if tree[1] == "pi" else math.e
    parts = [_constant(part) for part in tree[1:] if isinstance(part, tuple)]
    if kind == "**" and parts[1] is not None and abs(parts[1]) > LARGEST_POWER:
        raise NotAnAnswer(_TOO_LARGE)
    numbers = [part for part in parts if part is not None]
    if len(numbers) < len(parts):
        return None
    function = _OPERATORS[str(kind if kind != "call" else tree[1])]
    return _finite(lambda: function(*numbers))


def _finite(compute: Callable[[], Any]) -> float:
    try:
        value = compute()
    except OverflowError:
        raise NotAnAnswer(_TOO_LARGE) from None
    except (ValueError, ZeroDivisionError):
        raise NotAnAnswer(_UNDEFINED) from None
    if isinstance(value, complex):
        raise NotAnAnswer(_UNDEFINED)
    if not math.isfinite(value):
        raise NotAnAnswer(_TOO_LARGE)
    return float(value)


_OPERATORS: dict[str, Callable[..., Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "neg": lambda a: -a,
    "sqrt": math.sqrt,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "exp": math.exp,
    "abs": abs,
    "sin": math.sin,
    "cos": math.cos,
    "floor": math.floor,
    "ceil": math.ceil,
}
