"""What is measured: each file in `wrong/` and in `right/` is what one student hands in.

A file holds one exercise, right in all but one thing, or right in an unusual way. It is named
after the kind of its mistake, or of what is unusual. Its first line says which exercise it is,
and what there is about it. A second line, `# Named:`, lists the names of our misconceptions that
describe what the file does; they were chosen by hand, by their sentences. A verdict with any
other name in it counts as misnamed.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SETS = {
    "ps1": "ps1_numpy_attention",
    "ps2": "ps2_torch_attention",
    "ps3": "ps3_multi_head",
    "ps4": "ps4_numerics_and_memory",
    "ps5": "ps5_positions_and_sparsity",
    "ps6": "ps6_transformer_block",
}
# The first letter of a mistake's kind.
PARTS = {
    "P": "projections",
    "S": "scores",
    "C": "the scale",
    "M": "masks",
    "F": "softmax",
    "W": "widths",
    "H": "heads",
    "I": "parameters and initial weights",
    "D": "dropout",
    "R": "residual paths",
    "K": "sinusoidal positions",
    "L": "relative and rotary positions",
    "N": "sliding windows",
    "Q": "windows of images",
    "G": "graphs",
    "E": "chunks",
    "V": "patches",
    "X": "half precision",
}
_HEADER = re.compile(
    r"# (?P<ps>ps\d)/(?P<exercise>\w+): (?P<about>.+)\.\n(?:# Named: (?P<names>.+)\n)?"
)
_KIND = {"wrong": re.compile(rf"[{''.join(PARTS)}]\d+"), "right": re.compile(r"V\d+")}


class UnusableFile(Exception):
    """A file that is no entry; the message says what to change."""


@dataclass(frozen=True)
class Entry:
    """One implementation. about: what is wrong with it, or unusual about it."""

    path: Path
    assignment: str
    exercise: str
    about: str
    names: frozenset[str]

    @classmethod
    def read(cls, path: Path) -> Entry:
        if not _KIND[path.parent.name].fullmatch(path.stem):
            raise UnusableFile(f"{path}: name it after its kind, a letter and a number: C12.py")
        header = _HEADER.match(path.read_text("utf-8"))
        if header is None or header["ps"] not in SETS:
            raise UnusableFile(f"{path}: let the first line say `# ps2/causal_mask: <what>.`")
        names = frozenset((header["names"] or "").split())
        return cls(path, SETS[header["ps"]], header["exercise"], header["about"], names)

    @property
    def kind(self) -> str:
        return self.path.stem

    @property
    def right(self) -> bool:
        return self.path.parent.name == "right"

    def described_by(self, misconceptions: Collection[str]) -> bool:
        """Whether something is named, and nothing but what this file does."""
        return bool(misconceptions) and self.names.issuperset(misconceptions)


def entries() -> list[Entry]:
    """The wrong ones in the order of PARTS, then the right ones."""
    order = list(PARTS)
    return [
        *sorted(_in("wrong"), key=lambda entry: (order.index(entry.kind[0]), _number(entry))),
        *sorted(_in("right"), key=_number),
    ]


def _in(folder: str) -> list[Entry]:
    return [Entry.read(path) for path in (HERE / folder).glob("*.py")]


def _number(entry: Entry) -> int:
    return int(entry.kind[1:])
