"""PyTorch modules beside student code: weights in, gradients and parameters out."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autograder.observe.values import Unfit, is_a, is_tensor, type_name


class WeightsDoNotFit(Unfit):
    """The module has no parameter for a weight; the message names it and its shape."""


@dataclass(frozen=True)
class Place:
    """Where a weight of the reference lies in a student's module.

    parameters: one; or one per head, which hold the weight's rows in order.
    rows: how many rows the weight has, starting at row `start` of the (fused) parameter.
    transposed: the parameter is stored as (in, out).
    """

    parameters: tuple[str, ...]
    rows: int
    start: int = 0
    transposed: bool = False

    def view(self, tensor: Any) -> Any:
        """A parameter, or its gradient, as (out, in)."""
        return tensor.t() if self.transposed else tensor


def expect_module(value: Any) -> Any:
    """The value itself; Unfit when it is no module."""
    module = getattr(getattr(sys.modules.get("torch"), "nn", None), "Module", None)
    if not isinstance(module, type) or not is_a(value, module):
        raise Unfit(f"expected a torch.nn.Module, got a value of type {type_name(value)}")
    return value


def load_weights(module: Any, weights: Mapping[str, Any]) -> dict[str, Place]:
    """Copy reference weights into a student's module, whatever its layout; returns their places.

    Tried in order for each weight: the parameter of that name; the same name transposed
    (a raw (in, out) matrix); a raw parameter named like the layer (`W_q` for
    `W_q.weight`); per-head layers (`W_q.0.weight`, or `heads.0.W_q.weight`; rows of the
    weight in order). What is left must be a fused layer: one parameter as tall as the
    missing ones together. A parameter that no weight went into does not fit either, since
    what it holds would be random.
    """
    import torch

    own = dict(expect_module(module).named_parameters())
    weights = {name: torch.as_tensor(weight) for name, weight in weights.items()}
    for name, parameter in own.items():
        if torch.nn.parameter.is_lazy(parameter):
            raise WeightsDoNotFit(
                f"parameter {name} has no shape before the first call; give the layer its sizes "
                "where the module is built"
            )
    places: dict[str, Place] = {}
    left: list[str] = []
    for name, weight in weights.items():
        place = _place(name, tuple(weight.shape), own)
        if place is None:
            left.append(name)
        else:
            places[name] = place
    taken = {parameter for place in places.values() for parameter in place.parameters}
    places.update(_fused_places(left, weights, own, taken))
    taken |= {parameter for place in places.values() for parameter in place.parameters}
    strange = [name for name in own if name not in taken]
    if strange:
        raise WeightsDoNotFit(
            f"the module has a parameter {strange[0]} of shape {tuple(own[strange[0]].shape)}, "
            f"expected none beside {_listed(weights)}"
        )
    with torch.no_grad():
        for name, place in places.items():
            _copy(weights[name], place, own)
    return places


def _listed(names: Mapping[str, Any]) -> str:
    return ", ".join(names) or "no parameters"


def _copy(weight: Any, place: Place, own: Mapping[str, Any]) -> None:
    whole = own[place.parameters[0]]
    if whole.shape == weight.shape and not place.transposed:  # as it mostly is
        whole.copy_(weight)
        return
    first = 0
    for target in place.parameters:
        into = place.view(own[target])  # (out, in)
        if into.dim() == 0:
            into.copy_(weight)
            continue
        if len(place.parameters) == 1:
            into = into.narrow(0, place.start, place.rows)
        rows = into.shape[0]
        into.copy_(weight.narrow(0, first, rows))
        first += rows


def _place(name: str, shape: tuple[int, ...], own: Mapping[str, Any]) -> Place | None:
    """Parameters that take this weight and nothing else, or None."""
    layer, _, kind = name.rpartition(".")
    raw_name = layer if kind == "weight" else f"{layer}_bias"
    rows = shape[0] if shape else 1
    for candidate in (name, raw_name):
        if candidate not in own:
            continue
        found = tuple(own[candidate].shape)
        # a raw parameter of an ambiguous square shape multiplies from the right: (in, out)
        raw = candidate != name and len(shape) == 2
        if len(shape) == 2 and found == shape[::-1] and (raw or found != shape):
            return Place((candidate,), rows, transposed=True)
        if found == shape:
            return Place((candidate,), rows)
        raise WeightsDoNotFit(
            f"parameter {candidate} has shape {found}, expected {shape}; look at the sizes that "
            "the layer is built with"
        )
    heads = _heads(layer, kind, own)
    shapes = [tuple(own[head].shape) for head in heads]
    as_wide = all(head[1:] == shape[1:] for head in shapes)
    if heads and as_wide and sum(head[0] for head in shapes) == rows:
        return Place(heads, rows)
    return None


def _heads(layer: str, kind: str, own: Mapping[str, Any]) -> tuple[str, ...]:
    """Parameters of per-head layers, in the order of their numbers."""
    name, kind = re.escape(layer), re.escape(kind)
    for pattern in (rf"{name}\.(\d+)\.{kind}", rf"[^.]+\.(\d+)\.{name}\.{kind}"):
        matches = [match for match in (re.fullmatch(pattern, item) for item in own) if match]
        if matches:
            matches.sort(key=lambda match: int(match[1]))
            return tuple(match[0] for match in matches)
    return ()


def _fused_places(
    left: Sequence[str], weights: Mapping[str, Any], own: Mapping[str, Any], taken: set[str]
) -> dict[str, Place]:
    """Places in fused layers: the missing weights stacked in the order they were asked for."""
    places: dict[str, Place] = {}
    for kind in dict.fromkeys(name.rpartition(".")[2] for name in left):
        names = [name for name in left if name.rpartition(".")[2] == kind]
        rows = sum(int(weights[name].shape[0]) for name in names if weights[name].dim())
        shape = (rows, *weights[names[0]].shape[1:])
        free = {name: tuple(own[name].shape) for name in own if name not in taken}
        fitting = [name for name, found in free.items() if found == shape]
        across = [name for name, found in free.items() if found == shape[::-1] != shape]
        if len(names) < 2 or len(fitting or across) != 1:
            missing = names[0]
            raise WeightsDoNotFit(
                f"expected a parameter {missing} of shape {tuple(weights[missing].shape)}, got a "
                f"module with {_listed(own)}"
            )
        start = 0
        for name in names:
            size = int(weights[name].shape[0])
            places[name] = Place(((fitting or across)[0],), size, start, not fitting)
            start += size
    return places


# --- gradients ---------------------------------------------------------------------------


def gradients(
    result: Any,
    arguments: Mapping[str, Any],
    module: Any,
    places: Mapping[str, Place] | None,
    seed: int,
) -> dict[str, Any]:
    """Gradients of sum(cos(1.7 k + seed) · result_k) for arguments and parameters.

    A gradient that never arrived (a detached graph) is None. Parameters are named as in
    the reference when weights were loaded (`places`).
    """
    own = {} if module is None else dict(expect_module(module).named_parameters())
    import torch

    loss = _weighted_sum(result, seed)
    wanted = {name: tensor for name, tensor in _tensors(arguments) if tensor.requires_grad}
    trained = {name: tensor for name, tensor in own.items() if tensor.requires_grad}
    inputs = [*wanted.values(), *trained.values()]
    found: Sequence[Any] = [None] * len(inputs)
    if loss is not None and inputs:
        found = torch.autograd.grad(loss, inputs, retain_graph=True, allow_unused=True)
    of_parameters = dict(zip(trained, found[len(wanted) :], strict=True))
    if places is None:
        named = {name: of_parameters.get(name) for name in own}
    else:
        named = {name: _gradient_at(place, of_parameters) for name, place in places.items()}
    return {"arguments": dict(zip(wanted, found, strict=False)), "parameters": named}


def _weighted_sum(result: Any, seed: int) -> Any:
    import torch

    loss = None
    for value in result if isinstance(result, (list, tuple)) else (result,):
        if is_tensor(value) and value.is_floating_point() and value.requires_grad:
            steps = torch.arange(value.numel(), dtype=torch.float64)
            cotangent = torch.cos(1.7 * steps + seed).to(value.dtype).reshape(value.shape)
            term = (value * cotangent).sum()
            loss = term if loss is None else loss + term
    return loss


def _tensors(arguments: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Names and tensors of the arguments; those in a list are called `W_q[0]` and so on."""
    found: list[tuple[str, Any]] = []
    for name, value in arguments.items():
        if is_tensor(value):
            found.append((name, value))
        elif isinstance(value, (list, tuple)):
            found += _tensors({f"{name}[{number}]": item for number, item in enumerate(value)})
    return found


def _gradient_at(place: Place, gradients: Mapping[str, Any]) -> Any:
    import torch

    pieces = [gradients.get(name) for name in place.parameters]
    if any(piece is None for piece in pieces):
        return None
    if len(pieces) > 1:
        return torch.cat([place.view(piece) for piece in pieces])
    whole = place.view(pieces[0])
    return whole.narrow(0, place.start, place.rows) if whole.dim() else whole


def parameters(module: Any, values: bool) -> dict[str, Any]:
    """Name → shape, or name → value, of every parameter, in order of registration."""
    return {
        name: parameter if values else [int(size) for size in parameter.shape]
        for name, parameter in expect_module(module).named_parameters()
    }
