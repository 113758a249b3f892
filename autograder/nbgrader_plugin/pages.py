"""What a submission may put into a page that an instructor opens: formgrader and feedback.

A notebook's Markdown may hold any HTML, and nbgrader's templates hand it to the browser as
it is. Here it goes through bleach on its way, with the tags that Markdown makes and
without scripts, styles, frames, forms and event handlers. Raw cells and outputs are
cleaned by nbconvert itself, once it is asked to.
"""

from __future__ import annotations

from typing import Any

from jinja2 import pass_context

TAGS = frozenset(
    """
    a abbr acronym b blockquote br caption code col colgroup dd del details div dl dt em
    figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre s samp small span
    strong sub summary sup table tbody td tfoot th thead tr u ul var
    """.split()  # noqa: SIM905  # a list of sixty literals would not be easier to check
)

# Links and images keep web addresses only: bleach drops `javascript:` and `data:` by itself.
ATTRIBUTES = {
    "*": ["class", "id", "title", "align"],
    "a": ["href", "rel", "target"],
    "img": ["src", "alt", "width", "height"],
    "ol": ["start", "type"],
    "td": ["colspan", "rowspan"],
    "th": ["colspan", "rowspan", "scope"],
}


@pass_context
def safe_markdown(context: Any, source: str) -> str:
    """Markdown to HTML, as nbconvert's filter of the name `markdown2html`, but harmless."""
    import bleach  # comes with nbconvert
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    html = MarkdownWithMath(renderer=IPythonRenderer(escape=False)).render(source)
    cleaned: str = bleach.clean(html, tags=TAGS, attributes=ATTRIBUTES)
    return cleaned


def sanitise(c: Any) -> None:
    """Have every page that nbgrader makes of a notebook sanitised."""
    c.HTMLExporter.sanitize_html = True
    c.HTMLExporter.filters = {"markdown2html": f"{__name__}.safe_markdown"}
