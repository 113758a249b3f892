"""Double twice."""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=1, order=3, needs=["double"])
def fourfold(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """Four times x.

    Args:
        x: shape (n,).

    Returns:
        Shape (n,).
    """
    return double(double(x))  # noqa: F821


@fourfold.case("three numbers", separates=["once"])
def three(rng):
    return {"x": np.array([1.0, 2.0, 5.0])}


@fourfold.misconception("Doubles once.", hint="How often is to be doubled?")
def once(x):
    return 2 * x


@fourfold.alternative("at once")
def at_once(x):
    return 4 * x
