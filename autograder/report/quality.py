"""The quality of a pack for a report: measured once, and kept until the pack changes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from autograder import __version__
from autograder.pack import load_pack
from autograder.validate import PackReport, validate

SEED = "validate"


class BadQuality(Exception):
    """A file that does not hold the figures; the message says what to do."""


class _Kept(msgspec.Struct, frozen=True):
    """What was measured, and of which version of the pack."""

    package: str
    versions: dict[str, str]
    report: PackReport


def measured(course: Path, assignment: str) -> PackReport:
    """The figures of `autograder validate`, from `.autograder/` if they still hold."""
    versions = load_pack(course, assignment).versions()
    path = course / ".autograder" / f"{assignment}.quality.json"
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=_Kept)
        if (kept.package, kept.versions) == (__version__, versions):
            return kept.report
    except (OSError, msgspec.DecodeError):
        pass
    (report,) = validate(course, [assignment], SEED)
    with contextlib.suppress(OSError):  # a course that cannot be written to is measured anew
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.json.encode(_Kept(__version__, versions, report)))
    return report


def read_quality(path: Path, assignment: str) -> PackReport:
    """The figures of one set from what `autograder validate --json` wrote; BadQuality."""
    try:
        reports = msgspec.json.decode(path.read_bytes(), type=list[PackReport])
    except (OSError, msgspec.DecodeError) as problem:
        raise BadQuality(
            f"{path} cannot be read as figures of a pack ({problem}); write it with "
            f"autograder validate {assignment} --json {path}"
        ) from problem
    for report in reports:
        if report.assignment == assignment:
            return report
    raise BadQuality(
        f"{path} has no figures of {assignment}; write them with "
        f"autograder validate {assignment} --json {path}"
    )
