"""Blackboard's Grade Center: Username, and a column whose heading ends with its id.

`Quiz 1 [Total Pts: 10 Score] |23456`: without the id, Blackboard makes a new column of
text, which counts for nothing. So the column is made there first, and found in the roster.
The file has the form of the one that was downloaded: UTF-16 with tabs, or commas.
"""

from __future__ import annotations

import re

from autograder.export import CannotExport, Exported, Options, most, scaled
from autograder.export.rosters import (
    Column,
    cell,
    exported,
    find_students,
    find_title,
    read_roster,
)
from autograder.export.spreadsheets import raw_table
from autograder.result import ResultDocument

_WHERE = "download the grades there (Grade Center, Work Offline, Download, Full Grade Center)"
_COLUMN = re.compile(
    r"(?P<title>.*?)\s*(?:\[Total Pts: (?:up to )?(?P<points>[\d.,]+)[^\]]*\]\s*)?\|\s*\d+",
    re.DOTALL,
)


def write(document: ResultDocument, options: Options) -> Exported:
    """A table for Grade Center → Work Offline → Upload."""
    roster = read_roster(options, "blackboard", _WHERE)
    username = roster.index("Username")
    if username is None:
        raise CannotExport(f"{roster.path} has no column Username; {_WHERE}")
    columns = [i for name in ("Username", "Student ID") if (i := roster.index(name)) is not None]
    title = find_title(roster, options, document.assignment, _bare)
    match = None if title is None else _COLUMN.fullmatch(roster.header[title].strip())
    if title is None or match is None:
        known = [heading for heading in roster.header if _COLUMN.fullmatch(heading.strip())]
        raise CannotExport(
            f"{roster.path} has no column {options.column or document.assignment} with an id; "
            "make it in Blackboard and download again, or name another with --column (there "
            f"are: {'; '.join(known) or 'none'})"
        )
    found = find_students(document, roster, [Column(i) for i in columns], options)
    rows = [[roster.header[username], roster.header[title]]]
    for number, result in sorted(found.by_row.items()):
        score = cell(roster, number, title, scaled(result, options))
        rows.append([roster.rows[number][username], score])
    remarks = []
    full, theirs = most(document, options), (match["points"] or "").replace(",", ".")
    if theirs and float(theirs) != float(full):
        remarks.append(
            f"{match['title']} has {theirs} points in Blackboard, and {full} here; give --out-of "
            f"{theirs} to scale the scores"
        )
    data = raw_table(
        rows,
        delimiter=roster.delimiter,
        quote_all=True,  # a tab or a comma in a name, and Excel's habits with long numbers
        encoding=roster.encoding,
        byte_order_mark=options.byte_order_mark,
    )
    return exported(data, found, roster, *remarks)


def _bare(heading: str) -> str:
    match = _COLUMN.fullmatch(heading.strip())
    return match["title"] if match else heading
