"""Softmax over the entries that the mask keeps; in half precision too, and for empty rows.

The usual recipe, adding -1e9 to what is hidden, does not fit into float16, and turns a row with
nothing visible into an average over everything. Here such a row has weights of zero.
"""

import math

import torch
from jaxtyping import Bool, Float

from autograder import exercise
from autograder.cases import with_gradients
from autograder.checks import exact_zeros


@exercise(
    points=6,
    order=2,
    half_precision=True,
    checks=[exact_zeros("hidden entries have a weight of exactly 0")],
)
def masked_softmax(
    scores: Float[torch.Tensor, "..."], mask: Bool[torch.Tensor, "..."], dim=-1
) -> Float[torch.Tensor, "..."]:
    """Softmax along `dim` over the visible entries; hidden ones get exactly 0.

    Args:
        scores: any shape, float16 to float64. Visible scores go down to -10⁴; a hidden one may
            be any number up to 10⁴ in size.
        mask: bool or 0/1 (integers or floats), broadcastable to the shape of scores; true means
            that the entry is visible.
        dim: the axis of the keys.

    Returns:
        Weights of the shape and dtype of scores. Visible entries of a slice sum to 1. A slice
        without any is all zeros. Hidden scores change neither the result nor a gradient, and
        gradients are finite everywhere. No argument is changed.
    """
    visible = mask.to(torch.bool)  # broadcastable to the shape of scores
    lowest = torch.finfo(scores.dtype).min  # fits into the dtype, unlike -1e9 into float16
    filled = scores.masked_fill(~visible, lowest)  # finite, so that no NaN arises in an empty slice
    weights = torch.softmax(filled, dim=dim)  # uniform where nothing is visible
    return weights.masked_fill(~visible, 0.0)  # zeros there; elsewhere they were 0 already


def _scores(rng, *shape, dtype=torch.float32, scale=1.0):
    return torch.from_numpy(rng.normal(scale=scale, size=shape)).to(dtype)


def _mask(rng, *shape):
    """A random mask with at least one visible and one hidden entry in each row."""
    mask = rng.random(shape) < 0.5  # (..., n)
    mask[..., 0], mask[..., -1] = True, False
    return torch.from_numpy(rng.permuted(mask, axis=-1))


def _with_gradient(scores, mask):
    return with_gradients(masked_softmax, scores=scores.requires_grad_(), mask=mask)


# ---- cases ---------------------------------------------------------------------------------


@masked_softmax.case(
    "every row with something visible",
    separates=[
        "polarity",
        "scores_multiplied",
        "tiny_constant",
        "not_renormalised",
        "mask_ignored",
        "whole_tensor",
    ],
)
def everyday(rng):
    return _with_gradient(_scores(rng, 3, 4, 6), _mask(rng, 3, 4, 6))


@masked_softmax.case(
    "one row with nothing visible",
    separates=["minus_infinity", "uniform_when_empty", "nan_removed_last"],
)
def empty_row(rng):
    mask = _mask(rng, 4, 5)
    mask[2] = False
    return _with_gradient(_scores(rng, 4, 5), mask)


@masked_softmax.case(
    "float16, one row with nothing visible",
    separates=[
        "minus_infinity",
        "uniform_when_empty",
        "beyond_half_precision",
        "float32_returned",
    ],
)
def half_precision(rng):
    mask = _mask(rng, 3, 4)
    mask[1] = False
    return {"scores": _scores(rng, 3, 4, dtype=torch.float16, scale=2.0), "mask": mask}


@masked_softmax.case(
    "visible scores around -10000, hidden ones up to +10000",
    separates=["constant_too_small", "scores_multiplied", "shifted_by_hidden"],
)
def far_below(rng):
    mask = _mask(rng, 4, 6)
    scores = (_scores(rng, 4, 6) - 9998.0).clamp(min=-1e4)
    scores = torch.where(mask, scores, torch.full((4, 6), 1e4))
    return _with_gradient(scores, mask)


@masked_softmax.case("keys on the first axis", separates=["always_last_axis"])
def first_axis(rng):
    mask = _mask(rng, 5, 4).T.contiguous()  # (4, 5), each column with something visible
    return {"scores": _scores(rng, 4, 5), "mask": mask, "dim": 0}


@masked_softmax.case(
    "a mask of zeros and ones, for each sequence of a batch", separates=["polarity"]
)
def zeros_and_ones(rng):
    mask = _mask(rng, 2, 1, 5).to(torch.int64)  # (batch, 1, n_k)
    return {"scores": _scores(rng, 2, 3, 5), "mask": mask}


@masked_softmax.case("a mask of floats, one for all", separates=["scores_multiplied"], hidden=True)
def floats(rng):
    mask = _mask(rng, 6).to(torch.float32)  # (n_k,)
    return {"scores": _scores(rng, 2, 4, 6), "mask": mask}


@masked_softmax.case(
    "bfloat16, the batch as large as the rows",
    separates=["polarity", "float32_returned"],
    hidden=True,
)
def brain_float(rng):
    mask = _mask(rng, 4, 1, 4)
    mask[3] = False
    return {"scores": _scores(rng, 4, 4, 4, dtype=torch.bfloat16), "mask": mask}


@masked_softmax.case(
    "float64, with a gradient, several empty rows",
    separates=["minus_infinity", "nan_removed_last"],
    hidden=True,
)
def in_float64(rng):
    mask = _mask(rng, 2, 3, 5)
    mask[0, 1] = mask[1, :] = False
    return _with_gradient(_scores(rng, 2, 3, 5, dtype=torch.float64), mask)


@masked_softmax.case("everything visible", kind="robustness")
def all_visible(rng):
    return {"scores": _scores(rng, 3, 4), "mask": torch.ones(3, 4, dtype=torch.bool)}


@masked_softmax.case("nothing visible at all", kind="robustness", hidden=True)
def nothing_visible(rng):
    return _with_gradient(_scores(rng, 2, 3), torch.zeros(2, 3, dtype=torch.bool))


@masked_softmax.case("float16 scores of ±10000", kind="robustness", hidden=True)
def half_precision_large(rng):
    scores = _scores(rng, 3, 5, dtype=torch.float32)
    scores = scores + 9980.0 * torch.tensor([[1.0], [-1.0], [0.0]])
    return {"scores": scores.to(torch.float16), "mask": _mask(rng, 3, 5)}


# ---- misconceptions ------------------------------------------------------------------------


@masked_softmax.misconception(
    "Hides what should be seen: the meaning of the mask is turned round.",
    hint="Does true in this mask mean “keep” or “drop”?",
    credit=0.25,
)
def polarity(scores, mask, dim=-1):
    visible = ~mask.to(torch.bool)
    lowest = torch.finfo(scores.dtype).min
    filled = scores.masked_fill(~visible, lowest)
    weights = torch.softmax(filled, dim=dim)
    return weights.masked_fill(~visible, 0.0)


@masked_softmax.misconception(
    "Fills with minus infinity, so that a slice with nothing visible becomes 0/0, which is NaN.",
    hint="What is the sum of the exponentials of a row in which everything is hidden?",
    credit=0.5,
)
def minus_infinity(scores, mask, dim=-1):
    visible = mask.to(torch.bool)
    filled = scores.masked_fill(~visible, -math.inf)
    return torch.softmax(filled, dim=dim)


@masked_softmax.misconception(
    "A slice with nothing visible averages over everything hidden instead of being zero.",
    hint="All entries of a row are filled with one number. What does softmax make of equal scores?",
    credit=0.5,
)
def uniform_when_empty(scores, mask, dim=-1):
    visible = mask.to(torch.bool)
    lowest = torch.finfo(scores.dtype).min
    filled = scores.masked_fill(~visible, lowest)
    return torch.softmax(filled, dim=dim)


@masked_softmax.misconception(
    "Replaces NaN by 0 at the end: the result is right, but the gradient is already NaN.",
    hint="The chain rule goes back through the step that made the NaN. What is 0 times NaN?",
    credit=0.75,
)
def nan_removed_last(scores, mask, dim=-1):
    visible = mask.to(torch.bool)
    added = torch.zeros_like(scores).masked_fill(~visible, -math.inf)
    return torch.nan_to_num(torch.softmax(scores + added, dim=dim))


@masked_softmax.misconception(
    "Fills with -10000, which is not below every visible score.",
    hint="Visible scores may be that low themselves. Which weight does a hidden entry get then?",
    credit=0.5,
)
def constant_too_small(scores, mask, dim=-1):
    visible = mask.to(torch.bool)
    filled = scores.masked_fill(~visible, -1e4)
    weights = torch.softmax(filled, dim=dim)
    return weights * visible.any(dim=dim, keepdim=True)


@masked_softmax.misconception(
    "Fills with a number that float16 cannot hold, such as -1e9.",
    hint="What is the largest number of float16? Each dtype can be asked for its own least one.",
    credit=0.75,
)
def beyond_half_precision(scores, mask, dim=-1):
    visible = mask.to(torch.bool)
    filled = scores.masked_fill(~visible, -1e9)
    weights = torch.softmax(filled, dim=dim)
    return weights.masked_fill(~visible, 0.0)


@masked_softmax.misconception(
    "Multiplies the scores by the mask: a score of 0 still gets weight.",
    hint="What is the exponential of 0?",
    credit=0.25,
)
def scores_multiplied(scores, mask, dim=-1):
    return torch.softmax(scores * mask.to(scores.dtype), dim=dim)


@masked_softmax.misconception(
    "Fills with a tiny number instead of a hugely negative one.",
    hint="How large is the exponential of the number that stands at hidden entries?",
    credit=0.25,
)
def tiny_constant(scores, mask, dim=-1):
    visible = mask.to(torch.bool)
    filled = scores.masked_fill(~visible, 1e-6)
    return torch.softmax(filled, dim=dim)


@masked_softmax.misconception(
    "Sets hidden weights to 0 after softmax, so that the visible ones no longer sum to 1.",
    hint="What does a row of your weights sum to, and who got the rest?",
    credit=0.25,
)
def not_renormalised(scores, mask, dim=-1):
    visible = mask.to(torch.bool)
    weights = torch.softmax(scores, dim=dim)
    return weights.masked_fill(~visible, 0.0)


@masked_softmax.misconception(
    "Does not use the mask, or throws the masked scores away.",
    hint="Does masked_fill change its tensor, or does it return a new one?",
)
def mask_ignored(scores, mask, dim=-1):
    scores.masked_fill(~mask.to(torch.bool), torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=dim)


@masked_softmax.misconception(
    "Normalises over the last axis whatever `dim` says.",
    hint="Which axis sums to 1 in your result, and which one was asked for?",
    credit=0.5,
)
def always_last_axis(scores, mask, dim=-1):
    visible = mask.to(torch.bool)
    lowest = torch.finfo(scores.dtype).min
    filled = scores.masked_fill(~visible, lowest)
    weights = torch.softmax(filled, dim=-1)
    return weights.masked_fill(~visible, 0.0)


@masked_softmax.misconception(
    "Computes in float32 and returns float32, also for half-precision scores.",
    hint="Which dtype comes in, and which goes out?",
    credit=0.5,
)
def float32_returned(scores, mask, dim=-1):
    visible = mask.to(torch.bool)
    lowest = torch.finfo(torch.float32).min
    filled = scores.float().masked_fill(~visible, lowest)
    weights = torch.softmax(filled, dim=dim)
    return weights.masked_fill(~visible, 0.0)


@masked_softmax.misconception(
    "Shifts by the largest of all scores, hidden ones included, so that visible ones underflow.",
    hint="A hidden score is 10000, the visible ones are around 0. What is left of them?",
    credit=0.5,
)
def shifted_by_hidden(scores, mask, dim=-1):
    visible = mask.to(torch.bool)
    exponentials = torch.exp(scores - scores.amax(dim=dim, keepdim=True)) * visible
    return exponentials / exponentials.sum(dim=dim, keepdim=True).clamp(min=1e-30)


@masked_softmax.misconception(
    "Normalises over the whole tensor instead of each slice.",
    hint="How many distributions should your result hold, and how many totals did you compute?",
)
def whole_tensor(scores, mask, dim=-1):
    visible = mask.to(torch.bool)
    lowest = torch.finfo(scores.dtype).min
    filled = scores.masked_fill(~visible, lowest)
    weights = torch.softmax(filled.flatten(), dim=0).reshape(scores.shape)
    return weights.masked_fill(~visible, 0.0)


# ---- right but unusual ---------------------------------------------------------------------


@masked_softmax.alternative("exponentials times the mask, an empty total replaced by 1")
def exponentials_masked(scores, mask, dim=-1):
    visible = (mask != 0).expand_as(scores)
    wide = scores.double()
    kept = torch.where(visible, wide, torch.full_like(wide, -1e300))
    exponentials = torch.exp(kept - kept.amax(dim, keepdim=True)) * visible
    total = exponentials.sum(dim, keepdim=True)
    return (exponentials / torch.where(total == 0, 1.0, total)).to(scores.dtype)


@masked_softmax.alternative("minus infinity, with empty slices opened first")
def opened(scores, mask, dim=-1):
    keep = torch.broadcast_to(mask.bool(), scores.shape)
    empty = ~keep.any(dim=dim, keepdim=True)
    weights = scores.masked_fill(~(keep | empty), float("-inf")).softmax(dim)
    return torch.where(empty, torch.zeros_like(weights), weights)


@masked_softmax.alternative("softmax, mask, and only then the sum, on moved axes")
def renormalised(scores, mask, dim=-1):
    keep = torch.broadcast_to(mask.bool(), scores.shape).movedim(dim, -1)
    rows = (
        scores.movedim(dim, -1).float()
        if scores.dtype != torch.float64
        else scores.movedim(dim, -1)
    )
    rows = torch.where(keep, rows, torch.tensor(-3e4, dtype=rows.dtype))
    weights = rows.softmax(-1) * keep
    sums = weights.sum(-1, keepdim=True)
    weights = weights / sums.clamp_min(torch.finfo(rows.dtype).tiny)
    return weights.movedim(-1, dim).to(scores.dtype)
