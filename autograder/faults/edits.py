"""Small edits of a student's statement, as changes of its text.

An edit replaces one node of the syntax tree (or the same node in several places at once) and
leaves every other character as it was, so that lines keep their numbers and two edits can be
put together. The families of edits propose them: `edits_numbers`, `edits_operators`,
`edits_transposes`, `edits_names`, `edits_steps`. What an edit costs says how often people make
the mistake that it repairs, and how much it assumes: 1 for a slip in what is there, 2 for a step
that is missing or too many, 3 for a guess.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from autograder.faults.scopes import Scope, functions_of
from autograder.source_trees import parse_expression, parse_source

# What stands in an expression without brackets, whatever is around it.
_ATOMS = (
    ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.Dict, ast.Set,
    ast.ListComp, ast.JoinedStr,
)  # fmt: skip
# More proposals than these for one statement are not looked at.
MAX_EDITS = 6000


class Change(NamedTuple):
    """Characters of a statement's text, from `start` to before `end`, and what replaces them."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Edit:
    """One small edit of a statement.

    changes: in order, without overlap. family: what kind of slip it repairs. cost: 1 to 3.
    line: of the first change, from 1 within the statement. before, after: what it replaces, in
    few words. about: the call, operator or name around it, from which its step is told. lines:
    all that it is about. alike: what edits have in common that can be made together. likely:
    whether it uses what nothing else uses. constructs: whether it may change how an object is
    made.
    """

    changes: tuple[Change, ...]
    family: str
    cost: int
    line: int
    before: str
    after: str
    about: str = ""
    lines: tuple[int, ...] = ()
    alike: str = ""
    likely: bool = False
    constructs: bool = False

    @property
    def places(self) -> int:
        """In how many places it changes the statement."""
        return len(self.changes)

    def applied(self, text: str) -> str:
        """The statement's text with the edit."""
        for change in reversed(self.changes):
            text = text[: change.start] + change.text + text[change.end :]
        return text


@dataclass(frozen=True)
class Proposal:
    """A node that may be replaced, and by what: a node, or the text of one or more statements."""

    node: ast.AST
    new: ast.AST | str
    family: str
    cost: int = 1
    before: str | None = None
    after: str | None = None
    about: str = ""
    alike: str = ""  # proposals with the same can be made in all places at once
    over: ast.AST | None = None  # a larger node, all of whose lines it is about
    likely: bool = False  # it uses what nothing uses yet


Family = Callable[[ast.AST, Scope], Iterable[Proposal]]


def written(node: ast.AST | str) -> str:
    """A node as text on as few lines as it can have."""
    return node if isinstance(node, str) else ast.unparse(node)


def inner(node: ast.AST) -> str:
    """A node as text that can stand inside any expression."""
    text = ast.unparse(node)
    return text if isinstance(node, _ATOMS) else f"({text})"


class Text:
    """The text of one top-level statement, with the place of each node in it."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.tree = parse_source(source)
        self._lines = source.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node above each node."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node stands, in characters."""
        return (
            self._at(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self._at(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def _at(self, line: int, column: int) -> int:
        text = self._lines[line - 1]
        if not text.isascii():  # the parser counts in UTF-8
            column = len(text.encode()[:column].decode(errors="ignore"))
        return self._starts[line - 1] + column

    def indent(self, node: ast.stmt) -> str:
        """What stands before a statement on its line, if it is nothing but blanks."""
        before = self._lines[node.lineno - 1][: self._at(node.lineno, node.col_offset)
                                              - self._starts[node.lineno - 1]]  # fmt: skip
        return before if not before.strip() else " " * len(before)

    def change(self, proposal: Proposal) -> Change:
        """The proposal as a change of the text."""
        node, new = proposal.node, proposal.new
        text = written(new)
        start, end = self.span(node)
        if isinstance(node, ast.stmt):
            indent = self.indent(node)
            return Change(start, end, text.replace("\n", "\n" + indent))
        if isinstance(node, ast.Slice):
            return Change(start, end, text)
        if isinstance(new, str) and not text.isidentifier():
            new = parse_expression(text)
        whole = isinstance(self.parents.get(node), ast.Return | ast.Assign | ast.keyword)
        if isinstance(new, ast.AST) and not isinstance(new, _ATOMS) and not whole:
            text = f"({text})"
        return Change(start, end, text)


def edits_of(
    text: Text,
    families: Sequence[Family],
    frozen: frozenset[str] = frozenset(),
    modules: Mapping[str, str] | None = None,
    callables: Sequence[str] = (),
    torch: bool = False,
) -> list[Edit]:
    """All edits that the families propose for a statement, each text once, in the tree's order.

    frozen: names of functions and classes that are left alone.
    """
    found: dict[tuple[Change, ...], Edit] = {}
    for function, scope in functions_of(
        text.tree, text.parents, frozen, modules or {}, callables, torch
    ):
        for node in _nodes(function):
            if scope.parents.get(node) is None:
                continue
            for family in families:
                if isinstance(getattr(node, "ctx", None), ast.Store):
                    continue
                for proposal in family(node, scope):
                    edit = _edit(text, proposal, scope)
                    if edit is not None:
                        known = found.get(edit.changes)
                        if known is None or edit.cost < known.cost:
                            found[edit.changes] = edit
            if len(found) > MAX_EDITS:
                break
    edits = list(found.values())
    return edits + list(_everywhere(edits))


def _edit(text: Text, proposal: Proposal, scope: Scope) -> Edit | None:
    try:
        change = text.change(proposal)
    except (
        ValueError,
        SyntaxError,
        RecursionError,
        AttributeError,
    ):  # no place, or not to be written
        return None
    old = text.source[change.start : change.end]
    if change.text == old:
        return None
    before = written(proposal.node) if proposal.before is None else proposal.before
    after = written(proposal.new) if proposal.after is None else proposal.after
    node = proposal.over or proposal.node
    line: int = node.lineno  # type: ignore[attr-defined]
    last: int = node.end_lineno  # type: ignore[attr-defined]
    spread = isinstance(node, ast.If) or (isinstance(node, ast.stmt) and not proposal.after)
    return Edit(
        (change,),
        proposal.family,
        proposal.cost,
        line,
        before,
        after,
        proposal.about,
        tuple(range(line, last + 1)) if spread else (line,),
        proposal.alike or f"{before} → {after}",
        proposal.likely,
        scope.constructs,
    )


def _everywhere(edits: Sequence[Edit]) -> Iterator[Edit]:
    """The same edit in every place of the statement where it can be made, or in two, at once."""
    groups: dict[tuple[str, str], list[Edit]] = {}
    for edit in edits:
        groups.setdefault((edit.family, edit.alike), []).append(edit)
    for group in groups.values():
        if 2 <= len(group) <= 8:
            yield from _together(group, group[0].cost)
        if 3 <= len(group) <= 4:
            for two in itertools.combinations(group, 2):
                yield from _together(two, max(2, group[0].cost))


def _together(group: Sequence[Edit], cost: int) -> Iterator[Edit]:
    """Several edits as one, unless they are in each other's way."""
    changes = sorted(change for edit in group for change in edit.changes)
    if any(left.end > right.start for left, right in itertools.pairwise(changes)):
        return
    lines = tuple(sorted({line for edit in group for line in edit.lines}))
    yield replace(
        group[0],
        changes=tuple(changes),
        cost=cost,
        line=lines[0],
        lines=lines,
        about=group[-1].about,
    )


def _nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a body in the order of the text: no annotations, docstrings or f-strings."""
    for statement in function.body:
        yield from _below(statement)


def _below(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.JoinedStr) or _is_text(node):
        return
    if isinstance(node, ast.Raise):  # its message is nobody's fault
        yield node
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "args") and isinstance(
            node, ast.FunctionDef | ast.AnnAssign | ast.Lambda
        ):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _below(child)


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
