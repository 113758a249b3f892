"""Cut the features of every token into heads, without mixing tokens.

Head 0 gets the first d_head features of each token, head 1 the next d_head, and so on. It looks
like a single reshape. Try what a reshape alone does to two tokens before you believe it.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder import exercise
from autograder.cases import normal_tensor, with_gradients


@exercise(points=2, order=1)
def split_heads(
    x: Float[Tensor, "batch n d_model"], num_heads: int
) -> Float[Tensor, "batch h n d_head"]:
    """Cut the last axis into heads and put the head axis in front of the tokens.

    Args:
        x: shape (batch, n, h·d_head), one token per row.
        num_heads: h, the number of heads. It divides the width of `x`.

    Returns:
        Shape (batch, h, n, d_head), of the same dtype. Entry [b, i, t] holds the features
        i·d_head to (i + 1)·d_head of token t in sample b. Gradients flow back to `x`, which is
        left as it was.
    """
    batch, n, d_model = x.shape
    d_head = d_model // num_heads  # features of each head
    heads = x.reshape(batch, n, num_heads, d_head)  # (batch, n, h, d_head)
    return heads.transpose(1, 2)  # (batch, h, n, d_head)


def _arguments(rng, batch, n, num_heads, d_head, dtype="float32", size=1.0):
    """Tokens whose gradient is asked for."""
    x = normal_tensor(rng, batch, n, num_heads * d_head, size=size, dtype=dtype, grad=True)
    return {"x": x, "num_heads": num_heads}


# ---- cases ---------------------------------------------------------------------------------


@split_heads.case(
    "four different sizes",
    separates=[
        "reshape_alone",
        "interleaved",
        "tokens_before_heads",
        "heads_before_batch",
        "heads_in_the_batch",
        "number_for_width",
        "features_before_tokens",
        "moved_then_reshaped",
        "cut_across_samples",
        "full_width",
        "first_head_for_all",
        "cut_graph",
    ],
)
def different_sizes(rng):
    return with_gradients(split_heads, **_arguments(rng, batch=2, n=5, num_heads=3, d_head=4))


@split_heads.case(
    "as many tokens as heads",
    separates=["reshape_alone", "tokens_before_heads", "interleaved", "moved_then_reshaped"],
)
def as_many_tokens_as_heads(rng):
    # both orders of these two axes have the right shape here: only the values tell
    return _arguments(rng, batch=2, n=3, num_heads=3, d_head=4)


@split_heads.case(
    "as many samples as heads, more tokens",
    separates=["heads_before_batch", "cut_across_samples", "cut_into_stretches", "full_width"],
)
def as_many_samples_as_heads(rng):
    return _arguments(rng, batch=2, n=6, num_heads=2, d_head=3)


@split_heads.case(
    "as many tokens as features in a head",
    separates=["features_before_tokens", "moved_then_reshaped", "interleaved"],
)
def as_many_tokens_as_features(rng):
    return _arguments(rng, batch=3, n=4, num_heads=2, d_head=4)


@split_heads.case(
    "all sizes equal",
    separates=[
        "reshape_alone",
        "interleaved",
        "tokens_before_heads",
        "heads_before_batch",
        "features_before_tokens",
        "moved_then_reshaped",
        "cut_across_samples",
    ],
    hidden=True,
)
def all_equal(rng):
    return with_gradients(split_heads, **_arguments(rng, batch=3, n=3, num_heads=3, d_head=3))


@split_heads.case("many narrow heads", separates=["number_for_width", "interleaved"], hidden=True)
def many_heads(rng):
    return _arguments(rng, batch=4, n=3, num_heads=8, d_head=2)


@split_heads.case("a single head", kind="robustness")
def single_head(rng):
    return _arguments(rng, batch=2, n=3, num_heads=1, d_head=5)


@split_heads.case("heads of one feature, a single token", kind="robustness", hidden=True)
def single_feature(rng):
    return _arguments(rng, batch=2, n=1, num_heads=4, d_head=1)


@split_heads.case("float64", kind="robustness")
def double_precision(rng):
    return _arguments(rng, batch=1, n=4, num_heads=2, d_head=3, dtype="float64")


@split_heads.case("tiny features", kind="robustness", hidden=True)
def tiny(rng):
    return _arguments(rng, batch=2, n=3, num_heads=4, d_head=2, size=1e-3)


# ---- misconceptions ------------------------------------------------------------------------


@split_heads.misconception(
    "Reshapes straight to the final shape, which mixes features of neighbouring tokens.",
    hint="A reshape keeps the order of the numbers in memory. What follows the features of head 0 "
    "there: other features of the same token, or another token?",
)
def reshape_alone(x, num_heads):
    batch, n, d_model = x.shape
    d_head = d_model // num_heads
    heads = x.reshape(batch, num_heads, n, d_head)
    return heads


@split_heads.misconception(
    "Deals the features out in turn: head 0 gets features 0, h, 2h and so on.",
    hint="Which features stand side by side in head 0 of your result, and which in the docstring?",
    credit=0.25,
)
def interleaved(x, num_heads):
    batch, n, d_model = x.shape
    d_head = d_model // num_heads
    heads = x.reshape(batch, n, d_head, num_heads)
    return heads.permute(0, 3, 1, 2)


@split_heads.misconception(
    "Cuts the features rightly, but leaves the heads behind the tokens.",
    hint="Which axis counts the heads in your result, and which in the docstring?",
    credit=0.5,
)
def tokens_before_heads(x, num_heads):
    batch, n, d_model = x.shape
    d_head = d_model // num_heads
    heads = x.reshape(batch, n, num_heads, d_head)
    return heads


@split_heads.misconception(
    "Puts the heads in front of the batch.",
    hint="Index your result with [0]: is that a sample or a head?",
    credit=0.5,
)
def heads_before_batch(x, num_heads):
    batch, n, d_model = x.shape
    d_head = d_model // num_heads
    heads = x.reshape(batch, n, num_heads, d_head)
    return heads.permute(2, 0, 1, 3)


@split_heads.misconception(
    "Merges heads and samples into one axis.",
    hint="How many axes does the docstring promise, and how many does your result have?",
    credit=0.5,
)
def heads_in_the_batch(x, num_heads):
    batch, n, d_model = x.shape
    d_head = d_model // num_heads
    heads = x.reshape(batch, n, num_heads, d_head)
    return heads.transpose(1, 2).flatten(0, 1)


@split_heads.misconception(
    "Takes the number of heads for the width of a head.",
    hint="For six features and two heads: how many heads does your result have, and how wide are "
    "they?",
    credit=0.25,
)
def number_for_width(x, num_heads):
    batch, n, d_model = x.shape
    d_head = d_model // num_heads
    heads = x.reshape(batch, n, d_head, num_heads)
    return heads.transpose(1, 2)


@split_heads.misconception(
    "Leaves the features of a head in front of its tokens.",
    hint="What does one row of a head hold in your result: a token, or one feature of all tokens?",
    credit=0.25,
)
def features_before_tokens(x, num_heads):
    batch, n, d_model = x.shape
    d_head = d_model // num_heads
    heads = x.reshape(batch, n, num_heads, d_head)
    return heads.permute(0, 2, 3, 1)


@split_heads.misconception(
    "Swaps the axes first and cuts afterwards, so that the cut runs through other numbers.",
    hint="At the moment of your cut, which axis stands last? Are those the features of one token?",
)
def moved_then_reshaped(x, num_heads):
    batch, n, d_model = x.shape
    d_head = d_model // num_heads
    heads = x.transpose(1, 2)
    return heads.reshape(batch, num_heads, n, d_head)


@split_heads.misconception(
    "Cuts through the whole batch, so that a head holds numbers of several samples.",
    hint="Change sample 1: which entries of sample 0 may move in your result?",
)
def cut_across_samples(x, num_heads):
    batch, n, d_model = x.shape
    d_head = d_model // num_heads
    heads = x.reshape(num_heads, batch, n, d_head)
    return heads.transpose(0, 1)


@split_heads.misconception(
    "Cuts the sequence into stretches of tokens instead of cutting the features.",
    hint="Does every head see all tokens in your result? Each one should, with a part of their "
    "features.",
)
def cut_into_stretches(x, num_heads):
    batch, n, d_model = x.shape
    stretch = n // num_heads
    heads = x.reshape(batch, num_heads, stretch, d_model)
    return heads


@split_heads.misconception(
    "Gives every head all features of a token.",
    hint="How many features are there before the split, and how many numbers does a token have "
    "after yours, all heads together?",
)
def full_width(x, num_heads):
    batch, n, d_model = x.shape
    heads = x.unsqueeze(1)
    return heads.expand(batch, num_heads, n, d_model)


@split_heads.misconception(
    "Gives every head the features of head 0.",
    hint="Compare two heads of your result. Where did the last features of the token go?",
)
def first_head_for_all(x, num_heads):
    batch, n, d_model = x.shape
    d_head = d_model // num_heads
    heads = x.reshape(batch, n, num_heads, d_head)
    return heads[:, :, :1].expand(batch, n, num_heads, d_head).transpose(1, 2)


@split_heads.misconception(
    "Cuts the graph: the result is right, but no gradient flows back through it.",
    hint="Does your result still know which tensor it was made from? What does PyTorch need for "
    "backward?",
    credit=0.5,
)
def cut_graph(x, num_heads):
    batch, n, d_model = x.shape
    d_head = d_model // num_heads
    heads = x.detach().reshape(batch, n, num_heads, d_head)
    return heads.transpose(1, 2)


# ---- right but unusual ---------------------------------------------------------------------


@split_heads.alternative("slices of the features, stacked along a new axis")
def stacked_slices(x, num_heads):
    return torch.stack(x.chunk(num_heads, dim=-1), dim=1)


@split_heads.alternative("unflatten and permute, made contiguous")
def unflattened(x, num_heads):
    return x.unflatten(-1, (num_heads, -1)).permute(0, 2, 1, 3).contiguous()


@split_heads.alternative("windows over the features")
def windows(x, num_heads):
    d_head = x.shape[-1] // num_heads
    return x.unfold(-1, d_head, d_head).swapaxes(1, 2)


@split_heads.alternative("head by head into an empty tensor")
def head_by_head(x, num_heads):
    d_head = x.shape[-1] // num_heads
    made = x.new_empty(x.shape[0], num_heads, x.shape[1], d_head)
    for head in range(num_heads):
        made[:, head] = x[:, :, head * d_head : (head + 1) * d_head]
    return made


@split_heads.alternative("a product with a picking tensor")
def picked(x, num_heads):
    eye = torch.eye(x.shape[-1], dtype=x.dtype).unflatten(0, (num_heads, -1))
    return torch.einsum("bnd,hed->bhne", x, eye)
