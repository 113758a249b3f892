"""Put the five parts together: every token asks, every token answers.

Call the functions that you wrote above: they are all it takes.
"""

import numpy as np
from jaxtyping import Float

from autograder import exercise
from autograder.checks import not_negative, sums_to_one


@exercise(
    points=6,
    order=6,
    needs=["project", "attention_scores", "scale_scores", "softmax", "attend"],
    checks=[
        not_negative(line="no weight is negative", result=1),
        sums_to_one(axis=0, line="each column of the weights sums to 1", result=1),
    ],
)
def self_attention(
    X: Float[np.ndarray, "d n"],
    W_q: Float[np.ndarray, "d_k d"],
    W_k: Float[np.ndarray, "d_k d"],
    W_v: Float[np.ndarray, "d_v d"],
) -> tuple[Float[np.ndarray, "d_v n"], Float[np.ndarray, "n n"]]:
    """Scaled dot-product self-attention of the tokens in X.

    Args:
        X: shape (d, n), one token per column.
        W_q: shape (d_k, d), makes the queries.
        W_k: shape (d_k, d), makes the keys.
        W_v: shape (d_v, d), makes the values. d_v may differ from d_k.

    Returns:
        (output, weights): output has the shape (d_v, n), one column per token. weights has
        the shape (n, n); its column j says how token j spreads its attention over all
        tokens. No argument is changed.
    """
    Q = project(W_q, X)  # (d_k, n)
    K = project(W_k, X)  # (d_k, n)
    V = project(W_v, X)  # (d_v, n)
    scores = attention_scores(Q, K)  # (n, n), keys down, queries across
    scaled = scale_scores(scores, Q.shape[0])  # (n, n)
    weights = softmax(scaled)  # (n, n), each column sums to 1
    output = attend(V, weights)  # (d_v, n)
    return output, weights


def _arguments(rng, d, n, d_k, d_v, size=1.0):
    """Tokens of the given size, and projections that keep it."""
    return {
        "X": rng.normal(scale=size, size=(d, n)),
        "W_q": rng.normal(size=(d_k, d)) / np.sqrt(d),
        "W_k": rng.normal(size=(d_k, d)) / np.sqrt(d),
        "W_v": rng.normal(size=(d_v, d)) / np.sqrt(d),
    }


# ---- cases ---------------------------------------------------------------------------------


@self_attention.case(
    "four different sizes",
    separates=[
        "not_scaled",
        "by_d_k",
        "by_input_width",
        "by_value_width",
        "by_number_of_tokens",
        "scaled_after_softmax",
        "values_not_projected",
        "values_from_queries",
        "keys_from_queries",
        "roles_swapped",
        "over_queries",
        "weights_transposed",
        "attends_transposed",
        "scores_returned",
        "order_swapped",
    ],
)
def different_sizes(rng):
    return _arguments(rng, d=7, n=5, d_k=3, d_v=4)


@self_attention.case(
    "queries, keys, values and tokens of one width",
    separates=[
        "values_not_projected",
        "values_from_queries",
        "keys_averaged",
        "roles_swapped",
        "attends_transposed",
        "not_scaled",
        "by_number_of_tokens",
    ],
)
def one_width(rng):
    # mix-ups between the widths keep the right shape here: only the values tell
    return _arguments(rng, d=6, n=4, d_k=6, d_v=6)


@self_attention.case("large tokens", separates=["overflows"])
def large(rng):
    made = _arguments(rng, d=4, n=6, d_k=5, d_v=3)
    scores = (made["W_k"] @ made["X"]).T @ (made["W_q"] @ made["X"]) / np.sqrt(5)  # (6, 6)
    if -scores.min() > scores.max():
        made["W_q"] = -made["W_q"]  # the largest score in size is then a positive one
    # the largest scaled score becomes 1500, twice of what exp can take
    made["X"] = made["X"] * np.sqrt(1500.0 / np.abs(scores).max())
    return made


@self_attention.case(
    "as many tokens as features, wide values",
    separates=["by_value_width", "by_input_width", "scaled_after_softmax", "roles_swapped"],
    hidden=True,
)
def wide_values(rng):
    return _arguments(rng, d=8, n=8, d_k=3, d_v=11)


@self_attention.case(
    "all sizes equal",
    separates=["over_queries", "weights_transposed", "attends_transposed", "values_not_projected"],
    hidden=True,
)
def all_equal(rng):
    return _arguments(rng, d=5, n=5, d_k=5, d_v=5)


@self_attention.case("queries and keys of width 1", kind="robustness")
def width_one(rng):
    return _arguments(rng, d=3, n=4, d_k=1, d_v=2)


@self_attention.case("a single token", kind="robustness")
def single_token(rng):
    return _arguments(rng, d=4, n=1, d_k=3, d_v=2)


@self_attention.case("tiny tokens", kind="robustness")
def tiny(rng):
    return _arguments(rng, d=5, n=3, d_k=4, d_v=2, size=1e-3)


@self_attention.case("float32", kind="robustness", hidden=True)
def single_precision(rng):
    made = _arguments(rng, d=6, n=7, d_k=2, d_v=5)
    return {name: array.astype(np.float32) for name, array in made.items()}


# ---- misconceptions ------------------------------------------------------------------------


def _parts(X, W_q, W_k, W_v):
    """Queries, keys, values and unscaled scores, all of them right."""
    Q, K, V = project(W_q, X), project(W_k, X), project(W_v, X)
    return Q, K, V, attention_scores(Q, K)


@self_attention.misconception(
    "Leaves out the scale.",
    hint="Count the five functions above this one. Which of them is not called, or its result not "
    "used?",
    credit=0.5,
)
def not_scaled(X, W_q, W_k, W_v):
    _, _, V, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scores)
    return attend(V, weights), weights


@self_attention.misconception(
    "Divides by d_k without the root, or scales twice.",
    hint="The function that scales takes the root already. What do you hand to it, and how often?",
    credit=0.5,
)
def by_d_k(X, W_q, W_k, W_v):
    Q, _, V, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scores / Q.shape[0])
    return attend(V, weights), weights


@self_attention.misconception(
    "Takes the scale from the width of the tokens in X instead of that of queries and keys.",
    hint="Over how many products does the sum in one score run?",
    credit=0.5,
)
def by_input_width(X, W_q, W_k, W_v):
    _, _, V, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(scores, X.shape[0]))
    return attend(V, weights), weights


@self_attention.misconception(
    "Takes the scale from the width of the values.",
    hint="Do the values take part in a score?",
    credit=0.5,
)
def by_value_width(X, W_q, W_k, W_v):
    _, _, V, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(scores, V.shape[0]))
    return attend(V, weights), weights


@self_attention.misconception(
    "Takes the scale from the number of tokens.",
    hint="Which axis of the queries counts tokens, and which one their features?",
    credit=0.5,
)
def by_number_of_tokens(X, W_q, W_k, W_v):
    _, _, V, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(scores, X.shape[1]))
    return attend(V, weights), weights


@self_attention.misconception(
    "Scales after the softmax, so that the weights no longer sum to 1.",
    hint="What should a column of the weights sum to, and what does yours sum to?",
    credit=0.25,
)
def scaled_after_softmax(X, W_q, W_k, W_v):
    Q, _, V, scores = _parts(X, W_q, W_k, W_v)
    weights = scale_scores(softmax(scores), Q.shape[0])
    return attend(V, weights), weights


@self_attention.misconception(
    "Mixes the tokens themselves: W_v is not used.",
    hint="Set W_v to zero: what should the output be?",
    credit=0.25,
)
def values_not_projected(X, W_q, W_k, W_v):
    Q, _, _, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(scores, Q.shape[0]))
    return attend(X, weights), weights


@self_attention.misconception(
    "Makes the values with the weights of the queries.",
    hint="Three lines look almost alike. Which matrix stands in each?",
    credit=0.25,
)
def values_from_queries(X, W_q, W_k, W_v):
    Q, _, _, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(scores, Q.shape[0]))
    return attend(Q, weights), weights


@self_attention.misconception(
    "Mixes the keys: weights applied to K, or values made with the matrix of the keys.",
    hint="What is a key for, and what is collected once the weights are known?",
    credit=0.25,
)
def keys_averaged(X, W_q, W_k, W_v):
    Q, K, _, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(scores, Q.shape[0]))
    return attend(K, weights), weights


@self_attention.misconception(
    "Makes queries and keys with one and the same matrix.",
    hint="Three lines look almost alike. Which matrix stands in each?",
    credit=0.25,
)
def keys_from_queries(X, W_q, W_k, W_v):
    Q, _, V, _ = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(attention_scores(Q, Q), Q.shape[0]))
    return attend(V, weights), weights


@self_attention.misconception(
    "Swaps the roles of queries and keys.",
    hint="Column j must belong to the token that asks. Which of the two arguments of your scores "
    "asks, and which is asked?",
    credit=0.5,
)
def roles_swapped(X, W_q, W_k, W_v):
    Q, K, V, _ = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(attention_scores(K, Q), Q.shape[0]))
    return attend(V, weights), weights


@self_attention.misconception(
    "Normalises over the queries instead of the keys.",
    hint="Along which axis do your weights sum to 1, and along which one should they?",
    credit=0.25,
)
def over_queries(X, W_q, W_k, W_v):
    Q, _, V, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(scores, Q.shape[0]).T).T
    return attend(V, weights), weights


@self_attention.misconception(
    "Gets the output right but returns the weights transposed.",
    hint="Look at the second result: which of its axes sums to 1?",
    credit=0.5,
)
def weights_transposed(X, W_q, W_k, W_v):
    Q, _, V, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(scores, Q.shape[0]))
    return attend(V, weights), weights.T


@self_attention.misconception(
    "Mixes the values with the transposed weights.",
    hint="Output j must use the weights of query j. Are those a row or a column?",
    credit=0.25,
)
def attends_transposed(X, W_q, W_k, W_v):
    Q, _, V, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(scores, Q.shape[0]))
    return attend(V, weights.T), weights


@self_attention.misconception(
    "Returns the scaled scores in place of the weights.",
    hint="Can a weight be negative? Look at the second result.",
    credit=0.5,
)
def scores_returned(X, W_q, W_k, W_v):
    Q, _, V, scores = _parts(X, W_q, W_k, W_v)
    scaled = scale_scores(scores, Q.shape[0])
    return attend(V, softmax(scaled)), scaled


@self_attention.misconception(
    "Returns weights and output in the wrong order.",
    hint="Which of the two results does the docstring name first?",
    credit=0.5,
)
def order_swapped(X, W_q, W_k, W_v):
    Q, _, V, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(scores, Q.shape[0]))
    return weights, attend(V, weights)


@self_attention.misconception(
    "Computes its own softmax without the shift, which overflows for large scores.",
    hint="You have a function that survives scores of 1500. Which line does its work here?",
    credit=0.5,
)
def overflows(X, W_q, W_k, W_v):
    Q, _, V, scores = _parts(X, W_q, W_k, W_v)
    exponentials = np.exp(scale_scores(scores, Q.shape[0]))
    weights = exponentials / exponentials.sum(axis=0)
    return attend(V, weights), weights


@self_attention.misconception(
    "Adds the tokens to the output where the widths allow it, as a residual connection does.",
    hint="Set W_v to zero: what should the output be?",
    credit=0.5,
)
def residual_added(X, W_q, W_k, W_v):
    Q, _, V, scores = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(scores, Q.shape[0]))
    output = attend(V, weights)
    return output + X if output.shape == X.shape else output, weights


@self_attention.misconception(
    "Hides later tokens, although nothing is masked here.",
    hint="How many of the weights of the first token are zero, and how many should be?",
    credit=0.5,
)
def later_tokens_hidden(X, W_q, W_k, W_v):
    Q, _, V, scores = _parts(X, W_q, W_k, W_v)
    later = np.tri(len(scores), k=-1, dtype=bool)  # keys below the diagonal
    weights = softmax(np.where(later, -np.inf, scale_scores(scores, Q.shape[0])))
    return attend(V, weights), weights


@self_attention.misconception(
    "Takes the formula of the row layout as it stands: features are compared, not tokens.",
    hint="How many scores are there between n tokens, and how many does your product of Q and K "
    "give?",
)
def row_formula(X, W_q, W_k, W_v):
    Q, K, V, _ = _parts(X, W_q, W_k, W_v)
    weights = softmax(scale_scores(Q @ K.T, Q.shape[0]))
    return weights @ V, weights


# ---- right but unusual ---------------------------------------------------------------------


@self_attention.alternative("all in one, the scale split between queries and keys")
def split_scale(X, W_q, W_k, W_v):
    quarter = W_q.shape[0] ** -0.25
    logits = (quarter * (W_k @ X)).T @ (quarter * (W_q @ X))
    exponentials = np.exp(logits - logits.max(axis=0))
    weights = exponentials / exponentials.sum(axis=0)
    return W_v @ X @ weights, weights


@self_attention.alternative("normalises last: the values are mixed before the division")
def normalises_last(X, W_q, W_k, W_v):
    logits = X.T @ (W_k.T @ W_q / np.sqrt(W_q.shape[0])) @ X
    powers = np.exp2((logits - logits.max(axis=0)) * np.log2(np.e))
    totals = powers.sum(axis=0)
    return [(W_v @ X @ powers) / totals, powers / totals]


@self_attention.alternative("token by token, in the row layout, turned around at the end")
def token_by_token(X, W_q, W_k, W_v):
    tokens = X.T
    keys, values = tokens @ W_k.T, tokens @ W_v.T
    rows = []
    for token in tokens:
        scores = keys @ (W_q @ token) / len(W_q) ** 0.5
        exponentials = np.exp(scores - max(scores))
        rows.append(exponentials / sum(exponentials))
    weights = np.array(rows).T
    return (weights.T @ values).T, weights


@self_attention.alternative("einsum throughout, float32 results in Fortran order")
def einsum_throughout(X, W_q, W_k, W_v):
    Q, K, V = (np.einsum("od,dn->on", W, X) for W in (W_q, W_k, W_v))
    logits = np.einsum("fk,fq->kq", K, Q / np.sqrt(Q.shape[0]))
    exponentials = np.exp(logits - logits.max(axis=0, keepdims=True))
    weights = np.einsum("kq,q->kq", exponentials, 1.0 / exponentials.sum(axis=0))
    output = np.einsum("vk,kq->vq", V, weights)
    return np.asfortranarray(output, np.float32), np.asfortranarray(weights, np.float32)
