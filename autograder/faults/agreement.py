"""Whether the cheapest repairs agree, and on which place.

It is spoken only where they do: all of them change one line, or all are the same kind of edit in
one step that is spread over several. Else nothing is known, and nothing is said.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Sequence

from autograder.faults.candidates import Candidate, Line
from autograder.faults.edits import Edit
from autograder.faults.failure import Failure, Place
from autograder.faults.search import Repairs
from autograder.faults.steps import key_of, question_of, step_of
from autograder.submission import Submission

# Lines of one step, each of which uses what the one before it makes.
MAX_CHAIN = 3


def agree(repairs: Repairs, failure: Failure) -> Place | None:
    """The place on which the repairs agree; None when they do not, or when there are none."""
    found = repairs.found
    if not found:
        return None
    common = frozenset.intersection(*(repair.lines for repair in found))
    best = found[0]
    if not common:
        steps = {_step(repair, failure) for repair in found}
        if len(steps) > 1 or "" in steps:
            return None
        if _is_one_repair(found):
            # a factor can be put in early or late: what comes last is where it is missed
            best = max(found, key=lambda repair: max(repair.lines))
        elif not _one_chain(found, failure.submission):
            return None
        common = best.lines
    return _place(best, min(common), failure)


def _is_one_repair(repairs: Sequence[Candidate]) -> bool:
    """Whether it is the same single edit in several places, or a step put in anywhere."""
    edits = [edit for repair in repairs for _, edit in repair.edits]
    put_in = all(edit.family in ("scaled", "applied") for edit in edits)
    kinds = {(edit.family, edit.after, edit.about) for edit in edits}
    return len(edits) == len(repairs) and (put_in or len(kinds) == 1)


def _one_chain(repairs: Sequence[Candidate], submission: Submission) -> bool:
    """Whether all lines but the last only make what the next of them uses."""
    lines = sorted(frozenset.union(*(repair.lines for repair in repairs)))
    if len(lines) > MAX_CHAIN or len({position for position, _ in lines}) > 1:
        return False
    for first, then in itertools.pairwise(lines):
        made = re.match(r"([A-Za-z_]\w*) *[-+*/@]?= ", source_line(submission, first))
        if made is None:
            return False
        if not re.search(rf"\b{made[1]}\b", source_line(submission, then)):
            return False
    return True


def _step(repair: Candidate, failure: Failure) -> str:
    position, edit = repair.edits[0]
    line = source_line(failure.submission, (position, edit.line))
    return step_of(line, edit, failure.spec.name)


def source_line(submission: Submission, line: Line) -> str:
    """A line of a statement as the student wrote it, without its indentation."""
    position, number = line
    lines = submission.statements[position].source.split("\n")
    return lines[number - 1].strip() if number <= len(lines) else ""


def _place(repair: Candidate, line: Line, failure: Failure) -> Place:
    statement = failure.submission.statements[line[0]]
    edit = _edit_at(repair.edits, line)
    source = source_line(failure.submission, line)
    step = step_of(source, edit, failure.spec.name)
    return Place(
        line=statement.line + line[1] - 1,
        cell=statement.cell,
        source=source,
        step=step,
        question=question_of(step, edit),
        key="; ".join(sorted(key_of(each, step, _own(statement.node)) for _, each in repair.edits)),
        edit=" and ".join(_words(each) for _, each in repair.edits),
    )


def _own(node: ast.stmt) -> set[str]:
    """Variables that the functions of a statement assign."""
    return {
        part.id
        for part in ast.walk(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
    }


def _edit_at(edits: Sequence[tuple[int, Edit]], line: Line) -> Edit:
    for position, edit in edits:
        if position == line[0] and line[1] in edit.lines:
            return edit
    return edits[0][1]


def _words(edit: Edit) -> str:
    """“`axis=1` → `axis=0`”, or what is put in or taken out."""
    if edit.before and edit.after:
        return f"write `{edit.after}` in place of `{edit.before}`"
    return f"put in `{edit.after}`" if edit.after else f"take out `{edit.before}`"
