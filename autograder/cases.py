"""Drawing inputs of cases, and the programs that most cases are: for authors of exercises.

@rotary.case("an odd batch", separates=["half_split"])
def odd_batch(rng):
    batch, n, d = different_sizes(rng, 3, low=4, high=9)
    return with_gradients(rotary, x=normal_tensor(rng, batch, n, 2 * d, grad=True))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.exercise import CaseDefinition, Exercise
from autograder.program import (
    Backward,
    Construct,
    DescribeModule,
    LoadWeights,
    Mode,
    Program,
    ReadAxes,
    Slot,
    Step,
)
from autograder.signature import AuthoringError
from autograder.specification import Case

# Steps that look at what others made: the case that is called again is about its calls.
_LOOKS = (Backward, DescribeModule, ReadAxes)

# --- inputs ------------------------------------------------------------------------------


def different_sizes(
    rng: np.random.Generator, count: int, *, low: int = 2, high: int = 9
) -> tuple[int, ...]:
    """Pairwise different sizes from low to high: an axis that is mixed up has another size."""
    if high - low + 1 < count:
        raise AuthoringError(f"there are no {count} different sizes from {low} to {high}")
    return tuple(int(size) for size in rng.permutation(np.arange(low, high + 1))[:count])


def normal_tensor(
    rng: np.random.Generator,
    *shape: int,
    size: float = 1.0,
    dtype: str = "float32",
    grad: bool = False,
) -> Any:
    """A tensor of normal draws of standard deviation `size`; grad: its gradient is asked for."""
    import torch

    drawn = torch.tensor(size * rng.normal(size=shape), dtype=getattr(torch, dtype))
    return drawn.requires_grad_(grad)


def visible_mask(
    rng: np.random.Generator,
    *shape: int,
    share: float = 0.5,
    empty_rows: Iterable[tuple[int, ...]] = (),
) -> np.ndarray[Any, Any]:
    """A mask of truth values over keys, the last axis: true = may attend.

    Every row has a key that is seen and, from two keys on, one that is hidden, drawn for each
    row anew, so that rows and samples differ. Rows named in `empty_rows` see nothing.
    """
    mask = rng.random(shape) < share
    order = rng.random(shape).argsort(axis=-1)  # two different keys in each row
    np.put_along_axis(mask, order[..., 1:2], False, axis=-1)
    np.put_along_axis(mask, order[..., :1], True, axis=-1)
    for row in empty_rows:
        mask[row] = False
    return mask


def linear_weights(
    rng: np.random.Generator,
    layers: Mapping[str, tuple[int, int]],
    *,
    bias: bool = True,
    size: float = 1.0,
) -> dict[str, np.ndarray[Any, Any]]:
    """Weights by parameter name for linear layers: {"W_q": (out, in)} → W_q.weight, W_q.bias.

    Entries have the standard deviation size/√in, which keeps the size of what goes in; biases
    half of `size`, so that one left out shows.
    """
    made: dict[str, np.ndarray[Any, Any]] = {}
    for name, (rows, columns) in layers.items():
        made[f"{name}.weight"] = size * rng.normal(size=(rows, columns)) / np.sqrt(columns)
        if bias:
            made[f"{name}.bias"] = 0.5 * size * rng.normal(size=rows)
    return {name: values.astype(np.float32) for name, values in made.items()}


def changed_at(rng: np.random.Generator, values: Any, index: Any, *, size: float = 1.0) -> Any:
    """A copy of an array or tensor with other normal draws at `index`, for the second call.

    For `checks.no_leak` and `checks.batch_independent`: hidden keys, the future, one sample.
    """
    if isinstance(values, np.ndarray):
        copy = values.copy()
        copy[index] = (size * rng.normal(size=copy[index].shape)).astype(copy.dtype)
        return copy
    import torch

    changed = values.detach().clone()
    drawn = torch.tensor(size * rng.normal(size=tuple(changed[index].shape)))
    changed[index] = drawn.to(changed.dtype)
    return changed.requires_grad_(values.requires_grad)


# --- programs ----------------------------------------------------------------------------


def with_gradients(
    exercise: Exercise, *, seed: int = 1, item: int | None = None, **arguments: Any
) -> Program:
    """One call of a function, then the gradients of its result.

    Of all arguments that require them; item: of this one of several results only.
    """
    call = exercise.call(slot="result", **arguments)
    return Program((call, Backward("result", seed=seed, item=item)))


def module_program(
    exercise: Exercise,
    built: Mapping[str, Any] | Sequence[Any],
    weights: Mapping[str, Any] | None,
    *calls: Mapping[str, Any],
    training: bool = False,
    gradients: bool = False,
    item: int | None = None,
    seed: int = 1,
    describe: bool = False,
) -> Program:
    """Build the module, describe its parameters, load weights, set the mode, call, go backward.

    built: arguments of the class, by name or in order. weights: by parameter name; None loads
    none, and then results are random. calls: the arguments of each call, in order.
    gradients: of the last call's result (item: of this one of several), for its arguments and
    the parameters. describe: names and shapes of the parameters are compared too.
    """
    name = exercise.name
    if isinstance(built, Mapping):
        steps: list[Step] = [Construct(name, "module", (), dict(built))]
    else:
        steps = [Construct(name, "module", tuple(built))]
    if describe:
        steps.append(DescribeModule("module"))
    if weights is not None:
        steps.append(LoadWeights("module", dict(weights)))
    steps.append(Mode("module", training=training))
    steps += [exercise.call(slot="result", on=Slot("module"), **arguments) for arguments in calls]
    if gradients:
        if not calls:
            raise AuthoringError(f"{name}: gradients are of a call, and the case has none")
        steps.append(Backward("result", seed=seed, module="module", item=item))
    return Program(tuple(steps))


# --- the case that every exercise has ----------------------------------------------------

CALLED_AGAIN = "called_again"
_DRAWS = 8


def called_again(exercise: Exercise, drawn: Sequence[Case]) -> CaseDefinition | None:
    """A case that calls with the inputs of another, with the same once more, then with new ones.

    It sees a result that is remembered (by nothing, or by the inputs' shapes), state that is
    kept, and dropout that is not switched off. None where the author does not want it, where a
    public case has several calls already, and where none has one that it could be made of.
    """
    public = [case for case in drawn if not case.hidden]
    if not exercise.called_again or any(len(case.program.calls) > 1 for case in public):
        return None
    fit = {case.name for case in public if len(case.program.calls) == 1}
    bases = [
        case
        for case in exercise.cases
        if case.name in fit and case.kind == "separating" and case.raises is None
        if case.explained and not case.watch
    ]
    if not bases or CALLED_AGAIN in [case.name for case in exercise.cases]:
        return None
    base = bases[0]

    def draw(rng: np.random.Generator) -> Program:
        first = exercise.program(base.function(rng))
        steps = [step for step in first.steps if not isinstance(step, _LOOKS)]
        sizes = [_sizes(call.named) for _, call in first.calls]
        # sizes that are drawn as well have to come out alike, for a module of given widths and
        # to see results that are remembered by their shape
        for _ in range(_DRAWS):
            second = exercise.program(base.function(rng))
            if [_sizes(call.named) for _, call in second.calls] == sizes:
                break
        else:
            second = Program(())
        calls = [call for program in (first, second) for _, call in program.calls]
        return replace(first, steps=(*steps, *(replace(call, slot=None) for call in calls)))

    return CaseDefinition(
        name=CALLED_AGAIN,
        title="called again, then with new inputs",
        function=draw,
        separates=(),
        hidden=False,
        kind="robustness",
        explained=False,  # what a misconception gives, it gives in the other cases too
        tolerance=base.tolerance,
    )


def _sizes(value: Any) -> Any:
    """What two draws have in common: shapes, lengths and names, not values."""
    if isinstance(value, Mapping):
        return {name: _sizes(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_sizes(item) for item in value]
    shape = getattr(value, "shape", None)
    return type(value) if shape is None else tuple(shape)
