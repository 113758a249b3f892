"""What a notebook adds to Python: magics, shell lines, questions; and where lines begin.

Regular expressions on logical lines, not IPython's transformer: that one takes a fifth of
a second to import, is not there where a student checks a module, and turns magics into
calls that would then have to be dropped again.
"""

from __future__ import annotations

import re

# Longer ones are refused: before Python 3.12, parsing one takes time quadratic in its length.
_MAX_FSTRING = 20_000

_CELL_MAGIC = re.compile(r"\s*%%(\w+)[^\n]*")
# These execute their cell among the notebook's own names; `%%timeit` does not.
_TRANSPARENT_MAGICS = {"time", "capture", "prun", "debug"}
_TIME = re.compile(r"(\s*)%time[ \t]+(?=[^\s%!?-])")
_ASSIGNED = re.compile(r"(\s*[^\W\d][\w.,:\[\] \t]*=)\s*[%!]")
_ESCAPED = re.compile(
    r"(\s*)(?:[%!?]|[^\W\d][\w.]*\s*\?{1,2}\s*$|(?:pip|conda|mamba|uv pip)[ \t]+install\b)"
)


def without_cell_magic(source: str) -> str:
    """The source below `%%time` and its like; nothing of a cell in another language."""
    magic = _CELL_MAGIC.match(source)
    if magic is None:
        return source
    if magic.group(1) not in _TRANSPARENT_MAGICS:
        return ""  # %%bash, %%html …: nothing of it is Python
    return "\n" * magic.group().count("\n") + source[magic.end() :]


def without_indent(source: str) -> str:
    """As in IPython, a cell may be indented as a whole."""
    first = next((line for line in source.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    if not indent:
        return source
    return "\n".join(line.removeprefix(indent) for line in source.split("\n"))


def without_magics(source: str) -> str:
    """The source with `pass` for magics, shell lines and questions, None where assigned.

    Only the beginning of a logical line can be one: not a line within a string or within
    brackets, nor one that continues another.
    """
    lines = source.split("\n")
    state = LineState()
    number = 0
    while number < len(lines):
        line = lines[number]
        if state.is_clean and (python := _replaced(line)) is not None:
            lines[number] = python
            while not python.endswith("\\") and line.endswith("\\") and number + 1 < len(lines):
                number += 1  # it goes on below
                line, lines[number] = lines[number], ""
            line = python
        state.read(line)
        number += 1
    return "\n".join(lines)


def _replaced(line: str) -> str | None:
    """Python in place of a line that only IPython understands; None for any other."""
    if timed := _TIME.match(line):
        return timed[1] + line[timed.end() :]
    if escaped := _ESCAPED.match(line):
        return f"{escaped[1]}pass"
    if assigned := _ASSIGNED.match(line):
        return f"{assigned[1]} None"
    return None


_TOKEN = re.compile(r"""#|(\b[A-Za-z]{1,2})?("{3}|'{3}|"|')|([\[({])|([\])}])""")
_UNTIL = {
    '"': re.compile(r'(?:[^"\\]|\\.)*"'),
    "'": re.compile(r"(?:[^'\\]|\\.)*'"),
    '"""': re.compile(r'(?:[^"\\]|\\.|"(?!""))*"""'),
    "'''": re.compile(r"(?:[^'\\]|\\.|'(?!''))*'''"),
}


class LineState:
    """Whether a string, a bracket or a backslash goes on in the next line."""

    def __init__(self) -> None:
        self.quote: str | None = None
        self.depth = 0
        self.continued = False
        self.formatted: int | None = None  # characters of the f-string that is open
        self.longest_formatted = 0

    @property
    def is_clean(self) -> bool:
        """Whether a logical line begins here."""
        return self.quote is None and self.depth == 0 and not self.continued

    def read(self, line: str) -> None:
        """Go over one more line."""
        at = 0
        while True:
            if self.quote is not None:
                end = _UNTIL[self.quote].match(line, at)
                self._count((len(line) if end is None else end.end()) - at)
                if end is None:
                    self.continued = False
                    if len(self.quote) == 1 and not line.endswith("\\"):
                        self.quote = None  # a syntax error
                    return
                self.quote, self.formatted, at = None, None, end.end()
            token = _TOKEN.search(line, at)
            if token is None or token.group() == "#":
                break
            at = token.end()
            if token[2]:
                self.quote = token[2]
                self.formatted = 0 if "f" in (token[1] or "").lower() else None
            else:
                self.depth = self.depth + 1 if token[3] else max(self.depth - 1, 0)
        self.continued = token is None and line.endswith("\\")

    def _count(self, characters: int) -> None:
        if self.formatted is not None:
            self.formatted += characters
            self.longest_formatted = max(self.longest_formatted, self.formatted)


def long_fstring(source: str) -> tuple[int, str] | None:
    """Where an f-string ends that takes too long to parse."""
    if len(source) <= _MAX_FSTRING:
        return None
    state = LineState()
    for number, line in enumerate(source.split("\n"), 1):
        state.read(line)
        if state.longest_formatted > _MAX_FSTRING:
            return number, "an f-string in it is too long"
    return None
