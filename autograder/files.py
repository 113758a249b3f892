"""Bytes of a submission into cells of source code, whatever state the file is in.

A notebook's stored outputs are skipped by the decoder. What cannot be read gets one
sentence that says what to hand in instead. Nothing is parsed as Python here.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import tokenize
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec

from autograder.parsing import Cell
from autograder.wording import one_line

MAX_SOURCE = 2 * 1024 * 1024
MAX_FILE = 256 * 1024 * 1024  # outputs count here, and are skipped without being decoded
MADE_BY_US = "autograder_made_from"  # notebook metadata: our copy of a student's module

# Not text, or quadratic in its length, whatever a coding comment says.
_NOT_FOR_SOURCE = ("idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape")


class Unreadable(Exception):
    """The file cannot be graded; the message says why and what to hand in instead."""


@dataclass(frozen=True)
class ReadFile:
    """A notebook or a module as it was read. `made_from` is set on notebooks of our own making."""

    path: Path
    kind: str
    sha256: str
    cells: tuple[Cell, ...] = field(repr=False)
    made_from: str | None = None


@dataclass(frozen=True)
class Handed:
    """The files of one student that may count, the notebook first; those that cannot be read too.

    nothing: what to say where none of them counts.
    """

    files: tuple[ReadFile | Unreadable, ...] = ()
    nothing: str = ""


def hand_in(folder: Path, assignment: str) -> Handed:
    """Read what lies in a student's folder."""
    files: list[ReadFile | Unreadable] = []
    for suffix in (".ipynb", ".py"):
        path = folder / f"{assignment}{suffix}"
        if os.path.lexists(path):
            try:
                files.append(read_file(path))
            except Unreadable as problem:
                files.append(Unreadable(str(problem)))  # without what it was raised over
    is_there = any(isinstance(file, Unreadable) or file.made_from is None for file in files)
    return Handed(tuple(files), "" if is_there else _nothing_found(folder, assignment))


def read_file(path: Path) -> ReadFile:
    """Read a notebook or a module into cells; Unreadable when it cannot be graded."""
    data = read_bytes(path)
    if path.suffix == ".ipynb":
        cells, made_from = notebook_cells(path, data)
        kind = "notebook"
    else:
        refuse_long(path, len(data) // 4)  # a character has four bytes at most
        cells, made_from, kind = [Cell(path.name, decode_module(path, data))], None, "module"
    refuse_long(path, sum(len(cell.source) for cell in cells))
    return ReadFile(path, kind, hashlib.sha256(data).hexdigest(), tuple(cells), made_from)


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


def refuse_long(path: Path, characters: int) -> None:
    """Raise Unreadable for more source code than anyone writes by hand."""
    if characters > MAX_SOURCE:
        raise Unreadable(
            f"{path.name} holds more than 2 MB of source code; hand in the exercises alone"
        )


def read_bytes(path: Path) -> bytes:
    """A regular file's bytes; links are not followed."""
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


def decode_module(path: Path, data: bytes) -> str:
    """A module's text, in the encoding that it declares."""
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


def notebook_cells(path: Path, data: bytes) -> tuple[list[Cell], str | None]:
    """The code cells of a notebook, and the file that we made it of, if we did."""
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
