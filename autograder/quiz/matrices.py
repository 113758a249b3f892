"""Small matrices: `[[1, 0], [0.5, 0.5]]`, also as text with rows by line or semicolon."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.entries import Entry
from autograder.quiz.faults import Fault
from autograder.quiz.numbers import is_near, is_number, number_in, number_text, tolerance_of
from autograder.quiz.questions import Question, Verdict, sentences
from autograder.quiz.typed_text import read_text

_WRITE = "write a list of rows: [[3, 1, 4], [1, 5, 9]]"
_ROW = re.compile(r"[\[(]([^\[\]()]*)[\])]")
MOST_ROWS = 32


class Matrix:
    """`q_x = [[1, 0], [0.5, 0.5]]`"""

    FIELDS = frozenset({"tolerance", "wrong"})
    DRAWN = True
    NOUN = "the matrix"

    def load(self, entry: Entry, question: Question) -> Question:
        """The rows, and how near each entry must come."""
        formulas = question.draws is not None
        return replace(
            question,
            answer=_rows(entry, "answer", formulas),
            wrong=entry.wrong(lambda item: _rows(item, "value", formulas)),
            absolute=tolerance_of(entry, "absolute"),
            relative=tolerance_of(entry, "relative"),
        )

    def check(self, question: Question) -> None:
        """Entries are numbers, and no wrong matrix counts as right."""
        for rows in (question.answer, *(item.value for item in question.wrong)):
            if not all(is_number(entry) for row in rows for entry in row):
                raise Fault("an entry is no finite number")
        for item in question.wrong:
            if _is_same(question, item.value, question.answer):
                raise Fault(f"the wrong matrix {self.shown(item.value)} counts as right")

    def form(self, question: Question) -> dict[str, Any]:
        """Nothing: not even the size."""
        return {}

    def read(self, form: Mapping[str, Any], value: Any) -> tuple[tuple[Any, ...], ...]:
        """The rows, all of the same length."""
        if isinstance(value, str):
            value = _split(value)
        if not isinstance(value, (list, tuple)) or not value:
            raise NotAnAnswer(_WRITE)
        if not all(isinstance(row, (list, tuple)) for row in value):
            value = [value]  # a single row
        if len(value) > MOST_ROWS or any(len(row) > MOST_ROWS for row in value):
            raise NotAnAnswer(f"no matrix here has more than {MOST_ROWS} rows or columns")
        rows = tuple(tuple(number_in("", entry) for entry in row) for row in value)
        lengths = {len(row) for row in rows}
        if lengths == {0} or len(lengths) > 1:
            raise NotAnAnswer(f"the rows differ in length; {_WRITE}")
        return rows

    def shown(self, answer: Any) -> str:
        """“[[1, 0], [0.5, 0.5]]”."""
        rows = (f"[{', '.join(number_text(entry) for entry in row)}]" for row in answer)
        return f"[{', '.join(rows)}]"

    def written(self, question: Question) -> list[list[Any]]:
        """The right answer as a student may write it."""
        return [list(row) for row in question.answer]

    def judge(self, question: Question, answer: Any) -> Verdict:
        """All or nothing."""
        if _is_same(question, answer, question.answer):
            return Verdict(1.0)
        for item in question.wrong:
            if _is_same(question, answer, item.value):
                return Verdict(0.0, sentences(item.misconception, item.hint))
        rows, columns = len(question.answer), len(question.answer[0])
        if (len(answer), len(answer[0])) != (rows, columns):
            return Verdict(0.0, (f"It has {rows} rows and {columns} columns.",))
        right = sum(
            is_near(question, mine, theirs)
            for row, wanted in zip(answer, question.answer, strict=True)
            for mine, theirs in zip(row, wanted, strict=True)
        )
        return Verdict(0.0, (f"{right} of its {rows * columns} entries are right.",))


def _is_same(question: Question, one: Any, other: Any) -> bool:
    if [len(row) for row in one] != [len(row) for row in other]:
        return False
    return all(
        is_near(question, mine, theirs)
        for row, wanted in zip(one, other, strict=True)
        for mine, theirs in zip(row, wanted, strict=True)
    )


def _rows(entry: Entry, key: str, formulas: bool) -> tuple[tuple[Any, ...], ...]:
    value = entry.value(key)
    rows = value if isinstance(value, list) else []
    if not rows or not all(isinstance(row, list) and row for row in rows):
        what = "is missing; add it" if value is None else f"is {value!r}; write it"
        entry.refuse_key(key, f"{key} {what} as a list of rows: [[1, 0], [0.5, 0.5]]")
    if len({len(row) for row in rows}) > 1:
        entry.refuse_key(key, f"the rows of {key} differ in length; write as many in each")
    if max(len(rows), len(rows[0])) > MOST_ROWS:
        entry.refuse_key(key, f"{key} has more than {MOST_ROWS} rows or columns")
    for item in (item for row in rows for item in row):
        if not (is_number(item) or (formulas and isinstance(item, str))):
            entry.refuse_key(key, f"{key} holds {item!r}; write finite numbers")
    return tuple(tuple(row) for row in rows)


def _split(text: str) -> list[list[str]]:
    lines = [read_text(line) for line in text.strip().splitlines()]
    joined = "\n".join(line for line in lines if line.strip())
    inner = _ROW.findall(joined)
    if len(inner) < 2 and (";" in joined or "\n" in joined):
        inner = re.split(r"[;\n]", joined)
    rows = [_entries(row) for row in inner or [joined]]
    return [row for row in rows if row]


def _entries(row: str) -> list[str]:
    row = row.strip("[](), \n")
    parts = row.split(",") if "," in row else row.split()
    return [part.strip() for part in parts]
