"""Project every token with one matrix: the step that makes queries, keys and values.

Tokens are columns here, so a matrix acts on them from the left.
"""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=2, order=1)
def project(
    W: Float[np.ndarray, "d_out d_in"], X: Float[np.ndarray, "d_in n"]
) -> Float[np.ndarray, "d_out n"]:
    """Linear projection of all tokens.

    Args:
        W: shape (d_out, d_in), the weights.
        X: shape (d_in, n), one token per column.

    Returns:
        Shape (d_out, n). Column j is W applied to token j. `W` and `X` are left as they were.
    """
    return W @ X  # (d_out, d_in) @ (d_in, n) -> (d_out, n)


# ---- cases ---------------------------------------------------------------------------------


@project.case(
    "three different sizes",
    separates=[
        "from_the_right",
        "transposed_weights",
        "tokens_as_rows",
        "row_habit",
        "elementwise",
        "not_projected",
        "last_feature_missing",
        "shared_projection",
    ],
)
def different_sizes(rng):
    return {"W": rng.normal(size=(5, 3)), "X": rng.normal(size=(3, 7))}


@project.case(
    "as many features out as in",
    separates=["transposed_weights", "row_habit", "tokens_as_rows", "not_projected"],
)
def square_weights(rng):
    # the transpose of a square W fits as well: nothing raises here, the values are wrong
    return {"W": rng.normal(size=(4, 4)), "X": rng.normal(size=(4, 6))}


@project.case(
    "all sizes equal",
    separates=["from_the_right", "elementwise", "transposed_weights", "row_habit"],
)
def all_equal(rng):
    return {"W": rng.normal(size=(3, 3)), "X": rng.normal(size=(3, 3))}


@project.case(
    "a wide projection of few tokens", separates=["tokens_as_rows", "not_projected"], hidden=True
)
def wide(rng):
    return {"W": rng.normal(size=(11, 6)), "X": rng.normal(size=(6, 2))}


@project.case("a single token", kind="robustness")
def single_token(rng):
    return {"W": rng.normal(size=(3, 4)), "X": rng.normal(size=(4, 1))}


@project.case("a single output feature", kind="robustness", hidden=True)
def single_output(rng):
    return {"W": rng.normal(size=(1, 5)), "X": rng.normal(size=(5, 4))}


@project.case("tiny tokens", kind="robustness")
def tiny(rng):
    return {"W": rng.normal(size=(4, 2)), "X": rng.normal(scale=1e-3, size=(2, 5))}


@project.case("float32", kind="robustness")
def single_precision(rng):
    W, X = rng.normal(size=(2, 6)), rng.normal(size=(6, 3))
    return {"W": W.astype(np.float32), "X": X.astype(np.float32)}


# ---- misconceptions ------------------------------------------------------------------------


@project.misconception(
    "Multiplies from the right, as if the tokens were rows.",
    hint="Write the two shapes side by side. Which two neighbouring sizes must be equal, and is "
    "each token still combined within itself?",
)
def from_the_right(W, X):
    return X @ W


@project.misconception(
    "Uses the transpose of the weights.",
    hint="How long is one row of W, and how long is one token?",
)
def transposed_weights(W, X):
    return W.T @ X


@project.misconception(
    "Returns tokens as rows instead of columns.",
    hint="Compare the shape of your result with the one in the docstring: which axis counts the "
    "tokens in this problem set?",
    credit=0.5,
)
def tokens_as_rows(W, X):
    return X.T @ W.T


@project.misconception(
    "Turns the tokens into rows and multiplies them by weights meant for columns.",
    hint="If the tokens are turned around, what has to happen to the weights and to the result?",
)
def row_habit(W, X):
    return X.T @ W


@project.misconception(
    "Multiplies entry by entry instead of row by column.",
    hint="Each output feature of a token mixes all of its input features. Where is the sum?",
)
def elementwise(W, X):
    return W * X


@project.misconception(
    "Returns the tokens as they came, without the weights.",
    hint="Double every entry of W: what should happen to the result, and what happens to yours?",
)
def not_projected(W, X):
    return X.copy()


@project.misconception(
    "Leaves out the last input feature.",
    hint="Over how many features does your sum run, and how many does a token have?",
    credit=0.25,
)
def last_feature_missing(W, X):
    total = np.zeros((W.shape[0], X.shape[1]))
    for feature in range(W.shape[1] - 1):
        total += W[:, feature, None] * X[feature]
    return total


@project.misconception(
    "Projects the sum of all tokens, so that every column of the result is the same.",
    hint="Change one token of X: which columns of the result may move?",
)
def shared_projection(W, X):
    together = W @ X.sum(axis=1, keepdims=True)
    return np.repeat(together, X.shape[1], axis=1)


@project.misconception(
    "Divides the projection by the square root of the number of input features.",
    hint="W is the whole of the projection: work out one entry by hand. By which factor is yours "
    "off, and which sizes does this factor follow?",
    credit=0.5,
)
def scaled_down(W, X):
    return W @ X / np.sqrt(W.shape[1])


@project.misconception(
    "Multiplies from the right wherever the shapes allow it, and from the left elsewhere.",
    hint="With square matrices both products exist. Which of them acts on the columns of X?",
    credit=0.5,
)
def from_the_right_where_it_fits(W, X):
    return X @ W if X.shape[1] == W.shape[0] else W @ X


# ---- right but unusual ---------------------------------------------------------------------


@project.alternative("einsum over named axes, in Fortran order")
def named_axes(W, X):
    return np.asfortranarray(np.einsum("oi,in->on", W, X))


@project.alternative("a sum of outer products, feature by feature")
def outer_products(W, X):
    total = np.zeros((W.shape[0], X.shape[1]))
    for feature in range(W.shape[1]):
        total += np.outer(W[:, feature], X[feature])
    return total


@project.alternative("plain loops, returning nested lists")
def nested_lists(W, X):
    rows, columns = W.tolist(), X.T.tolist()
    return [[sum(w * x for w, x in zip(row, col, strict=True)) for col in columns] for row in rows]


@project.alternative("the row formula turned around, as float32")
def rows_turned_around(W, X):
    return (X.T @ W.T).T.astype(np.float32)
