"""How the weights of one query react to its scores, and why a saturated softmax cannot learn.

Entry [i, j] is the derivative of weight i with respect to score j. Try it with weights close
to 0 and 1: hardly anything is left of it.
"""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=3, order=8)
def softmax_jacobian(p: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n n"]:
    """Jacobian of softmax, written with its result: diag(p) - p pᵀ.

    Args:
        p: shape (n,), the weights that softmax gave: a distribution over n keys. These are
            not the scores.

    Returns:
        Shape (n, n). Entry [i, j] is the derivative of weight i with respect to score j.
        `p` is left as it was.
    """
    return np.diag(p) - np.outer(p, p)  # (n, n) - (n, n) -> (n, n)


@softmax_jacobian.check("each row sums to 0", public=True)
def rows_sum_to_zero(view):
    """The weights depend on differences of scores only: raising all scores changes nothing."""
    sums = np.asarray(view.result, dtype=np.float64).sum(axis=1)  # (n,)
    worst = int(np.argmax(np.abs(sums)))
    # A few float32 entries of at most 1/4 are rounded by 1e-7 together; a missing part of the
    # formula leaves a sum of about the size of p.
    if abs(sums[worst]) <= 1e-5:
        return None
    return (
        f"row {worst} sums to {sums[worst]:.4g}, expected 0: adding one number to all scores "
        "leaves every weight as it is"
    )


# ---- cases ---------------------------------------------------------------------------------


@softmax_jacobian.case(
    "five keys",
    separates=[
        "diagonal_only",
        "vector_only",
        "sign_flipped",
        "outer_missing",
        "inner_product",
        "crossed",
        "softmax_again",
        "identity",
    ],
)
def five_keys(rng):
    return {"p": rng.dirichlet(np.full(5, 2.0))}


@softmax_jacobian.case(
    "two keys", separates=["sign_flipped", "crossed", "diagonal_only", "inner_product"]
)
def two_keys(rng):
    first = rng.uniform(0.15, 0.4)
    return {"p": np.array([first, 1.0 - first])}


@softmax_jacobian.case(
    "a nearly saturated softmax",
    separates=["softmax_again", "outer_missing", "identity"],
)
def saturated(rng):
    # entries of 1e-4, not smaller: 1 - p must keep its digits to be judged to 1e-9
    p = rng.uniform(1e-4, 3e-4, size=4)  # (4,)
    largest = int(rng.integers(4))
    p[largest] += 1.0 - p.sum()
    return {"p": p}


@softmax_jacobian.case(
    "more keys",
    separates=["diagonal_only", "sign_flipped", "softmax_again", "crossed"],
    hidden=True,
)
def more_keys(rng):
    return {"p": rng.dirichlet(np.ones(int(rng.integers(7, 12))))}


@softmax_jacobian.case("equal weights", kind="robustness", hidden=True)
def equal_weights(rng):
    n = int(rng.integers(3, 9))
    return {"p": np.full(n, 1.0 / n)}


@softmax_jacobian.case("all the weight on one key", kind="robustness")
def one_hot(rng):
    return {"p": np.eye(3)[int(rng.integers(3))]}


@softmax_jacobian.case("a single key", kind="robustness")
def single_key(rng):
    return {"p": np.ones(1)}


@softmax_jacobian.case("float32", kind="robustness")
def single_precision(rng):
    return {"p": rng.dirichlet(np.full(6, 2.0)).astype(np.float32)}


# ---- misconceptions ------------------------------------------------------------------------


@softmax_jacobian.misconception(
    "Keeps the diagonal only, as if each weight depended on its own score alone.",
    hint="Raise one score. The weights still sum to 1, so what happens to the other ones?",
    credit=0.25,
)
def diagonal_only(p):
    return np.diag(p * (1.0 - p))


@softmax_jacobian.misconception(
    "Returns one derivative for each weight, as for the sigmoid.",
    hint="How many pairs of a weight and a score are there?",
)
def vector_only(p):
    return p * (1.0 - p)


@softmax_jacobian.misconception(
    "Has the two parts of the formula the wrong way round: all signs are flipped.",
    hint="Raise a score: does its own weight grow or shrink, and what sign does your diagonal "
    "have?",
    credit=0.5,
)
def sign_flipped(p):
    return np.outer(p, p) - np.diag(p)


@softmax_jacobian.misconception(
    "Returns diag(p) alone: the effect of the shared denominator is missing.",
    hint="Every score also enters the sum that all weights are divided by. Which entries must that "
    "reach?",
    credit=0.25,
)
def outer_missing(p):
    return np.diag(p)


@softmax_jacobian.misconception(
    "Subtracts one number, the inner product of p with itself, from every entry.",
    hint="What is the shape of a column times a row, and what does `@` give for two 1-D arrays?",
    credit=0.25,
)
def inner_product(p):
    return np.diag(p) - p @ p


@softmax_jacobian.misconception(
    "Pairs each weight with what is left of the other one; the entries off the diagonal come out "
    "positive.",
    hint="Two different keys compete for the weight of one query. Which sign must their entry "
    "have?",
    credit=0.25,
)
def crossed(p):
    return p[:, None] * (1.0 - p)[None, :]


@softmax_jacobian.misconception(
    "Applies softmax to p first, although p is what softmax gave.",
    hint="Look at the docstring again: is the argument scores or weights?",
    credit=0.25,
)
def softmax_again(p):
    weights = np.exp(p) / np.exp(p).sum()
    return np.diag(weights) - np.outer(weights, weights)


@softmax_jacobian.misconception(
    "Starts from the identity instead of a diagonal of weights.",
    hint="What should the derivative of a weight that is almost 0 be, and what is it here?",
    credit=0.25,
)
def identity(p):
    return np.eye(p.shape[0]) - np.outer(p, p)


# ---- right but unusual ---------------------------------------------------------------------


@softmax_jacobian.alternative("the derivatives case by case, returning nested lists")
def case_by_case(p):
    n = len(p)
    return [[float(p[i] * ((i == j) - p[j])) for j in range(n)] for i in range(n)]


@softmax_jacobian.alternative("the identity minus the weights, broadcast")
def broadcast(p):
    return p[:, None] * (np.eye(p.size) - p)


@softmax_jacobian.alternative("einsum, in Fortran order as float32")
def float32_fortran(p):
    jacobian = -np.einsum("i,j->ij", p, p)
    jacobian[np.diag_indices(p.size)] += p
    return np.asfortranarray(jacobian, dtype=np.float32)
