"""Small inputs of an exercise with what is expected: public cases, shrunk, in small integers.

A public case's program is taken as it is drawn for self-checks. Each of its sizes is replaced
wherever it occurs, so that what fitted together still does, and its arrays are filled with small
integers of the same kind: a mask stays a mask that shows a key in every row, a distribution one.
An input counts only where the reference and every alternative pass on it: what an exercise
promises of its inputs is kept then, also where no annotation says it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.exercise import CaseDefinition, Exercise
from autograder.faults.filling import LARGE, Filling
from autograder.judge import judge_case
from autograder.observe.protocol import Array
from autograder.pack import Pack, case_generator
from autograder.program import (
    Backward,
    Call,
    Construct,
    DescribeModule,
    Generator,
    LoadWeights,
    Mode,
    Probe,
    Program,
    ReadAxes,
    Slot,
    Step,
)
from autograder.specification import Case, ExerciseSpec
from autograder.wire import in_double, to_wire

SEED = "selfcheck"  # that of the released cases: nothing of a run's own is in a small input
MOST = 30  # inputs of one exercise
NUMBERS = 28  # of one input, beyond which nobody works it out by hand
SHAPES = 8  # of one public case
TRIED = 60  # assignments of sizes to one public case
KEPT = ("dim", "axis", "seed")  # whole numbers that are no sizes
FILLINGS = ("sparse", "numbered", "drawn")

_LOOKS = (Backward, DescribeModule, ReadAxes)


def small_inputs(pack: Pack, spec: ExerciseSpec) -> tuple[Case, ...]:
    """Small inputs of an exercise, the smallest first; none where it has no such.

    Not for what is random, draws, or takes functions. A case's title is the name of the public
    case that it was made of. Right solutions are still to be tried on them: see `is_fair`.
    """
    exercise = pack.exercises[spec.name]
    if exercise.axes_needed or spec.name not in pack.sources:
        return ()
    found: dict[str, Case] = {}
    known: set[str] = set()
    for definition in exercise.cases:
        program = _public_program(pack, exercise, definition)
        base = None if program is None else one_call(program)
        if base is None:
            continue
        rng = case_generator(SEED, pack.name, spec.name, definition.name, "small")
        shapes, large = 0, _largest(base) > LARGE
        for sizes in itertools.islice(_assignments(base), TRIED):
            shape = _filled(base, sizes, "drawn", np.random.default_rng(0))
            signature = f"{large} {_signature(shape)}"
            if signature in known:
                continue
            known.add(signature)
            made = []
            for filling in FILLINGS:
                small = _filled(base, sizes, filling, rng)
                case = expected_of(pack, spec, small, definition.name)
                if case is None and filling == FILLINGS[0]:
                    break  # it does not fit together
                made += [] if case is None else [case]
            found |= {repr(numbers_of(case.program)): case for case in made}
            shapes += bool(made)
            if shapes >= SHAPES:
                break
    ordered = sorted(found.values(), key=lambda case: weight(case.program))
    return tuple(
        replace(case, name=f"small_{number}") for number, case in enumerate(_spread(ordered))
    )


def expected_of(pack: Pack, spec: ExerciseSpec, program: Program, title: str) -> Case | None:
    """A case of this program; None where the reference raises or has no finite numbers."""
    expected = pack.observe(spec.name, pack.exercises[spec.name].reference, in_double(program))
    if any(step.raised is not None for step in expected) or not _finite(expected):
        return None
    return Case("small", title, program, expected, kind="robustness")


def is_fair(pack: Pack, spec: ExerciseSpec, case: Case) -> bool:
    """Whether the reference and every alternative pass: it is an input that was promised."""
    exercise = pack.exercises[spec.name]
    right = [exercise.reference, *(one.implementation for one in exercise.alternatives)]
    return all(
        judge_case(spec, case, pack.observe(spec.name, implementation, case.program)) is None
        for implementation in right
    )


def _finite(expected: Sequence[Any]) -> bool:
    for step in expected:
        value = step.value
        parts = value if isinstance(value, (list, tuple)) else [value]
        for part in parts:
            data = part.data if isinstance(part, Array) else part
            if isinstance(data, (np.ndarray, float)) and not np.isfinite(data).all():
                return False
    return True


def _public_program(pack: Pack, exercise: Exercise, definition: CaseDefinition) -> Program | None:
    if definition.hidden or definition.raises or definition.watch or not definition.explained:
        return None
    drawn = definition.function(case_generator(SEED, pack.name, exercise.name, definition.name))
    return exercise.program(drawn)


def one_call(program: Program) -> Program | None:
    """A public case up to its first call, nothing random in it; None where it has no such."""
    first = next((i for i, step in enumerate(program.steps) if isinstance(step, Call)), None)
    if first is None:
        return None
    steps = tuple(step for step in program.steps[: first + 1] if not isinstance(step, _LOOKS))
    built = any(isinstance(step, Construct) for step in steps)
    loaded = any(isinstance(step, LoadWeights) for step in steps)
    in_training = any(isinstance(step, Mode) and step.training for step in steps)  # dropout draws
    if built != loaded or in_training:
        return None
    plain = mapped(Program(steps), lambda name, value: value)
    leaves = [value for _, value in leaves_of(plain)]
    if any(isinstance(value, (Generator, Probe, str)) for value in leaves):
        return None
    arrays = [value for value in leaves if isinstance(value, Array)]
    if any(a.data is None or not np.isfinite(a.data).all() for a in arrays):
        return None
    return plain


# --- walking over a program ----------------------------------------------------------------


def mapped(program: Program, change: Callable[[str, Any], Any]) -> Program:
    """The program with each argument changed: change(name, value), arrays as `Array`s."""

    def one(name: str, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)(one(name, item) for item in value)
        if isinstance(value, (Slot, Generator, Probe)) or value is None or isinstance(value, str):
            return change(name, value)
        return change(name, to_wire(value))

    def step(plain: Step) -> Step:
        match plain:
            case Call():
                names = list(plain.named)
                args = tuple(one(n, v) for n, v in zip(names, plain.args, strict=False))
                return replace(
                    plain, args=args, kwargs={k: one(k, v) for k, v in plain.kwargs.items()}
                )
            case Construct():
                args = tuple(one(f"argument {i + 1}", v) for i, v in enumerate(plain.args))
                return replace(
                    plain, args=args, kwargs={k: one(k, v) for k, v in plain.kwargs.items()}
                )
            case LoadWeights():
                return replace(plain, weights={k: one(k, v) for k, v in plain.weights.items()})
            case _:
                return plain

    return replace(program, steps=tuple(map(step, program.steps)))


def leaves_of(program: Program) -> list[tuple[str, Any]]:
    """Every argument of every step by name, in order."""
    found: list[tuple[str, Any]] = []

    def note(name: str, value: Any) -> Any:
        found.append((name, value))
        return value

    mapped(program, note)
    return found


def numbers_of(program: Program) -> list[Any]:
    """The numbers of a program's arguments, array by array."""
    return [
        (name, value.dtype, np.asarray(value.data).tolist())
        if isinstance(value, Array)
        else (name, value)
        for name, value in leaves_of(program)
        if not isinstance(value, Slot)
    ]


def _largest(program: Program) -> float:
    arrays = [np.asarray(v.data) for _, v in leaves_of(program) if isinstance(v, Array)]
    return max((float(np.abs(a.astype(np.float64)).max()) for a in arrays if a.size), default=0.0)


def _signature(program: Program) -> str:
    """What two programs share that are alike but for their entries and precision."""
    return repr([
        (name, value.shape, value.dtype.rstrip("0123456789"), value.framework)
        if isinstance(value, Array)
        else (name, value)
        for name, value in leaves_of(program)
    ])  # fmt: skip


def count(program: Program) -> int:
    """How many numbers there are to work with: entries of arrays and weights, single numbers."""
    total = 0
    for _, value in leaves_of(program):
        if isinstance(value, Array):
            total += math.prod(value.shape)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            total += 1
    return total


def weight(program: Program) -> tuple[float, ...]:
    """What makes an input simpler: fewer numbers, more zeros, smaller values, none negative."""
    arrays = [
        np.asarray(value.data, dtype=np.float64)
        for _, value in leaves_of(program)
        if isinstance(value, Array)
    ]
    single = [abs(v) for _, v in leaves_of(program) if isinstance(v, (int, float))]
    return (
        count(program),
        sum(float(np.count_nonzero(a)) for a in arrays),
        sum(float(np.abs(a).sum()) for a in arrays) + sum(single),
        sum(float((a < 0).sum()) for a in arrays),
    )


# --- sizes ---------------------------------------------------------------------------------


def _sizes(program: Program) -> list[int]:
    """Every size and whole number of a program that may be replaced, once."""
    found: set[int] = set()
    for name, value in leaves_of(program):
        if isinstance(value, Array):
            found.update(value.shape)
        elif type(value) is int and name not in KEPT:
            found.add(value)
    return sorted(size for size in found if size > 1)


def _assignments(program: Program) -> Iterator[Mapping[int, int]]:
    """Ways to replace the sizes by small ones, those with few numbers first.

    A whole number that divides a size in the case divides it afterwards: heads divide a width.
    """
    sizes = _sizes(program)
    whole = {v for name, v in leaves_of(program) if type(v) is int and v > 1 and name not in KEPT}
    divides = [(a, b) for a in whole for b in sizes if a < b and b % a == 0]
    options = []
    for size in sizes:
        # a product of two sizes: smaller than 4, one of them would be 1
        parts = [a for a in sizes for b in (*sizes, 2) if 1 < a < size and a * b == size]
        parts += [a for a, b in divides if b == size]
        options.append((1, 2, 3, 4) if parts else (1, 2, 3))
    if math.prod(map(len, options)) > 20_000:
        return
    found = []
    for chosen in itertools.product(*options):
        new = dict(zip(sizes, chosen, strict=True))
        if all(new[b] % new[a] == 0 for a, b in divides):
            total = _total(program, new)
            if total <= NUMBERS:
                found.append((total, chosen, new))
    # of equally many numbers, those with different sizes first: less is silent there
    found.sort(key=lambda item: (item[0], -len(set(item[1])), item[1]))
    yield from (new for _, _, new in found)


def _total(program: Program, new: Mapping[int, int]) -> int:
    total = 0
    for _, value in leaves_of(program):
        if isinstance(value, Array):
            total += math.prod(new.get(size, size) for size in value.shape)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            total += 1
    return total


def _filled(
    program: Program, sizes: Mapping[int, int], filling: str, rng: np.random.Generator
) -> Program:
    """The program with these sizes, its arrays filled anew."""

    def change(name: str, value: Any) -> Any:
        if isinstance(value, Array):
            return Filling(value, sizes, filling, rng).array()
        if type(value) is int and name not in KEPT:
            return sizes.get(value, value)
        return value

    return mapped(program, change)


def _spread(ordered: Sequence[Case]) -> list[Case]:
    """At most MOST of them: the smallest, and a share of every number of numbers."""
    if len(ordered) <= MOST:
        return list(ordered)
    groups: dict[int, list[Case]] = {}
    for case in ordered:
        groups.setdefault(count(case.program), []).append(case)
    kept: list[Case] = []
    while len(kept) < MOST:
        for group in groups.values():
            if group and len(kept) < MOST:
                kept.append(group.pop(0))
    return sorted(kept, key=lambda case: weight(case.program))
