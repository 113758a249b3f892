"""Expressions in one spelling each: equal code written in two ways should read the same."""

from __future__ import annotations

import ast

from autograder.syntax_trees import key, names_read

_ENTRYWISE = {"log", "exp", "sqrt", "abs", "square"}
_REDUCTIONS = {"max", "min", "sum", "mean", "std", "var"}


def choice(test: ast.expr, yes: ast.expr | None, no: ast.expr | None) -> ast.expr:
    """`yes if test else no`; just `yes` where both read the same."""
    assert yes is not None and no is not None
    if key(yes) == key(no):
        return yes
    return ast.IfExp(test=test, body=yes, orelse=no)


def item_of(value: ast.expr, position: int) -> ast.expr:
    """One of the values of a sequence."""
    if isinstance(value, (ast.Tuple, ast.List)):
        starred = any(isinstance(item, ast.Starred) for item in value.elts)
        if position < len(value.elts) and not starred:
            return value.elts[position]
    if isinstance(value, ast.IfExp):
        return choice(value.test, item_of(value.body, position), item_of(value.orelse, position))
    return ast.Subscript(value=value, slice=ast.Constant(value=position), ctx=ast.Load())


def truth(test: ast.expr) -> bool | None:
    """Whether a condition of constants holds; None when it is one of something else."""
    if names_read(test) or any(
        isinstance(part, (ast.Call, ast.Await, ast.Yield)) for part in ast.walk(test)
    ):
        return None
    try:
        code = compile(ast.fix_missing_locations(ast.Expression(test)), "<condition>", "eval")
        return bool(eval(code, {"__builtins__": {}}))
    except Exception:
        return None


def simplified(node: ast.expr) -> ast.expr:
    """An expression whose parts are known already, without what follows from them."""
    if isinstance(node, ast.IfExp):
        known = truth(node.test)
        return node if known is None else node.body if known else node.orelse
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        position = node.slice.value
        if isinstance(node.value, (ast.Tuple, ast.IfExp)) and type(position) is int:
            inner = item_of(node.value, position)
            return node if key(inner) == key(node) else inner
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        return ast.BinOp(left=_kept(node.left), op=node.op, right=_kept(node.right))
    return node


def _kept(node: ast.expr) -> ast.expr:
    """In arithmetic, a reduction over axis 0 broadcasts alike with and without keepdims."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        first = [keyword for keyword in node.keywords if keyword.arg == "axis"]
        if (
            node.func.attr in _REDUCTIONS
            and len(node.keywords) == len(first) == 1
            and not node.args
            and isinstance(first[0].value, ast.Constant)
            and first[0].value.value == 0
        ):
            kept = ast.keyword(arg="keepdims", value=ast.Constant(value=True))
            return ast.Call(func=node.func, args=[], keywords=[*node.keywords, kept])
        if node.func.attr in _ENTRYWISE and len(node.args) == 1 and not node.keywords:
            return ast.Call(func=node.func, args=[_kept(node.args[0])], keywords=[])
    return node


def canonical_call(call: ast.Call) -> ast.expr:
    """One spelling for operations that have several."""
    function = call.func
    if not isinstance(function, ast.Attribute):
        return call
    library = isinstance(function.value, ast.Name) and function.value.id in ("np", "torch", "math")
    what, args = function.attr, list(call.args)
    if what in ("matmul", "mm", "bmm") and len(args) == (2 if library else 1) and not call.keywords:
        left, right = args if library else (function.value, args[0])
        return ast.BinOp(left=left, op=ast.MatMult(), right=right)
    if what == "sqrt" and library and len(args) == 1 and not call.keywords:
        return ast.BinOp(left=args[0], op=ast.Pow(), right=ast.Constant(value=0.5))
    if what in ("divide", "true_divide") and library and len(args) == 2 and not call.keywords:
        return ast.BinOp(left=args[0], op=ast.Div(), right=args[1])
    if what == "size" and not library and len(args) == 1 and not call.keywords:
        shape = ast.Attribute(value=function.value, attr="shape", ctx=ast.Load())
        return ast.Subscript(value=shape, slice=args[0], ctx=ast.Load())
    if what in _REDUCTIONS and library and args:
        function = ast.Attribute(value=args[0], attr=what, ctx=ast.Load())
        args = args[1:]
    elif library:
        return call
    if what in _REDUCTIONS and len(args) == 1 and not _is_torch(call):
        axis = ast.keyword(arg="axis", value=args[0])
        return ast.Call(func=function, args=[], keywords=[axis, *call.keywords])
    return ast.Call(func=function, args=args, keywords=call.keywords)


def _is_torch(call: ast.Call) -> bool:
    return any(keyword.arg in ("dim", "keepdim") for keyword in call.keywords)
