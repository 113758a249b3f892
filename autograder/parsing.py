"""Cells of source code into top-level statements, with the names they bind and read.

Python's own parser and symbol tables do the work; ours is what a notebook adds: magics,
shell lines, and that a syntax error costs its cell alone. Nothing is executed.
"""

from __future__ import annotations

import ast
import re
import symtable
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from autograder.magics import (
    LineState,
    long_fstring,
    without_cell_magic,
    without_indent,
    without_magics,
)
from autograder.source_trees import parse_source


@dataclass(frozen=True)
class Cell:
    """Some lines of source, and what the student calls the place they stand in."""

    label: str
    source: str
    first_line: int = 1
    grade_id: str | None = None


@dataclass(frozen=True)
class Statement:
    """One top-level statement.

    binds: names that it gives a value. reads: names that it, or a function defined in it,
    looks up. changes: names whose object it changes, as `table[0] = 1` and `A.forward = f`
    do.
    """

    node: ast.stmt
    source: str
    line: int
    cell: str
    binds: frozenset[str]
    reads: frozenset[str]
    changes: frozenset[str] = frozenset()

    @cached_property
    def calls_on(self) -> frozenset[str]:
        """Names whose methods it calls, or that it hands to setattr, outside functions."""
        return frozenset(_called_on(self.node))

    def to_wire(self) -> dict[str, Any]:
        """What the worker needs to execute it."""
        return {"source": self.source, "line": self.line, "cell": self.cell}


@dataclass(frozen=True)
class BrokenCell:
    """A cell that does not parse, and the top-level names that it seems to bind."""

    label: str
    line: int
    message: str
    defines: frozenset[str]

    @property
    def words(self) -> str:
        """“line 3 of cell 7 is not Python (invalid syntax)”."""
        return f"line {self.line} of {self.label} is not Python ({self.message})"


@dataclass(frozen=True)
class _Piece:
    """A statement before its names are known."""

    node: ast.stmt
    source: str
    line: int


_POSTPONE = "from __future__ import annotations\n"

# A null byte or half of a surrogate pair.
_STRANGE = re.compile("[\0\ud800-\udfff]").search

_DEFINES = re.compile(
    r"^(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|^([^\W\d]\w*)[ \t]*(?::[^=\n]*)?=(?!=)",
    re.MULTILINE,
)

# Lines of a broken module that are looked through for the end of a string or bracket.
_MAX_LOOKED_AT = 20_000

# `catch_warnings` swaps the filters of the whole process, and submissions are read in threads.
_filters = threading.Lock()


def parse(cells: Sequence[Cell], kind: str) -> tuple[list[Statement], list[BrokenCell]]:
    """The statements of all cells in order, and the cells that do not parse.

    kind: "notebook" or "module"; a module with a syntax error is cut into definitions, so
    that the others count.
    """
    statements: list[Statement] = []
    broken: list[BrokenCell] = []
    postponed = False
    with _filters, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # “invalid escape sequence” in their strings
        for cell in cells:
            if len(statements) > MAX_STATEMENTS:
                message = f"the cells above it hold more than {MAX_STATEMENTS} statements"
                broken.append(BrokenCell(cell.label, cell.first_line, message, frozenset()))
                continue
            keep = len(cell.source) <= _MAX_KEPT
            read = _statements_of if keep else _statements_of.__wrapped__
            found, faults, postponed = read(cell, kind, postponed)
            statements += found
            broken += faults
    return statements, broken


# Nobody writes as many, and each has its names looked up.
MAX_STATEMENTS = 20_000

# Cells that a class has in common (the lesson's own, untouched stubs) are parsed once.
_MAX_KEPT = 20_000


@lru_cache(maxsize=512)
def _statements_of(
    cell: Cell, kind: str, postponed: bool
) -> tuple[tuple[Statement, ...], tuple[BrokenCell, ...], bool]:
    """Statements and faults of a cell, and whether annotations are postponed from there on."""
    statements: list[Statement] = []
    broken: list[BrokenCell] = []
    pieces = _parse_cell(cell, kind)
    if len(pieces) > MAX_STATEMENTS:
        message = f"it holds more than {MAX_STATEMENTS} statements"
        return (), (BrokenCell(cell.label, cell.first_line, message, frozenset()),), postponed
    for found in pieces:
        if isinstance(found, BrokenCell):
            broken.append(found)
            continue
        binds, reads, changes = _names(found.node, found.source, postponed)
        statements.append(
            Statement(found.node, found.source, found.line, cell.label, binds, reads, changes)
        )
        postponed = postponed or _postpones(found.node)
    return tuple(statements), tuple(broken), postponed


def _parse_cell(cell: Cell, kind: str) -> list[_Piece | BrokenCell]:
    # as Python does, so that its line numbers index our lines
    source = cell.source.replace("\r\n", "\n").replace("\r", "\n")
    source = without_cell_magic(source)
    found = _parse(source, cell)
    if isinstance(found, BrokenCell) and kind == "module":
        # the other definitions of a module with a syntax error still count
        return list(_parse_pieces(source, cell))
    return [found] if isinstance(found, BrokenCell) else [*found]


def _parse(source: str, cell: Cell) -> list[_Piece] | BrokenCell:
    """The statements of some source, with magics and shell lines taken out if that helps."""
    fault = long_fstring(source)
    if fault is None:
        found = _tree(source)
        if isinstance(found, ast.Module):
            return _cut(found, source, cell.first_line)
        python = without_magics(without_indent(source))
        if python != source:
            found = _tree(python)
            if isinstance(found, ast.Module):
                return _cut(found, python, cell.first_line)
        fault = found
    line, message = fault
    above = cell.first_line - 1
    message = re.sub(r"(?<= line )\d+", lambda found: str(int(found[0]) + above), message)
    defines = frozenset(a or b for a, b in _DEFINES.findall(without_indent(source)))
    return BrokenCell(cell.label, line + above, message, defines)


def _tree(source: str) -> ast.Module | tuple[int, str]:
    """The syntax tree, or the line and the words of what is wrong."""
    try:
        return parse_source(source)
    except (SyntaxError, ValueError) as error:
        strange = next((i for i, line in enumerate(source.split("\n"), 1) if _STRANGE(line)), None)
        if strange is not None:
            return strange, "it holds a character that no text has"
        message = getattr(error, "msg", None) or "invalid syntax"
        last = source.count("\n") + 1
        line = min(max(getattr(error, "lineno", None) or 1, 1), last)
        return line, message.partition(" (detected at line")[0]
    except (RecursionError, MemoryError):
        return 1, "it is nested too deeply"


def _cut(tree: ast.Module, source: str, first_line: int) -> list[_Piece]:
    """Statements with their text, also where several stand on one line."""
    lines = source.split("\n")
    encoded: dict[int, bytes] = {}  # the parser counts columns in UTF-8
    starts = [_first_line(node) for node in tree.body] + [0]
    pieces = []
    previous_end = 0
    for node, start, following in zip(tree.body, starts, starts[1:], strict=False):
        end = node.end_lineno or start
        kept = lines[start - 1 : end]
        left = node.col_offset if start == previous_end else 0
        right = node.end_col_offset if following == end else None
        if left or right is not None:
            kept[-1] = _columns(kept[-1], end, left if start == end else 0, right, encoded)
            if left and start != end:
                kept[0] = _columns(kept[0], start, left, None, encoded)
        pieces.append(_Piece(node, "\n".join(kept), start + first_line - 1))
        previous_end = end
    return pieces


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _columns(
    line: str, number: int, left: int, right: int | None, encoded: dict[int, bytes]
) -> str:
    if number not in encoded:
        encoded[number] = line.encode()
    return encoded[number][left:right].decode()


# --- names -----------------------------------------------------------------------------


def _names(
    node: ast.stmt, text: str, postponed: bool
) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """(bound, read, changed) global names of one statement, by Python's own symbol tables.

    postponed: annotations are not looked up, after `from __future__ import annotations`.
    """
    binds: set[str] = set()
    reads: set[str] = set()
    try:
        tables = [symtable.symtable(_POSTPONE + text if postponed else text, "", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tables = []  # `global x` after a use of x, say: it fails when it is executed
    while tables:
        table = tables.pop()
        tables += table.get_children()
        kind = table.get_type()
        for symbol in table.get_symbols():
            ours = postponed and symbol.get_name() == "annotations" and symbol.is_imported()
            made = symbol.is_assigned() or (symbol.is_imported() and not ours)
            if made and (kind == "module" or symbol.is_declared_global()):
                binds.add(symbol.get_name())
            # the body of a class looks a name up outside until it has bound it
            looked_up = kind in ("module", "class") or symbol.is_global()
            if looked_up and symbol.is_referenced():
                reads.add(symbol.get_name())
    if isinstance(node, ast.Delete) or (isinstance(node, ast.AnnAssign) and node.value is None):
        binds.clear()  # the symbol tables count `del x` and `x: int` among the assignments
    return frozenset(binds), frozenset(reads), frozenset(_changed(node))


def _changed(node: ast.stmt) -> Iterator[str]:
    """Names of which an attribute or an item is set when the statement is executed."""
    todo: list[ast.AST] = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        if isinstance(item, (ast.Attribute, ast.Subscript)) and not isinstance(item.ctx, ast.Load):
            yield from _root(item)
        todo += ast.iter_child_nodes(item)


def _called_on(node: ast.stmt) -> Iterator[str]:
    """Names whose methods a statement calls, or that it hands to setattr."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        if isinstance(call.func, ast.Name) and call.func.id == "setattr" and call.args:
            yield from _root(call.args[0])
        elif isinstance(call.func, ast.Attribute):
            yield from _root(call.func)


def _root(node: ast.expr) -> Iterator[str]:
    """The name that attributes and items are taken of, if it is one: `a` of `a.b[0].c`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    if isinstance(node, ast.Name):
        yield node.id


def _postpones(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
    )


# --- a module with a syntax error ------------------------------------------------------

_BEGINS = re.compile(r"@|(?!(?:else|elif|except|finally)\b)[^\W\d]")


def _parse_pieces(source: str, cell: Cell) -> Iterator[_Piece | BrokenCell]:
    """A module's top-level statements one by one, so that one that is broken costs itself."""
    lines = source.split("\n")
    starts = [i for i, line in enumerate(lines) if _BEGINS.match(line)]
    starts = [i for i in starts if i == 0 or not lines[i - 1].startswith("@")]
    ends = dict(zip(starts, [*starts[1:], len(lines)], strict=False))
    looked_at = 0
    position = 0
    while position < len(lines):
        end = ends.get(position, starts[0] if starts else len(lines))
        piece = "\n".join(lines[position:end])
        found = _parse(piece, Cell(cell.label, piece, cell.first_line + position))
        if isinstance(found, BrokenCell) and looked_at < _MAX_LOOKED_AT:
            # a string or bracket with lines in it that look like a beginning?
            state, last = LineState(), position
            while last < len(lines) and not (last >= end and last in ends and state.is_clean):
                state.read(lines[last])
                last += 1
            looked_at += last - position
            if last > end:
                piece = "\n".join(lines[position:last])
                longer = _parse(piece, Cell(cell.label, piece, cell.first_line + position))
                if not isinstance(longer, BrokenCell):
                    found, end = longer, last
        if isinstance(found, BrokenCell):
            yield found
        else:
            yield from found
        position = end
