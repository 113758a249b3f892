"""The face that nbgrader sees: its commands, its API and formgrader, with our grader inside.

`nbgrader_config.py` of a course calls `configure(c)`. The rest is for our own commands:
`generate_release` for `autograder build`, `record` and `write_feedback` for
`autograder grade --gradebook` and `--feedback`.

nbgrader takes a second to import, so nothing of it is imported until it is needed.

| module | does |
|---|---|
| `release` | what GenerateAssignment leaves to us; the release in memory |
| `gradebooks` | backups, and assignments that the gradebook does not know yet |
| `databases` | gradebooks on a server: URLs without passwords, whether it answers, pg_dump |
| `reading`, `cells` | a student's notebook, whatever state it is in, as it is to be graded |
| `preparing` | what happens before the first submission of a run, by a patch of Autograde |
| `grader` | one drawn assignment and one sandbox, kept for a whole process |
| `grading` | the preprocessors in place of Execute and SaveAutoGrades |
| `words` | our words in check cells and comments |
| `recording` | what `autograder grade` asks of nbgrader: its gradebook, its feedback pages |
| `writing` | results that exist already, a submission at a time |
| `rows`, `transactions` | its rows in the gradebook, all of them or none |
| `folders` | its folder in autograded/, put there whole |
| `pages` | what a submission may put into formgrader and feedback |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.later import postpone

if TYPE_CHECKING:
    from autograder.result import SubmissionResult

__all__ = [
    "NbgraderError",
    "configure",
    "generate_release",
    "record",
    "see_that_gradebook_answers",
    "write_feedback",
]

postpone()

_OURS = "autograder.nbgrader_plugin"
_THEIRS = "nbgrader.preprocessors"

# Names, not classes, so that nothing is imported before it is used.
GENERATE = (
    f"{_THEIRS}.IncludeHeaderFooter",
    f"{_THEIRS}.InstantiateTests",
    f"{_THEIRS}.LockCells",
    f"{_THEIRS}.ClearSolutions",
    f"{_OURS}.release.RestoreAnswers",
    f"{_THEIRS}.ClearOutput",
    f"{_THEIRS}.CheckCellMetadata",
    f"{_THEIRS}.ComputeChecksums",
    f"{_THEIRS}.SaveCells",
    f"{_THEIRS}.ClearHiddenTests",
    f"{_THEIRS}.ClearMarkScheme",
    f"{_THEIRS}.ComputeChecksums",
    f"{_THEIRS}.CheckCellMetadata",
    f"{_OURS}.release.AddCompanions",
)
# What ClearOutput, DeduplicateIds, OverwriteKernelspec, OverwriteCells and CheckCellMetadata do
# is done on reading, from the release: they abort the batch on metadata that a student has
# changed, and take longer than the grading.
READ = f"{_OURS}.reading.SubmissionExporter"
SANITIZE: tuple[str, ...] = ()
AUTOGRADE = (
    f"{_OURS}.grading.ObserveAndJudge",
    f"{_THEIRS}.IgnorePattern",
    "nbconvert.preprocessors.ClearMetadataPreprocessor",
    f"{_THEIRS}.LimitOutput",
    f"{_OURS}.grading.SaveGrades",
    f"{_THEIRS}.AssignLatePenalties",
)
FEEDBACK = (
    f"{_THEIRS}.GetGrades",
    f"{_OURS}.recording.ClearHiddenTests",
    "nbconvert.preprocessors.CSSHTMLHeaderPreprocessor",
)


class NbgraderError(Exception):
    """nbgrader could not do what was asked; the message says why in one sentence."""


def configure(c: Any) -> None:
    """Set nbgrader up to grade with this package; called by a course's nbgrader_config.py."""
    from autograder.nbgrader_plugin import formgrader, gradebooks, pages, preparing

    c.GenerateAssignment.preprocessors = list(GENERATE)
    c.Autograde.exporter_class = READ
    c.Autograde.sanitize_preprocessors = list(SANITIZE)
    c.Autograde.autograde_preprocessors = list(AUTOGRADE)
    c.GenerateFeedback.preprocessors = list(FEEDBACK)
    pages.sanitise(c)
    gradebooks.put_alembic_on_path()
    preparing.patch_autograde()
    formgrader.patch_formgrader()
    formgrader.patch_api()


def generate_release(root: Path, assignment: str) -> None:
    """Write assignments/<assignment> from source/<assignment> in the course at `root`.

    nbgrader's own GenerateAssignment, without a gradebook. What lies there is replaced.
    """
    from autograder.nbgrader_plugin.release import generate

    generate(root, assignment)


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
    """Write results into the gradebook, with comments, and into autograded/.

    What nbgrader's Autograde writes with our preprocessors, without observing anything. db_url: by
    default the course's. submitted: where the submissions lie, by default the course's
    submitted/. backup: whether the gradebook is copied first. advance: is called with each student
    whose turn it is. seed: of the run, which the notebooks keep.
    """
    from autograder.nbgrader_plugin import recording

    recording.record(course, assignment, results, db_url, submitted, backup, advance, seed)


def see_that_gradebook_answers(db_url: str) -> None:
    """NbgraderError, in a sentence and without a password, for a server that lets nobody in."""
    from autograder.nbgrader_plugin import databases

    databases.see_that_it_answers(databases.driver_url(db_url))


def write_feedback(
    course: Path,
    assignment: str,
    folder: Path | None = None,
    db_url: str | None = None,
    advance: Callable[[str], None] | None = None,
) -> Path:
    """Write a page for everybody autograded, as nbgrader's GenerateFeedback; returns the folder.

    They lie in <student>/<assignment>/<assignment>.html in `folder`, by default feedback/.
    """
    from autograder.nbgrader_plugin import recording

    return recording.write_feedback(course, assignment, folder, db_url, advance)
