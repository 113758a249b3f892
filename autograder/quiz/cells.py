"""The cells of a quiz in the notebook: question, a student's own numbers, answer, echo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from autograder.quiz.judging import STUDENT_ID
from autograder.quiz.kinds import KINDS
from autograder.quiz.parameterised import for_student
from autograder.quiz.questions import Option, Question
from autograder.quiz.templates import with_placeholders

# Whose numbers the source notebook, which holds the right answers, is solved for.
AUTHOR = "author"

_WRITE = {
    "single_choice": "one of the options, in quotes",
    "multiple_choice": "every option that is right, in quotes, with commas between",
    "number": "a number",
    "shape": "the sizes, in brackets",
    "matrix": "a list of rows",
    "ordering": "every option once, in order, in quotes, with commas between",
    "matching": 'pairs in quotes: "left-right, left-right"',
    "expression": "a formula, in quotes",
}


class Cell(NamedTuple):
    """kind: "read-only", "solution" (the student writes in it) or "tests" (with points)."""

    grade_id: str
    cell_type: str
    source: str
    kind: str
    points: float | None = None


def quiz_cells(questions: Sequence[Question]) -> Iterator[Cell]:
    """Every cell of a quiz in its source notebook, answers included, in order."""
    if any(question.draws for question in questions):
        yield Cell(STUDENT_ID, "code", student_id_cell(AUTHOR), "solution")
    for question in questions:
        name = question.id
        yield Cell(f"question_{name}", "markdown", question_cell(question), "read-only")
        if question.draws:
            yield Cell(f"variant_{name}", "code", variant_cell(question), "read-only")
        # unmarked: RestoreAnswers of the plug-in puts the stub back after ClearSolutions
        right = KINDS[question.type].written(for_student(question, AUTHOR))
        yield Cell(question.variable, "code", f"{question.variable} = {right!r}", "solution")
        yield Cell(f"check_q_{name}", "code", echo_cell(question), "tests", question.points)


def empty_cells(questions: Sequence[Question]) -> dict[str, str]:
    """grade_id → what students find in the cells that they write in."""
    cells = {question.variable: answer_cell(question) for question in questions}
    if any(question.draws for question in questions):
        cells[STUDENT_ID] = student_id_cell()
    return cells


def student_id_cell(student: str = "") -> str:
    """The cell in which students say who they are."""
    return (
        "# Some questions have numbers of your own, drawn from your student id. Write the id\n"
        "# between the quotes, as your course knows you, and run this cell first.\n"
        f'{STUDENT_ID} = "{student}"'
    )


def question_cell(question: Question) -> str:
    """The Markdown of a question, options included; nothing tells the right one."""
    points = f"{question.points:g} point" + ("" if question.points == 1 else "s")
    lines = [f"### Question: `{question.variable}` ({points})", ""]
    if question.draws is not None:
        lines.append(with_placeholders(question.prompt, question.draws.choices))
        names = ", ".join(f"⟨{name}⟩" for name in question.draws.choices)
        shown = f"{names} and the options" if question.options else names
        lines += ["", f"*The numbers are your own: {shown} are shown below for your student id.*"]
        return "\n".join(lines)
    lines.append(question.prompt)
    if question.type == "matching":
        lines += ["", "Match each of these …", "", *_listed(question.shown_options)]
        lines += ["", "… with one of these:", "", *_listed(question.shown_right)]
    elif question.symbols:
        lines += ["", f"Write it with {', '.join(f'`{s.name}`' for s in question.symbols)}."]
    elif question.options:
        lines += ["", *_listed(question.shown_options)]
    return "\n".join(lines)


def _listed(options: Sequence[Option]) -> list[str]:
    return [f'- `"{option.id}"`: {" ".join(option.text.split())}' for option in options]


def answer_cell(question: Question) -> str:
    """The cell in which a student answers."""
    what = _WRITE[question.type]
    if question.unit:
        what += f" of {question.unit}"
    if question.symbols:
        what += f", of {', '.join(symbol.name for symbol in question.symbols)}"
    return f"{question.variable} = None  # {what}"


def variant_cell(question: Question) -> str:
    """The locked cell that shows the question with the student's own numbers."""
    return (
        "from autograder.notebook import show_question\n\n"
        f'show_question("{question.id}", {STUDENT_ID})'
    )


def echo_cell(question: Question) -> str:
    """The locked cell that says how the answer was read."""
    return f'read_back("{question.id}", {question.variable})'
