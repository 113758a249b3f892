"""Matching one list with another: `{"a": "x", "b": "y"}` or `"a-x, b-y"`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.choices import one_of
from autograder.quiz.entries import Entry
from autograder.quiz.faults import Fault
from autograder.quiz.questions import Question, Verdict, Wrong, sentences
from autograder.quiz.typed_text import read_text

_WRITE = 'write pairs: "a-x, b-y"'
_BETWEEN = re.compile(r"\s*(?:-+>?|=+>?|:)\s*|\s+")


class Matching:
    """`q_x = "a-x, b-y"`. Credit: pairs right beyond those that guessing would give."""

    FIELDS = frozenset({"left", "right", "wrong"})
    DRAWN = False
    NOUN = "the pairs"

    def load(self, entry: Entry, question: Question) -> Question:
        """Two lists of options, and for each on the left one on the right."""
        left, right = entry.named_options("left"), entry.named_options("right")
        answer = entry.map_of("answer")
        rights = [option.id for option in right]
        for name, other in answer.items():
            if other not in rights:
                entry.refuse_key("answer", f"{name} is matched with {other!r}, which is no right")
        if sorted(answer) != sorted(option.id for option in left):
            entry.refuse_key("answer", "the answer must match each of left once, by its id")
        return replace(
            question,
            options=left,
            right=right,
            answer=dict(answer),
            wrong=entry.wrong(lambda item: _pair(item, answer, rights)),
        )

    def check(self, question: Question) -> None:
        """Nothing stands opposite its match in the order shown."""
        if len(set(question.answer.values())) == 1:
            raise Fault("everything is matched with the same; that is no matching")
        lefts = [option.id for option in question.shown_options]
        rights = [option.id for option in question.shown_right]
        if [question.answer[name] for name in lefts] == rights:
            raise Fault("the lists as they are shown, by their ids, match; rename the options")
        for item in question.wrong:
            if question.answer[item.value[0]] == item.value[1]:
                raise Fault(f"the wrong pair {'-'.join(item.value)} is right")

    def form(self, question: Question) -> dict[str, Any]:
        """The ids of both lists, sorted."""
        return {
            "options": [option.id for option in question.shown_options],
            "right": [option.id for option in question.shown_right],
        }

    def read(self, form: Mapping[str, Any], value: Any) -> dict[str, str] | None:
        """Left id → right id, for those that are matched."""
        pairs: Any = value
        if isinstance(value, str):
            text = read_text(value).strip("{}[]() ")
            parts = [part.strip("()[] ") for part in re.split(r"[,;]", text)]
            pairs = [_BETWEEN.split(part) for part in parts if part]
        elif isinstance(value, dict):
            pairs = list(value.items())
        if not isinstance(pairs, (list, tuple)):
            raise NotAnAnswer(_WRITE)
        found: dict[str, str] = {}
        for pair in pairs:
            if isinstance(pair, str):
                pair = _BETWEEN.split(read_text(pair))
            if not isinstance(pair, (list, tuple)) or len(pair) != 2:
                raise NotAnAnswer(_WRITE)
            left = one_of(form["options"], _unquoted(pair[0]))
            if left in found:
                raise NotAnAnswer(f"“{left}” is matched twice; match each once")
            if pair[1] is not None and str(pair[1]).strip():  # left open, as `"a": None` is
                found[left] = one_of(form["right"], _unquoted(pair[1]))
        return {name: found[name] for name in sorted(found)} or None

    def shown(self, answer: Mapping[str, str]) -> str:
        """“a-x, b-y”."""
        return ", ".join(f"{left}-{right}" for left, right in sorted(answer.items()))

    def written(self, question: Question) -> dict[str, str]:
        """The right answer as a student may write it."""
        return dict(sorted(question.answer.items()))

    def judge(self, question: Question, answer: Mapping[str, str]) -> Verdict:
        """(right pairs - n/m) / (n - n/m), at least 0: n on the left, m on the right."""
        right = sum(answer.get(left) == other for left, other in question.answer.items())
        by_chance = len(question.answer) / len(question.right)
        credit = max(0.0, (right - by_chance) / (len(question.answer) - by_chance))
        notes = [f"{right} of {len(question.answer)} pairs are right."] if credit < 1 else []
        for left, other in answer.items():
            if question.answer[left] != other:
                notes += _on_pair(question, left, other)
        return Verdict(credit, tuple(notes))


def _on_pair(question: Question, left: str, right: str) -> tuple[str, ...]:
    """What is known of a wrong pair: what its list says, or what the option on the right does."""
    for item in question.wrong:
        if item.value == (left, right):
            return _of(item, left, right)
    option = next(option for option in question.right if option.id == right)
    return _of(Wrong((left, right), option.misconception, option.hint), left, right)


def _of(item: Wrong, left: str, right: str) -> tuple[str, ...]:
    said = sentences(item.misconception, item.hint)
    return (f"“{left}-{right}” is wrong.", *said)


def _pair(item: Entry, answer: Mapping[str, str], rights: list[str]) -> tuple[str, str]:
    value = item.value("value")
    if isinstance(value, dict) and len(value) == 1:
        value = list(next(iter(value.items())))
    if not isinstance(value, list) or len(value) != 2:
        item.refuse_key("value", f"value is {value!r}; write a pair: [left_id, right_id]")
    left, right = value
    if left not in answer or right not in rights:
        item.refuse_key("value", f"value is {value!r}; write the ids of a left and a right option")
    return str(left), str(right)


def _unquoted(text: Any) -> Any:
    return text.strip("\"' ") if isinstance(text, str) else text
