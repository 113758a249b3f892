"""Edits of numbers: axes, constants, bounds of slices and ranges, letters of einsum."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.faults.edits import Proposal, inner
from autograder.faults.scopes import Scope, last_name
from autograder.source_trees import parse_expression, parse_source

REDUCTIONS = frozenset(
    (
        "max", "min", "sum", "mean", "std", "var", "amax", "amin", "argmax", "prod", "norm",
        "logsumexp", "cumsum", "median", "any", "all",
    )
)  # fmt: skip
# Functions whose numbers are axes.
_WITH_AXES = REDUCTIONS | frozenset(
    (
        "softmax", "log_softmax", "Softmax", "LogSoftmax", "transpose", "swapaxes", "moveaxis",
        "movedim", "permute", "unsqueeze", "squeeze", "expand_dims", "flatten", "unflatten", "cat",
        "concat", "concatenate", "stack", "unbind", "chunk", "split", "tensor_split", "size",
        "flip", "roll", "take", "gather", "normalize", "repeat_interleave",
    )
)  # fmt: skip
_AXIS_KEYWORDS = frozenset(["axis", "dim", "axes", "start_dim", "end_dim", "dim0", "dim1", "dims"])
_AXES = (0, 1, -1, -2, 2, 3)
# The axis that is most often meant where another was written.
_NEIGHBOUR = {0: (1, -1), 1: (0, -1, 2), -1: (0, -2, 1), -2: (-1, 0), 2: (1, 3, -1), 3: (2, 1, -1)}


def value_of(node: ast.AST) -> float | None:
    """The number that a node writes, with its sign; None for anything else (True, say)."""
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1, node.operand
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        return None
    return sign * value


def _is_signed_elsewhere(node: ast.AST, scope: Scope) -> bool:
    """Whether the number belongs to the minus before it."""
    parent = scope.parents.get(node)
    return isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.USub)


def is_axis(node: ast.AST, scope: Scope) -> bool:
    """Whether a number says which axis."""
    parent = scope.parents.get(node)
    while isinstance(parent, ast.Tuple | ast.List):
        node, parent = parent, scope.parents.get(parent)
    if isinstance(parent, ast.keyword):
        return parent.arg in _AXIS_KEYWORDS
    if isinstance(parent, ast.Call):
        return node in parent.args and last_name(parent.func) in _WITH_AXES
    if isinstance(parent, ast.Subscript):
        return node is parent.slice and last_name(parent.value) == "shape"
    return False


def numbers(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Another axis; another number; True for False; the other infinity."""
    number = value_of(node)
    if number is None:
        if isinstance(node, ast.Constant):
            yield from _other_constants(node, scope)
        return
    if _is_signed_elsewhere(node, scope):
        return
    about = scope.called(node)
    if is_axis(node, scope) and number == int(number):
        parent = scope.parents[node]
        name = parent.arg if isinstance(parent, ast.keyword) else ""
        label = f"{name}=" if name else "axis "
        kind = "size" if isinstance(parent, ast.Subscript) or about == "size" else "axis"
        for other in dict.fromkeys((*_NEIGHBOUR.get(int(number), ()), *_AXES)):
            if other != number:
                after = f"{label}{other}"
                yield Proposal(node, str(other), kind, 1, f"{label}{number:g}", after, about)
        return
    for changed in _other_numbers(node, number, scope):
        if changed != number:
            yield Proposal(node, repr(changed), "number", 1, f"{number:g}", f"{changed:g}", about)


def _other_numbers(node: ast.AST, number: float, scope: Scope) -> Iterator[float]:
    yield -number
    if number == int(number) and abs(number) < 100:
        near = int(number)
        yield from (near + 1, near - 1)
        yield from (other for other in (0, 1, 2, 3, 4, 6) if abs(other - near) > 1)
        if isinstance(scope.parents.get(node), ast.BinOp):
            yield 0.5
    else:
        yield 1 / number
        yield -1 / number
        yield from (0.0, 1.0, 2.0, 0.5, -0.5)


def _other_constants(node: ast.Constant, scope: Scope) -> Iterator[Proposal]:
    value, about = node.value, scope.called(node)
    if isinstance(value, bool):
        yield Proposal(node, str(not value), "number", about=about)
    elif isinstance(value, str):
        text = value.strip().lower()
        if text.lstrip("+-") in ("inf", "infinity"):
            other = "-inf" if text[0] != "-" else "inf"
            yield Proposal(node, repr(other), "number", 1, text, other, about)
        elif about == "einsum" and "->" in value:
            for changed in _other_letters(value):
                yield Proposal(node, repr(changed), "letters", 1, value, changed, about)
    elif value is None and isinstance(scope.parents.get(node), ast.keyword):
        yield from (Proposal(node, str(axis), "axis", about=about) for axis in (0, 1, -1))


def _other_letters(text: str) -> Iterator[str]:
    """Two letters of one operand, or of the result, exchanged."""
    parts = text.replace("->", ",").split(",")
    for number, part in enumerate(parts):
        places = [i for i, letter in enumerate(part) if letter.isalpha()]
        for a, left in enumerate(places):
            for right in places[a + 1 :]:
                letters = list(part)
                letters[left], letters[right] = letters[right], letters[left]
                changed = [*parts[:number], "".join(letters), *parts[number + 1 :]]
                yield ",".join(changed[:-1]) + "->" + changed[-1]


def reductions(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """An axis put in or taken out of a reduction; kept axes put in or taken out."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in REDUCTIONS:
        return
    name = last_name(node.func)
    axis, keep = ("dim", "keepdim") if scope.torch else ("axis", "keepdims")
    given = {word.arg for word in node.keywords}
    method = isinstance(node.func, ast.Attribute) and last_name(node.func.value) not in (
        *scope.modules, "linalg"
    )  # fmt: skip
    positional = len(node.args) > (0 if method else 1)
    text = ast.unparse(node)[:-1]
    comma = ", " if node.args or node.keywords else ""
    if not given & _AXIS_KEYWORDS and not positional:
        for number in (0, 1, -1) if not scope.torch else (-1, -2, 0, 1):
            if scope.torch and name in ("max", "min"):
                text = text.replace(f"{name}(", f"a{name}(", 1)
            which = f"{axis}={number}"
            yield Proposal(node, f"{text}{comma}{which}, {keep}=True)", "axis", 1, name + " of all",
                           which, name)  # fmt: skip
            yield Proposal(node, f"{text}{comma}{which})", "axis", 1, name + " of all", which, name)
    else:
        if not given & {"keepdims", "keepdim"}:
            yield Proposal(
                node, f"{text}{comma}{keep}=True)", "axis", 1, name, f"{keep}=True", name
            )
    for word in node.keywords:
        if word.arg in ("keepdims", "keepdim", "ddof", *_AXIS_KEYWORDS):
            kept = [_keyword(other) for other in node.keywords if other is not word]
            arguments = ", ".join([*map(ast.unparse, node.args), *kept])
            new = f"{ast.unparse(node.func)}({arguments})"
            yield Proposal(node, new, "axis", 2, f"{word.arg}=", "", name)


def _keyword(word: ast.keyword) -> str:
    """“axis=0” as it is written in a call."""
    value = ast.unparse(word.value)
    return f"{word.arg}={value}" if word.arg else f"**{value}"


def bounds(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Bounds of slices and ranges one further, one less, or at the other end."""
    if isinstance(node, ast.Slice):
        lower = "" if node.lower is None else inner(node.lower)
        upper = "" if node.upper is None else inner(node.upper)
        subscript = scope.parents.get(node)
        if isinstance(subscript, ast.Tuple):
            subscript = scope.parents.get(subscript)
        made = []
        if upper and not lower:
            made = [(upper, ""), ("", f"{upper} + 1"), ("", f"{upper} - 1"), ("", f"-{upper}")]
        elif lower and not upper:
            made = [("", lower), (f"{lower} + 1", ""), (f"{lower} - 1", ""), (f"-{lower}", "")]
            if isinstance(node.lower, ast.BinOp) and isinstance(node.lower.op, ast.Sub):
                made.insert(0, ("", inner(node.lower.right)))
                made.insert(1, ("", inner(node.lower.left)))
        elif lower and upper:
            made = [(lower, f"{upper} + 1"), (lower, f"{upper} - 1"), (f"{lower} + 1", upper),
                    (lower, ""), ("", upper)]  # fmt: skip
        for low, high in made:
            yield _slice(node, low, high, scope)
    elif isinstance(node, ast.Call) and last_name(node.func) in ("range", "arange") and node.args:
        last = node.args[1] if len(node.args) > 1 else node.args[0]
        for other in ("{} + 1", "{} - 1"):
            yield Proposal(last, other.format(inner(last)), "bound", about="range")
        if len(node.args) == 1:
            name = last_name(node.func)
            text = f"{ast.unparse(node.func)}(1, {inner(last)} + 1)"
            yield Proposal(node, text, "bound", 1 if name == "range" else 2, about="range")


def widths(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """The size of another array, along another axis."""
    if isinstance(node, ast.Subscript) and last_name(node.value) == "shape":
        number = value_of(node.slice)
    elif isinstance(node, ast.Call) and last_name(node.func) == "size" and len(node.args) == 1:
        number = value_of(node.args[0])
    else:
        return
    if number is None:
        return
    for name in [n for n in scope.names if n not in scope.sizes][:8]:
        for axis in (-1,) if scope.torch else (0,):
            if axis != number:
                yield Proposal(node, f"{name}.shape[{axis}]", "size", 2, about="shape")


def sizes(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Of a shape: one size left open."""
    parent = scope.parents.get(node)
    shaped = (
        isinstance(parent, ast.Tuple) and len(parent.elts) >= 3 and isinstance(parent.ctx, ast.Load)
    )
    if isinstance(parent, ast.Call) and last_name(parent.func) in ("view", "reshape"):
        shaped = node in parent.args and len(parent.args) > 1
    if shaped and isinstance(node, ast.Name | ast.BinOp | ast.Attribute):
        yield Proposal(node, "-1", "sizes", 1, None, "-1", "reshape")


def items(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Columns for rows: `x[:, i]` for `x[i]`, in a loop over the other axis too."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name):
        new = f"{inner(node.value)}[:, {node.slice.id}]"
        yield Proposal(node, new, "item", 1, "x[i]", "x[:, i]", "item")
    if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
        other = _OverColumns(node.target.id)
        made = other.visit(parse_source(ast.unparse(node)).body[0])
        if other.changed:
            yield Proposal(node, ast.unparse(made), "item", 2, "rows", "columns", "for")


class _OverColumns(ast.NodeTransformer):
    """A loop over rows as one over columns."""

    def __init__(self, index: str) -> None:
        self.index = index
        self.changed = False

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Name) and node.slice.id == self.index:
            self.changed = True
            every = ast.Slice()
            node.slice = ast.Tuple([every, node.slice], ast.Load())
        elif last_name(node.value) == "shape" and value_of(node.slice) == 0:
            node.slice = ast.Constant(1)
        return node


def _slice(node: ast.Slice, low: str, high: str, scope: Scope) -> Proposal:
    step = "" if node.step is None else f":{ast.unparse(node.step)}"
    new = f"{low}:{high}{step}"
    made = parse_expression(f"_[{new}]")
    assert isinstance(made, ast.Subscript)
    return Proposal(node, made.slice, "bound", 1, ast.unparse(node), new, "slice")


FAMILIES = (numbers, reductions, bounds, widths, sizes, items)
