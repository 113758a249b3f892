"""What nodes of a syntax tree say of a submission: stubs, definitions, imports, assignments."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from autograder.parsing import Statement

Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Imported:
    """Where names come from, as far as imports and plain assignments tell."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self.starred: list[str] = []
        self.bound: set[str] = set()

    def follow(self, statement: Statement, inside: Iterable[ast.AST]) -> None:
        """Take in one more statement; a later definition hides an import."""
        self.bound |= statement.binds
        for name in statement.binds:
            self.aliases.pop(name, None)
        for node in inside:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.split(".")[0]
                    self.aliases[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if alias.name == "*":
                        self.starred.append(node.module or "")
                    else:
                        dotted = f"{node.module or ''}.{alias.name}"
                        self.aliases[alias.asname or alias.name] = dotted
        if isinstance(statement.node, ast.Assign):
            dotted_value = self.dotted(statement.node.value)
            for target in statement.node.targets:
                if isinstance(target, ast.Name) and dotted_value is not None:
                    self.aliases[target.id] = dotted_value

    def dotted(self, node: ast.AST) -> str | None:
        """“scipy.special.softmax” for `sp.softmax`, where `sp` is that module."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in self.aliases:
            return None
        return ".".join([self.aliases[node.id], *reversed(parts)])

    def may_be_starred(self, name: str, nodes: Iterable[ast.AST]) -> bool:
        """Whether a bare name is used that `from … import *` takes from that module."""
        module, _, last = name.rpartition(".")
        return (
            module in self.starred
            and last not in self.bound
            and any(isinstance(node, ast.Name) and node.id == last for node in nodes)
        )


def is_stub(node: Node) -> bool:
    """Whether a definition does nothing but raise NotImplementedError."""
    if isinstance(node, ast.ClassDef):
        methods = [item for item in node.body if isinstance(item, Node)]
        return bool(methods) and all(is_stub(item) for item in methods)
    body = [item for item in node.body if not _is_docstring(item)]
    return len(body) == 1 and _raises_not_implemented(body[0])


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _raises_not_implemented(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Raise) or node.exc is None:
        return False
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def may_be_kept(node: ast.stmt) -> bool:
    """Definitions, imports and assignments; never loops, prints or plots."""
    if isinstance(node, (ast.Expr, ast.For, ast.AsyncFor, ast.While, ast.Delete)):
        return False
    return not is_main_guard(node)


def is_main_guard(node: ast.stmt) -> bool:
    """`if __name__ == …`, whose body belongs to running the file."""
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )


def is_star_import(node: ast.stmt) -> bool:
    """`from module import *`."""
    return isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)


def is_future_import(node: ast.stmt) -> bool:
    """`from __future__ import …`, which holds for everything below it."""
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def imported_names(statement: ast.stmt) -> Iterator[str]:
    """Names that a statement and its branches import: also `try: import torch`."""
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                yield alias.asname or alias.name.split(".")[0]
        elif isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)) and not isinstance(
            node, Node
        ):
            todo += ast.iter_child_nodes(node)


def definitions(statement: ast.stmt, name: str) -> list[Node]:
    """Defs and classes of that name in a statement and its branches, in order."""
    found: list[Node] = []
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, Node):
            if node.name == name:
                found.append(node)
        elif isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            todo += reversed(list(ast.iter_child_nodes(node)))
    return found


def assigned(target: ast.expr, value: ast.expr, name: str) -> ast.expr | None:
    """What an assignment gives to a name, also as one of `q_a, q_b = 1, 2`."""
    if isinstance(target, ast.Name):
        return value if target.id == name else None
    if not isinstance(target, (ast.Tuple, ast.List)):
        return None
    values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
    plain = not any(isinstance(item, ast.Starred) for item in [*target.elts, *values])
    for position, item in enumerate(target.elts):
        if isinstance(item, ast.Name) and item.id == name:
            return values[position] if plain and len(values) == len(target.elts) else value
    return None
