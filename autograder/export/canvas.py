"""Canvas's gradebook: the columns by which it knows students, and one column of scores.

What its importer does with a file (its `gradebook_importer`): it wants Student, ID and
Section, and SIS User ID only together with SIS Login ID; finds a student by ID, then by
the SIS columns; takes every comma or point in a number but the last for nothing; and sets
the points of an assignment by the row whose first cell contains “Points Possible”.

Identifiers are as Canvas wrote them. Names and sections, by which nobody is found, are
spelled so that a spreadsheet takes none for a formula.
"""

from __future__ import annotations

import re

from autograder.export import CannotExport, Exported, Options, most, scaled
from autograder.export.rosters import (
    Column,
    Roster,
    cell,
    exported,
    find_students,
    find_title,
    read_roster,
)
from autograder.export.spreadsheets import as_cell, raw_table
from autograder.result import ResultDocument

_WHERE = "export the gradebook there (Grades, Export, Export Entire Gradebook)"
_TITLE_AND_ID = re.compile(r"(.*?)\s*\(\d+\)", re.DOTALL)
_POSTING = re.compile(r"\s*(Muted|Manual Posting.*)?\s*", re.IGNORECASE)
_POINTS = "Points Possible"
_SIS = ("sis user id", "integration id", "root account")


def write(document: ResultDocument, options: Options) -> Exported:
    """The gradebook with the scores of those who have one, ready for Grades, Import."""
    roster = read_roster(options, "canvas", _WHERE)
    about = _about(roster)
    key = about[1] if roster.index("LastName") is None else about[2]
    points_row = next((row for row in roster.rows if _POINTS in row[0] and not row[key]), None)
    students = Roster(
        roster.path,
        roster.header,
        tuple(row for row in roster.rows if row is not points_row and not _is_about_posting(row)),
    )
    found = find_students(document, students, [Column(i) for i in _identifiers(roster)], options)
    title = find_title(students, options, document.assignment, _bare)
    heading = students.header[title] if title is not None else options.column or document.assignment
    full = most(document, options)
    rows = [
        [*(roster.header[i].strip("\ufeff") for i in about), heading],
        [f"    {_POINTS}", *[""] * (len(about) - 1), full],
    ]
    for number, result in sorted(found.by_row.items()):
        row = students.rows[number]
        score = cell(students, number, title, scaled(result, options))
        rows.append([*(_identity(roster.header[i], row[i]) for i in about), score])
    remarks = []
    if title is None:
        remarks.append(f"Canvas will ask what the new column {heading} is: an assignment")
    elif points_row is not None and _number(points_row[title]) not in (None, float(full or 0)):
        remarks.append(
            f"{heading} has {points_row[title].strip()} points in Canvas, and {full} here; give "
            "--out-of to scale the scores, or Canvas takes these points over"
        )
    return exported(
        raw_table(rows, byte_order_mark=options.byte_order_mark), found, roster, *remarks
    )


def _about(roster: Roster) -> list[int]:
    """The columns up to Section that Canvas wants and accepts, in their order."""
    names = [heading.strip("\ufeff ").casefold() for heading in roster.header]
    begins = names[:2] == ["student", "id"] or names[:3] == ["lastname", "firstname", "id"]
    if not begins or "section" not in names:
        raise CannotExport(
            f"{roster.path} is no gradebook of Canvas: its header begins "
            f"{', '.join(roster.header[:4])}, not Student, ID, …, Section; {_WHERE}"
        )
    columns = list(range(names.index("section") + 1))
    if "sis login id" not in names:  # SIS User ID alone makes the header invalid
        columns = [i for i in columns if names[i] not in _SIS]
    return columns


def _is_about_posting(row: tuple[str, ...]) -> bool:
    return all(_POSTING.fullmatch(value) for value in row)


def _identifiers(roster: Roster) -> list[int]:
    found = (roster.index(name) for name in ("ID", "SIS Login ID", "SIS User ID", "Integration ID"))
    return [index for index in found if index is not None]


def _identity(heading: str, value: str) -> str:
    if heading.strip().casefold().endswith(("id", "account")):
        return value
    # a student of that name would set the points of the assignment
    return as_cell(value.replace(_POINTS, "Points\N{MIDDLE DOT}Possible"))


def _bare(heading: str) -> str:
    match = _TITLE_AND_ID.fullmatch(heading.strip())
    return match[1] if match else heading


def _number(text: str) -> float | None:
    """As Canvas's importer reads it: the last comma or point is the decimal one."""
    *whole, last = re.split(r"[,.]", text.strip())
    try:
        return float(f"{''.join(whole)}.{last}" if whole else last)
    except ValueError:
        return None
