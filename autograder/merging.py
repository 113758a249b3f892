"""Syntax trees merged: what two of them change in a third, together.

By a three-way merge where they change different parts; else by repeating on one tree what
the other changes, wherever the changed part still stands there.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.syntax_trees import children, fields, key, keys_in, rebuilt


class Conflict(Exception):
    """Both change the same part."""


# --- three-way -----------------------------------------------------------------------------


def three_way(base: Any, one: Any, other: Any) -> Any:
    """`base` with the changes of both; Conflict where they change the same part."""
    if key(one) == key(base):
        return other
    if key(other) in (key(base), key(one)):
        return one
    if isinstance(base, list) and isinstance(one, list) and isinstance(other, list):
        return _three_way_lists(base, one, other)
    if not (isinstance(base, ast.AST) and type(base) is type(one) is type(other)):
        raise Conflict
    made = {
        field: three_way(value, getattr(one, field, None), getattr(other, field, None))
        for field, value in fields(base)
    }
    silent = {field: getattr(base, field, None) for field in base._fields if field not in made}
    return type(base)(**made, **silent)


def _three_way_lists(base: list[Any], one: list[Any], other: list[Any]) -> list[Any]:
    if len(base) == len(one) == len(other):
        return [three_way(*items) for items in zip(base, one, other, strict=True)]
    ours, theirs = _changes(base, one), _changes(base, other)
    made: list[Any] = []
    at = 0
    for start, end, items in sorted([*ours, *theirs], key=lambda change: change[:2]):
        if start < at:
            raise Conflict
        made += [*base[at:start], *items]
        at = end
    return made + base[at:]


def _changes(base: list[Any], other: list[Any]) -> list[tuple[int, int, list[Any]]]:
    """(start, end, what stands there instead) for every part of a list that differs."""
    matcher = difflib.SequenceMatcher(
        None, [key(item) for item in base], [key(item) for item in other], autojunk=False
    )
    return [
        (start, end, other[first:last])
        for kind, start, end, first, last in matcher.get_opcodes()
        if kind != "equal"
    ]


# --- what one changes, repeated on the other -----------------------------------------------


@dataclass(frozen=True)
class Edit:
    """A part of the reference and what stands in its place.

    kept: expressions right inside the part that its replacement still holds.
    """

    part: ast.AST
    instead: ast.AST
    kept: frozenset[int]


def edits_between(base: ast.AST, changed: ast.AST, finely: bool) -> list[Edit] | None:
    """The smallest parts of `base` that are always replaced alike; None when it is all of it.

    finely: a part may be a mere name or number, which also stands where nothing changes.
    """
    replaced: dict[int, set[int]] = {}
    _align(base, changed, replaced)
    return _edits(base, changed, replaced, finely)


def _align(base: ast.AST, changed: ast.AST, replaced: dict[int, set[int]]) -> None:
    replaced.setdefault(key(base), set()).add(key(changed))
    if _alike(base, changed):
        for ours, theirs in zip(children(base), children(changed), strict=True):
            _align(ours, theirs, replaced)


def _alike(base: ast.AST, changed: ast.AST) -> bool:
    """Whether two nodes differ at most in the nodes below them."""
    if type(base) is not type(changed):
        return False
    for (_, ours), (_, theirs) in zip(fields(base), fields(changed), strict=True):
        if isinstance(ours, list) and isinstance(theirs, list):
            if len(ours) != len(theirs):
                return False
            pairs = list(zip(ours, theirs, strict=True))
        else:
            pairs = [(ours, theirs)]
        for a, b in pairs:
            if isinstance(a, ast.AST) != isinstance(b, ast.AST):
                return False
            if not isinstance(a, ast.AST) and a != b:
                return False
    return True


def _edits(
    base: ast.AST, changed: ast.AST, replaced: dict[int, set[int]], finely: bool
) -> list[Edit] | None:
    if key(base) == key(changed):
        return []
    if _alike(base, changed):
        inner: list[Edit] = []
        for ours, theirs in zip(children(base), children(changed), strict=True):
            found = _edits(ours, theirs, replaced, finely)
            if found is None:
                break
            inner += found
        else:
            return inner
    if isinstance(base, (ast.Name, ast.Constant)) and not finely:
        return None
    if isinstance(base, (ast.expr, ast.stmt)) and len(replaced[key(base)]) == 1:
        return [Edit(base, changed, _kept_parts(base, changed))]
    return None


def repeated(edits: Sequence[Edit], tree: ast.AST, loosely: bool) -> ast.AST:
    """The tree with every edit made wherever its part stands; Conflict when it stands nowhere.

    loosely: parts below the edited one that the edit keeps may be anything.
    """
    used: set[int] = set()
    done: dict[int, ast.AST] = {}  # a part that stands in many places is gone through once

    def visit(node: ast.AST) -> ast.AST:
        found = done.get(key(node))
        if found is None:
            found = done[key(node)] = made_of(node)
        return found

    def made_of(node: ast.AST) -> ast.AST:
        for number, edit in enumerate(edits):
            if key(node) == key(edit.part):
                used.add(number)
                return edit.instead
            holes: dict[int, ast.AST] = {}
            if loosely and edit.kept and _matches(edit.part, node, edit.kept, holes):
                used.add(number)
                filled = {number: visit(inside) for number, inside in holes.items()}
                return _filled(edit.instead, filled)
        made: ast.AST = rebuilt(node, visit)
        return made

    made = visit(tree)
    if len(used) < len({key(edit.part) for edit in edits}):
        raise Conflict
    return made


def _kept_parts(part: ast.AST, instead: ast.AST) -> frozenset[int]:
    still = keys_in(instead)
    return frozenset(
        key(node)
        for node in _arguments_of(part)
        if not isinstance(node, (ast.Name, ast.Constant)) and key(node) in still
    )


def _arguments_of(part: ast.AST) -> Iterator[ast.expr]:
    for node in children(part):
        if isinstance(part, ast.Call) and node is part.func:
            if isinstance(node, ast.Attribute):  # of x.max(…) it is x
                yield node.value
        elif isinstance(node, ast.expr):
            yield node
        elif isinstance(node, ast.keyword):
            yield node.value


def _matches(pattern: Any, node: Any, holes: frozenset[int], found: dict[int, ast.AST]) -> bool:
    """Whether a node reads like a pattern but for its holes, which are filled in `found`."""
    if isinstance(pattern, ast.AST) and key(pattern) in holes:
        if not isinstance(node, ast.expr):
            return False
        return key(found.setdefault(key(pattern), node)) == key(node)
    if isinstance(pattern, ast.AST):
        return type(pattern) is type(node) and all(
            _matches(value, getattr(node, field, None), holes, found)
            for field, value in fields(pattern)
        )
    if isinstance(pattern, list):
        return (
            isinstance(node, list)
            and len(pattern) == len(node)
            and all(_matches(a, b, holes, found) for a, b in zip(pattern, node, strict=True))
        )
    return bool(pattern == node)


def _filled(node: ast.AST, holes: Mapping[int, ast.AST]) -> ast.AST:
    if key(node) in holes:
        return holes[key(node)]
    made: ast.AST = rebuilt(node, lambda child: _filled(child, holes))
    return made


@dataclass(frozen=True)
class Changed:
    """A tree, and what it changes in the reference: by larger parts, and by the smallest ones."""

    tree: ast.AST
    edits: tuple[list[Edit] | None, list[Edit] | None]

    @classmethod
    def of(cls, base: ast.AST, tree: ast.AST) -> Changed:
        """The changes between the reference's tree and another one."""
        coarse, fine = (edits_between(base, tree, finely) for finely in (False, True))
        return cls(tree, (coarse, fine))


def merges(base: ast.AST, one: Changed, other: Changed) -> Iterator[ast.AST]:
    """The ways in which the changes of two trees to a third go together, the surest first."""
    with contextlib.suppress(Conflict):
        yield three_way(base, one.tree, other.tree)
    done: set[int] = set()
    for loosely in (False, True):
        for number, (mine, theirs) in enumerate(((one, other), (other, one))):
            if number in done:
                continue  # loosely is for what cannot be done strictly
            for edits in theirs.edits:
                if edits:
                    with contextlib.suppress(Conflict):
                        yield repeated(edits, mine.tree, loosely)
                        done.add(number)
