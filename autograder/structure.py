"""What wrong results have in common with the right ones, where no misconception explains them.

The simplest relation that holds in every failing case: a transpose, a factor that is an
expression of the sizes, right numbers in another order, right wherever two sizes coincide …
It is an observation and no cause, and said as such; when unsure, nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from autograder.failing_cases import arrays_of, difference_between, only_large
from autograder.form import Step
from autograder.likeness import CaseOutcome, summary
from autograder.numerics import compare
from autograder.observe.session import Stopped
from autograder.program import Call, Observed
from autograder.rearranged import partly, reordered, reshaped, transposed
from autograder.rescaled import imprecise, scaled, scaled_by_slices, shifted, transformed
from autograder.results_view import Part, expected_count, part_of, parts_of
from autograder.samples import FEWEST, Numbers, Relation, Sample, holds
from autograder.specification import Case, ExerciseSpec

# Larger values are not looked through: a case that is about memory tells nothing here.
MAX_SIZE = 100_000

RESULT = "Your result"


def relation_of(
    spec: ExerciseSpec, observations: Mapping[str, CaseOutcome], failing: Sequence[str]
) -> tuple[str, Relation] | None:
    """(what it is said of, the relation): the simplest one that holds in every failing case.

    None when none does, and when a case was not observed to its end. Raises nothing, since
    what a submission returned can be anything.
    """
    seen: dict[str, Sequence[Observed]] = {}
    for case in spec.cases:
        observed = observations.get(case.name)
        if isinstance(observed, Stopped):
            return None
        if observed is not None:
            seen[case.name] = observed
    bad = [case for case in spec.cases if case.name in seen and case.name in failing]
    good = [case for case in spec.cases if case.name in seen and case.name not in failing]
    if not bad or summary(spec, bad[0], seen[bad[0].name]) is not None:
        return None  # of random results, nothing is in a place of its own
    try:
        with np.errstate(all="ignore"):
            return _simplest(spec, seen, bad, good)
    except (ValueError, TypeError, ArithmeticError, LookupError):
        return None


def _simplest(
    spec: ExerciseSpec,
    seen: Mapping[str, Sequence[Observed]],
    bad: Sequence[Case],
    good: Sequence[Case],
) -> tuple[str, Relation] | None:
    if all(_are_swapped(spec, case, seen[case.name]) for case in bad):
        look = "read in the docstring which one comes first"
        return "Your pair of results", Relation("is the right one in the other order", look)
    found = None
    if _may_be_related(_wrong_values(spec, bad[0], seen[bad[0].name])):
        found = _of_values(spec, seen, bad, good)
    where = None if found else difference_between(spec, bad, good)
    return found if where is None else (RESULT, where)


def _of_values(
    spec: ExerciseSpec,
    seen: Mapping[str, Sequence[Observed]],
    bad: Sequence[Case],
    good: Sequence[Case],
) -> tuple[str, Relation] | None:
    """A relation of one of the values that are returned, wrong in every failing case."""
    wrong = [_wrong_values(spec, case, seen[case.name]) for case in bad]
    together = [[value for values in found.values() for value in values] for found in wrong]
    overflow = only_large(bad, good, together)
    if overflow is not None:
        return RESULT, overflow
    for number in sorted({number for found in wrong for number in found}):
        if all(number in found for found in wrong):
            relation = relation_between([value for found in wrong for value in found[number]])
            if relation is not None:
                return (f"Return value {number + 1}" if len(spec.returns) > 1 else RESULT), relation
    return None


def _may_be_related(first: Mapping[int, Sequence[Sample]]) -> bool:
    """Whether the first failing case leaves room for a relation that holds in all of them.

    Most unexplained failures end here, and need not be looked at in every case.
    """
    return any(
        any(not np.isfinite(sample.got).all() for sample in samples)
        or sum(sample.wanted.size for sample in samples) < FEWEST
        or relation_between(samples) is not None
        for samples in first.values()
    )


def relation_between(samples: Sequence[Sample]) -> Relation | None:
    """The simplest relation that holds in all samples; None when none does."""
    if sum(sample.wanted.size for sample in samples) < FEWEST:
        return None
    return next((found for found in (search(samples) for search in _SEARCHES) if found), None)


# --- samples -------------------------------------------------------------------------------


def _wrong_values(
    spec: ExerciseSpec, case: Case, observed: Sequence[Observed]
) -> dict[int, list[Sample]]:
    """The wrong values of a case by their number in what is returned; none if it raised."""
    found: dict[int, list[Sample]] = {}
    if len(observed) < len(case.expected) or any(step.raised is not None for step in observed):
        return {}
    for index, call in case.program.calls:
        step = Step(spec, case, index)
        parts = _parts(observed[index].value, case.expected[index].value)
        for number, (got, wanted) in enumerate(parts):
            if not _is_right(step, got, wanted):
                found.setdefault(number, []).append(_sample(step, call, number, got, wanted))
    return found


def _parts(got: Any, wanted: Any) -> list[tuple[Part, Part]]:
    """The values of a call beside the right ones; ValueError when they are none."""
    count = expected_count(wanted)
    values = parts_of(got, count) if count > 1 else [got]
    if values is None:
        raise ValueError("another number of values")
    made = []
    for mine, right in zip(values, wanted if count > 1 else [wanted], strict=True):
        ours, theirs = part_of(mine), part_of(right)
        for part in (ours, theirs):
            if not isinstance(part, Part) or part.data is None or part.data.size > MAX_SIZE:
                raise ValueError("no array")
            if part.data.dtype.kind not in "biuf":
                raise ValueError("no numbers")
        assert isinstance(ours, Part) and isinstance(theirs, Part)
        made.append((ours, theirs))
    return made


def _is_right(step: Step, got: Part, wanted: Part) -> bool:
    if got.data is None or wanted.data is None or got.shape != wanted.shape:
        return False
    return compare(got.data, wanted.data, step.tolerance(got.dtype, wanted.data)) is None


def _sample(step: Step, call: Call, number: int, got: Part, wanted: Part) -> Sample:
    assert got.data is not None and wanted.data is not None
    halves = {"float16", "bfloat16"} & {got.dtype, *step.input_dtypes()}
    return Sample(
        got=_numbers(got.data),
        wanted=_numbers(wanted.data),
        slack=1e-2 if halves else 1e-4,
        sizes=step.sizes(),
        axes=step.returns(number).axes,
        arguments=dict(arrays_of(call)),
        is_mask=got.data.dtype.kind == wanted.data.dtype.kind == "b",
        hidden=step.case.hidden,
    )


def _numbers(data: np.ndarray[Any, Any]) -> Numbers:
    return np.asarray(data, dtype=np.float64)


# --- the whole -----------------------------------------------------------------------------


def _are_swapped(spec: ExerciseSpec, case: Case, observed: Sequence[Observed]) -> bool:
    """Whether two return values stand in each other's place, in every call of a case."""
    if len(observed) < len(case.expected) or any(step.raised is not None for step in observed):
        return False
    for index, _ in case.program.calls:
        wanted = case.expected[index].value
        values = parts_of(observed[index].value, 2)
        if expected_count(wanted) != 2 or values is None:
            return False
        step = Step(spec, case, index)
        parts = _parts([values[1], values[0]], wanted)
        if not all(_is_right(step, got, right) for got, right in parts):
            return False
    return True


def _constant(samples: Sequence[Sample]) -> Relation | None:
    if all(sample.got.size and np.isnan(sample.got).all() for sample in samples):
        return Relation(
            "is NaN in every entry",
            "find the first line whose result holds NaN: 0 divided by 0, infinity less infinity, "
            "or the root of a negative number makes one",
        )
    if all(sample.got.size and not sample.got.any() for sample in samples):
        return Relation(
            "is zero in every entry",
            "look for an array that is made with zeros and never filled, or filled under another "
            "name",
        )
    return None


def _argument(samples: Sequence[Sample]) -> Relation | None:
    for name in samples[0].arguments:
        if holds(samples, lambda sample, name=name: sample.arguments.get(name)):  # type: ignore[misc]
            return Relation(
                f"is equal to the argument `{name}`, unchanged",
                "see which line should make the result from it, and what you return",
            )
    return None


def _complement(samples: Sequence[Sample]) -> Relation | None:
    if all(sample.is_mask for sample in samples) and holds(samples, lambda s: 1 - s.wanted):
        return Relation(
            "is true where the right one is false, and false where it is true",
            "read in the docstring what true stands for",
        )
    return None


_SEARCHES = (
    _constant,
    _argument,
    _complement,
    transposed,
    reshaped,
    reordered,
    scaled,
    shifted,
    scaled_by_slices,
    transformed,
    imprecise,
    partly,
)
