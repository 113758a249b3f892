"""A question as its author wrote it down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from autograder.quiz.symbols import Symbol
from autograder.quiz.variants import Draws


@dataclass(frozen=True)
class Option:
    """One choice: what is shown, and, if it is wrong, the mistake behind it."""

    id: str
    text: str
    misconception: str = ""
    hint: str = ""


class Wrong(NamedTuple):
    """An answer that a known mistake gives."""

    value: Any
    misconception: str
    hint: str


@dataclass(frozen=True)
class Question:
    """A question with its answer: secret. What students may know of it: `kinds.form_of`.

    answer: an option's id (single_choice), ids (multiple_choice, ordering: in a right order),
    left id → right id (matching), a number, a tuple of sizes (shape), a tuple of rows (matrix),
    a formula as text (expression). With `draws`, numbers may be formulas as text: the question
    is a template, of which `parameterised.concrete` makes a student's own.
    """

    id: str
    type: str
    points: float
    prompt: str
    answer: Any
    explanation: str
    options: tuple[Option, ...] = ()
    right: tuple[Option, ...] = ()  # of matching: what the options are matched with
    absolute: float = 0.0
    relative: float = 0.0
    significant: int = 0  # digits that an answer must have right; 0: the tolerance counts
    unit: str = ""
    constraints: tuple[tuple[str, str], ...] = ()  # of ordering: the first before the second
    symbols: tuple[Symbol, ...] = ()  # of expression
    wrong: tuple[Wrong, ...] = ()
    draws: Draws | None = None
    values: Mapping[str, Any] = field(default_factory=dict)  # of a student's own: what was drawn

    @property
    def variable(self) -> str:
        """The name that a student assigns the answer to."""
        return f"q_{self.id}"

    @property
    def shown_options(self) -> tuple[Option, ...]:
        """In the order of their ids, which says nothing of the order in quiz.yaml."""
        return tuple(sorted(self.options, key=lambda option: option.id))

    @property
    def shown_right(self) -> tuple[Option, ...]:
        """What the options are matched with, in the order of the ids."""
        return tuple(sorted(self.right, key=lambda option: option.id))


@dataclass(frozen=True)
class Verdict:
    """What an answer is worth, 0 to 1, and what its student should be told beside that."""

    credit: float
    notes: tuple[str, ...] = ()


def sentences(*parts: str) -> tuple[str, ...]:
    """Those that say something."""
    return tuple(part for part in parts if part)
