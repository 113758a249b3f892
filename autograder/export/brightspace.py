"""D2L Brightspace's gradebook: OrgDefinedId or Username, `<Item> Points Grade`, and a `#`.

Every line ends with the end-of-line indicator. Exported identifiers begin with a `#` too,
which the importer takes off; they are written as they came. Grades above the item's maximum
are capped there.
"""

from __future__ import annotations

import re

from autograder.export import CannotExport, Exported, Options, scaled
from autograder.export.rosters import (
    Column,
    cell,
    exported,
    find_students,
    find_title,
    read_roster,
)
from autograder.export.spreadsheets import raw_table
from autograder.importing import student_folder
from autograder.result import ResultDocument

_WHERE = "export the grades there (Grades, Enter Grades, Export, key field Both, Points grade)"
_POINTS = re.compile(r"(.*?)\s+Points Grade(?:\s*<.*>)?\s*", re.IGNORECASE | re.DOTALL)
_END = "End-of-Line Indicator"
_FORBIDDEN = '/"*<>+=|,%'  # in the name of a grade item


def write(document: ResultDocument, options: Options) -> Exported:
    """A table for Grades → Enter Grades → Import."""
    roster = read_roster(options, "brightspace", _WHERE)
    keys = [i for name in ("OrgDefinedId", "Username") if (i := roster.index(name)) is not None]
    if not keys:
        raise CannotExport(
            f"{roster.path} has neither a column OrgDefinedId nor Username; {_WHERE}"
        )
    found = find_students(document, roster, [Column(key, _theirs) for key in keys], options)
    title = find_title(roster, options, document.assignment, _bare)
    if title is not None:
        heading = roster.header[title]
    else:
        name = _bare(options.column or document.assignment)
        wrong = [character for character in name if character in _FORBIDDEN]
        if wrong:
            raise CannotExport(
                f"Brightspace allows no {wrong[0]} in the name of a grade item; give another "
                "--column"
            )
        heading = f"{name} Points Grade"
    rows = [[*(roster.header[key].strip() for key in keys), heading, _END]]
    for number, result in sorted(found.by_row.items()):
        score = cell(roster, number, title, scaled(result, options))
        rows.append([*(roster.rows[number][key] for key in keys), score, "#"])
    remarks = [] if title is not None else [f"Brightspace will offer to make the item {heading}"]
    return exported(
        raw_table(rows, byte_order_mark=options.byte_order_mark), found, roster, *remarks
    )


def _theirs(value: str) -> str:
    return student_folder(value.removeprefix("#"))


def _bare(heading: str) -> str:
    match = _POINTS.fullmatch(heading.strip())
    return match[1] if match else heading.strip()
