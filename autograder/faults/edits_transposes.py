"""Edits of the order of axes: transposes put in, taken out or moved, reshapes, heads split."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from autograder.faults.edits import Proposal, inner
from autograder.faults.edits_operators import sign
from autograder.faults.scopes import Scope, last_name

_TURNING = frozenset(("transpose", "swapaxes", "permute", "movedim", "moveaxis", "t"))
_RESHAPING = frozenset(("reshape", "view"))
_PRODUCTS = frozenset(("matmul", "dot", "bmm", "mm", "inner", "outer", "einsum"))


def unturned(node: ast.AST, scope: Scope) -> ast.expr | None:
    """What a transpose is one of; None for anything else."""
    if isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        return node.value
    if isinstance(node, ast.Call) and last_name(node.func) in _TURNING:
        if isinstance(node.func, ast.Attribute) and last_name(node.func.value) not in scope.modules:
            return node.func.value
        return node.args[0] if node.args else None
    return None


def turned(node: ast.expr, scope: Scope) -> list[str]:
    """The ways to write the transpose of an expression."""
    text = inner(node)
    if scope.torch:
        return [f"{text}.transpose(-2, -1)", f"{text}.transpose(0, 1)", f"{text}.transpose(1, 2)"]
    return [f"{text}.T"]


def transposes(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """A transpose taken out, put in, or moved to the other operand."""
    without = unturned(node, scope)
    if without is not None:
        yield Proposal(node, inner(without), "transpose", 1, "transpose", "none")
    if isinstance(node, ast.BinOp) and sign(node.op) == "@":
        yield from _of_operands(node, node.left, node.right, "{} @ {}", scope)
    elif isinstance(node, ast.Call) and last_name(node.func) in ("matmul", "dot", "bmm", "mm"):
        name = ast.unparse(node.func)
        if len(node.args) == 2:
            left, right = node.args
            yield from _of_operands(node, left, right, f"{name}({{}}, {{}})", scope)
        elif len(node.args) == 1 and isinstance(node.func, ast.Attribute):
            left, right = node.func.value, node.args[0]
            yield from _of_operands(node, left, right, f"{{}}.{node.func.attr}({{}})", scope)
    elif isinstance(node, ast.expr) and without is None:
        parent = scope.parents.get(node)
        place = isinstance(parent, ast.Return) or (
            isinstance(parent, ast.Tuple) and isinstance(scope.parents.get(parent), ast.Return)
        )
        if place and not isinstance(node, ast.Tuple | ast.Constant):
            for text in turned(node, scope):
                yield Proposal(node, text, "transpose", 1, "none", "transpose")
        elif (
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and _is_data(node, scope)
        ) or (isinstance(parent, ast.Assign) and isinstance(node, ast.BinOp | ast.Call)):
            for text in turned(node, scope)[:1]:
                yield Proposal(node, text, "transpose", 2, "none", "transpose")


def _is_data(node: ast.Name, scope: Scope) -> bool:
    """Whether a name is an argument or an operand, and not a function or a module."""
    parent = scope.parents.get(node)
    if isinstance(parent, ast.Attribute | ast.Subscript) or node.id in scope.modules:
        return False
    return not (isinstance(parent, ast.Call) and parent.func is node)


def _of_operands(
    node: ast.expr, left: ast.expr, right: ast.expr, form: str, scope: Scope
) -> Iterator[Proposal]:
    """Of a product: every way to put transposes that differs from what is written."""
    plain = [unturned(left, scope), unturned(right, scope)]
    is_turned = [item is not None for item in plain]
    base = [plain[0] or left, plain[1] or right]
    about = "@"

    def operand(which: int, turn: bool) -> str:
        if turn and is_turned[which]:
            return inner((left, right)[which])
        return turned(base[which], scope)[0] if turn else inner(base[which])

    for turn in itertools.product((False, True), repeat=2):
        if list(turn) != is_turned:
            changed = sum(a != b for a, b in zip(turn, is_turned, strict=True))
            moved = changed == 2 and sum(turn) == sum(is_turned)
            cost = 1 if changed == 1 or moved else 2
            family = "transpose moved" if moved else "transpose"
            before = _of_which(is_turned)
            new = form.format(operand(0, turn[0]), operand(1, turn[1]))
            yield Proposal(node, new, family, cost, before, _of_which(turn), about)
    # A.T @ B for B.T @ A: the operands change places, the transpose stays where it is
    if sum(is_turned) == 1:
        first, second = inner(base[0]), inner(base[1])
        if is_turned[0]:
            new = form.format(turned(base[1], scope)[0], first)
        else:
            new = form.format(second, turned(base[0], scope)[0])
        yield Proposal(node, new, "operands", 1, about=about)


def _of_which(turn: Sequence[bool]) -> str:
    """“A.T @ B” for (True, False)."""
    left, right = turn
    return f"A{'.T' if left else ''} @ B{'.T' if right else ''}"


def reshapes(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """A reshape with the axes swapped before or after it; view for reshape; sizes swapped."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return
    name = node.func.attr
    if name in _RESHAPING:
        yield from _reshape(node, node.func, scope)
    elif name in ("flatten", "unflatten"):
        value = inner(node.func.value)
        rest = ast.unparse(node)[len(ast.unparse(node.func)) :]
        for axes in ("1, 2",) if scope.torch else ():
            yield Proposal(node, f"{value}.transpose({axes}).{name}{rest}", "heads", 1,
                           name, f"transpose, {name}", name)  # fmt: skip
            yield Proposal(node, f"{inner(node)}.transpose({axes})", "heads", 1, name,
                           f"{name}, transpose", name)  # fmt: skip
    elif name in ("permute", "transpose", "swapaxes") and len(node.args) >= 2:
        for left, right in itertools.combinations(range(len(node.args)), 2):
            if name != "permute":
                break
            yield _swapped(node, node.args, left, right, "axis order")
        if name != "permute":
            pairs = [(1, 2), (2, 3), (-2, -1), (0, 1), (1, 3)]
            value = inner(node.func.value)
            now = ", ".join(map(ast.unparse, node.args))
            for a, b in pairs:
                new = f"{value}.{name}({a}, {b})"
                yield Proposal(node, new, "axis order", 1, f"axes {now}", f"axes {a}, {b}", name)


def _swapped(node: ast.Call, sizes: list[ast.expr], left: int, right: int, family: str) -> Proposal:
    texts = [ast.unparse(size) for size in sizes]
    before = ", ".join(texts)
    texts[left], texts[right] = texts[right], texts[left]
    after = ", ".join(texts)
    return Proposal(
        node, f"{ast.unparse(node.func)}({after})", family, 1, before, after, last_name(node.func)
    )


def _reshape(node: ast.Call, function: ast.Attribute, scope: Scope) -> Iterator[Proposal]:
    value, name = inner(function.value), function.attr
    sizes = list(node.args)
    if len(sizes) == 1 and isinstance(sizes[0], ast.Tuple | ast.List):
        sizes = list(sizes[0].elts)
    text = ast.unparse(node)
    if name == "view":
        yield Proposal(node, f"{value}.reshape{text[len(ast.unparse(function)) :]}", "view", 1,
                       "view", "reshape", name)  # fmt: skip
    texts = [ast.unparse(size) for size in sizes]
    if scope.torch and not any(isinstance(size, ast.Starred) for size in sizes):
        if len(texts) == 4:  # split: (b, h, n, d) by reshape alone
            a, b, c, d = texts
            yield Proposal(node, f"{value}.reshape({a}, {c}, {b}, {d}).transpose(1, 2)", "heads",
                           1, "reshape alone", "reshape, then transpose", name)  # fmt: skip
            yield Proposal(node, f"{text}.transpose(1, 2)", "heads", 1, "reshape alone",
                           "reshape then transpose", name)  # fmt: skip
        elif len(texts) <= 3:  # merge
            joined = ", ".join(texts)
            for axes in ("1, 2", "2, 3", "-2, -1", "0, 1"):
                new = f"{value}.transpose({axes}).reshape({joined})"
                yield Proposal(node, new, "heads", 1, "reshape alone", f"transpose {axes}, then "
                               "reshape", name)  # fmt: skip
    elif scope.torch and len(texts) == 1:
        yield Proposal(node, f"{text}.transpose(1, 2)", "heads", 1, "reshape alone",
                       "reshape, then transpose", name)  # fmt: skip
    for left, right in itertools.combinations(range(len(sizes)), 2):
        if sizes is not node.args and len(node.args) == 1:
            break
        yield _swapped(node, sizes, left, right, "sizes")


FAMILIES = (transposes, reshapes)
