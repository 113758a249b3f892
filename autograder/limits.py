"""What an author says of an exercise's limits, read and refused where it cannot be kept."""

from __future__ import annotations

import math
from dataclasses import replace

from autograder.signature import AuthoringError
from autograder.specification import ExerciseLimits

# The least with which a process can do anything at all: below it every submission would fail.
# Open files: five are taken, and Python opens a few more while it imports.
LEAST = {"cpu": 1, "memory": 16, "output": 0, "files": 16}

NO_PROCESSES = (
    "the sandbox can give a submission no processes or threads, so processes can only be 0: a "
    "child that could make some could leave some behind; leave it out"
)


def read_limits(
    exercise: str,
    limits: ExerciseLimits | None,
    *,
    seconds: float | None = None,
    memory: int | None = None,
) -> ExerciseLimits:
    """The limits of an exercise, where `seconds` and `memory` may stand beside `limits`.

    Raises AuthoringError for a limit that is said twice or that no process can be held to.
    """
    made = limits or ExerciseLimits()
    for name, value in (("seconds", seconds), ("memory", memory)):
        if value is not None and getattr(made, name) is not None:
            raise AuthoringError(f"{exercise}: {name} is given twice; leave it in one place")
    made = replace(
        made,
        seconds=made.seconds if seconds is None else seconds,
        memory=made.memory if memory is None else memory,
    )
    for name, value in made.as_given().items():
        _refuse(exercise, name, value)
    return made


def _refuse(exercise: str, name: str, value: float) -> None:
    wanted = (int, float) if name == "seconds" else int
    is_number = isinstance(value, wanted) and not isinstance(value, bool)
    if name == "seconds":
        if not (is_number and 0 < value < math.inf):
            raise AuthoringError(f"{exercise}: seconds is a number above 0, not {value!r}")
    elif not is_number or value < 0:
        raise AuthoringError(f"{exercise}: {name} is a whole number, not {value!r}")
    elif name == "processes" and value != 0:
        raise AuthoringError(f"{exercise}: {NO_PROCESSES}")
    elif value < LEAST.get(name, 0):
        raise AuthoringError(f"{exercise}: {name} is {LEAST[name]} at least, not {value}")
