"""The process of a command: how it begins, and how it ends."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import NoReturn

import typer

from autograder.cli.app import app, end

# Packages that another extra than `instructor` brings.
_EXTRAS = {"torch": "torch"} | dict.fromkeys(("dask", "distributed", "cryptography"), "cluster")


class Terminated(BaseException):
    """SIGTERM: unwinds like Ctrl-C, so that everything that was opened is closed."""


def _terminate(number: int, frame: object) -> NoReturn:
    raise Terminated


def main() -> None:
    """Run the command. No traceback of ours reaches a user."""
    with contextlib.suppress(ValueError, AttributeError):  # not the main thread; Windows
        signal.signal(signal.SIGTERM, _terminate)
    # Read when NumPy and PyTorch are imported, which is later. Cases are small: more threads
    # would only wait for each other, spinning, on the cores that submissions are graded on.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        status = app(standalone_mode=False)  # the exit code of typer.Exit, which it catches
        if status == 130:  # what newer typers make of Ctrl-C
            raise KeyboardInterrupt
    except (typer.Abort, KeyboardInterrupt):
        end("interrupted; run the same command again to go on", 130)
    except Terminated:
        end("terminated; run the same command again to go on", 143)
    except Exception as error:
        end(sentence(error), 2)
    sys.exit(status or 0)


def sentence(error: Exception) -> str:
    """An error in one sentence. Ours carry theirs; click's is made of its parts."""
    usage = getattr(error, "format_message", None)  # the parser's own exceptions
    if usage is not None:
        return f"{usage().rstrip('.')}; see autograder --help"
    if isinstance(error, ModuleNotFoundError):
        extra = _EXTRAS.get(error.name or "", "instructor")
        return (
            f"this needs the package {error.name}; install it with "
            f"pip install 'attention-autograder[{extra}]'"
        )
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return (
            f"{error.strerror}{where}; see to it that there is room and that the folder can be "
            "written to, and run the same command again"
        )
    known = error.__class__.__module__.startswith("autograder")
    return str(error) if known else f"{type(error).__name__}: {error}; please report this"
