"""Drawing inputs of cases, and the programs that most cases are: for authors of exercises.

@rotary.case("an odd batch", separates=["half_split"])
def odd_batch(rng):
    batch, n, d = different_sizes(rng, 3, low=4, high=9)
    return with_gradients(rotary, x=normal_tensor(rng, batch, n, 2 * d, grad=True))
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from autograder.exercise import Exercise
from autograder.program import (
    Backward,
    Construct,
    DescribeModule,
    LoadWeights,
    Mode,
    Program,
    Slot,
    Step,
)
from autograder.signature import AuthoringError

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
