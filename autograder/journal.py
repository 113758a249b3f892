"""Results written down as they come, so that an interrupted run goes on where it stopped.

A line is one result with what it depends on: the submission's bytes, the versions of the
exercises and the seed. A line that no longer fits, or was cut short, is left out.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import msgspec

from autograder import __version__
from autograder.files import MAX_FILE
from autograder.grading import Assignment
from autograder.result import ResultDocument, SubmissionResult, Version


class _Head(msgspec.Struct, frozen=True):
    """The first line: what all results of a journal share."""

    assignment: str
    seed: str
    package: str
    exercises: dict[str, str]


class _Line(msgspec.Struct, frozen=True):
    """One result, and the digest of the folder that it is of."""

    folder: str
    result: SubmissionResult


class Journal:
    """The journal of a run. Use: `seed`, `open`, then `with journal: journal.add(…)`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None
        self._folders: dict[str, str] = {}

    @classmethod
    def beside(cls, json_file: Path | None, course: Path, assignment: str) -> Journal:
        """The journal beside the result document, else in the course's `.autograder`."""
        if json_file is not None:
            return cls(json_file.with_name(json_file.name + ".journal"))
        return cls(course / ".autograder" / f"{assignment}.journal")

    def seed(self) -> str | None:
        """The seed of the run that is resumed, if there is one."""
        head = self._head()
        return None if head is None else head.seed

    def open(
        self, assignment: Assignment, submissions: Mapping[str, Path], *, resume: bool
    ) -> frozenset[str]:
        """Students whose results still hold; the journal then contains exactly these."""
        head = _Head(assignment.name, assignment.seed, __version__, assignment.pack.versions())
        self._folders = {name: _digest(path, assignment) for name, path in submissions.items()}
        kept: dict[str, _Line] = {}
        if resume and self._head() == head:
            for line in self._lines():
                student = line.result.student
                ours = line.result.outcome == "infrastructure"
                if self._folders.get(student) == line.folder and not ours:
                    kept[student] = line
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_name(self.path.name + ".new")
        encoded = [msgspec.json.encode(item) for item in (head, *kept.values())]
        fresh.write_bytes(b"".join(line + b"\n" for line in encoded))
        os.replace(fresh, self.path)
        return frozenset(kept)

    def add(self, result: SubmissionResult) -> None:
        """Write a result down; it survives a kill of this process."""
        assert self._file is not None
        line = _Line(self._folders[result.student], result)
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()

    def results(self) -> list[SubmissionResult]:
        """Every result in the journal; to be called when it is closed."""
        return [line.result for line in self._lines()]

    def document(self) -> ResultDocument | None:
        """What has been graded so far, as a result document; None when nothing has been."""
        head = self._head()
        results = [] if head is None else self.results()
        if head is None or not results:
            return None
        return ResultDocument(
            assignment=head.assignment,
            seed=head.seed,
            isolation=results[0].isolation,
            version=Version(package=head.package, exercises=head.exercises),
            submissions=tuple(sorted(results, key=lambda result: result.student)),
        )

    def __enter__(self) -> Journal:
        self._file = self.path.open("ab")
        return self

    def __exit__(self, *details: object) -> None:
        assert self._file is not None
        self._file.close()
        self._file = None

    def _head(self) -> _Head | None:
        try:
            with self.path.open("rb") as file:
                return msgspec.json.decode(file.readline(), type=_Head)
        except (OSError, msgspec.DecodeError):
            return None

    def _lines(self) -> list[_Line]:
        found = []
        for raw in self.path.read_bytes().split(b"\n")[1:]:
            try:
                found.append(msgspec.json.decode(raw, type=_Line))
            except msgspec.DecodeError:
                continue  # the last line of a killed run
        return found


def _digest(folder: Path, assignment: Assignment) -> str:
    """A digest of the files that may count, without following links."""
    digest = hashlib.sha256()
    for suffix in (".ipynb", ".py"):
        path = folder / f"{assignment.name}{suffix}"
        digest.update(suffix.encode())
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_FILE:
            digest.update(path.read_bytes())
    return digest.hexdigest()
