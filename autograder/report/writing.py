"""From results to the file of a class report."""

from __future__ import annotations

from pathlib import Path

from autograder.grading import Assignment
from autograder.journal import Journal
from autograder.report.class_report import class_report
from autograder.report.item_analysis import ItemAnalysis, analyse
from autograder.result import ResultDocument, decode
from autograder.validate import PackReport


class NoResults(Exception):
    """There is nothing to report on; the message says what to do."""


def write_report(
    course: Path,
    assignment: str,
    results: Path | None,
    page: Path,
    submitted: Path | None = None,
    quality: PackReport | None = None,
) -> ItemAnalysis:
    """Write the class report to `page`; the analysis of the quiz's questions is in it too.

    results: a result document; None: the journal of the last run without one. quality: the
    figures of the set itself. Raises NoResults, and what loading a pack raises.
    """
    document = _document(course, assignment, results)
    if document.assignment != assignment:
        raise NoResults(f"{results} holds results of {document.assignment}; name that set")
    if not document.submissions:
        raise NoResults(f"{results} holds no submissions; grade some first")
    drawn = Assignment.draw(course, assignment, document.seed)
    folder = course / "submitted" if submitted is None else submitted
    page.write_text(class_report(drawn, document, folder, quality), "utf-8")
    return analyse(document.submissions, drawn.questions)


def _document(course: Path, assignment: str, results: Path | None) -> ResultDocument:
    if results is None:
        found = Journal.beside(None, course, assignment).document()
        if found is None:
            raise NoResults(
                f"nothing of {assignment} has been graded in {course}; run autograder grade "
                f"{assignment}, or name a result document with --results"
            )
        return found
    try:
        return decode(results.read_bytes())
    except (OSError, ValueError) as problem:
        raise NoResults(
            f"{results} cannot be read as a result document ({problem}); write one with "
            f"autograder grade {assignment} --json {results}"
        ) from problem
