"""What a student's answer looks like in the syntax: literals, read and never executed."""

from __future__ import annotations

import ast
from typing import Any


class NotAnAnswer(Exception):
    """The answer is not of the question's form; the message says what to write."""


def literal(node: ast.expr | None) -> Any:
    """The value of a literal: text, number or None. NotAnAnswer for anything else.

    Only the syntax is looked at: `2**10**9`, calls and names are refused, not computed.
    """
    negative, signed = False, False
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        negative ^= isinstance(node.op, ast.USub)
        signed, node = True, node.operand
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        raise NotAnAnswer(
            "write one answer, without commas and brackets; a number has a decimal point: 1024.5"
        )
    value: Any = node.value if isinstance(node, ast.Constant) else node
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return -value if negative else value
    if not signed and (value is None or value is ...):
        return None
    if not signed and isinstance(value, str):
        return value
    raise NotAnAnswer("write the answer itself, as a number or in quotes, not an expression")
