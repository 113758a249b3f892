"""Attention on half-precision tensors that does not overflow on the way.

With entries of size 16 to 48 and a width of 64, the product of a query and a key comes to
some 70,000: beyond 65504, the largest float16, although scores and outputs are harmless once
they are scaled. Half precision is for storing; sums are carried in float32.
"""

import math

import torch
from jaxtyping import Float

from autograder import exercise
from autograder.forbidden import LIBRARY_ATTENTION
from autograder.numerics import Bound


@exercise(
    points=5,
    order=5,
    forbids=LIBRARY_ATTENTION,
    half_precision=True,
    tolerance=Bound(
        "the result is rounded once to the half type, two units where it falls between; scores "
        "carried in float32 are right to 1e-3, and so are the weights",
        absolute=1e-3,
        ulps=2,
        of="V",
    ),
)
def mixed_precision_attention(
    Q: Float[torch.Tensor, "... n_q d_k"],
    K: Float[torch.Tensor, "... n_k d_k"],
    V: Float[torch.Tensor, "... n_k d_v"],
) -> Float[torch.Tensor, "... n_q d_v"]:
    """Scaled dot-product attention of half-precision tensors, as exact as their dtype allows.

    Args:
        Q: shape (..., n_q, d_k), float16 or bfloat16; any leading dimensions, none included.
        K: shape (..., n_k, d_k), the same dtype and leading dimensions.
        V: shape (..., n_k, d_v), the same dtype and leading dimensions.

    Returns:
        The output alone, shape (..., n_q, d_v), in the dtype of the inputs. Entries of Q, K and
        V may be up to 48 in size, with products of queries and keys beyond the largest float16.
        The output is right to 2 units in the last place of its dtype at the largest entry of V,
        plus a thousandth of that entry. The library's attention is forbidden.
    """
    wide_Q, wide_K, wide_V = Q.float(), K.float(), V.float()
    scores = wide_Q @ wide_K.mT / math.sqrt(Q.shape[-1])  # (..., n_q, n_k), in float32
    weights = torch.softmax(scores, dim=-1)  # (..., n_q, n_k)
    return (weights @ wide_V).to(Q.dtype)  # (..., n_q, d_v)


def _inputs(rng, *leading, n_q, n_k, d_k, d_v, dtype):
    """Entries of size 16 to 48; keys that differ in few features, so that weights are mixed.

    All numbers are multiples of 1/4 below 64, which float16 and (up to 32) bfloat16 hold exactly.
    """
    step = 0.25 if dtype == torch.float16 else 1.0

    def draw(*shape):
        size = rng.integers(16, 49, size=(*leading, *shape)).astype(float)
        return torch.from_numpy(size)

    signs = torch.from_numpy(rng.choice([-1.0, 1.0], size=(*leading, 1, d_k)))
    Q = (draw(1, d_k) + step * torch.from_numpy(rng.integers(-2, 3, (*leading, n_q, d_k)))) * signs
    common = draw(1, d_k)  # (..., 1, d_k)
    K = common.expand(*leading, n_k, d_k).clone()
    for key in range(n_k):
        feature = rng.integers(d_k, size=2)
        K[..., key, feature] += step * torch.tensor([1.0, -1.0])
    V = draw(n_k, d_v) * torch.from_numpy(rng.choice([-1.0, 1.0], size=(*leading, n_k, d_v)))
    K = K * signs  # products of a query and a key are all positive: their sum is large
    return {"Q": Q.to(dtype), "K": K.to(dtype), "V": V.to(dtype)}


# ---- cases ---------------------------------------------------------------------------------

EVERYWHERE = ["not_scaled", "by_d_k", "half_throughout"]


@mixed_precision_attention.case(
    "float16, products beyond the largest float16",
    separates=[*EVERYWHERE, "float32_returned", "over_queries", "keys_mixed"],
)
def float16(rng):
    return _inputs(rng, n_q=4, n_k=6, d_k=64, d_v=5, dtype=torch.float16)


@mixed_precision_attention.case(
    "bfloat16", separates=["half_throughout", "not_scaled", "float32_returned"]
)
def bfloat16(rng):
    return _inputs(rng, n_q=3, n_k=5, d_k=64, d_v=4, dtype=torch.bfloat16)


@mixed_precision_attention.case(
    "float16, a batch of heads", separates=["half_throughout", "by_d_k", "scaled_in_half"]
)
def batch_of_heads(rng):
    return _inputs(rng, 2, 3, n_q=4, n_k=5, d_k=80, d_v=6, dtype=torch.float16)


@mixed_precision_attention.case(
    "float16, all widths equal", separates=["keys_mixed", "over_queries"], hidden=True
)
def all_equal(rng):
    return _inputs(rng, n_q=64, n_k=64, d_k=64, d_v=64, dtype=torch.float16)


@mixed_precision_attention.case(
    "bfloat16, a batch", separates=["half_throughout", "through_bfloat16"], hidden=True
)
def batch_bfloat16(rng):
    return _inputs(rng, 3, n_q=2, n_k=7, d_k=96, d_v=5, dtype=torch.bfloat16)


@mixed_precision_attention.case("float16, everyday entries", kind="robustness")
def everyday(rng):
    def draw(*shape):
        return torch.from_numpy(rng.normal(size=shape)).to(torch.float16)

    return {"Q": draw(3, 8), "K": draw(5, 8), "V": draw(5, 4)}


@mixed_precision_attention.case("bfloat16, a single key", kind="robustness", hidden=True)
def single_key(rng):
    return _inputs(rng, n_q=3, n_k=1, d_k=64, d_v=2, dtype=torch.bfloat16)


# ---- misconceptions ------------------------------------------------------------------------


@mixed_precision_attention.misconception(
    "Multiplies queries and keys in half precision: the scores overflow, or are rounded far too "
    "coarsely, whatever follows.",
    hint="How large does the inner product of a query and a key become here, before it is scaled?",
    credit=0.25,
)
def half_throughout(Q, K, V):
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ V


@mixed_precision_attention.misconception(
    "Scales the queries first and stays in half precision: nothing overflows, and the scores are "
    "rounded too coarsely.",
    hint="Near 9000, how far apart are neighbouring float16 numbers? And what does a difference of "
    "4 between two scores mean for their weights?",
    credit=0.5,
)
def scaled_in_half(Q, K, V):
    scores = (Q / math.sqrt(Q.shape[-1])) @ K.mT
    weights = torch.softmax(scores.float(), dim=-1)
    return (weights @ V.float()).to(Q.dtype)


@mixed_precision_attention.misconception(
    "Returns float32.",
    hint="Which dtype comes in, and which goes out?",
    credit=0.5,
)
def float32_returned(Q, K, V):
    wide_Q, wide_K, wide_V = Q.float(), K.float(), V.float()
    scores = wide_Q @ wide_K.mT / math.sqrt(Q.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return weights @ wide_V


@mixed_precision_attention.misconception(
    "Goes through bfloat16, whose eight binary digits are too few for the scores.",
    hint="bfloat16 has the range of float32. Does it have its digits?",
    credit=0.25,
)
def through_bfloat16(Q, K, V):
    wide_Q, wide_K, wide_V = Q.bfloat16(), K.bfloat16(), V.bfloat16()
    scores = wide_Q @ wide_K.mT / math.sqrt(Q.shape[-1])
    weights = torch.softmax(scores.float(), dim=-1)
    return (weights @ wide_V.float()).to(Q.dtype)


@mixed_precision_attention.misconception(
    "Leaves the scores unscaled.",
    hint="Which factor keeps the variance of the scores near 1?",
    credit=0.25,
)
def not_scaled(Q, K, V):
    wide_Q, wide_K, wide_V = Q.float(), K.float(), V.float()
    scores = wide_Q @ wide_K.mT
    weights = torch.softmax(scores, dim=-1)
    return (weights @ wide_V).to(Q.dtype)


@mixed_precision_attention.misconception(
    "Divides by d_k instead of its square root.",
    hint="The standard deviation of a score grows with which power of the width?",
    credit=0.25,
)
def by_d_k(Q, K, V):
    wide_Q, wide_K, wide_V = Q.float(), K.float(), V.float()
    scores = wide_Q @ wide_K.mT / Q.shape[-1]
    weights = torch.softmax(scores, dim=-1)
    return (weights @ wide_V).to(Q.dtype)


@mixed_precision_attention.misconception(
    "Normalises over the queries instead of the keys.",
    hint="Which axis of the scores counts the keys of one query?",
    credit=0.25,
)
def over_queries(Q, K, V):
    wide_Q, wide_K, wide_V = Q.float(), K.float(), V.float()
    scores = wide_Q @ wide_K.mT / math.sqrt(Q.shape[-1])
    weights = torch.softmax(scores, dim=-2)
    return (weights @ wide_V).to(Q.dtype)


@mixed_precision_attention.misconception(
    "Mixes the keys instead of the values.",
    hint="Which of the three inputs carries what a query takes away?",
)
def keys_mixed(Q, K, V):
    wide_Q, wide_K = Q.float(), K.float()
    scores = wide_Q @ wide_K.mT / math.sqrt(Q.shape[-1])
    weights = torch.softmax(scores, dim=-1)
    return (weights @ wide_K).to(Q.dtype)


# ---- right but unusual ---------------------------------------------------------------------


@mixed_precision_attention.alternative("in float64, with einsum, the scale on the queries")
def in_double(Q, K, V):
    q, k, v = (tensor.double() for tensor in (Q, K, V))
    scores = torch.einsum("...qd,...kd->...qk", q * q.shape[-1] ** -0.5, k)
    return torch.einsum("...qk,...kd->...qd", scores.softmax(-1), v).to(V.dtype)


@mixed_precision_attention.alternative("scale split between queries and keys, normalised last")
def normalised_last(Q, K, V):
    root = Q.shape[-1] ** 0.25
    scores = (Q.to(torch.float32) / root) @ (K.to(torch.float32) / root).transpose(-2, -1)
    e = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
    return ((e @ V.to(torch.float32)) / e.sum(dim=-1, keepdim=True)).type_as(Q)


@mixed_precision_attention.alternative("weights rounded to half before they meet the values")
def half_weights(Q, K, V):
    scores = torch.matmul(Q.float(), K.float().swapaxes(-1, -2)) / Q.shape[-1] ** 0.5
    return torch.matmul(torch.softmax(scores, -1).to(V.dtype), V)
