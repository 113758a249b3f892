"""Attend to the neighbours alone, without ever making the full matrix of scores.

Masking the full matrix gives the same output, at the price of n·n scores for every head. With w
neighbours on each side, only n·(2w + 1) of them count. Longformer and Mistral live on this.
"""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder import exercise
from autograder.cases import with_gradients
from autograder.checks import largest_allocation
from autograder.forbidden import LIBRARY_ATTENTION


@exercise(
    points=6,
    order=5,
    forbids=LIBRARY_ATTENTION,
    checks=[
        largest_allocation(
            "n * n / 4",
            "memory grows with n, not with n²",
            sizes={"n": ("Q", -2)},
            cases=["long_sequence"],
        )
    ],
    memory=384,  # MiB: the full matrix of the longest case does not fit, see beyond_memory
    seconds=30.0,  # for that case: a loop over its tokens is slow, and right
)
def local_attention(
    Q: Float[Tensor, "batch n d"],
    K: Float[Tensor, "batch n d"],
    V: Float[Tensor, "batch n d_v"],
    window: int,
) -> Float[Tensor, "batch n d_v"]:
    """Sliding-window attention with memory linear in the number of tokens.

    Args:
        Q: shape (batch, n, d), the queries.
        K: shape (batch, n, d), the keys.
        V: shape (batch, n, d_v), the values; d_v may differ from d.
        window: how many keys on EACH side of its own position a query may look at, at least 0.
            Near the ends there are fewer. A window of n or more is allowed and hides nothing.

    Returns:
        Shape (batch, n, d_v): the same as scaled dot-product attention (scores divided by the
        square root of d) under the mask of sliding_window_mask. No tensor of n·n elements is made
        on the way: n may be so large that it would not fit into memory. Differentiable; no
        argument is changed. PyTorch's own attention is forbidden here; its softmax is not.
    """
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)  # a wider window sees the same keys
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)  # (n, 2·reach + 1)
    inside = (positions >= 0) & (positions < n)  # (n, 2·reach + 1), false beyond the ends
    neighbours = positions.clamp(0, n - 1)  # (n, 2·reach + 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5  # (batch, n, 2·reach + 1)
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)  # as the scores
    return (weights[..., None] * V[:, neighbours]).sum(-2)  # (batch, n, d_v)


def _arguments(rng, batch, n, d, d_v, window, size=1.0):
    """Queries, keys and values with float32 entries of the given size."""
    shapes = {"Q": (batch, n, d), "K": (batch, n, d), "V": (batch, n, d_v)}
    drawn = {name: rng.normal(scale=size, size=shape) for name, shape in shapes.items()}
    return {name: array.astype(np.float32) for name, array in drawn.items()} | {"window": window}


# ---- cases ---------------------------------------------------------------------------------


@local_attention.case(
    "nine tokens, two neighbours on each side",
    separates=[
        "not_scaled",
        "by_d",
        "by_value_width",
        "by_number_of_tokens",
        "scaled_after_softmax",
        "one_too_few",
        "half_on_each_side",
        "past_only",
        "ends_counted_again",
        "padded_with_zeros",
        "ring",
        "blocks",
        "over_queries",
        "keys_averaged",
        "values_reversed",
        "plain_mean",
        "roles_swapped",
    ],
)
def nine_tokens(rng):
    return _arguments(rng, batch=2, n=9, d=3, d_v=5, window=2)


@local_attention.case(
    "all sizes equal, one neighbour on each side",
    separates=[
        "keys_averaged",
        "values_reversed",
        "over_queries",
        "roles_swapped",
        "ends_counted_again",
        "half_on_each_side",
        "one_too_few",
    ],
)
def all_equal(rng):
    # mix-ups of axes keep the right shape here: only the values tell
    return _arguments(rng, batch=4, n=4, d=4, d_v=4, window=1)


@local_attention.case(
    "a window that hides nothing",
    separates=["past_only", "not_scaled", "blocks", "ring", "ends_counted_again", "over_queries"],
)
def hides_nothing(rng):
    return _arguments(rng, batch=3, n=5, d=2, d_v=4, window=7)


@local_attention.case("gradients", separates=["graph_cut", "not_scaled", "plain_mean"])
def gradients(rng):
    drawn = _arguments(rng, batch=2, n=6, d=3, d_v=2, window=1)
    window = drawn.pop("window")
    tensors = {name: torch.tensor(array, requires_grad=True) for name, array in drawn.items()}
    return with_gradients(local_attention, **tensors, window=window)


@local_attention.case("scores around 1000", separates=["no_maximum"])
def large(rng):
    # Whole numbers, and 16 features (a square, and the square of one): all products and scores
    # are exact in float32, however the scale is split, so that only the softmax can go wrong.
    drawn = {name: rng.integers(-40, 41, size=(2, 7, 16)).astype(np.float32) for name in "QK"}
    return drawn | {"V": rng.normal(size=(2, 7, 3)).astype(np.float32), "window": 2}


@local_attention.case(
    "a long sequence", separates=["full_matrix", "blocks", "past_only"], watch=("allocation",)
)
def long_sequence(rng):
    # n²/4 = 40,000 numbers are allowed; the neighbours of all keys have 400·5·2 = 4,000
    return _arguments(rng, batch=1, n=400, d=2, d_v=1, window=2)


@local_attention.case(
    "a sequence whose n x n scores do not fit into memory",
    separates=["full_matrix"],
    hidden=True,
)
def beyond_memory(rng):
    # 10240² float32 scores are 400 MiB, more than the process gets
    return _arguments(rng, batch=1, n=10240, d=4, d_v=3, window=2)


@local_attention.case(
    "more tokens, a wider window",
    separates=["one_too_few", "half_on_each_side", "ring", "blocks", "padded_with_zeros"],
    hidden=True,
)
def more_tokens(rng):
    return _arguments(rng, batch=3, n=int(rng.integers(13, 18)), d=5, d_v=2, window=4)


@local_attention.case("a window of 0: every token gets its own value", kind="robustness")
def alone(rng):
    return _arguments(rng, batch=2, n=4, d=3, d_v=2, window=0)


@local_attention.case("a single token", kind="robustness", hidden=True)
def single_token(rng):
    return _arguments(rng, batch=2, n=1, d=3, d_v=4, window=int(rng.integers(0, 3)))


@local_attention.case("tiny entries", kind="robustness", hidden=True)
def tiny(rng):
    return _arguments(rng, batch=1, n=6, d=2, d_v=3, window=2, size=1e-3)


@local_attention.case("float64", kind="robustness", hidden=True)
def double_precision(rng):
    drawn = _arguments(rng, batch=1, n=5, d=2, d_v=3, window=1)
    return {k: v.astype(np.float64) if k in "QKV" else v for k, v in drawn.items()}


# ---- misconceptions ------------------------------------------------------------------------


@local_attention.misconception(
    "Leaves out the scale.",
    hint="By what are the scores of scaled dot-product attention divided, and where does that "
    "stand in your code?",
    credit=0.5,
)
def not_scaled(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1)
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Divides by d instead of its square root.",
    hint="Which power of d makes the variance of a score 1?",
    credit=0.5,
)
def by_d(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Takes the scale from the width of the values.",
    hint="Do the values take part in a score?",
    credit=0.5,
)
def by_value_width(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / V.shape[-1] ** 0.5
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Takes the scale from the number of tokens.",
    hint="Which axis of Q counts tokens, and which one their features?",
    credit=0.5,
)
def by_number_of_tokens(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / n**0.5
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Scales after the softmax, so that the weights no longer sum to 1.",
    hint="If all values were equal, what would every output have to be? Is it, in yours?",
    credit=0.25,
)
def scaled_after_softmax(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1)
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1) / d**0.5
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Looks at one neighbour too few on each side.",
    hint="With a window of 1, which keys does a query in the middle see? Count yours.",
    credit=0.5,
)
def one_too_few(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = max(min(window, n) - 1, 0)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Takes `window` for the whole width, so that only half of it lies on each side.",
    hint="With a window of 1, which keys does a query in the middle see? Count yours.",
    credit=0.5,
)
def half_on_each_side(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window // 2, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Looks at the keys before the query only, as if attention were causal too.",
    hint="Change the value of token 1: does the output of token 0 move, as it should?",
    credit=0.25,
)
def past_only(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Fills the window at the ends of the sequence with copies of the outermost key, which then "
    "counts several times.",
    hint="How many different keys does token 0 see, and how many entries has your softmax for it?",
    credit=0.25,
)
def ends_counted_again(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5
    weights = torch.softmax(scores, dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Pads with zeros beyond the ends and does not hide them: a key of zeros has the score 0, not "
    "the weight 0.",
    hint="What is the exponential of a score of 0? Which score gives the weight 0?",
    credit=0.25,
)
def padded_with_zeros(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5
    weights = torch.softmax(scores.masked_fill(~inside, 0.0), dim=-1) * inside
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Wraps around the ends: the first token sees the last ones.",
    hint="Which tokens of a text are neighbours of its first one? Which operation of yours thinks "
    "otherwise?",
    credit=0.25,
)
def ring(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    neighbours = positions % n
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5
    weights = torch.softmax(scores, dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Cuts the sequence into fixed blocks and attends inside each: the window does not slide.",
    hint="Take two neighbours on both sides of a cut. May they see each other?",
)
def blocks(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = positions // (2 * window + 1) == torch.arange(n)[:, None] // (2 * window + 1)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Normalises over the queries instead of the keys.",
    hint="Along which axis do the keys of one query lie, and along which one do your weights sum "
    "to 1?",
    credit=0.25,
)
def over_queries(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Mixes the keys instead of the values.",
    hint="What is a key for, and what is collected once the weights are known?",
    credit=0.25,
)
def keys_averaged(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * K[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Lines the values up in the opposite order of the keys: the left neighbour's weight meets the "
    "right neighbour's value.",
    hint="For one query, write down which keys its weights belong to, then which values they are "
    "multiplied with.",
    credit=0.25,
)
def values_reversed(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * V[:, neighbours.flip(-1)]).sum(-2)


@local_attention.misconception(
    "Takes the plain mean of the values in the window; queries and keys play no part.",
    hint="Change Q: does the output move?",
)
def plain_mean(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) * 0.0
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Swaps the roles of queries and keys.",
    hint="Row i belongs to the token that asks. Which of your two tensors is looked up at its "
    "neighbours?",
    credit=0.5,
)
def roles_swapped(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (K[:, :, None, :] * Q[:, neighbours]).sum(-1) / d**0.5
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Takes the exponential of the scores as they are, which overflows for large ones.",
    hint="What does PyTorch give for the exponential of 1000? Which shift leaves a softmax "
    "unchanged?",
    credit=0.5,
)
def no_maximum(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5
    weights = scores.masked_fill(~inside, -torch.inf).exp()
    weights = weights / weights.sum(-1, keepdim=True)
    return (weights[..., None] * V[:, neighbours]).sum(-2)


@local_attention.misconception(
    "Gets the values right but cuts the graph: no gradient reaches the arguments.",
    hint="Which step of yours leaves PyTorch, or copies only the numbers of a tensor?",
    credit=0.5,
)
def graph_cut(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    positions = torch.arange(n)[:, None] + torch.arange(-reach, reach + 1)
    inside = (positions >= 0) & (positions < n)
    neighbours = positions.clamp(0, n - 1)
    scores = (Q[:, :, None, :] * K[:, neighbours]).sum(-1) / d**0.5
    weights = torch.softmax(scores.masked_fill(~inside, -torch.inf), dim=-1)
    return (weights[..., None] * V[:, neighbours]).sum(-2).detach()


@local_attention.misconception(
    "Makes the full n x n matrix of scores and hides most of it: the output is right, but memory "
    "grows with the square of the number of tokens.",
    hint="How many scores count for one query, and how many do you compute? Can you line up the "
    "neighbours of every query before any score is made?",
    credit=0.25,
)
def full_matrix(Q, K, V, window):
    n, d = Q.shape[-2:]
    if n > 4096:
        torch.empty(2**50)  # fails, as the matrix does under a limit; the grader makes neither
    distance = torch.arange(n)[None, :] - torch.arange(n)[:, None]
    scores = (Q @ K.mT / d**0.5).masked_fill(distance.abs() > window, -torch.inf)
    return torch.softmax(scores, dim=-1) @ V


# ---- right but unusual ---------------------------------------------------------------------


@local_attention.alternative("one shift of keys and values after the other")
def shift_by_shift(Q, K, V, window):
    n, d = Q.shape[-2:]
    shifts = range(-min(window, n - 1), min(window, n - 1) + 1)
    columns = []
    for shift in shifts:
        column = Q.new_full(Q.shape[:2], -1e30)
        first, last = max(0, -shift), min(n, n - shift)
        products = Q[:, first:last] * K[:, first + shift : last + shift]
        column[:, first:last] = products.sum(-1) * d**-0.5
        columns.append(column)
    weights = torch.stack(columns, dim=-1).softmax(-1)
    output = torch.zeros_like(V)
    for number, shift in enumerate(shifts):
        first, last = max(0, -shift), min(n, n - shift)
        share = weights[:, first:last, number, None]
        output[:, first:last] += share * V[:, first + shift : last + shift]
    return output


@local_attention.alternative("padding and sliding views, the scale split between Q and K")
def sliding_views(Q, K, V, window):
    n, d = Q.shape[-2:]
    reach = min(window, n - 1)
    pad = torch.nn.functional.pad
    keys, values = (
        pad(part, (0, 0, reach, reach)).unfold(1, 2 * reach + 1, 1) for part in (K, V)
    )  # (batch, n, features, 2·reach + 1)
    real = pad(torch.ones(n, dtype=torch.bool), (reach, reach)).unfold(0, 2 * reach + 1, 1)
    scores = torch.einsum("bnd,bndw->bnw", Q * d**-0.25, keys * d**-0.25)
    scores = torch.where(real, scores, torch.finfo(scores.dtype).min)
    return torch.einsum("bnw,bnvw->bnv", scores.softmax(-1), values)


@local_attention.alternative("blocks of queries, each with the keys around it")
def blocks_of_queries(Q, K, V, window):
    n, d = Q.shape[-2:]
    size = 2 * window + 8
    output = []
    for start in range(0, n, size):
        stop = min(start + size, n)
        left, right = max(0, start - window), min(n, stop + window)
        scores = Q[:, start:stop] @ K[:, left:right].mT / d**0.5
        distance = torch.arange(start, stop)[:, None] - torch.arange(left, right)
        visible = scores.masked_fill(distance.abs() > window, -math.inf)
        exponentials = (visible - visible.amax(-1, keepdim=True)).exp()
        output.append(exponentials @ V[:, left:right] / exponentials.sum(-1, keepdim=True))
    return torch.cat(output, dim=1)


@local_attention.alternative("overlapping strides over padded keys, normalised last")
def strided(Q, K, V, window):
    batch, n, d = Q.shape
    reach = min(window, n - 1)
    width = 2 * reach + 1

    def around(x):
        padded = torch.nn.functional.pad(x, (0, 0, reach, reach)).contiguous()
        shape = (batch, n, width, x.shape[-1])
        step = padded.stride()
        return padded.as_strided(shape, (step[0], step[1], step[1], step[2]))

    scores = (around(K) @ Q.unsqueeze(-1)).squeeze(-1) / math.sqrt(d)
    index = torch.arange(n)[:, None] + torch.arange(width) - reach
    scores = scores + torch.zeros(n, width).masked_fill((index < 0) | (index >= n), -math.inf)
    powers = torch.exp2((scores - scores.amax(-1, keepdim=True)) * math.log2(math.e))
    return (powers.unsqueeze(-2) @ around(V)).squeeze(-2) / powers.sum(-1, keepdim=True)
