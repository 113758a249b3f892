"""Softmax that holds for every finite logit, in every floating dtype.

The exponential of 12 is already too large for float16, that of 89 for float32. Shifting a slice
by its own maximum changes nothing in the result, and leaves no exponent above 0. In half
precision the sum needs room as well: 70,000 ones do not fit into float16.
"""

import math

import numpy as np
import torch
from jaxtyping import Float

from autograder import exercise
from autograder.forbidden import LIBRARY_SOFTMAX


@exercise(points=5, order=1, forbids=LIBRARY_SOFTMAX, half_precision=True)
def stable_softmax(x: Float[torch.Tensor, "..."], dim=-1) -> Float[torch.Tensor, "..."]:
    """Softmax of the logits along `dim`.

    Args:
        x: any shape, float16, bfloat16, float32 or float64. Logits of ±10⁴ and entries of minus
            infinity are fine; a slice has at least one finite entry, and any length. A tensor
            of no axes, with dim=-1, gives 1.
        dim: the axis along which the result sums to 1.

    Returns:
        Shape and dtype of x. x itself is left as it was. softmax and log_softmax of the library
        are forbidden, in every form; logsumexp is not.
    """
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.float() if half else x  # a long sum of float16 ends at 65504
    largest = wide.amax(dim=dim, keepdim=True)  # one for each slice
    exponentials = torch.exp(wide - largest)  # a 1 in every slice, nothing above it
    weights = exponentials / exponentials.sum(dim=dim, keepdim=True)
    return weights.to(x.dtype)


def _logits(rng, *shape, dtype=torch.float32, size=2.0):
    return torch.from_numpy(rng.normal(scale=size, size=shape)).to(dtype)


# ---- cases ---------------------------------------------------------------------------------


@stable_softmax.case(
    "everyday logits",
    separates=[
        "over_everything",
        "over_the_first_axis",
        "not_normalised",
        "without_exponential",
        "logarithms",
        "shifted_by_rows",
        "in_place",
    ],
)
def everyday(rng):
    return {"x": _logits(rng, 4, 6)}


@stable_softmax.case("along the middle axis", separates=["always_last", "over_the_first_axis"])
def middle_axis(rng):
    return {"x": _logits(rng, 3, 5, 4), "dim": 1}


@stable_softmax.case(
    "logits of ±10000",
    separates=["no_maximum", "no_maximum_in_float32", "clamped", "one_maximum"],
)
def large(rng):
    offsets = torch.tensor([[1e4], [-1e4], [0.0]])  # (3, 1)
    return {"x": (_logits(rng, 3, 5) + offsets).clamp(-1e4, 1e4)}


@stable_softmax.case(
    "slices far apart, entries of minus infinity",
    separates=["one_maximum", "infinities_replaced", "clamped"],
)
def minus_infinity(rng):
    x = _logits(rng, 3, 5) - torch.tensor([[0.0], [150.0], [400.0]])  # (3, 5)
    x[0, 1] = x[1, 0] = x[1, 3] = -math.inf
    return {"x": x}


@stable_softmax.case("float16", separates=["no_maximum", "float32_returned"])
def half_precision(rng):
    x = _logits(rng, 3, 4) + torch.tensor([[0.0], [2000.0], [-2000.0]])
    return {"x": x.to(torch.float16)}


@stable_softmax.case("70,000 equal logits in float16", separates=["summed_in_half"], hidden=True)
def long_slice(rng):
    # the sum of 70,000 ones is beyond 65504, the largest float16; a weight is 1.4e-5
    return {"x": torch.full((1, 70_000), float(rng.integers(20, 60)), dtype=torch.float16)}


@stable_softmax.case("bfloat16, along the first axis", separates=["always_last"], hidden=True)
def brain_float(rng):
    return {"x": _logits(rng, 5, 3, dtype=torch.bfloat16), "dim": 0}


@stable_softmax.case(
    "float64, as many slices as entries",
    separates=["over_the_first_axis", "shifted_by_rows"],
    hidden=True,
)
def in_float64(rng):
    return {"x": _logits(rng, 4, 4, dtype=torch.float64)}


@stable_softmax.case("four axes, a negative dim", separates=["always_last"], hidden=True)
def four_axes(rng):
    return {"x": _logits(rng, 2, 4, 3, 5), "dim": -3}


@stable_softmax.case("a tensor of no axes", kind="robustness")
def no_axes(rng):
    return {"x": torch.tensor(float(rng.normal())), "dim": -1}


@stable_softmax.case("tiny logits", kind="robustness", hidden=True)
def tiny(rng):
    return {"x": _logits(rng, 3, 4, size=1e-3)}


# ---- checks --------------------------------------------------------------------------------


@stable_softmax.check("every slice along dim sums to 1", public=True)
def sums_to_one(call):
    dim = call.arguments.get("dim", -1)
    result = np.asarray(call.result, dtype=np.float64)
    sums = result.sum(axis=dim) if result.ndim else result
    count = result.shape[dim] if result.ndim else 1
    # bfloat16 has 8 binary digits, and rounds weights of a few slices by this much
    allowed = {"float16": 2e-3, "bfloat16": 2e-2}.get(call.calls[-1].dtype, 1e-4)
    if call.calls[-1].dtype == "float16":
        allowed += 6e-8 * count  # the spacing of the smallest numbers, in each of them
    off = np.abs(sums - 1.0)
    if (off <= allowed).all():
        return None
    return f"expected 1, one of them sums to {sums.reshape(-1)[int(off.argmax())]:.5g}"


# ---- misconceptions ------------------------------------------------------------------------


@stable_softmax.misconception(
    "Takes the exponential of the logits as they are, which overflows.",
    hint="What is the exponential of 10000, and what is that divided by itself?",
    credit=0.25,
)
def no_maximum(x, dim=-1):
    exponentials = torch.exp(x)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@stable_softmax.misconception(
    "Takes the exponential of the logits as they are: it overflows in a wider dtype too.",
    hint="What is the exponential of 10000, and what is that divided by itself?",
    credit=0.25,
)
def no_maximum_in_float32(x, dim=-1):
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.float() if half else x
    exponentials = torch.exp(wide)
    weights = exponentials / exponentials.sum(dim=dim, keepdim=True)
    return weights.to(x.dtype)


@stable_softmax.misconception(
    "Shifts by the maximum of the whole tensor, so that slices far below it vanish: 0/0.",
    hint="One slice lies 400 below another. What is left of it after the exponential?",
    credit=0.5,
)
def one_maximum(x, dim=-1):
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.float() if half else x
    largest = wide.max()
    exponentials = torch.exp(wide - largest)
    weights = exponentials / exponentials.sum(dim=dim, keepdim=True)
    return weights.to(x.dtype)


@stable_softmax.misconception(
    "Clamps the logits to a range that exp can take, which makes different logits equal.",
    hint="Two logits are 9990 and 9995. Which weights do they deserve, and which do they get?",
    credit=0.25,
)
def clamped(x, dim=-1):
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.float() if half else x
    exponentials = torch.exp(wide.clamp(-80.0, 80.0))
    weights = exponentials / exponentials.sum(dim=dim, keepdim=True)
    return weights.to(x.dtype)


@stable_softmax.misconception(
    "Normalises along the last axis whatever `dim` says.",
    hint="Which axis of your result sums to 1 when another one is asked for?",
    credit=0.5,
)
def always_last(x, dim=-1):
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.float() if half else x
    largest = wide.amax(dim=-1, keepdim=True)
    exponentials = torch.exp(wide - largest)
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    return weights.to(x.dtype)


@stable_softmax.misconception(
    "Normalises along the first axis whatever `dim` says.",
    hint="Which axis of your result sums to 1 when another one is asked for?",
    credit=0.25,
)
def over_the_first_axis(x, dim=-1):
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.float() if half else x
    axis = 0 if x.dim() else -1
    largest = wide.amax(dim=axis, keepdim=True)
    exponentials = torch.exp(wide - largest)
    weights = exponentials / exponentials.sum(dim=axis, keepdim=True)
    return weights.to(x.dtype)


@stable_softmax.misconception(
    "Divides by the sum over the whole tensor, so that all slices share one distribution.",
    hint="How many totals does a tensor with several slices need?",
    credit=0.25,
)
def over_everything(x, dim=-1):
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.float() if half else x
    largest = wide.amax(dim=dim, keepdim=True)
    exponentials = torch.exp(wide - largest)
    weights = exponentials / exponentials.sum()
    return weights.to(x.dtype)


@stable_softmax.misconception(
    "Shifts by maxima along another axis than `dim`, which changes the ratios within a slice.",
    hint="Softmax ignores a shift only if a whole slice gets the same one. Does it?",
    credit=0.25,
)
def shifted_by_rows(x, dim=-1):
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.float() if half else x
    largest = wide.amax(dim=dim - 1 if x.dim() > 1 else dim, keepdim=True)
    exponentials = torch.exp(wide - largest)
    weights = exponentials / exponentials.sum(dim=dim, keepdim=True)
    return weights.to(x.dtype)


@stable_softmax.misconception(
    "Leaves out the division: the largest weight of every slice is 1.",
    hint="What does a slice of your result sum to?",
)
def not_normalised(x, dim=-1):
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.float() if half else x
    largest = wide.amax(dim=dim, keepdim=True)
    exponentials = torch.exp(wide - largest)
    return exponentials.to(x.dtype)


@stable_softmax.misconception(
    "Divides the logits by their sum, without the exponential.",
    hint="What does this give for a negative logit, and can a weight be like that?",
)
def without_exponential(x, dim=-1):
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.float() if half else x
    weights = wide / wide.sum(dim=dim, keepdim=True)
    return weights.to(x.dtype)


@stable_softmax.misconception(
    "Returns the logarithms of the weights.",
    hint="Which sign do your results have? One step back to weights is missing.",
    credit=0.25,
)
def logarithms(x, dim=-1):
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.float() if half else x
    logs = wide - torch.logsumexp(wide, dim=dim, keepdim=True)
    return logs.to(x.dtype)


@stable_softmax.misconception(
    "Returns float32, also for half-precision logits.",
    hint="Which dtype comes in, and which goes out?",
    credit=0.5,
)
def float32_returned(x, dim=-1):
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = x.float() if half else x
    largest = wide.amax(dim=dim, keepdim=True)
    exponentials = torch.exp(wide - largest)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@stable_softmax.misconception(
    "Sums in half precision, where a long slice of ones goes beyond the largest number.",
    hint="What is the largest float16, and how large can the sum of exponentials of a long slice "
    "become?",
    credit=0.75,
    hidden=True,
)
def summed_in_half(x, dim=-1):
    largest = x.amax(dim=dim, keepdim=True)
    exponentials = torch.exp(x - largest)
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


@stable_softmax.misconception(
    "Replaces minus infinity by 0, so that what should have no weight gets some.",
    hint="Which weight does a logit of minus infinity stand for?",
    credit=0.5,
)
def infinities_replaced(x, dim=-1):
    half = x.dtype in (torch.float16, torch.bfloat16)
    wide = torch.nan_to_num(x.float() if half else x, neginf=0.0)
    largest = wide.amax(dim=dim, keepdim=True)
    exponentials = torch.exp(wide - largest)
    weights = exponentials / exponentials.sum(dim=dim, keepdim=True)
    return weights.to(x.dtype)


@stable_softmax.misconception(
    "Writes into the tensor it was given: the shift stays in the caller's logits.",
    hint="Print the argument before and after the call. Which of your statements changes it?",
    credit=0.5,
)
def in_place(x, dim=-1):
    x -= x.amax(dim=dim, keepdim=True)
    exponentials = torch.exp(x.float() if x.dtype in (torch.float16, torch.bfloat16) else x)
    weights = exponentials / exponentials.sum(dim=dim, keepdim=True)
    return weights.to(x.dtype)


# ---- right but unusual ---------------------------------------------------------------------


@stable_softmax.alternative("in log space, in double precision")
def log_space(x, dim=-1):
    wide = x.double()
    return torch.exp(wide - torch.logsumexp(wide, dim=dim, keepdim=True)).to(x.dtype)


@stable_softmax.alternative("powers of two, on moved axes")
def base_two(x, dim=-1):
    rows = torch.movedim(x, dim, -1) if x.dim() else x.reshape(1)
    rows = rows.to(torch.float64) * math.log2(math.e)
    powers = torch.exp2(rows - rows.max(dim=-1, keepdim=True).values)
    weights = powers.div(powers.sum(-1, keepdim=True)).type(x.dtype)
    return torch.movedim(weights, -1, dim) if x.dim() else weights.reshape(())


@stable_softmax.alternative("shifted by a little more than the maximum, reciprocal of the sum")
def reciprocal(x, dim=-1):
    wide = x.float() if x.element_size() == 2 else x
    top = wide.detach().max(dim, keepdim=True)[0] + 1.5
    e = (wide - top).exp()
    return (e * e.sum(dim, True).reciprocal()).to(x)
