"""Pages in one file: their styles and scripts are inside, and nothing else may run.

A page says itself what it may do (Content-Security-Policy): styles and scripts by their
digests, pictures as data, no network at all. What students wrote is escaped by Jinja, or is
JSON that our script sets as text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

TEMPLATES = Path(__file__).parent / "templates"
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_VARIABLE = re.compile(r"\$([A-Za-z][\w, ]{0,12})\$")
_TICKED = re.compile(r"`([^`\n]{1,80})`")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "points": points,
        "prose": prose,
        "ticked": ticked,
        "times": times,
        "interval": interval,
    }
    return environment


def render(
    template: str, *, styles: Sequence[str], scripts: Sequence[str] = (), **about: Any
) -> str:
    """A template with the named style sheets and scripts from beside it."""
    style = "\n".join(_read(name) for name in styles)
    script = "\n".join(_read(name) for name in scripts)
    policy = (
        f"default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script) if script else ''}'"
    ).replace("script-src ''", "script-src 'none'")
    page = _environment().get_template(template)
    return page.render(policy=policy, style=Markup(style), script=Markup(script), **about)


@lru_cache(maxsize=8)
def _read(name: str) -> str:
    return (TEMPLATES / name).read_text("utf-8").strip()


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def data(value: Any) -> Markup:
    """JSON that can stand inside a script element, whatever texts are in it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def points(value: float | None) -> str:
    """Points as people write them; a dash where they are not known."""
    return "–" if value is None else f"{value:g}"


def times(value: float) -> str:
    """How many times as large: “3.2 ×”, and where that is long “5·10⁹ ×”."""
    if value < 1e4:
        return f"{value:.3g} ×"
    exponent = f"{value:.0e}".split("e+")[1].lstrip("0")
    return f"{value:.0e}".split("e")[0] + "·10" + exponent.translate(_RAISED) + " ×"


def interval(estimate: Any) -> str:
    """A figure and its interval, as “0.42 (0.10 to 0.66)”."""
    low, high = (f"{end:.2f}".replace("-", "−") for end in (estimate.low, estimate.high))
    return f"{estimate.value:.2f}".replace("-", "−") + f" ({low} to {high})"


@lru_cache(maxsize=1)
def _markdown() -> Any:
    from markdown_it import MarkdownIt  # comes with rich

    return MarkdownIt("commonmark", {"html": False}).disable("image")


@lru_cache(maxsize=1024)  # a set's texts are the same on every page of a class
def prose(text: str) -> Markup:
    """An author's Markdown as HTML; HTML in it is shown as text."""
    # a name between dollars, as in notebooks, is set as a variable; formulas stay as they are
    return Markup(_markdown().render(_VARIABLE.sub(r"*\1*", text)))


def ticked(text: str) -> Markup:
    """A sentence of ours in which `names` are set as code; anybody's text may be in it."""
    return Markup(_TICKED.sub(r"<code>\1</code>", str(escape(text))))
