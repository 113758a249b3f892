"""Which course a preprocessor works in, and small things that several modules ask."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any


def converter_of(part: Any) -> Any:
    """The converter that a preprocessor or an exporter belongs to; None outside of one."""
    while part is not None and getattr(part, "coursedir", None) is None:
        part = part.parent
    return part


def course_of(part: Any) -> Path:
    """The root of the course that a preprocessor or an exporter works for."""
    converter = converter_of(part)
    # converters work in the course's root
    return Path.cwd() if converter is None else Path(converter.coursedir.root)


def has_solutions(course: Path, assignment: str) -> bool:
    """Whether an assignment is ours; to generate others is left to nbgrader."""
    return (course / "solutions" / assignment / "__init__.py").is_file()


def silent_logger() -> logging.Logger:
    """For converters whose failures are raised: nobody has to read their log."""
    log = logging.Logger("autograder.nbgrader")  # not of the hierarchy: nobody else listens
    log.addHandler(logging.NullHandler())
    return log
