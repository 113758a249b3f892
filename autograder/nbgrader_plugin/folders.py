"""A student's folder in autograded/: made beside its place, and put there whole.

nbgrader deletes the folder first and fills it file by file, so that a run that is interrupted
leaves half of one. Here the earlier folder stays until the rows in the gradebook are written,
and comes back when they cannot be.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any


class Handed:
    """What `autograded/<student>/<assignment>` is made of, beside the notebooks, for a class."""

    def __init__(self, converter: Any, assignment: str) -> None:
        directory = converter.coursedir
        self.ignore: tuple[str, ...] = (*directory.ignore, "*.ipynb")
        self.permissions = int(str(converter.permissions), 8)
        self.groupshared = bool(directory.groupshared)
        self.source = Path(directory.format_path(directory.source_directory, ".", assignment))
        kept = {self.source / name for name in converter.exclude_overwriting.get(assignment, ())}
        # the instructor's files, which replace a student's own of the same names
        self.masters = [path for path in files_in(self.source, self.ignore) if path not in kept]


class Fresh:
    """A student's new folder. Use as a context manager: gone at its end, unless `put` was called.

    An exception after `put` brings the former folder back.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self._new = target.with_name(f".{target.name}.new")
        self._old = target.with_name(f".{target.name}.old")

    def __enter__(self) -> Fresh:
        if self._old.exists():  # of a run that was interrupted between the two renamings, or after
            if self.target.exists():
                shutil.rmtree(self._old)
            else:
                self._old.rename(self.target)
        if self._new.exists():
            shutil.rmtree(self._new)
        self._new.mkdir(parents=True)
        return self

    def fill(
        self, about: Handed, folder: Path, ignored: Sequence[str], notebooks: Mapping[str, str]
    ) -> None:
        """Copy the student's other files and the instructor's, and write the notebooks.

        ignored: patterns of names that are not copied. notebooks: text by file name.
        """
        masters = {path.relative_to(about.source): path for path in about.masters}
        for name, path in masters.items():
            self._copy(path, name, about.permissions)
        for path in files_in(folder, (*about.ignore, *ignored)):
            name = path.relative_to(folder)
            if name not in masters:
                # a folder of theirs with the name of a file of ours, or the other way round
                with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
                    self._copy(path, name, about.permissions)
        for title, text in notebooks.items():
            place = self._new / title
            place.write_text(text, "utf-8", newline="")
            place.chmod(about.permissions)
        if about.groupshared:
            share(self._new)

    def _copy(self, path: Path, name: Path, permissions: int) -> None:
        place = self._new / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
        place.chmod(permissions)

    def put(self) -> None:
        """Take the place of the former folder, which is kept aside."""
        if self.target.exists():
            self.target.rename(self._old)
        self._new.rename(self.target)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if fault is not None and not self._new.exists() and self.target.exists():
            self.target.rename(self._new)  # it was put
        if self._new.exists():
            shutil.rmtree(self._new)
        if self._old.exists():
            if fault is None:
                shutil.rmtree(self._old, ignore_errors=True)
            elif not self.target.exists():
                self._old.rename(self.target)


def share(folder: Path, below: bool = True) -> None:
    """Let the group write into a folder and those below it, and own what is made there."""
    for place in [str(folder), *(inside for inside, _, _ in os.walk(folder) if below)]:
        mode = stat.S_IMODE(os.stat(place).st_mode)
        if mode & 0o2770 != 0o2770:
            os.chmod(place, (mode | 0o2770) & 0o2777)


def files_in(folder: Path, ignore: Iterable[str]) -> list[Path]:
    """Files in a folder and below, as nbgrader finds those to be copied.

    ignore: patterns of names of files and folders; as in a shell, `*` finds no hidden ones.
    """
    patterns = tuple(ignore)
    if _is_ignored(folder.name, patterns):
        return []
    return [path for path in _walk(folder, patterns) if not _is_ignored(path.name, patterns)]


def _walk(folder: Path, patterns: Sequence[str]) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _is_ignored(name, patterns)]
        yield from (Path(place, name) for name in names)


def _is_ignored(name: str, patterns: Iterable[str]) -> bool:
    return any(
        fnmatch.fnmatchcase(name, pattern)
        for pattern in patterns
        if pattern.startswith(".") or not name.startswith(".")
    )
