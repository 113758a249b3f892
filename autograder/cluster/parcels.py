"""What travels between the client and the workers: the course, batches, results.

No file system need be shared. The course travels once to each worker, with its solutions: workers
are as trusted as the client, and so is the way between them. Submissions travel as cells of source,
read by the client and not parsed. A result has the key of what it was asked for, so that one that
comes twice is taken once.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import platform
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from autograder import __version__
from autograder.case_drops import Drops
from autograder.files import Handed, Unreadable
from autograder.grading import Assignment, Earlier
from autograder.observe.session import Limits
from autograder.result import SubmissionResult

# A task of more source than this is sent off as it is; one submission holds at most a few MB.
BATCH_BYTES = 1 << 22


@dataclass(frozen=True)
class Course:
    """What a worker needs in order to grade: the solutions, and how the run was asked to grade."""

    assignment: str
    seed: str = field(repr=False)
    limits: Limits
    dropped: Drops
    allow_unsandboxed: bool
    explain: bool
    archive: bytes = field(repr=False)

    @classmethod
    def pack(
        cls, course: Path, assignment: Assignment, limits: Limits, allow_unsandboxed: bool
    ) -> Course:
        """From the course's folder. All sets go along, as one may give exercises to another."""
        return cls(
            assignment.name,
            assignment.seed,
            limits,
            {name: tuple(cases) for name, cases in assignment.dropped.items()},
            allow_unsandboxed,
            assignment.explain,
            _archive(course / "solutions"),
        )

    @property
    def key(self) -> str:
        """A digest of all that results depend on beside the submission."""
        rest = (self.assignment, self.seed, self.limits, self.dropped, self.explain)
        return digest(__version__, repr(rest), self.allow_unsandboxed, self.archive)

    def unpack(self, folder: Path) -> Assignment:
        """Load the assignment from a folder that this fills, and draw its cases."""
        with zipfile.ZipFile(io.BytesIO(self.archive)) as archive:
            archive.extractall(folder)
        made = Assignment.load(
            folder, self.assignment, self.seed, self.dropped, explain=self.explain
        )
        assert made.specs is not None and made.references is not None  # before there are threads
        return made


def _archive(solutions: Path) -> bytes:
    """The folder as a zip file: the same bytes for the same content."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(solutions.rglob("*")):
            inner = path.relative_to(solutions.parent)
            if path.is_file() and "__pycache__" not in inner.parts:
                archive.writestr(zipfile.ZipInfo(inner.as_posix()), path.read_bytes())
    return packed.getvalue()


@dataclass
class Item:
    """A submission to be graded. deaths: of workers that were grading it, perhaps with others."""

    key: str
    student: str
    handed: Handed
    earlier: Earlier | None
    deaths: int = 0
    faults: int = 0

    @property
    def size(self) -> int:
        """Characters of source."""
        files = (file for file in self.handed.files if not isinstance(file, Unreadable))
        return sum(len(cell.source) for file in files for cell in file.cells)


def items(
    run: str,
    assignment: Assignment,
    submissions: Mapping[str, Path],
    earlier: Mapping[str, Earlier],
) -> Iterator[Item]:
    """Submissions, read as they are asked for. run: the key of the course."""
    for student, folder in submissions.items():
        handed = assignment.handed(folder)
        files = tuple(
            file if isinstance(file, Unreadable) else replace(file, path=Path(file.path.name))
            for file in handed.files
        )
        known = earlier.get(student)
        again = None if known is None else sorted(known.again)
        what = [str(file) if isinstance(file, Unreadable) else file.sha256 for file in files]
        key = digest(run, student, repr((what, handed.nothing, again)))
        yield Item(key, student, Handed(files, handed.nothing), known)


@dataclass(frozen=True)
class Graded:
    """The result of an item. kept: exercises whose results are those of before."""

    key: str
    result: SubmissionResult
    kept: frozenset[str] = frozenset()


def digest(*parts: object) -> str:
    """A digest of some parts, told apart."""
    found = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        found.update(b"%d:" % len(data) + data)
    return found.hexdigest()[:32]


def packed(content: Any) -> bytes:
    """Anything of ours as bytes; source code shrinks to a quarter."""
    return zlib.compress(pickle.dumps(content, pickle.HIGHEST_PROTOCOL), 1)


def unpacked(data: bytes) -> Any:
    """The content again. For what our own workers and clients have packed, and for nothing else."""
    return pickle.loads(zlib.decompress(data))


def versions(framework: str) -> dict[str, str]:
    """What has to be the same on the client and on workers, for results to be the same."""
    found = {
        "attention-autograder": __version__,
        "Python": ".".join(platform.python_version_tuple()[:2]),
    }
    for package in dict.fromkeys(("numpy", framework)):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    return found
