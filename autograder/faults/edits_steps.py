"""Edits of steps: one put in, taken out, moved; conditions; what keeps an array from change."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from autograder.faults.edits import Proposal, inner
from autograder.faults.edits_numbers import REDUCTIONS
from autograder.faults.edits_operators import sign
from autograder.faults.scopes import Scope, is_mask, last_name

_INF = 'float("-inf")'
_PRODUCTS = frozenset(("matmul", "dot", "bmm", "mm", "einsum"))


# --- steps around an expression ----------------------------------------------------------


def unwrapped(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """A call taken away from around its argument, or a method's from what it is called on."""
    if not isinstance(node, ast.Call) or isinstance(scope.parents.get(node), ast.Expr):
        return
    name = last_name(node.func)
    on_module = isinstance(node.func, ast.Attribute) and (
        last_name(node.func.value) in (*scope.modules, "self", "nn", "init", "functional")
    )
    if isinstance(node.func, ast.Attribute) and not on_module:
        yield Proposal(node, inner(node.func.value), "unwrapped", 2, name, "", name)
    elif node.args and not isinstance(node.args[0], ast.Starred) and name not in ("Linear",):
        yield Proposal(node, inner(node.args[0]), "unwrapped", 2, name, "", name)
    elif isinstance(node.func, ast.Call) and node.args:  # nn.Softmax(dim=-1)(scores)
        yield Proposal(node, inner(node.args[0]), "unwrapped", 2, last_name(node.func.func), "")


def roots(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """The root of what is divided or multiplied by; the root taken off; its inverse."""
    parent = scope.parents.get(node)
    divides = isinstance(parent, ast.BinOp) and parent.right is node and sign(parent.op) in "/*"
    called = last_name(node.func) if isinstance(node, ast.Call) else ""
    plain = not isinstance(node, ast.Call | ast.Constant) or called in ("size", "len", "float")
    if divides and plain:
        yield Proposal(node, f"{inner(node)} ** 0.5", "root", 1, "d", "sqrt(d)", "/")
    if isinstance(node, ast.BinOp) and sign(node.op) == "/" and _is_one(node.left):
        yield Proposal(node, inner(node.right), "root", 1, "1 / d", "d", "/")
    said = isinstance(parent, ast.Assign | ast.Return | ast.Call)
    if said and isinstance(node, ast.BinOp | ast.Call | ast.Subscript):
        for function in ("exp", "sqrt") if not isinstance(node, ast.Subscript) else ():
            module = _module(scope)
            if module and last_name(getattr(node, "func", node)) != function:
                yield Proposal(node, f"{module}.{function}({ast.unparse(node)})", "wrapped", 2, "",
                               function, function)  # fmt: skip
        if isinstance(parent, ast.Assign):
            yield Proposal(node, f"{inner(node)} ** 0.5", "root", 2, "d", "sqrt(d)", "/")


def _is_one(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value in (1, 1.0)


def _module(scope: Scope) -> str:
    """What the framework is called in this file."""
    for name, module in scope.modules.items():
        if module == ("torch" if scope.torch else "numpy"):
            return name
    return ""


def scaled(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """A product divided by the root of a width; nothing where a root stands already."""
    is_product = isinstance(node, ast.BinOp) and sign(node.op) == "@"
    if isinstance(node, ast.Call):
        is_product = last_name(node.func) in _PRODUCTS or "score" in last_name(node.func).lower()
    if not is_product or _has_root(scope.function):
        return
    widths: list[str] = []
    data = [name for name in scope.names if not is_mask(name)]
    for name in [*data[:9]]:
        widths += [f"{name}.shape[-1]"] if scope.torch else [f"{name}.shape[0]"]
    first = _leftmost(node)
    if isinstance(first, ast.expr):
        widths.insert(0, f"{inner(first)}.shape[{-1 if scope.torch else 0}]")
    for width in dict.fromkeys(widths):
        yield Proposal(node, f"{inner(node)} / {width} ** 0.5", "scaled", 2, "", "/ sqrt(d)", "/")


def _leftmost(node: ast.AST) -> ast.AST:
    """The first operand of a product."""
    if isinstance(node, ast.BinOp):
        left = node.left
        return left.value if isinstance(left, ast.Attribute) and left.attr == "T" else left
    if isinstance(node, ast.Call):
        known = [a for a in node.args if not isinstance(a, ast.Constant)]
        if isinstance(node.func, ast.Attribute) and len(node.args) == 1:
            return node.func.value
        return known[0] if known else node
    return node


def _has_root(function: ast.FunctionDef) -> bool:
    for node in ast.walk(function):
        if last_name(node) in ("sqrt", "rsqrt", "scale_scores"):
            return True
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
            return True
    return False


def applied(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Something that is given and never used, applied to an expression."""
    if not isinstance(node, ast.expr) or not isinstance(getattr(node, "ctx", None) or ast.Load(),
                                                        ast.Load):  # fmt: skip
        return
    parent = scope.parents.get(node)
    is_name = isinstance(node, ast.Name) and node.id in (*scope.parameters, *scope.variables)
    is_value = isinstance(parent, ast.Return | ast.Assign) or (
        isinstance(parent, ast.Tuple) and isinstance(scope.parents.get(parent), ast.Return)
    )
    if not (is_name or (is_value and isinstance(node, ast.Call | ast.BinOp))):
        return
    if isinstance(parent, ast.Attribute) or (isinstance(parent, ast.Call) and parent.func is node):
        return
    if isinstance(node, ast.Name) and node.id in scope.modules:
        return
    text = inner(node)
    for name in scope.idle & scope.layers or scope.idle:
        new = f"self.{name}({ast.unparse(node)})"
        yield Proposal(node, new, "applied", 1, "", name, name, likely=True)
    for name in sorted(scope.unused & set(scope.parameters)):
        if not is_mask(name) and name != text:
            if name in scope.sizes or name == "bias":
                yield Proposal(node, f"{name} * {text}", "applied", 2, "", name, name)
                yield Proposal(node, f"({text} if {name} else 0)", "applied", 2, "", name, name)
                continue
            for new in (f"{name} @ {text}", f"{text} @ {name}"):
                yield Proposal(node, new, "applied", 2, "", name, name)
    for name in scope.callables:
        yield Proposal(node, f"{name}({ast.unparse(node)})", "applied", 2, "", name, name)
        for width in [n for n in scope.names if not is_mask(n)][:6]:
            size = f"{width}.shape[{-1 if scope.torch else 0}]"
            yield Proposal(
                node, f"{name}({ast.unparse(node)}, {size})", "applied", 2, "", name, name
            )


def calls_wrapped(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """A part of the exercise that is never called, put around a call of another."""
    if not isinstance(node, ast.Call) or not isinstance(scope.parents.get(node), ast.Call):
        return
    for name in scope.callables:
        for width in [n for n in scope.names if not is_mask(n)][:6]:
            size = f"{width}.shape[{-1 if scope.torch else 0}]"
            yield Proposal(
                node, f"{name}({ast.unparse(node)}, {size})", "applied", 2, "", name, name
            )


# --- masks -------------------------------------------------------------------------------


def masks(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Scores filled where they were multiplied, added to or left alone; a mask's axes."""
    known = [name for name in scope.parameters if is_mask(name)]
    if isinstance(node, ast.Assign | ast.AugAssign) and isinstance(node.value, ast.expr):
        yield from _filled(node, scope)
    if not known or not scope.torch:
        return
    mask = known[0]
    if isinstance(node, ast.Call) and last_name(node.func) == "softmax" and mask in scope.unused:
        on_module = last_name(getattr(node.func, "value", node)) in (*scope.modules, "functional")
        base = node.args[0] if on_module and node.args else getattr(node.func, "value", None)
        if base is not None:
            text = inner(base)
            fill = f"{text}.masked_fill({mask} == 0, {_INF})"
            new = f"{text} if {mask} is None else {fill}"
            yield Proposal(base, new, "masked", 2, "", "masked_fill", "masked_fill")
    if isinstance(node, ast.Name) and node.id == mask and isinstance(node.ctx, ast.Load):
        parent = scope.parents.get(node)
        if isinstance(parent, ast.Call | ast.keyword | ast.Compare) and not (
            isinstance(parent, ast.Compare) and isinstance(parent.ops[0], ast.Is | ast.IsNot)
        ):
            new = f"{mask}.unsqueeze(1) if {mask} is not None and {mask}.dim() == 3 else {mask}"
            yield Proposal(node, new, "mask axis", 2, "", "unsqueeze(1)", "mask")
            yield Proposal(node, f"{mask}.unsqueeze(1)", "mask axis", 2, "", "unsqueeze(1)", "mask")


def _filled(node: ast.Assign | ast.AugAssign, scope: Scope) -> Iterator[Proposal]:
    """`s = s * mask`, `s += mask`, `s + (1 - m) * inf` as a fill with minus infinity."""
    if not scope.torch:
        return
    target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
    read = [
        part
        for part in ast.walk(node.value)
        if isinstance(part, ast.Name) and (is_mask(part.id) or part.id == "m")
    ]
    is_sum = isinstance(node, ast.AugAssign) or (
        isinstance(node.value, ast.BinOp) and sign(node.value.op) in "*+-"
    )
    if read and is_sum and isinstance(target, ast.Name):
        for test in ("== 0", "!= 0"):
            new = f"{target.id} = {target.id}.masked_fill({read[0].id} {test}, {_INF})"
            yield Proposal(
                node, new, "masked", 2, "arithmetic", f"masked_fill {test}", "masked_fill"
            )


# --- statements --------------------------------------------------------------------------


def dropped(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """A statement left out."""
    if not isinstance(node, ast.stmt) or isinstance(node, ast.Return | ast.FunctionDef | ast.Pass):
        return
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.If | ast.Assert):
        yield Proposal(node, "pass", "dropped", 2, ast.unparse(node)[:60], "", "statement")


def conditions(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Another branch of a condition; an exception of another kind."""
    if isinstance(node, ast.If | ast.IfExp):
        test = node.test
        yield Proposal(test, f"not {inner(test)}", "branch", 1, "", "not", "if")
        for known in ("True", "False"):
            yield Proposal(test, known, "branch", 2, ast.unparse(test), known, "if", over=node)
    if isinstance(node, ast.Try) and len(node.handlers) == 1 and not node.finalbody:
        for part in (node.handlers[0].body, node.body):
            new = "\n".join(map(ast.unparse, part))
            yield Proposal(node, new, "branch", 2, "try", "one branch", "try")
    if isinstance(node, ast.Assert):
        message = "" if node.msg is None else ast.unparse(node.msg)
        new = f"if not {inner(node.test)}:\n    raise ValueError({message})"
        yield Proposal(node, new, "exception", 1, "assert", "raise ValueError", "raise")
    raised = node.exc if isinstance(node, ast.Raise) else None
    if isinstance(raised, ast.Call) and last_name(raised.func) != "ValueError":
        yield Proposal(raised.func, "ValueError", "exception", 1, about="raise")


def kept(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """A copy in place of the same array; a result that was thrown away; a guard."""
    copy = "clone()" if scope.torch else "copy()"
    parent = scope.parents.get(node)
    assigned = isinstance(parent, ast.Assign) and parent.value is node
    if assigned and isinstance(node, ast.Name) and node.id in scope.parameters:
        yield Proposal(node, f"{node.id}.{copy}", "copy", 1, "", copy, "=")
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
            name = call.func.value.id
            if name in scope.variables or name in scope.parameters:
                plain = ast.unparse(call)
                yield Proposal(node, f"{name} = {plain}", "thrown away", 1, call.func.attr,
                               f"= {call.func.attr}", call.func.attr)  # fmt: skip
        for part in ast.walk(call):
            if isinstance(part, ast.Attribute) and part.attr in ("bias", "mask"):
                owner = ast.unparse(part)
                new = f"if {owner} is not None:\n    {ast.unparse(node)}"
                yield Proposal(node, new, "guard", 1, "", f"if .{part.attr} is not None", "if")
                break
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_"):
            without = call.func.attr.rstrip("_")
            new = f"{inner(call.func.value)}.{without}"
            yield Proposal(call.func, new, "in place", 1, call.func.attr, without, without)


def results(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """What is returned, in another form: as bool, with an axis more or less."""
    parent = scope.parents.get(node)
    if not isinstance(parent, ast.Return) or isinstance(node, ast.Tuple | ast.Constant):
        return
    text = inner(node)
    forms = ["[:, None]", "[0]", "[None]"]
    if scope.torch:
        forms = [".bool()", ".unsqueeze(1)", ".unsqueeze(0)", ".unsqueeze(-1)", ".squeeze(0)",
                 ".flatten(2)", ".squeeze(1)", "[0]"]  # fmt: skip
    for form in forms:
        yield Proposal(node, f"{text}{form}", "form", 2, "", form, "return")


def constructor(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """`super().__init__()` at the beginning of a constructor that lacks it."""
    if scope.function.name != "__init__" or scope.function.body[0] is not node:
        return
    if not any(last_name(part) == "__init__" for part in ast.walk(scope.function)):
        new = f"super().__init__()\n{ast.unparse(node)}"
        yield Proposal(node, new, "constructor", 1, "", "super().__init__()", "super")


def shifted(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """The maximum taken away before the exponential; in the place of a clip too."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in ("exp", "clip", "clamp"):
        return
    on_module = last_name(getattr(node.func, "value", node)) in scope.modules
    base = node.args[0] if on_module and node.args else getattr(node.func, "value", None)
    if not isinstance(base, ast.expr) or (isinstance(base, ast.BinOp) and sign(base.op) == "-"):
        return
    text = inner(base)
    for axis in ("dim=-1, keepdim=True",) if scope.torch else ("axis=0, keepdims=True",):
        new = f"{text} - {text}.{'amax' if scope.torch else 'max'}({axis})"
        target = base if last_name(node.func) == "exp" else node
        yield Proposal(target, new, "shifted", 2, "", "- max", "exp", "shift")


def repeats(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Each row repeated in place, not the whole in turn."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "repeat" or not node.args:
        return
    if isinstance(node.func, ast.Attribute):
        value = inner(node.func.value)
        new = f"{value}.repeat_interleave({ast.unparse(node.args[0])}, dim=0)"
        yield Proposal(node, new, "function", 1, "repeat", "repeat_interleave", "repeat")


def means(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """A reduction of another kind over one axis, where it was one of another over all."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in REDUCTIONS:
        return
    if node.keywords or len(node.args) > 1 or scope.torch:
        return
    function = ast.unparse(node.func)
    name = last_name(node.func)
    inside = ast.unparse(node.args[0]) + ", " if node.args else ""
    for other in ("max", "sum"):
        if other != name:
            new = f"{function[: -len(name)]}{other}({inside}axis=0, keepdims=True)"
            yield Proposal(node, new, "function", 2, name, f"{other} over axis 0", name)


FAMILIES = (
    unwrapped, roots, scaled, applied, calls_wrapped, masks, dropped, conditions, kept, results,
    constructor, means, shifted, repeats,
)  # fmt: skip
