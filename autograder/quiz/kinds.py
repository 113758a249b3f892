"""The types of questions, by name, and what a student's side may know of a question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from autograder.quiz import templates
from autograder.quiz.choices import MultipleChoice, SingleChoice
from autograder.quiz.entries import Entry
from autograder.quiz.formula_answers import Formula
from autograder.quiz.matching import Matching
from autograder.quiz.matrices import Matrix
from autograder.quiz.numbers import Number
from autograder.quiz.ordering import Ordering
from autograder.quiz.parameterised import concrete
from autograder.quiz.questions import Question, Verdict
from autograder.quiz.shapes import Shape
from autograder.quiz.variants import Draws


class Kind(Protocol):
    """One type of question.

    FIELDS: keys of quiz.yaml beside the common ones. DRAWN: whether numbers may be drawn.
    NOUN: what an answer is, as in “I read this as the shape (2, 4)”.
    """

    FIELDS: frozenset[str]
    DRAWN: bool
    NOUN: str

    def load(self, entry: Entry, question: Question) -> Question:
        """The question with the fields of its type; AuthoringError for a mistake."""

    def check(self, question: Question) -> None:
        """Fault when the question, whose numbers are drawn by now, is a bad one."""

    def form(self, question: Question) -> dict[str, Any]:
        """What reading an answer needs to know: public."""

    def read(self, form: Mapping[str, Any], value: Any) -> Any:
        """The answer that a value means; None if it is none; NotAnAnswer with a sentence."""

    def shown(self, answer: Any) -> str:
        """An answer that was read, as it is shown."""

    def written(self, question: Question) -> Any:
        """The right answer as a literal that a student may write."""

    def judge(self, question: Question, answer: Any) -> Verdict:
        """What an answer that was read is worth."""


KINDS: Mapping[str, Kind] = {
    "single_choice": SingleChoice(),
    "multiple_choice": MultipleChoice(),
    "number": Number(),
    "shape": Shape(),
    "matrix": Matrix(),
    "ordering": Ordering(),
    "matching": Matching(),
    "expression": Formula(),
}


def form_of(question: Question) -> dict[str, Any]:
    """What students may know of a question; it stands in the self-check key."""
    form: dict[str, Any] = {"type": question.type, **KINDS[question.type].form(question)}
    draws = question.draws
    if draws is not None:
        form |= {"draws": draws.to_plain(), "prompt": question.prompt}
        if question.options:
            form["texts"] = [
                [option.text for option in concrete(question, values).shown_options]
                for values in draws.admitted_ones
            ]
    return form


def read_answer(form: Mapping[str, Any], value: Any) -> Any:
    """An answer as it is understood, or None when it was left open.

    Raises NotAnAnswer with a sentence when it has not the form of the question.
    """
    if hasattr(value, "tolist") and not isinstance(value, str):
        value = value.tolist()  # of NumPy or PyTorch, in a kernel
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, (list, dict, set)) and not value and form["type"] != "shape":
        return None
    return KINDS[form["type"]].read(form, value)


def words_for(form: Mapping[str, Any], answer: Any) -> str:
    """An answer that was read: “the shape (2, 4, 7)”, “49152 bytes”."""
    kind = KINDS[form["type"]]
    shown = kind.shown(answer)
    if form.get("unit"):
        return f"{shown} {form['unit']}"
    return f"{kind.NOUN} {shown}" if kind.NOUN else f"“{shown}”"


def prompt_for(form: Mapping[str, Any], question: str, student: str) -> str:
    """The Markdown of a question with a student's own numbers, options included."""
    draws = Draws.from_plain(form["draws"])
    index = draws.index_for(question, student)
    text = templates.filled(form["prompt"], draws.values_for(question, student))
    if "texts" in form:
        place = (draws.admitted & ((1 << index) - 1)).bit_count()
        pairs = zip(form["options"], form["texts"][place], strict=True)
        text += "\n\n" + "\n".join(
            f'- `"{name}"`: {" ".join(said.split())}' for name, said in pairs
        )
    return text
