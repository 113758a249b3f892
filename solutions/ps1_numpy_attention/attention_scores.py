"""Compare every key with every query: one number says how well the two match.

Entry [i, j] belongs to key i and query j, so *column* j holds all that query j asks for.
"""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=3, order=2)
def attention_scores(
    Q: Float[np.ndarray, "d_k n_q"], K: Float[np.ndarray, "d_k n_k"]
) -> Float[np.ndarray, "n_k n_q"]:
    """Unscaled scores of all keys for all queries.

    Args:
        Q: shape (d_k, n_q), one query per column.
        K: shape (d_k, n_k), one key per column.

    Returns:
        Shape (n_k, n_q). Entry [i, j] is the inner product of key i and query j: column j
        belongs to query j. There is no scaling here. `Q` and `K` are left as they were.
    """
    return K.T @ Q  # (n_k, d_k) @ (d_k, n_q) -> (n_k, n_q)


# ---- cases ---------------------------------------------------------------------------------


@attention_scores.case(
    "three different sizes",
    separates=[
        "transposed",
        "features_with_features",
        "already_scaled",
        "elementwise",
        "cosine",
        "keys_with_keys",
        "averaged",
        "distance",
    ],
)
def different_sizes(rng):
    return {"Q": rng.normal(size=(3, 5)), "K": rng.normal(size=(3, 7))}


@attention_scores.case(
    "as many queries as keys",
    separates=["transposed", "keys_with_keys", "elementwise", "features_with_features"],
)
def as_many_queries_as_keys(rng):
    # the transpose has the right shape here: only the values tell
    return {"Q": rng.normal(size=(3, 5)), "K": rng.normal(size=(3, 5))}


@attention_scores.case(
    "all sizes equal",
    separates=["transposed", "features_with_features", "elementwise"],
    hidden=True,
)
def all_equal(rng):
    return {"Q": rng.normal(size=(4, 4)), "K": rng.normal(size=(4, 4))}


@attention_scores.case(
    "wide queries and keys, more queries than keys",
    separates=["already_scaled", "averaged", "cosine", "distance"],
    hidden=True,
)
def wide(rng):
    return {"Q": rng.normal(size=(11, 6)), "K": rng.normal(size=(11, 4))}


@attention_scores.case("a single feature", kind="robustness")
def single_feature(rng):
    return {"Q": rng.normal(size=(1, 4)), "K": rng.normal(size=(1, 3))}


@attention_scores.case("a single query", kind="robustness")
def single_query(rng):
    return {"Q": rng.normal(size=(5, 1)), "K": rng.normal(size=(5, 6))}


@attention_scores.case("tiny entries", kind="robustness")
def tiny(rng):
    return {"Q": rng.normal(scale=1e-3, size=(2, 3)), "K": rng.normal(scale=1e-3, size=(2, 4))}


@attention_scores.case("float32", kind="robustness")
def single_precision(rng):
    Q, K = rng.normal(size=(6, 2)), rng.normal(size=(6, 5))
    return {"Q": Q.astype(np.float32), "K": K.astype(np.float32)}


# ---- misconceptions ------------------------------------------------------------------------


@attention_scores.misconception(
    "Puts the queries down and the keys across: the transpose of what is asked for.",
    hint="Which index of an entry names the key? The docstring fixes it, and the rest of the set "
    "builds on it.",
    credit=0.5,
)
def transposed(Q, K):
    return Q.T @ K


@attention_scores.misconception(
    "Compares features with features instead of keys with queries.",
    hint="Which axis of Q and K should be summed away: the one that counts tokens or the one that "
    "counts features?",
)
def features_with_features(Q, K):
    return K @ Q.T


@attention_scores.misconception(
    "Scales the scores already here.",
    hint="Compare one entry with the inner product worked out by hand. By which factor do they "
    "differ, and which exercise is about that factor?",
    credit=0.5,
)
def already_scaled(Q, K):
    return K.T @ Q / np.sqrt(Q.shape[0])


@attention_scores.misconception(
    "Matches key i with query i only, entry by entry.",
    hint="How many pairs of a key and a query are there, and how many numbers do you get?",
)
def elementwise(Q, K):
    return (K * Q).sum(axis=0)


@attention_scores.misconception(
    "Divides by the lengths of the vectors, which gives cosines.",
    hint="Double one query: its scores should double. Do yours?",
    credit=0.25,
)
def cosine(Q, K):
    return (K / np.linalg.norm(K, axis=0)).T @ (Q / np.linalg.norm(Q, axis=0))


@attention_scores.misconception(
    "Compares the keys with themselves; the queries play no part.",
    hint="Change Q and run it again: what happens to the result?",
)
def keys_with_keys(Q, K):
    return K.T @ K


@attention_scores.misconception(
    "Takes the mean over the features instead of their sum.",
    hint="Try a query of ones and a key of ones. What is their inner product?",
    credit=0.25,
)
def averaged(Q, K):
    return (K.T[:, :, None] * Q[None, :, :]).mean(axis=1)


@attention_scores.misconception(
    "Measures the distance between key and query instead of their inner product.",
    hint="What should the score of two orthogonal vectors be, and does their length matter to it?",
)
def distance(Q, K):
    return np.linalg.norm(K[:, :, None] - Q[:, None, :], axis=0)


@attention_scores.misconception(
    "Takes minus the squared distance between key and query instead of their inner product.",
    hint="What should the score of two orthogonal vectors be, and does their length matter to it?",
)
def minus_squared_distance(Q, K):
    return -((K[:, :, None] - Q[:, None, :]) ** 2).sum(axis=0)


# ---- right but unusual ---------------------------------------------------------------------


@attention_scores.alternative("einsum over named axes, in Fortran order")
def named_axes(Q, K):
    return np.asfortranarray(np.einsum("dq,dk->kq", Q, K))


@attention_scores.alternative("the other product, transposed afterwards")
def transposed_afterwards(Q, K):
    return np.swapaxes(np.matmul(Q.T, K), 0, 1)


@attention_scores.alternative("a loop over pairs, as float32")
def pair_by_pair(Q, K):
    scores = np.empty((K.shape[1], Q.shape[1]), dtype=np.float32)
    for i in range(K.shape[1]):
        for j in range(Q.shape[1]):
            scores[i, j] = np.dot(K[:, i], Q[:, j])
    return scores


@attention_scores.alternative("broadcasting and a sum, returning nested lists")
def broadcast(Q, K):
    return (K[:, :, np.newaxis] * Q[:, np.newaxis, :]).sum(axis=0).tolist()
