"""Putting steps in order: any order that the constraints allow is right."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.choices import several_of
from autograder.quiz.entries import Entry
from autograder.quiz.faults import Fault
from autograder.quiz.questions import Question, Verdict, sentences

MOST = 10  # every subset of them is looked at


class Ordering:
    """`q_x = "cedar, amber, birch"`. Credit: each option that has to move costs 2/(n - 1)."""

    FIELDS = frozenset({"options", "constraints", "wrong"})
    DRAWN = False
    NOUN = "the order"

    def load(self, entry: Entry, question: Question) -> Question:
        """The options in a right order; what must come before what."""
        options = entry.named_options()
        ids = tuple(option.id for option in options)
        if not 3 <= len(ids) <= MOST:
            entry.refuse_key("options", f"there are {len(ids)} options; write 3 to {MOST}")
        answer = entry.texts("answer") if entry.has("answer") else ids
        if sorted(answer) != sorted(ids):
            entry.refuse_key("answer", "the answer names not every option once; leave it out")
        constraints = _constraints(entry, ids) if entry.has("constraints") else ()
        return replace(
            question,
            options=options,
            answer=answer,
            constraints=constraints or tuple(itertools.pairwise(answer)),
            wrong=entry.wrong(lambda item: item.texts("value")),
        )

    def check(self, question: Question) -> None:
        """The answer keeps the constraints, the order shown does not, nor do wrong orders."""
        before = closure(question.constraints)
        if any(before & {(name, name)} for name in question.answer):
            raise Fault("the constraints go in a circle; take one out")
        if not keeps(question.answer, before):
            raise Fault("the answer breaks a constraint; correct one of them")
        shown = [option.id for option in question.shown_options]
        if keeps(shown, before):
            raise Fault(f"the order of the ids, {', '.join(shown)}, is right; rename the options")
        for item in question.wrong:
            if sorted(item.value) != sorted(shown):
                raise Fault(f"the wrong order {', '.join(item.value)} has not every option once")
            if keeps(item.value, before):
                raise Fault(f"the wrong order {', '.join(item.value)} is right")

    def form(self, question: Question) -> dict[str, Any]:
        """The options' ids, sorted."""
        return {"options": [option.id for option in question.shown_options]}

    def read(self, form: Mapping[str, Any], value: Any) -> tuple[str, ...] | None:
        """Every option once."""
        order = several_of(form["options"], value)
        if not order:
            return None
        for name in order:
            if order.count(name) > 1:
                raise NotAnAnswer(f"“{name}” stands twice; write each option once")
        missing = [name for name in form["options"] if name not in order]
        if missing:
            raise NotAnAnswer(f"{', '.join(missing)}: no place yet; write each option once")
        return tuple(order)

    def shown(self, answer: Sequence[str]) -> str:
        """“cedar, amber, birch”."""
        return ", ".join(answer)

    def written(self, question: Question) -> str:
        """The right answer as a student may write it."""
        return ", ".join(question.answer)

    def judge(self, question: Question, answer: tuple[str, ...]) -> Verdict:
        """1 - 2·moved/(n - 1), at least 0: in 5 steps, one out of place leaves a half."""
        in_order = longest_in_order(answer, closure(question.constraints))
        moved = len(answer) - in_order
        if not moved:
            return Verdict(1.0)
        credit = max(0.0, 1 - 2 * moved / (len(answer) - 1))
        for item in question.wrong:
            if tuple(item.value) == answer:
                return Verdict(credit, sentences(item.misconception, item.hint))
        return Verdict(credit, (f"{in_order} of {len(answer)} stand in a right order.",))


def _constraints(entry: Entry, ids: Sequence[str]) -> tuple[tuple[str, str], ...]:
    value = entry.value("constraints")
    pairs = value if isinstance(value, list) else [value]
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2 and all(name in ids for name in pair)):
            entry.refuse_key(
                "constraints",
                f"constraints holds {pair!r}; write pairs of options, the earlier first: [[a, b]]",
            )
    return tuple((str(first), str(second)) for first, second in pairs)


def closure(constraints: Collection[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """Every pair of which the first must come before the second."""
    found = set(constraints)
    while True:
        further = {(a, d) for a, b in found for c, d in found if b == c} - found
        if not further:
            return frozenset(found)
        found |= further


def keeps(order: Sequence[str], before: Collection[tuple[str, str]]) -> bool:
    """Whether no pair stands the wrong way round."""
    return not any(
        (later, earlier) in before for earlier, later in itertools.combinations(order, 2)
    )


def longest_in_order(order: Sequence[str], before: Collection[tuple[str, str]]) -> int:
    """The length of the longest common subsequence with any order that the pairs allow.

    A subsequence without a pair that stands the wrong way round can be completed to such an
    order: with the transitive closure, a circle would show in one pair.
    """
    return next(
        size
        for size in range(len(order), 0, -1)
        if any(keeps(part, before) for part in itertools.combinations(order, size))
    )
