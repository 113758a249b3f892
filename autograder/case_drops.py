"""Cases that were found faulty in mid-term and are left out, until the exercise is corrected.

They are written down in the course's `.autograder/<set>.dropped.json`, so that `grade`, nbgrader
and the reports leave out the same ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from autograder.cases import CALLED_AGAIN
from autograder.pack import Pack

# exercise → names of its cases that are left out, sorted
Drops = Mapping[str, tuple[str, ...]]


class CannotDrop(Exception):
    """There is no such case, or it cannot be left out; the message says what to write."""


def _path(course: Path, assignment: str) -> Path:
    return course / ".autograder" / f"{assignment}.dropped.json"


def stamp_of_drops(course: Path, assignment: str) -> bytes:
    """Changes when other cases are left out."""
    try:
        return _path(course, assignment).read_bytes()
    except OSError:
        return b""


def read_drops(course: Path, pack: Pack) -> Drops:
    """What is left out of a set, as far as the set still has it. CannotDrop for a broken file."""
    path = _path(course, pack.name)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        found = msgspec.json.decode(data, type=dict[str, tuple[str, ...]])
    except msgspec.DecodeError as problem:
        raise CannotDrop(
            f"{path} does not say which cases are left out ({problem}); delete it and drop them "
            "again with --drop-case"
        ) from problem
    return _sorted(
        {
            name: {case for case in cases if case in _cases(pack, name)}
            for name, cases in found.items()
            if name in pack.exercises
        }
    )


def changed_drops(
    pack: Pack, drops: Drops, drop: Sequence[str] = (), restore: Sequence[str] = ()
) -> Drops:
    """`drops` with more and fewer cases, each given as EXERCISE/CASE; CannotDrop if one is none."""
    found = {name: set(cases) for name, cases in drops.items()}
    for target in drop:
        exercise, case = _parsed(pack, target)
        found.setdefault(exercise, set()).add(case)
        if not {own.name for own in pack.exercises[exercise].cases} - found[exercise]:
            raise CannotDrop(
                f"without {target} no case of {exercise} is left; correct the exercise instead"
            )
    for target in restore:
        exercise, case = _parsed(pack, target)
        if case not in found.get(exercise, ()):
            raise CannotDrop(f"{target} was not dropped; leave out --restore-case {target}")
        found[exercise].discard(case)
    return _sorted(found)


def write_drops(course: Path, assignment: str, drops: Drops) -> None:
    """Write down what is left out from now on; whole or not at all."""
    path = _path(course, assignment)
    if not drops:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.write_bytes(msgspec.json.format(msgspec.json.encode(drops), indent=2) + b"\n")
    os.replace(fresh, path)


def _cases(pack: Pack, exercise: str) -> list[str]:
    own = [case.name for case in pack.exercises[exercise].cases]
    return own if CALLED_AGAIN in own else [*own, CALLED_AGAIN]


def _parsed(pack: Pack, target: str) -> tuple[str, str]:
    exercise, slash, case = target.partition("/")
    if not slash:
        raise CannotDrop(f"{target} is no case; write EXERCISE/CASE, such as softmax/far_below")
    if exercise not in pack.exercises:
        raise CannotDrop(
            f"{pack.name} has no exercise {exercise}; write one of {', '.join(pack.exercises)}"
        )
    if case not in _cases(pack, exercise):
        raise CannotDrop(
            f"{exercise} has no case {case}; write one of {', '.join(_cases(pack, exercise))}"
        )
    return exercise, case


def _sorted(found: Mapping[str, set[str]]) -> Drops:
    return {name: tuple(sorted(cases)) for name, cases in sorted(found.items()) if cases}
