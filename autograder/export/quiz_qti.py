"""Questions as a QTI 1.2 package, for Canvas and what else imports such: written by text2qti.

text2qti is a library (of the extra `interchange`) that reads questions in a Markdown of its
own and writes the package. It has single and multiple choice, numbers and short answers; shapes
become short answers. Parameterised questions become a question group, of which one is picked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from autograder.export import CannotExport, Exported, Options
from autograder.export.quiz_items import (
    Carried,
    Group,
    Item,
    decimal,
    feedback,
    groups_of,
    shape_spellings,
    tolerance,
    wrong_ones,
)
from autograder.quiz import Question

LEFT_OUT = {
    "matrix": "QTI by text2qti has no question whose answer is a matrix",
    "expression": "QTI by text2qti compares formulas as texts",
    "ordering": "QTI by text2qti has no questions on order",
    "matching": "QTI by text2qti has no matching",
}
# text2qti's own limits: below it takes no number, and it writes that many digits behind the point
_LEAST, _DIGITS = 1e-4, 4
# By that part of the tolerance its rounding may move an end of what counts as right.
_MOVED = 0.25


def write(course: Path, assignment: str, options: Options) -> Exported:
    """All questions of a set that text2qti can carry, as a zip file."""
    carried = Carried(groups_of(course, assignment), LEFT_OUT)
    parts = [f"Quiz title: {assignment}", "Shuffle answers: true"]
    for group in carried.groups:
        if carried.can_be(group) and all(_fits(item, carried) for item in group.items):
            parts.append(_group(group, carried))
    if len(parts) == 2:
        return carried.exported(b"")  # which refuses, with the reasons
    return carried.exported(_package("\n\n".join(parts) + "\n"))


def _package(source: str) -> bytes:
    try:
        from text2qti.config import Config
        from text2qti.err import Text2qtiError
        from text2qti.qti import QTI
        from text2qti.quiz import Quiz
    except ImportError as missing:
        raise CannotExport(
            "quiz-qti needs text2qti: pip install 'attention-autograder[interchange]'"
        ) from missing
    try:
        data: bytes = QTI(Quiz(source, config=Config())).zip_bytes()
    except Text2qtiError as fault:
        last = str(fault).strip().splitlines()[-1]
        raise CannotExport(f"text2qti takes no such quiz ({last}); change that question") from fault
    return data


def _fits(item: Item, carried: Carried) -> bool:
    question = item.question
    if "![" in question.prompt:
        carried.leave_out(
            question.id, "its picture would have to lie beside text2qti; add it there"
        )
        return False
    if question.type != "number":
        return True
    low, high = _ends(question)
    if min(abs(low), abs(high)) < _LEAST:
        carried.leave_out(question.id, f"text2qti takes no number below {_LEAST:g} in size")
        return False
    ends = [round(end, _DIGITS) for end in (low, high)]
    moved = max(abs(ends[0] - low), abs(ends[1] - high))
    caught = any(ends[0] <= item.value <= ends[1] for item in question.wrong)
    if caught or moved > _MOVED * tolerance(question):
        carried.leave_out(question.id, f"text2qti writes {_DIGITS} digits behind the point only")
        return False
    return True


def _ends(question: Question) -> tuple[float, float]:
    allowed = tolerance(question)
    return float(question.answer) - allowed, float(question.answer) + allowed


def _group(group: Group, carried: Carried) -> str:
    points = group.items[0].question.points
    whole = points > 0 and (points if len(group.items) > 1 else 2 * points) % 1 == 0
    if not whole:
        carried.remark(f"{group.id}: text2qti takes no {points:g} points; it has 1 there.")
        points = 1.0
    written = [_question(item, points, carried) for item in group.items]
    if len(written) == 1:
        return written[0]
    head = f"GROUP\npick: 1\npoints per question: {points:g}"
    return "\n\n".join([head, *written, "END_GROUP"])


def _question(item: Item, points: float, carried: Carried) -> str:
    question = item.question
    return "\n".join(
        [
            f"Title: {item.name}",
            f"Points: {points:g}",
            _after("1.  ", question.prompt),
            _after("... ", question.explanation),
            *_KINDS[question.type](question, carried),
        ]
    )


def _after(mark: str, text: str) -> str:
    """A text behind a mark; its further lines are indented by as much as the first."""
    lines = text.strip().split("\n")
    return "\n".join(
        [mark + lines[0], *(" " * len(mark) + line if line.strip() else "" for line in lines[1:])]
    )


def _single(question: Question, carried: Carried) -> Iterator[str]:
    for option in question.options:
        yield _after("*a) " if option.id == question.answer else "a)  ", option.text)
        if feedback(option):
            yield _after("... ", feedback(option))


def _multiple(question: Question, carried: Carried) -> Iterator[str]:
    carried.remark("Multiple choice: credit for a part is as the program has it.")
    for option in question.options:
        yield _after("[*] " if option.id in question.answer else "[ ] ", option.text)
        if feedback(option):
            yield _after("... ", feedback(option))


def _number(question: Question, carried: Carried) -> Iterator[str]:
    if question.unit:
        carried.remark("QTI knows no units: answers are numbers in the unit of the question.")
    _without_hints(question, carried)
    allowed = tolerance(question)
    exact = isinstance(question.answer, int) and not allowed
    yield f"=   {question.answer}" if exact else f"=   {_pair(question.answer, allowed)}"


def _pair(answer: Any, allowed: float) -> str:
    return f"{decimal(answer)} +- {decimal(allowed)}"


def _shape(question: Question, carried: Carried) -> Iterator[str]:
    carried.remark("Shapes are short answers there: other than the usual spellings are wrong.")
    _without_hints(question, carried)
    yield from (f"*   {spelling}" for spelling in shape_spellings(question.answer))


def _without_hints(question: Question, carried: Carried) -> None:
    if wrong_ones(question):
        carried.remark("Known wrong numbers and shapes get no hint of their own in QTI.")


_KINDS: dict[str, Callable[[Question, Carried], Iterator[str]]] = {
    "single_choice": _single,
    "multiple_choice": _multiple,
    "number": _number,
    "shape": _shape,
}
