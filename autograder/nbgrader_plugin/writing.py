"""A class that is graded already, written as nbgrader's Autograde does with our preprocessors.

What Autograde looks up, opens, parses and checks for every submission anew is done once a run;
a submission is then one notebook that is made and written once, and one transaction. The
preprocessors of the instructor's configuration, their hooks and late penalties are run as ever.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from nbgrader import utils
from nbgrader.preprocessors import AssignLatePenalties
from sqlalchemy.exc import SQLAlchemyError

from autograder.nbgrader_plugin import NbgraderError, databases, preparing
from autograder.nbgrader_plugin.folders import Fresh, Handed, share
from autograder.nbgrader_plugin.grading import ObserveAndJudge, SaveGrades, entries_of, show
from autograder.nbgrader_plugin.nodes import dumps
from autograder.nbgrader_plugin.rows import Entries, Penalty, Rows
from autograder.nbgrader_plugin.transactions import DatabaseGone, in_words
from autograder.result import SubmissionResult

SHOWN_FAULTS = 5


class Recorder:
    """Writes results into the gradebook and into autograded/.

    converter: an Autograde with the course's configuration; it is not started.
    """

    def __init__(
        self, converter: Any, results: Sequence[SubmissionResult], seed: str | None
    ) -> None:
        """seed: of the cases, for the notebooks; None where it is not known."""
        self._converter = converter
        self._directory = converter.coursedir
        self._results = {result.student: result for result in results}
        self._seed = seed
        self._assignment = str(self._directory.assignment_id)
        self._what = f"the gradebook was not written for {self._assignment}"
        self._preprocessors = _preprocessors(converter)

    def record(self, advance: Callable[[str], None] | None = None) -> None:
        """Write everybody; at the end, NbgraderError for those whom something failed for.

        When the database fails, the rest is not tried. Who was written before stays written.
        """
        faults: dict[str, Exception] = {}
        with contextlib.chdir(
            self._directory.root
        ):  # as nbgrader does, for hooks and relative URLs
            try:
                run = preparing.prepare_for(self._converter, self._results, self._seed)
                rows = Rows(
                    self._directory.db_url,
                    self._directory.course_id,
                    self._assignment,
                    self._converter.create_student,
                )
            except NbgraderError as fault:
                raise self._refused(str(fault)) from fault
            except SQLAlchemyError as fault:
                raise self._refused(in_words(fault, self._directory.db_url)) from fault
            about = Handed(self._converter, self._assignment)
            with rows:
                for written, student in enumerate(sorted(self._results)):
                    if advance is not None:
                        advance(student)
                    try:
                        self._write(run, rows, about, student)
                    except DatabaseGone as fault:
                        done = f"{written - len(faults)} of {len(self._results)} are written"
                        raise self._refused(f"{fault} ({done})") from fault
                    except Exception as fault:  # of one student, whatever they handed in
                        faults[student] = fault
            if about.groupshared:
                share_root(self._directory)
        if faults:
            raise self._refused(said_of("", faults))

    def _refused(self, reason: str) -> NbgraderError:
        said = f"{self._what}: {reason}"
        return NbgraderError(databases.without_password(said, self._directory.db_url))

    def _write(self, run: preparing.Run, rows: Rows, about: Handed, student: str) -> None:
        folder, target = self._places(student)
        if student in (self._directory.student_id_exclude or "").split(","):
            return
        if folder.is_dir():
            preparing.see_to_a_notebook(run, folder, self._converter.log)
        paths = _notebooks_in(folder)
        if not paths:
            gone = "nothing is handed in any more"
            shut = f"nbgrader needs a notebook in {folder}, which cannot be written to"
            raise NbgraderError(shut if folder.is_dir() else gone)
        self._converter.notebooks = [str(path) for path in paths]
        self._converter.run_pre_convert_hook()
        known = [path for path in paths if path.stem in rows.notebooks]
        if not known:
            raise NbgraderError(
                f"none of the notebooks is one of {self._assignment}: "
                f"{', '.join(path.name for path in paths)}"
            )
        texts: dict[str, str] = {}
        entries: dict[str, Entries] = {}
        for path in known:
            book, resources = self._processed(run, student, path)
            texts[path.name] = dumps(book)
            entries[path.stem] = Entries(*entries_of(book, resources, self._converter.log))
        with Fresh(target) as fresh:
            fresh.fill(about, folder, preparing.not_to_be_copied(folder), texts)
            penalty = self._penalty_for(student)
            rows.write(student, self._timestamp(folder), entries, penalty, fresh.put)
        self._converter.run_post_convert_hook()

    def _places(self, student: str) -> tuple[Path, Path]:
        """(what was handed in, what it becomes)."""
        directory = self._directory
        places = (directory.submitted_directory, directory.autograded_directory)
        submitted, autograded = (
            Path(directory.format_path(place, student, self._assignment)) for place in places
        )
        return submitted, autograded

    def _timestamp(self, folder: Path) -> datetime | None:
        found = self._directory.get_existing_timestamp(str(folder))
        return utils.parse_utc(found) if found else None

    def _processed(self, run: preparing.Run, student: str, path: Path) -> tuple[Any, Any]:
        """The notebook as it is shown to graders, and what the preprocessors noted beside it."""
        result = self._results[student] if path.stem == run.name else None
        readable = result is not None and result.outcome != "unreadable"
        book = run.shown(path, read_before=readable)
        about = {"student": student, "assignment": self._assignment, "notebook": path.stem}
        resources = {
            "nbgrader": {**about, "db_url": self._directory.db_url},
            "unique_key": path.stem,
            "output_files_dir": f"{path.stem}_files",
            "metadata": {"name": path.stem, "path": str(path.parent)},
        }
        for preprocessor in self._preprocessors:
            if isinstance(preprocessor, ObserveAndJudge):
                show(book, resources, result, run)
            elif not isinstance(preprocessor, (SaveGrades, AssignLatePenalties)):
                book, resources = preprocessor.preprocess(book, resources)
        return book, resources

    def _penalty_for(self, student: str) -> Penalty | None:
        """nbgrader's, from the plug-in that the course has for it."""
        found = [one for one in self._preprocessors if isinstance(one, AssignLatePenalties)]
        if not found:
            return None

        def penalty(score: float, late: float) -> float | None:
            found[0].init_plugin()
            amount = found[0].plugin_inst.late_submission_penalty(student, score, late)
            if amount is None:
                return None
            checked: float = found[0]._check_late_penalty(SimpleNamespace(score=score), amount)
            return checked

        return penalty


def said_of(what: str, faults: Mapping[str, Exception]) -> str:
    """Who could not be written, each with the reason."""
    reasons = [
        f"{student} ({fault if isinstance(fault, NbgraderError) else _named(fault)})"
        for student, fault in sorted(faults.items())
    ]
    more = f" and {len(reasons) - SHOWN_FAULTS} more" if len(reasons) > SHOWN_FAULTS else ""
    return (f"{what}: " if what else "") + "; ".join(reasons[:SHOWN_FAULTS]) + more


def _named(fault: Exception) -> str:
    # a database's own words, without the statement and all that was to be written
    return f"{type(fault).__name__}: {getattr(fault, 'orig', None) or fault}"


def share_root(directory: Any) -> None:
    """What nbgrader does to autograded/ itself for a course that a group works on."""
    root = Path(directory.format_path(directory.autograded_directory, ".", "."))
    with contextlib.suppress(PermissionError):
        share(root, below=False)


def _preprocessors(converter: Any) -> list[Any]:
    """Those of Autograde that are enabled, in order."""
    exporter = converter.exporter_class(parent=converter, config=converter.config)
    exporter._preprocessors = []
    for name in converter.autograde_preprocessors:
        exporter.register_preprocessor(name)
    return [one for one in exporter._preprocessors if getattr(one, "enabled", True)]


def _notebooks_in(folder: Path) -> list[Path]:
    """As the shell's *.ipynb, in nbgrader's order; no folder, no notebooks."""
    try:
        names = sorted(path for path in folder.iterdir() if path.suffix == ".ipynb")
    except OSError:
        return []
    return [path for path in names if not path.name.startswith(".")]
