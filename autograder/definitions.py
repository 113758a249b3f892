"""What an author says of an exercise, one thing at a time: a case, a misconception, an alternative.

`autograder.exercise` collects them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from autograder.numerics import Bound
from autograder.program import Program
from autograder.specification import CaseKind

Implementation = Callable[..., Any]
CaseFunction = Callable[[np.random.Generator], Mapping[str, Any] | Sequence[Any] | Program]


@dataclass(frozen=True)
class CaseDefinition:
    """A case as its author wrote it: a function of a random generator.

    raises: name of the exception that the reference raises in it, and a solution has to.
    explained, watch, tolerance: see Exercise.case.
    """

    name: str
    title: str
    function: CaseFunction
    separates: tuple[str, ...]
    hidden: bool
    kind: CaseKind
    raises: str | None = None
    explained: bool = True
    watch: tuple[str, ...] = ()
    tolerance: Bound | None = None


@dataclass(frozen=True)
class Misconception:
    """Runnable wrong code, the sentence that names the mistake, and a hint."""

    name: str
    sentence: str
    hint: str
    implementation: Implementation
    credit: float
    hidden: bool


@dataclass(frozen=True)
class Alternative:
    """A right but unusual solution, which must be accepted."""

    name: str
    title: str
    implementation: Implementation
