"""Formgrader's pages: names and files of submissions cannot act in an instructor's browser.

nbgrader puts the name of a student, and of whatever stands in an address, into its pages as
HTML, and hands out files of a submission's folder as pages of the server itself. Who can
open formgrader can do everything in it, so each of them would be a way to full marks.
"""

from __future__ import annotations

import functools
import html
import sys
from collections.abc import Mapping
from typing import Any

# A file of a submission may be looked at; it is no page of the server and runs no script.
ALONE = "sandbox; default-src 'none'; img-src 'self' data:; style-src 'unsafe-inline'"
_HANDLERS = "nbgrader.server_extensions.formgrader"
_DONE = "_autograder_patched"


def patch_formgrader() -> None:
    """Where formgrader is loaded, in a Jupyter server, have its pages escape what they show.

    Elsewhere nothing is done: importing formgrader takes long. Done once.
    """
    base = getattr(sys.modules.get(f"{_HANDLERS}.base"), "BaseHandler", None)
    handlers = sys.modules.get(f"{_HANDLERS}.handlers")
    if base is None or handlers is None or getattr(base, _DONE, False):
        return
    theirs_render, theirs_exporter = base.render, base.exporter.fget

    def render(self: Any, name: str, **shown: Any) -> str:
        page: str = theirs_render(self, name, **_escaped(shown))
        return page

    base.render = render
    base.exporter = property(lambda self: _Escaping(theirs_exporter(self)))
    handlers.SubmissionFilesHandler.set_extra_headers = _set_extra_headers
    setattr(base, _DONE, True)


def patch_api() -> None:
    """Where nbgrader's API is loaded, have a timestamp.txt that holds no time be none.

    Otherwise one student's ends formgrader's list of all submissions. Done once.
    """
    api = getattr(sys.modules.get("nbgrader.apps.api"), "NbGraderAPI", None)
    if api is None or getattr(api, _DONE, False):
        return
    theirs = api.get_submitted_timestamp

    @functools.wraps(theirs)
    def get_submitted_timestamp(self: Any, assignment_id: str, student_id: str) -> Any:
        try:
            return theirs(self, assignment_id, student_id)
        except (ValueError, OverflowError, OSError) as problem:
            self.log.warning("timestamp.txt of %s is ignored (%s)", student_id, problem)
            return None

    api.get_submitted_timestamp = get_submitted_timestamp
    setattr(api, _DONE, True)


def _set_extra_headers(handler: Any, path: str) -> None:
    handler.set_header("Content-Security-Policy", ALONE)
    handler.set_header("X-Content-Type-Options", "nosniff")


class _Escaping:
    """An exporter whose templates get texts about a submission as HTML."""

    def __init__(self, exporter: Any) -> None:
        self._exporter = exporter

    def from_filename(self, filename: str, resources: Mapping[str, Any]) -> Any:
        return self._exporter.from_filename(filename, resources=_escaped(resources))


def _escaped(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Texts as HTML, those in dictionaries too.

    The templates put them between tags, into attributes in double quotes, and into scripts as
    strings in double quotes. So an apostrophe is harmless, and has to stay: as an entity in a
    script it would make another name of O'Neill.
    """
    return {name: _escape(value) for name, value in shown.items()}


def _escape(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _escaped(value)
    if isinstance(value, str):
        return html.escape(value, quote=False).replace('"', "&quot;")
    return value
