"""Multi-head attention as the formula stands, with a matrix of its own for every head.

Each head projects the tokens with its own three matrices and attends by itself. What the heads
found is put side by side, and W_o mixes it: Concat(head_1, ..., head_h) W_o.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder import exercise
from autograder.cases import normal_tensor, with_gradients
from autograder.forbidden import LIBRARY_ATTENTION


@exercise(points=5, order=3, forbids=LIBRARY_ATTENTION)
def multi_head_formula(
    x: Float[Tensor, "n d"],
    W_q: list[Float[Tensor, "d d_k"]],
    W_k: list[Float[Tensor, "d d_k"]],
    W_v: list[Float[Tensor, "d d_v"]],
    W_o: Float[Tensor, "h_d_v d"],
) -> Float[Tensor, "n d"]:
    """Multi-head self-attention of the tokens in x, without a mask.

    Args:
        x: shape (n, d), one token per row.
        W_q: h matrices of shape (d, d_k), one for each head. The queries of head i are the rows
            of `x @ W_q[i]`.
        W_k: h matrices of shape (d, d_k), for the keys.
        W_v: h matrices of shape (d, d_v), for the values. d_v may differ from d_k.
        W_o: shape (h·d_v, d), mixes the concatenated heads.

    Returns:
        Shape (n, d), of the same dtype as `x`. Scores are divided by the square root of d_k and
        may be large. Heads are concatenated in the order of the lists. Gradients flow back to
        all arguments, which are left as they were.
    """
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]  # (n, d) @ (d, d_k) -> (n, d_k)
        K = x @ W_k[head]  # (n, d_k)
        V = x @ W_v[head]  # (n, d_v)
        scores = Q @ K.T / Q.shape[-1] ** 0.5  # (n, n), queries down, keys across
        weights = torch.softmax(scores, dim=-1)  # (n, n), each row sums to 1
        heads.append(weights @ V)  # (n, n) @ (n, d_v) -> (n, d_v)
    return torch.cat(heads, dim=-1) @ W_o  # (n, h·d_v) @ (h·d_v, d) -> (n, d)


def _arguments(rng, n, d, num_heads, d_k, d_v, dtype="float32", size=1.0):
    """Tokens of the given size, and matrices that keep it; the gradients of all are asked for."""

    def drawn(rows, columns, scale):
        return normal_tensor(rng, rows, columns, size=scale, dtype=dtype, grad=True)

    return {
        "x": drawn(n, d, size),
        "W_q": [drawn(d, d_k, d**-0.5) for _ in range(num_heads)],
        "W_k": [drawn(d, d_k, d**-0.5) for _ in range(num_heads)],
        "W_v": [drawn(d, d_v, d**-0.5) for _ in range(num_heads)],
        "W_o": drawn(num_heads * d_v, d, (num_heads * d_v) ** -0.5),
    }


# ---- cases ---------------------------------------------------------------------------------


@multi_head_formula.case(
    "all sizes different",
    separates=[
        "scale_missing",
        "scale_without_root",
        "scale_multiplied",
        "scale_of_tokens",
        "scale_of_all_heads",
        "scale_of_values",
        "scale_of_length",
        "scale_precedence",
        "scaled_after_softmax",
        "softmax_missing",
        "softmax_twice",
        "over_queries",
        "over_everything",
        "roles_swapped",
        "first_head_for_all",
        "one_wide_head",
        "no_output_layer",
        "summed",
        "interleaved",
        "reshaped",
        "cut_graph",
    ],
)
def different_sizes(rng):
    return with_gradients(
        multi_head_formula, **_arguments(rng, n=5, d=7, num_heads=2, d_k=3, d_v=4)
    )


@multi_head_formula.case(
    "one width for queries, keys and values, as wide as the tokens together",
    separates=["no_output_layer", "values_from_keys", "scale_of_tokens", "over_queries"],
)
def usual_widths(rng):
    # h·d_v = d: without W_o the shape is right, and only the values tell
    return _arguments(rng, n=4, d=6, num_heads=2, d_k=3, d_v=3)


@multi_head_formula.case(
    "square matrices",
    separates=[
        "transposed_projections",
        "values_not_projected",
        "values_from_keys",
        "scale_of_all_heads",
        "reshaped",
    ],
)
def square_matrices(rng):
    return _arguments(rng, n=3, d=5, num_heads=2, d_k=5, d_v=5)


@multi_head_formula.case("scores around 1000", separates=["overflows"])
def large_scores(rng):
    # float64: its exponential overflows above 709, and scores of 1000 are still exact to 1e-13
    made = _arguments(rng, n=4, d=6, num_heads=2, d_k=3, d_v=2, dtype="float64")
    with torch.no_grad():
        for head, (W_query, W_key) in enumerate(zip(made["W_q"], made["W_k"], strict=True)):
            scores = made["x"] @ W_query @ W_key.T @ made["x"].T / 3**0.5  # (4, 4)
            if -scores.min() > scores.max():
                W_query.neg_()  # the largest score in size is then a positive one
            W_query.mul_((1000.0 + 200.0 * head) / scores.abs().max())
    return made


@multi_head_formula.case(
    "as many heads as tokens, every size the same",
    separates=[
        "over_queries",
        "roles_swapped",
        "reshaped",
        "interleaved",
        "transposed_projections",
        "values_not_projected",
    ],
    hidden=True,
)
def all_equal(rng):
    return with_gradients(
        multi_head_formula, **_arguments(rng, n=4, d=4, num_heads=4, d_k=4, d_v=4)
    )


@multi_head_formula.case(
    "a square output layer",
    separates=["transposed_output_layer", "no_output_layer", "one_wide_head"],
)
def square_output(rng):
    return _arguments(rng, n=5, d=6, num_heads=3, d_k=4, d_v=2)


@multi_head_formula.case(
    "many narrow heads",
    separates=["scale_of_length", "first_head_for_all", "interleaved", "scale_of_values"],
    hidden=True,
)
def many_heads(rng):
    return _arguments(rng, n=7, d=5, num_heads=6, d_k=2, d_v=3)


@multi_head_formula.case("a single head", kind="robustness")
def single_head(rng):
    return _arguments(rng, n=3, d=5, num_heads=1, d_k=4, d_v=2)


@multi_head_formula.case("queries and keys of width 1", kind="robustness", hidden=True)
def width_one(rng):
    return _arguments(rng, n=4, d=3, num_heads=2, d_k=1, d_v=2)


@multi_head_formula.case("a single token", kind="robustness")
def single_token(rng):
    return _arguments(rng, n=1, d=4, num_heads=2, d_k=3, d_v=2)


@multi_head_formula.case("tiny tokens", kind="robustness", hidden=True)
def tiny(rng):
    return _arguments(rng, n=4, d=5, num_heads=3, d_k=2, d_v=3, size=1e-3)


@multi_head_formula.case("float64", kind="robustness", hidden=True)
def double_precision(rng):
    return with_gradients(
        multi_head_formula, **_arguments(rng, n=3, d=4, num_heads=2, d_k=5, d_v=2, dtype="float64")
    )


# ---- misconceptions ------------------------------------------------------------------------


@multi_head_formula.misconception(
    "Leaves out the scale.",
    hint="What happens to a sum of d_k products as d_k grows, and what brings it back to unit "
    "size?",
    credit=0.5,
)
def scale_missing(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Divides by d_k without the root, or scales twice.",
    hint="If a score has the variance d_k, what is its standard deviation?",
    credit=0.5,
)
def scale_without_root(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1]
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Multiplies by the square root of d_k instead of dividing.",
    hint="Do your scores become larger or smaller through the scale?",
    credit=0.5,
)
def scale_multiplied(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T * Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Divides by half of d_k: the power binds tighter than the division.",
    hint="In which order does Python work out a power and a division beside it?",
    credit=0.5,
)
def scale_precedence(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / (Q.shape[-1] ** 1 / 2)
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Takes the scale from the width of the tokens instead of that of one head's queries.",
    hint="Over how many products does the sum in one score of one head run?",
    credit=0.5,
)
def scale_of_tokens(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / x.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Takes the scale from the queries of all heads together.",
    hint="Over how many products does the sum in one score of one head run?",
    credit=0.5,
)
def scale_of_all_heads(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / (len(W_q) * Q.shape[-1]) ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Takes the scale from the width of the values.",
    hint="Do the values take part in a score?",
    credit=0.5,
)
def scale_of_values(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / V.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Takes the scale from the number of tokens.",
    hint="Which axis of the queries does the sum in one score run along?",
    credit=0.5,
)
def scale_of_length(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[0] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Applies the scale to the weights, after softmax.",
    hint="What does a row of your weights sum to?",
    credit=0.25,
)
def scaled_after_softmax(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T
        weights = torch.softmax(scores, dim=-1) / Q.shape[-1] ** 0.5
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Uses the scores as weights, without softmax.",
    hint="May a weight be negative? Do your weights sum to 1?",
)
def softmax_missing(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = scores
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Applies softmax twice, which flattens the weights.",
    hint="What range do the numbers have that enter your second softmax?",
    credit=0.25,
    hidden=True,
)
def softmax_twice(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(torch.softmax(scores, dim=-1), dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Normalises over the queries instead of the keys.",
    hint="Rows belong to queries here. Along which axis do your weights sum to 1?",
    credit=0.25,
)
def over_queries(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=0)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Normalises over all pairs of a query and a key together.",
    hint="What does one row of your weights sum to?",
    credit=0.25,
)
def over_everything(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores.flatten(), dim=0).view_as(scores)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Takes the exponential of the scores as they are, which overflows for large ones.",
    hint="What does PyTorch give for the exponential of 1000? Which shift leaves softmax "
    "unchanged?",
    credit=0.5,
)
def overflows(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.exp(scores) / torch.exp(scores).sum(dim=-1, keepdim=True)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Swaps the roles of queries and keys.",
    hint="Row i of the weights belongs to the token that asks. Does it ask in your scores?",
    credit=0.5,
)
def roles_swapped(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = K @ Q.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Averages the keys instead of the values.",
    hint="Set all matrices of the values to zero: what must the output be, and what is yours?",
    credit=0.25,
)
def values_from_keys(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_k[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Averages the tokens themselves instead of their values.",
    hint="Set all matrices of the values to zero: what must the output be, and what is yours?",
    credit=0.25,
)
def values_not_projected(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Uses the projections transposed, as `nn.Linear` stores them.",
    hint="What shape do the matrices in the lists have: features in first, or features out first?",
    credit=0.25,
)
def transposed_projections(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head].T
        K = x @ W_k[head].T
        V = x @ W_v[head].T
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Uses the output layer transposed.",
    hint="What is the first axis of W_o: what goes in, or what comes out?",
    credit=0.25,
    hidden=True,
)
def transposed_output_layer(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o.T


@multi_head_formula.misconception(
    "Uses the matrices of head 0 for every head.",
    hint="Change the matrices of the last head: does your output move?",
)
def first_head_for_all(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in [0] * len(W_q):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Attends once with all heads together, so that they share one matrix of weights.",
    hint="How many matrices of weights does your code make, and how many heads are there?",
)
def one_wide_head(x, W_q, W_k, W_v, W_o):
    Q = x @ torch.cat(W_q, dim=-1)
    K = x @ torch.cat(W_k, dim=-1)
    V = x @ torch.cat(W_v, dim=-1)
    scores = Q @ K.T / Q.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    return weights @ V @ W_o


@multi_head_formula.misconception(
    "Ends with the concatenation: the output layer is missing.",
    hint="Set W_o to zero: what must the output be, and what is yours?",
    credit=0.25,
)
def no_output_layer(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.cat(heads, dim=-1)


@multi_head_formula.misconception(
    "Adds the heads up instead of putting them side by side.",
    hint="How wide is what W_o expects, and how wide is the sum of your heads?",
    credit=0.25,
)
def summed(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return sum(heads) @ W_o


@multi_head_formula.misconception(
    "Interleaves the heads: feature 0 of all heads first, then feature 1 of all heads.",
    hint="Which rows of W_o belong to head 0? Do the features of head 0 meet them?",
    credit=0.25,
)
def interleaved(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.stack(heads, dim=-1).flatten(1) @ W_o


@multi_head_formula.misconception(
    "Stacks the heads and reshapes, so that a row mixes several tokens.",
    hint="In the stack, what follows the features of token 0 in head 0: head 1 of token 0, or "
    "token 1?",
    credit=0.25,
)
def reshaped(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append(weights @ V)
    return torch.stack(heads).reshape(len(x), -1) @ W_o


@multi_head_formula.misconception(
    "Cuts the graph: no gradient flows back to the tokens and the projections.",
    hint="Do your heads still know what they were made from? What does PyTorch need for backward?",
    credit=0.5,
)
def cut_graph(x, W_q, W_k, W_v, W_o):
    heads = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        V = x @ W_v[head]
        scores = Q @ K.T / Q.shape[-1] ** 0.5
        weights = torch.softmax(scores, dim=-1)
        heads.append((weights @ V).detach())
    return torch.cat(heads, dim=-1) @ W_o


@multi_head_formula.misconception(
    "Normalises over the keys of all heads together: the weights of one head do not sum to 1.",
    hint="Each head has a softmax of its own. What do the weights of one query sum to in one head?",
    credit=0.25,
)
def over_heads_and_keys(x, W_q, W_k, W_v, W_o):
    scores = []
    for head in range(len(W_q)):
        Q = x @ W_q[head]
        K = x @ W_k[head]
        scores.append(Q @ K.T / Q.shape[-1] ** 0.5)
    weights = torch.softmax(torch.cat(scores, dim=-1), dim=-1).split(len(x), dim=-1)
    heads = [weights[head] @ (x @ W_v[head]) for head in range(len(W_q))]
    return torch.cat(heads, dim=-1) @ W_o


# ---- right but unusual ---------------------------------------------------------------------


@multi_head_formula.alternative("all heads at once, with stacked matrices")
def stacked(x, W_q, W_k, W_v, W_o):
    Q, K, V = (torch.einsum("nd,hde->hne", x, torch.stack(W)) for W in (W_q, W_k, W_v))
    weights = (Q @ K.mT * K.shape[-1] ** -0.5).softmax(2)
    return (weights @ V).transpose(0, 1).flatten(1) @ W_o


@multi_head_formula.alternative("a sum over the heads, each with its rows of the output layer")
def sum_of_blocks(x, W_q, W_k, W_v, W_o):
    total = torch.zeros_like(x)
    for head, block in enumerate(W_o.chunk(len(W_q))):
        merged = W_q[head] @ W_k[head].T / W_q[head].shape[1] ** 0.5
        total = total + (x @ merged @ x.T).softmax(-1) @ (x @ (W_v[head] @ block))
    return total


@multi_head_formula.alternative("one wide product, cut into heads; the scale split in two")
def cut_afterwards(x, W_q, W_k, W_v, W_o):
    heads, quarter = len(W_q), W_q[0].shape[1] ** -0.25
    Q = (x @ torch.hstack(W_q) * quarter).unflatten(1, (heads, -1)).swapaxes(0, 1)
    K = (x @ torch.hstack(W_k) * quarter).unflatten(1, (heads, -1)).permute(1, 2, 0)
    V = (x @ torch.hstack(W_v)).unflatten(1, (heads, -1)).swapaxes(0, 1)
    scores = torch.bmm(Q, K)
    weights = torch.exp(scores - torch.logsumexp(scores, 2, keepdim=True))
    return torch.cat([*torch.bmm(weights, V)], dim=1) @ W_o


@multi_head_formula.alternative("token by token, normalised last")
def token_by_token(x, W_q, W_k, W_v, W_o):
    rows = []
    for token in x:
        parts = []
        for i in range(len(W_q)):
            scores = (x @ W_k[i]) @ (token @ W_q[i]) / W_k[i].shape[1] ** 0.5
            powers = torch.exp2((scores - scores.max()) * 1.4426950408889634)
            parts.append((powers @ x @ W_v[i]) / powers.sum())
        rows.append(torch.hstack(parts) @ W_o)
    return torch.vstack(rows)
