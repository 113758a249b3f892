"""Bring the scores back to unit size, whatever the width of queries and keys.

A score is a sum of d_k products. If these are independent, with mean 0 and variance 1, their sum
has the standard deviation √d_k, and a wide model would start with a saturated softmax.
"""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=2, order=3)
def scale_scores(scores: Float[np.ndarray, "n_k n_q"], d_k: int) -> Float[np.ndarray, "n_k n_q"]:
    """Scores divided by the square root of d_k.

    Args:
        scores: shape (n_k, n_q).
        d_k: the width of queries and keys, at least 1.

    Returns:
        A new array of the same shape. `scores` itself is left as it was: whoever called you
        may still need it.
    """
    return scores / np.sqrt(d_k)  # (n_k, n_q)


# ---- cases ---------------------------------------------------------------------------------


@scale_scores.case(
    "three different sizes",
    separates=[
        "by_d_k",
        "multiplied",
        "not_scaled",
        "by_number_of_keys",
        "by_number_of_queries",
        "halved",
        "whole_root",
        "in_place",
    ],
)
def different_sizes(rng):
    # 7 is no square (a rounded root shows), and not 4 (where d_k / 2 is the root)
    return {"scores": rng.normal(size=(5, 3)), "d_k": 7}


@scale_scores.case(
    "a realistic width",
    separates=["by_d_k", "multiplied", "not_scaled", "by_number_of_keys", "by_number_of_queries"],
)
def realistic(rng):
    return {"scores": rng.normal(scale=8.0, size=(6, 9)), "d_k": 64}


@scale_scores.case(
    "a width drawn anew",
    separates=["by_d_k", "multiplied", "not_scaled", "halved", "whole_root"],
    hidden=True,
)
def drawn_width(rng):
    # no perfect square among them
    d_k = int(rng.choice([10, 12, 15, 20, 24, 48, 80, 96]))
    return {"scores": rng.normal(size=(3, 8)), "d_k": d_k}


@scale_scores.case(
    "as many keys and queries as features",
    separates=["by_d_k", "multiplied", "not_scaled", "whole_root"],
    hidden=True,
)
def all_equal(rng):
    return {"scores": rng.normal(size=(6, 6)), "d_k": 6}


@scale_scores.case("a width of 1", kind="robustness")
def width_one(rng):
    return {"scores": rng.normal(size=(3, 2)), "d_k": 1}


@scale_scores.case("tiny scores", kind="robustness")
def tiny(rng):
    return {"scores": rng.normal(scale=1e-3, size=(4, 2)), "d_k": 12}


@scale_scores.case("float32", kind="robustness")
def single_precision(rng):
    return {"scores": rng.normal(size=(2, 5)).astype(np.float32), "d_k": 10}


# ---- misconceptions ------------------------------------------------------------------------


@scale_scores.misconception(
    "Divides by d_k itself, which is the same as scaling twice.",
    hint="How large is the sum of 100 coin flips of +1 or -1, typically: about 100 or about 10?",
    credit=0.25,
)
def by_d_k(scores, d_k):
    return scores / d_k


@scale_scores.misconception(
    "Multiplies where it should divide.",
    hint="Wider queries make larger scores. Does your result shrink them or blow them up?",
    credit=0.25,
)
def multiplied(scores, d_k):
    return scores * np.sqrt(d_k)


@scale_scores.misconception(
    "Returns the scores unscaled.",
    hint="Call it with two different widths: does the result change?",
)
def not_scaled(scores, d_k):
    return scores


@scale_scores.misconception(
    "Takes the scale from the number of keys instead of the width of a key.",
    hint="Over what does the sum in one score run: over tokens, or over the features of a token?",
    credit=0.25,
)
def by_number_of_keys(scores, d_k):
    return scores / np.sqrt(scores.shape[0])


@scale_scores.misconception(
    "Takes the scale from the number of queries instead of the width of a query.",
    hint="Would one more query in the batch change how well the first one matches a key?",
    credit=0.25,
)
def by_number_of_queries(scores, d_k):
    return scores / np.sqrt(scores.shape[1])


@scale_scores.misconception(
    "Divides by half of d_k: Python reads `d_k ** 1 / 2` as `(d_k ** 1) / 2`.",
    hint="Print your divisor for a width of 100. Which of the two operators goes first?",
    credit=0.5,
)
def halved(scores, d_k):
    return scores / (d_k**1 / 2)


@scale_scores.misconception(
    "Rounds the root down to a whole number.",
    hint="What is your divisor for a width of 3?",
    credit=0.5,
)
def whole_root(scores, d_k):
    return scores / int(np.sqrt(d_k))


@scale_scores.misconception(
    "Changes the scores it was given, so that a second use finds them scaled already.",
    hint="Print the argument before and after the call. Which of your statements writes into it?",
    credit=0.5,
)
def in_place(scores, d_k):
    scores /= np.sqrt(d_k)
    return scores


# ---- right but unusual ---------------------------------------------------------------------


@scale_scores.alternative("a negative power of d_k, in Fortran order")
def negative_power(scores, d_k):
    return np.asfortranarray(float(d_k) ** -0.5 * scores)


@scale_scores.alternative("a quarter power twice, as for queries and keys apart")
def quarter_power_twice(scores, d_k):
    quarter = np.power(float(d_k), 0.25)
    return np.divide(np.divide(scores, quarter), quarter)


@scale_scores.alternative("a copy changed in place, as float32")
def copy_in_place(scores, d_k):
    scaled = scores.copy()
    scaled /= np.sqrt(d_k)
    return scaled.astype(np.float32)


@scale_scores.alternative("plain loops, returning nested lists")
def nested_lists(scores, d_k):
    return [[value / d_k**0.5 for value in row] for row in scores.tolist()]
