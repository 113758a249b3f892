r"""Authors' Markdown as an LMS shows it: HTML, with formulas between \( and \).

`$…$` in a question is a formula, as in notebooks; MathJax in Moodle and elsewhere looks for
`\(…\)` and `\[…\]`, and would take `$` for money.
"""

from __future__ import annotations

import html
import re
from functools import lru_cache
from typing import Any

# Code first: what stands in it is no formula.
_MATH = re.compile(
    r"(?P<code>(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))"
    r"|(?<!\\)\$\$(?P<display>.+?)(?<!\\)\$\$"
    r"|(?<!\\)\$(?=\S)(?P<inline>[^$]+?)(?<=\S)(?<!\\)\$(?!\d)",
    re.DOTALL,
)
# Of Unicode's private use: no author types them, and Markdown lets them pass.
_OPEN, _CLOSE = "\ue000", "\ue001"
_HELD = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_PRE = re.compile(r"<pre>.*?</pre>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


@lru_cache(maxsize=1)
def _markdown() -> Any:
    from markdown_it import MarkdownIt  # comes with rich

    return MarkdownIt("commonmark").enable("table")


def as_html(text: str, *, inline: bool = False) -> str:
    """Markdown as HTML in one line; `inline` without the paragraph around it."""
    formulas: list[str] = []

    def hold(found: re.Match[str]) -> str:
        if found["code"] is not None:
            return found[0]
        left, right = (r"\(", r"\)") if found["display"] is None else (r"\[", r"\]")
        formula = found["inline"] or found["display"]
        formulas.append(html.escape(left + " ".join(formula.split()) + right, quote=False))
        return f"{_OPEN}{len(formulas) - 1}{_CLOSE}"

    rendered = str(_markdown().render(_MATH.sub(hold, text.strip())))
    rendered = _PRE.sub(lambda pre: pre[0].rstrip().replace("\n", "<br>"), rendered)
    rendered = " ".join(rendered.split("\n")).strip()
    if inline and rendered.startswith("<p>") and rendered.count("<p>") == 1:
        rendered = rendered.removeprefix("<p>").removesuffix("</p>")
    return _HELD.sub(lambda found: formulas[int(found[1])], rendered)


def as_plain(text: str) -> str:
    """Markdown as plain text, for places where a program takes no HTML."""
    return " ".join(html.unescape(_TAG.sub("", as_html(text))).split())
