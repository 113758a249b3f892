"""How an answer is understood: an option, a number, or a sentence on what to write."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.quiz.answers import NotAnAnswer


def read_answer(form: Mapping[str, Any], value: Any) -> Any:
    """An answer as it is understood: an option id, a number, or None when left open.

    Raises NotAnAnswer with a sentence when it has not the form of the question.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if form["type"] == "single_choice":
        return _read_choice(form["options"], value)
    return _read_number(value)


def plain(text: str) -> str:
    """How options are told apart: neither case nor space counts."""
    return "".join(text.split()).casefold()


def _read_choice(options: Sequence[str], value: Any) -> str:
    if isinstance(value, str):
        for option in options:
            if plain(option) == plain(value):
                return option
    listed = ", ".join(f'"{option}"' for option in options)
    raise NotAnAnswer(f"choose one of {listed}")


def _read_number(value: Any) -> float:
    if isinstance(value, str):
        text = value.strip().replace("−", "-")
        if "," in text or "_" in text:
            raise NotAnAnswer("write the number with a decimal point and no separators: 1024.5")
        try:
            value = float(text)
        except ValueError:
            raise NotAnAnswer("write one number, for example 12.5") from None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise NotAnAnswer("write one number, for example 12.5")
    try:
        number = float(value)
    except OverflowError:
        raise NotAnAnswer("this number is too large to be meant") from None
    if not math.isfinite(number):
        raise NotAnAnswer("write a finite number")
    return number
