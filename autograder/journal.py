"""Results written down as they come: what was graded once is not graded again without need.

A line is one result with all that it depends on: the submission's bytes, the basis of each
exercise and of the quiz, the limits. A later line of the same student takes the place of an
earlier one; a line that was cut short is left out. So an interrupted run goes on where it
stopped, an author's change costs that exercise alone, and a regrade knows what it changes.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import IO

import msgspec

from autograder.files import MAX_FILE
from autograder.grading import Assignment
from autograder.moves import Kept, Move, with_kept
from autograder.result import ResultDocument, SubmissionResult, Version
from autograder.standing import Standing
from autograder.versions import Basis


class _Head(msgspec.Struct, frozen=True):
    """The first line: the last run."""

    assignment: str
    seed: str
    version: Version
    standing: Standing | None = None


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One result, as it was graded, and what it depends on.

    folder: a digest of the files. limits: what the submission might use, in words. kept: what
    counts in its place. moves: those of a run that was interrupted, and those that wait.
    """

    folder: str
    limits: str
    bases: dict[str, Basis]
    quiz: Basis
    result: SubmissionResult
    kept: Kept = Kept()
    moves: tuple[Move, ...] = ()

    def counting(self, assignment: Assignment | Standing | None = None) -> SubmissionResult:
        """The result that counts. assignment: to say what is of an earlier version."""
        outdated = []
        if assignment is not None:
            now = assignment.bases
            outdated = [name for name, basis in self.bases.items() if now.get(name, basis) != basis]
        return with_kept(self.result, self.kept, outdated)


class Entries(MutableMapping[str, Entry]):
    """The entries of a class by student, packed: a run of 10,000 holds a few MiB of them.

    Entries of a class have most of their text in common: each is packed as what differs from
    the first few.
    """

    FEW = 24

    def __init__(self) -> None:
        self._packed: dict[str, bytes] = {}
        self._common = b""  # as many of the first entries as zlib looks back to
        self._first: dict[str, bytes] = {}
        self._decoder = msgspec.msgpack.Decoder(Entry)

    def __getitem__(self, student: str) -> Entry:
        if student in self._first:
            return self._decoder.decode(self._first[student])
        unpacking = zlib.decompressobj(zdict=self._common)
        return self._decoder.decode(unpacking.decompress(self._packed[student]))

    def __setitem__(self, student: str, entry: Entry) -> None:
        encoded = msgspec.msgpack.encode(entry)
        if student in self._first or (not self._common and len(self._first) < self.FEW):
            self._first[student] = encoded
            return
        self._common = self._common or b"".join(self._first.values())[-(1 << 15) :]
        packing = zlib.compressobj(zdict=self._common)
        self._packed[student] = packing.compress(encoded) + packing.flush()

    def __delitem__(self, student: str) -> None:
        del (self._first if student in self._first else self._packed)[student]

    def __iter__(self) -> Iterator[str]:
        yield from self._first
        yield from self._packed

    def __len__(self) -> int:
        return len(self._first) + len(self._packed)


FINISHED = b'{"finished":true}'  # the last line of a run that has told all that it changed


class Journal:
    """The journal of a class. Use: `seed`, `open`, then `with journal: journal.add(…)`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

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

    def entries(self, assignment: str) -> dict[str, Entry]:
        """The last entry of each student; none when the journal is another assignment's."""
        head = self._head()
        return {} if head is None or head.assignment != assignment else self._entries()

    def standing(self) -> Standing | None:
        """What the last run graded by, if it has come to its end."""
        head = self._head()
        return None if head is None or not self.finished else head.standing

    def open(
        self,
        assignment: Assignment | Standing,
        entries: Mapping[str, Entry],
        standing: Standing | None = None,
    ) -> None:
        """Begin a run: the journal then contains exactly these entries."""
        head = _Head(assignment.name, assignment.seed, assignment.version, standing)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_name(self.path.name + ".new")
        with fresh.open("wb") as file:
            for item in (head, *entries.values()):
                file.write(msgspec.json.encode(item) + b"\n")
        os.replace(fresh, self.path)

    def add(self, entry: Entry) -> None:
        """Write an entry down; it survives a kill of this process."""
        assert self._file is not None
        self._file.write(msgspec.json.encode(entry) + b"\n")
        self._file.flush()

    def finish(self) -> None:
        """Write down that everything that moved has been told."""
        with self.path.open("ab") as file:
            file.write(FINISHED + b"\n")

    @property
    def finished(self) -> bool:
        """Whether the last run has told what moved."""
        try:
            return self.path.read_bytes().endswith(FINISHED + b"\n")
        except OSError:
            return False

    def document(self) -> ResultDocument | None:
        """What has been graded so far, as a result document; None when nothing has been."""
        head = self._head()
        entries = {} if head is None else self._entries()
        if head is None or not entries:
            return None
        results = [entries[student].counting() for student in sorted(entries)]
        return ResultDocument(
            assignment=head.assignment,
            seed=head.seed,
            isolation=results[0].isolation,
            version=head.version,
            submissions=tuple(results),
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

    def _entries(self) -> dict[str, Entry]:
        found: dict[str, Entry] = {}
        decoder = msgspec.json.Decoder(Entry)
        with self.path.open("rb") as file:
            file.readline()
            for raw in file:
                try:
                    entry = decoder.decode(raw)
                except msgspec.DecodeError:
                    continue  # the last line of a killed run, or of one that finished
                found[entry.result.student] = entry
        return found


def digest_of(folder: Path, assignment: str) -> str:
    """A digest of the files that may count, without following links."""
    digest = hashlib.sha256()
    for suffix in (".ipynb", ".py"):
        path = folder / f"{assignment}{suffix}"
        digest.update(suffix.encode())
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= MAX_FILE:
            digest.update(path.read_bytes())
    return digest.hexdigest()
