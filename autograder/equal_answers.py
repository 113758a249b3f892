"""Answers that were given before, to the bit, have their result already.

A class computes the same few things in the same few ways, so most of its answers are equal in
every byte, and judging is a function of these bytes alone: what it gave once need not be read
and judged again. The code is run all the same; nothing is concluded from how it looks.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.program import Raised
from autograder.result import ExerciseResult

MOST = 128  # of one exercise: what few students answer is soon forgotten


@dataclass(frozen=True)
class Judged:
    """The result of an exercise, and the exception that made it an error, if one did."""

    result: ExerciseResult
    raised: Raised | None


class EqualAnswers:
    """Results of one exercise as it was drawn, by the replies to all of its cases.

    For several threads. The least recently asked for is forgotten first.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._known: OrderedDict[bytes, Judged] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, replies: Sequence[bytes], with_pairs: bool = True) -> tuple[bytes, Judged | None]:
        """Under what these replies are kept, and what was judged of them before.

        with_pairs: as they are judged, see `judge`.
        """
        key = _digest(replies) + bytes([with_pairs])
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
        return key, found

    def keep(self, key: bytes, judged: Judged) -> None:
        """Remember a result; a fault of ours is none."""
        if judged.result.outcome == "infrastructure":
            return
        with self._lock:
            self._known[key] = judged
            while len(self._known) > self._most:
                self._known.popitem(last=False)


def _digest(replies: Sequence[bytes]) -> bytes:
    """Of all bytes, and of where one reply ends: no submission can find two that are alike."""
    made = hashlib.blake2b(digest_size=32)
    for reply in replies:
        made.update(len(reply).to_bytes(8, "little"))
        made.update(reply)
    return made.digest()
