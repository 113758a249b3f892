"""Edits of operators and operands: swapped, another one, one dropped, brackets elsewhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.faults.edits import Proposal, inner
from autograder.faults.edits_numbers import value_of
from autograder.faults.scopes import Scope, last_name

_SIGNS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.MatMult: "@", ast.Pow: "**",
    ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.And: "and", ast.Or: "or", ast.Is: "is", ast.IsNot: "is not",
}  # fmt: skip
_OTHERS = {
    "+": "-*", "-": "+", "*": "@/+", "/": "*-", "@": "*", "//": "/", "%": ("//",), "&": "|",
    "|": "&", "^": "&|", "**": "*", "==": ("!=", "<=", ">="), "!=": ("==",),
    "<": ("<=", ">=", ">"), "<=": ("<", ">", ">="), ">": (">=", "<=", "<"),
    ">=": (">", "<", "<="), "and": ("or",), "or": ("and",), "is": ("is not",), "is not": ("is",),
}  # fmt: skip
_PRODUCTS = ("matmul", "dot", "bmm", "mm", "outer", "mv", "subtract", "divide", "where")


def sign(operator: ast.AST) -> str:
    """How an operator is written; "" for one that is left alone."""
    return _SIGNS.get(type(operator), "")


def operators(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Another operator; operands swapped; one of them dropped; brackets moved."""
    if isinstance(node, ast.BinOp):
        yield from _binary(node)
        if sign(node.op) == "@" and not scope.torch:  # of two vectors
            numpy = next((n for n, module in scope.modules.items() if module == "numpy"), "")
            sides = [_without_t(side) for side in (node.left, node.right)]
            if numpy:
                new = f"{numpy}.outer({', '.join(map(ast.unparse, sides))})"
                yield Proposal(node, new, "operator", 2, "@", "outer", "@")
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = inner(node.left), inner(node.comparators[0])
        was = sign(node.ops[0])
        for other in _OTHERS.get(was, ()):
            yield Proposal(node, f"{left} {other} {right}", "comparison", 1, was, other)
    elif isinstance(node, ast.BoolOp):
        was = sign(node.op)
        for other in _OTHERS[was]:
            text = f" {other} ".join(map(inner, node.values))
            yield Proposal(node, text, "comparison", 1, was, other)
        for value in node.values:
            kept = [inner(item) for item in node.values if item is not value]
            yield Proposal(node, f" {was} ".join(kept), "dropped", 2, ast.unparse(value), "")
    elif isinstance(node, ast.AugAssign):
        yield from _in_place(node)


def _without_t(node: ast.expr) -> ast.expr:
    return node.value if isinstance(node, ast.Attribute) and node.attr == "T" else node


def _binary(node: ast.BinOp) -> Iterator[Proposal]:
    left, right, was = inner(node.left), inner(node.right), sign(node.op)
    if not was:
        return
    if was in ("@", "-", "/", "**", "//"):
        after = f"{right} {was} {left}"
        yield Proposal(node, after, "operands", 1, about=was)
    for other in _OTHERS.get(was, ()):
        yield Proposal(node, f"{left} {other} {right}", "operator", 1, was, other, about=was)
    same = f"{was} drop"
    yield Proposal(node, left, "dropped", 2, f"{was} {right}", "", was, same + " right")
    yield Proposal(node, right, "dropped", 2, f"{left} {was}", "", was, same + " left")
    # d_k ** 1 / 2 for d_k ** (1 / 2)
    if isinstance(node.left, ast.BinOp):
        first, middle, then = inner(node.left.left), inner(node.left.right), sign(node.left.op)
        if then and not (then == was and was in "+*&|@"):
            yield Proposal(node, f"{first} {then} ({middle} {was} {right})", "brackets", 1)
    if isinstance(node.right, ast.BinOp):
        middle, last, then = inner(node.right.left), inner(node.right.right), sign(node.right.op)
        if then and not (then == was and was in "+*&|@"):
            yield Proposal(node, f"({left} {was} {middle}) {then} {last}", "brackets", 1)
    if was == "**":
        yield Proposal(node, f"{left} ** -{right}", "number", 1, right, f"-{right}", about=was)


def _in_place(node: ast.AugAssign) -> Iterator[Proposal]:
    target, value, was = ast.unparse(node.target), inner(node.value), sign(node.op)
    if not was:
        return
    yield Proposal(node, f"{target} = {target} {was} {value}", "in place", 1, f"{was}=", was)
    for other in _OTHERS.get(was, ()):
        yield Proposal(node, f"{target} {other}= {value}", "operator", 1, f"{was}=", f"{other}=")


def signs(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """A minus, `not` or `~` put before something or taken away."""
    if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
        mark = {ast.USub: "-", ast.Not: "not ", ast.Invert: "~"}.get(type(node.op), "")
        family = "sign" if mark == "-" else "polarity"
        if mark:
            yield Proposal(node, inner(node.operand), family, 1, mark.strip(), "")
        if mark == "~":
            yield Proposal(node, f"{inner(node.operand)} == 0", "polarity", 1, "~", "== 0")
    elif isinstance(node, ast.BinOp | ast.Call) and not isinstance(
        scope.parents.get(node), ast.UnaryOp | ast.Expr | ast.For
    ):
        infinite = isinstance(node, ast.Call) and last_name(node.func) == "float"
        yield Proposal(node, f"-{inner(node)}", "sign", 1 if infinite else 2, "", "-")


def polarity(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """A mask the other way round, or brought to a form in which it can be turned."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) and value_of(node.left) == 1:
        yield Proposal(node, inner(node.right), "polarity", 1, "1 -", "")
    if isinstance(node, ast.Call):
        name = last_name(node.func)
        if name in ("masked_fill", "masked_fill_") and len(node.args) == 2:
            mask = node.args[0]
            if not isinstance(mask, ast.Compare):
                yield Proposal(mask, f"{inner(mask)} == 0", "polarity", 1, "", "== 0", name)
            yield Proposal(mask, f"~{inner(mask)}", "polarity", 1, "", "~", name)
        if name == "where" and len(node.args) == 3:
            test, yes, no = map(ast.unparse, node.args)
            function = ast.unparse(node.func)
            new = f"{function}({test}, {no}, {yes})"
            yield Proposal(node, new, "polarity", 1, "where a, b", "where b, a", name)
    said = scope.parents.get(node)
    if isinstance(node, ast.Compare | ast.Call) and isinstance(said, ast.Return | ast.Assign):
        made = _makes_a_mask(node)
        if made:
            yield Proposal(node, f"~{inner(node)}", "polarity", 1, "", "~", made)


def _makes_a_mask(node: ast.AST) -> str:
    """What makes the mask, if an expression is one: `tril(…).bool()`, a comparison."""
    if isinstance(node, ast.Compare):
        return "comparison"
    for part in ast.walk(node):
        if last_name(part) in ("tril", "triu", "bool", "isfinite", "logical_not", "isinf"):
            return last_name(part)
    return ""


def products(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Operands of a function swapped, or those of a method."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in _PRODUCTS:
        return
    name = last_name(node.func)
    if len(node.args) == 2:
        left, right = map(ast.unparse, node.args)
        rest = "".join(f", {ast.unparse(word)}" for word in node.keywords)
        new = f"{ast.unparse(node.func)}({right}, {left}{rest})"
        yield Proposal(node, new, "operands", 1, about=name)
        if name in ("matmul", "dot", "mm", "bmm"):
            new = f"{inner(node.args[0])} * {inner(node.args[1])}"
            yield Proposal(node, new, "operator", 1, "@", "*", about=name)
    elif len(node.args) == 1 and isinstance(node.func, ast.Attribute):
        left, right = inner(node.func.value), inner(node.args[0])
        new = f"{right}.{name}({ast.unparse(node.func.value)})"
        yield Proposal(node, new, "operands", 1, about=name)


def diagonals(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """The diagonal matrix of a vector where the identity was written."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("eye", "identity"):
        made = ast.unparse(node.func)[: -len(last_name(node.func))] + "diag"
        for name in [n for n in scope.names if n not in scope.sizes][:6]:
            yield Proposal(node, f"{made}({name})", "function", 2, "identity", "diag", "diag")


FAMILIES = (operators, signs, polarity, products, diagonals)
