"""What lies in a folder or a zip file that somebody else made: regular files, to a bound.

Nothing is unpacked here. An entry says where it lies and how it is read; beside it stands
why it may not be, for a path that leads out, a link, an encrypted or damaged member, or one
that is larger than it says.
"""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from autograder.files import MAX_FILE

MAX_ENTRIES = 200_000
SUFFIXES = (".ipynb", ".py")


class CannotImport(Exception):
    """The source cannot be imported from; the message says why and what is expected."""


@dataclass(frozen=True)
class Entry:
    """A regular file of an export: its path inside, and how its bytes are read."""

    path: PurePosixPath
    size: int
    read: Callable[[], bytes]


def entries_of(source: Path) -> Iterator[tuple[Entry, str]]:
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
