"""The smallest input found on which a submission is wrong, in numbers that fit on a napkin."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from autograder.faults.failure import Clock
from autograder.faults.runner import Runner
from autograder.faults.small_inputs import count, leaves_of, mapped, weight
from autograder.form import Fault
from autograder.judge import judge_case
from autograder.observe.protocol import Array
from autograder.program import Call, Observed, Program, Raised
from autograder.specification import GRADIENTS, TYPE, UNTOUCHED, Case, ExerciseSpec

# Inputs tried while one that fails is made simpler.
MOST_STEPS = 60
# What counts as wrong for somebody who works it out by hand.
_SHOWN = ("failed", "error")

# These need no numbers to be seen.
_NOT_OF_NUMBERS = (TYPE, UNTOUCHED, GRADIENTS)
_WHATEVER_THE_INPUT = ("NameError", "ImportError", "EOFError", "Missing")

# A case of this program, or None where it is no input of the exercise.
Expect = Callable[[Program], Case | None]


@dataclass(frozen=True)
class Counterexample:
    """A case on which the submission is wrong, and what it gave there."""

    case: Case
    observed: tuple[Observed, ...]
    fault: Fault

    @property
    def size(self) -> int:
        """How many numbers the input has."""
        return count(self.case.program)


def smallest(
    spec: ExerciseSpec,
    small: Sequence[Case],
    run: Runner,
    clock: Clock,
    expect: Expect | None = None,
    fair: Callable[[Case], bool] = lambda case: True,
) -> Counterexample | None:
    """The smallest of `small` (smallest first) that fails, then made simpler; None for none.

    expect: gives the case of another program, where there is a reference; inputs that it gives
    none for are passed over. fair: whether right solutions pass on a case, asked of what is shown.
    """
    for case in small:
        if clock.left <= 0:
            return None
        found = _wrong(spec, case, run)
        if isinstance(found, Counterexample):
            if not fair(case):
                continue
            simple = found if expect is None else _simpler(spec, found, run, clock, expect)
            return simple if fair(simple.case) else found
        elif found is None:
            return None
    return None


def _wrong(spec: ExerciseSpec, case: Case, run: Runner) -> Counterexample | bool | None:
    """The case as a counterexample; False where it is right, None when nothing can be asked."""
    observed = run(case.program)
    if observed is None:
        return None
    fault = judge_case(spec, case, observed)
    if fault is None or fault.outcome not in _SHOWN or fault.check in _NOT_OF_NUMBERS:
        return False
    raised = next((step.raised for step in observed if step.raised is not None), None)
    if raised is not None and whatever_the_input(raised):
        return None
    return Counterexample(case, observed, fault)


def whatever_the_input(raised: Raised) -> bool:
    """Whether an exception says all there is to say: a name or a module that is not there."""
    return any(raised.is_a(name) for name in _WHATEVER_THE_INPUT)


def _simpler(
    spec: ExerciseSpec, found: Counterexample, run: Runner, clock: Clock, expect: Expect
) -> Counterexample:
    """Greedily: more zeros, smaller values, fewer signs, as long as it is wrong in the same way."""
    steps = 0
    improved = True
    while improved:
        improved = False
        for program in _simpler_programs(found.case.program):
            steps += 1
            if steps > MOST_STEPS or clock.left <= 0:
                return found
            case = expect(program)
            tried = False if case is None else _wrong(spec, case, run)
            if tried is None:
                return found
            if isinstance(tried, Counterexample) and tried.fault.outcome == found.fault.outcome:
                found, improved = tried, True
                break
    return found


def _simpler_programs(program: Program) -> Iterator[Program]:
    """Programs with one entry of a floating array changed to something simpler."""
    now = weight(program)
    for leaf, (_, value) in enumerate(leaves_of(program)):
        if not isinstance(value, Array) or value.data is None or value.data.dtype.kind != "f":
            continue
        for index in np.ndindex(*value.shape):
            for entry in dict.fromkeys((0.0, 1.0, abs(float(value.data[index])))):
                if entry == value.data[index]:
                    continue
                changed = _with_entry(program, leaf, index, entry)
                if weight(changed) < now:
                    yield changed


def _with_entry(program: Program, leaf: int, index: tuple[int, ...], entry: float) -> Program:
    at = -1

    def change(name: str, value: object) -> object:
        nonlocal at
        at += 1
        if at != leaf or not isinstance(value, Array) or value.data is None:
            return value
        data = np.array(value.data)
        data[index] = entry
        return replace(value, data=data)

    return mapped(program, change)


def wrong_step(found: Counterexample) -> int:
    """The position of the call whose result is shown."""
    calls = [i for i, step in enumerate(found.case.program.steps) if isinstance(step, Call)]
    return calls[-1]
