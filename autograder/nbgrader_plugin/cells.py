"""The cells of a graded notebook: the release's frame around what a student wrote."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from autograder.files import MADE_BY_US
from autograder.nbgrader_plugin.nodes import grade_id_of, node, notebook, shallow
from autograder.submission import Submission

PUT_BACK = "# This cell was missing from what was handed in; it was put back for grading."
_CELL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")

# grade_id of a solution cell → what the student wrote for it, if anything
Written = Callable[[str], str | None]


def written_in(submission: Submission | None) -> Written:
    """Finds definitions and answers in a submission by the name of their cell."""

    def find(name: str) -> str | None:
        if submission is None:
            return None
        binding = [item for item in submission.statements if name in item.binds]
        defining = [item for item in binding if getattr(item.node, "name", None) == name]
        return (defining or binding)[-1].source if binding else None

    return find


def restored(book: Any, release: Any, written: Written) -> Any:
    """A student's notebook with every nbgrader cell of the release, each once.

    Read-only cells are the release's. Of duplicates the last counts, as a definition does;
    the others stay, ungraded. Missing ones return to their place.
    """
    frame = {name: cell for cell in release.cells if (name := grade_id_of(cell))}
    last = {grade_id_of(cell): index for index, cell in enumerate(book.cells)}
    cells = []
    for index, cell in enumerate(book.cells):
        grade_id = grade_id_of(cell)
        if grade_id is not None and grade_id in frame and last[grade_id] == index:
            cells.append(_framed(frame[grade_id], cell))
        else:
            cell.metadata.pop("nbgrader", None)
            cells.append(cell)
    present = {grade_id_of(cell) for cell in cells}
    previous: str | None = None
    for grade_id, original in frame.items():
        if grade_id not in present:
            where = _after(cells, previous)
            cells.insert(where, _put_back(original, written(grade_id)))
        previous = grade_id
    _number(cells)
    return _notebook(cells, release)


def stand_in(release: Any, submission: Submission | None, messages: tuple[str, ...]) -> Any:
    """The release with what a module holds, for a student who has no notebook of their own.

    submission: None when nothing can be read; then the cells stay empty.
    """
    cells = [shallow(cell) for cell in release.cells]
    written = written_in(submission)
    for cell in cells:
        text = written(grade_id_of(cell) or "")
        if text is not None and _is_solution(cell):
            cell.source = text
    name = submission.path.name if submission is not None else "nothing"
    lines = [f"**This notebook was made for grading from {name}.**"]
    if submission is None:
        lines = ["**This notebook was made for grading; nothing could be read.**"]
    lines += [f"    {line}" for message in messages for line in message.split("\n")]
    cells.insert(0, _cell("markdown", "\n\n".join(lines)))
    if submission is not None:
        text = "\n\n".join(cell.source for cell in submission.cells)
        cells.append(_cell("markdown", f"All of {name}, as it was handed in:"))
        cells.append(_cell("code", text))
    _number(cells)
    book = _notebook(cells, release)
    book.metadata[MADE_BY_US] = name
    return book


def _framed(original: Any, cell: Any) -> Any:
    made = shallow(original)
    if _is_editable(original):
        made.source = cell.source
        if "attachments" in cell and made.cell_type != "code":
            made.attachments = cell.attachments
    return made


def _put_back(original: Any, text: str | None) -> Any:
    made = shallow(original)
    if _is_solution(original) and original.cell_type == "code":
        made.source = f"{PUT_BACK}\n{original.source if text is None else text}"
    return made


def _is_solution(cell: Any) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def _is_editable(cell: Any) -> bool:
    about = cell.metadata["nbgrader"]
    return _is_solution(cell) or not (about.get("locked") or about.get("grade"))


def _after(cells: list[Any], grade_id: str | None) -> int:
    if grade_id is None:
        return 0
    return 1 + next(i for i, cell in enumerate(cells) if grade_id_of(cell) == grade_id)


def _cell(cell_type: str, source: str) -> Any:
    made: dict[str, Any] = {"cell_type": cell_type, "source": source, "metadata": {}, "id": ""}
    if cell_type == "code":
        made |= {"outputs": [], "execution_count": None}
    return node(made)


def _number(cells: list[Any]) -> None:
    """Give every cell an id of its own: the release's cells theirs, the others if they can."""
    taken = {cell.id for cell in cells if grade_id_of(cell)}
    for position, cell in enumerate(cells):
        if grade_id_of(cell):
            continue
        if cell.id in taken or not _CELL_ID.fullmatch(cell.id):
            cell.id = f"other-{position}"
            while cell.id in taken:
                cell.id += "x"
        taken.add(cell.id)


def _notebook(cells: list[Any], release: Any) -> Any:
    kept = ("kernelspec", "language_info")
    return notebook(cells, {key: release.metadata[key] for key in kept if key in release.metadata})
