"""Reading a submission by its syntax: which file counts, which statements, which answers.

Nothing of a student's is executed here. A notebook's stored outputs are never decoded, a
cell that does not parse costs itself only, and of what parses only the backward slice of
the exercise names is kept: imports, definitions, and the assignments that they mention.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec

from autograder.parsing import BrokenCell, Cell, Statement, parse

MAX_SOURCE = 2 * 1024 * 1024
MAX_FILE = 256 * 1024 * 1024  # outputs count here, and are skipped without being decoded
MADE_BY_US = "autograder_made_from"  # notebook metadata: our copy of a student's module

Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Unreadable(Exception):
    """The file cannot be graded; the message says why and what to hand in instead."""


@dataclass(frozen=True)
class Submission:
    """A file as read. `made_from` is set on notebooks that we made of a module."""

    path: Path
    kind: str
    sha256: str
    cells: tuple[Cell, ...] = field(repr=False)
    statements: tuple[Statement, ...] = field(repr=False)
    broken: tuple[BrokenCell, ...] = ()
    made_from: str | None = None

    @cached_property
    def bound(self) -> frozenset[str]:
        """Every name that some top-level statement binds."""
        return frozenset(name for statement in self.statements for name in statement.binds)

    def definition(self, name: str) -> Node | None:
        """The last top-level def or class of that name (also inside `if` and `try`)."""
        found: Node | None = None
        for statement in self.statements:
            for node in _with_branches(statement.node):
                if isinstance(node, Node) and node.name == name:
                    found = node
        return found

    def written(self, name: str) -> bool:
        """Whether the exercise is there and is more than the stub."""
        node = self.definition(name)
        if node is None:  # `softmax = partial(…)` counts as written
            return name in self.bound or any(name in cell.defines for cell in self.broken)
        return not is_stub(node)

    def slice_for(self, names: Iterable[str]) -> tuple[int, ...]:
        """Positions of the statements that the names depend on, in order."""
        wanted = set(names)
        kept: set[int] = set()
        grew = True
        while grew:
            grew = False
            for position, statement in enumerate(self.statements):
                if position not in kept and _belongs(statement, wanted):
                    kept.add(position)
                    wanted |= statement.reads
                    grew = True
        known = {name for position in kept for name in self.statements[position].binds}
        if wanted - known - set(dir(builtins)):  # somebody else must bind them
            kept |= {i for i, s in enumerate(self.statements) if _is_star_import(s.node)}
        return tuple(sorted(kept))

    def answer(self, name: str) -> ast.expr | None:
        """The expression last assigned to a quiz name, or None."""
        found = None
        for statement in self.statements:
            if isinstance(statement.node, ast.Assign):
                targets, value = statement.node.targets, statement.node.value
            elif isinstance(statement.node, ast.AnnAssign) and statement.node.value is not None:
                targets, value = [statement.node.target], statement.node.value
            else:
                continue
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                found = value
        return found

    def uses(self, names: Sequence[int], forbidden: Iterable[str]) -> str | None:
        """The first forbidden dotted name that the statements use, by import resolution."""
        aliases: dict[str, str] = {}
        nodes = [node for i in names for node in ast.walk(self.statements[i].node)]
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.split(".")[0]
                    aliases[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    aliases[alias.asname or alias.name] = f"{node.module or ''}.{alias.name}"
        for node in nodes:
            dotted = _dotted(node, aliases)
            for name in forbidden:
                if dotted is not None and (dotted == name or dotted.startswith(name + ".")):
                    return name
        return None


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


def _belongs(statement: Statement, wanted: set[str]) -> bool:
    """Definitions, imports and assignments of wanted names; never loops, prints or plots."""
    if isinstance(statement.node, (ast.Expr, ast.For, ast.AsyncFor, ast.While, ast.Delete)):
        return False
    if _is_main_guard(statement.node):
        return False
    return bool(statement.binds & wanted)


def _is_main_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )


def _is_star_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)


def _with_branches(node: ast.stmt) -> Iterator[ast.stmt]:
    yield node
    for name in ("body", "orelse", "handlers", "finalbody"):
        if isinstance(node, (ast.If, ast.Try, ast.With)):
            for child in getattr(node, name, ()):
                if isinstance(child, ast.stmt):
                    yield from _with_branches(child)
                elif isinstance(child, ast.ExceptHandler):
                    for inner in child.body:
                        yield from _with_branches(inner)


def _dotted(node: ast.AST, aliases: dict[str, str]) -> str | None:
    if isinstance(node, ast.Name):
        return aliases.get(node.id)
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value, aliases)
        return None if base is None else f"{base}.{node.attr}"
    return None


# --- reading files ---------------------------------------------------------------------


def read(path: Path) -> Submission:
    """Read a notebook or a module; Unreadable when it cannot be graded."""
    data = _read_bytes(path)
    if path.suffix == ".ipynb":
        cells, made_from = _notebook_cells(path, data)
        kind = "notebook"
    else:
        cells, made_from, kind = [Cell(path.name, _decode_module(path, data))], None, "module"
    if sum(len(cell.source) for cell in cells) > MAX_SOURCE:
        raise Unreadable(
            f"{path.name} holds more than 2 MB of source code; hand in the exercises alone"
        )
    statements, broken = parse(cells, kind)
    return Submission(
        path=path,
        kind=kind,
        sha256=hashlib.sha256(data).hexdigest(),
        cells=tuple(cells),
        statements=tuple(statements),
        broken=tuple(broken),
        made_from=made_from,
    )


def _read_bytes(path: Path) -> bytes:
    if path.is_symlink() or not path.is_file():
        raise Unreadable(f"{path.name} is not a regular file; hand in the file itself")
    try:
        if path.stat().st_size > MAX_FILE:
            raise Unreadable(
                f"{path.name} is larger than 256 MB; clear its outputs and hand it in again"
            )
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(f"{path.name} could not be read ({error.strerror})") from error


def _decode_module(path: Path, data: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
        return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n")
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise Unreadable(f"{path.name} is not text in UTF-8; save it as UTF-8") from error


class _WireCell(msgspec.Struct):
    cell_type: str
    source: str | list[str] = ""
    metadata: dict[str, Any] = {}


class _WireNotebook(msgspec.Struct):
    """The parts of a notebook that are read; outputs are skipped by the decoder."""

    nbformat: int = 4
    cells: list[_WireCell] | None = None
    metadata: dict[str, Any] = {}


def _notebook_cells(path: Path, data: bytes) -> tuple[list[Cell], str | None]:
    if not data.strip():
        return [], None  # an empty file is graded: everything is missing
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        book = msgspec.json.decode(data, type=_WireNotebook)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise Unreadable(
            f"{path.name} is not a notebook ({error}); save it in JupyterLab and hand it in again"
        ) from error
    if book.nbformat < 4:
        book = _upgrade(path, data)
    cells = []
    for number, cell in enumerate(book.cells or (), 1):
        if cell.cell_type != "code":
            continue
        source = cell.source if isinstance(cell.source, str) else "".join(cell.source)
        about = cell.metadata.get("nbgrader")
        grade_id = about.get("grade_id") if isinstance(about, dict) else None
        grade_id = grade_id if isinstance(grade_id, str) else None
        label = f"cell {number}" + (f" ({grade_id})" if grade_id else "")
        cells.append(Cell(label, source.replace("\r\n", "\n"), grade_id=grade_id))
    made_from = book.metadata.get(MADE_BY_US)
    return cells, made_from if isinstance(made_from, str) else None


def _upgrade(path: Path, data: bytes) -> _WireNotebook:
    """Notebooks of nbformat 3 and older, by the library that knows them."""
    import nbformat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            book = nbformat.reads(  # type: ignore[no-untyped-call]
                data.decode("utf-8"), as_version=4
            )
        return msgspec.convert(
            {"nbformat": 4, "cells": list(book.cells), "metadata": dict(book.metadata)},
            _WireNotebook,
        )
    except Exception as error:
        raise Unreadable(
            f"{path.name} is a notebook of an old format that cannot be upgraded; open it in "
            "JupyterLab, save it, and hand it in again"
        ) from error


# --- which file counts -----------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """The file that counts, and what its student should be told about the choice."""

    submission: Submission
    messages: tuple[str, ...] = ()


def choose(
    folder: Path, assignment: str, exercises: Iterable[str], answers: Iterable[str]
) -> Chosen:
    """The file of a student's folder that is graded, by content and never by time.

    Both present: the one that was worked on; the notebook when both were. Unreadable when
    there is none, or when what counts cannot be read.
    """
    exercises, answers = tuple(exercises), tuple(answers)
    found: list[Submission] = []
    problems: list[Unreadable] = []
    for suffix in (".ipynb", ".py"):
        path = folder / f"{assignment}{suffix}"
        if path.exists() or path.is_symlink():
            try:
                submission = read(path)
            except Unreadable as problem:
                problems.append(problem)
                continue
            if submission.made_from is None:
                found.append(submission)
    if not found:
        if problems:
            raise problems[0]
        raise Unreadable(_nothing_found(folder, assignment))
    touched = [item for item in found if is_touched(item, exercises, answers)]
    chosen = (touched or found)[0]
    messages = [str(problem) for problem in problems]
    if problems:
        messages.append(f"{chosen.path.name} was graded instead")
    if len(touched) == 2:
        messages.append(
            f"both {assignment}.ipynb and {assignment}.py were worked on: the notebook was "
            "graded; delete it from the submission to have the module graded"
        )
    return Chosen(chosen, tuple(messages))


def is_touched(submission: Submission, exercises: Iterable[str], answers: Iterable[str]) -> bool:
    """Whether an exercise was written or a question answered."""
    if any(submission.written(name) for name in exercises):
        return True
    given = (submission.answer(name) for name in answers)
    return any(
        node is not None and not (isinstance(node, ast.Constant) and node.value in (None, "", ...))
        for node in given
    )


def _nothing_found(folder: Path, assignment: str) -> str:
    others = sorted(
        path.name for path in folder.glob("*") if path.suffix in (".ipynb", ".py")
    ) if folder.is_dir() else []  # fmt: skip
    message = f"no {assignment}.ipynb or {assignment}.py was handed in"
    if others:
        message += f"; found {', '.join(others[:3])}: hand it in under the right name"
    return message
