"""The little of nbformat, which has no type hints, that the other modules use."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import nbformat

# nbformat splits texts in these into lines, beside text/….
_TEXTS = ("application/javascript", "image/svg+xml")


def node(content: Mapping[str, Any]) -> Any:
    """A cell, an output or metadata, with attributes as nbgrader wants them."""
    return nbformat.from_dict(content)  # type: ignore[no-untyped-call]


def shallow(content: Mapping[str, Any]) -> Any:
    """A copy of a node: its own entries may be set; what is inside them is shared."""
    return nbformat.NotebookNode(content)  # type: ignore[no-untyped-call]


def notebook(cells: Sequence[Any], metadata: Mapping[str, Any]) -> Any:
    """A notebook of these cells, which are not copied."""
    about = {"nbformat": 4, "nbformat_minor": 5, "metadata": node(metadata), "cells": cells}
    return shallow(about)


def loads(text: str) -> Any:
    """A notebook of any format, brought up to date."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what a later save would repair
        return nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]


def dumps(book: Any) -> str:
    """A notebook as nbformat writes it to a file, thirty times as quickly, as it is not checked.

    For what this package makes: nbformat 4, and no numbers that take an exponent.
    """
    plain = {
        **book,
        "metadata": _without(book["metadata"], "orig_nbformat", "orig_nbformat_minor", "signature"),
        "cells": [_as_written(cell) for cell in book["cells"]],
    }
    encoded = msgspec.json.encode(plain, order="sorted")
    return msgspec.json.format(encoded, indent=1).decode() + "\n"


def _as_written(cell: Mapping[str, Any]) -> dict[str, Any]:
    made = {**cell, "source": cell["source"].splitlines(True)}
    if "trusted" in cell["metadata"]:
        made["metadata"] = _without(cell["metadata"], "trusted")
    if cell.get("attachments"):
        made["attachments"] = {name: _split(bundle) for name, bundle in cell["attachments"].items()}
    if cell["cell_type"] == "code":
        made["outputs"] = [_output_as_written(output) for output in cell["outputs"]]
    return made


def _output_as_written(output: Mapping[str, Any]) -> dict[str, Any]:
    if output["output_type"] == "stream":
        return {**output, "text": output["text"].splitlines(True)}
    if output["output_type"] in ("execute_result", "display_data"):
        return {**output, "data": _split(output["data"])}
    return dict(output)


def _split(bundle: Mapping[str, Any]) -> dict[str, Any]:
    return {
        kind: text.splitlines(True)
        if isinstance(text, str) and (kind.startswith("text/") or kind in _TEXTS)
        else text
        for kind, text in bundle.items()
    }


def _without(found: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in found.items() if key not in names}


def grade_id_of(cell: Any) -> str | None:
    """The grade_id of a cell, if it has one."""
    about = cell["metadata"].get("nbgrader")
    found = about.get("grade_id") if isinstance(about, dict) else None
    return found if isinstance(found, str) and found else None
