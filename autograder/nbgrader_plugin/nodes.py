"""The little of nbformat, which has no type hints, that the other modules use."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import nbformat


def node(content: Mapping[str, Any]) -> Any:
    """A cell, an output or metadata, with attributes as nbgrader wants them."""
    return nbformat.from_dict(content)  # type: ignore[no-untyped-call]


def notebook(cells: Sequence[Any], metadata: Mapping[str, Any]) -> Any:
    """A notebook of these cells."""
    about = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}
    return node(about)


def loads(text: str) -> Any:
    """A notebook of any format, brought up to date."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about what a later save would repair
        return nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]


def dumps(book: Any) -> str:
    """A notebook as it is written to a file."""
    text: str = nbformat.writes(book)  # type: ignore[no-untyped-call]
    return text.rstrip("\n") + "\n"


def grade_id_of(cell: Any) -> str | None:
    """The grade_id of a cell, if it has one."""
    about = cell.metadata.get("nbgrader")
    found = about.get("grade_id") if isinstance(about, dict) else None
    return found if isinstance(found, str) and found else None
