"""A student's values beside the reference's on one public case, and the words for where they part.

The reference is traced here, on the trusted side, while its own function runs on the same case.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autograder.faults.failure import Failure, Place
from autograder.faults.runner import Runner
from autograder.faults.trace import (
    Numbers,
    Parting,
    Record,
    parting,
    read_trace,
    same_numbers,
    suspects,
)
from autograder.judge import judge_case
from autograder.pack import Pack
from autograder.program import Call, LoadWeights, Observed, Program
from autograder.results_view import argument_view
from autograder.specification import Case, ExerciseSpec
from autograder.wire import in_double

# What solutions call the steps of attention, and how a student is told of them. A name that is
# not here is the author's own, and is not said.
STEPS: Mapping[str, str] = {
    "Q": "the queries",
    "K": "the keys",
    "V": "the values",
    "scores": "the scores",
    "scaled": "the scaled scores",
    "masked": "the masked scores",
    "exponentials": "the exponentials",
    "weights": "the weights",
    "output": "the output",
}
RESULT = "the result"
QUESTIONS: Mapping[str, str] = {
    "the queries": "Which matrix makes the queries, and of what?",
    "the keys": "Which matrix makes the keys, and of what?",
    "the values": "Which matrix makes the values, and of what?",
    "the scores": "Over which axis does the inner product of a query and a key run?",
    "the scaled scores": "By which number is a score divided, and why by that one?",
    "the masked scores": "Which scores must vanish in the softmax, and which stay as they are?",
    "the exponentials": "What is shifted before the exponential, and by what?",
    "the weights": "What should the weights of one query sum to, and along which axis?",
    "the output": "What is summed for one query, with which weights, along which axis?",
}
PLAIN = "Work out by hand what this line should give for the case above: where does yours part?"


@dataclass(frozen=True)
class Traced:
    """What a trace told. place: where it is clear. suspects: lines, the likely ones first."""

    place: Place | None = None
    suspects: Sequence[tuple[str, int]] = ()


def compare_traces(pack: Pack, failure: Failure, run: Runner) -> Traced:
    """The student's values beside the reference's, on a public case that fails."""
    case = _case_for(failure.spec)
    if case is None:
        return Traced()
    program = _traced(case.program)
    observed = run(program)
    if observed is None or judge_case(failure.spec, case, observed) is None:
        return Traced()
    # what other exercises do inside is theirs: they are right, and the reference's are not seen
    student = [
        record
        for record in _records(observed)
        if record.function.split(".")[0] not in failure.spec.needs
    ]
    reference = pack.exercises[failure.spec.name].reference
    milestones = _records(pack.observe(failure.spec.name, reference, in_double(program)))
    inputs = list(_inputs(program))
    lines = [place for place in suspects(student, milestones, inputs) if _is_theirs(failure, place)]
    found = parting(student, milestones, inputs)
    if found is None or any(step.raised is not None for step in observed):
        return Traced(None, lines)
    names = operands(failure, found, student, milestones)
    if names is None:
        return Traced(None, lines)
    return Traced(_place(failure, found, names), lines)


def operands(
    failure: Failure, found: Parting, student: Sequence[Record], reference: Sequence[Record]
) -> Mapping[str, str] | None:
    """What the line's variables are in the reference; None when one is not known to be right.

    Those that the function assigned itself have to be a milestone each, and not two the same: a
    number, a list, or the input under another name may be what is wrong.
    """
    definition = failure.submission.definition(failure.spec.name)
    statement = _statement(failure, found.record)
    if definition is None or statement is None:
        return None
    names = [node for node in ast.walk(definition) if isinstance(node, ast.Name)]
    assigned = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    before = list(itertools.takewhile(lambda record: record is not found.record, student))
    values = {record.name: record.values for record in before if record.name}
    known: dict[str, str] = _arguments(definition, failure.spec)
    taken: set[int] = set()
    for name in sorted(_loaded(statement) & assigned):
        held = values.get(name)
        match = None if held is None else _milestone(held, reference)
        # one milestone under two names: one of them was to be another
        twins = [n for n, v in values.items() if n != name and held is not None and _is(v, held)]
        if match is None or match in taken or twins:
            return None
        taken.add(match)
        known[name] = reference[match].name or name
    return known


def _arguments(definition: ast.AST, spec: ExerciseSpec) -> dict[str, str]:
    """What the student calls the parameters → what the exercise does."""
    if not isinstance(definition, ast.FunctionDef):
        return {}
    own = [item.arg for item in (*definition.args.posonlyargs, *definition.args.args)]
    return dict(zip(own, spec.parameters, strict=False))


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self.names.get(node.id, node.id), node.ctx)


def _alike(failure: Failure, record: Record, names: Mapping[str, str]) -> str:
    """The line as all who made this mistake would have written it, with the usual names."""
    statement = _statement(failure, record)
    value = getattr(statement, "value", None)
    if not isinstance(value, ast.expr):
        return ""
    if isinstance(value, ast.Tuple) and isinstance(statement, ast.Return):
        value = value.elts[0]
    return ast.unparse(_Renamed(names).visit(copy.deepcopy(value)))[:100]


def _is(one: Numbers, other: Numbers) -> bool:
    return one.shape == other.shape and same_numbers(one, other)


def _milestone(values: Numbers, reference: Sequence[Record]) -> int | None:
    """The first milestone that holds these numbers, samples along the same axis."""
    for at, record in enumerate(reference):
        if same_numbers(values, record.values):
            one, other = values.shape, record.values.shape
            turned = len(one) == len(other) > 2 and one[0] != other[0]
            return None if turned else at
    return None


def _loaded(node: ast.AST) -> set[str]:
    inside = [inner for inner in ast.walk(node) if isinstance(inner, ast.Name)]
    return {inner.id for inner in inside if isinstance(inner.ctx, ast.Load)}


def _statement(failure: Failure, record: Record) -> ast.stmt | None:
    """The innermost statement of the student's at a record's line."""
    best: ast.stmt | None = None
    for position in failure.submission.slice_for([failure.spec.name]):
        top = failure.submission.statements[position]
        if top.cell != record.cell:
            continue
        # lines of a node count from the beginning of its statement or of its cell
        shift = top.line - top.node.lineno
        for node in ast.walk(top.node):
            if not isinstance(node, ast.stmt):
                continue
            last = (node.end_lineno or node.lineno) + shift
            inside = node.lineno + shift <= record.line <= last
            if inside and (best is None or node.lineno >= best.lineno):
                best = node
    return best if not isinstance(best, (ast.FunctionDef, ast.ClassDef)) else None


def _case_for(spec: ExerciseSpec) -> Case | None:
    """The first public case of one call: authors put the telling one there."""
    for case in spec.cases:
        raises = any(step.raised is not None for step in case.expected)
        if not case.hidden and not raises and len(case.program.calls) == 1:
            return case
    return None


def _traced(program: Program) -> Program:
    """Up to the call, watched for nothing else."""
    last = program.calls[0][0]
    steps = program.steps[: last + 1]
    return replace(program, steps=steps, forbidden={}, operators=False, trace=True)


def _records(observed: Sequence[Observed]) -> list[Record]:
    return [record for step in observed for record in read_trace(step.notes)]


def _inputs(program: Program) -> Sequence[Numbers]:
    values = []
    for step in program.steps:
        if isinstance(step, Call):
            values += list(step.named.values())
        elif isinstance(step, LoadWeights):
            values += list(step.weights.values())
    views = [argument_view(value) for value in values]
    return [
        np.asarray(view, dtype=np.float64)
        for view in views
        if isinstance(view, np.ndarray) and view.dtype.kind in "biuf"
    ]


def _is_theirs(failure: Failure, place: tuple[str, int]) -> bool:
    """Whether a line that a trace names is one of the exercise's: a trace may be forged."""
    return bool(_source(failure, place))


def _source(failure: Failure, place: tuple[str, int]) -> str:
    cell, line = place
    submission = failure.submission
    for position in submission.slice_for([failure.spec.name]):
        statement = submission.statements[position]
        lines = statement.source.split("\n")
        if statement.cell == cell and 0 <= line - statement.line < len(lines):
            return lines[line - statement.line].strip()
    return ""


def _place(failure: Failure, found: Parting, names: Mapping[str, str]) -> Place | None:
    record, milestone = found.record, found.milestone
    source = _source(failure, (record.cell, record.line))
    if not source:
        return None
    step = STEPS.get(milestone.name, "" if milestone.name else RESULT)
    alike = _alike(failure, record, names)
    return Place(
        line=record.line,
        cell=record.cell,
        source=source,
        step=step,
        question=QUESTIONS.get(step, PLAIN),
        key=f"{alike} for {step or RESULT}" if alike else "",
    )
