"""The questions of a set as other programs ask them, and what they cannot ask.

A parameterised question becomes a few fixed variants, of which the LMS picks one for each
student. Formulas of an LMS, such as Moodle's `calculated` questions, have neither `where`
conditions nor //, %, min and max, and would be read by no other program.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from autograder.export import CannotExport, Exported
from autograder.quiz import Question, Wrong, load_quiz
from autograder.quiz.parameterised import concrete

# Of a parameterised question; neighbours rarely get the same one.
VARIANTS = 8

SECRET = "The file holds the answers: keep it from students."


@dataclass(frozen=True)
class Item:
    """A question with numbers in it. `name` is unique; `variants` says how many share the id."""

    name: str
    question: Question
    variants: int = 1


@dataclass(frozen=True)
class Group:
    """The variants of one question, or the question alone."""

    id: str
    items: tuple[Item, ...]


def groups_of(course: Path, assignment: str) -> list[Group]:
    """All questions of a set. CannotExport when it has none."""
    folder = course / "solutions" / assignment
    if not folder.is_dir():
        raise CannotExport(f"there is no {folder}; name a problem set of the course")
    questions = load_quiz(folder)
    if not questions:
        raise CannotExport(f"{assignment} has no quiz; write {folder / 'quiz.yaml'}")
    return [Group(each.id, tuple(_variants(each, assignment))) for each in questions]


def _variants(question: Question, assignment: str) -> Iterator[Item]:
    if question.draws is None:
        yield Item(question.id, question)
        return
    admitted = list(question.draws.admitted_ones)
    # seeded by the names, so that an export is the same each time
    chosen = random.Random(f"{assignment}/{question.id}").sample(
        range(len(admitted)), min(VARIANTS, len(admitted))
    )
    for number, place in enumerate(sorted(chosen), 1):
        name = f"{question.id} {number}"
        yield Item(name, concrete(question, admitted[place]), len(chosen))


class Carried:
    """What was exported and what was not, collected while questions are written.

    types: those that the format has; others are left out with the reason.
    """

    def __init__(self, groups: Sequence[Group], types: dict[str, str]) -> None:
        self.groups = groups
        self._types = types
        self._left_out: dict[str, str] = {}
        self._remarks: dict[str, None] = {SECRET: None}

    def can_be(self, group: Group) -> bool:
        """Whether the format has the type of a question; says so if not."""
        reason = self._types.get(group.items[0].question.type)
        if reason:
            self.leave_out(group.id, reason)
        return not reason

    def leave_out(self, name: str, reason: str) -> None:
        """Say of a question that it is not in the file."""
        self._left_out.setdefault(name, reason)

    def remark(self, sentence: str) -> None:
        """Say what is not as it was; once."""
        self._remarks[sentence] = None

    def exported(self, data: bytes) -> Exported:
        """The file, with all that was said."""
        if len(self._left_out) == len(self.groups):
            reasons = "; ".join(dict.fromkeys(self._left_out.values()))
            raise CannotExport(f"no question can be exported so ({reasons}); choose another kind")
        variants = [
            group.id
            for group in self.groups
            if len(group.items) > 1 and group.id not in self._left_out
        ]
        if variants:
            self.remark(
                f"{', '.join(variants)}: numbers drawn for each student are up to {VARIANTS} "
                "fixed variants there, of which the program is to pick one."
            )
        return Exported(data, tuple(self._left_out.items()), tuple(self._remarks))


# --- what the formats share --------------------------------------------------------------


def decimal(value: Any) -> str:
    """A number in digits, without an exponent."""
    if isinstance(value, int):
        return str(value)
    text = format(Decimal(repr(float(value))), "f")
    return text.removesuffix(".0") if "." in text else text


def tolerance(question: Question, value: Any = None) -> float:
    """How far an answer may be off: what `quiz.numbers` allows, as one absolute number.

    value: of an entry, where the answer is a matrix.
    """
    wanted = abs(float(Fraction(question.answer if value is None else value)))
    allowed = max(question.absolute, question.relative * wanted)
    if question.significant and wanted:
        last = math.floor(math.log10(wanted)) - question.significant + 1
        allowed = max(allowed, 0.5 * 10.0**last)
    # digits that only rounding brought in
    return float(f"{allowed:.12g}")


def percent(share: float) -> str:
    """A share as Moodle lists the ones that it knows: 33.33333, 50, -25."""
    return f"{100 * share:.5f}".rstrip("0").rstrip(".")


def shares(question: Question) -> dict[str, float]:
    """Option → its part of the points, in a question with several right ones.

    Net-correct credit, as `quiz.choices` gives it: all right ones together make 1, and as many
    wrong ones take it away again.
    """
    right = len(question.answer)
    fewer = min(right, len(question.options) - right)
    return {
        option.id: 1 / right if option.id in question.answer else -1 / fewer
        for option in question.options
    }


def shape_spellings(sizes: Sequence[int]) -> list[str]:
    """The ways in which most people write a shape, for programs that compare texts."""
    parts = [str(size) for size in sizes]
    if len(parts) < 2:
        inner = "".join(parts)
        return [f"({inner},)", f"({inner})", f"[{inner}]", inner] if parts else ["()", "[]"]
    found = []
    for between in (", ", ","):
        inner = between.join(parts)
        found += [f"({inner})", inner, f"[{inner}]"]
    return found + [between.join(parts) for between in (" x ", "x", " × ", "×")]


def feedback(wrong: Any) -> str:
    """What the author says of a wrong option or answer, in Markdown."""
    return " ".join(part.strip() for part in (wrong.misconception, wrong.hint) if part.strip())


def wrong_ones(question: Question) -> tuple[Wrong, ...]:
    """Known wrong answers that there is something to say of."""
    return tuple(item for item in question.wrong if feedback(item))


def is_chain(question: Question) -> bool:
    """Whether an ordering has one right order alone."""
    pairs = set(question.constraints)
    return all(pair in pairs for pair in zip(question.answer, question.answer[1:], strict=False))
