"""A CSV file: a row a student, a column an exercise and a question.

UTF-8, comma, lines end with CR LF, as RFC 4180 has it. A spreadsheet takes a cell for a
formula by its first character, also in quotes. Such a text gets an apostrophe in front, which
spreadsheets do not show; one that began like that already gets one more, so that `as_text`
can undo it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from autograder.export import Options, points
from autograder.result import ResultDocument, SubmissionResult

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# The last four are = + - @ as East Asian keyboards write them, which some programs read too.
# White space in front of them is dropped by some programs before they look.
_FORMULA = re.compile(r"[\s']*[=+\-@\uff1d\uff0b\uff0d\uff20]|'*[\t\r\n]")

ABOUT = ("student", "outcome", "score", "max_score")
MORE = ("misconceptions", "messages", "file", "isolation")


def as_cell(text: str) -> str:
    """A text that no spreadsheet takes for a formula. NUL, which no CSV can hold, is replaced."""
    text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    text = text.encode("utf-8", "replace").decode("utf-8")  # half of a pair of surrogates
    return f"'{text}" if _FORMULA.match(text) else text


def as_text(cell: str) -> str:
    """What `as_cell` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def write(document: ResultDocument, options: Options) -> bytes:
    """The table of a class. No score where the outcome is `infrastructure`: blank, not 0."""
    exercises = _names([result.name for result in s.exercises] for s in document.submissions)
    questions = _names([result.id for result in s.questions] for s in document.submissions)
    header = [*ABOUT, *exercises, *(f"q_{name}" for name in questions), *MORE]
    return table(
        [header, *(_row(result, exercises, questions) for result in document.submissions)],
        byte_order_mark=options.byte_order_mark,
    )


def table(rows: Iterable[Sequence[str]], *, byte_order_mark: bool = False) -> bytes:
    """Rows of texts, and of numbers from 0 up in digits, as CSV; no text is a formula."""
    spelled = ([as_cell(cell) for cell in row] for row in rows)
    return raw_table(spelled, byte_order_mark=byte_order_mark)


def raw_table(
    rows: Iterable[Sequence[str]],
    *,
    delimiter: str = ",",
    quote_all: bool = False,
    encoding: str = "utf-8",
    byte_order_mark: bool = False,
) -> bytes:
    """Rows as CSV with every cell as it is, for a program that knows what it wrote.

    encoding: "utf-8", or one that brings its own mark ("utf-8-sig", "utf-16").
    """
    text = io.StringIO(newline="")
    quoting: Literal[0, 1] = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\r\n", quoting=quoting)
    writer.writerows(rows)
    mark = BYTE_ORDER_MARK if byte_order_mark and encoding == "utf-8" else b""
    return mark + text.getvalue().encode(encoding)


def _names(lists: Iterable[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))


def _row(result: SubmissionResult, exercises: Sequence[str], questions: Sequence[str]) -> list[str]:
    earned = {each.name: points(each.score) for each in result.exercises}
    answered = {each.id: points(each.score) for each in result.questions}
    named = [
        f"{each.name}: {', '.join(each.misconceptions)}"
        for each in result.exercises
        if each.misconceptions
    ]
    return [
        result.student,
        result.outcome,
        points(result.score),
        points(result.max_score),
        *(earned.get(name, "") for name in exercises),
        *(answered.get(name, "") for name in questions),
        "; ".join(named),
        "; ".join(result.messages),
        result.file or "",
        result.isolation,
    ]
