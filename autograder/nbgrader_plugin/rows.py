"""A submission's rows in nbgrader's gradebook, read and written in one transaction.

nbgrader itself opens the gradebook ten times for a submission and commits for each of its
cells. Here one connection stays open for a class, and what was looked up of the assignment
stays known. The rows are the same: tests/e2e/test_nbgrader_rows.py compares all tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any
from uuid import uuid4

from nbgrader.api import (
    Assignment,
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    GradeCell,
    Notebook,
    SolutionCell,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    TaskCell,
)
from sqlalchemy import Connection, bindparam, func, insert, select, update

from autograder.nbgrader_plugin import NbgraderError
from autograder.nbgrader_plugin.transactions import Transaction, engine_for

# (score, seconds late) → penalty of one notebook, or None
Penalty = Callable[[float, float], float | None]


@dataclass(frozen=True)
class Entries:
    """What one notebook of a submission gets: scores and comments by the name of the cell."""

    scores: Mapping[str, float | None]
    comments: Mapping[str, str | None]


# A notebook that was not handed in.
NOTHING = Entries({}, {})


@dataclass
class _Book:
    """A notebook of the assignment: name of a cell → its id."""

    id: str
    graded: dict[str, str] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)
    commented: dict[str, str] = field(default_factory=dict)


class Rows:
    """The gradebook of one assignment, open for a class. Use as a context manager.

    Raises NbgraderError for an assignment that it does not know.
    """

    def __init__(self, db_url: str, course_id: str, assignment: str, create: bool = True) -> None:
        """create: whether students that it does not know are added."""
        for course in {course_id: None, "default_course": None}:  # nbgrader leaves both
            with Gradebook(db_url, course):
                pass
        self._db_url = db_url
        self._create = create
        self._engine = engine_for(db_url)
        self._connection = self._engine.connect()
        self._assignment, self._books = _known(self._connection, assignment)
        self._connection.rollback()  # nothing was written: others may read and write meanwhile

    @property
    def notebooks(self) -> Iterable[str]:
        """Names of the assignment's notebooks."""
        return self._books.keys()

    def __enter__(self) -> Rows:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()
        self._engine.dispose()

    def write(
        self,
        student: str,
        timestamp: datetime | None,
        entries: Mapping[str, Entries],
        penalty: Penalty | None,
        before_commit: Callable[[], None],
    ) -> None:
        """Write the rows of one submission: all of them, or none when anything raises.

        timestamp: when it was handed in, in UTC; None where that is not known, which leaves what
        is. entries: by notebook; of the others all is 0. penalty: None leaves penalties alone.
        before_commit: is called when everything is written. Raises NbgraderError when the
        database cannot be written to.
        """
        with Transaction(self._connection, self._db_url) as connection:
            self._see_to_student(connection, student)
            submission, late = self._see_to_submission(connection, student, timestamp)
            ids = self._see_to_notebooks(connection, submission)
            for name, book in self._books.items():
                given = entries.get(name, NOTHING)
                _write_grades(connection, ids[name], book, given)
                _write_comments(connection, ids[name], book, given)
                if penalty is not None and name in entries:
                    _write_penalty(connection, ids[name], late, penalty)
            before_commit()

    def _see_to_student(self, connection: Connection, student: str) -> None:
        table = Student.__table__
        if connection.scalar(select(table.c.id).where(table.c.id == student)) is not None:
            return
        if not self._create:
            raise NbgraderError(
                f"the gradebook has no student {student}; add them in formgrader, or set "
                "c.Autograde.create_student = True in nbgrader_config.py"
            )
        connection.execute(insert(table), {"id": student})

    def _see_to_submission(
        self, connection: Connection, student: str, timestamp: datetime | None
    ) -> tuple[str, float]:
        """Its id, and the seconds that it is late."""
        table = SubmittedAssignment.__table__
        is_it = (table.c.assignment_id == self._assignment, table.c.student_id == student)
        found = connection.execute(
            select(table.c.id, table.c.timestamp, table.c.extension).where(*is_it)
        ).one_or_none()
        if found is None:
            made, extension = uuid4().hex, None
            values = {"assignment_id": self._assignment, "student_id": student}
            connection.execute(insert(table), {"id": made, **values, "timestamp": timestamp})
        else:
            made, before, extension = found
            if timestamp is None:
                timestamp = before
            elif timestamp != before:
                same = update(table).where(table.c.id == made)
                connection.execute(same.values(timestamp=timestamp))
        about = Assignment.__table__
        due = connection.scalar(select(about.c.duedate).where(about.c.id == self._assignment))
        if timestamp is None or due is None:
            return made, 0.0
        if extension is not None:
            due += extension
        return made, max(0.0, (timestamp - due).total_seconds())

    def _see_to_notebooks(self, connection: Connection, submission: str) -> dict[str, str]:
        """Name of each notebook → the id of the submitted one."""
        table = SubmittedNotebook.__table__
        found = _ids(connection, table, table.c.notebook_id, table.c.assignment_id == submission)
        ids = {name: found.get(book.id, "") for name, book in self._books.items()}
        new = []
        for name, book in self._books.items():
            if not ids[name]:
                ids[name] = uuid4().hex
                about = {"assignment_id": submission, "notebook_id": book.id, "flagged": False}
                new.append({"id": ids[name], **about})
        if new:
            connection.execute(insert(table), new)
        return ids


def _known(connection: Connection, name: str) -> tuple[str, dict[str, _Book]]:
    """(id, notebooks by name) of an assignment."""
    about, books, cells = Assignment.__table__, Notebook.__table__, BaseCell.__table__
    assignment = connection.scalar(select(about.c.id).where(about.c.name == name))
    if assignment is None:
        raise NbgraderError(
            f"the gradebook has no assignment {name}; run `nbgrader generate_assignment {name}`"
        )
    found = select(books.c.name, books.c.id).where(books.c.assignment_id == assignment)
    known = {title: _Book(made) for title, made in connection.execute(found)}
    by_id = {book.id: book for book in known.values()}
    wanted = select(cells.c.notebook_id, cells.c.type, cells.c.name, cells.c.id)
    for notebook, kind, cell, made in connection.execute(
        wanted.where(cells.c.notebook_id.in_(by_id))
    ):
        book = by_id[notebook]
        if kind == GradeCell.__name__:
            book.graded[cell] = made
        elif kind == TaskCell.__name__:
            book.tasks[cell] = made
        if kind in (SolutionCell.__name__, TaskCell.__name__):
            book.commented[cell] = made
    return str(assignment), known


def _write_grades(connection: Connection, notebook: str, book: _Book, given: Entries) -> None:
    """Automatic scores; those given by hand are other columns, and stay."""
    table = Grade.__table__
    there = {
        cell: (made, manual)
        for cell, made, manual in connection.execute(
            select(table.c.cell_id, table.c.id, table.c.manual_score).where(
                table.c.notebook_id == notebook
            )
        )
    }
    handed_in = given is not NOTHING
    new, changed = [], []
    for name, cell in (*book.graded.items(), *book.tasks.items()):
        score: float | None = 0.0  # nothing was handed in
        if handed_in:
            score = None if name in book.tasks else given.scores[name]
        row, manual = there.get(cell, (None, None))
        by_hand = handed_in and (manual is not None or score is None)
        values = {"auto_score": score, "needs_manual_grade": by_hand}
        if row is None:
            new.append({"id": uuid4().hex, "notebook_id": notebook, "cell_id": cell, **values})
        elif name not in book.tasks or not handed_in:  # tasks are the graders'
            changed.append({"row": row, **values})
    if new:
        connection.execute(insert(table), new)
    if changed:
        connection.execute(_UPDATE_GRADE, changed)


def _ids(connection: Connection, table: Any, key: Any, where: Any) -> dict[str, str]:
    """The id of each row by one of its columns."""
    found = connection.execute(select(key, table.c.id).where(where))
    return {row[0]: row[1] for row in found}


def _write_comments(connection: Connection, notebook: str, book: _Book, given: Entries) -> None:
    table = Comment.__table__
    there = _ids(connection, table, table.c.cell_id, table.c.notebook_id == notebook)
    new, changed = [], []
    for name, cell in book.commented.items():
        row = there.get(cell)
        if row is None:
            about = {"notebook_id": notebook, "cell_id": cell}
            text = given.comments.get(name)
            new.append({"id": uuid4().hex, **about, "auto_comment": text})
        elif name in given.comments:
            changed.append({"row": row, "auto_comment": given.comments[name]})
    if new:
        connection.execute(insert(table), new)
    if changed:
        connection.execute(_UPDATE_COMMENT, changed)


def _write_penalty(connection: Connection, notebook: str, late: float, penalty: Penalty) -> None:
    amount = None
    if late > 0:
        grade = select(func.coalesce(func.sum(Grade.score), 0.0))
        score = connection.scalar(grade.where(Grade.notebook_id == notebook))
        amount = penalty(score, late)
    table = SubmittedNotebook.__table__
    same = update(table).where(table.c.id == notebook)
    connection.execute(same.values(late_submission_penalty=amount))


_UPDATE_GRADE = (
    update(Grade.__table__)
    .where(Grade.__table__.c.id == bindparam("row"))
    .values(auto_score=bindparam("auto_score"), needs_manual_grade=bindparam("needs_manual_grade"))
)
_UPDATE_COMMENT = (
    update(Comment.__table__)
    .where(Comment.__table__.c.id == bindparam("row"))
    .values(auto_comment=bindparam("auto_comment"))
)
