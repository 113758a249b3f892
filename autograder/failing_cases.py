"""What the failing cases of a submission have in common, and the passing ones have not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from autograder import wording
from autograder.form import Step
from autograder.program import Call
from autograder.results_view import argument_view
from autograder.samples import Numbers, Relation, Sample
from autograder.specification import Case, ExerciseSpec

# So many cases at least say something by which of them fail.
FEWEST_CASES = 4
# Below, no function that the exercises are about leaves its range in any dtype.
LARGE = 10.0


def only_large(
    bad: Sequence[Case], good: Sequence[Case], wrong: Sequence[Sequence[Sample]]
) -> Relation | None:
    """NaN or infinity wherever numbers are large, and right wherever they are not.

    wrong: the wrong values of each failing case.
    """
    if not good or not all(wrong):
        return None
    if not all(any(not np.isfinite(s.got).all() for s in values) for values in wrong):
        return None
    smallest = min(_largest(case) for case in bad)
    if smallest < LARGE or smallest <= max(_largest(case) for case in good):
        return None
    return Relation(
        "holds NaN or infinity where the numbers in the arguments are large, and is right "
        "elsewhere",
        "see which step can leave the range of its dtype: the exponential does, early",
    )


def difference_between(
    spec: ExerciseSpec, bad: Sequence[Case], good: Sequence[Case]
) -> Relation | None:
    """What the failing cases have in common and the others have not; None when unsure.

    A case that only builds a module leaves out no argument and has no sizes: nothing is said.
    """
    if not all(case.program.calls for case in (*bad, *good)):
        return None
    if len(bad) + len(good) < FEWEST_CASES or not good:
        return None
    found = [*_by_argument(bad, good), *_by_dtype(spec, bad, good), *_by_sizes(spec, bad, good)]
    return found[0] if len(found) == 1 else None


def arrays_of(call: Call) -> Iterator[tuple[str, Numbers]]:
    """The arrays among the arguments of a call."""
    for name, value in call.named.items():
        view = argument_view(value)
        if isinstance(view, np.ndarray) and view.dtype.kind in "biuf":
            yield name, np.asarray(view, dtype=np.float64)


def _largest(case: Case) -> float:
    """The largest number in the arguments of a case, in size."""
    arrays = [array for _, call in case.program.calls for _, array in arrays_of(call) if array.size]
    return max((float(np.abs(array).max()) for array in arrays), default=0.0)


def _by_argument(bad: Sequence[Case], good: Sequence[Case]) -> Iterator[Relation]:
    """An argument that may be left out."""
    calls = [call for case in (*bad, *good) for _, call in case.program.calls]
    names = {name for call in calls for name in call.named}
    for name in sorted(names):
        failing, passing = [_has(c, name) for c in bad], [_has(c, name) for c in good]
        if all(failing) and not any(passing):
            yield Relation(
                f"is right where `{name}` is left out, and wrong where it is given",
                f"follow `{name}` through your code, in a case small enough to do by hand",
            )
        if not any(failing) and all(passing):
            yield Relation(
                f"is right where `{name}` is given, and wrong where it is left out",
                f"see what your code does when `{name}` is left out",
            )


def _has(case: Case, name: str) -> bool:
    return any(call.named.get(name) is not None for _, call in case.program.calls)


def _by_dtype(spec: ExerciseSpec, bad: Sequence[Case], good: Sequence[Case]) -> Iterator[Relation]:
    failing = [_dtypes(spec, case) for case in bad]
    if len(failing[0]) == 1 and all(dtypes == failing[0] for dtypes in failing):
        (dtype,) = failing[0]
        if not any(dtype in _dtypes(spec, case) for case in good):
            yield Relation(
                f"is wrong where the arguments are {dtype}, and right elsewhere",
                "see which of your lines names a dtype, or a constant that this one cannot hold",
            )


def _dtypes(spec: ExerciseSpec, case: Case) -> set[str]:
    calls = case.program.calls
    return set(Step(spec, case, calls[0][0]).input_dtypes()) if calls else set()


def _by_sizes(spec: ExerciseSpec, bad: Sequence[Case], good: Sequence[Case]) -> Iterator[Relation]:
    """Sizes that are equal wherever the result is right, or that are 1 there."""
    if len(bad) < 2:
        return
    failing = [_sizes(spec, case) for case in bad]
    passing = [_sizes(spec, case) for case in good]
    names = sorted(set.intersection(*(set(sizes) for sizes in (*failing, *passing))))
    for name in names:
        if all(sizes[name] > 1 for sizes in failing) and all(s[name] == 1 for s in passing):
            yield Relation(
                f"is right where {name} is 1, and wrong elsewhere",
                "see over which axis each of your sums and products runs",
            )
    pairs = [
        (one, other)
        for at, one in enumerate(names)
        for other in names[at + 1 :]
        if all(sizes[one] != sizes[other] for sizes in failing)
        and all(sizes[one] == sizes[other] > 1 for sizes in passing)
    ]
    if pairs:
        which = f"{pairs[0][0]} and {pairs[0][1]}" if len(pairs) == 1 else "several sizes"
        yield Relation(
            f"is right only where {which} are equal",
            "see whether your code takes one axis for another",
        )


def _sizes(spec: ExerciseSpec, case: Case) -> dict[str, int]:
    calls = case.program.calls
    return wording.sizes(spec, case, calls[0][0]) if calls else {}
