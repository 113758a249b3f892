"""Two misconceptions in one implementation, made from the syntax trees of both.

A misconception is a whole wrong implementation. Where two of them change different parts of
the reference, an implementation that has both mistakes follows by merging the trees. What
cannot be merged has no pair. What a merge gives is only ever compared with what was observed:
one that is not what the authors of the two meant explains nothing.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.form_code import Once, as_method, as_tree, copied, function_of, method_of, unpacked
from autograder.merging import Changed, merges
from autograder.normal_form import Forms, NoForm
from autograder.source_trees import parse_source
from autograder.syntax_trees import key

# Different ways to merge one pair that are tried; the first is nearly always the one.
MAX_MERGES = 4

_MERGED = "_merged"


def pairs_of(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Pairs of misconceptions, those of the ones that come first in the file, first.

    Authors begin with what students write most often; not all pairs may be tried.
    """
    pairs = [(first, names[at]) for at in range(len(names)) for first in names[:at]]
    return tuple(pairs)


class Merger:
    """Merges definitions of one solution file: a reference and its misconceptions.

    namespace: the globals of that file, in which merged implementations run.
    """

    def __init__(self, source: str, exercise: str, namespace: Mapping[str, Any]) -> None:
        self.exercise = exercise
        self.namespace = namespace
        self.definitions = _definitions(source, exercise)
        self._trees: dict[str, ast.AST | None] = {}
        self._changes: dict[str, Changed | None] = {}
        self._made: dict[tuple[str, str], tuple[Any, ...]] = {}
        self._lock = threading.Lock()  # a class is judged in several threads
        self._forms = Forms(
            {
                local: node
                for local, node in self.definitions.items()
                if isinstance(node, ast.FunctionDef)
            }
        )

    def implementations(self, first: str, second: str) -> tuple[Any, ...]:
        """Implementations that have both mistakes; none when the two cannot be merged."""
        with self._lock:
            if (first, second) not in self._made:
                self._made[first, second] = self._merged(first, second)
            return self._made[first, second]

    def _merged(self, first: str, second: str) -> tuple[Any, ...]:
        base, one, other = self._tree(self.exercise), self._changed(first), self._changed(second)
        if base is None or one is None or other is None:
            return ()
        alone = {key(base), key(one.tree), key(other.tree)}
        found: dict[int, ast.AST] = {}
        for tree in merges(base, one, other):
            if key(tree) not in alone:
                found.setdefault(key(tree), tree)
            if len(found) == MAX_MERGES:
                break
        made = (self._compiled(tree) for tree in found.values())
        return tuple(implementation for implementation in made if implementation is not None)

    def alone(self, local: str) -> Any:
        """The implementation of one definition, made from its normal form; None without one."""
        tree = self._tree(local)
        return None if tree is None else self._compiled(tree)

    def _changed(self, local: str) -> Changed | None:
        if local not in self._changes:
            base, tree = self._tree(self.exercise), self._tree(local)
            made = None if base is None or tree is None else Changed.of(base, tree)
            self._changes[local] = made
        return self._changes[local]

    def _tree(self, local: str) -> ast.AST | None:
        """A definition in its normal form, as one tree; None when it has no such form."""
        if local not in self._trees:
            definition = self.definitions.get(local)
            try:
                self._trees[local] = None if definition is None else self._normal(definition)
            except NoForm:
                self._trees[local] = None
        return self._trees[local]

    def _normal(self, definition: ast.FunctionDef | ast.ClassDef) -> ast.AST:
        base = self.definitions.get(self.exercise)
        if isinstance(definition, ast.FunctionDef):
            like = base.args if isinstance(base, ast.FunctionDef) else None
            return as_tree(self._forms.of(definition, like))
        return self._normal_class(definition)

    def _normal_class(self, definition: ast.ClassDef) -> ast.ClassDef:
        """A class with the methods of the reference that it inherits, sorted by name."""
        base = self.definitions[self.exercise]
        inherits = any(
            isinstance(node, ast.Name) and node.id == self.exercise for node in definition.bases
        )
        methods = {node.name: node for node in _methods(base)} if inherits else {}
        own = {node.name: node for node in _methods(definition)}
        if inherits and any(_calls_super(node) for node in own.values()):
            raise NoForm
        methods |= own
        rest = [
            node
            for node in definition.body
            if not isinstance(node, ast.FunctionDef) and not _is_text(node)
        ]
        made = [as_method(local, self._forms.of(node)) for local, node in sorted(methods.items())]
        bases = base.bases if inherits and isinstance(base, ast.ClassDef) else definition.bases
        return ast.ClassDef(
            name=self.exercise, bases=bases, keywords=definition.keywords, body=[*rest, *made],
            decorator_list=[],
        )  # fmt: skip

    def _compiled(self, tree: ast.AST) -> Any:
        if isinstance(tree, ast.ClassDef):
            body = [method_of(node) for node in tree.body]
            definition: ast.stmt = ast.ClassDef(
                name=tree.name, bases=tree.bases, keywords=tree.keywords, body=body,
                decorator_list=[],
            )  # fmt: skip
        else:
            assert isinstance(tree, ast.Module)
            # not under the exercise's name: a misconception may call the reference by it
            definition = function_of(_MERGED, tree)
        namespace = {**self.namespace, "_Once": Once, "_Unpacked": unpacked}
        text = ast.unparse(ast.fix_missing_locations(copied(definition)))
        try:
            exec(compile(text, f"<{self.exercise}, merged>", "exec"), namespace)
        except Exception:  # a merge need not be a program
            return None
        return namespace[self.exercise if isinstance(tree, ast.ClassDef) else _MERGED]


def _definitions(source: str, exercise: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Functions and classes of a file; of one name the misconception, else the last."""
    found: dict[str, ast.FunctionDef | ast.ClassDef] = {}
    sure: set[str] = set()
    for node in parse_source(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name not in sure:
            found[node.name] = node
            if any(_registers(decorator, exercise) for decorator in node.decorator_list):
                sure.add(node.name)
    return found


def _registers(decorator: ast.expr, exercise: str) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else None
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "misconception"
        and isinstance(function.value, ast.Name)
        and function.value.id == exercise
    )


def _methods(definition: ast.AST) -> list[ast.FunctionDef]:
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    return [node for node in body if isinstance(node, ast.FunctionDef)]


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _calls_super(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Name) and part.id == "super" for part in ast.walk(node))
