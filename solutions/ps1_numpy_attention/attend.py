"""Collect the values: each query gets a mixture of them, in the proportions of its weights."""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=3, order=5)
def attend(
    V: Float[np.ndarray, "d_v n_k"], weights: Float[np.ndarray, "n_k n_q"]
) -> Float[np.ndarray, "d_v n_q"]:
    """Weighted sum of the values, for every query.

    Args:
        V: shape (d_v, n_k), one value per column.
        weights: shape (n_k, n_q). Column j is the distribution of query j over the keys, so
            entry [i, j] says how much of value i goes into output j.

    Returns:
        Shape (d_v, n_q), one output per column. `V` and `weights` are left as they were.
    """
    return V @ weights  # (d_v, n_k) @ (n_k, n_q) -> (d_v, n_q)


def _distributions(rng, n_k, n_q):
    """Random weights of shape (n_k, n_q) whose columns sum to 1."""
    return rng.dirichlet(np.ones(n_k), size=n_q).T


# ---- cases ---------------------------------------------------------------------------------


@attend.case(
    "three different sizes",
    separates=[
        "transposed_weights",
        "outputs_as_rows",
        "elementwise",
        "averaged_once_more",
        "best_match_only",
        "softmax_again",
        "weights_ignored",
        "from_the_left",
    ],
)
def different_sizes(rng):
    return {"V": rng.normal(size=(3, 5)), "weights": _distributions(rng, 5, 7)}


@attend.case(
    "as many queries as keys",
    separates=["transposed_weights", "outputs_as_rows", "softmax_again", "best_match_only"],
)
def as_many_queries_as_keys(rng):
    # the transpose of the weights fits here: only the values tell
    return {"V": rng.normal(size=(3, 6)), "weights": _distributions(rng, 6, 6)}


@attend.case(
    "all sizes equal",
    separates=["transposed_weights", "elementwise", "outputs_as_rows", "from_the_left"],
    hidden=True,
)
def all_equal(rng):
    return {"V": rng.normal(size=(4, 4)), "weights": _distributions(rng, 4, 4)}


@attend.case(
    "wide values, few queries",
    separates=["averaged_once_more", "weights_ignored", "softmax_again"],
    hidden=True,
)
def wide(rng):
    return {"V": rng.normal(size=(10, 8)), "weights": _distributions(rng, 8, 2)}


@attend.case("each query looks at a single key", kind="robustness")
def look_up(rng):
    picked = rng.integers(4, size=6)  # (6,), the key of each query
    return {"V": rng.normal(size=(3, 4)), "weights": np.eye(4)[:, picked]}


@attend.case("a single key", kind="robustness")
def single_key(rng):
    return {"V": rng.normal(size=(4, 1)), "weights": np.ones((1, 3))}


@attend.case("tiny values", kind="robustness")
def tiny(rng):
    return {"V": rng.normal(scale=1e-3, size=(2, 3)), "weights": _distributions(rng, 3, 5)}


@attend.case("float32", kind="robustness")
def single_precision(rng):
    V, weights = rng.normal(size=(5, 2)), _distributions(rng, 2, 4)
    return {"V": V.astype(np.float32), "weights": weights.astype(np.float32)}


# ---- misconceptions ------------------------------------------------------------------------


@attend.misconception(
    "Uses the weights transposed: each output mixes the values in the proportions of a row.",
    hint="Which line of the weights sums to 1, and which line do your sums run along?",
    credit=0.25,
)
def transposed_weights(V, weights):
    return V @ weights.T


@attend.misconception(
    "Returns outputs as rows instead of columns.",
    hint="Compare the shape of your result with the one in the docstring: which axis counts the "
    "queries in this problem set?",
    credit=0.5,
)
def outputs_as_rows(V, weights):
    return weights.T @ V.T


@attend.misconception(
    "Multiplies values and weights entry by entry, without the sum over the keys.",
    hint="An output mixes all values. Over which axis is the sum?",
)
def elementwise(V, weights):
    return V * weights


@attend.misconception(
    "Divides by the number of keys, although the weights sum to 1 already.",
    hint="If all values are equal, what must every output be?",
    credit=0.25,
)
def averaged_once_more(V, weights):
    return V @ weights / V.shape[1]


@attend.misconception(
    "Takes the value with the largest weight and drops the others.",
    hint="Two keys have the weights 0.6 and 0.4. How much of the second value should be in the "
    "output?",
)
def best_match_only(V, weights):
    return V[:, weights.argmax(axis=0)]


@attend.misconception(
    "Applies softmax to the weights, which are a distribution already.",
    hint="Do the columns of the argument sum to 1 before you touch them?",
    credit=0.25,
)
def softmax_again(V, weights):
    exponentials = np.exp(weights)
    return V @ (exponentials / exponentials.sum(axis=0))


@attend.misconception(
    "Gives every query the plain mean of the values.",
    hint="Change the weights of one query: does its output move?",
)
def weights_ignored(V, weights):
    return np.repeat(V.mean(axis=1, keepdims=True), weights.shape[1], axis=1)


@attend.misconception(
    "Multiplies with the weights on the left, as if tokens were rows.",
    hint="Write the two shapes side by side. Which two sizes meet in the middle, and do both count "
    "keys?",
)
def from_the_left(V, weights):
    return weights @ V


# ---- right but unusual ---------------------------------------------------------------------


@attend.alternative("einsum over named axes, in Fortran order")
def named_axes(V, weights):
    return np.asfortranarray(np.einsum("vk,kq->vq", V, weights))


@attend.alternative("a weighted average for each query")
def weighted_averages(V, weights):
    return np.stack([np.average(V, axis=1, weights=column) for column in weights.T], axis=1)


@attend.alternative("key after key added up, as float32")
def key_by_key(V, weights):
    total = np.zeros((V.shape[0], weights.shape[1]))
    for value, share in zip(V.T, weights, strict=True):
        total += np.outer(value, share)
    return total.astype(np.float32)


@attend.alternative("the row formula turned around, returning nested lists")
def rows_turned_around(V, weights):
    return np.transpose(np.dot(weights.T, V.T)).tolist()
