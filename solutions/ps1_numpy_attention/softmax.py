"""Turn each query's scores into weights: shares that sum to 1 over the keys.

The formula fits on one line. The craft is that it must hold for *any* finite scores, also
where `np.exp` alone would overflow. SciPy's softmax is forbidden.
"""

import math

import numpy as np
from jaxtyping import Float

from autograder import exercise
from autograder.checks import not_negative, sums_to_one


@exercise(
    points=4,
    order=4,
    forbids=["scipy.special.softmax", "scipy.special.log_softmax"],
    checks=[
        not_negative(line="no weight is negative"),
        sums_to_one(axis=0, line="each column sums to 1"),
    ],
)
def softmax(scores: Float[np.ndarray, "n_k n_q"]) -> Float[np.ndarray, "n_k n_q"]:
    """Softmax over the keys, separately for each query.

    Args:
        scores: shape (n_k, n_q); entry [i, j] says how well key i matches query j. Any
            finite floats: huge ones, and columns far away from each other, are allowed.

    Returns:
        Weights of shape (n_k, n_q). Column j is a distribution over the keys for query j:
        its entries are at least 0 and sum to 1. `scores` itself is left as it was.
    """
    largest = scores.max(axis=0, keepdims=True)  # (1, n_q), a maximum for each query
    with np.errstate(over="ignore"):  # a gap beyond float64's range is -inf, and exp(-inf) is 0
        shifted = scores - largest  # (n_k, n_q), nothing above 0
    exponentials = np.exp(shifted)  # (n_k, n_q), a 1 in every column
    return exponentials / exponentials.sum(axis=0, keepdims=True)  # (n_k, n_q)


# ---- cases ---------------------------------------------------------------------------------


@softmax.case(
    "more keys than queries, everyday scores",
    separates=[
        "over_queries",
        "whole_matrix",
        "row_maximum",
        "missing_exponential",
        "twice",
        "logarithms",
        "not_normalised",
        "in_place",
    ],
)
def everyday(rng):
    return {"scores": rng.normal(scale=2.0, size=(5, 3))}


@softmax.case("columns far below the global maximum", separates=["global_maximum"])
def far_below(rng):
    # exp underflows to 0 at about -745.2: 800 and more below, a column keeps nothing at all
    offsets = np.array([0.0, -800.0, -1600.0])  # (3,)
    return {"scores": rng.normal(size=(4, 3)) + offsets}


@softmax.case(
    "scores around +1000 and -1000",
    separates=["no_maximum", "mean_shift", "clipped", "global_maximum"],
)
def large(rng):
    scores = rng.normal(size=(6, 4))  # (6, 4), the last column stays like this
    scores[:, 0] += 1000.0  # exp overflows above 709.8
    scores[:, 1] -= 1000.0
    scores[:, 2] -= 1000.0
    scores[2, 2] += 2000.0  # one key far above the mean of its column
    return {"scores": scores}


@softmax.case(
    "more queries than keys, one query far above the others",
    separates=["global_maximum", "no_maximum", "over_queries", "row_maximum"],
    hidden=True,
)
def far_above(rng):
    scores = rng.normal(size=(3, 5))  # (3, 5)
    scores[:, int(rng.integers(5))] += rng.uniform(850.0, 950.0)
    return {"scores": scores}


@softmax.case(
    "as many queries as keys",
    separates=["over_queries", "whole_matrix", "row_maximum"],
    hidden=True,
)
def square(rng):
    return {"scores": rng.normal(scale=2.0, size=(4, 4))}


@softmax.case("scores near the largest finite float64", kind="robustness", hidden=True)
def near_the_limit(rng):
    # Differences reach 2.4e308, beyond the largest float64 (1.8e308). The scores themselves
    # stay below 1.25e308, so that multiplying by log2(e) = 1.44 for exp2 is still finite.
    scores = 1.2e308 * rng.uniform(-1.0, 1.0, size=(5, 4))  # (5, 4)
    scores[0, 0], scores[1, 0] = 1.2e308, -1.2e308
    return {"scores": scores}


@softmax.case("tiny scores", kind="robustness")
def tiny(rng):
    return {"scores": rng.normal(scale=1e-3, size=(3, 4))}


@softmax.case("equal scores among others", kind="robustness")
def ties(rng):
    return {"scores": rng.integers(-2, 3, size=(7, 5)).astype(np.float64)}


@softmax.case("float32 scores", kind="robustness")
def single_precision(rng):
    return {"scores": rng.normal(scale=2.0, size=(5, 2)).astype(np.float32)}


@softmax.case("a single key", kind="robustness")
def single_key(rng):
    return {"scores": rng.normal(scale=5.0, size=(1, 3))}


@softmax.case("a single query", kind="robustness")
def single_query(rng):
    return {"scores": rng.normal(scale=5.0, size=(4, 1))}


# ---- misconceptions ------------------------------------------------------------------------


@softmax.misconception(
    "Normalises over the queries instead of the keys.",
    hint="Which axis holds the keys of one query, and along which axis do your weights sum to 1?",
    credit=0.25,
)
def over_queries(scores):
    shifted = scores - scores.max(axis=1, keepdims=True)
    exponentials = np.exp(shifted)
    return exponentials / exponentials.sum(axis=1, keepdims=True)


@softmax.misconception(
    "Divides by the sum over the whole matrix, so that all queries share one distribution.",
    hint="Add up one column of your result. How many totals does a matrix with n_q columns need?",
    credit=0.25,
)
def whole_matrix(scores):
    exponentials = np.exp(scores - scores.max(axis=0))
    return exponentials / exponentials.sum()


@softmax.misconception(
    "Subtracts one maximum of the whole matrix, which underflows a column that lies far below it.",
    hint="Take two columns, one around 0 and one around -800. What is left of the second after "
    "the exponential, and what is it then divided by?",
    credit=0.5,
)
def global_maximum(scores):
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum(axis=0)


@softmax.misconception(
    "Takes the exponential of the scores as they are, which overflows for large ones.",
    hint="What does NumPy give for the exponential of 1000? Which shift of a column leaves its "
    "softmax unchanged?",
    credit=0.5,
)
def no_maximum(scores):
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=0)


@softmax.misconception(
    "Shifts each row by its own maximum, which changes the ratios within a column.",
    hint="Softmax ignores a shift only if all entries of one distribution get the same one. Do "
    "the entries of a column get the same one?",
    credit=0.25,
)
def row_maximum(scores):
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=0)


@softmax.misconception(
    "Divides the scores by their sum, without the exponential.",
    hint="What does this give for a negative score, and may a weight be like that?",
)
def missing_exponential(scores):
    return scores / scores.sum(axis=0)


@softmax.misconception(
    "Applies softmax twice, which flattens the weights.",
    hint="What range do the numbers have that enter your second exponential?",
    credit=0.25,
)
def twice(scores):
    exponentials = np.exp(scores - scores.max(axis=0))
    once = exponentials / exponentials.sum(axis=0)
    return np.exp(once) / np.exp(once).sum(axis=0)


@softmax.misconception(
    "Returns the logarithms of the weights.",
    hint="Which sign do your results have? One step back to weights is missing.",
    credit=0.25,
)
def logarithms(scores):
    shifted = scores - scores.max(axis=0)
    return shifted - np.log(np.exp(shifted).sum(axis=0))


@softmax.misconception(
    "Leaves out the division, so that the largest weight of every column is 1.",
    hint="What does a column of your result sum to?",
)
def not_normalised(scores):
    return np.exp(scores - scores.max(axis=0))


@softmax.misconception(
    "Subtracts the mean of each column, which still overflows where one score stands far above it.",
    hint="After your shift, how large can the largest entry of a column still be?",
    credit=0.5,
)
def mean_shift(scores):
    exponentials = np.exp(scores - scores.mean(axis=0))
    return exponentials / exponentials.sum(axis=0)


@softmax.misconception(
    "Clips large scores to a fixed range, which makes different scores equal.",
    hint="Two keys score 1000 and 1003. Which weights do they deserve, and which do they get?",
    credit=0.5,
)
def clipped(scores):
    exponentials = np.exp(np.clip(scores, -500.0, 500.0))
    return exponentials / exponentials.sum(axis=0)


@softmax.misconception(
    "Writes into the scores it was given: the shift stays in the caller's array.",
    hint="Print the argument before and after the call. Which of your statements changes it?",
    credit=0.5,
)
def in_place(scores):
    scores -= scores.max(axis=0)
    exponentials = np.exp(scores)
    return exponentials / exponentials.sum(axis=0)


# ---- right but unusual ---------------------------------------------------------------------


@softmax.alternative("in log space: subtracts the logarithm of the sum, never divides")
def log_space(scores):
    return np.exp(scores - np.logaddexp.reduce(scores, axis=0))


@softmax.alternative("powers of two, on the transpose")
def base_two(scores):
    rows = scores.T * np.log2(np.e)
    powers = np.exp2(rows - rows.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)).T


@softmax.alternative("a loop over queries and keys in plain Python, returning nested lists")
def nested_lists(scores):
    columns = []
    for column in scores.T.tolist():
        largest = max(column)
        exponentials = [math.exp(score - largest) for score in column]
        columns.append([value / math.fsum(exponentials) for value in exponentials])
    return [list(row) for row in zip(*columns, strict=True)]


@softmax.alternative("shifted by more than the maximum, as float32 in Fortran order")
def float32_fortran(scores):
    shifted = scores - (scores.max(axis=0) + 3.0)
    exponentials = np.exp(shifted)
    weights = np.einsum("kq,q->kq", exponentials, 1.0 / exponentials.sum(axis=0))
    return np.asfortranarray(weights, dtype=np.float32)
