"""A question as its author wrote it down, and what students may know of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TYPES = ("single_choice", "number")


@dataclass(frozen=True)
class Option:
    """One choice: what is shown, and, if it is wrong, the mistake behind it."""

    id: str
    text: str
    misconception: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Question:
    """A question with its answer: secret. `form` is what students may know of it."""

    id: str
    type: str
    points: float
    prompt: str
    answer: Any
    explanation: str
    options: tuple[Option, ...] = ()
    absolute: float = 0.0
    relative: float = 0.0
    wrong: tuple[tuple[float, str, str], ...] = ()

    @property
    def variable(self) -> str:
        """The name that a student assigns the answer to."""
        return f"q_{self.id}"

    @property
    def form(self) -> dict[str, Any]:
        """What the echo cell needs: type and option ids, in the order shown."""
        return {"type": self.type, "options": [option.id for option in self.options]}
