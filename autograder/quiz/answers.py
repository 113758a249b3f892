"""What a student's answer looks like in the syntax: literals, read and never executed."""

from __future__ import annotations

import ast
from typing import Any

# A matrix of answers has two levels; a row of one has fewer entries than this.
DEEPEST, MOST = 4, 4096
NOT_A_LITERAL = "write the answer itself, as a number or in quotes, not an expression"


class NotAnAnswer(Exception):
    """The answer is not of the question's form; the message says what to write."""


def literal(node: ast.expr | None) -> Any:
    """The value of a literal: text, number, None, or lists and dicts of them.

    Tuples and sets become lists, and a fraction of two numbers a text. Only the syntax is
    looked at: `2**10**9`, calls and names are refused with NotAnAnswer, not computed.
    """
    return _Reader().value(node)


class _Reader:
    def __init__(self) -> None:
        self.left = MOST

    def value(self, node: ast.expr | None, depth: int = 0) -> Any:
        self.left -= 1
        if depth > DEEPEST or self.left < 0:
            raise NotAnAnswer("this is larger than any answer; write the answer alone")
        negative, signed = False, False
        while isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            negative ^= isinstance(node.op, ast.USub)
            signed, node = True, node.operand
        if not signed and isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            return [self.value(item, depth + 1) for item in node.elts]
        if not signed and isinstance(node, ast.Dict):
            return self._map(node, depth)
        if not signed and isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            return self._fraction(node, depth)
        value: Any = node.value if isinstance(node, ast.Constant) else node
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value if negative else value
        if not signed and (value is None or value is ...):
            return None
        if not signed and isinstance(value, str):
            return value
        raise NotAnAnswer(NOT_A_LITERAL)

    def _fraction(self, node: ast.BinOp, depth: int) -> str:
        """1/8 as the text “1/8”, which is read like a typed one."""
        parts = self.value(node.left, depth + 1), self.value(node.right, depth + 1)
        if not all(isinstance(part, (int, float)) for part in parts):
            raise NotAnAnswer(NOT_A_LITERAL)
        return f"{parts[0]!r}/{parts[1]!r}"

    def _map(self, node: ast.Dict, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            name = self.value(key, depth + 1)
            if not isinstance(name, str):
                raise NotAnAnswer('write the names in quotes: {"a": "x"}')
            if name in found:
                raise NotAnAnswer(f"“{name[:40]}” stands twice; write each once")
            found[name] = self.value(item, depth + 1)
        return found
