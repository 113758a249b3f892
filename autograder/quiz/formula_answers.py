"""Formulas as answers: `"n**2 * d_k"`, right however it is arranged."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autograder.exercise import AuthoringError
from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.entries import Entry
from autograder.quiz.expressions import Expression, equal, read_expression
from autograder.quiz.faults import Fault
from autograder.quiz.questions import Question, Verdict, sentences
from autograder.quiz.symbols import Symbol, read_symbols

# The points at which formulas are compared need not change from run to run.
SEED = "quiz"


class Formula:
    """`q_x = "n**2 * d_k"`"""

    FIELDS = frozenset({"symbols", "wrong"})
    DRAWN = False
    NOUN = "the formula"

    def load(self, entry: Entry, question: Question) -> Question:
        """The formula, and what stands in it."""
        return replace(
            question,
            answer=entry.text("answer"),
            symbols=_symbols(entry),
            wrong=entry.wrong(lambda item: item.text("value")),
        )

    def check(self, question: Question) -> None:
        """The formulas can be read, and no wrong one is equal to the answer."""
        answer = _read(question, question.answer)
        for item in question.wrong:
            if _equal(_read(question, item.value), answer, question):
                raise Fault(f"the wrong formula {item.value} is equal to the answer")

    def form(self, question: Question) -> dict[str, Any]:
        """The symbols' names."""
        return {"symbols": [symbol.name for symbol in question.symbols]}

    def read(self, form: Mapping[str, Any], value: Any) -> Any:
        """The formula, parsed and not evaluated."""
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise NotAnAnswer("write the formula in quotes")
        return read_expression(value, form["symbols"])

    def shown(self, answer: Any) -> str:
        """As it was understood."""
        return str(answer)

    def written(self, question: Question) -> str:
        """The right answer as a student may write it."""
        return str(question.answer)

    def judge(self, question: Question, answer: Any) -> Verdict:
        """All or nothing."""
        if equal(answer, _read(question, question.answer), question.symbols, SEED):
            return Verdict(1.0)
        for item in question.wrong:
            # that a known mistake cannot be compared with it makes no answer unreadable
            with contextlib.suppress(NotAnAnswer, AuthoringError):
                if equal(answer, _read(question, item.value), question.symbols, SEED):
                    return Verdict(0.0, sentences(item.misconception, item.hint))
        return Verdict(0.0)


def _equal(one: Expression, other: Expression, question: Question) -> bool:
    try:
        return equal(one, other, question.symbols, SEED)
    except (NotAnAnswer, AuthoringError) as problem:
        raise Fault(f"the formulas {one} and {other} cannot be compared: {problem}") from problem


def _read(question: Question, formula: str) -> Expression:
    try:
        return read_expression(formula, question.symbols)
    except NotAnAnswer as problem:
        raise Fault(f"the formula {formula} cannot be read: {problem}") from problem


def _symbols(entry: Entry) -> tuple[Symbol, ...]:
    value = entry.value("symbols")
    if isinstance(value, dict):
        value = [{name: about or {}} for name, about in value.items()]
    if not isinstance(value, list) or not value:
        entry.refuse_key("symbols", "symbols is no list of names; write it as [n, d_k]")
    try:
        return read_symbols(value)
    except AuthoringError as problem:
        entry.refuse_key("symbols", str(problem))
