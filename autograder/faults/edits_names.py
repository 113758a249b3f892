"""Edits of names: another variable, attribute, function or argument; what is returned."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from autograder.faults.edits import Proposal, inner
from autograder.faults.scopes import Scope, last_name
from autograder.source_trees import parse_expression

# Functions that are taken for each other.
_GROUPS = (
    ("tril", "triu"), ("max", "min", "sum", "mean"), ("amax", "amin"), ("std", "var"),
    ("softmax", "log_softmax"), ("exp", "log", "exp2"), ("zeros", "ones"),
    ("zeros_like", "ones_like"), ("sin", "cos"), ("sqrt", "square", "exp"),
    ("children", "modules"), ("named_children", "named_modules"),
    ("repeat", "repeat_interleave"), ("tile", "repeat"), ("stack", "cat"),
    ("stack", "concatenate"), ("hstack", "vstack"), ("argmax", "argmin"),
    ("random", "standard_normal"), ("uniform", "normal"), ("rand", "randn"),
    ("xavier_uniform_", "xavier_normal_", "kaiming_uniform_"), ("zeros_", "ones_"),
    ("cumsum", "cumprod"), ("eye", "diag"), ("identity", "diag"), ("argmax", "softmax"),
    ("outer", "inner"), ("query", "key", "value"), ("logical_and", "logical_or"),
    ("floor", "ceil"), ("new_zeros", "new_ones"), ("greater", "less"), ("ge", "le", "gt", "lt"),
)  # fmt: skip
MAX_NAMES = 24


def names(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Another variable or parameter; another function of the same group."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        parent = scope.parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        if node.id in scope.modules or (called and node.id not in scope.names):
            yield from _function(node, node.id, "", scope)
            return
        if isinstance(parent, ast.Attribute) and node.id == "self":
            return
        known = node.id in scope.parameters or node.id in scope.variables
        for other in scope.names[:MAX_NAMES]:
            fits = scope.alike(node.id, other) if known else not called
            if other != node.id and fits:
                idle = other in scope.unused
                family = "name" if other in scope.parameters or idle else "variable"
                about = scope.called(node)
                yield Proposal(node, other, family, about=about, likely=idle)
        for other in scope.listed:
            if other != node.id and known and not isinstance(parent, ast.Subscript):
                yield Proposal(node, f"{other}[0]", "name", 2, about=scope.called(node))
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        if last_name(node.value) == "self" and node.attr in scope.attributes:
            others = sorted(scope.attributes, key=lambda name: name not in scope.idle)
            for other in others[:MAX_NAMES]:
                if other != node.attr and (node.attr in scope.layers) == (
                    other in scope.layers | scope.idle
                ):
                    idle = other in scope.idle
                    new = f"self.{other}"
                    yield Proposal(node, new, "attribute", about=node.attr, likely=idle)
        elif last_name(node.value) != "self":
            yield from _function(node, node.attr, f"{inner(node.value)}.", scope)


def _function(node: ast.expr, name: str, before: str, scope: Scope) -> Iterator[Proposal]:
    for group in _GROUPS:
        if name in group:
            for other in group:
                if other != name:
                    new = f"{before}{other}"
                    yield Proposal(node, new, "function", 1, name, other, about=name)


def exchanged(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Two names of one simple statement exchanged, wherever they stand in it."""
    if not isinstance(node, ast.Assign | ast.Return | ast.AugAssign | ast.Expr):
        return
    value = node.value
    if value is None:
        return
    read = [
        part.id
        for part in ast.walk(value)
        if isinstance(part, ast.Name)
        and (part.id in scope.parameters or part.id in scope.variables)
    ]
    kept = [
        part.attr
        for part in ast.walk(value)
        if isinstance(part, ast.Attribute) and part.attr in scope.attributes
    ]
    for found in (read, kept):
        for one, other in itertools.combinations(list(dict.fromkeys(found))[:7], 2):
            swap = {one: other, other: one}
            new = _Renamed(swap).visit(parse_expression(ast.unparse(value)))
            yield Proposal(value, new, "exchanged", 1, f"{one}, {other}", f"{other}, {one}")


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if last_name(node.value) == "self":
            node.attr = self.names.get(node.attr, node.attr)
        return node


def arguments(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """Of a call: two arguments swapped, one taken out, an unused parameter passed on."""
    if not isinstance(node, ast.Call):
        return
    name, function = last_name(node.func), ast.unparse(node.func)
    texts = [ast.unparse(item) for item in node.args]
    words = [
        f"{word.arg}={ast.unparse(word.value)}" if word.arg else ast.unparse(word)
        for word in node.keywords
    ]
    for position in range(len(texts) - 1):
        if len(texts) == 2 and name in ("matmul", "dot", "bmm", "mm", "where"):
            break
        swapped = list(texts)
        swapped[position], swapped[position + 1] = swapped[position + 1], swapped[position]
        new = f"{function}({', '.join(swapped + words)})"
        yield Proposal(node, new, "arguments", 1, about=name, alike=f"{name} {position}")
    for position in range(len(texts) if len(texts) > 1 else 0):
        kept = [*texts[:position], *texts[position + 1 :], *words]
        yield Proposal(node, f"{function}({', '.join(kept)})", "argument dropped", 2,
                       texts[position], "", name)  # fmt: skip
    for position, word in enumerate(words):
        kept = [*texts, *words[:position], *words[position + 1 :]]
        yield Proposal(node, f"{function}({', '.join(kept)})", "argument dropped", 2, word, "",
                       name)  # fmt: skip
        parameter = node.keywords[position].arg
        value = ast.unparse(node.keywords[position].value)
        if parameter in scope.parameters and value != parameter:
            kept = [*texts, *words[:position], f"{parameter}={parameter}", *words[position + 1 :]]
            yield Proposal(node, f"{function}({', '.join(kept)})", "argument", 1, word,
                           f"{parameter}={parameter}", name)  # fmt: skip
    given = {word.arg for word in node.keywords} | set(texts)
    for parameter in dict.fromkeys([*scope.parameters, *scope.unused]):
        if parameter in given or name in _NO_ARGUMENTS:
            continue
        free = parameter in scope.unused or name in _KNOWN.get(parameter, ())
        idle = parameter in scope.unused
        if free:
            extended = f"{parameter}={parameter}"
            new = f"{function}({', '.join([*texts, *words, extended])})"
            yield Proposal(node, new, "argument", 1, "", extended, name, likely=idle)
        if idle:
            new = f"{function}({', '.join([*texts, parameter, *words])})"
            yield Proposal(node, new, "argument", 1, "", parameter, name, likely=idle)
    if name in ("dropout", "dropout_") and "training" not in given and scope.attributes:
        extended = "training=self.training"
        yield Proposal(node, f"{function}({', '.join([*texts, *words, extended])})", "argument", 1,
                       "", extended, name)  # fmt: skip


_NO_ARGUMENTS = ("super", "__init__", "isinstance", "range", "len", "print", "zip", "enumerate")
# Functions that take an argument of a parameter's name.
_KNOWN = {"gain": ("xavier_uniform_", "xavier_normal_", "orthogonal_"), "bias": ("Linear",)}


def returned(node: ast.AST, scope: Scope) -> Iterator[Proposal]:
    """What is returned: in another order, with something beside it, or at all."""
    if isinstance(node, ast.Return) and node.value is not None:
        value = node.value
        if isinstance(value, ast.Tuple) and len(value.elts) > 1:
            for left, right in itertools.combinations(range(len(value.elts)), 2):
                texts = [ast.unparse(item) for item in value.elts]
                texts[left], texts[right] = texts[right], texts[left]
                yield Proposal(value, f"({', '.join(texts)})", "return order", 1, about="return")
            for item in value.elts:
                yield Proposal(value, ast.unparse(item), "returned", 2, about="return")
        elif scope.function in _above(node, scope):
            for other in [*reversed(scope.variables), *scope.parameters][:MAX_NAMES]:
                if other != ast.unparse(value):
                    new = f"({ast.unparse(value)}, {other})"
                    yield Proposal(value, new, "returned", 2, "", f", {other}", about="return")
    is_last = scope.function.body[-1] is node
    if is_last and not any(isinstance(part, ast.Return) for part in ast.walk(scope.function)):
        for other in [*scope.parameters[:1], *scope.variables[-2:]]:
            new = f"{ast.unparse(node)}\nreturn {other}"
            yield Proposal(node, new, "returned", 1, "", f"return {other}", about="return")


def _above(node: ast.AST, scope: Scope) -> Iterator[ast.AST]:
    """The innermost function around a node."""
    while node in scope.parents:
        node = scope.parents[node]
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            yield node
            return


FAMILIES = (names, exchanged, arguments, returned)
