"""Single choice and multiple choice: the author's options, the student's, and the credit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.entries import Entry, plain
from autograder.quiz.faults import Fault
from autograder.quiz.questions import Option, Question, Verdict, sentences
from autograder.quiz.typed_text import read_text


def one_of(options: Sequence[str], value: Any) -> str:
    """The option that is meant; NotAnAnswer when it is none of them."""
    if isinstance(value, str):
        for option in options:
            if plain(option) in (plain(value), plain(read_text(value).strip("\"'() []"))):
                return option
    listed = ", ".join(f'"{option}"' for option in options)
    raise NotAnAnswer(f"choose one of {listed}")


def several_of(options: Sequence[str], value: Any) -> list[str]:
    """The options of a list or of a text with commas, as often and in the order written."""
    if isinstance(value, str):
        text = read_text(value).strip("()[]{} ")
        for sign in ("->", ">", ";", "&"):
            text = text.replace(sign, ",")
        value = [part.strip("\"' ") for part in text.split(",")]
        if len(value) == 1 and " " in value[0] and not any(" " in option for option in options):
            value = value[0].split()
        value = [part for part in value if part]
    if not isinstance(value, (list, tuple, set, frozenset)):
        listed = ", ".join(options[:2])
        raise NotAnAnswer(f'write the options in quotes, with commas: "{listed}"')
    return [one_of(options, item) for item in value]


class SingleChoice:
    """`q_x = "cedar"`"""

    FIELDS = frozenset({"options"})
    DRAWN = True
    NOUN = ""

    def load(self, entry: Entry, question: Question) -> Question:
        """The options, and the id of the right one."""
        options, answer = entry.options(), entry.text("answer")
        if answer not in [option.id for option in options]:
            entry.refuse_key(
                "answer", f"the answer {answer} is none of its options; name one by its id"
            )
        return replace(question, options=options, answer=answer)

    def check(self, question: Question) -> None:
        """Options that read the same cannot be chosen between."""
        texts = [" ".join(option.text.split()) for option in question.options]
        for text in texts:
            if texts.count(text) > 1:
                raise Fault(f"two options say “{text[:60]}”; change one", by_draw=True)

    def form(self, question: Question) -> dict[str, Any]:
        """The options' ids."""
        return {"options": [option.id for option in question.shown_options]}

    def read(self, form: Mapping[str, Any], value: Any) -> str:
        """The id of an option."""
        if isinstance(value, (list, tuple)) and len(value) == 1:
            value = value[0]
        return one_of(form["options"], value)

    def shown(self, answer: str) -> str:
        """The id."""
        return answer

    def written(self, question: Question) -> str:
        """The right answer as a student may write it."""
        return str(question.answer)

    def judge(self, question: Question, answer: str) -> Verdict:
        """All or nothing."""
        if answer == question.answer:
            return Verdict(1.0)
        chosen = next(option for option in question.options if option.id == answer)
        return Verdict(0.0, sentences(chosen.misconception, chosen.hint))


class MultipleChoice:
    """`q_x = "cedar, amber"`. Credit: the right ones chosen, less the wrong ones."""

    FIELDS = frozenset({"options"})
    DRAWN = False
    NOUN = "the options"

    def load(self, entry: Entry, question: Question) -> Question:
        """The options, and the ids of the right ones: at least one, not all."""
        options, answer = entry.named_options(), entry.texts("answer")
        ids = [option.id for option in options]
        for name in answer:
            if name not in ids:
                entry.refuse_key("answer", f"the answer {name} is none of its options")
            if answer.count(name) > 1:
                entry.refuse_key("answer", f"the answer names {name} twice; take one out")
        if len(answer) == len(options):
            entry.refuse_key("answer", "every option is right; add a wrong one")
        return replace(question, options=options, answer=tuple(sorted(answer)))

    def check(self, question: Question) -> None:
        """As for a single choice."""
        SingleChoice().check(question)

    def form(self, question: Question) -> dict[str, Any]:
        """The options' ids; not how many are right."""
        return {"options": [option.id for option in question.shown_options]}

    def read(self, form: Mapping[str, Any], value: Any) -> tuple[str, ...] | None:
        """The ids that were chosen, sorted; choosing none is no answer."""
        return tuple(sorted(set(several_of(form["options"], value)))) or None

    def shown(self, answer: tuple[str, ...]) -> str:
        """“amber, cedar”."""
        return ", ".join(answer)

    def written(self, question: Question) -> str:
        """The right answer as a student may write it."""
        return ", ".join(question.answer)

    def judge(self, question: Question, answer: tuple[str, ...]) -> Verdict:
        """As `net_credit` has it; what was chosen and is wrong is named, and what is missing."""
        right = set(question.answer)
        wrong = len(question.options) - len(right)
        chosen_wrong = [o for o in question.options if o.id in answer and o.id not in right]
        missed = [o for o in question.options if o.id in right and o.id not in answer]
        credit = net_credit(len(right) - len(missed), len(chosen_wrong), len(right), wrong)
        notes = [note for option in chosen_wrong for note in _on_wrong(option)]
        if missed:
            verb = "is" if len(missed) == 1 else "are"
            notes.append(f"{_listed(missed)} {verb} right too.")
        return Verdict(credit, tuple(notes))


def net_credit(right_chosen: int, wrong_chosen: int, right: int, wrong: int) -> float:
    """right chosen / right - wrong chosen / (right or wrong, whichever are fewer), at least 0.

    With one right option of four, choosing it and one more is worth nothing; so is choosing
    all, however many are right.
    """
    return max(0.0, right_chosen / right - wrong_chosen / min(right, wrong))


def _on_wrong(option: Option) -> tuple[str, ...]:
    return sentences(f"“{option.id}” is wrong.", option.misconception, option.hint)


def _listed(options: Sequence[Option]) -> str:
    return ", ".join(f"“{option.id}”" for option in options)
