"""Texts with a student's own numbers in them: `{d_k}`, `{=d_k * h}`, and `{{` for a brace."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_HOLE = re.compile(r"\{\{|\}\}|\{=([^{}]+)\}|\{([A-Za-z_]\w*)\}|[{}]")


class NoTemplate(Exception):
    """A brace that is neither a name nor doubled; the message says so."""


def filled(
    text: str, values: Mapping[str, Any], computed: Callable[[str], Any] | None = None
) -> str:
    """The text with every hole filled. NoTemplate names what cannot be.

    computed: the value of a formula; without it, formulas are refused.
    """

    def fill(hole: re.Match[str]) -> str:
        formula, name = hole.groups()
        if name is not None:
            if name not in values:
                raise NoTemplate(f"{{{name}}} is none of the draws; write {{{{ for a brace")
            return str(values[name])
        if formula is not None:
            if computed is None:
                raise NoTemplate(f"{hole[0]} would show its formula; write names of draws only")
            return as_text(computed(formula))
        if len(hole[0]) == 1:
            raise NoTemplate(f"a single {hole[0]} stands in it; write {hole[0] * 2} for a brace")
        return hole[0][0]

    return _HOLE.sub(fill, text)


def names_in(text: str) -> Iterator[str]:
    """The draws that a text shows."""
    return (hole[2] for hole in _HOLE.finditer(text) if hole[2])


def formulas_in(text: str) -> Iterator[str]:
    """The formulas in a text."""
    return (hole[1] for hole in _HOLE.finditer(text) if hole[1])


def without_formulas(text: str) -> str:
    """The text as a release may show a template of it."""
    return _HOLE.sub(lambda hole: "…" if hole[1] else hole[0], text)


def as_text(number: Any) -> str:
    """A number as people write it: 64, not 64.0."""
    if isinstance(number, float) and number.is_integer() and abs(number) < 2**53:
        return str(int(number))
    return f"{number:.6g}" if isinstance(number, float) else str(number)


def with_placeholders(text: str, names: Mapping[str, Any]) -> str:
    """The text with ⟨d_k⟩ where a student's own number will stand."""
    return filled(text, {name: f"⟨{name}⟩" for name in names})
