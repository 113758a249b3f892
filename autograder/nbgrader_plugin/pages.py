"""What a submission may put into a page that an instructor opens: formgrader and feedback.

A notebook's Markdown may hold any HTML, and nbgrader's templates hand it to the browser as
it is. Here it goes through bleach on its way, with the tags that Markdown makes and
without scripts, styles, frames, forms and event handlers. Raw cells and outputs are
cleaned by nbconvert itself, once it is asked to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jinja2 import pass_context

TAGS = frozenset(
    """
    a abbr acronym b blockquote br caption code col colgroup dd del details div dl dt em
    figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre s samp small span
    strong sub summary sup table tbody td tfoot th thead tr u ul var
    """.split()  # noqa: SIM905  # a list of sixty literals would not be easier to check
)

PROTOCOLS = frozenset({"http", "https", "mailto", "data"})
PICTURES = ("image/png", "image/jpeg", "image/gif")  # an SVG can hold a script
NO_PICTURE = {"image/gif": ""}


def _link(tag: str, name: str, value: str) -> bool:
    return name in ("rel", "target") or (name == "href" and not _is_data(value))


def _picture(tag: str, name: str, value: str) -> bool:
    if name != "src":
        return name in ("alt", "width", "height")
    allowed = tuple(f"data:{kind};base64," for kind in PICTURES)
    return not _is_data(value) or _squeezed(value).startswith(allowed)


def _is_data(address: str) -> bool:
    return _squeezed(address).startswith("data:")


def _squeezed(address: str) -> str:
    """An address as a browser reads it: white space and control characters do not count."""
    return "".join(c for c in address if c > " " and c.isprintable()).lower()


ATTRIBUTES: dict[str, Any] = {
    "*": ["class", "id", "title", "align"],
    "a": _link,
    "img": _picture,
    "ol": ["start", "type"],
    "td": ["colspan", "rowspan"],
    "th": ["colspan", "rowspan", "scope"],
}


class _Attachments(dict[str, dict[str, str]]):
    """Pictures attached to a cell; whatever else is asked for is an empty one."""

    def __contains__(self, name: object) -> bool:
        return True

    def __missing__(self, name: str) -> dict[str, str]:
        return NO_PICTURE


def _attachments(cell: Any) -> _Attachments:
    found = _Attachments()
    held = cell.get("attachments") if isinstance(cell, Mapping) else None
    for name, kinds in held.items() if isinstance(held, Mapping) else ():
        if isinstance(kinds, Mapping):
            pictures = {kind: kinds[kind] for kind in PICTURES if isinstance(kinds.get(kind), str)}
            found[str(name)] = pictures or NO_PICTURE
    return found


@pass_context
def safe_markdown(context: Any, source: str) -> str:
    """Markdown to HTML, as nbconvert's filter of the name `markdown2html`, but harmless."""
    import bleach  # comes with nbconvert
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    renderer = IPythonRenderer(escape=False, attachments=_attachments(context.get("cell")))
    html = MarkdownWithMath(renderer=renderer).render(source)
    cleaned: str = bleach.clean(html, tags=TAGS, attributes=ATTRIBUTES, protocols=PROTOCOLS)
    return cleaned


def sanitise(c: Any) -> None:
    """Have every page that nbgrader makes of a notebook sanitised."""
    c.HTMLExporter.sanitize_html = True
    c.HTMLExporter.filters = {"markdown2html": f"{__name__}.safe_markdown"}
