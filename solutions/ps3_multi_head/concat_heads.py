"""Put the heads of every token side by side again: the way back from `split_heads`.

A head is a stretch of features. Concatenating them gives each token its full width back, so
that the next layer can mix what different heads have found.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder import exercise
from autograder.cases import normal_tensor, with_gradients


@exercise(points=2, order=2)
def concat_heads(heads: Float[Tensor, "batch h n d_head"]) -> Float[Tensor, "batch n d_model"]:
    """Concatenate the heads of every token: the inverse of `split_heads`.

    Args:
        heads: shape (batch, h, n, d_head).

    Returns:
        Shape (batch, n, h·d_head), of the same dtype. Row t holds the d_head features of token
        t from head 0, then those from head 1, and so on. Gradients flow back to `heads`, which
        is left as it was.
    """
    batch, num_heads, n, d_head = heads.shape
    tokens = heads.transpose(1, 2)  # (batch, n, h, d_head)
    return tokens.reshape(batch, n, num_heads * d_head)  # (batch, n, h·d_head)


def _arguments(rng, batch, num_heads, n, d_head, dtype="float32", size=1.0):
    """Heads whose gradient is asked for."""
    heads = normal_tensor(rng, batch, num_heads, n, d_head, size=size, dtype=dtype, grad=True)
    return {"heads": heads}


# ---- cases ---------------------------------------------------------------------------------


@concat_heads.case(
    "four different sizes",
    separates=[
        "reshape_alone",
        "interleaved",
        "summed",
        "averaged",
        "not_merged",
        "along_the_tokens",
        "features_before_tokens",
        "wrong_axes_swapped",
        "tokens_before_batch",
        "first_head_only",
        "view_refused",
        "cut_graph",
    ],
)
def different_sizes(rng):
    return with_gradients(concat_heads, **_arguments(rng, batch=2, num_heads=3, n=5, d_head=4))


@concat_heads.case(
    "as many tokens as heads",
    separates=["reshape_alone", "interleaved", "wrong_axes_swapped", "along_the_tokens"],
)
def as_many_tokens_as_heads(rng):
    return _arguments(rng, batch=2, num_heads=3, n=3, d_head=4)


@concat_heads.case(
    "as many samples as tokens",
    separates=["tokens_before_batch", "reshape_alone", "averaged"],
)
def as_many_samples_as_tokens(rng):
    return _arguments(rng, batch=4, num_heads=2, n=4, d_head=3)


@concat_heads.case(
    "as many heads as features in a head",
    separates=["interleaved", "reshape_alone", "wrong_axes_swapped"],
)
def as_many_heads_as_features(rng):
    return _arguments(rng, batch=2, num_heads=3, n=4, d_head=3)


@concat_heads.case(
    "all sizes equal",
    separates=[
        "reshape_alone",
        "interleaved",
        "wrong_axes_swapped",
        "tokens_before_batch",
        "not_merged",
        "summed",
    ],
    hidden=True,
)
def all_equal(rng):
    return with_gradients(concat_heads, **_arguments(rng, batch=3, num_heads=3, n=3, d_head=3))


@concat_heads.case(
    "as many tokens as features in all",
    separates=["features_before_tokens", "reshape_alone"],
    hidden=True,
)
def as_many_tokens_as_features(rng):
    return _arguments(rng, batch=1, num_heads=2, n=6, d_head=3)


@concat_heads.case("a single head", kind="robustness")
def single_head(rng):
    return _arguments(rng, batch=2, num_heads=1, n=3, d_head=5)


@concat_heads.case("heads of one feature, a single token", kind="robustness", hidden=True)
def single_feature(rng):
    return _arguments(rng, batch=2, num_heads=4, n=1, d_head=1)


@concat_heads.case("float64", kind="robustness")
def double_precision(rng):
    return _arguments(rng, batch=1, num_heads=2, n=4, d_head=3, dtype="float64")


@concat_heads.case("tiny features", kind="robustness", hidden=True)
def tiny(rng):
    return _arguments(rng, batch=2, num_heads=4, n=3, d_head=2, size=1e-3)


# ---- misconceptions ------------------------------------------------------------------------


@concat_heads.misconception(
    "Reshapes without moving the heads back behind the tokens, so that a row mixes several tokens.",
    hint="A reshape keeps the order of the numbers in memory. What follows the first features of "
    "token 0 there: head 1 of token 0, or token 1 of head 0?",
)
def reshape_alone(heads):
    batch, num_heads, n, d_head = heads.shape
    return heads.reshape(batch, n, num_heads * d_head)


@concat_heads.misconception(
    "Interleaves the heads: feature 0 of all heads first, then feature 1 of all heads.",
    hint="Which numbers stand side by side in a row of your result, and which in the docstring?",
    credit=0.25,
)
def interleaved(heads):
    batch, num_heads, n, d_head = heads.shape
    tokens = heads.permute(0, 2, 3, 1)
    return tokens.reshape(batch, n, num_heads * d_head)


@concat_heads.misconception(
    "Adds the heads up instead of putting them side by side.",
    hint="Could the next layer still tell what head 0 found from what head 1 found?",
)
def summed(heads):
    return heads.sum(dim=1)


@concat_heads.misconception(
    "Averages the heads instead of putting them side by side.",
    hint="How wide is a token before the split, and how wide is it after your function?",
)
def averaged(heads):
    return heads.mean(dim=1)


@concat_heads.misconception(
    "Moves the heads behind the tokens, but leaves them as an axis of their own.",
    hint="How many axes does the docstring promise, and how many does your result have?",
    credit=0.5,
)
def not_merged(heads):
    batch, num_heads, n, d_head = heads.shape
    tokens = heads.transpose(1, 2)
    return tokens


@concat_heads.misconception(
    "Concatenates along the tokens, which makes the sequence longer instead of wider.",
    hint="How many tokens went in, and how many come out?",
    credit=0.25,
)
def along_the_tokens(heads):
    batch, num_heads, n, d_head = heads.shape
    return heads.reshape(batch, num_heads * n, d_head)


@concat_heads.misconception(
    "Returns features as rows: the tokens stand last.",
    hint="In this problem set a row belongs to a token. What does a row of your result hold?",
    credit=0.25,
)
def features_before_tokens(heads):
    batch, num_heads, n, d_head = heads.shape
    tokens = heads.transpose(2, 3)
    return tokens.reshape(batch, num_heads * d_head, n)


@concat_heads.misconception(
    "Swaps tokens and features instead of heads and tokens before it merges.",
    hint="Which two axes stand next to each other when you merge? They should be heads and "
    "features, in this order.",
)
def wrong_axes_swapped(heads):
    batch, num_heads, n, d_head = heads.shape
    tokens = heads.transpose(2, 3)
    return tokens.reshape(batch, n, num_heads * d_head)


@concat_heads.misconception(
    "Puts the tokens in front of the batch.",
    hint="Index your result with [0]: is that a sample or a token?",
    credit=0.5,
)
def tokens_before_batch(heads):
    batch, num_heads, n, d_head = heads.shape
    tokens = heads.permute(2, 0, 1, 3)
    return tokens.reshape(n, batch, num_heads * d_head)


@concat_heads.misconception(
    "Keeps head 0 only.",
    hint="Change an entry of the last head: does your result move?",
)
def first_head_only(heads):
    return heads[:, 0]


@concat_heads.misconception(
    "Asks for a view of numbers that no longer lie in order, which PyTorch refuses.",
    hint="The formula is right. The message of the exception names the method that copies where it "
    "has to.",
    credit=0.5,
)
def view_refused(heads):
    batch, num_heads, n, d_head = heads.shape
    tokens = heads.transpose(1, 2)
    return tokens.view(batch, n, num_heads * d_head)


@concat_heads.misconception(
    "Cuts the graph: the result is right, but no gradient flows back through it.",
    hint="Does your result still know which tensor it was made from? What does PyTorch need for "
    "backward?",
    credit=0.5,
)
def cut_graph(heads):
    batch, num_heads, n, d_head = heads.shape
    tokens = heads.detach().transpose(1, 2)
    return tokens.reshape(batch, n, num_heads * d_head)


# ---- right but unusual ---------------------------------------------------------------------


@concat_heads.alternative("the heads as a list, concatenated")
def concatenated(heads):
    return torch.cat(heads.unbind(dim=1), dim=-1)


@concat_heads.alternative("permute and flatten")
def flattened(heads):
    return heads.permute(0, 2, 1, 3).flatten(start_dim=2)


@concat_heads.alternative("a contiguous copy, then a view")
def copied(heads):
    return heads.swapaxes(1, 2).contiguous().view(heads.shape[0], heads.shape[2], -1)


@concat_heads.alternative("a product with a placing tensor")
def placed(heads):
    width = heads.shape[1] * heads.shape[3]
    eye = torch.eye(width, dtype=heads.dtype).unflatten(0, (heads.shape[1], -1))
    return torch.einsum("bhne,hed->bnd", heads, eye)


@concat_heads.alternative("token by token")
def token_by_token(heads):
    rows = [heads[:, :, t].reshape(len(heads), -1) for t in range(heads.shape[2])]
    return torch.stack(rows, 1)
