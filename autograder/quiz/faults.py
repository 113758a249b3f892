"""What makes a question a bad one, found when it is loaded."""

from __future__ import annotations


class Fault(Exception):
    """The message says what is wrong. by_draw: with drawn numbers, the draw is left out."""

    def __init__(self, message: str, *, by_draw: bool = False) -> None:
        super().__init__(message)
        self.by_draw = by_draw
