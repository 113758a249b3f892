"""Double every number."""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=2, order=1, forbids=["numpy.add"])
def double(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """Twice x.

    Args:
        x: shape (n,).

    Returns:
        Shape (n,).
    """
    return 2 * x  # (n,)


@double.case("five whole numbers", separates=["squared"])
def five(rng):
    return {"x": rng.integers(3, 9, size=5).astype(np.float64)}


@double.case("three negative numbers", separates=["squared"], hidden=True)
def negative(rng):
    return {"x": -rng.integers(3, 9, size=3).astype(np.float64)}


@double.misconception("Squares instead of doubling.", hint="What is twice three?", credit=0.5)
def squared(x):
    return x * x


@double.alternative("by adding")
def added(x):
    return x + x
