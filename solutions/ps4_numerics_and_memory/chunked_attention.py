"""Attention without its matrix: the keys come in chunks, and the softmax is kept up to date.

At n_q = n_k = 32,768 the scores of one head take 4 GiB in float32. They are never needed all at
once: for each query it is enough to remember the largest score so far, the sum of the
exponentials, and the weighted sum of the values. When a larger score comes, both sums are
rescaled. This is what FlashAttention does on a GPU.
"""

import math

import torch
from jaxtyping import Float

from autograder import exercise
from autograder.cases import with_gradients
from autograder.checks import largest_allocation
from autograder.forbidden import LIBRARY_ATTENTION


@exercise(
    points=8,
    order=4,
    forbids=LIBRARY_ATTENTION,
    memory=24,
    checks=[
        largest_allocation(
            "n_q * n_k",
            "no tensor is as large as the matrix of scores",
            sizes={"n_q": ("Q", -2), "n_k": ("K", -2)},
            cases=["watched", "no_room"],
        )
    ],
)
def chunked_attention(
    Q: Float[torch.Tensor, "... n_q d_k"],
    K: Float[torch.Tensor, "... n_k d_k"],
    V: Float[torch.Tensor, "... n_k d_v"],
    chunk_size: int,
) -> Float[torch.Tensor, "... n_q d_v"]:
    """Scaled dot-product attention, softmax(Q Kᵀ / √d_k) V, over `chunk_size` keys at a time.

    Args:
        Q: shape (..., n_q, d_k); any leading dimensions, none included.
        K: shape (..., n_k, d_k), the same leading dimensions.
        V: shape (..., n_k, d_v).
        chunk_size: keys of a chunk, at least 1; it need not divide n_k, and may be above it.

    Returns:
        The output alone, shape (..., n_q, d_v). No tensor with as many as n_q·n_k elements is
        ever made (where chunk_size is well below n_k). Right for large scores too, and
        differentiable. No argument is changed. The library's attention is forbidden.
    """
    scale = 1.0 / math.sqrt(Q.shape[-1])
    largest = Q.new_full((*Q.shape[:-1], 1), -math.inf)  # (..., n_q, 1)
    total = Q.new_zeros((*Q.shape[:-1], 1))  # (..., n_q, 1)
    mixed = Q.new_zeros((*Q.shape[:-1], V.shape[-1]))  # (..., n_q, d_v)
    for start in range(0, K.shape[-2], chunk_size):
        keys = K[..., start : start + chunk_size, :]  # (..., c, d_k)
        values = V[..., start : start + chunk_size, :]  # (..., c, d_v)
        scores = Q @ keys.mT * scale  # (..., n_q, c)
        higher = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))  # (..., n_q, 1)
        decay = torch.exp(largest - higher)  # (..., n_q, 1), what the earlier chunks lose
        exponentials = torch.exp(scores - higher)  # (..., n_q, c)
        total = total * decay + exponentials.sum(dim=-1, keepdim=True)  # (..., n_q, 1)
        mixed = mixed * decay + exponentials @ values  # (..., n_q, d_v)
        largest = higher
    return mixed / total  # (..., n_q, d_v)


def _inputs(rng, *leading, n_q, n_k, d_k, d_v, dtype=torch.float32, size=1.0):
    """Q, K, V with entries of the given size."""

    def draw(*shape):
        return torch.from_numpy(rng.normal(scale=size, size=shape)).to(dtype)

    return draw(*leading, n_q, d_k), draw(*leading, n_k, d_k), draw(*leading, n_k, d_v)


def _in_quarters(*tensors):
    """Multiples of 1/4: float32 holds their products and sums exactly, however large they are.

    Scores of 2000 are otherwise rounded by 1e-4, which the exponential makes 1e-4 of a weight.
    """
    return tuple(torch.round(4.0 * tensor) / 4.0 for tensor in tensors)


def _arguments(Q, K, V, chunk_size):
    return {"Q": Q, "K": K, "V": V, "chunk_size": chunk_size}


def _differentiated(Q, K, V, chunk_size):
    Q, K, V = (tensor.requires_grad_() for tensor in (Q, K, V))
    return with_gradients(chunked_attention, Q=Q, K=K, V=V, chunk_size=chunk_size)


# ---- cases ---------------------------------------------------------------------------------

EVERYWHERE = ["not_scaled", "by_d_k", "chunks_averaged", "softmax_of_each_chunk", "values_of_keys"]


@chunked_attention.case(
    "chunks of three keys, the last one shorter",
    separates=[*EVERYWHERE, "sums_not_rescaled", "rest_dropped", "total_of_the_last_chunk"],
)
def shorter_last(rng):
    Q, K, V = _inputs(rng, n_q=4, n_k=11, d_k=5, d_v=6)
    K[9] = 2.0 * Q[1]  # the largest score of query 1 comes in the last chunk
    return _differentiated(Q, K, V, 3)


@chunked_attention.case(
    "scores that grow from chunk to chunk",
    separates=["sums_not_rescaled", "sums_rescaled_the_other_way"],
)
def growing(rng):
    Q, K, V = _inputs(rng, n_q=3, n_k=8, d_k=4, d_v=5)
    Q[:, 0], K[:, 0] = 2.0, torch.arange(8.0)  # each key scores one more than the last
    return _arguments(Q, K, V, 2)


@chunked_attention.case(
    "large scores", separates=["no_maximum", "first_maximum_kept", "sums_not_rescaled"]
)
def large(rng):
    Q, K, V = _inputs(rng, n_q=3, n_k=7, d_k=4, d_v=2, size=40.0)
    Q, K = _in_quarters(Q, K)
    K[5] = 60.0 * Q.sign()[0]  # about +2000, which exp cannot take, and in a late chunk
    return _arguments(Q, K, V, 2)


@chunked_attention.case("large scores, the largest in the first chunk", separates=["no_maximum"])
def large_first(rng):
    # scores from 128 down, which exp cannot take; the first chunk's maximum would serve for all
    Q, K, V = _inputs(rng, n_q=3, n_k=7, d_k=4, d_v=2)
    Q, K = _in_quarters(Q, K)
    Q[:, 0], K[:, 0] = 16.0, 16.0 - torch.arange(7.0) / 4.0
    return _arguments(Q, K, V, 2)


@chunked_attention.case("two leading dimensions", separates=["chunks_averaged", "not_scaled"])
def batch_and_heads(rng):
    Q, K, V = _inputs(rng, 2, 3, n_q=4, n_k=6, d_k=5, d_v=7)
    return _differentiated(Q, K, V, 4)


@chunked_attention.case(
    "watched: 16 queries, 256 keys", separates=["whole_matrix"], watch=["allocation"]
)
def watched(rng):
    # as many queries as a chunk holds: whoever cuts the queries makes the whole matrix at once
    Q, K, V = _inputs(rng, n_q=16, n_k=256, d_k=3, d_v=4)
    return _arguments(Q, K, V, 16)


@chunked_attention.case(
    "ten million scores, for which there is no room",
    kind="robustness",
    hidden=True,
    explained=False,
    watch=["allocation"],
)
def no_room(rng):
    # 160 x 65536 scores are 40 MiB in float32; the child has 24. Those of a chunk are 0.6 MiB.
    Q, K, V = _inputs(rng, n_q=160, n_k=65536, d_k=2, d_v=2)
    return _arguments(Q, K, V, 1024)


@chunked_attention.case(
    "all sizes equal, chunks of one", separates=["sums_not_rescaled", "values_of_keys"], hidden=True
)
def all_equal(rng):
    Q, K, V = _inputs(rng, 4, n_q=4, n_k=4, d_k=4, d_v=4)
    return _arguments(Q, K, V, 1)


@chunked_attention.case(
    "float64, with a gradient", separates=["sums_not_rescaled", "by_d_k"], hidden=True
)
def in_float64(rng):
    Q, K, V = _inputs(rng, 2, n_q=3, n_k=9, d_k=6, d_v=2, dtype=torch.float64, size=2.0)
    K[:, 7] *= 40.0
    return _differentiated(Q, K, V, 4)


@chunked_attention.case("a chunk larger than all keys", kind="robustness")
def one_chunk(rng):
    return _arguments(*_inputs(rng, n_q=3, n_k=5, d_k=4, d_v=2), 100)


@chunked_attention.case("tiny entries", kind="robustness", hidden=True)
def tiny(rng):
    return _arguments(*_inputs(rng, n_q=3, n_k=5, d_k=4, d_v=2, size=1e-3), 2)


@chunked_attention.case("a single key", kind="robustness", hidden=True)
def single_key(rng):
    return _arguments(*_inputs(rng, 2, n_q=3, n_k=1, d_k=4, d_v=2), 3)


# ---- misconceptions ------------------------------------------------------------------------


@chunked_attention.misconception(
    "Makes the scores over all keys at once, as dense attention does; cutting the queries into "
    "chunks does not help.",
    hint="How many numbers does the largest tensor hold that your function makes?",
    credit=0.25,
)
def whole_matrix(Q, K, V, chunk_size):
    scale = 1.0 / math.sqrt(Q.shape[-1])
    scores = Q @ K.mT * scale
    return torch.softmax(scores, dim=-1) @ V


def _online(Q, K, V, chunk_size, *, scale, decay_of=torch.exp, values=None):
    """The online softmax with one thing changed."""
    values = V if values is None else values
    largest = Q.new_full((*Q.shape[:-1], 1), -math.inf)
    total = Q.new_zeros((*Q.shape[:-1], 1))
    mixed = Q.new_zeros((*Q.shape[:-1], values.shape[-1]))
    for start in range(0, K.shape[-2], chunk_size):
        scores = Q @ K[..., start : start + chunk_size, :].mT * scale
        higher = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
        decay = decay_of(largest - higher)
        exponentials = torch.exp(scores - higher)
        total = total * decay + exponentials.sum(dim=-1, keepdim=True)
        mixed = mixed * decay + exponentials @ values[..., start : start + chunk_size, :]
        largest = higher
    return mixed / total


@chunked_attention.misconception(
    "Does not rescale the earlier sums when a larger score comes.",
    hint="The exponentials of the first chunk were taken with an older maximum. What are they "
    "worth after a new one?",
    credit=0.5,
)
def sums_not_rescaled(Q, K, V, chunk_size):
    return _online(
        Q, K, V, chunk_size, scale=1.0 / math.sqrt(Q.shape[-1]), decay_of=torch.ones_like
    )


@chunked_attention.misconception(
    "Rescales the earlier sums in the wrong direction: they grow when a larger score comes.",
    hint="Should what was summed up before gain or lose when the maximum grows?",
    credit=0.5,
)
def sums_rescaled_the_other_way(Q, K, V, chunk_size):
    def inverse(difference):
        return torch.where(torch.isinf(difference), 0.0, torch.exp(-difference))

    return _online(Q, K, V, chunk_size, scale=1.0 / math.sqrt(Q.shape[-1]), decay_of=inverse)


@chunked_attention.misconception(
    "Leaves the scores unscaled.",
    hint="What variance do the scores have at this width, and what should be done about it?",
    credit=0.5,
)
def not_scaled(Q, K, V, chunk_size):
    return _online(Q, K, V, chunk_size, scale=1.0)


@chunked_attention.misconception(
    "Divides by d_k instead of its square root.",
    hint="The standard deviation of a score grows with which power of the width?",
    credit=0.5,
)
def by_d_k(Q, K, V, chunk_size):
    return _online(Q, K, V, chunk_size, scale=1.0 / Q.shape[-1])


@chunked_attention.misconception(
    "Mixes the keys instead of the values.",
    hint="Which of the three inputs carries what a query takes away?",
)
def values_of_keys(Q, K, V, chunk_size):
    return _online(Q, K, V, chunk_size, scale=1.0 / math.sqrt(Q.shape[-1]), values=K)


@chunked_attention.misconception(
    "Applies softmax in each chunk on its own and averages the results.",
    hint="Two chunks have totals of 1 and 100. Which of them deserves more say?",
    credit=0.25,
)
def chunks_averaged(Q, K, V, chunk_size):
    scale = 1.0 / math.sqrt(Q.shape[-1])
    parts = []
    for start in range(0, K.shape[-2], chunk_size):
        scores = Q @ K[..., start : start + chunk_size, :].mT * scale
        parts.append(torch.softmax(scores, dim=-1) @ V[..., start : start + chunk_size, :])
    return torch.stack(parts).mean(dim=0)


@chunked_attention.misconception(
    "Applies softmax in each chunk on its own and adds the results: the weights sum to the number "
    "of chunks.",
    hint="What do all weights of one query sum to, over all chunks?",
    credit=0.25,
)
def softmax_of_each_chunk(Q, K, V, chunk_size):
    scale = 1.0 / math.sqrt(Q.shape[-1])
    mixed = Q.new_zeros((*Q.shape[:-1], V.shape[-1]))
    for start in range(0, K.shape[-2], chunk_size):
        scores = Q @ K[..., start : start + chunk_size, :].mT * scale
        mixed = mixed + torch.softmax(scores, dim=-1) @ V[..., start : start + chunk_size, :]
    return mixed


@chunked_attention.misconception(
    "Sums exponentials without a maximum, which overflows for large scores.",
    hint="What does float32 make of the exponential of 100?",
    credit=0.5,
)
def no_maximum(Q, K, V, chunk_size):
    scale = 1.0 / math.sqrt(Q.shape[-1])
    total = Q.new_zeros((*Q.shape[:-1], 1))
    mixed = Q.new_zeros((*Q.shape[:-1], V.shape[-1]))
    for start in range(0, K.shape[-2], chunk_size):
        exponentials = torch.exp(Q @ K[..., start : start + chunk_size, :].mT * scale)
        total = total + exponentials.sum(dim=-1, keepdim=True)
        mixed = mixed + exponentials @ V[..., start : start + chunk_size, :]
    return mixed / total


@chunked_attention.misconception(
    "Keeps the maximum of the first chunk for all: a much larger score later overflows.",
    hint="Which scores can the maximum of the first chunk know of?",
    credit=0.5,
)
def first_maximum_kept(Q, K, V, chunk_size):
    scale = 1.0 / math.sqrt(Q.shape[-1])
    total = Q.new_zeros((*Q.shape[:-1], 1))
    mixed = Q.new_zeros((*Q.shape[:-1], V.shape[-1]))
    largest = None
    for start in range(0, K.shape[-2], chunk_size):
        scores = Q @ K[..., start : start + chunk_size, :].mT * scale
        if largest is None:
            largest = scores.amax(dim=-1, keepdim=True)
        exponentials = torch.exp(scores - largest)
        total = total + exponentials.sum(dim=-1, keepdim=True)
        mixed = mixed + exponentials @ V[..., start : start + chunk_size, :]
    return mixed / total


@chunked_attention.misconception(
    "Drops the keys that do not fill a whole chunk.",
    hint="How many keys does your loop visit when the chunk size does not divide their number?",
    credit=0.5,
)
def rest_dropped(Q, K, V, chunk_size):
    whole = max(K.shape[-2] // chunk_size, 1) * chunk_size
    scale = 1.0 / math.sqrt(Q.shape[-1])
    return _online(Q, K[..., :whole, :], V[..., :whole, :], chunk_size, scale=scale)


@chunked_attention.misconception(
    "Divides by the total of the last chunk instead of that of all.",
    hint="Which sum do the weights of all chunks share?",
    credit=0.25,
)
def total_of_the_last_chunk(Q, K, V, chunk_size):
    scale = 1.0 / math.sqrt(Q.shape[-1])
    largest = Q.new_full((*Q.shape[:-1], 1), -math.inf)
    mixed = Q.new_zeros((*Q.shape[:-1], V.shape[-1]))
    for start in range(0, K.shape[-2], chunk_size):
        scores = Q @ K[..., start : start + chunk_size, :].mT * scale
        higher = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
        exponentials = torch.exp(scores - higher)
        total = exponentials.sum(dim=-1, keepdim=True)
        decay = torch.exp(largest - higher)
        mixed = mixed * decay + exponentials @ V[..., start : start + chunk_size, :]
        largest = higher
    return mixed / total


# ---- right but unusual ---------------------------------------------------------------------


@chunked_attention.alternative("each chunk on its own, joined by its log-sum-exp")
def joined_by_logsumexp(Q, K, V, chunk_size):
    output, total = None, None
    for keys, values in zip(K.split(chunk_size, dim=-2), V.split(chunk_size, dim=-2), strict=True):
        scores = torch.einsum("...qd,...kd->...qk", Q, keys) / Q.shape[-1] ** 0.5
        here = torch.logsumexp(scores, dim=-1, keepdim=True)
        part = torch.exp(scores - here) @ values
        if output is None:
            output, total = part, here
        else:
            both = torch.logaddexp(total, here)
            output = output * torch.exp(total - both) + part * torch.exp(here - both)
            total = both
    return output


@chunked_attention.alternative("two passes: the maxima first, then the sums, Q scaled beforehand")
def two_passes(Q, K, V, chunk_size):
    scaled = Q * (Q.size(-1) ** -0.5)
    starts = range(0, K.size(-2), chunk_size)
    largest = (
        torch.stack(
            [
                (scaled @ K[..., s : s + chunk_size, :].transpose(-2, -1)).max(-1).values
                for s in starts
            ]
        )
        .max(0)
        .values.unsqueeze(-1)
    )
    top, bottom = 0.0, 0.0
    for s in starts:
        e = (scaled @ K[..., s : s + chunk_size, :].transpose(-2, -1) - largest).exp()
        top, bottom = top + e @ V[..., s : s + chunk_size, :], bottom + e.sum(-1, keepdim=True)
    return top / bottom


@chunked_attention.alternative("key after key, with the total as one more column of the values")
def total_as_a_column(Q, K, V, chunk_size):
    ones = torch.cat([V, torch.ones_like(V[..., :1])], dim=-1)
    running = torch.full_like(Q[..., :1], torch.finfo(Q.dtype).min)
    state = torch.zeros(*Q.shape[:-1], ones.shape[-1], dtype=Q.dtype)
    for first in range(0, K.shape[-2], chunk_size):
        block = slice(first, first + chunk_size)
        scores = torch.matmul(Q, K[..., block, :].swapaxes(-1, -2)).div(math.sqrt(Q.shape[-1]))
        new = torch.max(running, scores.max(dim=-1, keepdim=True)[0]).detach()
        state = state * (running - new).exp() + (scores - new).exp() @ ones[..., block, :]
        running = new
    return state[..., :-1] / state[..., -1:]
