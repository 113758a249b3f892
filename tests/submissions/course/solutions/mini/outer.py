"""Multiply each of some numbers with each of some others."""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=3, order=2)
def outer(
    a: Float[np.ndarray, "n"], b: Float[np.ndarray, "m"]
) -> Float[np.ndarray, "n m"]:
    """All products.

    Args:
        a: shape (n,).
        b: shape (m,).

    Returns:
        Shape (n, m).
    """
    return a[:, None] * b  # (n, m)


@outer.case("three times four", separates=["swapped"])
def plain(rng):
    return {"a": np.array([1.0, 2.0, 3.0]), "b": rng.integers(4, 9, size=4).astype(np.float64)}


@outer.misconception("Swaps the axes.", hint="Which axis is a's?")
def swapped(a, b):
    return b[:, None] * a


@outer.alternative("with einsum")
def einsum(a, b):
    return np.einsum("n,m->nm", a, b)
