"""Normal forms as trees that can be merged, and as functions that can be run again.

A variable of the author's became a part that stands wherever it is used. In the function it is
computed once all the same, and only if it is needed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from autograder.normal_form import Form
from autograder.syntax_trees import assignment, children, key, name, rebuilt

# A part that is computed once is never one of these: their own variables live inside.
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Once:
    """Values of parts that stand in several places, computed when first needed."""

    def __init__(self) -> None:
        self._values: dict[int, Any] = {}

    def __call__(self, number: int, compute: Callable[[], Any]) -> Any:
        """The value of one part."""
        if number not in self._values:
            self._values[number] = compute()
        return self._values[number]


def unpacked(value: Any, count: int) -> tuple[Any, ...]:
    """The values of a sequence; ValueError when it has more or fewer than `count`."""
    values = tuple(value)
    if len(values) != count:
        raise ValueError(f"expected {count} values to unpack, got {len(values)}")
    return values


# A form as one tree, so that trees are all there is to merge: [what is done before], value,
# [what is done after], arguments, each in a place of its own.


def as_tree(form: Form) -> ast.Module:
    """A form as one tree."""
    return ast.Module(
        body=[
            ast.FunctionDef(name="_", args=form.arguments, body=[], decorator_list=[]),
            ast.If(test=ast.Constant(value=1), body=list(form.before), orelse=[]),
            ast.Expr(value=form.value),
            ast.If(test=ast.Constant(value=2), body=list(form.after), orelse=[]),
        ],
        type_ignores=[],
    )


def as_method(local: str, form: Form) -> ast.FunctionDef:
    """A form as one tree that has the method's name."""
    return ast.FunctionDef(
        name=local, args=form.arguments, body=as_tree(form).body[1:], decorator_list=[]
    )


def method_of(node: ast.stmt) -> ast.stmt:
    """The method that a tree of `as_method` stands for; any other statement as it is."""
    if not isinstance(node, ast.FunctionDef):
        return node
    head = ast.FunctionDef(name="_", args=node.args, body=[], decorator_list=[])
    return function_of(node.name, ast.Module(body=[head, *node.body], type_ignores=[]))


def function_of(local: str, tree: ast.Module) -> ast.FunctionDef:
    """The function that a tree of `as_tree` stands for."""
    head, before, value, after = tree.body
    assert isinstance(head, ast.FunctionDef) and isinstance(value, ast.Expr)
    assert isinstance(before, ast.If) and isinstance(after, ast.If)
    statements = [*before.body, assignment("_result", value.value), *after.body]
    shared = _shared_parts(statements)
    body: list[ast.stmt] = [_with_once(node, shared) for node in statements]
    once = ast.Call(func=name("_Once"), args=[], keywords=[])
    return ast.FunctionDef(
        name=local,
        args=head.args,
        body=[assignment("_once", once), *body, ast.Return(value=name("_result"))],
        decorator_list=[],
    )


def _shared_parts(statements: Sequence[ast.stmt]) -> dict[int, int]:
    """Expressions that stand in more than one place of what is computed, numbered."""
    counts: dict[int, int] = {}

    def count(node: ast.AST) -> None:
        if isinstance(node, (ast.Call, ast.BinOp)):
            counts[key(node)] = counts.get(key(node), 0) + 1
            if counts[key(node)] > 1:
                return
        if not isinstance(node, _SCOPES):
            for child in children(node):
                count(child)

    for statement in statements:
        if isinstance(statement, ast.Assign) and _is_made_here(statement):
            # a draw or a change in place happens as often as it is written
            for part in [statement.value] if _is_result(statement) else children(statement.value):
                count(part)
    return {number: place for place, number in enumerate(counts) if counts[number] > 1}


def _is_result(statement: ast.Assign) -> bool:
    target = statement.targets[0]
    return isinstance(target, ast.Name) and target.id == "_result"


def _is_made_here(statement: ast.Assign) -> bool:
    """Whether a statement is one of a form's own, and not of the author's code."""
    target = statement.targets[0]
    return isinstance(target, ast.Name) and target.id.startswith("_") and target.id != "_"


def _with_once(statement: ast.stmt, shared: Mapping[int, int]) -> ast.stmt:
    """A statement of the form's own, its shared parts computed once; any other as it is."""
    if not (isinstance(statement, ast.Assign) and _is_made_here(statement)):
        return statement

    def visit(node: ast.AST) -> ast.AST:
        if isinstance(node, _SCOPES):
            return node
        made: ast.AST = rebuilt(node, visit)
        if isinstance(node, ast.expr) and key(node) in shared:
            nothing = ast.arguments(
                posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]
            )
            assert isinstance(made, ast.expr)
            compute = ast.Lambda(args=nothing, body=made)
            number = ast.Constant(value=shared[key(node)])
            return ast.Call(func=name("_once"), args=[number, compute], keywords=[])
        return made

    value = statement.value
    made = visit(value) if _is_result(statement) else rebuilt(value, visit)
    assert isinstance(made, ast.expr)
    return ast.Assign(targets=statement.targets, value=made, type_comment=None)


def copied(node: ast.AST) -> ast.AST:
    """A tree without shared parts, as `ast` wants it for places and contexts."""
    made: dict[str, Any] = {}
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            made[field] = [copied(v) if isinstance(v, ast.AST) else v for v in value]
        else:
            made[field] = copied(value) if isinstance(value, ast.AST) else value
    return type(node)(**made)
