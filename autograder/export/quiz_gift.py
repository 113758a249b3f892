r"""Questions as GIFT, the text format that Moodle and several other programs read.

Texts are HTML in one line, marked [html]. What GIFT takes for itself, ~ = # { } : and \, has a
backslash in front, as Moodle's own `question/format/gift/format.php` reads and writes it. Some
other readers end the answers at the first }, escaped or not: braces are entities of HTML there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from autograder.export import Exported, Options
from autograder.export.quiz_items import (
    Carried,
    Item,
    decimal,
    feedback,
    groups_of,
    percent,
    shape_spellings,
    shares,
    tolerance,
    wrong_ones,
)
from autograder.export.quiz_texts import as_html, as_plain
from autograder.quiz import Question

LEFT_OUT = {
    "matrix": "GIFT has no question whose answer is a matrix",
    "expression": "GIFT compares formulas as texts",
    "ordering": "GIFT has no questions on order",
}
_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\~=#{}:"})


def write(course: Path, assignment: str, options: Options) -> Exported:
    """All questions of a set that GIFT can hold, in categories below the course's own."""
    carried = Carried(groups_of(course, assignment), LEFT_OUT)
    carried.remark("GIFT knows no points: each question counts as the program has it.")
    # a category's name has no escapes
    parts = [f"$CATEGORY: $course$/top/{assignment}"]
    for group in carried.groups:
        if not carried.can_be(group):
            continue
        if len(group.items) > 1:
            parts.append(f"$CATEGORY: $course$/top/{assignment}/{group.id}")
        parts += [_question(item, carried) for item in group.items]
        if len(group.items) > 1:
            parts.append(f"$CATEGORY: $course$/top/{assignment}")
    return carried.exported(("\n\n".join(parts) + "\n").encode("utf-8"))


def escaped(text: str) -> str:
    """A text of one line in which nothing is taken for GIFT's own signs."""
    return " ".join(text.translate(_SPECIAL).split("\n"))


def _question(item: Item, carried: Carried) -> str:
    question = item.question
    if "<img" in as_html(question.prompt):
        carried.remark(f"{question.id}: its picture is not in the file; add it by hand.")
    answers = list(_KINDS[question.type](question, carried))
    lines = [
        f"::{escaped(item.name)}::[html]{escaped(as_html(question.prompt))}" + "{" + answers[0],
        *(f"\t{answer}" for answer in answers[1:]),
        f"\t####{_inside(as_html(question.explanation))}",
        "}",
    ]
    return "\n".join(lines)


def _option(text: str) -> str:
    """An option; a % at its beginning would be read as a share of the points."""
    return _inside(re.sub("^%", "&#37;", as_html(text, inline=True)))


def _said(text: str) -> str:
    return f"#{_inside(as_html(text))}" if text else ""


def _inside(text: str) -> str:
    """HTML between the braces of an answer."""
    return escaped(text.replace("{", "&#123;").replace("}", "&#125;"))


# Each yields what follows the opening brace, then a line an answer.
def _single(question: Question, carried: Carried) -> Iterator[str]:
    yield ""
    for option in question.options:
        sign = "=" if option.id == question.answer else "~"
        yield f"{sign}{_option(option.text)}{_said(feedback(option))}"


def _multiple(question: Question, carried: Carried) -> Iterator[str]:
    yield ""
    for name, share in shares(question).items():
        option = next(each for each in question.options if each.id == name)
        yield f"~%{percent(share)}%{_option(option.text)}{_said(feedback(option))}"


def _number(question: Question, carried: Carried) -> Iterator[str]:
    if question.unit:
        carried.remark("GIFT knows no units: answers are numbers in the unit of the question.")
    yield "#"
    yield f"=%100%{decimal(question.answer)}:{decimal(tolerance(question))}"
    for item in wrong_ones(question):
        near = decimal(1e-6 * abs(float(item.value)))
        yield f"=%0%{decimal(item.value)}:{near}{_said(feedback(item))}"


def _shape(question: Question, carried: Carried) -> Iterator[str]:
    carried.remark("Shapes are short answers there: other than the usual spellings are wrong.")
    yield ""
    for spelling in shape_spellings(question.answer):
        yield f"=%100%{escaped(spelling)}"
    for item in wrong_ones(question):
        for spelling in shape_spellings(item.value):
            yield f"=%0%{escaped(spelling)}{_said(feedback(item))}"


def _matching(question: Question, carried: Carried) -> Iterator[str]:
    carried.remark("Matching gives credit for each pair there, also for guessed ones.")
    yield ""
    texts = {option.id: as_plain(option.text).replace("->", "→") for option in question.right}
    for option in question.options:
        yield f"={_option(option.text)} -> {escaped(texts[question.answer[option.id]])}"
    for name, text in texts.items():
        if name not in question.answer.values():
            yield f"= -> {escaped(text)}"


_KINDS: dict[str, Callable[[Question, Carried], Iterator[str]]] = {
    "single_choice": _single,
    "multiple_choice": _multiple,
    "number": _number,
    "shape": _shape,
    "matching": _matching,
}
