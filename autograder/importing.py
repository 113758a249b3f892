"""Submissions as an LMS exports them, or plain folders, into nbgrader's layout, safely.

An archive is never unpacked as it stands: only regular files with a name that we
understand are read, each to a bound, and written under a name that we made. Whatever is
left out is reported with its reason.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder.files import MAX_FILE

MAX_ENTRIES = 200_000
SUFFIXES = (".ipynb", ".py")

# lastfirst_[LATE_]user_submission_name, with -1, -2 … for later attempts
_CANVAS = re.compile(r"(?P<who>[^_]+)_(?:LATE_)?(?P<id>\d+)_(?P<attempt>\d+)_(?P<name>.+)")
# “Full Name_participant_assignsubmission_file”, then a folder's slash or _name
_MOODLE = re.compile(r"(?P<who>.+)_(?P<id>\d+)_assignsubmission_file_?(?P<rest>/.+|.+)?")


class CannotImport(Exception):
    """The source cannot be imported from; the message says why and what is expected."""


@dataclass(frozen=True)
class Entry:
    """A regular file of an export: its path inside, and how its bytes are read."""

    path: PurePosixPath
    size: int
    read: Callable[[], bytes]


@dataclass(frozen=True)
class Report:
    """What was imported, student → files, and what was not, with reasons."""

    imported: dict[str, tuple[str, ...]]
    left_out: tuple[tuple[str, str], ...]


def import_submissions(
    kind: str, source: Path, assignment: str, submitted: Path, *, replace: bool = False
) -> Report:
    """Copy submissions into `submitted/<student>/<assignment>/`.

    kind: "canvas", "moodle" or "folders" (a folder or zip file with one folder a student).
    A file that is there already is kept, unless `replace`. Raises CannotImport.
    """
    if kind not in MATCHERS:
        raise CannotImport(f"there is no kind {kind!r}; there are: {', '.join(MATCHERS)}")
    match = MATCHERS[kind]
    imported: dict[str, list[str]] = {}
    left_out: list[tuple[str, str]] = []
    newest: dict[tuple[str, str], tuple[int, Entry]] = {}
    for entry, problem in _entries(source):
        shown = str(entry.path)
        if problem:
            left_out.append((shown, problem))
            continue
        found = match(entry.path, assignment)
        if isinstance(found, str):
            left_out.append((shown, found))
            continue
        student, suffix, attempt = found
        before = newest.get((student, suffix))
        if before is not None:
            older = min((before, (attempt, entry)), key=lambda pair: pair[0])
            left_out.append((str(older[1].path), "there is a later attempt"))
        if before is None or attempt > before[0]:
            newest[student, suffix] = (attempt, entry)
    for (student, suffix), (_, entry) in sorted(newest.items()):
        target = submitted / student / assignment / f"{assignment}{suffix}"
        if target.is_symlink() or (target.exists() and not replace):
            left_out.append((str(entry.path), f"{target} is there already; give --replace"))
            continue
        _write(target, entry)
        imported.setdefault(student, []).append(target.name)
    return Report({name: tuple(files) for name, files in imported.items()}, tuple(left_out))


def _write(target: Path, entry: Entry) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_name(target.name + ".new")
    fresh.write_bytes(entry.read())
    os.replace(fresh, target)


# --- names -----------------------------------------------------------------------------

Match = tuple[str, str, int]


def _canvas(path: PurePosixPath, assignment: str) -> Match | str:
    found = _CANVAS.fullmatch(path.name)
    if found is None:
        return "not a name that Canvas gives (name_user_submission_file)"
    # the user's id: names are not unique, and Canvas takes grades back by it
    return _matched(found["id"], found["name"], int(found["attempt"]), assignment)


def _moodle(path: PurePosixPath, assignment: str) -> Match | str:
    found = _MOODLE.fullmatch(str(path))
    if found is None or not found["rest"]:
        return "not a name that Moodle gives (Full Name_number_assignsubmission_file)"
    name = PurePosixPath(found["rest"].lstrip("/")).name
    return _matched(f"{found['who']}_{found['id']}", name, 0, assignment)


def _folders(path: PurePosixPath, assignment: str) -> Match | str:
    if len(path.parts) < 2:
        return "not in a student's folder"
    # <student>/file or <student>/<assignment>/file, also below one common folder
    parents = [part for part in path.parts[:-1] if part != assignment]
    if not parents:
        return "not in a student's folder"
    return _matched(parents[-1], path.name, 0, assignment)


MATCHERS = {"canvas": _canvas, "moodle": _moodle, "folders": _folders}

_COPY = re.compile(r"(?: ?\((?P<copy>\d+)\)|-(?P<again>\d+))$")


def _matched(who: str, name: str, attempt: int, assignment: str) -> Match | str:
    """(student, suffix, attempt), or why this file is not the assignment's."""
    stem, suffix = os.path.splitext(name)
    if suffix.lower() not in SUFFIXES:
        return f"neither a notebook nor a module ({suffix or 'no ending'})"
    found = _COPY.search(stem)  # “name (1).ipynb” of a browser, “name-2.ipynb” of Canvas
    if found is not None:
        again = int((found["copy"] or found["again"])[:9])
        attempt, stem = attempt * 1000 + min(again, 999), stem[: found.start()]
    else:
        attempt *= 1000
    if stem.casefold() != assignment.casefold():
        return f"not called {assignment}.ipynb or .py"
    student = student_folder(who)
    return (student, suffix.lower(), attempt) if student else "the student's name is empty"


def student_folder(who: str) -> str:
    """A student's name as the name of a folder: no separators, controls or leading dots."""
    plain = unicodedata.normalize("NFC", who)
    kept = "".join(
        "_" if c in '/\\:*?"<>|' or unicodedata.category(c).startswith("C") else c for c in plain
    )
    return kept.strip(" ._")[:100].strip(" ._")


# --- files -----------------------------------------------------------------------------


def _entries(source: Path) -> Iterator[tuple[Entry, str]]:
    """(entry, why it is left out or "") of every file in a folder or a zip file."""
    if source.is_dir():
        yield from _folder_entries(source)
    elif source.is_file() and zipfile.is_zipfile(source):
        yield from _zip_entries(source)
    elif source.exists():
        raise CannotImport(f"{source} is neither a folder nor a zip file; name one of these")
    else:
        raise CannotImport(f"there is no {source}; name the folder or zip file that was exported")


def _folder_entries(source: Path) -> Iterator[tuple[Entry, str]]:
    for folder, folders, files in os.walk(source, followlinks=False):
        folders.sort()
        for name in sorted(files):
            path = Path(folder) / name
            about = path.lstat()
            inner = PurePosixPath(path.relative_to(source).as_posix())
            entry = Entry(inner, about.st_size, path.read_bytes)
            if not stat.S_ISREG(about.st_mode):
                yield entry, "not a regular file"
            else:
                yield entry, _too_large(about.st_size)


def _zip_entries(source: Path) -> Iterator[tuple[Entry, str]]:
    try:
        archive = zipfile.ZipFile(source)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise CannotImport(f"{source} cannot be read as a zip file; export it again") from error
    with archive:
        infos = archive.infolist()
        if len(infos) > MAX_ENTRIES:
            raise CannotImport(f"{source} has more than {MAX_ENTRIES} files; import it in parts")
        for info in infos:
            if info.is_dir():
                continue
            path = PurePosixPath(info.filename.replace("\\", "/"))
            mode = info.external_attr >> 16
            problem = _too_large(info.file_size)
            if path.is_absolute() or ".." in path.parts or not path.parts:
                problem = "its path leads out of the archive"
            elif mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
                problem = "not a regular file"
            elif info.flag_bits & 1:
                problem = "it is encrypted"
            elif not problem:
                problem = _unreadable(archive, info)
            yield Entry(path, info.file_size, _reader(archive, info)), problem


def _reader(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Callable[[], bytes]:
    filename = archive.filename
    assert filename is not None

    def read() -> bytes:
        # the archive is open only while it is listed
        with zipfile.ZipFile(filename) as again, again.open(info) as file:
            return file.read(MAX_FILE)

    return read


def _unreadable(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    """Read to the end without keeping it: the header may lie about size and content."""
    if not info.filename.lower().endswith(SUFFIXES):
        return ""  # it is left out for its name
    size = 0
    try:
        with archive.open(info) as file:
            while piece := file.read(1 << 20):
                size += len(piece)
                if size > MAX_FILE:
                    return _too_large(size)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        return f"it is damaged ({error})"
    except Exception as error:  # zlib.error and lzma.LZMAError have no common base
        return f"it is damaged ({error})"
    return ""


def _too_large(size: int) -> str:
    return "larger than 256 MB" if size > MAX_FILE else ""
