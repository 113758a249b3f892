"""PyTorch modules beside student code: weights in, gradients and parameters out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


class WeightsDoNotFit(Exception):
    """The module has no parameter for a weight; the message names it and its shape."""


def load_weights(module: Any, weights: dict[str, Any]) -> None:
    """Copy reference weights into a student's module, whatever its layout.

    Tried in order for each weight: the parameter of that name; the same name transposed
    (a raw (in, out) matrix); a raw parameter named like the layer (`W_q` for
    `W_q.weight`); per-head layers (`W_q.0.weight` …, rows of the weight in order). What
    is left must be a fused layer: one parameter as tall as the missing ones together.
    The places are remembered on the module, so that gradients come back by the
    reference's names.
    """
    import torch

    own = dict(module.named_parameters())
    places: dict[str, tuple[list[str], bool, int]] = {}
    left: list[str] = []
    for name, weight in weights.items():
        place = _place(name, tuple(weight.shape), own)
        if place is None:
            left.append(name)
        else:
            places[name] = (*place, 0)
    taken = {parameter for names, _, _ in places.values() for parameter in names}
    if left:
        places.update(_fused_places(left, weights, own, taken))
    with torch.no_grad():
        for name, (targets, transposed, start) in places.items():
            weight = weights[name].T if transposed else weights[name]
            axis = 1 if transposed else 0
            for target in targets:
                size = own[target].shape[axis] if len(targets) > 1 else weight.shape[axis]
                if len(targets) > 1:
                    piece = weight.narrow(axis, start, size)
                    own[target].copy_(piece)
                    start += size
                else:
                    own[target].narrow(axis, start, size).copy_(weight)
    module._autograder_places = places


def _place(name: str, shape: tuple[int, ...], own: dict[str, Any]) -> tuple[list[str], bool] | None:
    """(parameters, transposed) that take this weight, or None."""
    layer, _, kind = name.rpartition(".")
    for candidate in (name, layer if kind == "weight" else f"{layer}_bias"):
        if candidate in own:
            found = tuple(own[candidate].shape)
            # a raw parameter of an ambiguous square shape multiplies from the right: (in, out)
            raw = candidate != name and len(shape) == 2
            if found == shape[::-1] and (raw or found != shape):
                return [candidate], True
            if found == shape:
                return [candidate], False
            raise WeightsDoNotFit(
                f"parameter {candidate} has shape {found}; expected {shape} "
                f"(out, in) for {name}. Look at how the layer is built."
            )
    heads = sorted(
        (own_name for own_name in own if _is_head_of(own_name, layer, kind)),
        key=lambda own_name: int(own_name[len(layer) + 1 :].split(".")[0]),
    )
    if heads and sum(own[head].shape[0] for head in heads) == shape[0]:
        return heads, False
    return None


def _is_head_of(own_name: str, layer: str, kind: str) -> bool:
    if not own_name.startswith(layer + "."):
        return False
    parts = own_name[len(layer) + 1 :].split(".")
    return len(parts) == 2 and parts[0].isdigit() and parts[1] == kind


def _fused_places(
    left: list[str], weights: dict[str, Any], own: dict[str, Any], taken: set[str]
) -> dict[str, tuple[list[str], bool, int]]:
    """Places in fused layers: the missing weights stacked in the order they were asked for."""
    places: dict[str, tuple[list[str], bool, int]] = {}
    for kind in ("weight", "bias"):
        names = [name for name in left if name.rpartition(".")[2] == kind]
        if not names:
            continue
        rows = sum(weights[name].shape[0] for name in names)
        tail = tuple(weights[names[0]].shape[1:])
        fitting = [
            name
            for name, parameter in own.items()
            if name not in taken and tuple(parameter.shape) == (rows, *tail)
        ]
        if len(fitting) != 1:
            missing = names[0]
            raise WeightsDoNotFit(
                f"no parameter {missing} of shape {tuple(weights[missing].shape)} was found; "
                f"the module has {', '.join(sorted(own)) or 'no parameters'}. "
                f"Name the layer {missing.rpartition('.')[0]}, as the exercise says."
            )
        start = 0
        for name in names:
            places[name] = ([fitting[0]], False, start)
            start += int(weights[name].shape[0])
    return places


def gradients(result: Any, arguments: dict[str, Any], module: Any, seed: int) -> dict[str, Any]:
    """Gradients of sum(cos(1.7 k + seed) · result_k) for arguments and parameters.

    A gradient that never arrived (a detached graph) is None. Parameters are named as in
    the reference when weights were loaded.
    """
    import torch

    loss = None
    for value in result if isinstance(result, (list, tuple)) else (result,):
        if isinstance(value, torch.Tensor) and value.is_floating_point() and value.requires_grad:
            steps = torch.arange(value.numel(), dtype=torch.float64)
            cotangent = torch.cos(1.7 * steps + seed).to(value.dtype).reshape(value.shape)
            term = (value * cotangent).sum()
            loss = term if loss is None else loss + term
    if module is not None:
        module.zero_grad(set_to_none=True)
    if loss is not None:
        loss.backward()
    wanted = {
        name: value
        for name, value in arguments.items()
        if isinstance(value, torch.Tensor) and value.requires_grad
    }
    return {
        "arguments": {name: value.grad for name, value in wanted.items()},
        "parameters": {} if module is None else _parameter_gradients(module),
    }


def _parameter_gradients(module: Any) -> dict[str, Any]:
    import torch

    own = dict(module.named_parameters())
    places = getattr(module, "_autograder_places", None)
    if places is None:
        return {name: parameter.grad for name, parameter in own.items()}
    found: dict[str, Any] = {}
    for name, (targets, transposed, start) in places.items():
        grads = [own[target].grad for target in targets]
        if any(grad is None for grad in grads):
            found[name] = None
            continue
        grad = torch.cat(grads) if len(grads) > 1 else grads[0]
        rows = [other for other, place in places.items() if place[0] == targets]
        if len(rows) > 1:  # a fused layer: this weight's rows only
            following = [places[other][2] for other in rows if places[other][2] > start]
            grad = grad[start : min(following, default=grad.shape[0])]
        found[name] = grad.T if transposed else grad
    return found


def parameters(module: Any, values: bool) -> dict[str, Any]:
    """Name → shape, or name → value, of every parameter, in order of registration."""
    return {
        name: parameter if values else [int(size) for size in parameter.shape]
        for name, parameter in module.named_parameters()
    }


@contextlib.contextmanager
def largest_allocation() -> Iterator[list[int]]:
    """Elements in the storage of the largest tensor made by any torch operation inside."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    largest = [0]

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            made = function(*args, **(kwargs or {}))
            for value in made if isinstance(made, (list, tuple)) else (made,):
                if isinstance(value, torch.Tensor):
                    size = value.untyped_storage().nbytes() // max(value.element_size(), 1)
                    largest[0] = max(largest[0], size)
            return made

    with Watch():
        yield largest
