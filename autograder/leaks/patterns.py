"""Texts and code as sequences of words and signs, and the parts of them that give a secret away.

White space, quotes and comments do not count, so that how a text is laid out or quoted does not
matter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

# A line of code with fewer words and signs says nothing: `n = X.shape[1]` has 8.
LINE, PAIR, WINDOW = 9, 12, 14
# Words of a text: the whole of it, and windows of it.
TEXT, TEXT_WINDOW = 4, 8

Tokens = tuple[str, ...]

_TOKEN = re.compile(r"\w+|[^\w\s\"'“”\\`]")


def tokens_of(text: str) -> Tokens:
    """Words and signs, without white space and quotes."""
    return tuple(_TOKEN.findall(text))


def code_patterns(lines: Sequence[Tokens], *, whole: bool) -> list[Tokens]:
    """Lines that say enough, windows of long ones, pairs of short ones.

    whole: a body that is one short line, such as `return K.T @ Q`, counts too.
    """
    found = [line for line in lines if len(line) >= LINE]
    found += [window for line in lines for window in windows(line, WINDOW)]
    for one, other in pairwise(lines):
        if len(pair := (*one, *other)) >= PAIR and min(len(one), len(other)) < LINE:
            found.append(pair)
    if whole and len(lines) == 1 and 4 <= len(lines[0]) < LINE:
        found.append(lines[0])
    return found


def text_patterns(text: str) -> list[Tokens]:
    """A text of some words, and windows of a long one."""
    words = tokens_of(text)
    parts = [words] if len(words) <= TEXT_WINDOW else windows(words, TEXT_WINDOW)
    return [part for part in parts if _says_something(part)]


def _says_something(tokens: Tokens) -> bool:
    """Whether there are words enough among them, not numbers and signs alone."""
    return sum(token.isalpha() and len(token) > 1 for token in tokens) >= TEXT


def windows(tokens: Sequence[str], size: int) -> list[Tokens]:
    """Overlapping parts of that size, so that half of a long text is found too."""
    if len(tokens) < size:
        return []
    starts = [*range(0, len(tokens) - size, max(size // 2, 1)), len(tokens) - size]
    return [tuple(tokens[start : start + size]) for start in starts]
