"""Units in an answer: “48 KiB” is 49152 bytes, “1.5 GFLOP” is 1500000000 flops."""

from __future__ import annotations

import re
from fractions import Fraction

from autograder.quiz.answers import NotAnAnswer

_BINARY = {"": 1, "ki": 1024, "mi": 1024**2, "gi": 1024**3, "ti": 1024**4}
_DECIMAL = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15}

# unit → spelling, folded → factor
_KNOWN: dict[str, dict[str, int]] = {
    "bytes": {
        f"{prefix}{name}": factor
        for prefix, factor in _BINARY.items()
        for name in ("b", "byte", "bytes")
    },
    "flops": {
        f"{prefix}{name}": factor
        for prefix, factor in _DECIMAL.items()
        for name in ("flop", "flops")
    },
}
for _prefix, _power in (("kibi", 1), ("mebi", 2), ("gibi", 3), ("tebi", 4)):
    _KNOWN["bytes"] |= {f"{_prefix}byte": 1024**_power, f"{_prefix}bytes": 1024**_power}
_TWO_MEANINGS = {"kb", "mb", "gb", "tb", "kbyte", "mbyte", "gbyte", "kbytes", "mbytes", "gbytes",
                 "kilobytes", "megabytes", "gigabytes"}  # fmt: skip
# A number, then words: “1e3 bytes”, “48KiB”; not “0x10”, whose end is a digit.
_WITH_UNIT = re.compile(r"(?P<number>.*[\d.)])\s*(?P<unit>[^\W\d_]+|%)\.?", re.DOTALL)


def unit_of(text: str) -> str:
    """A question's unit as its author wrote it: Bytes and FLOPs are known ones."""
    return text.casefold() if text.casefold() in _KNOWN else text


def in_unit(text: str, unit: str) -> tuple[str, int | Fraction]:
    """(the number as text, what it is to be multiplied with); NotAnAnswer for another unit."""
    found = _WITH_UNIT.fullmatch(text.strip())
    if not unit or found is None:
        return text, 1
    written = found["unit"].casefold()
    if unit in _KNOWN:
        if unit == "bytes" and written in _TWO_MEANINGS:
            raise NotAnAnswer(
                f"“{found['unit']}” is 1000 or 1024 to different people; write KiB, MiB or GiB, "
                "or the number of bytes"
            )
        if written in _KNOWN[unit]:
            return found["number"], _KNOWN[unit][written]
    elif _singular(written) == _singular(unit.casefold()):
        return found["number"], 1
    raise NotAnAnswer(f"the answer is a number of {unit}; write it without another unit")


def _singular(word: str) -> str:
    return f"{word[:-3]}y" if word.endswith("ies") else word.removesuffix("s")
