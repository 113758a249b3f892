"""The gradebook: backed up before a run writes to it, and told of assignments it lacks."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.nbgrader_plugin import NbgraderError, databases
from autograder.nbgrader_plugin.nodes import grade_id_of
from autograder.pack import Pack

KEPT_BACKUPS = 10
# To wait for another program. A class of thousands must not end because formgrader writes for a
# moment; who holds a lock for longer than this has forgotten it.
LOCKED_SECONDS = 30.0
# formgrader's “autograde all” is one request for each student: what follows within a minute
# belongs to the same run, or a class would drive every older backup out.
SAME_RUN_SECONDS = 60.0

_last_use: dict[str, float] = {}


def put_alembic_on_path() -> None:
    """nbgrader runs `alembic` by name: without an activated environment it is not found."""
    folder = str(Path(sys.executable).parent)
    if shutil.which("alembic") is None and shutil.which("alembic", path=folder) is not None:
        os.environ["PATH"] = os.pathsep.join([folder, os.environ.get("PATH", "")])


def back_up(db_url: str, course: Path) -> Path | None:
    """Copy the gradebook to .autograder/backups/, once a run; None when there was no need.

    SQLite's file as .db, PostgreSQL's database as .dump, for pg_restore; other databases have
    tools of their own. NbgraderError when it cannot be copied.
    """
    now = time.monotonic()
    same_run = now - _last_use.get(db_url, -SAME_RUN_SECONDS) < SAME_RUN_SECONDS
    _last_use[db_url] = now
    url = databases.parsed(db_url)
    if same_run or not url.database:
        return None
    backend = url.get_backend_name()
    if backend == "postgresql" and databases.see_that_it_answers(db_url):
        target = _target(course, url.database, ".dump")
        databases.dump(db_url, target)
    elif backend == "sqlite" and _has_content(Path(url.database)):
        target = _target(course, Path(url.database).stem, ".db")
        _copy(Path(url.database), target)
    else:
        return None
    name = target.name[: -len("-YYYYMMDD-HHMMSS-ffffff") - len(target.suffix)]
    pattern = f"{_escape(name)}-????????-??????-??????{target.suffix}"
    for old in sorted(target.parent.glob(pattern))[:-KEPT_BACKUPS]:
        old.unlink(missing_ok=True)
    return target


def _has_content(file: Path) -> bool:
    return file.is_file() and file.stat().st_size > 0


def _target(course: Path, name: str, suffix: str) -> Path:
    folder = course / ".autograder" / "backups"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S-%f")
    return folder / f"{name.replace(os.sep, '_')}-{stamp}{suffix}"


def _copy(file: Path, target: Path) -> None:
    # SQLite's own copy: right even while formgrader writes
    with closing(sqlite3.connect(file)) as live, closing(sqlite3.connect(target)) as copy:
        try:
            live.backup(copy, sleep=0.1, progress=_patience(file))
        except BaseException:
            target.unlink(missing_ok=True)
            raise


def _patience(file: Path) -> Callable[[int, int, int], None]:
    """For SQLite's copy, which by itself waits for a lock as long as it is held."""
    deadline = time.monotonic() + LOCKED_SECONDS

    def progress(status: int, remaining: int, total: int) -> None:
        busy = status not in (sqlite3.SQLITE_OK, sqlite3.SQLITE_DONE)
        if busy and time.monotonic() > deadline:
            raise NbgraderError(
                f"the gradebook {file} is locked by another program; close that and run the "
                "same command again: what was graded is kept"
            )

    return progress


def register(converter: Any, pack: Pack, release: dict[str, Any]) -> None:
    """See to it that the gradebook has the assignment with every cell of the release."""
    from autograder.nbgrader_plugin.release import save_cells

    directory = converter.coursedir
    known, submissions = _known_cells(directory.db_url, directory.course_id, pack.name)
    wanted = {
        (name, grade_id_of(cell) or ""): _role(cell)
        for name, book in release.items()
        for cell in book.cells
        if _role(cell) is not None
    }
    if known == wanted:
        return
    added, gone = sorted(wanted.keys() - known.keys()), sorted(known.keys() - wanted.keys())
    if known and submissions and (added or gone):
        changes = [f"{cell} is new" for _, cell in added] + [f"{cell} is gone" for _, cell in gone]
        raise NbgraderError(
            f"the graded cells of {pack.name} are not those that the gradebook has grades for "
            f"({', '.join(changes)}); undo the change, or forget the grades with `nbgrader db "
            f"assignment remove {pack.name} --force` and autograde everybody again"
        )
    save_cells(converter, pack)


_Role = tuple[bool, float | None]  # can it be commented on, and how many points does it give


def _role(cell: Any) -> _Role | None:
    """What nbgrader keeps of a cell; None when it is not graded."""
    about = cell.metadata.get("nbgrader", {})
    grade = about.get("grade") or about.get("task")
    comment = bool(about.get("solution") or about.get("task"))
    if not grade and not comment:
        return None
    return comment, float(about["points"]) if grade else None


def _known_cells(
    db_url: str, course_id: str, assignment: str
) -> tuple[dict[tuple[str, str], _Role], int]:
    """(notebook, cell) → role in the gradebook, and the number of submissions there."""
    from nbgrader.api import Gradebook, MissingEntry

    with Gradebook(db_url, course_id) as gradebook:
        try:
            found = gradebook.find_assignment(assignment)
        except MissingEntry:
            return {}, 0
        known: dict[tuple[str, str], _Role] = {}
        for notebook in found.notebooks:
            points = {cell.name: float(cell.max_score) for cell in notebook.grade_cells}
            points |= {cell.name: float(cell.max_score) for cell in notebook.task_cells}
            commented = {cell.name for cell in (*notebook.solution_cells, *notebook.task_cells)}
            for name in points.keys() | commented:
                known[notebook.name, name] = (name in commented, points.get(name))
        return known, len(found.submissions)


def _escape(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
