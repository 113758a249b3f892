"""Rotate pairs of features by an angle that grows with the position of the token.

Queries and keys that were rotated so have inner products that depend on their distance alone,
not on where in the text they stand. Llama and most of today's language models do this.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder import exercise
from autograder.cases import normal_tensor, with_gradients


@exercise(points=4, order=3)
def rotary(x: Float[Tensor, "... n d"], base: float = 10000.0) -> Float[Tensor, "... n d"]:
    """Rotary position embedding of queries or keys.

    Args:
        x: shape (..., n, d) with an even d: any leading axes, none included; the tokens stand
            on axis -2, at the positions 0, 1, … n - 1.
        base: sets how much slower each pair turns than the one before it.

    Returns:
        The same shape and dtype. Pair i of a token, its features 2i and 2i + 1 (neighbours, not
        the two halves), is a point (a, b) of the plane and is rotated by the angle
        t = position · base^(-2i/d): to (a cos t - b sin t, a sin t + b cos t). Differentiable;
        `x` is left as it was.
    """
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)  # (n,)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d  # (d/2,), 2i/d for pair i
    angles = positions[:, None] * base**-exponents  # (n, d/2)
    cos, sin = angles.cos(), angles.sin()  # (n, d/2) each
    a, b = x[..., 0::2], x[..., 1::2]  # (..., n, d/2) each
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)  # (..., n, d/2, 2)
    return pairs.flatten(-2)  # (..., n, d)


def _normal(rng, *shape):
    """Standard normal float32 entries of the given shape."""
    return rng.normal(size=shape).astype(np.float32)


# ---- cases ---------------------------------------------------------------------------------


@rotary.case(
    "six tokens of eight features",
    separates=[
        "halves",
        "mixed_layouts",
        "clockwise",
        "from_one",
        "exponent_halved",
        "exponent_doubled",
        "not_put_back",
        "reflected",
        "speeding_up",
        "added",
        "one_speed",
        "first_pair_only",
        "in_place",
    ],
)
def six_tokens(rng):
    return {"x": _normal(rng, 6, 8)}


@rotary.case(
    "a batch of heads",
    separates=["along_heads", "halves", "clockwise", "mixed_layouts", "one_speed"],
)
def batch_of_heads(rng):
    return {"x": _normal(rng, 2, 3, 5, 4)}


@rotary.case(
    "another base", separates=["base_fixed", "exponent_halved", "speeding_up", "exponent_doubled"]
)
def another_base(rng):
    return {"x": _normal(rng, 3, 7, 6), "base": 100.0}


@rotary.case("a single pair of features", separates=["clockwise", "from_one", "reflected", "added"])
def single_pair(rng):
    # neighbours and halves are the same here: nothing but the rotation itself counts
    return {"x": _normal(rng, 4, 2)}


@rotary.case(
    "as many heads as tokens and features",
    separates=["along_heads", "halves", "not_put_back"],
    hidden=True,
)
def coinciding(rng):
    return {"x": _normal(rng, 4, 4, 4)}


@rotary.case("gradients", separates=["graph_cut", "clockwise", "halves"])
def gradients(rng):
    return with_gradients(rotary, x=normal_tensor(rng, 2, 5, 6, grad=True))


@rotary.case(
    "more tokens",
    separates=["halves", "mixed_layouts", "clockwise", "from_one", "along_heads", "base_fixed"],
    hidden=True,
)
def more_tokens(rng):
    d = 2 * int(rng.integers(3, 7))
    return {"x": _normal(rng, 3, int(rng.integers(13, 20)), d), "base": 500.0}


@rotary.case("a single token stays as it is", kind="robustness")
def single_token(rng):
    return {"x": _normal(rng, 3, 1, 6)}


@rotary.case("float64", kind="robustness", hidden=True)
def double_precision(rng):
    return {"x": rng.normal(size=(2, 4, 6))}


@rotary.case("tiny features", kind="robustness", hidden=True)
def tiny(rng):
    return {"x": 1e-3 * _normal(rng, 2, 6, 4)}


@rotary.case("an integer base", kind="robustness", hidden=True)
def integer_base(rng):
    return {"x": _normal(rng, 5, 4), "base": 10000}


# ---- misconceptions ------------------------------------------------------------------------


@rotary.misconception(
    "Pairs feature i with feature i + d/2, as some libraries do; here neighbours are a pair.",
    hint="Which two features form pair 0 by the docstring? Both layouts are in use, and weights "
    "trained for one do not fit the other.",
    credit=0.5,
)
def halves(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = positions[:, None] * base**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., : d // 2], x[..., d // 2 :]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-2)
    return pairs.flatten(-2)


@rotary.misconception(
    "Mixes two layouts: the angles are laid out for neighbours, the rotation pairs the halves. "
    "Scores then depend on absolute positions.",
    hint="Shift all positions by 5. Should the scores between rotated queries and keys change, and "
    "do yours?",
    credit=0.25,
)
def mixed_layouts(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = (positions[:, None] * base**-exponents).repeat_interleave(2, dim=-1)
    turned = torch.cat((-x[..., d // 2 :], x[..., : d // 2]), dim=-1)
    return x * angles.cos() + turned * angles.sin()


@rotary.misconception(
    "Rotates the other way round: the signs of the two sines are swapped.",
    hint="Rotate the point (1, 0) by a small angle. Does its second coordinate become positive?",
    credit=0.5,
)
def clockwise(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = -positions[:, None] * base**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return pairs.flatten(-2)


@rotary.misconception(
    "Counts positions from 1, so that the first token is rotated too.",
    hint="How far is the token at position 0 rotated, and does your first row stay as it is?",
    credit=0.5,
)
def from_one(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(1, n + 1, dtype=x.dtype)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = positions[:, None] * base**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return pairs.flatten(-2)


@rotary.misconception(
    "Uses the exponent i/d where 2i/d is meant: the pairs slow down half as fast as they should.",
    hint="What is the exponent of the last pair, and how close should it come to 1?",
    credit=0.5,
)
def exponent_halved(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.arange(0, d // 2, dtype=x.dtype) / d
    angles = positions[:, None] * base**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return pairs.flatten(-2)


@rotary.misconception(
    "Counts the factor 2 of the exponent twice: the pairs slow down too fast.",
    hint="Your counter may step by 2 already. Which exponent does the second pair get?",
    credit=0.5,
)
def exponent_doubled(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = 2 * torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = positions[:, None] * base**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return pairs.flatten(-2)


@rotary.misconception(
    "Rotates right, but returns all first coordinates and then all second ones: the pairs are not "
    "put back as neighbours.",
    hint="At position 0 nothing is rotated. Is your first row equal to that of the argument?",
    credit=0.5,
)
def not_put_back(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = positions[:, None] * base**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-2)
    return pairs.flatten(-2)


@rotary.misconception(
    "Has a wrong sign in the second coordinate: this is a reflection, not a rotation.",
    hint="At angle 0 a pair must stay as it is. What happens to your second coordinate there?",
    credit=0.5,
)
def reflected(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = positions[:, None] * base**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin - b * cos), dim=-1)
    return pairs.flatten(-2)


@rotary.misconception(
    "Multiplies the position by the power of the base instead of dividing: later pairs turn faster "
    "and faster.",
    hint="Which pair should turn slowest, the first or the last?",
    credit=0.25,
)
def speeding_up(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = positions[:, None] * base**exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return pairs.flatten(-2)


@rotary.misconception(
    "Adds sine and cosine to the features, as sinusoidal positions do, instead of rotating them.",
    hint="How long is a rotated pair compared with the one before, and how long are yours?",
)
def added(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = positions[:, None] * base**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a + sin, b + cos), dim=-1)
    return pairs.flatten(-2)


@rotary.misconception(
    "Turns all pairs at the same speed.",
    hint="Write down the angles of pairs 0 and 1 for the token at position 1. Are they equal?",
    credit=0.25,
)
def one_speed(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.zeros(d // 2, dtype=x.dtype)
    angles = positions[:, None] * base**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return pairs.flatten(-2)


@rotary.misconception(
    "Rotates the first pair of each token only.",
    hint="How many pairs has a token of eight features, and how many of them move?",
    credit=0.25,
)
def first_pair_only(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = positions[:, None] * base**-exponents * (exponents == 0)
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return pairs.flatten(-2)


@rotary.misconception(
    "Takes another axis for the tokens: with heads in front, the position counts heads.",
    hint="Which axis holds the tokens of one head, counted from the end?",
    credit=0.25,
)
def along_heads(x, base=10000.0):
    n, d = x.shape[-3 if x.dim() > 2 else -2], x.shape[-1]
    positions = torch.arange(n, dtype=x.dtype).reshape((n,) + (1,) * (x.dim() > 2))
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = positions[..., None] * base**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return pairs.flatten(-2)


@rotary.misconception(
    "Always uses the base 10000, whatever the argument says.",
    hint="Where in your code does the second argument stand?",
    credit=0.5,
)
def base_fixed(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = positions[:, None] * 10000.0**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2], x[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return pairs.flatten(-2)


@rotary.misconception(
    "Gets the values right but cuts the graph: no gradient reaches the argument.",
    hint="Which step of yours leaves PyTorch, or copies only the numbers of a tensor?",
    credit=0.5,
)
def graph_cut(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = positions[:, None] * base**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x.detach()[..., 0::2], x.detach()[..., 1::2]
    pairs = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1)
    return pairs.flatten(-2)


@rotary.misconception(
    "Writes the rotated features into the argument itself.",
    hint="Print the argument before and after the call. Which of your statements changes it?",
    credit=0.5,
)
def in_place(x, base=10000.0):
    n, d = x.shape[-2:]
    positions = torch.arange(n, dtype=x.dtype)
    exponents = torch.arange(0, d, 2, dtype=x.dtype) / d
    angles = positions[:, None] * base**-exponents
    cos, sin = angles.cos(), angles.sin()
    a, b = x[..., 0::2].clone(), x[..., 1::2].clone()
    x[..., 0::2], x[..., 1::2] = a * cos - b * sin, a * sin + b * cos
    return x


# ---- right but unusual ---------------------------------------------------------------------


@rotary.alternative("a product of complex numbers")
def complex_product(x, base=10000.0):
    n, d = x.shape[-2:]
    points = torch.view_as_complex(x.unflatten(-1, (d // 2, 2)).contiguous())
    speeds = 1.0 / base ** (torch.arange(0, d, 2, dtype=x.dtype) / d)
    angles = torch.outer(torch.arange(n, dtype=x.dtype), speeds)
    turned = points * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).flatten(-2)


@rotary.alternative("a 2 x 2 matrix for every pair, by einsum")
def rotation_matrices(x, base=10000.0):
    n, d = x.shape[-2:]
    powers = torch.exp(-np.log(base) * torch.arange(d // 2, dtype=torch.float64) * 2 / d)
    angles = torch.arange(n, dtype=torch.float64)[:, None] * powers
    cos, sin = angles.cos(), angles.sin()
    matrices = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2)
    pairs = x.unflatten(-1, (d // 2, 2))
    return torch.einsum("npij,...npj->...npi", matrices.to(x.dtype), pairs).reshape(x.shape)


@rotary.alternative("repeated angles and features that trade places")
def trading_places(x, base=10000.0):
    n, d = x.shape[-2:]
    speeds = torch.tensor([base ** (-2 * (i // 2) / d) for i in range(d)], dtype=torch.float64)
    angles = torch.arange(n).unsqueeze(1) * speeds
    other = torch.stack((-x[..., 1::2], x[..., ::2]), -1).reshape(x.shape)
    return x * torch.cos(angles).to(x.dtype) + other * torch.sin(angles).to(x.dtype)


@rotary.alternative("pair by pair, written into a new tensor")
def pair_by_pair(x, base=10000.0):
    n, d = x.shape[-2:]
    rotated = torch.empty_like(x)
    for i in range(d // 2):
        for p in range(n):
            t = p / base ** (2 * i / d)
            a, b = x[..., p, 2 * i], x[..., p, 2 * i + 1]
            rotated[..., p, 2 * i] = a * np.cos(t) - b * np.sin(t)
            rotated[..., p, 2 * i + 1] = a * np.sin(t) + b * np.cos(t)
    return rotated
