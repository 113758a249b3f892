"""What a run was graded by, kept so that a repeated one need not load the set to compare.

Loading a set imports what its solutions import: PyTorch takes longer than all the rest of a run
in which nothing has changed. So the journal says what the set was like, and by a digest of all
files that the set may be made of, whether it still is.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from autograder import __version__
from autograder.case_drops import stamp_of_drops
from autograder.grading import Assignment
from autograder.result import Version
from autograder.versions import Basis


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of an assignment where nothing is to be graded.

    files: a digest of what it was made of. sentences: of misconceptions, by exercise.
    """

    files: str
    name: str
    seed: str
    bases: dict[str, Basis]
    quiz_basis: Basis
    version: Version
    dropped: dict[str, tuple[str, ...]]
    sentences: dict[str, dict[str, str]]

    @classmethod
    def of(cls, assignment: Assignment, files: str) -> Standing:
        """That of an assignment that was loaded when `digest_of_set` gave `files`."""
        return cls(
            files=files,
            name=assignment.name,
            seed=assignment.seed,
            bases=dict(assignment.bases),
            quiz_basis=assignment.quiz_basis,
            version=assignment.version,
            dropped={name: tuple(cases) for name, cases in assignment.dropped.items()},
            sentences={
                exercise.name: {known.name: known.sentence for known in exercise.misconceptions}
                for exercise in assignment.pack.exercises.values()
            },
        )


def digest_of_set(course: Path, assignment: str, *others: object) -> str:
    """Changes with any file under solutions/ (a set may use another's), and with what is left out.

    others: whatever else the results depend on.
    """
    digest = hashlib.sha256(repr((__version__, assignment, others)).encode())
    for path in sorted((course / "solutions").rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"\0{path.relative_to(course)}\0".encode("utf-8", "replace"))
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    digest.update(stamp_of_drops(course, assignment))
    return digest.hexdigest()
