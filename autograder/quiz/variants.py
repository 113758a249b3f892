"""Which numbers a student's own variant of a question has.

They follow from the student's id alone: HMAC-SHA256, keyed by the course's name, over the
version, the course, the assignment, the question and the id gives a stream of whole numbers.
The first that names an admitted combination is taken. Variants deter copying; they are no
secret, since everything that they are drawn from travels in the release.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
import math
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

VERSION = 1
MOST = 10_000  # combinations of one question's draws, all of which are tried when it is loaded
_BITS = 64


@dataclass(frozen=True)
class Draws:
    """What a question's numbers are drawn from.

    choices: name → values. admitted: bit i stands for the i-th combination, counted with the
    last name fastest; those that make no good question are not set.
    """

    choices: Mapping[str, tuple[Any, ...]]
    course: str
    assignment: str
    admitted: int = 0

    @property
    def size(self) -> int:
        """How many combinations there are, admitted or not."""
        return math.prod(len(values) for values in self.choices.values())

    @property
    def combinations(self) -> Iterator[dict[str, Any]]:
        """Every combination, admitted or not, in order."""
        for values in itertools.product(*self.choices.values()):
            yield dict(zip(self.choices, values, strict=True))

    @property
    def admitted_ones(self) -> Iterator[dict[str, Any]]:
        """Every combination that may be drawn, in order."""
        for index, values in enumerate(self.combinations):
            if self.admitted >> index & 1:
                yield values

    def index_for(self, question: str, student: str) -> int:
        """The number of the combination that a student gets."""
        size = self.size
        fair = (1 << _BITS) // size * size  # above it, small remainders would be more frequent
        for number in self._stream(question, student):
            if number < fair and self.admitted >> number % size & 1:
                return number % size
        raise AssertionError("the stream has no end")

    def values_for(self, question: str, student: str) -> dict[str, Any]:
        """Name → value, for one student."""
        left = self.index_for(question, student)
        found: dict[str, Any] = {}
        for name, values in reversed(list(self.choices.items())):
            left, at = divmod(left, len(values))
            found[name] = values[at]
        return {name: found[name] for name in self.choices}

    def _stream(self, question: str, student: str) -> Iterator[int]:
        parts = (VERSION, self.course, self.assignment, question, plain_id(student))
        about = "".join(f"{len(str(part))}:{part}," for part in parts)
        key = f"attention-autograder {self.course}".encode()
        for counter in itertools.count():
            digest = hmac.new(key, f"{about}{counter}".encode(), hashlib.sha256).digest()
            for at in range(0, len(digest), _BITS // 8):
                yield int.from_bytes(digest[at : at + _BITS // 8], "big")

    def to_plain(self) -> dict[str, Any]:
        """As it stands in the self-check key."""
        return {
            "choices": {name: list(values) for name, values in self.choices.items()},
            "course": self.course,
            "assignment": self.assignment,
            "admitted": f"{self.admitted:x}",
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Draws:
        """Read from the self-check key."""
        return cls(
            {name: tuple(values) for name, values in plain["choices"].items()},
            plain["course"],
            plain["assignment"],
            int(plain["admitted"], 16),
        )


def plain_id(student: str) -> str:
    """A student's id as it is compared and drawn from: NFC, whatever keyboard wrote it.

    Neither case, nor full-width forms, nor white space and invisible characters count.
    """
    folded = unicodedata.normalize("NFKC", student).casefold()
    seen = (sign for sign in folded if unicodedata.category(sign) != "Cf" and not sign.isspace())
    return unicodedata.normalize("NFC", "".join(seen))
