"""The words of a remark, in the order of a feedback: checked → got → likely cause → next."""

from __future__ import annotations

import re

import msgspec

from autograder.result import ExerciseResult, Remark
from autograder.wording import one_line, sentence

# Where a feedback begins to speak of causes: what a small case shows comes before it.
_CAUSE = re.compile(r"\s*(Likely causes?|Observation|Next): ")
_NEXT = re.compile(r"\s*Next: ")
# What `wording.next_step` says where nothing is known; a question takes its place.
_PLAIN_NEXT = ("  Next: work through this case by hand", "  Next: try your code on inputs")


def with_remark(result: ExerciseResult, remark: Remark) -> ExerciseResult:
    """The result with its remark, and the feedback with the remark's lines."""
    lines = result.feedback.split("\n")
    at = next((i for i, line in enumerate(lines) if _CAUSE.match(line)), min(2, len(lines)))
    head, tail = lines[:at], lines[at:]
    head += smallest_case(remark)
    after = next((i for i, line in enumerate(tail) if _NEXT.match(line)), 0)
    causes, rest = tail[:after], tail[after:]
    causes += likely_place(remark)
    if remark.question:
        plain = bool(rest) and rest[0].startswith(_PLAIN_NEXT)
        question = sentence(remark.question)
        if plain or not rest or not _NEXT.match(rest[0]):
            rest = [f"  Next: {question}", *(rest[1:] if plain else rest)]
        else:
            rest = [rest[0], f"  Then: {question}", *rest[1:]]
    if remark.edit:
        rest.append(f"  Then: {sentence(remark.edit)}")
    text = "\n".join([*head, *causes, *rest])
    return msgspec.structs.replace(result, feedback=text, remark=remark)


def smallest_case(remark: Remark) -> list[str]:
    """“Smallest case: For scores = [[0, 1]], expected …, got …”."""
    if not remark.input:
        return []
    return [f"  Smallest case: For {remark.input}, expected {remark.expected}, got {remark.got}."]


def likely_place(remark: Remark) -> list[str]:
    """“Likely place: Line 7 of cell 3, `w = np.exp(s)`, which should give the weights”."""
    if remark.line is None:
        return []
    where = f"Line {remark.line} of {one_line(remark.cell or 'your code', 80)}"
    line = f", `{one_line(remark.source, 100)}`" if remark.source else ""
    step = f", which should give {remark.step}" if remark.step else ""
    return [f"  Likely place: {where}{line}{step}."]
