"""Calls that the grader answers, as the student's code sees them: functions like their own.

Where an argument requires a gradient the result does too, and the backward pass asks for the
gradients as the call asked for the values: gradient checks go on through an answered part.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from autograder.observe.values import Budget, describe, exact_text, is_a, is_tensor, make_argument

# Called with a question in plain form: {"name", "args", "kwargs", "cotangents"}. Returns the
# answer in plain form, or raises RuntimeError when it is refused.
Ask = Callable[[dict[str, Any]], Any]


def answered(name: str, ask: Ask | None) -> Callable[..., Any]:
    """A function that asks the grader, to be called as the student's own would be."""

    def function(*args: Any, **kwargs: Any) -> Any:
        if ask is None:
            raise RuntimeError(f"nobody answers for {name} here")
        budget = Budget()
        question = {
            "name": name,
            "args": [describe(item, budget, 1) for item in args],
            "kwargs": {exact_text(key): describe(item, budget, 1) for key, item in kwargs.items()},
            "cotangents": None,
        }
        inputs = _differentiable([*args, *kwargs.values()])
        if not inputs:
            return make_argument(ask(question), {}, False)
        return _in_graph().apply(question, ask, *inputs)

    function.__name__ = function.__qualname__ = name
    return function


def _differentiable(arguments: Sequence[Any]) -> list[Any]:
    """The tensors among the arguments that a gradient has to reach, in order."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.is_grad_enabled():
        return []
    return [tensor for tensor in _tensors(arguments) if tensor.requires_grad]


def _tensors(items: Any) -> Iterator[Any]:
    for item in items:
        if is_tensor(item):
            yield item
        elif is_a(item, list, tuple):
            yield from _tensors(item)


@functools.cache
def _in_graph() -> Any:
    """The node that an answered call is in the graph; made when torch is there."""
    import torch

    class Answered(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, question: dict[str, Any], ask: Ask, *inputs: Any) -> Any:
            # what was asked is kept, not the tensors: they may be changed in place later on
            ctx.question, ctx.ask = question, ask
            ctx.set_materialize_grads(False)
            made = make_argument(ask(question), {}, False)
            return tuple(made) if isinstance(made, list) else made

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            given = [None if item is None else describe(item) for item in cotangents]
            found = ctx.ask({**ctx.question, "cotangents": given})
            return (None, None, *make_argument(found, {}, False))

    return Answered


# --- in the process that answers ---------------------------------------------------------


def gradients_of(function: Callable[..., Any]) -> Callable[..., list[Any]]:
    """The vector-Jacobian product of a function, to be called with its arguments.

    Returns, for each tensor among them that requires a gradient, in order, the gradient of
    the sum of results times cotangents; None where there is none.
    """

    def gradients(
        args: Sequence[Any], kwargs: Mapping[str, Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        import torch

        with torch.enable_grad():
            inputs = _differentiable([*args, *kwargs.values()])
            results = function(*args, **kwargs)
        if not is_a(results, list, tuple):
            results = [results]
        pairs = [
            (result, cotangent)
            for result, cotangent in zip(results, cotangents, strict=True)
            if cotangent is not None and is_tensor(result) and result.requires_grad
        ]
        if not pairs:
            return [None] * len(inputs)
        outputs, weights = zip(*pairs, strict=True)
        return list(torch.autograd.grad(outputs, inputs, weights, allow_unused=True))

    return gradients
