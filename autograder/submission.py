"""Reading a submission by its syntax: which file counts, which statements, which answers.

Nothing of a student's is executed here. A notebook's stored outputs are never decoded, a
cell that does not parse costs itself only, and of what parses only the backward slice of
the exercise names is kept: imports, definitions, and the assignments that they mention.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import itertools
import os
import re
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec

from autograder.parsing import BrokenCell, Cell, Statement, parse
from autograder.wording import one_line

MAX_SOURCE = 2 * 1024 * 1024
MAX_FILE = 256 * 1024 * 1024  # outputs count here, and are skipped without being decoded
MADE_BY_US = "autograder_made_from"  # notebook metadata: our copy of a student's module

Node = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

# Not text, or quadratic in its length, whatever a coding comment says.
_NOT_FOR_SOURCE = ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape")


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
        return frozenset(self._binding)

    @cached_property
    def _binding(self) -> dict[str, list[int]]:
        """Name → positions of the statements that bind it."""
        found: dict[str, list[int]] = {}
        for position, statement in enumerate(self.statements):
            for name in statement.binds:
                found.setdefault(name, []).append(position)
        return found

    @cached_property
    def _kept_for(self) -> dict[str, list[int]]:
        """Name → positions of the statements that are kept when it is wanted."""
        found: dict[str, list[int]] = {}
        for position, statement in enumerate(self.statements):
            if _may_be_kept(statement.node):
                for name in statement.binds | statement.changes:
                    found.setdefault(name, []).append(position)
        return found

    def definition(self, name: str) -> Node | None:
        """The last top-level def or class of that name (also inside `if` and `try`)."""
        for position in reversed(self._binding.get(name, ())):
            nodes = _definitions(self.statements[position].node, name)
            if nodes:
                return nodes[-1]
        return None

    def stands(self, name: str) -> bool:
        """Whether what binds the name last is more than the stub."""
        positions = self._binding.get(name)
        return positions is not None and not self._is_stub_at(positions[-1], name)

    def broken_cell(self, name: str) -> BrokenCell | None:
        """The last cell that does not parse and seems to define the name."""
        return next((cell for cell in reversed(self.broken) if name in cell.defines), None)

    def written(self, name: str) -> bool:
        """Whether there is more than the stub, be it in a cell that does not parse."""
        return self.stands(name) or self.broken_cell(name) is not None

    def hidden_by_stub(self, name: str) -> tuple[Statement, Statement] | None:
        """(the last definition, the stub after it) where the stub is what counts."""
        positions = self._binding.get(name, [])
        real = [i for i in positions if not self._is_stub_at(i, name)]
        if not real or real[-1] == positions[-1]:
            return None
        return self.statements[real[-1]], self.statements[positions[-1]]

    def _is_stub_at(self, position: int, name: str) -> bool:
        """`softmax = partial(…)` and a def in one branch of an `if` are no stubs."""
        nodes = _definitions(self.statements[position].node, name)
        return bool(nodes) and all(is_stub(node) for node in nodes)

    def slice_for(self, names: Iterable[str]) -> tuple[int, ...]:
        """Positions of the statements that the names depend on, in order."""
        kept, unbound = self._slice(names)
        if unbound:  # somebody else must bind them
            kept |= {i for i, s in enumerate(self.statements) if _is_star_import(s.node)}
        if kept:  # they hold for all that follows
            kept |= {i for i, s in enumerate(self.statements) if _is_future_import(s.node)}
        return tuple(sorted(kept))

    def _slice(self, names: Iterable[str]) -> tuple[set[int], set[str]]:
        """(positions of the statements to keep, names that none of them binds)."""
        kept: set[int] = set()
        todo = list(names)
        wanted = set(todo)
        while todo:
            for position in self._kept_for.get(todo.pop(), ()):
                if position not in kept:
                    kept.add(position)
                    todo += self.statements[position].reads - wanted
                    wanted |= self.statements[position].reads
        known = {name for position in kept for name in self.statements[position].binds}
        return kept, wanted - known - _BUILTINS

    def left_out_for(self, names: Iterable[str]) -> bool:
        """Whether a statement outside the slice may have a say in what the names are.

        Loops that fill a table, calls such as `table.append(1)` and `setattr(A, "f", f)`.
        """
        kept = set(self.slice_for(names))
        imported = {
            name
            for position in kept
            if isinstance(self.statements[position].node, (ast.Import, ast.ImportFrom))
            for name in self.statements[position].binds
        }
        used = {name for i in kept for name in self.statements[i].binds | self.statements[i].reads}
        used |= set(names)
        used -= imported | _BUILTINS
        return any(
            used & (statement.binds | statement.changes | set(_called_on(statement.node)))
            for position, statement in enumerate(self.statements)
            if position not in kept and not _is_main_guard(statement.node)
        )

    def answer(self, name: str) -> ast.expr | None:
        """The expression last assigned to a quiz name, or None.

        Where only a cell that does not parse assigns it, the bare name: no answer either,
        but not an open one.
        """
        found: ast.expr | None = None
        for position in self._binding.get(name, ()):
            node = self.statements[position].node
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    found = _assigned(target, node.value, name) or found
            elif isinstance(node, ast.AnnAssign):
                found = node.value
        if found is None and self.broken_cell(name) is not None:
            return ast.Name(name)
        return found

    def uses(self, name: str, forbidden: Sequence[str]) -> str | None:
        """The first forbidden dotted name that an exercise uses, by import resolution."""
        if not forbidden:
            return None
        known = _Imported()
        nodes: list[ast.AST] = []
        for position in self.slice_for([name]):
            statement = self.statements[position]
            inside = list(ast.walk(statement.node))
            nodes += inside
            known.follow(statement, inside)
        for dotted in [known.aliases.get(name), *map(known.dotted, nodes)]:
            for item in forbidden:
                if dotted is not None and (dotted == item or dotted.startswith(item + ".")):
                    return item
        return next((item for item in forbidden if known.may_be_starred(item, nodes)), None)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a student should know of the file as a whole: it is empty, or cells are left out."""
        if not any(cell.source.strip() for cell in self.cells):
            return (f"{self.path.name} holds no code: all exercises count as missing",)
        what = "that cell" if self.kind == "notebook" else "that part"
        shown = [f"{one_line(cell.words)}: {what} was left out" for cell in self.broken[:3]]
        if len(self.broken) > 3:
            shown.append(f"{len(self.broken) - 3} more like that were left out too")
        return tuple(shown)


_BUILTINS = frozenset(dir(builtins))


class _Imported:
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


def _may_be_kept(node: ast.stmt) -> bool:
    """Definitions, imports and assignments; never loops, prints or plots."""
    if isinstance(node, (ast.Expr, ast.For, ast.AsyncFor, ast.While, ast.Delete)):
        return False
    return not _is_main_guard(node)


def _is_main_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and any(
        isinstance(part, ast.Name) and part.id == "__name__" for part in ast.walk(node.test)
    )


def _is_star_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)


def _is_future_import(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _definitions(statement: ast.stmt, name: str) -> list[Node]:
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


def _called_on(node: ast.stmt) -> Iterator[str]:
    """Names whose methods a statement calls, or that it hands to setattr."""
    if isinstance(node, Node):
        return
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        if isinstance(call.func, ast.Name) and call.func.id == "setattr" and call.args:
            base = call.args[0]
        elif isinstance(call.func, ast.Attribute):
            base = call.func.value
        else:
            continue
        while isinstance(base, (ast.Attribute, ast.Subscript)):
            base = base.value
        if isinstance(base, ast.Name):
            yield base.id


def _assigned(target: ast.expr, value: ast.expr, name: str) -> ast.expr | None:
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


# --- reading files ---------------------------------------------------------------------


def read(path: Path) -> Submission:
    """Read a notebook or a module; Unreadable when it cannot be graded."""
    data = _read_bytes(path)
    if path.suffix == ".ipynb":
        cells, made_from = _notebook_cells(path, data)
        kind = "notebook"
    else:
        _refuse_long(path, len(data) // 4)  # a character has four bytes at most
        cells, made_from, kind = [Cell(path.name, _decode_module(path, data))], None, "module"
    _refuse_long(path, sum(len(cell.source) for cell in cells))
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


def _refuse_long(path: Path, characters: int) -> None:
    if characters > MAX_SOURCE:
        raise Unreadable(
            f"{path.name} holds more than 2 MB of source code; hand in the exercises alone"
        )


def _read_bytes(path: Path) -> bytes:
    try:
        if path.is_symlink() or not path.is_file():
            raise Unreadable(f"{path.name} is not a regular file; hand in the file itself")
        if path.stat().st_size > MAX_FILE:
            raise Unreadable(
                f"{path.name} is larger than 256 MB; clear its outputs and hand it in again"
            )
        return path.read_bytes()
    except OSError as error:
        raise Unreadable(
            f"{path.name} could not be read ({error.strerror or type(error).__name__}); "
            "hand it in again"
        ) from error


def _decode_module(path: Path, data: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(data).readline)
        if encoding.lower().replace("-", "_") in _NOT_FOR_SOURCE:
            raise LookupError(encoding)
        return data.decode(encoding)
    except (SyntaxError, ValueError, LookupError) as error:
        raise Unreadable(f"{path.name} is not text in UTF-8; save it as UTF-8") from error


class _WireCell(msgspec.Struct):
    cell_type: str
    source: str | list[str] = ""
    input: str | list[str] = ""  # what nbformat 3 calls the source of code
    metadata: dict[str, Any] = {}

    @property
    def code(self) -> str:
        """The source in one piece."""
        found = self.source or self.input
        if isinstance(found, str):
            return found
        # nbformat 2 has lines without their ends
        ended = not self.input or found[0].endswith("\n")
        return ("" if ended else "\n").join(found)


class _WireSheet(msgspec.Struct):
    cells: list[_WireCell] = []


class _WireNotebook(msgspec.Struct):
    """The parts of a notebook that are read; outputs are skipped by the decoder."""

    nbformat: int = 4
    cells: list[_WireCell] | None = None
    worksheets: list[_WireSheet] | None = None  # before nbformat 4
    metadata: dict[str, Any] = {}


def _notebook_cells(path: Path, data: bytes) -> tuple[list[Cell], str | None]:
    if not data.strip():
        return [], None  # an empty file is graded: everything is missing
    book = _decode_notebook(path, data.removeprefix(b"\xef\xbb\xbf"))
    all_cells = book.cells
    if all_cells is None and book.worksheets is not None:
        all_cells = [cell for sheet in book.worksheets for cell in sheet.cells]
    if all_cells is None:
        raise _no_notebook(path, "it has no list of cells")
    cells = []
    for number, cell in enumerate(all_cells, 1):
        if cell.cell_type != "code":
            continue
        about = cell.metadata.get("nbgrader")
        grade_id = about.get("grade_id") if isinstance(about, dict) else None
        grade_id = grade_id if isinstance(grade_id, str) else None
        label = f"cell {number}" + (f" ({one_line(grade_id, 60)})" if grade_id else "")
        cells.append(Cell(label, cell.code, grade_id=grade_id))
    made_from = book.metadata.get(MADE_BY_US)
    return cells, made_from if isinstance(made_from, str) else None


def _decode_notebook(path: Path, data: bytes) -> _WireNotebook:
    try:
        try:
            return msgspec.json.decode(data, type=_WireNotebook)
        except msgspec.DecodeError:
            # what Python's json writes and JSON has not: NaN, and halves of characters
            return msgspec.json.decode(_as_json(data), type=_WireNotebook)
    except (msgspec.DecodeError, RecursionError, ValueError) as error:
        raise _no_notebook(path, one_line(str(error))) from error


def _no_notebook(path: Path, why: str) -> Unreadable:
    return Unreadable(
        f"{path.name} is not a notebook ({why}); save it in JupyterLab and hand it in again"
    )


_JSON_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|-?Infinity|NaN', re.DOTALL)
_HALF = re.compile(rb"(\\u[dD][89abAB]..\\u[dD][c-fC-F]..)|\\u[dD][89a-fA-F]..|(\\.)", re.DOTALL)


def _as_json(data: bytes) -> bytes:
    """JSON as Python's own json module reads it, made strict."""

    def whole(found: re.Match[bytes]) -> bytes:
        return found[0] if found[1] or found[2] else b"\\ufffd"

    def strict(found: re.Match[bytes]) -> bytes:
        return _HALF.sub(whole, found[0]) if found[0].startswith(b'"') else b"null"

    return _JSON_TOKEN.sub(strict, data)


# --- which file counts -----------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """The file that counts, and what its student should be told about the choice."""

    submission: Submission
    about_choice: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[str, ...]:
        """Sentences for the student: about the choice, then about the file."""
        return self.about_choice + self.submission.remarks


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
        if os.path.lexists(path):
            try:
                submission = read(path)
            except Unreadable as problem:
                problems.append(problem)
                continue
            if submission.made_from is None:
                found.append(submission)
    touched = [item for item in found if is_touched(item, exercises, answers)]
    if problems and not touched:
        raise problems[0]  # the other file is as it was released: this one was worked on
    if not found:
        raise Unreadable(_nothing_found(folder, assignment))
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
    return any(node is not None and not _is_open(node) for node in given)


def _is_open(node: ast.expr) -> bool:
    """Whether an answer is as it was released, or as good as that."""
    if not isinstance(node, ast.Constant):
        return False
    text = node.value
    return text is None or text is ... or (isinstance(text, str) and not text.strip())


def _nothing_found(folder: Path, assignment: str) -> str:
    message = f"no {assignment}.ipynb or {assignment}.py was handed in"
    not_theirs = {folder / f"{assignment}.ipynb", folder / f"test_{assignment}.py"}
    try:
        others = [
            path.relative_to(folder)
            for path in sorted(itertools.chain(folder.glob("*"), folder.glob("*/*")))
            if path.suffix.lower() in (".ipynb", ".py") and path not in not_theirs
        ]
    except OSError:
        others = []
    if others:
        wrong = "under the right name" if others[0].name == str(others[0]) else "outside the folder"
        shown = ", ".join(one_line(str(path), 80) for path in others[:3])
        message += f"; found {shown}: hand it in {wrong}"
    return message
