"""A student's notebook as it is to be graded, whatever state it was handed in in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
from nbconvert.exporters import NotebookExporter

from autograder.files import MADE_BY_US, MAX_FILE, Unreadable
from autograder.nbgrader_plugin.courses import converter_of
from autograder.nbgrader_plugin.nodes import loads, node, notebook


class SubmissionExporter(NotebookExporter):
    """nbgrader's exporter, with our reading of what lies in submitted/.

    A student's file is never changed. One that cannot be read is replaced, on the way to
    autograded/, by the release with our sentence in it.
    """

    def from_filename(
        self, filename: str, resources: Any = None, **options: Any
    ) -> tuple[Any, Any]:
        """The notebook and its resources, as nbconvert expects them."""
        converter = converter_of(self)
        run = getattr(converter, "autograder_run", None)
        if run is None or not converter._sanitizing:
            return super().from_filename(filename, resources, **options)
        path = Path(filename)
        resources["metadata"] = {"name": path.stem, "path": os.path.dirname(filename)}
        book = run.shown(path)
        return self.from_notebook_node(  # type: ignore[no-untyped-call,no-any-return]
            book, resources, **options
        )


class _Cell(msgspec.Struct):
    cell_type: str
    source: str | list[str] = ""
    metadata: Any = None
    attachments: Any = None
    id: Any = None


class _Notebook(msgspec.Struct):
    nbformat: int = 4
    cells: list[_Cell] | None = None
    metadata: Any = None


def read_notebook(path: Path) -> Any:
    """The cells of a notebook: source, attachments and grade_id; nothing else is kept.

    Neither outputs nor other metadata: they take space, and may hold anything. Raises
    Unreadable.
    """
    return notebook([_cell(cell) for cell in _decode(path).cells or ()], {})


def made_by_us(path: Path) -> bool:
    """Whether a notebook in submitted/ is one that we put there."""
    try:
        if MADE_BY_US.encode() not in _bytes(path):
            return False
        metadata = _decode(path).metadata
    except Unreadable:
        return False
    return isinstance(metadata, dict) and isinstance(metadata.get(MADE_BY_US), str)


def _bytes(path: Path) -> bytes:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_FILE:
        raise Unreadable(f"{path.name} is not a file that can be read")
    return path.read_bytes()


def _decode(path: Path) -> _Notebook:
    try:
        data = _bytes(path).removeprefix(b"\xef\xbb\xbf")
        if not data.strip():
            return _Notebook()
        book = msgspec.json.decode(data, type=_Notebook)
        if book.nbformat < 4:
            book = msgspec.convert(dict(loads(data.decode())), _Notebook)
            for cell in book.cells or ():
                cell.id = None  # drawn at random just now
    except Exception as fault:  # a student's file may break a parser in any way
        raise Unreadable(f"{path.name} cannot be read ({fault})") from fault
    return book


def _cell(cell: _Cell) -> Any:
    source = cell.source if isinstance(cell.source, str) else "".join(cell.source)
    cell_type = cell.cell_type if cell.cell_type in ("code", "markdown") else "raw"
    made: dict[str, Any] = {"cell_type": cell_type, "source": source, "metadata": {}}
    if cell_type == "code":
        made |= {"outputs": [], "execution_count": None}
    elif _are_attachments(cell.attachments):
        made["attachments"] = cell.attachments
    about = cell.metadata.get("nbgrader") if isinstance(cell.metadata, dict) else None
    grade_id = about.get("grade_id") if isinstance(about, dict) else None
    if isinstance(grade_id, str):
        made["metadata"]["nbgrader"] = {"grade_id": grade_id}
    made["id"] = cell.id if isinstance(cell.id, str) else ""
    return node(made)


def _are_attachments(found: Any) -> bool:
    return isinstance(found, dict) and all(
        isinstance(files, dict)
        and all(isinstance(kind, str) and isinstance(text, str) for kind, text in files.items())
        for files in found.values()
    )
