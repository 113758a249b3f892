"""solutions/ + source/ → source/, assignments/: the generated trees, reproducibly.

The notebook's prose is the author's and stays untouched. The exercise, check and quiz
cells in it are written from solutions/, found by grade_id; new ones are added at the end.
What a student gets is made by nbgrader's own generate_assignment in a temporary course,
and then put in place whole.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autograder import stubs
from autograder.faults.small_inputs import is_fair, small_inputs
from autograder.key_writing import make_key
from autograder.later import postpone
from autograder.observe.inprocess import random_state_kept
from autograder.pack import Pack, assignments_of, load_pack
from autograder.quiz import STUDENT_ID, Question, form_of, load_quiz
from autograder.quiz.cells import quiz_cells
from autograder.selfcheck import KEY_FILE, MAX_BYTES, SEED

KEY_ULPS = 64  # exp and matmul differ in the last bits between processors

postpone()  # nbformat is imported below, where it is needed


class BuildError(Exception):
    """The course cannot be built; the message names the place and the fix."""


def build(course: Path, assignments: Sequence[str] = ()) -> list[Path]:
    """Write every generated file; returns those that changed."""
    changed: list[Path] = []
    for target, content in _generate(course, assignments):
        if not _same(target, content):
            target.parent.mkdir(parents=True, exist_ok=True)
            fresh = target.with_name(target.name + ".new")
            fresh.write_bytes(content)
            os.replace(fresh, target)  # whole, or not at all
            changed.append(target)
    for stray in _strays(course, assignments):
        stray.unlink()
        changed.append(stray)
    return changed


def stale(course: Path, assignments: Sequence[str] = ()) -> list[Path]:
    """Generated files that differ from what `build` would write, and strays beside them."""
    wrong = [path for path, content in _generate(course, assignments) if not _same(path, content)]
    return wrong + list(_strays(course, assignments))


def released_files(assignment: str) -> tuple[str, ...]:
    """The files of an assignment's folder."""
    return (f"{assignment}.ipynb", f"{assignment}.py", KEY_FILE, f"test_{assignment}.py")


def _generate(course: Path, assignments: Sequence[str]) -> Iterator[tuple[Path, bytes]]:
    """(path, content) of every generated file of the course."""
    for name in assignments or assignments_of(course):
        pack = load_pack(course, name)
        questions = load_quiz(pack.folder)
        source = course / "source" / name
        notebook = source_notebook(pack, questions, source / f"{name}.ipynb")
        key = _key(pack, questions)
        # a key that is right up to rounding stays: it must not change with the processor
        if _same(source / KEY_FILE, key):
            key = (source / KEY_FILE).read_bytes()
        yield source / f"{name}.ipynb", notebook
        yield source / KEY_FILE, key
        for file, content in sorted(release(course, pack, questions, notebook, key).items()):
            yield course / "assignments" / name / file, content


def _strays(course: Path, assignments: Sequence[str]) -> Iterator[Path]:
    """Files in generated folders that no build writes."""
    for name in assignments or assignments_of(course):
        allowed = {
            course / "assignments" / name: set(released_files(name)),
            course / "source" / name: {f"{name}.ipynb", KEY_FILE},
        }
        for folder, names in allowed.items():
            for path in sorted(folder.glob("*")):
                if path.is_file() and path.name not in names:
                    yield path


def _same(path: Path, content: bytes) -> bool:
    if not path.is_file():
        return False
    if path.suffix == ".safetensors":
        return same_key(path.read_bytes(), content)
    return path.read_bytes() == content


def same_key(left: bytes, right: bytes) -> bool:
    """Names, dtypes, shapes and texts equal; values within 64 units in the last place at
    max|array|; NaN positions equal."""
    if left == right:
        return True
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        ours, theirs = load(left), load(right)
    except SafetensorError:
        return False
    if _metadata(left) != _metadata(right) or ours.keys() != theirs.keys():
        return False
    return all(_same_array(ours[name], theirs[name]) for name in ours)


def _same_array(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> bool:
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype.kind != "f":
        return bool(np.array_equal(left, right))
    if not np.array_equal(np.isnan(left), np.isnan(right)):
        return False
    finite = np.isfinite(left) & np.isfinite(right)
    if not np.array_equal(left[~finite & ~np.isnan(left)], right[~finite & ~np.isnan(right)]):
        return False
    if not finite.any():
        return True
    largest = np.abs(left[finite]).max()
    allowed = KEY_ULPS * np.spacing(max(largest, np.finfo(left.dtype).tiny))
    return bool((np.abs(left[finite] - right[finite]) <= allowed).all())


def _metadata(data: bytes) -> Any:
    import json

    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return header.get("__metadata__")


@random_state_kept()
def _key(pack: Pack, questions: Sequence[Question]) -> bytes:
    specs = pack.draw_all(SEED, public_only=True)
    forms = {question.id: form_of(question) for question in questions}
    small = {
        spec.name: [c for c in small_inputs(pack, spec) if is_fair(pack, spec, c)] for spec in specs
    }
    key = make_key(pack.name, pack.title, specs, forms, small)
    if len(key) > MAX_BYTES:
        raise BuildError(
            f"the self-check key of {pack.name} takes {len(key)} bytes, above the limit of "
            f"{MAX_BYTES}; make its public cases smaller"
        )
    return key


# --- the source notebook ---------------------------------------------------------------


def source_notebook(pack: Pack, questions: Sequence[Question], path: Path) -> bytes:
    """The author's notebook with the generated cells brought up to date."""
    import nbformat

    # nbformat has no type hints
    v4: Any = nbformat.v4
    reads: Any = nbformat.reads
    if not path.is_file():
        book = v4.new_notebook()
        book.cells = [v4.new_markdown_cell(f"# {pack.title}", id="title")]
    else:
        book = reads(path.read_text("utf-8"), as_version=4)
    wanted = generated_cells(pack, questions)
    present = {_grade_id(cell): cell for cell in book.cells if _grade_id(cell)}
    for cell in book.cells:
        new = wanted.get(_grade_id(cell) or "")
        if new is not None:
            _replace(cell, new)
        elif _is_ours(_grade_id(cell) or "", wanted):
            cell.metadata["autograder_stale"] = True
    book.cells = [c for c in book.cells if not c.metadata.pop("autograder_stale", False)]
    for grade_id, new in wanted.items():
        if grade_id not in present:
            book.cells.insert(_place_of(grade_id, book.cells), _new_cell(new))
    return normalised(book)


def _place_of(grade_id: str, cells: Sequence[Any]) -> int:
    """Where a new cell goes: to the end, if it does not belong to one that is there."""
    ids = [_grade_id(cell) or "" for cell in cells]
    if grade_id == STUDENT_ID:
        return next((at for at, name in enumerate(ids) if name.startswith("question_")), len(ids))
    kind, _, name = grade_id.partition("_")
    if kind == "variant" and f"question_{name}" in ids:
        return ids.index(f"question_{name}") + 1
    return len(ids)


def _is_ours(grade_id: str, wanted: Mapping[str, Any]) -> bool:
    """A generated cell whose exercise or question is gone."""
    prefixes = ("given_", "prompt_", "check_", "question_", "variant_", "q_")
    ours = grade_id.startswith(prefixes) or grade_id == STUDENT_ID
    return ours and grade_id not in wanted


def generated_cells(pack: Pack, questions: Sequence[Question]) -> dict[str, dict[str, Any]]:
    """grade_id → cell type, source and nbgrader's metadata, in the order of the course."""
    cells: dict[str, dict[str, Any]] = {}

    def add(
        grade_id: str, cell_type: str, source: str, kind: str, points: float | None = None
    ) -> None:
        about = {
            "grade": kind == "tests",
            "grade_id": grade_id,
            "locked": kind != "solution",
            "schema_version": 3,
            "solution": kind == "solution",
            "task": False,
        }
        if points is not None:
            about["points"] = int(points) if points == int(points) else points
        cells[grade_id] = {"cell_type": cell_type, "source": source, "nbgrader": about}

    for gift in pack.given:
        add(f"given_{gift.name}", "code", stubs.given_cell(gift), "read-only")
    for name, exercise in pack.exercises.items():
        add(f"prompt_{name}", "markdown", stubs.prompt_cell(exercise), "read-only")
        add(name, "code", stubs.solution_cell(exercise, pack.sources[name]), "solution")
        add(f"check_{name}", "code", stubs.check_cell(exercise), "tests", exercise.points)
    for cell in quiz_cells(questions):
        add(*cell)
    return cells


def _grade_id(cell: Any) -> str | None:
    about = cell.metadata.get("nbgrader")
    return about.get("grade_id") if isinstance(about, Mapping) else None


def _replace(cell: Any, new: Mapping[str, Any]) -> None:
    cell.cell_type = new["cell_type"]
    cell.source = new["source"]
    cell.metadata = {"nbgrader": dict(new["nbgrader"])}
    cell.id = new["nbgrader"]["grade_id"]


def _new_cell(new: Mapping[str, Any]) -> Any:
    import nbformat

    v4: Any = nbformat.v4
    make = {"code": v4.new_code_cell, "markdown": v4.new_markdown_cell}
    cell = make[new["cell_type"]](new["source"], id=new["nbgrader"]["grade_id"])
    _replace(cell, new)
    return cell


def normalised(book: Any) -> bytes:
    """A notebook as bytes: no outputs, fixed key order, LF."""
    import nbformat

    book.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        **{key: value for key, value in book.metadata.items() if key == "autograder"},
    }
    book.nbformat, book.nbformat_minor = 4, 5
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        elif cell.cell_type == "markdown":
            cell.pop("outputs", None)
            cell.pop("execution_count", None)
    nbformat.validate(book)
    writes: Any = nbformat.writes
    text: str = writes(book, version=4)
    return (text.rstrip("\n") + "\n").encode()


# --- the release -----------------------------------------------------------------------


def release(
    course: Path, pack: Pack, questions: Sequence[Question], notebook: bytes, key: bytes
) -> dict[str, bytes]:
    """File name → content of what a student gets, by nbgrader's own generate_assignment."""
    with tempfile.TemporaryDirectory(prefix="autograder-build-") as temporary:
        root = Path(temporary)
        # only this assignment's solutions, and what it is given: the companions are made from them
        for name in {pack.name, *(gift.assignment for gift in pack.given)}:
            shutil.copytree(pack.folder.with_name(name), root / "solutions" / name)
        source = root / "source" / pack.name
        source.mkdir(parents=True)
        (source / f"{pack.name}.ipynb").write_bytes(notebook)
        (source / KEY_FILE).write_bytes(key)
        _generate_assignment(root, pack.name)
        made = root / "assignments" / pack.name
        return {path.name: path.read_bytes() for path in made.iterdir()}


def _generate_assignment(root: Path, assignment: str) -> None:
    from autograder.nbgrader_plugin import generate_release

    generate_release(root, assignment)
