"""A student's own question from a template: numbers for names, values for formulas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.faults import Fault
from autograder.quiz.formulas import evaluate
from autograder.quiz.questions import Option, Question, Wrong
from autograder.quiz.templates import NoTemplate, filled, formulas_in


def concrete(question: Question, values: Mapping[str, Any]) -> Question:
    """The question with these numbers; Fault names what cannot be computed."""

    def said(text: str) -> str:
        try:
            return filled(text, values, lambda formula: computed(formula, values))
        except NoTemplate as problem:
            raise Fault(
                f"{str(problem).rstrip('.')} (in “{' '.join(text.split())[:40]}…”)"
            ) from problem

    def option(each: Option) -> Option:
        return Option(each.id, said(each.text), said(each.misconception), said(each.hint))

    number = not question.options  # an option's id is no formula
    return replace(
        question,
        prompt=said(question.prompt),
        explanation=said(question.explanation),
        answer=_numbers(question.answer, values) if number else question.answer,
        options=tuple(option(each) for each in question.options),
        wrong=tuple(
            Wrong(_numbers(item.value, values), said(item.misconception), said(item.hint))
            for item in question.wrong
        ),
        draws=None,
        values=values,
    )


def for_student(question: Question, student: str) -> Question:
    """The question that a student gets: itself, unless its numbers are drawn."""
    if question.draws is None:
        return question
    return concrete(question, question.draws.values_for(question.id, student))


def _numbers(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, tuple):
        return tuple(_numbers(item, values) for item in value)
    return computed(value, values) if isinstance(value, str) else value


def computed(formula: str, values: Mapping[str, Any]) -> Any:
    """The value of a formula, whole where it can be; Fault when it has none."""
    try:
        value = evaluate(formula, values)
    except (NotAnAnswer, ArithmeticError, ValueError) as problem:
        raise Fault(f"the formula {formula} has no value: {problem}") from problem
    if isinstance(value, Fraction):
        value = float(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def formulas_of(question: Question) -> Iterator[str]:
    """Every formula of a template, and of an expression: none of them is for students."""
    if question.type == "expression":
        yield question.answer
        yield from (item.value for item in question.wrong)
    if question.draws is None:
        return
    if not question.options:
        yield from _texts_in((question.answer, *(item.value for item in question.wrong)))
    texts = [question.explanation]
    for option in question.options:
        texts += [option.text, option.misconception, option.hint]
    for item in question.wrong:
        texts += [item.misconception, item.hint]
    for text in texts:
        yield from formulas_in(text)


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, tuple):
        for item in value:
            yield from _texts_in(item)
    elif isinstance(value, str):
        yield value
