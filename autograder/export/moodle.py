"""Moodle: a table for Grades → Import → CSV, or an assignment's offline grading worksheet.

The importer finds users by id, ID number, email address or username, and ends the whole
import at the first who is not there, at a grade that is no number and at one above the
maximum (100, unless the site allows more). So only those found in the roster are written.
A `-` stands for no grade: an empty cell would become a 0 where a new grade item is made.

Identifiers are as Moodle wrote them; there is nothing else that a student has chosen.
"""

from __future__ import annotations

from autograder.export import CannotExport, Exported, Options, most, scaled
from autograder.export.rosters import (
    Column,
    Found,
    Roster,
    cell,
    exported,
    find_students,
    numbered,
    read_roster,
)
from autograder.export.spreadsheets import as_cell, raw_table
from autograder.result import ResultDocument

_WHERE = (
    "download the participants (Participants, select all, Download as CSV) or the grades "
    "(Grades, Export, Plain text file), or the assignment's grading worksheet"
)
# What the importer can map by, the surest first, with the names that other exports give them.
_MAPPED_BY = (
    ("username", "user name"),
    ("id number", "idnumber"),
    ("email address", "email"),
    ("id", "user id", "userid"),
)
_NO_GRADE = "-"
_LARGEST = 100.0  # without the site's setting `unlimitedgrades`


def write(document: ResultDocument, options: Options) -> Exported:
    """A table to import; the grading worksheet itself, filled in, when the roster is one."""
    roster = read_roster(options, "moodle", _WHERE)
    mapped = [index for names in _MAPPED_BY if (index := roster.index(*names)) is not None]
    columns = [Column(index) for index in mapped]
    identifier = roster.index("Identifier")
    if identifier is not None:
        # “Participant 77”; the folder that was downloaded is “Jane Doe_77”, by the same number
        columns.append(Column(identifier, numbered(r".*?(\d+)"), numbered(r"(?:.*_)?(\d+)")))
    found = find_students(document, roster, columns, options)
    grade, modified = roster.index("Grade"), roster.index("Last modified (grade)")
    if identifier is not None and grade is not None and modified is not None:
        return _worksheet(document, options, roster, found, grade)
    return _import(document, options, roster, found, mapped)


def _import(
    document: ResultDocument, options: Options, roster: Roster, found: Found, mapped: list[int]
) -> Exported:
    by = next(
        (
            index
            for index in (found.column.index, *mapped)
            if index in mapped and all(roster.rows[row][index].strip() for row in found.by_row)
        ),
        None,
    )
    if by is None:
        raise CannotExport(
            f"{roster.path} has no column by which Moodle could find everybody (username, ID "
            f"number, email address or id); {_WHERE}"
        )
    full = most(document, options)
    rows = [[roster.header[by], options.column or document.assignment]]
    for number, result in sorted(found.by_row.items()):
        rows.append([roster.rows[number][by], scaled(result, options) or _NO_GRADE])
    remarks = [f"map “{roster.header[by].strip()}” to Moodle's field of that name"]
    if float(full) > _LARGEST:
        remarks.append(
            f"grades go up to {full}, and Moodle ends an import at one above 100 unless the site "
            "allows unlimited grades; --out-of 100 scales them"
        )
    return exported(
        raw_table(rows, byte_order_mark=options.byte_order_mark), found, roster, *remarks
    )


def _worksheet(
    document: ResultDocument, options: Options, roster: Roster, found: Found, grade: int
) -> Exported:
    maximum = roster.index("Maximum Grade")
    # the importer reads neither, and would take another feedback or date for a change
    found_names = (roster.index(name) for name in ("Full name", "Email address"))
    names = [index for index in found_names if index is not None]
    full = float(most(document, options))
    rows = [list(roster.header)]
    for number, result in sorted(found.by_row.items()):
        row = list(roster.rows[number])
        for index in names:
            row[index] = as_cell(row[index])
        row[grade] = cell(roster, number, grade, scaled(result, options))
        rows.append(row)
    above = [] if maximum is None else [_float(roster.rows[row][maximum]) for row in found.by_row]
    if any(allowed is not None and allowed < full for allowed in above):
        raise CannotExport(
            f"the assignment's maximum grade in Moodle is below {full:g}, and Moodle refuses a "
            f"grade above it; give --out-of {min(a for a in above if a is not None):g}"
        )
    return exported(raw_table(rows, byte_order_mark=options.byte_order_mark), found, roster)


def _float(text: str) -> float | None:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None
