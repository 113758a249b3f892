"""Before the first submission of a run: the observer, the gradebook, and a notebook for everybody.

nbgrader passes over a student without a notebook, and fails on an assignment that its
gradebook does not know, before any preprocessor is reached. Its hooks come too late as well,
so Autograde.init_notebooks, the first thing that a run does, is wrapped.
"""

from __future__ import annotations

import functools
import glob
import os
import stat
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbgrader.converters import Autograde, NbGraderException
from nbgrader.coursedir import CourseDirectory

from autograder.files import MADE_BY_US, Unreadable
from autograder.nbgrader_plugin import NbgraderError
from autograder.nbgrader_plugin.courses import has_solutions
from autograder.nbgrader_plugin.nodes import dumps
from autograder.pack import Pack, load_pack
from autograder.quiz import Question, load_quiz
from autograder.result import SubmissionResult
from autograder.submission import Chosen, choose

OURS = "ObserveAndJudge"


@dataclass
class Run:
    """One run over a class. `grade` observes, or looks up what was graded before."""

    pack: Pack
    questions: tuple[Question, ...]
    release: dict[str, Any] = field(repr=False)
    folder: Callable[[str], Path]
    grade: Callable[[str, Path], SubmissionResult]
    seed: str | None

    @property
    def name(self) -> str:
        """The assignment, and the notebook that holds its exercises."""
        return self.pack.name

    def result(self, student: str) -> SubmissionResult:
        """A student's result."""
        return self.grade(student, self.folder(student))

    def provenance(self, result: SubmissionResult) -> dict[str, Any]:
        """What it takes to repeat a result; kept in the autograded notebook."""
        found = {"file": result.file, "sha256": result.sha256, "isolation": result.isolation}
        return found | ({"seed": self.seed} if self.seed is not None else {})

    def chosen(self, folder: Path) -> tuple[Chosen | None, tuple[str, ...]]:
        """The file of a folder that counts, and what its student should know about that."""
        variables = [question.variable for question in self.questions]
        try:
            chosen = choose(folder, self.name, self.pack.exercises, variables)
        except Unreadable as problem:
            return None, (str(problem),)
        return chosen, chosen.messages

    def shown(self, path: Path, read_before: bool = False) -> Any:
        """The notebook that goes to autograded/: the student's own if it can be read.

        read_before: whether the grader could read the submission. What it takes to find that out
        is left out then, where it is not needed otherwise.
        """
        from autograder.nbgrader_plugin import cells, reading

        release = self.release.get(path.stem)
        if release is None:
            raise NbgraderError(f"{path.name} is not a notebook of {self.name}")
        if path.stem != self.name:
            return cells.restored(reading.read_notebook(path), release, cells.written_in(None))

        @functools.cache
        def chosen() -> tuple[Chosen | None, tuple[str, ...]]:
            return self.chosen(path.parent)

        def written(name: str) -> str | None:
            found, _ = chosen()
            return cells.written_in(found.submission if found else None)(name)

        if not reading.made_by_us(path) and (read_before or chosen()[0] is not None):
            try:
                return cells.restored(reading.read_notebook(path), release, written)
            except Unreadable:
                pass
        found, messages = chosen()
        book = cells.stand_in(release, found.submission if found else None, messages)
        book.metadata.pop(MADE_BY_US)  # a student who gets it back may hand it in again
        return book


def patch_autograde() -> None:
    """Have every Autograde that is configured with ObserveAndJudge prepared; others are not."""
    theirs = Autograde.init_notebooks
    if hasattr(theirs, "autograder_patch"):
        return

    @functools.wraps(theirs)
    def init_notebooks(self: Any) -> None:
        self.autograder_run = _prepared(self) if _uses_ours(self) else None
        theirs(self)

    init_notebooks.autograder_patch = True  # type: ignore[attr-defined]
    Autograde.init_notebooks = init_notebooks
    _patch_init_assignment()
    _patch_timestamps()


def _patch_init_assignment() -> None:
    """nbgrader copies what lies in a submission, and follows links that a student made."""
    theirs = Autograde.init_assignment

    @functools.wraps(theirs)
    def init_assignment(self: Any, assignment_id: str, student_id: str) -> None:
        if not _uses_ours(self):
            theirs(self, assignment_id, student_id)
            return
        before = self.coursedir.ignore
        folder = Path(self._format_source(assignment_id, student_id))
        self.coursedir.ignore = [*before, *not_to_be_copied(folder)]
        try:
            theirs(self, assignment_id, student_id)
        finally:
            self.coursedir.ignore = before

    Autograde.init_assignment = init_assignment


def _patch_timestamps() -> None:
    """A student's timestamp.txt that holds no time ends nbgrader's run, and formgrader's list."""
    theirs = CourseDirectory.get_existing_timestamp

    @functools.wraps(theirs)
    def get_existing_timestamp(self: Any, dest_path: str) -> Any:
        try:
            return theirs(self, dest_path)
        except Exception as problem:
            self.log.warning(
                "timestamp.txt in %s is no time and is ignored (%s)", dest_path, problem
            )
            return None

    CourseDirectory.get_existing_timestamp = get_existing_timestamp


def not_to_be_copied(folder: Path) -> list[str]:
    """Names below a student's folder that are no files or folders that can be read, as patterns.

    nbgrader copies every file beside the notebook, and fails a student for a dangling link, a
    pipe, or what it may not read.
    """
    if folder.is_symlink() or folder.parent.is_symlink():
        return ["*"]
    names: list[str] = []
    for inside, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(inside, name)
            mode = os.lstat(path).st_mode
            readable = stat.S_ISREG(mode) and os.access(path, os.R_OK)
            if not (readable or stat.S_ISDIR(mode)):
                names.append(glob.escape(name))
    return names


def _uses_ours(converter: Any) -> bool:
    names = (item if isinstance(item, str) else getattr(item, "__name__", "")
             for item in converter.autograde_preprocessors)  # fmt: skip
    return any(name.rpartition(".")[2] == OURS for name in names)


def _name(converter: Any) -> str:
    return str(converter.coursedir.assignment_id)


def _prepared(converter: Any) -> Run:
    """A run that may begin; NbGraderException, which nbgrader's commands expect, if it may not."""
    try:
        return _prepare(converter)
    except NbGraderException:
        raise
    except Exception as fault:
        ours = type(fault).__module__.startswith("autograder")
        sentence = str(fault) if ours else f"{type(fault).__name__}: {fault}"
        sentence = sentence.replace(
            "give --allow-unsandboxed",
            "set c.ObserveAndJudge.allow_unsandboxed = True in nbgrader_config.py",
        )
        converter.log.error("%s", sentence)
        raise NbGraderException(sentence) from fault


def _prepare(converter: Any) -> Run:
    """A run that observes what nbgrader hands over."""
    from autograder.nbgrader_plugin.grader import grader_for
    from autograder.nbgrader_plugin.grading import ObserveAndJudge

    directory = converter.coursedir
    course, name = Path(directory.root), _name(converter)
    _expect_solutions(course, name)
    grader = grader_for(course, name, ObserveAndJudge(parent=converter).settings)
    about = grader.assignment
    run = prepare(converter, about.pack, about.questions, grader.grade, about.seed)
    for folder in glob.glob(converter._format_source(name, directory.student_id)):
        if os.path.isdir(folder):
            see_to_a_notebook(run, Path(folder), converter.log)
    return run


def prepare_for(converter: Any, results: Mapping[str, SubmissionResult], seed: str | None) -> Run:
    """A run for results that exist already, by student."""
    course, name = Path(converter.coursedir.root), _name(converter)
    _expect_solutions(course, name)
    pack = load_pack(course, name)

    def grade(student: str, folder: Path) -> SubmissionResult:
        return results[student]

    return prepare(converter, pack, load_quiz(pack.folder), grade, seed)


def prepare(
    converter: Any,
    pack: Pack,
    questions: tuple[Question, ...],
    grade: Callable[[str, Path], SubmissionResult],
    seed: str | None,
) -> Run:
    """What every run begins with: the release, and a gradebook that is copied and knows it."""
    from autograder.nbgrader_plugin import databases, gradebooks
    from autograder.nbgrader_plugin.grading import ObserveAndJudge, folder_of
    from autograder.nbgrader_plugin.release import released

    # nbgrader's own use of SQLAlchemy, three times for each new submission, and harmless
    warnings.filterwarnings("ignore", "Object of type <Submitted.* not in session")
    directory = converter.coursedir
    release = released(converter, pack)
    databases.expect_course_id(directory.db_url, directory.course_id)
    if ObserveAndJudge(parent=converter).backup:
        gradebooks.back_up(directory.db_url, Path(directory.root))
    gradebooks.register(converter, pack, release)
    return Run(
        pack=pack,
        questions=questions,
        release=release,
        folder=lambda student: folder_of(converter, student, pack.name),
        grade=grade,
        seed=seed,
    )


def _expect_solutions(course: Path, name: str) -> None:
    if not has_solutions(course, name):
        raise NbgraderError(
            f"there is no solutions/{name} in {course}, so attention-autograder cannot grade "
            f"{name}; write it, or grade {name} with nbgrader's own preprocessors by taking "
            "configure(c) out of nbgrader_config.py"
        )


def see_to_a_notebook(run: Run, folder: Path, log: Any) -> None:
    """Write the notebook that nbgrader needs where there is none, or only our last one."""
    from autograder.nbgrader_plugin import cells, reading

    path = folder / f"{run.name}.ipynb"
    if os.path.lexists(path) and not reading.made_by_us(path):
        return
    chosen, messages = run.chosen(folder)
    book = cells.stand_in(run.release[run.name], chosen.submission if chosen else None, messages)
    text = dumps(book)
    fresh = path.with_name(f".{path.name}.new")
    try:
        fresh.write_text(text, "utf-8")
        os.replace(fresh, path)
    except OSError as fault:
        log.error("%s could not be written (%s): this student is passed over", path, fault)
