"""Numbers: tolerance or significant digits, units such as bytes and flops."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.entries import Entry
from autograder.quiz.faults import Fault
from autograder.quiz.questions import Question, Verdict, sentences
from autograder.quiz.typed_text import read_number, read_text
from autograder.quiz.units import in_unit, unit_of

# What is closer to a known mistake than this is that mistake, if nothing else is said.
_SAME_MISTAKE = 1e-6
_LARGEST = 10**300


class Number:
    """`q_x = 1024`, `"1.5e3"`, `"48 KiB"`"""

    FIELDS = frozenset({"tolerance", "significant", "unit", "wrong"})
    DRAWN = True
    NOUN = "the number"

    def load(self, entry: Entry, question: Question) -> Question:
        """The answer, and how near one must come."""
        formulas = question.draws is not None
        return replace(
            question,
            answer=entry.formula("answer", formulas),
            significant=_significant(entry),
            unit=unit_of(entry.text("unit", "")),
            wrong=entry.wrong(lambda item: _value(item, formulas)),
            absolute=tolerance_of(entry, "absolute"),
            relative=tolerance_of(entry, "relative"),
        )

    def check(self, question: Question) -> None:
        """The answer is a number, and no wrong value counts as right."""
        if not is_number(question.answer):
            raise Fault(f"the answer is {question.answer!r}; it must be a finite number")
        for item in question.wrong:
            if not is_number(item.value):
                raise Fault(f"a wrong value is {item.value!r}; it must be a finite number")
            if is_near(question, item.value, question.answer):
                raise Fault(f"the wrong value {item.value:g} counts as right; narrow the tolerance")

    def form(self, question: Question) -> dict[str, Any]:
        """The unit, if it has one."""
        return {"unit": question.unit} if question.unit else {}

    def read(self, form: Mapping[str, Any], value: Any) -> Any:
        """A finite number in the question's unit."""
        return number_in(form.get("unit", ""), value)

    def shown(self, answer: Any) -> str:
        """12 digits at most."""
        return number_text(answer)

    def written(self, question: Question) -> Any:
        """The right answer as a student may write it."""
        return question.answer

    def judge(self, question: Question, answer: Any) -> Verdict:
        """All or nothing; the nearest known mistake is named."""
        if is_near(question, answer, question.answer):
            return Verdict(1.0)
        near = [
            item for item in question.wrong if is_near(question, answer, item.value, _SAME_MISTAKE)
        ]
        if not near:
            return Verdict(0.0)
        known = min(near, key=lambda item: abs(answer - item.value))
        return Verdict(0.0, sentences(known.misconception, known.hint))


def _value(item: Entry, formulas: bool) -> Any:
    return item.formula("value", formulas)


def _significant(entry: Entry) -> int:
    if not entry.has("significant"):
        return 0
    if entry.has("tolerance"):
        entry.refuse_key("significant", "tolerance and significant say two things; keep one")
    digits: Any = entry.value("significant")
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 15:
        entry.refuse_key("significant", f"significant is {digits!r}; write 1 to 15 digits")
    return int(digits)


def tolerance_of(entry: Entry, which: str) -> float:
    """The absolute or relative tolerance of an answer; none is exact."""
    allowed = entry.inner("tolerance", {"absolute", "relative"})
    return float(allowed.number(which, 0.0, least=0.0))


def is_number(value: Any) -> bool:
    """A finite number, and no boolean."""
    if isinstance(value, bool):
        return False
    return isinstance(value, (int, float, Fraction)) and -_LARGEST <= value <= _LARGEST


def number_in(unit: str, value: Any) -> Any:
    """A student's number, as int, float or Fraction, in a unit; NotAnAnswer with a sentence."""
    if isinstance(value, (list, tuple)):
        raise NotAnAnswer(
            "write one number, without commas and brackets; it has a decimal point: 1024.5"
        )
    factor: int | Fraction = 1
    if isinstance(value, str):
        text, factor = in_unit(read_text(value), unit)
        value = read_number(text)
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise NotAnAnswer("write one number, for example 12.5")
    if not isinstance(value, (int, float, Fraction)):
        value = float(value)  # of NumPy
    if isinstance(value, float) and not math.isfinite(value):
        raise NotAnAnswer("write a finite number")
    value = value * factor
    if abs(value) > _LARGEST:
        raise NotAnAnswer("this number is too large to be meant")
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return value


def number_text(value: Any) -> str:
    """A number in 12 digits; whole ones in all of theirs, up to 20."""
    if isinstance(value, int) and abs(value) < 10**20:
        return str(value)
    return f"{float(value):.12g}"


def is_near(question: Question, value: Any, wanted: Any, least: float = 0.0) -> bool:
    """Whether a number is another one within the question's tolerance, the edge included."""
    value, wanted = _exact(value), _exact(wanted)
    allowed = max(question.absolute, max(question.relative, least) * abs(float(wanted)))
    if question.significant and wanted:
        # half a unit in the last digit that counts
        last = math.floor(math.log10(abs(wanted))) - question.significant + 1
        allowed = max(allowed, 0.5 * 10.0**last)
    # 0.3 - 0.2 is above 0.1 by rounding alone
    rounding = 4 * math.ulp(max(abs(float(value)), abs(float(wanted))))
    if isinstance(value, int) and isinstance(wanted, int) and not allowed:
        return value == wanted
    return bool(abs(value - wanted) <= allowed + rounding)


def _exact(value: Any) -> int | float:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) else float(value)
