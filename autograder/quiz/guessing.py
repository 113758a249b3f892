"""Answers that synthetic students give: right, by a known mistake, or by guessing."""

from __future__ import annotations

import random
from math import comb
from typing import Any

from autograder.quiz.choices import net_credit
from autograder.quiz.kinds import KINDS
from autograder.quiz.questions import Question


def right(question: Question) -> Any:
    """A right answer, as a literal."""
    return KINDS[question.type].written(question)


def mistaken(question: Question, rng: random.Random) -> Any:
    """An answer with a known mistake, where one is known; else a guess that is not right."""
    match question.type:
        case "single_choice":
            return rng.choice([o.id for o in question.options if o.id != question.answer])
        case "multiple_choice":
            wrong = [o.id for o in question.options if o.id not in question.answer]
            return ", ".join([rng.choice(wrong), *question.answer[1:]])
        case "matching":
            found = dict(question.answer)
            left = rng.choice(sorted(found))
            found[left] = rng.choice([o.id for o in question.right if o.id != found[left]])
            return found
    if question.wrong:
        value = rng.choice(question.wrong).value
        return ", ".join(value) if question.type == "ordering" else _plain(value)
    answer = right(question)
    while (guessed := guess(question, rng)) == answer:
        pass
    return guessed


def guess(question: Question, rng: random.Random) -> Any:
    """An answer of somebody who knows the form alone, all of them as likely as each other.

    Numbers and sizes are drawn from the powers of two up to 1024, the usual sizes of this field;
    a multiple choice is any set of options but the empty one.
    """
    ids = [option.id for option in question.options]
    match question.type:
        case "single_choice":
            return rng.choice(ids)
        case "multiple_choice":
            chosen: list[str] = []
            while not chosen:
                chosen = [name for name in ids if rng.random() < 0.5]
            return ", ".join(chosen)
        case "ordering":
            return ", ".join(rng.sample(ids, len(ids)))
        case "matching":
            rights = [option.id for option in question.right]
            several = len(ids) > len(rights)
            drawn = rng.choices(rights, k=len(ids)) if several else rng.sample(rights, len(ids))
            return dict(zip(sorted(ids), drawn, strict=True))
        case "shape":
            return tuple(_size(rng) for _ in range(rng.randint(2, 4)))
        case "matrix":
            rows, columns = len(question.answer), len(question.answer[0])
            return [[rng.choice((0, 0.5, 1)) for _ in range(columns)] for _ in range(rows)]
        case "expression":
            factors = ["2", *(symbol.name for symbol in question.symbols)]
            return " * ".join(rng.choices(factors, k=rng.randint(1, 3)))
    return _size(rng)


def share_of_any_set(right: int, wrong: int) -> float:
    """The share of the points that a set of options earns, any set but the empty one as likely.

    right, wrong: how many options are. Exact: a sum over how many of each are chosen.
    """
    total = sum(
        comb(right, found) * comb(wrong, taken) * net_credit(found, taken, right, wrong)
        for found in range(right + 1)
        for taken in range(wrong + 1)
    )
    return total / ((1 << (right + wrong)) - 1)


def _size(rng: random.Random) -> int:
    return 1 << rng.randint(0, 10)


def _plain(value: Any) -> Any:
    """Rows and sizes as a student writes them."""
    if not isinstance(value, tuple):
        return value
    return [list(row) if isinstance(row, tuple) else row for row in value]
