"""Submissions as an LMS exports them, or plain folders, into nbgrader's layout, safely.

An archive is never unpacked as it stands (`archives`): only files with a name that we
understand are read, and written under a name that we made. Whatever is left out is reported
with its reason.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from dataclasses import replace as replaced
from pathlib import Path, PurePosixPath

from autograder.archives import SUFFIXES, CannotImport, Entry, entries_of

# In both, the first place that fits counts: what comes after it was named by the student.
# lastfirst_[LATE_]user_submission_name, with -1, -2 … for later attempts
_CANVAS = re.compile(
    r"(?P<who>.*?)_(?P<late>LATE_)?(?P<id>\d+)_(?P<attempt>\d+)_(?P<name>.+)", re.DOTALL
)
# “Full Name_participant_assignsubmission_file”, then a folder's slash or _name
_MOODLE = re.compile(
    r"(?P<who>.+?)_(?P<id>\d+)_assignsubmission_file_?(?P<rest>/.+|.+)?", re.DOTALL
)
# assignment_1_export/submission_23/name, beside a file that says who submitted
_GRADESCOPE = re.compile(r"(?:.+?/)??(?P<who>submission_\d+)/(?P<rest>.+)", re.DOTALL)
_GRADESCOPE_PEOPLE = "submission_metadata.yml"


@dataclass(frozen=True)
class Match:
    """Whose file it is. attempt: the greatest counts. name: as the LMS shows the student."""

    student: str
    suffix: str
    attempt: int
    name: str = ""
    late: bool = False


@dataclass(frozen=True)
class Report:
    """What was imported, student → files, and what was not, with reasons.

    noted: (path, what an instructor may want to know of it) of what was imported.
    """

    imported: dict[str, tuple[str, ...]]
    left_out: tuple[tuple[str, str], ...]
    noted: tuple[tuple[str, str], ...] = ()


def import_submissions(
    kind: str, source: Path, assignment: str, submitted: Path, *, replace: bool = False
) -> Report:
    """Copy submissions into `submitted/<student>/<assignment>/`.

    kind: "canvas", "moodle", "gradescope" or "folders" (a folder or zip file with one folder
    a student). A file that is there already is kept, unless `replace`. Raises CannotImport.
    """
    if kind not in MATCHERS:
        raise CannotImport(f"there is no kind {kind!r}; there are: {', '.join(MATCHERS)}")
    found: list[tuple[Match, Entry]] = []
    left_out: list[tuple[str, str]] = []
    people: Mapping[str, str] = {}
    for entry, problem in entries_of(source):
        match = problem or MATCHERS[kind](entry.path, assignment)
        if isinstance(match, Match):
            found.append((match, entry))
        elif kind == "gradescope" and entry.path.name == _GRADESCOPE_PEOPLE and not problem:
            people = _people(entry.read())
        else:
            left_out.append((str(entry.path), match))
    named = [(replaced(m, student=people.get(m.student, m.student)), e) for m, e in found]
    newest, earlier = _newest(named)
    left_out += earlier
    imported: dict[str, list[str]] = {}
    noted = []
    for (student, suffix), (match, entry) in sorted(newest.items(), key=lambda item: item[0]):
        target = submitted / student / assignment / f"{assignment}{suffix}"
        if target.is_symlink() or (target.exists() and not replace):
            left_out.append((str(entry.path), f"{target} is there already; give --replace"))
            continue
        _write(target, entry)
        imported.setdefault(student, []).append(target.name)
        if match.late:
            noted.append((str(entry.path), "handed in late"))
    noted += _namesakes(newest.values())
    files = {name: tuple(names) for name, names in imported.items()}
    return Report(files, tuple(left_out), tuple(noted))


def _newest(
    found: Iterable[tuple[Match, Entry]],
) -> tuple[dict[tuple[str, str], tuple[Match, Entry]], list[tuple[str, str]]]:
    """The last attempt of each student and kind of file, and the others with the reason."""
    newest: dict[tuple[str, str], tuple[Match, Entry]] = {}
    earlier = []
    for match, entry in found:
        key = match.student, match.suffix
        before = newest.get(key)
        if before is None:
            newest[key] = match, entry
        elif match.attempt == before[0].attempt:
            earlier.append((str(entry.path), f"the same student's as {before[1].path}"))
        else:
            old, new = sorted((before, (match, entry)), key=lambda pair: pair[0].attempt)
            newest[key] = new
            earlier.append((str(old[1].path), "there is a later attempt"))
    return newest, earlier


def _namesakes(found: Iterable[tuple[Match, Entry]]) -> list[tuple[str, str]]:
    """Different students whom the LMS shows under one name: one had better not mix them up."""
    by_name: dict[str, dict[str, Entry]] = {}
    for match, entry in found:
        if match.name:
            by_name.setdefault(match.name.casefold(), {}).setdefault(match.student, entry)
    noted = []
    for students in by_name.values():
        for student, entry in students.items() if len(students) > 1 else ():
            others = ", ".join(sorted(other for other in students if other != student))
            noted.append((str(entry.path), f"has the name of another student ({others})"))
    return noted


def _write(target: Path, entry: Entry) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(target.name + ".new")
    fresh.write_bytes(entry.read())
    os.replace(fresh, target)


# --- names -----------------------------------------------------------------------------


def _canvas(path: PurePosixPath, assignment: str) -> Match | str:
    found = _CANVAS.fullmatch(path.name)
    if found is None:
        return "not a name that Canvas gives (name_user_submission_file)"
    # the user's id: names are not unique, and Canvas takes grades back by it
    match = _matched(found["id"], found["name"], int(found["attempt"][:18]), assignment)
    if isinstance(match, str):
        return match
    return replaced(match, name=found["who"], late=found["late"] is not None)


def _moodle(path: PurePosixPath, assignment: str) -> Match | str:
    found = _MOODLE.fullmatch(str(path))
    if found is None or not found["rest"]:
        return "not a name that Moodle gives (Full Name_number_assignsubmission_file)"
    who = PurePosixPath(found["who"]).name  # without a folder around all
    name = PurePosixPath(found["rest"].lstrip("/")).name
    match = _matched(f"{who}_{found['id']}", name, 0, assignment)
    return match if isinstance(match, str) else replaced(match, name=who)


def _gradescope(path: PurePosixPath, assignment: str) -> Match | str:
    found = _GRADESCOPE.fullmatch(str(path))
    if found is None:
        return "not a path that Gradescope gives (assignment_…_export/submission_…/file)"
    return _matched(found["who"], PurePosixPath(found["rest"]).name, 0, assignment)


def _people(data: bytes) -> dict[str, str]:
    """Submission → the first submitter's student number, else email address."""
    import yaml

    try:
        about = yaml.safe_load(data)
    except yaml.YAMLError:
        return {}
    people = {}
    for submission, fields in about.items() if isinstance(about, dict) else ():
        submitters = fields.get(":submitters") if isinstance(fields, dict) else None
        for person in submitters[:1] if isinstance(submitters, list) else ():
            if isinstance(person, dict):
                who = student_folder(str(person.get(":sid") or person.get(":email") or ""))
                if who:
                    people[str(submission)] = who
    return people


def _folders(path: PurePosixPath, assignment: str) -> Match | str:
    if len(path.parts) < 2:
        return "not in a student's folder"
    # <student>/file or <student>/<assignment>/file, also below one common folder
    parents = [part for part in path.parts[:-1] if part != assignment]
    if not parents:
        return "not in a student's folder"
    return _matched(parents[-1], path.name, 0, assignment)


MATCHERS: dict[str, Callable[[PurePosixPath, str], Match | str]] = {
    "canvas": _canvas,
    "moodle": _moodle,
    "gradescope": _gradescope,
    "folders": _folders,
}

_COPY = re.compile(r"(?: ?\((?P<copy>\d+)\)|-(?P<again>\d+))$")


def named(name: str, assignment: str) -> tuple[str, int] | None:
    """(ending, number of the copy) of a file that has the assignment's name, else None.

    Copies are “name (1).ipynb” of a browser and “name-2.ipynb” of Canvas.
    """
    stem, suffix = os.path.splitext(name)
    if suffix.lower() not in SUFFIXES:
        return None
    found = _COPY.search(stem)
    again = 0
    if found is not None:
        again = min(int((found["copy"] or found["again"])[:9]), 999)
        stem = stem[: found.start()]
    return (suffix.lower(), again) if stem.casefold() == assignment.casefold() else None


def _matched(who: str, name: str, attempt: int, assignment: str) -> Match | str:
    """Whose it is, or why this file is not the assignment's."""
    suffix = PurePosixPath(name).suffix
    if suffix.lower() not in SUFFIXES:
        return f"neither a notebook nor a module ({suffix or 'no ending'})"
    ours = named(name, assignment)
    if ours is None:
        return f"not called {assignment}.ipynb or .py"
    student = student_folder(who)
    if not student:
        return "the student's name is empty"
    return Match(student, ours[0], attempt * 1000 + ours[1])


def student_folder(who: str) -> str:
    """A student's name as the name of a folder: no separators, controls or leading dots."""
    plain = unicodedata.normalize("NFC", who)
    kept = "".join(
        "_" if c in '/\\:*?"<>|' or unicodedata.category(c).startswith("C") else c for c in plain
    )
    return kept.strip(" ._")[:100].strip(" ._")
