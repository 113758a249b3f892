"""One array of a case, made small: of the same kind, in numbers that can be worked with by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from autograder.observe.protocol import Array

SMALLEST, LARGEST = -2, 3  # of the integers that are drawn
LARGE = 100.0  # from here on, a case is about large numbers


class Filling:
    """An array of a case with new sizes and new entries.

    filling: "sparse" (zeros and a few ones), "numbered" (1, 2, 3, …: all different), "drawn".
    """

    def __init__(
        self, array: Array, sizes: Mapping[int, int], filling: str, rng: np.random.Generator
    ) -> None:
        assert array.data is not None
        self.array_ = array
        self.old: np.ndarray[Any, Any] = np.asarray(array.data)
        self.sizes = sizes
        self.shape = tuple(sizes.get(size, size) for size in array.shape)
        self.filling = filling
        self.rng = rng

    def array(self) -> Array:
        """The small array, of the old one's dtype and framework."""
        data = np.asarray(self._entries()).astype(self.old.dtype)
        return replace(self.array_, shape=self.shape, data=data.reshape(self.shape))

    def _entries(self) -> np.ndarray[Any, Any]:
        if self._is_mask():
            return self._mask()
        if self.old.dtype.kind in "iu":
            return self._whole_numbers()
        axis = self._distribution()
        if axis is not None:
            return self._distributions(axis)
        return self._numbers()

    # --- kinds ------------------------------------------------------------------------

    def _is_mask(self) -> bool:
        if self.old.dtype.kind == "b":
            return True
        return self.old.size > 1 and set(np.unique(self.old)) == {0, 1} and self.old.ndim > 1

    def _mask(self) -> np.ndarray[Any, Any]:
        """As the old one is at its beginning, or drawn; a key in every row where there was one."""
        if not self.shape:
            return self.old
        old = self.old != 0
        cut = old[tuple(slice(0, size) for size in self.shape)]
        if self.filling == "sparse" and cut.shape == self.shape:
            mask = cut.copy()
        else:
            mask = self.rng.random(self.shape) < 0.5
        square = len(self.shape) > 1 and self.shape[-1] == self.shape[-2]
        if square and old.shape[-1] == old.shape[-2]:
            if not np.triu(old, 1).any():  # causal
                mask = np.tril(np.ones(self.shape, dtype=bool))
            elif np.array_equal(old, np.swapaxes(old, -1, -2)):
                mask = mask | np.swapaxes(mask, -1, -2)
        if old.any(axis=-1).all() and mask.size:
            empty = ~mask.any(axis=-1)
            mask[..., 0] |= empty
        return np.asarray(mask)

    def _whole_numbers(self) -> np.ndarray[Any, Any]:
        size = int(np.prod(self.shape))
        old = self.old.ravel()
        if old.size > 1 and np.array_equal(np.sort(old), np.arange(old.size)):
            return np.asarray(self.rng.permutation(size))
        low, high = (int(old.min()), int(old.max())) if old.size else (0, 0)
        # where the numbers count something that has a size, they stay below the new one
        above = [known for known in self.sizes if known >= high]
        most = self.sizes[min(above)] if above else high
        return np.asarray(self.rng.integers(min(low, most), max(low, most) + 1, size=size))

    def _distribution(self) -> int | None:
        """The axis along which the entries are shares that sum to 1, if there is one."""
        if not self.old.size or not self.old.ndim or (self.old < 0).any():
            return None
        for axis in range(self.old.ndim):
            if np.allclose(self.old.astype(np.float64).sum(axis=axis), 1.0, atol=1e-3):
                return axis
        return None

    def _distributions(self, axis: int) -> np.ndarray[Any, Any]:
        made = np.zeros(self.shape)
        rows = np.moveaxis(made, axis, -1)
        count = rows.shape[-1]
        for index in np.ndindex(*rows.shape[:-1]):
            first, second = self.rng.integers(count, size=2)
            if self.filling == "sparse":
                rows[(*index, first)] = 1.0
            else:
                rows[(*index, first)] += 0.5
                rows[(*index, second)] += 0.5
        return made

    def _numbers(self) -> np.ndarray[Any, Any]:
        size = int(np.prod(self.shape))
        low = 0 if self.old.size and (self.old >= 0).all() else SMALLEST
        if self.filling == "numbered":
            made = np.arange(1.0, size + 1.0)
        elif self.filling == "sparse":
            made = (self.rng.random(size) < 0.4).astype(np.float64)
            if len(self.shape) == 2 and min(self.shape) > 1:
                made = np.eye(*self.shape).ravel()
            elif size:
                made[self.rng.integers(size)] = 1.0
        else:
            made = self.rng.integers(low, LARGEST + 1, size=size).astype(np.float64)
        largest = float(np.abs(self.old.astype(np.float64)).max()) if self.old.size else 0.0
        if largest > LARGE and size and self.filling != "numbered":
            power = min(10.0 ** np.ceil(np.log10(largest)), 1e4)
            sign = 1.0 if low == 0 or self.rng.random() < 0.5 else -1.0
            made[self.rng.integers(size)] = sign * power
        return made
