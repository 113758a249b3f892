"""Does the order of the tokens matter?

Reorder the tokens and run a layer: if the same outputs come out, reordered in the same way, it
is permutation *equivariant*. Write the test, for any function of tokens.
"""

from collections.abc import Callable

import numpy as np
import torch
from jaxtyping import Float, Int

from autograder import Probe, exercise


@exercise(points=3, order=4)
def is_permutation_equivariant(
    f: Callable, x: Float[torch.Tensor, "n d"], permutation: Int[torch.Tensor, "n"]
) -> bool:
    """Whether f of the reordered tokens is the reordered f of the tokens.

    Args:
        f: a function of a tensor of shape (n, d) that returns one of shape (n, ...), always the
            same for the same tokens.
        x: shape (n, d), one token per row.
        permutation: shape (n,), the numbers 0 to n - 1 in another order; x[permutation] are the
            reordered tokens.

    Returns:
        True if f(x[permutation]) equals f(x)[permutation] up to rounding: to a relative 1e-4, or
        to 1e-5 of the size of the largest output. It is about this one permutation.
    """
    expected = f(x)[permutation]  # (n, ...), reordered afterwards
    result = f(x[permutation])  # (n, ...), reordered before
    size = expected.abs().max().item()
    return torch.allclose(result, expected, rtol=1e-4, atol=1e-5 * size)


ATTENTION = """
import numpy as np
import torch

def weights_of(n, d, seed):
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed)) / d**0.5

def attention(x, mask=None, scale=1.0):
    q, k, v = (x @ weights_of(x.shape[-1], x.shape[-1], seed) for seed in (1, 2, 3))
    scores = q @ k.T / x.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    return scale * torch.softmax(scores, dim=-1) @ v

def causal(x):
    return attention(x, torch.ones(len(x), len(x)).tril().bool())

def with_positions(x):
    return attention(x + torch.arange(len(x)).unsqueeze(-1) / 3)

def slightly_positioned(x):
    return 1e-6 * (attention(x) + 0.01 * torch.arange(len(x)).unsqueeze(-1))

def large(x):
    return attention(x, scale=1e6)

def each_by_itself(x):
    return 2 * x

def total(x):
    added = x[0]
    for token in x[1:]:  # one after the other: rounding depends on the order
        added = added + token
    return added

def pooled(x):
    return total(x).expand(len(x), -1)

def fixed(x):
    return weights_of(len(x), x.shape[-1], 4)

def centred(x):
    return x - total(x)
"""

# Of hidden cases: what goes to students holds none of it.
HIDDEN = (
    ATTENTION
    + """
def running_sum(x):
    return x.cumsum(dim=0)

def three_axes(x):
    return attention(x).unsqueeze(-1) * torch.tensor([1.0, -2.0])
"""
)


def _arguments(rng, name, n=6, d=4, source=ATTENTION):
    """A permutation that is not its own inverse, so that the two cannot be mixed up unseen."""
    order = rng.permutation(n)
    while (order[order] == np.arange(n)).any():
        order = rng.permutation(n)
    x = torch.from_numpy(rng.normal(size=(n, d))).float()
    return {"f": Probe(source, name), "x": x, "permutation": torch.from_numpy(order)}


# ---- cases ---------------------------------------------------------------------------------


@is_permutation_equivariant.case(
    "self-attention",
    separates=["invariance", "reordered_back_wrongly", "features_reordered", "never"],
)
def self_attention(rng):
    return _arguments(rng, "attention")


@is_permutation_equivariant.case("self-attention with a causal mask", separates=["always"])
def causal_attention(rng):
    return _arguments(rng, "causal")


@is_permutation_equivariant.case("self-attention with positions", separates=["always"])
def positions(rng):
    return _arguments(rng, "with_positions")


@is_permutation_equivariant.case(
    "the sum of all tokens taken off each", separates=["exactly", "invariance"]
)
def centred(rng):
    return _arguments(rng, "centred", n=40, d=6)


@is_permutation_equivariant.case("outputs of a million", separates=["absolute_tolerance"])
def large(rng):
    return _arguments(rng, "large", n=7, d=5)


@is_permutation_equivariant.case(
    "outputs of a millionth, with positions", separates=["absolute_tolerance", "default_tolerance"]
)
def small(rng):
    return _arguments(rng, "slightly_positioned")


@is_permutation_equivariant.case("every token by itself", separates=["never", "invariance"])
def by_itself(rng):
    return _arguments(rng, "each_by_itself")


@is_permutation_equivariant.case("a pooled output for every token", separates=["never", "exactly"])
def pooled(rng):
    return _arguments(rng, "pooled", n=40, d=6)


@is_permutation_equivariant.case(
    "outputs that ignore the tokens", separates=["invariance", "always", "sums_compared"]
)
def fixed(rng):
    return _arguments(rng, "fixed")


@is_permutation_equivariant.case(
    "a running sum, as many tokens as features",
    separates=["always", "features_reordered"],
    hidden=True,
)
def running_sum(rng):
    return _arguments(rng, "running_sum", n=5, d=5, source=HIDDEN)


@is_permutation_equivariant.case(
    "outputs of three axes", separates=["invariance", "reordered_back_wrongly"], hidden=True
)
def three_axes(rng):
    return _arguments(rng, "three_axes", n=5, d=3, source=HIDDEN)


# ---- misconceptions ------------------------------------------------------------------------


@is_permutation_equivariant.misconception(
    "Tests invariance: whether the outputs stay as they were.",
    hint="When the tokens change places, should each place keep its output, or each token?",
    credit=0.5,
)
def invariance(f, x, permutation):
    expected = f(x)
    result = f(x[permutation])
    size = expected.abs().max().item()
    return torch.allclose(result, expected, rtol=1e-4, atol=1e-5 * size)


@is_permutation_equivariant.misconception(
    "Reorders both sides, so that one is reordered twice.",
    hint="On which side of the comparison has the order been changed already?",
    credit=0.5,
)
def reordered_back_wrongly(f, x, permutation):
    expected = f(x)
    result = f(x[permutation])[permutation]
    size = expected.abs().max().item()
    return torch.allclose(result, expected, rtol=1e-4, atol=1e-5 * size)


@is_permutation_equivariant.misconception(
    "Compares exactly: another order of summation gives other last digits.",
    hint="Are sums of floating-point numbers the same in every order?",
    credit=0.5,
)
def exactly(f, x, permutation):
    expected = f(x)[permutation]
    result = f(x[permutation])
    return torch.equal(result, expected)


@is_permutation_equivariant.misconception(
    "Reorders the features instead of the tokens.",
    hint="Which axis of x counts the tokens?",
    credit=0.25,
)
def features_reordered(f, x, permutation):
    order = permutation % x.shape[-1]
    expected = f(x)[:, order]
    result = f(x[:, order])
    size = expected.abs().max().item()
    return torch.allclose(result, expected, rtol=1e-4, atol=1e-5 * size)


@is_permutation_equivariant.misconception(
    "Compares sums over the tokens, in which their order is lost.",
    hint="Can a sum over all tokens tell which token got which output?",
    credit=0.25,
)
def sums_compared(f, x, permutation):
    expected = f(x).sum(dim=0)
    result = f(x[permutation]).sum(dim=0)
    size = expected.abs().max().item()
    return torch.allclose(result, expected, rtol=1e-4, atol=1e-5 * size)


@is_permutation_equivariant.misconception(
    "Allows a fixed absolute error, whatever the size of the outputs.",
    hint="What is an error of 0.001 worth for outputs of a million, and for those of a millionth?",
    credit=0.5,
)
def absolute_tolerance(f, x, permutation):
    expected = f(x)[permutation]
    result = f(x[permutation])
    return bool((result - expected).abs().max() < 1e-3)


@is_permutation_equivariant.misconception(
    "Leaves allclose its absolute tolerance of 1e-8, or one of its own, for outputs that are tiny.",
    hint="The outputs are near a millionth. Which differences does your tolerance still see?",
    credit=0.75,
)
def default_tolerance(f, x, permutation):
    expected = f(x)[permutation]
    result = f(x[permutation])
    return torch.allclose(result, expected, rtol=1e-4, atol=1e-5)


@is_permutation_equivariant.misconception(
    "Answers yes whatever f does, for instance since shapes are compared, which no order changes.",
    hint="For which function would your answer be no?",
)
def always(f, x, permutation):
    f(x)
    return True


@is_permutation_equivariant.misconception(
    "Answers no whatever f does.",
    hint="For which function would your answer be yes?",
)
def never(f, x, permutation):
    f(x)
    return False


# ---- right but unusual ---------------------------------------------------------------------


@is_permutation_equivariant.alternative("by the inverse permutation, in NumPy")
def by_the_inverse(f, x, permutation):
    restored = f(x[permutation])[torch.argsort(permutation)].detach().double().numpy()
    expected = f(x).detach().double().numpy()
    allowed = 1e-4 * np.abs(expected) + 1e-5 * np.abs(expected).max()
    return (np.abs(restored - expected) <= allowed).all()


@is_permutation_equivariant.alternative("token after token, as a tensor of one truth value")
def token_after_token(f, x, permutation):
    before, after = f(x), f(torch.stack([x[i] for i in permutation.tolist()]))
    top = before.abs().max()
    right = [
        ((after[i] - before[j]).abs() <= 1e-5 * top + 1e-4 * before[j].abs()).all()
        for i, j in enumerate(permutation)
    ]
    return torch.stack(right).all()
