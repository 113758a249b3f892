"""Results for other programs: one module a kind, one function `write` in each.

    exported = export("csv", read_results(path, "ps1_numpy_attention"), Options())

A kind is registered in KINDS. What all of them share: points are rounded once, an
infrastructure outcome has no number (never a 0), and nothing that a student has chosen
is taken by a spreadsheet for a formula (`spreadsheets`) where it is not what the other
program finds the student by.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from autograder.result import SCHEMA, ResultDocument, SubmissionResult, decode


@dataclass(frozen=True)
class Kind:
    """Where a kind is written, what it is, and from what.

    made_of: "results", when `write` takes a result document and Options; "course", when it
    takes the course's folder, the assignment's name and Options. with_roster: it fills in a
    file that an LMS exported, and reads the options for that.
    """

    module: str
    what: str
    made_of: Literal["results", "course"] = "results"
    with_roster: bool = False


KINDS = {
    "csv": Kind("spreadsheets", "a table for spreadsheets, a row a student"),
    "json": Kind("plain_json", "scores and misconceptions by student, without the feedback"),
    "canvas": Kind("canvas", "Canvas's gradebook", with_roster=True),
    "moodle": Kind("moodle", "grades to import, or a grading worksheet", with_roster=True),
    "brightspace": Kind("brightspace", "D2L Brightspace's gradebook", with_roster=True),
    "blackboard": Kind("blackboard", "Blackboard's Grade Center", with_roster=True),
    "gradescope": Kind("gradescope", "a results.json for each student, in a zip file"),
    "gradescope-autograder": Kind(
        "gradescope_autograder", "the autograder that Gradescope runs", made_of="course"
    ),
    "junit": Kind("junit", "JUnit XML, a suite a student"),
    "quiz-moodle": Kind(
        "quiz_moodle", "the quiz for Moodle's question bank; secret", made_of="course"
    ),
    "quiz-gift": Kind("quiz_gift", "the quiz as GIFT, a text format; secret", made_of="course"),
    "quiz-qti": Kind("quiz_qti", "the quiz as QTI 1.2, for Canvas; secret", made_of="course"),
}


class CannotExport(Exception):
    """There is nothing that could be exported so; the message says why and what to do."""


@dataclass(frozen=True)
class Options:
    """What an export can be told.

    byte_order_mark: at the beginning of a CSV file, by which Excel knows that it is UTF-8.
    roster: what the LMS exported, with its own identifiers. match: the heading of the column
    in it that holds our students' names. column: the title of the column of scores. out_of:
    the points that the LMS gives, when it is not the set's: scores are scaled to it.
    student: write this one's alone. allow_unsandboxed: for a ready autograder.
    """

    byte_order_mark: bool = False
    roster: Path | None = None
    match: str | None = None
    column: str | None = None
    out_of: float | None = None
    student: str | None = None
    allow_unsandboxed: bool = False


@dataclass(frozen=True)
class Exported:
    """A file. left_out: students of ours who are not in it, each with the reason.

    remarks: whole sentences on what one may not expect.
    """

    data: bytes
    left_out: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()


def export(kind: str, document: ResultDocument, options: Options | None = None) -> Exported:
    """A result document as a file of that kind. Raises CannotExport."""
    options = options or Options()
    known = kind_called(kind)
    _refuse_unused(kind, options)
    return _exported(_module(known).write(document, options))


def export_course(
    kind: str, course: Path, assignment: str, options: Options | None = None
) -> Exported:
    """What is made of the course itself, before there are results. Raises CannotExport."""
    options = options or Options()
    known = kind_called(kind)
    _refuse_unused(kind, options)
    return _exported(_module(known).write(course, assignment, options))


def kind_called(kind: str) -> Kind:
    """The kind of that name; CannotExport when there is none."""
    if kind not in KINDS:
        listed = "; ".join(f"{name} ({known.what})" for name, known in KINDS.items())
        raise CannotExport(f"there is no export {kind}; there are: {listed}")
    return KINDS[kind]


def _module(kind: Kind) -> Any:
    return importlib.import_module(f"autograder.export.{kind.module}")


def _exported(found: bytes | Exported) -> Exported:
    return Exported(found) if isinstance(found, bytes) else found


def _refuse_unused(kind: str, options: Options) -> None:
    """An option that would do nothing was meant to do something."""
    with_roster = [name for name, each in KINDS.items() if each.with_roster]
    meant_for = dict.fromkeys(("roster", "match", "column", "out_of"), with_roster)
    meant_for |= {"student": ["gradescope"], "allow_unsandboxed": ["gradescope-autograder"]}
    for name, kinds in meant_for.items():
        if getattr(options, name) not in (None, False) and kind not in kinds:
            raise CannotExport(
                f"{kind} takes no --{name.replace('_', '-')}; leave it out (it is for: "
                f"{', '.join(kinds)})"
            )


def read_results(path: Path, assignment: str) -> ResultDocument:
    """The result document of an assignment, as `autograder grade --json` wrote it."""
    try:
        document = decode(path.read_bytes())
    except (OSError, msgspec.DecodeError) as fault:
        reason = "there is none" if isinstance(fault, FileNotFoundError) else str(fault)
        raise CannotExport(
            f"{path} is no result document ({reason}); make one with autograder grade "
            f"{assignment} --json {path}"
        ) from fault
    if document.schema != SCHEMA:
        raise CannotExport(
            f"{path} has schema {document.schema} and this version reads {SCHEMA}; grade again"
        )
    if document.assignment != assignment:
        raise CannotExport(
            f"{path} holds results of {document.assignment}; name that set, or another file"
        )
    return document


def points(score: float | None) -> str:
    """A score in digits, rounded to cents of a point; nothing where there is none.

    Never a thousands separator (Canvas reads 1,024 as 1.024), never an exponent.
    """
    if score is None:
        return ""
    return f"{round(score, 2) + 0.0:.2f}".rstrip("0").rstrip(".")


def scaled(result: SubmissionResult, options: Options) -> str:
    """A submission's score in digits, of `options.out_of` points when given; rounded once."""
    if result.score is None or options.out_of is None or not result.max_score:
        return points(result.score)
    return points(result.score * options.out_of / result.max_score)


def most(document: ResultDocument, options: Options) -> str:
    """The points that a right submission gets, in digits."""
    if options.out_of is not None:
        return points(options.out_of)
    return points(max((each.max_score for each in document.submissions), default=0.0))


def without_score(students: list[str]) -> str:
    """A remark on those whom a fault of ours left without a score."""
    more = " …" if len(students) > 5 else ""
    return (
        f"{len(students)} without a score, through a fault of ours, got none here: "
        f"{', '.join(students[:5])}{more}"
    )
