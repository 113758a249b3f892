"""Shapes of arrays: `(2, 4, 7, 7)`, also as text, with × or x between the sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.entries import Entry
from autograder.quiz.faults import Fault
from autograder.quiz.questions import Question, Verdict, sentences
from autograder.quiz.typed_text import read_text

_WRITE = 'write the sizes with commas: "(3, 1, 4, 1, 5)"'
_NAMED = re.compile(r"(torch\.)?size|(np\.|numpy\.)?shape|tuple|list", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*[,;*x]\s*|\s+", re.IGNORECASE)
_LONGEST, _DIGITS = 12, 15


class Shape:
    """`q_x = (2, 4, 7, 7)`, `"2 x 4 x 7 x 7"`"""

    FIELDS = frozenset({"wrong"})
    DRAWN = True
    NOUN = "the shape"

    def load(self, entry: Entry, question: Question) -> Question:
        """The sizes."""
        formulas = question.draws is not None
        return replace(
            question,
            answer=_sizes(entry, "answer", formulas),
            wrong=entry.wrong(lambda item: _sizes(item, "value", formulas)),
        )

    def check(self, question: Question) -> None:
        """Sizes are whole numbers, and no wrong shape is the right one."""
        for sizes in (question.answer, *(item.value for item in question.wrong)):
            for size in sizes:
                if size != int(size) or size < 0:
                    raise Fault(f"the size {size!r} is no whole number from 0 up")
        for item in question.wrong:
            if tuple(item.value) == tuple(question.answer):
                raise Fault(f"the wrong shape {self.shown(item.value)} is the right one")

    def form(self, question: Question) -> dict[str, Any]:
        """Nothing: not even how many sizes there are."""
        return {}

    def read(self, form: Mapping[str, Any], value: Any) -> tuple[int, ...]:
        """The sizes."""
        if isinstance(value, str):
            value = _split(read_text(value))
        if isinstance(value, int):
            value = [value]
        if not isinstance(value, (list, tuple)):
            raise NotAnAnswer(_WRITE)
        if len(value) > _LONGEST:
            raise NotAnAnswer(f"no shape here has more than {_LONGEST} sizes")
        return tuple(_size(item) for item in value)

    def shown(self, answer: Any) -> str:
        """“(2, 4, 7)”, as Python writes it."""
        return str(tuple(int(size) for size in answer))

    def written(self, question: Question) -> tuple[int, ...]:
        """The right answer as a student may write it."""
        return tuple(int(size) for size in question.answer)

    def judge(self, question: Question, answer: tuple[int, ...]) -> Verdict:
        """All or nothing."""
        if answer == tuple(question.answer):
            return Verdict(1.0)
        for item in question.wrong:
            if answer == tuple(item.value):
                return Verdict(0.0, sentences(item.misconception, item.hint))
        return Verdict(0.0)


def _sizes(entry: Entry, key: str, formulas: bool) -> tuple[Any, ...]:
    value = entry.value(key)
    if not isinstance(value, list):
        what = "is missing; add it" if value is None else f"is {value!r}; write it"
        entry.refuse_key(key, f"{key} {what} as a list of sizes: [2, 4, 7]")
    if len(value) > _LONGEST:
        entry.refuse_key(key, f"{key} has more than {_LONGEST} sizes")
    for size in value:
        if formulas and isinstance(size, str):
            continue
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size < 10**_DIGITS:
            entry.refuse_key(key, f"{key} holds {size!r}; write whole numbers from 0 up")
    return tuple(value)


def _split(text: str) -> list[str]:
    text = text.strip()
    start = text.find("(")
    if start > 0 and _NAMED.fullmatch(text[:start].strip()):
        text = text[start:]
    while text and (text[0], text[-1]) in (("(", ")"), ("[", "]"), ("{", "}")):
        text = text[1:-1].strip()
    text = text.removesuffix(",").strip()
    return _BETWEEN.split(text) if text else []


def _size(item: Any) -> int:
    if isinstance(item, str):
        if not (item.isascii() and item.isdigit() and len(item) <= _DIGITS):
            raise NotAnAnswer(f"“{item[:20]}” is no size; {_WRITE}")
        return int(item)
    if isinstance(item, float) and item.is_integer():
        item = int(item)
    if isinstance(item, bool) or not isinstance(item, int):
        raise NotAnAnswer(_WRITE)
    if not 0 <= item < 10**_DIGITS:
        raise NotAnAnswer("a size is a whole number from 0 up")
    return item
