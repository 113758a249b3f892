"""The preprocessors in place of Execute and SaveAutoGrades: no kernel is started."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from nbgrader import utils
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor, SaveAutoGrades
from traitlets import Bool, Float, Integer, Unicode

from autograder.grading import DEFAULT_LIMITS
from autograder.nbgrader_plugin import NbgraderError, words
from autograder.nbgrader_plugin.courses import converter_of
from autograder.nbgrader_plugin.grader import Settings
from autograder.nbgrader_plugin.nodes import grade_id_of, node
from autograder.nbgrader_plugin.preparing import Run
from autograder.result import SubmissionResult

# resources: the cells whose score stays open, and the comment on each solution cell
OPEN, COMMENTS = "autograder_open", "autograder_comments"


class ObserveAndJudge(NbGraderPreprocessor):
    """Grades a submission as `autograder grade` does, and shows the scores in its check cells."""

    allow_unsandboxed = Bool(
        False, help="Grade on a machine that cannot isolate submissions: only code you trust."
    ).tag(config=True)
    timeout = Float(DEFAULT_LIMITS.wall, help="Seconds for one case of an exercise.").tag(
        config=True
    )
    memory = Integer(DEFAULT_LIMITS.memory, help="MiB that a submission may use.").tag(config=True)
    total = Float(DEFAULT_LIMITS.total, help="Seconds for a whole submission.").tag(config=True)
    cpu = Integer(DEFAULT_LIMITS.cpu, help="Seconds of processor time for a submission.").tag(
        config=True
    )
    output = Integer(DEFAULT_LIMITS.output, help="Bytes that a submission may print.").tag(
        config=True
    )
    files = Integer(DEFAULT_LIMITS.files, help="Files that a submission may have open.").tag(
        config=True
    )
    backup = Bool(True, help="Copy the gradebook before a run first writes to it.").tag(config=True)
    explain = Bool(
        True, help="Look for the smallest failing input and the likely line of what is wrong."
    ).tag(config=True)
    seed = Unicode("", help="Draw the cases of this seed; by default a fresh one.").tag(config=True)

    @property
    def settings(self) -> Settings:
        """The configuration, for the grader."""
        names = ("memory", "total", "cpu", "output", "files")
        own = {name: getattr(self, name) for name in names}
        limits = replace(DEFAULT_LIMITS, wall=self.timeout, **own)
        return Settings(limits, self.seed or None, self.allow_unsandboxed, self.explain)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Grade, and write every check cell's outputs."""
        about = resources["nbgrader"]
        converter = converter_of(self)
        run = getattr(converter, "autograder_run", None)
        if run is None:
            raise NbgraderError(
                "the grader was not prepared; call autograder.nbgrader_plugin.configure(c) in "
                "nbgrader_config.py"
            )
        result = run.result(about["student"]) if about["notebook"] == run.name else None
        show(nb, resources, result, run)
        if result is not None:
            self._tell(result)
        return nb, resources

    def _tell(self, result: SubmissionResult) -> None:
        if result.score is None:
            self.log.error(
                "%s could not be graded through a fault of ours: scores are left open; autograde "
                "again",
                result.student,
            )
        else:
            self.log.info("%s: %g of %g points", result.student, result.score, result.max_score)


def show(nb: Any, resources: Any, result: SubmissionResult | None, run: Run) -> None:
    """Write every check cell's outputs, and into the resources what the gradebook needs.

    result: None for a notebook without exercises of ours.
    """
    shown = Shown(result, resources["nbgrader"]["notebook"])
    for number, cell in enumerate(nb.cells, 1):
        if cell.cell_type == "code" and utils.is_grade(cell) and not utils.is_solution(cell):
            shown.fill(cell, number)
    resources[OPEN], resources[COMMENTS] = shown.open, shown.comments
    if result is not None:
        nb.metadata["autograder"] = node(run.provenance(result))


class Shown:
    """A result as cells show it: outputs, comments by solution cell, and what stays open."""

    def __init__(self, result: SubmissionResult | None, notebook: str) -> None:
        self.open: set[str] = set()
        self.comments: dict[str, str] = {}
        self._cells: dict[str, tuple[str, float | None, str]] = {}
        if result is None:
            return
        # what concerns all of it is said once, where it is read first
        first = words.of_submission(result, f"{notebook}.ipynb")
        for exercise in result.exercises:
            text = _joined(first, words.of_exercise(result, exercise.name))
            self._cells[f"check_{exercise.name}"] = (exercise.name, exercise.score, text)
            first = ""
        for question in result.questions:
            text = _joined(first, words.of_question(result, question.id))
            self._cells[f"check_q_{question.id}"] = (f"q_{question.id}", question.score, text)
            first = ""
        for solution, _, text in self._cells.values():
            self.comments[solution] = words.as_comment(text)

    def fill(self, cell: Any, number: int) -> None:
        """Write a check cell's outputs: our words, then what nbgrader reads as the score."""
        grade_id = grade_id_of(cell) or ""
        cell.execution_count = number
        _, score, text = self._cells.get(grade_id, ("", None, words.NOT_OURS))
        cell.outputs = [_stream(text)]
        if score is None:
            self.open.add(grade_id)  # without an output nbgrader would give full marks
            return
        points = float(cell.metadata.nbgrader["points"])
        cell.outputs.append(_value(min(max(float(score), 0.0), points), number))


def _joined(*parts: str) -> str:
    return "\n".join(part for part in parts if part)


def _stream(text: str) -> Any:
    return node({"output_type": "stream", "name": "stdout", "text": f"{text}\n"})


def _value(score: float, number: int) -> Any:
    return node(
        {
            "output_type": "execute_result",
            "execution_count": number,
            "metadata": {},
            "data": {"text/plain": repr(score)},
        }
    )


class SaveGrades(SaveAutoGrades):
    """nbgrader's SaveAutoGrades, with scores that stay open, our comments, and one commit.

    One commit, so that a score that must stay open is never anything else, not even for a
    moment. Scores and comments given by hand are other columns, and stay.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Write the scores and comments of one notebook."""
        about = resources["nbgrader"]
        scores, comments = entries_of(nb, resources, self.log)
        with Gradebook(about["db_url"]) as gradebook:
            submitted = gradebook.find_submission_notebook(
                about["notebook"], about["assignment"], about["student"]
            )
            grades = {grade.name: grade for grade in submitted.grades}
            commented = {comment.name: comment for comment in submitted.comments}
            for name, score in scores.items():
                grade = grades[name]
                grade.auto_score = score
                grade.needs_manual_grade = grade.manual_score is not None or score is None
            for name, comment in comments.items():
                commented[name].auto_comment = comment
            gradebook.db.commit()
        return nb, resources


def entries_of(
    nb: Any, resources: Any, log: Any
) -> tuple[dict[str, float | None], dict[str, str | None]]:
    """What the gradebook gets of a notebook: by cell, automatic scores and comments.

    A score of None stays open.
    """
    still_open: set[str] = resources.get(OPEN, set())
    words_for: dict[str, str] = resources.get(COMMENTS, {})
    scores: dict[str, float | None] = {}
    comments: dict[str, str | None] = {}
    for cell in nb.cells:
        grade_id = grade_id_of(cell) or ""
        if utils.is_grade(cell):
            scores[grade_id] = None
            if grade_id not in still_open:
                scores[grade_id], _ = utils.determine_grade(cell, log)
        if utils.is_solution(cell) or utils.is_task(cell):
            comments[grade_id] = words_for.get(grade_id) or _no_response(cell)
    return scores, comments


def _no_response(cell: Any) -> str | None:
    """What nbgrader says of cells that people grade."""
    unchanged = cell.metadata.nbgrader.get("checksum") == utils.compute_checksum(cell)
    return "No response." if unchanged and not utils.is_task(cell) else None


def folder_of(converter: Any, student: str, assignment: str) -> Path:
    """Where a student's submission lies."""
    directory = converter.coursedir
    return Path(directory.format_path(directory.submitted_directory, student, assignment))
