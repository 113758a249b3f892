"""The built-in checks that an exercise may ask for, beyond the fixed order of judging.

A check here is a name and parameters, so that it can travel to students in the self-check
key; `line` is what a student sees of it. `cases` names the cases that it is for; without, it
is for all. A check that does not hold gives a sentence that says what is wrong.

    @exercise(points=4, checks=[sums_to_one(-1, "each row of the weights sums to 1", result=1)])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from autograder import dropped, invariants, relations
from autograder.invariants import SUM_TOLERANCE as SUM_TOLERANCE
from autograder.specification import BuiltinCheck, Case, CaseView, CustomCheck, Verdict

Check = BuiltinCheck | CustomCheck

# --- one result --------------------------------------------------------------------------


def sums_to_one(
    axis: int, line: str, *, result: int = 0, credit: float = 0.0, cases: Sequence[str] = ()
) -> BuiltinCheck:
    """Weights along `axis` of result number `result` sum to one.

    Where the reference's weights are all zero, since nothing may be attended to, to zero. Half
    types are allowed units of their own (see `invariants.SUM_UNITS`).
    """
    return _made("sums_to_one", line, credit, cases, axis=axis, result=result)


def not_negative(
    line: str, *, result: int = 0, credit: float = 0.0, cases: Sequence[str] = ()
) -> BuiltinCheck:
    """No entry of result number `result` is below zero."""
    return _made("not_negative", line, credit, cases, result=result)


def exact_zeros(
    line: str, *, result: int = 0, credit: float = 0.0, cases: Sequence[str] = ()
) -> BuiltinCheck:
    """Where the reference has zeros (weights of hidden keys), entries are below 1e-12."""
    return _made("exact_zeros", line, credit, cases, result=result)


def finite_gradients(line: str, *, credit: float = 0.0, cases: Sequence[str] = ()) -> BuiltinCheck:
    """Every gradient of the Backward steps is finite; says which is not, before values count."""
    return _made("finite_gradients", line, credit, cases)


def largest_allocation(
    limit: str,
    line: str,
    *,
    sizes: Mapping[str, tuple[str, int]],
    credit: float = 0.0,
    cases: Sequence[str] = (),
) -> BuiltinCheck:
    """The largest tensor made by a watched call has fewer elements than `limit` (advisory).

    limit: "n_q * n_k", an expression of `sizes` ({"n_q": ("Q", -2)}: an argument's axis) and
    of whole-number arguments. For cases with watch=("allocation",).
    """
    places = {name: list(place) for name, place in sizes.items()}
    return _made("largest_allocation", line, credit, cases, limit=limit, sizes=places)


# --- between calls -----------------------------------------------------------------------


def same_twice(
    line: str, *, result: int = 0, credit: float = 0.0, cases: Sequence[str] = ()
) -> BuiltinCheck:
    """Calls of one case with equal arguments give equal results (dropout in eval mode, state)."""
    return _made("same_twice", line, credit, cases, result=result)


def no_leak(
    line: str,
    *,
    cases: Sequence[str],
    changed: str = "changing a token that the mask hides",
    what: str = "query",
    axis: int = -2,
    result: int = 0,
    calls: tuple[int, int] = (0, 1),
    credit: float = 0.0,
) -> BuiltinCheck:
    """Entries that the reference leaves as they were from call 0 to call 1 have to stay.

    The second call of the case differs in hidden keys, in the future or in padding alone.
    `changed` begins the sentence; `axis` of the result counts `what`. At least one entry of the
    reference has to stay.
    """
    return _made(
        "unaffected", line, credit, cases,
        changed=changed, what=what, axis=axis, result=result, calls=list(calls),
    )  # fmt: skip


def batch_independent(
    line: str,
    *,
    cases: Sequence[str],
    axis: int = 0,
    result: int = 0,
    calls: tuple[int, int] = (0, 1),
    credit: float = 0.0,
) -> BuiltinCheck:
    """The second call of the case has other numbers in some samples; the others stay."""
    return no_leak(
        line, cases=cases, changed="changing another sample of the batch", what="sample",
        axis=axis, result=result, calls=calls, credit=credit,
    )  # fmt: skip


def equivariant(
    line: str,
    *,
    argument: str,
    cases: Sequence[str],
    axis: int = -2,
    what: str = "tokens",
    axes: Sequence[int] = (-2,),
    result: int = 0,
    credit: float = 0.0,
) -> BuiltinCheck:
    """The second call has `argument` permuted along `axis`; the result is permuted along `axes`."""
    return _made(
        "equivariant", line, credit, cases,
        argument=argument, axis=axis, what=what, axes=list(axes), result=result,
    )  # fmt: skip


# --- statistics --------------------------------------------------------------------------


def dropout_statistics(
    line: str,
    *,
    cases: Sequence[str],
    values: str = "weights",
    rate: str = "p",
    training: str = "training",
    result: int = 0,
    credit: float = 0.0,
) -> BuiltinCheck:
    """Dropout's keep rate, its 1/(1 − p), independent entries, new draws, identity in eval.

    The names are those of the arguments; the values handed over hold no zero. Results of these
    cases are not compared by value; false alarms are 1e-6 a grading. Equal generators have
    to repeat the result.
    """
    return _made(
        "dropout_statistics", line, credit, cases,
        values=values, rate=rate, training=training, result=result,
    )  # fmt: skip


def _made(
    name: str, line: str, credit: float, cases: Sequence[str], **parameters: Any
) -> BuiltinCheck:
    return BuiltinCheck(name, line, parameters, credit, tuple(cases))


BUILTIN: dict[str, Callable[..., str | Verdict | None]] = {
    "sums_to_one": invariants.sums_to_one,
    "not_negative": invariants.not_negative,
    "exact_zeros": invariants.exact_zeros,
    "finite_gradients": invariants.finite_gradients,
    "largest_allocation": invariants.largest_allocation,
    "same_twice": relations.same_twice,
    "unaffected": relations.unaffected,
    "equivariant": relations.equivariant,
    "dropout_statistics": dropped.dropout_statistics,
}

STATISTICAL = frozenset({"dropout_statistics"})


# --- running -----------------------------------------------------------------------------


class PackFault(Exception):
    """A check raised, or returned what it must not: a fault of ours, never of the student."""

    def __init__(self, check: str, problem: str) -> None:
        super().__init__(f"the check {check} {problem}")
        self.check = check


def is_for(check: Check, case: Case) -> bool:
    """Whether a check has anything to say of a case."""
    return not check.cases or case.name in check.cases


def may_be_statistical(check: Check) -> bool:
    """Whether what a check finds may be a Verdict; cheaper than to run it."""
    return isinstance(check, CustomCheck) or check.name in STATISTICAL


def run_check(check: Check, view: CaseView) -> str | Verdict | None:
    """What a check finds in a case: nothing, a sentence, or a Verdict; PackFault when it raises."""
    return run_builtin(check, view) if isinstance(check, BuiltinCheck) else run_custom(check, view)


def run_builtin(check: BuiltinCheck, view: CaseView) -> str | Verdict | None:
    """Run a built-in check on a case; PackFault when it cannot be run."""
    try:
        with np.errstate(all="ignore"):
            return BUILTIN[check.name](view, **check.parameters)
    except Exception as error:
        raise PackFault(check.name, f"raised {type(error).__name__}: {error}") from error


def run_custom(check: CustomCheck, view: CaseView) -> str | Verdict | None:
    """Run an author's check on a case; PackFault when it raises."""
    try:
        with np.errstate(all="ignore"):
            found = check.function(view)
    except Exception as error:
        raise PackFault(check.name, f"raised {type(error).__name__}: {error}") from error
    if found is None or isinstance(found, (str, Verdict)):
        return found
    raise PackFault(
        check.name, f"returned {type(found).__name__}, not None, a sentence or a Verdict"
    )
