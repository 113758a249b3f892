"""The parser, and what all commands share: the course, and how they end with a fault."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from autograder import __version__

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Self-checks and grading for attention courses (attention-autograder).",
)


CourseOption = Annotated[
    Path | None,
    typer.Option("--course", help="The course's folder; by default the nearest with solutions/."),
]


class CalledWrongly(Exception):
    """One sentence for the user, ending with what to do next; exit status 2."""


def end(message: str, status: int) -> NoReturn:
    """Say a sentence on stderr, and end with this exit status."""
    print(f"autograder: {message}", file=sys.stderr)
    sys.exit(status)


def _version(show: bool) -> None:
    if show:
        print(f"attention-autograder {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    return None


def course_of(course: Path | None) -> Path:
    """The folder that --course names; by default the nearest with solutions/."""
    from autograder.pack import find_course

    return find_course(course)
