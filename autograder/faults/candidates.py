"""Candidates for a repair, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autograder.faults.edits import Edit
from autograder.faults.trials import Variant

# A line of a statement: the statement's position in the submission, and the line from 1.
Line = tuple[int, int]

# About how often the slip is one of a family: in turn, each is tried that much of the time.
_SHARES = {
    "axis": 10, "name": 12, "transpose": 8, "operands": 8, "argument": 8, "size": 6, "heads": 6,
    "dropped": 6, "polarity": 5, "number": 5, "function": 5, "attribute": 4, "root": 4, "form": 4,
    "transpose moved": 4, "exchanged": 4, "variable": 4, "comparison": 4, "operator": 4,
    "scaled": 4, "applied": 4, "masked": 4, "unwrapped": 4, "letters": 3, "arguments": 3,
    "bound": 3, "axis order": 3, "sizes": 3, "branch": 3, "brackets": 2, "view": 2,
    "return order": 2, "in place": 2, "copy": 2, "thrown away": 2, "exception": 2, "shifted": 2,
    "returned": 2, "wrapped": 2, "mask axis": 2, "argument dropped": 2,
}  # fmt: skip


@dataclass(frozen=True)
class Candidate:
    """One or two edits, each with the position of its statement, and what they make."""

    edits: tuple[tuple[int, Edit], ...]
    variant: Variant

    @property
    def cost(self) -> int:
        """Of all edits."""
        return sum(edit.cost for _, edit in self.edits)

    @property
    def lines(self) -> frozenset[Line]:
        """What it changes: each line with the position of its statement, from 1 within it."""
        return frozenset((position, line) for position, edit in self.edits for line in edit.lines)


def in_turn(candidates: Sequence[Candidate], suspects: Sequence[Line] = ()) -> list[Candidate]:
    """Each once; families in turn, by their shares, and of each the likely ones first.

    suspects: lines, each with the position of its statement, the likely ones first.
    """
    families: dict[str, list[Candidate]] = {}
    for candidate in each_once(candidates):
        families.setdefault(candidate.edits[-1][1].family, []).append(candidate)
    turns: list[tuple[float, int, Candidate]] = []
    for family, members in families.items():
        share = _SHARES.get(family, 1)
        members.sort(key=lambda member: _likeliness(member, suspects))
        turns += [(i / share, len(turns) + i, member) for i, member in enumerate(members, 1)]
    return [candidate for _, _, candidate in sorted(turns, key=lambda turn: turn[:2])]


def _likeliness(candidate: Candidate, suspects: Sequence[Line]) -> tuple[float, ...]:
    """Of one family: what uses what nothing uses, cheap, in suspect lines, in many places."""
    position, edit = candidate.edits[-1]
    place = (position, edit.line)
    suspect = suspects.index(place) if place in suspects else len(suspects)
    many = edit.places > 1
    return (edit.cost - (0.5 if edit.likely else 0) - 0.5 * many, min(suspect, 4), edit.line)


def each_once(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The first of those that make the same of the submission."""
    return list({tuple(sorted(c.variant.items())): c for c in reversed(candidates)}.values())[::-1]
