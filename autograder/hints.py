"""What a result's own observation cannot tell: the parts it may call, what was left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from autograder import wording
from autograder.program import Raised
from autograder.result import ExerciseResult
from autograder.specification import ExerciseSpec
from autograder.submission import Submission

# Outcomes of an exercise that a part which it calls can be the cause of.
_MAY_BE_A_PART = ("failed", "error", "timed_out", "out_of_memory", "crashed")

_NOT_DEFINED = re.compile(r"name '(\w+)' is not defined")


def with_hints(
    submission: Submission,
    spec: ExerciseSpec,
    results: Mapping[str, ExerciseResult],
    raised: Raised | None,
) -> ExerciseResult:
    """The result with what its own observation cannot tell."""
    result = results[spec.name]
    if result.outcome not in _MAY_BE_A_PART:
        return result
    lines: list[str] = []
    if result.outcome == "error" and raised is not None:
        lines += _about_exception(submission, raised)
    wrong = [
        f"`{name}`"
        for name in spec.needs
        if name in results and results[name].outcome not in ("passed", "infrastructure")
    ]
    if wrong:
        names = " and ".join(wrong)
        lines.append(
            f"It may call {names}, not right yet: repair that first, then look here again."
        )
    return with_lines(result, lines)


def _about_exception(submission: Submission, raised: Raised) -> Iterator[str]:
    if raised.is_a("ImportError"):
        yield "Only the packages named in the notebook can be imported."
    if raised.is_a("EOFError"):
        yield "Nobody answers `input()` here: write a value in its place."
    name = _NOT_DEFINED.search(raised.message)
    if raised.is_a("NameError") and name is not None:
        cell = submission.broken_cell(name[1])
        if cell is not None:
            yield f"`{name[1]}` was left out: {wording.one_line(cell.words)}."


def with_lines(result: ExerciseResult, lines: Sequence[str]) -> ExerciseResult:
    """The result with more lines below its feedback."""
    text = "\n".join([result.feedback, *(f"  {line}" for line in lines)])
    return msgspec.structs.replace(result, feedback=text)
