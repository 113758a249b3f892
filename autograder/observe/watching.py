"""What is reported beside the values: arguments that were changed, and large tensors.

All of it is advisory: it is measured in the process that holds the student's code.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from autograder.observe.values import is_a, is_tensor

Changed = Callable[[], bool]


def snapshot(argument: Any) -> Changed:
    """A function that tells later whether `argument` has been modified."""
    if is_a(argument, np.ndarray):
        return _snapshot_array(argument)
    if is_tensor(argument):
        return _snapshot_tensor(argument)
    if isinstance(argument, (list, tuple, dict)):
        return _snapshot_container(argument)
    return lambda: False


def _snapshot_array(array: Any) -> Changed:
    shape, dtype, before = array.shape, array.dtype, array.tobytes()
    return lambda: array.shape != shape or array.dtype != dtype or array.tobytes() != before


def _snapshot_tensor(tensor: Any) -> Changed:
    import torch

    def bits() -> Any:
        return tensor.detach().reshape(-1).view(torch.uint8).clone()

    shape, dtype, before = tensor.shape, tensor.dtype, bits()
    return lambda: tensor.shape != shape or tensor.dtype != dtype or not torch.equal(bits(), before)


def _snapshot_container(container: Any) -> Changed:
    def pairs() -> list[tuple[Any, Any]]:
        if isinstance(container, dict):
            return list(container.items())
        return list(enumerate(container))

    before = pairs()
    inner = [snapshot(item) for _, item in before]

    def changed() -> bool:
        now = pairs()
        if len(now) != len(before):
            return True
        replaced = any(
            key != old_key or item is not old_item
            for (key, item), (old_key, old_item) in zip(now, before, strict=True)
        )
        return replaced or any(was_changed() for was_changed in inner)

    return changed


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
