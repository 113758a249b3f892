"""For `autograder grade`: results that exist already into nbgrader's gradebook, and its pages."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from nbgrader import preprocessors, utils
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde, GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from traitlets.config.loader import Config, PyFileConfigLoader

from autograder.nbgrader_plugin import NbgraderError, configure, databases
from autograder.nbgrader_plugin.courses import silent_logger
from autograder.nbgrader_plugin.writing import Recorder, said_of
from autograder.result import SubmissionResult


class ClearHiddenTests(preprocessors.ClearHiddenTests):
    """Hidden tests are not shown in feedback.

    Only in the instructor's cells: nbgrader's own fails on a student who writes the
    delimiter into theirs.
    """

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        """Cut hidden tests out of a test cell."""
        if utils.is_grade(cell) and not utils.is_solution(cell):
            return super().preprocess_cell(cell, resources, cell_index)  # type: ignore[no-any-return]
        return cell, resources


class _Noting:
    """Notes what went wrong for whom; nbgrader itself writes it into its log only."""

    def __init__(self, advance: Callable[[str], None] | None = None, **options: Any) -> None:
        self._advance = advance
        self.faults: dict[str, Exception] = {}
        self.started: set[str] = set()
        super().__init__(**options)

    def init_assignment(self, assignment_id: str, student_id: str) -> None:
        self._student = student_id
        if self._advance is not None and student_id not in self.started:
            self._advance(student_id)
        self.started.add(student_id)
        try:
            super().init_assignment(assignment_id, student_id)  # type: ignore[misc]
        except Exception as fault:
            self.faults[student_id] = fault
            raise

    def convert_single_notebook(self, notebook_filename: str) -> None:
        try:
            super().convert_single_notebook(notebook_filename)  # type: ignore[misc]
        except Exception as fault:
            self.faults[self._student] = fault
            raise


class _Feedback(_Noting, GenerateFeedback):
    """Pages for those whom the gradebook knows: autograded/ may hold others, of another one."""

    def init_notebooks(self) -> None:
        super().init_notebooks()
        name = self.coursedir.assignment_id
        with Gradebook(self.coursedir.db_url, self.coursedir.course_id) as gradebook:
            graded = [entry.student.id for entry in gradebook.assignment_submissions(name)]
        wanted = {os.path.normpath(self._format_source(name, student)) for student in graded}
        for folder in list(self.assignments):
            if os.path.normpath(folder) not in wanted:
                del self.assignments[folder]


def record(
    course: Path,
    assignment: str,
    results: Sequence[SubmissionResult],
    db_url: str | None = None,
    submitted: Path | None = None,
    backup: bool = True,
    advance: Callable[[str], None] | None = None,
    seed: str | None = None,
) -> None:
    """See `autograder.nbgrader_plugin.record`."""
    config = _configuration(course, assignment, db_url)
    config.ObserveAndJudge.backup = backup and config.ObserveAndJudge.get("backup", True)
    if submitted is not None:
        config.CourseDirectory.submitted_directory = str(submitted.resolve())
    converter = Autograde(
        coursedir=CourseDirectory(config=config), config=config, log=silent_logger()
    )
    Recorder(converter, results, seed).record(advance)


def write_feedback(
    course: Path,
    assignment: str,
    folder: Path | None = None,
    db_url: str | None = None,
    advance: Callable[[str], None] | None = None,
) -> Path:
    """See `autograder.nbgrader_plugin.write_feedback`."""
    config = _configuration(course, assignment, db_url)
    if folder is not None:
        config.CourseDirectory.feedback_directory = str(folder.resolve())
    directory = CourseDirectory(config=config)
    converter = _Feedback(advance, coursedir=directory, config=config, log=silent_logger())
    _start(converter, f"feedback was not written for {assignment}")
    return Path(directory.root, directory.feedback_directory)


def _configuration(course: Path, assignment: str, db_url: str | None) -> Config:
    """The course's own nbgrader_config.py, with what we need on top of it."""
    config = Config()
    own = course / "nbgrader_config.py"
    if own.is_file():
        try:
            config.merge(PyFileConfigLoader(own.name, path=str(course)).load_config())
        except Exception as fault:
            raise NbgraderError(f"{own} raised {type(fault).__name__}: {fault}") from fault
    configure(config)
    config.CourseDirectory.root = str(course.resolve())
    config.CourseDirectory.assignment_id = assignment
    config.CourseDirectory.student_id = "*"
    config.CourseDirectory.notebook_id = "*"
    config.BaseConverter.force = True
    if db_url is not None:
        config.CourseDirectory.db_url = _absolute(db_url)
    if "db_url" in config.CourseDirectory:
        config.CourseDirectory.db_url = databases.driver_url(config.CourseDirectory.db_url)
        databases.see_that_it_answers(config.CourseDirectory.db_url)
    return config


def _absolute(db_url: str) -> str:
    """nbgrader changes the working directory: a relative file would move with it."""
    prefix = "sqlite:///"
    if db_url.startswith(prefix) and db_url != prefix:
        return prefix + os.path.abspath(db_url.removeprefix(prefix))
    return db_url


def _start(converter: Any, what: str) -> None:
    """Run a converter; whoever it failed for is named, with the reason."""
    try:
        converter.start()
    except Exception as fault:
        said = said_of(what, converter.faults) if converter.faults else f"{what}: {fault}"
        raise NbgraderError(databases.without_password(said, converter.coursedir.db_url)) from fault
