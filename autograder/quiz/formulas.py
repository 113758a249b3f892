"""Authors' formulas over the draws of a question, and their `where` conditions.

    evaluate("4*d**2 + 4*d", {"d": 512})               →  1050624
    evaluate("sqrt((2 + 6/d_k)/N)", {"d_k": 6, "N": 3}) →  1
    evaluate("d_k != h and d_k % h == 0", {…})         →  True

Python's syntax, of which arithmetic, comparisons, `and`, `or`, `not`, `a if b else c` and a few
functions are understood. Numbers are exact as long as they are rational: 0.1 is a tenth.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.typed_text import power
from autograder.source_trees import parse_expression

LONGEST = 500
DEEPEST = 50

Value = int | Fraction | float | bool | str


def evaluate(formula: str, values: Mapping[str, Value]) -> Value:
    """The value of a formula: an int or Fraction where it is exact, else a float, or a bool.

    Raises NotAnAnswer, in a sentence, for other syntax, unknown names, divisions by zero and
    numbers too large to be meant.
    """
    if len(formula) > LONGEST:
        raise NotAnAnswer(f"the formula is longer than {LONGEST} signs; write a shorter one")
    try:
        tree = parse_expression(formula.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotAnAnswer(f"{formula!r} is no formula; write it as Python does") from None
    return _plain(_Formula(formula, values).value(tree))


def _plain(value: Any) -> Value:
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise NotAnAnswer("the formula's value is too large; look at its powers")
    plain: Value = value
    return plain


def _given(value: Value) -> Any:
    """A value as it is computed with: exact, where what was written is."""
    if isinstance(value, (bool, str)):
        return value
    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) else value
    return Fraction(value)


class _Formula:
    def __init__(self, formula: str, values: Mapping[str, Value]) -> None:
        self.formula = formula
        self.names: dict[str, Any] = {"pi": math.pi, "e": math.e}
        self.names.update({name: _given(value) for name, value in values.items()})

    def value(self, node: ast.expr, depth: int = 0) -> Any:
        """The exact or nearest value of a part."""
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is None or depth > DEEPEST:
            part = ast.unparse(node) if depth <= DEEPEST else "so many brackets"
            raise NotAnAnswer(f"{part!r} is not understood in a formula; write arithmetic")
        try:
            return method(node, depth + 1)
        except ZeroDivisionError:
            raise NotAnAnswer(f"{self.formula!r} divides by zero") from None
        except (KeyError, OverflowError, TypeError, ValueError):
            raise NotAnAnswer(f"{ast.unparse(node)!r} has no value in a formula") from None

    def _Constant(self, node: ast.Constant, depth: int) -> Any:
        if isinstance(node.value, (bool, int, float, str)):
            return _given(node.value)
        raise TypeError

    def _Name(self, node: ast.Name, depth: int) -> Any:
        if node.id not in self.names:
            known = ", ".join(sorted(self.names))
            raise NotAnAnswer(f"there is no {node.id} in {self.formula!r}; there are {known}")
        return self.names[node.id]

    def _BinOp(self, node: ast.BinOp, depth: int) -> Any:
        left, right = self._number(node.left, depth), self._number(node.right, depth)
        return _OPERATORS[type(node.op)](left, right)

    def _UnaryOp(self, node: ast.UnaryOp, depth: int) -> Any:
        if isinstance(node.op, ast.Not):
            return not self.value(node.operand, depth)
        number = self._number(node.operand, depth)
        return -number if isinstance(node.op, ast.USub) else number

    def _BoolOp(self, node: ast.BoolOp, depth: int) -> bool:
        parts = (bool(self.value(part, depth)) for part in node.values)
        return all(parts) if isinstance(node.op, ast.And) else any(parts)

    def _Compare(self, node: ast.Compare, depth: int) -> bool:
        left = self.value(node.left, depth)
        for sign, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part, depth)
            if not _COMPARISONS[type(sign)](left, right):
                return False
            left = right
        return True

    def _IfExp(self, node: ast.IfExp, depth: int) -> Any:
        return self.value(node.body if self.value(node.test, depth) else node.orelse, depth)

    def _Call(self, node: ast.Call, depth: int) -> Any:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in _FUNCTIONS or node.keywords:
            raise NotAnAnswer(
                f"{ast.unparse(node.func)!r} is no function of a formula; there are "
                f"{', '.join(sorted(_FUNCTIONS))}"
            )
        return _FUNCTIONS[name](*(self._number(part, depth) for part in node.args))

    def _number(self, node: ast.expr, depth: int) -> Any:
        value = self.value(node, depth)
        if isinstance(value, (bool, str)):
            raise TypeError
        return value


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            return power(base, int(exponent))
        if exponent == Fraction(1, 2):
            return _sqrt(base)
    value = float(base) ** float(exponent)
    if isinstance(value, complex):
        raise ValueError
    return value


def _sqrt(value: Any) -> Any:
    if isinstance(value, Fraction) and value >= 0:
        over, under = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if over**2 == value.numerator and under**2 == value.denominator:
            return Fraction(over, under)
    return math.sqrt(value)


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda a, b: _whole(a // b),
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _whole(value: Any) -> Fraction:
    return Fraction(value)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": lambda a: _whole(math.ceil(a)),
    "cos": math.cos,
    "exp": math.exp,
    "floor": lambda a: _whole(math.floor(a)),
    "log": math.log,
    "log10": math.log10,
    "log2": math.log2,
    "max": max,
    "min": min,
    "sin": math.sin,
    "sqrt": _sqrt,
}
