"""Syntax trees as values: compared by their text, never changed, rebuilt where they differ.

Everything here leaves the nodes that it is given as they are, so that trees may share parts:
a variable that is used twice becomes one node that stands in two places.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from typing import Any

# Says where a node stood or how it was written, not what it means.
_SILENT = {"ctx", "kind", "type_comment", "type_params", "lineno", "col_offset"}

_keys: dict[Any, int] = {}
_next = itertools.count()  # never the same number twice, in whatever thread


def key(node: Any) -> int:
    """A number that two nodes, lists or constants have in common when they read the same."""
    if isinstance(node, ast.AST):
        known: int | None = node.__dict__.get("_key")
        if known is None:
            inside = tuple(key(value) for _, value in fields(node))
            known = _number((type(node).__name__, inside))
            node.__dict__["_key"] = known
        return known
    if isinstance(node, list):
        return _number(("list", tuple(key(item) for item in node)))
    return _number((type(node).__name__, repr(node)))


def _number(what: Any) -> int:
    return _keys.setdefault(what, next(_next))


def fields(node: ast.AST) -> list[tuple[str, Any]]:
    """The fields of a node that say what it means, missing ones as None."""
    return [(name, getattr(node, name, None)) for name in node._fields if name not in _SILENT]


def rebuilt(node: ast.AST, change: Callable[[Any], Any]) -> Any:
    """The node with every node right below it put through `change`; itself if none differs."""
    made: dict[str, Any] = {}
    differs = False
    for name in node._fields:
        old = getattr(node, name, None)
        if isinstance(old, list):
            new: Any = [change(item) if isinstance(item, ast.AST) else item for item in old]
            differs = differs or any(a is not b for a, b in zip(new, old, strict=True))
        else:
            new = change(old) if isinstance(old, ast.AST) else old
            differs = differs or new is not old
        made[name] = new
    return type(node)(**made) if differs else node


def children(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes right below a node, in order."""
    for _, value in fields(node):
        if isinstance(value, ast.AST):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, ast.AST))


def keys_in(node: ast.AST) -> set[int]:
    """The keys of a node and of all nodes below it."""
    found: set[int] = set()
    left = [node]
    while left:
        one = left.pop()
        if key(one) not in found:  # a part that stands in two places is looked at once
            found.add(key(one))
            left.extend(children(one))
    return found


def size(node: ast.AST) -> int:
    """The number of nodes, shared ones counted wherever they stand."""
    known: int | None = node.__dict__.get("_size")
    if known is None:
        known = 1 + sum(size(child) for child in children(node))
        node.__dict__["_size"] = known
    return known


def names_read(node: ast.AST) -> set[str]:
    """Every name that is used anywhere in a node."""
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def names_bound(node: ast.AST) -> set[str]:
    """Every name that is given a value anywhere in a node, those of arguments too."""
    stored = {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)
    }
    arguments = {part.arg for part in ast.walk(node) if isinstance(part, ast.arg)}
    defined = {
        part.name
        for part in ast.walk(node)
        if isinstance(part, (ast.FunctionDef, ast.ClassDef)) and part is not node
    }
    return stored | arguments | defined


def name(identifier: str, stored: bool = False) -> ast.Name:
    """A name that is read, or one that is given a value."""
    return ast.Name(id=identifier, ctx=ast.Store() if stored else ast.Load())


def assignment(identifier: str, value: ast.expr) -> ast.Assign:
    """`identifier = value`."""
    return ast.Assign(targets=[name(identifier, stored=True)], value=value, type_comment=None)
