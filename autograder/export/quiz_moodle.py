r"""Questions as Moodle XML, for its question bank.

The structure is the one that Moodle's own `question/format/xml/format.php` reads. Texts are HTML
with formulas between \( and \), which its MathJax filter shows. Shapes become short answers
with the usual spellings, matrices a table of numerical fields (Cloze). Parameterised questions get
a category each: let the quiz pick a random question of it.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

from autograder.export import Exported, Options
from autograder.export.quiz_items import (
    Carried,
    Item,
    decimal,
    feedback,
    groups_of,
    is_chain,
    percent,
    shape_spellings,
    shares,
    tolerance,
    wrong_ones,
)
from autograder.export.quiz_texts import as_html, as_plain
from autograder.quiz import Question

LEFT_OUT = {
    "expression": "Moodle compares formulas as texts (its plug-in STACK does more)",
}
# Factors that its decimals hold exactly: MiB and above would make right answers wrong.
_UNITS = {
    "bytes": {"bytes": 1, "byte": 1, "B": 1, "KiB": 2**-10},
    "flops": {"FLOPs": 1, "FLOP": 1, "MFLOP": 1e-6, "MFLOPs": 1e-6, "GFLOP": 1e-9, "GFLOPs": 1e-9},
}


def write(course: Path, assignment: str, options: Options) -> Exported:
    """All questions of a set that Moodle can ask, in categories below the course's own."""
    carried = Carried(groups_of(course, assignment), LEFT_OUT)
    quiz = ET.Element("quiz")
    top = f"$course$/top/{assignment}"
    _category(quiz, top)
    for group in carried.groups:
        question = group.items[0].question
        if not carried.can_be(group):
            continue
        if question.type == "ordering" and not is_chain(question):
            carried.leave_out(group.id, "Moodle knows one right order only, and here are several")
            continue
        if len(group.items) > 1:
            _category(quiz, f"{top}/{group.id}")
        for item in group.items:
            _question(quiz, item, carried)
        if len(group.items) > 1:
            _category(quiz, top)
    ET.indent(quiz)
    data = ET.tostring(quiz, encoding="utf-8", xml_declaration=True)
    return carried.exported(data + b"\n")


def _category(quiz: ET.Element, name: str) -> None:
    entry = ET.SubElement(quiz, "question", type="category")
    _text(ET.SubElement(entry, "category"), name)


def _text(parent: ET.Element, text: str) -> None:
    ET.SubElement(parent, "text").text = text


def _html(parent: ET.Element, tag: str, text: str) -> None:
    _text(ET.SubElement(parent, tag, format="html"), text)


def _question(quiz: ET.Element, item: Item, carried: Carried) -> None:
    question = item.question
    kind, write_answers = _KINDS[question.type]
    entry = ET.SubElement(quiz, "question", type=kind)
    _text(ET.SubElement(entry, "name"), item.name)
    _html(entry, "questiontext", as_html(question.prompt))
    _html(entry, "generalfeedback", as_html(question.explanation))
    ET.SubElement(entry, "defaultgrade").text = f"{question.points:.7f}"
    # of several tries in Moodle's interactive mode: a third each, its own default
    ET.SubElement(entry, "penalty").text = "0.3333333"
    ET.SubElement(entry, "hidden").text = "0"
    if "<img" in as_html(question.prompt):
        carried.remark(f"{question.id}: its picture is not in the file; add it in Moodle.")
    write_answers(entry, question, carried)


def _answer(entry: ET.Element, fraction: str, text: str, said: str, format_: str) -> ET.Element:
    answer = ET.SubElement(entry, "answer", fraction=fraction, format=format_)
    _text(answer, text)
    _html(answer, "feedback", as_html(said) if said else "")
    return answer


def _choices(entry: ET.Element, question: Question, carried: Carried) -> None:
    single = question.type == "single_choice"
    ET.SubElement(entry, "single").text = "true" if single else "false"
    ET.SubElement(entry, "shuffleanswers").text = "true"
    ET.SubElement(entry, "answernumbering").text = "abc"
    weights = (
        {option.id: float(option.id == question.answer) for option in question.options}
        if single
        else shares(question)
    )
    for option in question.options:
        text = as_html(option.text, inline=True)
        _answer(entry, percent(weights[option.id]), text, feedback(option), "html")


def _number(entry: ET.Element, question: Question, carried: Carried) -> None:
    allowed = decimal(tolerance(question))
    answer = _answer(entry, "100", decimal(question.answer), "", "moodle_auto_format")
    ET.SubElement(answer, "tolerance").text = allowed
    for item in wrong_ones(question):
        answer = _answer(entry, "0", decimal(item.value), feedback(item), "moodle_auto_format")
        ET.SubElement(answer, "tolerance").text = decimal(1e-6 * abs(float(item.value)))
    if question.unit:
        units = ET.SubElement(entry, "units")
        for name, factor in _UNITS.get(question.unit, {question.unit: 1}).items():
            unit = ET.SubElement(units, "unit")
            ET.SubElement(unit, "multiplier").text = decimal(factor)
            ET.SubElement(unit, "unit_name").text = name
    if question.unit == "bytes":
        carried.remark("Moodle understands bytes and KiB; MiB and GiB count as wrong there.")
    ET.SubElement(entry, "unitgradingtype").text = "0"
    ET.SubElement(entry, "unitpenalty").text = "0.1000000"
    # 0: a unit may be typed, and converts; 3: there is none
    ET.SubElement(entry, "showunits").text = "0" if question.unit else "3"
    ET.SubElement(entry, "unitsleft").text = "0"


def _shape(entry: ET.Element, question: Question, carried: Carried) -> None:
    ET.SubElement(entry, "usecase").text = "0"
    carried.remark("Shapes are short answers there: other than the usual spellings are wrong.")
    for spelling in shape_spellings(question.answer):
        _answer(entry, "100", spelling, "", "moodle_auto_format")
    for item in wrong_ones(question):
        for spelling in shape_spellings(item.value):
            _answer(entry, "0", spelling, feedback(item), "moodle_auto_format")


def _matrix(entry: ET.Element, question: Question, carried: Carried) -> None:
    carried.remark("Matrices have a field an entry there, and a point for each: set their marks.")
    rows = [
        "".join(
            f"<td>{{1:NUMERICAL:={decimal(value)}:{decimal(tolerance(question, value))}}}</td>"
            for value in row
        )
        for row in question.answer
    ]
    text = entry.find("questiontext/text")
    grade = entry.find("defaultgrade")
    assert text is not None and grade is not None
    fields = "".join(f"<tr>{row}</tr>" for row in rows)
    text.text = f"{text.text} <table>{fields}</table>"
    entry.remove(grade)  # Moodle adds up those of the fields


def _matching(entry: ET.Element, question: Question, carried: Carried) -> None:
    ET.SubElement(entry, "shuffleanswers").text = "true"
    carried.remark("Matching gives credit for each pair there, also for guessed ones.")
    texts = {option.id: as_plain(option.text) for option in question.right}
    for option in question.options:
        pair = ET.SubElement(entry, "subquestion", format="html")
        _text(pair, as_html(option.text, inline=True))
        _text(ET.SubElement(pair, "answer"), texts[question.answer[option.id]])
    for name, text in texts.items():
        if name not in question.answer.values():  # Moodle takes an empty text for a distractor
            pair = ET.SubElement(entry, "subquestion", format="html")
            _text(pair, "")
            _text(ET.SubElement(pair, "answer"), text)


def _ordering(entry: ET.Element, question: Question, carried: Carried) -> None:
    carried.remark("Ordering needs Moodle 4.4, or its plug-in of that name.")
    for tag, text in (
        ("layouttype", "VERTICAL"),
        ("selecttype", "ALL"),
        ("selectcount", str(len(question.options))),
        ("gradingtype", "LONGEST_ORDERED_SUBSET"),
        ("showgrading", "SHOW"),
        ("numberingstyle", "none"),
    ):
        ET.SubElement(entry, tag).text = text
    texts = {option.id: as_html(option.text, inline=True) for option in question.options}
    for place, name in enumerate(question.answer, 1):
        answer = ET.SubElement(entry, "answer", fraction=f"{place}.0000000", format="html")
        _text(answer, texts[name])


_KINDS: dict[str, tuple[str, Callable[[ET.Element, Question, Carried], None]]] = {
    "single_choice": ("multichoice", _choices),
    "multiple_choice": ("multichoice", _choices),
    "number": ("numerical", _number),
    "shape": ("shortanswer", _shape),
    "matrix": ("cloze", _matrix),
    "matching": ("matching", _matching),
    "ordering": ("ordering", _ordering),
}
