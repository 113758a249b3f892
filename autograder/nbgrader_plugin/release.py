"""What nbgrader's GenerateAssignment leaves to us: the quiz's answer cells, the other files.

Run as its preprocessors, so that `nbgrader generate_assignment`, formgrader's Generate and
`autograder build` write the same folder.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbgrader.converters import GenerateAssignment
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets.config import Config

from autograder import build
from autograder.companions import companions
from autograder.nbgrader_plugin import NbgraderError, configure
from autograder.nbgrader_plugin.courses import (
    course_of,
    has_solutions,
    silent_logger,
)
from autograder.nbgrader_plugin.nodes import grade_id_of, loads
from autograder.pack import Pack, load_pack
from autograder.quiz import cells, load_quiz

STRUCTURE = os.path.join("{nbgrader_step}", "{student_id}", "{assignment_id}")

_Stamp = tuple[tuple[str, int, int], ...]


class RestoreAnswers(NbGraderPreprocessor):
    """After ClearSolutions, which empties an unmarked cell whole: `q_<id> = None` again."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Put the stub into every cell that students write in."""
        course, assignment = course_of(self), resources["nbgrader"]["assignment"]
        if has_solutions(course, assignment):
            empty = cells.empty_cells(load_quiz(course / "solutions" / assignment))
            for cell in nb.cells:
                cell.source = empty.get(grade_id_of(cell) or "", cell.source)
        return nb, resources


class AddCompanions(NbGraderPreprocessor):
    """Last: the module and the test file beside the notebook, and its bytes reproducible."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Add the files to the ones that nbgrader writes."""
        course, about = course_of(self), resources["nbgrader"]
        if about["notebook"] == about["assignment"] and has_solutions(course, about["assignment"]):
            build.normalised(nb)  # in place
            pack = load_pack(course, about["assignment"])
            files = companions(pack, load_quiz(pack.folder))
            resources.setdefault("outputs", {}).update(files)
        return nb, resources


class _Generate(GenerateAssignment):
    """Remembers what went wrong; nbgrader itself writes it into its log only."""

    fault: Exception | None = None

    def convert_single_notebook(self, notebook_filename: str) -> None:
        try:
            super().convert_single_notebook(notebook_filename)
        except Exception as fault:
            self.fault = fault
            raise


def generate(root: Path, assignment: str) -> None:
    """See `autograder.nbgrader_plugin.generate_release`."""
    if not (root / "source" / assignment / f"{assignment}.ipynb").is_file():
        raise NbgraderError(
            f"no source/{assignment}/{assignment}.ipynb in {root}; `autograder build` writes it"
        )
    config = Config()
    configure(config)
    config.CourseDirectory.root = str(root.resolve())
    config.CourseDirectory.assignment_id = assignment
    config.CourseDirectory.release_directory = "assignments"
    _run(config, database=False)


def _run(config: Config, *, database: bool) -> None:
    """GenerateAssignment as configured, quietly; NbgraderError when it fails."""
    config.GenerateAssignment.no_database = not database
    config.SaveCells.enabled = database
    config.GenerateAssignment.force = True
    directory = CourseDirectory(config=config)
    converter = _Generate(coursedir=directory, config=config, log=silent_logger())
    try:
        converter.start()
    except Exception as error:
        fault = converter.fault or error
        raise NbgraderError(
            f"source/{directory.assignment_id} could not be released: "
            f"{type(fault).__name__}: {fault}"
        ) from fault


# --- the release of a running Autograde ------------------------------------------------

_released: dict[tuple[Path, str], tuple[_Stamp, dict[str, Any]]] = {}


def released(converter: Any, pack: Pack) -> dict[str, Any]:
    """The notebooks of an assignment as students got them, by name.

    Made from source/ and solutions/ as they are now, so that neither assignments/ nor an
    entry in the gradebook has to be there, or up to date.
    """
    course, name = Path(converter.coursedir.root), pack.name
    stamp = stamp_of(course, name)
    known = _released.get((course, name))
    if known is None or known[0] != stamp:
        with _prepared_source(converter, pack) as (config, made):
            _run(config, database=False)
            books = {
                path.stem: loads(path.read_text("utf-8"))
                for path in sorted((made / name).glob("*.ipynb"))
            }
        known = _released[course, name] = (stamp, books)
    return known[1]


def save_cells(converter: Any, pack: Pack) -> None:
    """Tell the gradebook of the assignment and its cells, as generate_assignment does."""
    with _prepared_source(converter, pack) as (config, _):
        config.CourseDirectory.db_url = converter.coursedir.db_url
        config.CourseDirectory.course_id = converter.coursedir.course_id
        _run(config, database=True)


def stamp_of(course: Path, assignment: str) -> _Stamp:
    """Changes when a file does that an assignment is made from."""
    folders = (course / "solutions" / assignment, course / "source" / assignment)
    files = sorted(path for folder in folders for path in folder.glob("*") if path.is_file())
    return tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files)


@contextmanager
def _prepared_source(converter: Any, pack: Pack) -> Iterator[tuple[Config, Path]]:
    """A configuration that generates from an up-to-date source, and the folder it writes to."""
    course = Path(converter.coursedir.root)
    written = course / "source" / pack.name
    with tempfile.TemporaryDirectory(prefix="autograder-release-") as temporary:
        source, made = Path(temporary, "source"), Path(temporary, "release")
        folder = source / pack.name
        folder.mkdir(parents=True)
        for path in written.glob("*.ipynb"):
            (folder / path.name).write_bytes(path.read_bytes())
        main = f"{pack.name}.ipynb"
        notebook = build.source_notebook(pack, load_quiz(pack.folder), written / main)
        (folder / main).write_bytes(notebook)
        config = Config()
        config.merge(converter.config)  # headers and preprocessors of the instructor's own
        config.CourseDirectory.root = str(course)
        config.CourseDirectory.assignment_id = pack.name
        config.CourseDirectory.directory_structure = STRUCTURE
        config.CourseDirectory.source_directory = str(source)
        config.CourseDirectory.release_directory = str(made)
        config.CourseDirectory.student_id = "."
        config.CourseDirectory.notebook_id = "*"
        for section in (config.BaseConverter, config.GenerateAssignment):
            for hook in ("pre_convert_hook", "post_convert_hook"):
                section.pop(hook, None)  # nothing is being released
        yield config, made
