"""What an LMS exported of a class: read whatever its form, and our students found in it.

The file that the LMS itself exported holds what it finds a student by, in its own
spelling. Names are not unique and change; so nobody is found by name.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.export import CannotExport, Exported, Options, without_score
from autograder.export.spreadsheets import as_text
from autograder.importing import student_folder
from autograder.result import ResultDocument, SubmissionResult

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_DELIMITERS = (",", ";", "\t")


@dataclass(frozen=True)
class Roster:
    """A table as an LMS exported it: every row as long as the header."""

    path: Path
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    delimiter: str = ","
    encoding: str = "utf-8"

    def index(self, *names: str) -> int | None:
        """The column with one of these headings, the first of them that is there."""
        headings = [plain(heading) for heading in self.header]
        for name in names:
            if plain(name) in headings:
                return headings.index(plain(name))
        return None


def plain(text: str) -> str:
    """A heading or identifier without what does not count."""
    return unicodedata.normalize("NFC", text).strip().casefold()


def read_roster(options: Options, kind: str, where: str) -> Roster:
    """The file of `--roster`. where: the words for how one gets it."""
    if options.roster is None:
        raise CannotExport(f"{kind} needs --roster: {where}")
    try:
        data = options.roster.read_bytes()
    except OSError as fault:
        raise CannotExport(f"{options.roster} cannot be read ({fault.strerror}); {where}") from None
    encoding = next((name for mark, name in _MARKS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise CannotExport(
            f"{options.roster} is not UTF-8: a spreadsheet has saved it anew; {where}, and "
            "give it as it came"
        ) from None
    delimiter = max(_DELIMITERS, key=lambda each: len(next(iter(_records(text, each)), ())))
    try:
        # rows of nothing but separators stand for nothing
        records = [record for record in _records(text, delimiter) if any(record)]
    except csv.Error as fault:
        raise CannotExport(f"{options.roster} is no table ({fault}); {where}") from None
    if not records or len(records[0]) < 2:
        raise CannotExport(f"{options.roster} is no table of a class; {where}")
    header = records[0]
    rows = [(*row, *[""] * len(header))[: len(header)] for row in records[1:]]
    return Roster(options.roster, tuple(header), tuple(rows), delimiter, encoding)


def _records(text: str, delimiter: str) -> Iterable[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


# --- students --------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A column by which students may be found, and how both sides are spelled for that.

    Our students are the names of folders, so that a value is compared as such a name.
    """

    index: int
    theirs: Callable[[str], str] = student_folder
    ours: Callable[[str], str] = student_folder


@dataclass(frozen=True)
class Found:
    """Results by the row they belong to, by which column, and who has no row of their own."""

    by_row: Mapping[int, SubmissionResult]
    column: Column
    left_out: tuple[tuple[str, str], ...]


def find_students(
    document: ResultDocument, roster: Roster, columns: Sequence[Column], options: Options
) -> Found:
    """Our students in a roster, by the one column that holds most of them.

    One column for the whole class: with several, a student's number could be taken for
    somebody else's. `options.match` names it. Raises CannotExport when nobody is found.
    """
    if options.match is not None:
        chosen = roster.index(options.match)
        if chosen is None:
            raise CannotExport(
                f"{roster.path} has no column {options.match}; it has: {', '.join(roster.header)}"
            )
        columns = [next((c for c in columns if c.index == chosen), Column(chosen))]
    tried = [_found(document, roster, column) for column in columns]
    best = max(tried, key=lambda found: len(found.by_row), default=None)
    if best is None or (not best.by_row and document.submissions):
        names = ", ".join(roster.header[column.index] for column in columns)
        raise CannotExport(
            f"none of our students is in {roster.path} (looked in: {names or 'no column'}); "
            "name the column that holds the names of their folders with --match"
        )
    return best


def _found(document: ResultDocument, roster: Roster, column: Column) -> Found:
    exact: dict[str, list[int]] = {}
    folded: dict[str, list[int]] = {}
    for number, row in enumerate(roster.rows):
        key = column.theirs(as_text(row[column.index].strip()))
        if key:
            exact.setdefault(key, []).append(number)
            folded.setdefault(key.casefold(), []).append(number)
    heading = roster.header[column.index]
    rows: dict[str, int] = {}
    left_out = []
    for result in document.submissions:
        key = column.ours(result.student)
        candidates = exact.get(key) or folded.get(key.casefold()) or []
        if len(candidates) == 1:
            rows[result.student] = candidates[0]
        elif candidates:
            left_out.append((result.student, f"{len(candidates)} rows have this {heading}"))
        else:
            left_out.append((result.student, f"not in the roster's column {heading}"))
    claims = Counter(rows.values())
    by_row = {}
    for result in document.submissions:
        if result.student not in rows:
            continue
        number = rows[result.student]
        if claims[number] > 1:
            left_out.append((result.student, f"another of our students has the same {heading}"))
        else:
            by_row[number] = result
    return Found(by_row, column, tuple(left_out))


# --- the column of scores --------------------------------------------------------------


def find_title(
    roster: Roster, options: Options, assignment: str, bare: Callable[[str], str]
) -> int | None:
    """The column that holds the assignment's scores already, None where there is none.

    bare: a heading without what the LMS adds to a title. Looked for: `options.column`, else
    the assignment's name. CannotExport when several have that title.
    """
    wanted = plain(options.column or assignment)
    found = [
        number
        for number, heading in enumerate(roster.header)
        if wanted in (plain(heading), plain(bare(heading)))
    ]
    if len(found) > 1:
        headings = "; ".join(roster.header[number] for number in found)
        raise CannotExport(
            f"{roster.path} has {len(found)} columns of that title ({headings}); give one of "
            "these headings whole with --column"
        )
    return found[0] if found else None


def cell(roster: Roster, row: int, column: int | None, score: str, none: str = "") -> str:
    """What is written for a student: the score, or, without one, what stands there already.

    A fault of ours must not take away what somebody has given by hand: with an empty cell
    some of these systems delete a grade.
    """
    if score:
        return score
    return (roster.rows[row][column] if column is not None else "") or none


def exported(data: bytes, found: Found, roster: Roster, *remarks: str) -> Exported:
    """With the remarks that all of these exports have."""
    waiting = [r.student for r in found.by_row.values() if r.score is None]
    said = list(remarks)
    if waiting:
        said.append(without_score(waiting))
    said.append(
        f"{len(found.by_row)} students found by {roster.header[found.column.index].strip()}"
    )
    return Exported(data, found.left_out, tuple(said))


def numbered(pattern: str) -> Callable[[str], str]:
    """The last number of what the pattern matches; nothing of anything else."""
    known = re.compile(pattern)

    def number(text: str) -> str:
        match = known.fullmatch(text.strip())
        return match[1].lstrip("0") if match else ""

    return number
