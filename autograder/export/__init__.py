"""Results for other programs: one module a kind, one function `write` in each.

    data = export("csv", read_results(path, "ps1_numpy_attention"), Options())

A kind is registered in KINDS by its module. What all of them share: points are rounded once,
an infrastructure outcome has no number (never a 0), and nothing that a student has chosen
is taken by a spreadsheet for a formula (`spreadsheets`).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from autograder.result import SCHEMA, ResultDocument, decode

# kind → (its module, what it is)
KINDS = {
    "csv": ("spreadsheets", "a table for spreadsheets, a row a student"),
    "json": ("plain_json", "scores and misconceptions by student, without the feedback"),
}


class CannotExport(Exception):
    """There is nothing that could be exported so; the message says why and what to do."""


@dataclass(frozen=True)
class Options:
    """byte_order_mark: at the beginning of a CSV file, by which Excel knows that it is UTF-8."""

    byte_order_mark: bool = False


def export(kind: str, document: ResultDocument, options: Options | None = None) -> bytes:
    """A result document as a file of that kind; CannotExport when there is no such kind."""
    if kind not in KINDS:
        known = "; ".join(f"{name} ({what})" for name, (_, what) in KINDS.items())
        raise CannotExport(f"there is no export {kind}; there are: {known}")
    module = importlib.import_module(f"autograder.export.{KINDS[kind][0]}")
    data: bytes = module.write(document, options or Options())
    return data


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
    """A score in digits, rounded to cents of a point; nothing where there is none."""
    if score is None:
        return ""
    return f"{round(score, 2) + 0.0:.2f}".rstrip("0").rstrip(".")
