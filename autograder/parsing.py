"""Cells of source code into top-level statements, with the names they bind and read.

Python's own parser and symbol tables do the work; ours is what a notebook adds: magics,
shell lines, and that a syntax error costs its cell alone. Nothing is executed.
"""

from __future__ import annotations

import ast
import contextlib
import re
import symtable
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cell:
    """Some lines of source, and what the student calls the place they stand in."""

    label: str
    source: str
    first_line: int = 1
    grade_id: str | None = None


@dataclass(frozen=True)
class Statement:
    """One top-level statement, with the names that it binds and reads."""

    node: ast.stmt
    source: str
    line: int
    cell: str
    binds: frozenset[str]
    reads: frozenset[str]

    def to_wire(self) -> dict[str, Any]:
        """What the worker needs to execute it."""
        return {"source": self.source, "line": self.line, "cell": self.cell}


@dataclass(frozen=True)
class BrokenCell:
    """A cell that does not parse, and the definitions that it seems to hold."""

    label: str
    line: int
    message: str
    defines: frozenset[str]


_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_TRANSPARENT_MAGICS = {"time", "timeit", "capture", "prun"}
_SHELL_LINE = re.compile(r"^(\s*)(?:([\w, ]+=)\s*)?[%!].*$|^(\s*)\?*[\w.]+\?+\s*$|^(\s*)\?.*$")
_DEFINES = re.compile(r"^(?:def|class)\s+(\w+)", re.MULTILINE)
_CHUNK = re.compile(r"^(?:@|def\b|class\b|import\b|from\b|async\b|[A-Za-z_]\w*\s*[:=])")


def parse(cells: Sequence[Cell], kind: str) -> tuple[list[Statement], list[BrokenCell]]:
    """The statements of all cells in order, and the cells that do not parse.

    kind: "notebook" or "module"; a module with a syntax error is cut into definitions, so
    that the others count.
    """
    statements: list[Statement] = []
    broken: list[BrokenCell] = []
    for cell in cells:
        found = _parse_cell(cell)
        pieces = [found]
        if isinstance(found, BrokenCell) and kind == "module":
            # the other definitions of a module with a syntax error still count
            pieces = [_parse_cell(chunk) for chunk in _chunks(cell)]
        for piece in pieces:
            if isinstance(piece, BrokenCell):
                broken.append(piece)
            else:
                statements += piece
    return statements, broken


def _parse_cell(cell: Cell) -> list[Statement] | BrokenCell:
    source = _without_cell_magic(cell.source)
    while True:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # “invalid escape sequence” in their strings
                tree = ast.parse(source)
            break
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = getattr(error, "lineno", None) or 1
            replaced = _without_shell_line(source, line)
            if replaced is None:
                message = getattr(error, "msg", None) or "this cannot be parsed"
                defines = frozenset(_DEFINES.findall(cell.source))
                return BrokenCell(cell.label, line + cell.first_line - 1, message, defines)
            source = replaced
    lines = source.split("\n")
    statements = []
    for position, node in enumerate(tree.body):
        shared = (position and tree.body[position - 1].end_lineno == node.lineno) or (
            position + 1 < len(tree.body) and tree.body[position + 1].lineno == node.end_lineno
        )
        statements.append(_statement(node, lines, cell, bool(shared)))
    return statements


def _statement(node: ast.stmt, lines: Sequence[str], cell: Cell, shared: bool) -> Statement:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
    text = "\n".join(lines[first - 1 : node.end_lineno])
    if shared:  # `a = 1; b = 2`: the line belongs to both
        with contextlib.suppress(RecursionError, ValueError):
            text = ast.unparse(node)
    binds, reads = _names(node, text)
    return Statement(node, text, first + cell.first_line - 1, cell.label, binds, reads)


def _names(node: ast.stmt, text: str) -> tuple[frozenset[str], frozenset[str]]:
    """(bound, read) global names of one statement, by Python's own symbol tables."""
    binds: set[str] = set()
    reads: set[str] = set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tables = [symtable.symtable(text, "<submission>", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tables = []  # `return` outside a function: it fails when it is executed
    while tables:
        table = tables.pop()
        tables += table.get_children()
        top = table.get_type() == "module"
        for symbol in table.get_symbols():
            is_global = top or symbol.is_global()
            made_here = symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()
            if made_here and (top or symbol.is_declared_global()):
                binds.add(symbol.get_name())
            if is_global and symbol.is_referenced():
                reads.add(symbol.get_name())
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        # `SelfAttention.forward = forward` and `table[0] = 1` change what they are set on
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            while isinstance(target, (ast.Attribute, ast.Subscript)):
                target = target.value
            if isinstance(target, ast.Name):
                binds.add(target.id)
    return frozenset(binds), frozenset(reads)


def _without_cell_magic(source: str) -> str:
    magic = _CELL_MAGIC.match(source)
    if magic is None:
        return source
    if magic.group(1) not in _TRANSPARENT_MAGICS:
        return ""  # %%bash, %%html …: nothing of it is Python
    head, _, rest = source.partition("\n")
    return "\n" * (head.count("\n") + 1) + rest


def _without_shell_line(source: str, line: int) -> str | None:
    """The source without the magic or shell line that the parser stopped at, if it is one."""
    lines = source.split("\n")
    if not 1 <= line <= len(lines):
        return None
    found = _SHELL_LINE.match(lines[line - 1])
    if found is None:
        return None
    indent = next((group for group in (found[1], found[3], found[4]) if group is not None), "")
    lines[line - 1] = f"{indent}{found[2]} None" if found[2] else f"{indent}pass"
    return "\n".join(lines)


def _chunks(cell: Cell) -> Iterator[Cell]:
    """A module's top-level definitions as cells of their own."""
    lines = cell.source.split("\n")
    starts = [i for i, line in enumerate(lines) if _CHUNK.match(line)]
    starts = [i for i in starts if i == 0 or not lines[i - 1].startswith("@")]
    if not starts or starts[0] != 0:
        starts.insert(0, 0)
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield Cell(cell.label, "\n".join(lines[start:end]), start + 1)
