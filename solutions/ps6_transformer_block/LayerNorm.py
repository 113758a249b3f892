"""Give every token mean 0 and variance 1 over its own features, then scale and shift.

Each token is normalised by itself: neither the other tokens nor the rest of the batch matter.
That is why it works for any length and any batch, in training as in evaluation.
"""

import torch
from jaxtyping import Float
from torch import nn

from autograder import exercise
from autograder.cases import module_program
from autograder.numerics import Bound
from autograder.program import Call, Construct, DescribeModule, Mode, Program, Slot


@exercise(points=4, order=1)
class LayerNorm(nn.Module):
    """Layer normalisation over the last axis, with a learnt scale and shift.

    (x - mean) / √(variance + eps) · weight + bias, with mean and variance of each token's own
    features. The variance is the biased one: the mean of the squared deviations, divided by d and
    not by d - 1.

    Parameters: weight, shape (d_model,), ones at the start; bias, shape (d_model,), zeros at the
    start. No others.
    """

    def __init__(self, d_model, eps=1e-5):
        """Make weight and bias.

        Args:
            d_model: width of a token.
            eps: added to the variance, inside the root.
        """
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Float[torch.Tensor, "... d_model"]) -> Float[torch.Tensor, "... d_model"]:
        """Normalised tokens.

        Args:
            x: shape (..., d_model), any leading dimensions. Right also where the mean of a
                token is a thousand times its standard deviation.

        Returns:
            The shape and dtype of x, which is not changed.
        """
        mean = x.mean(dim=-1, keepdim=True)  # (..., 1)
        centred = x - mean  # (..., d_model)
        variance = centred.square().mean(dim=-1, keepdim=True)  # (..., 1)
        return centred / torch.sqrt(variance + self.eps) * self.weight + self.bias  # (..., d_model)


def _tensor(rng, *shape, size=1.0, mean=0.0):
    return torch.from_numpy(rng.normal(mean, size, size=shape)).float()


def _program(rng, x, *, eps=None, gradients=False, largest_weight=2.0):
    """A layer with weights in ±largest_weight and biases, applied to x in eval mode."""
    d_model = x.shape[-1]
    signs = rng.choice([-1.0, 1.0], size=d_model)
    weight = signs * rng.uniform(0.4, 1.0, size=d_model) * largest_weight
    weights = {
        "weight": torch.from_numpy(weight).float(),
        "bias": _tensor(rng, d_model),
    }
    built = {"d_model": d_model} if eps is None else {"d_model": d_model, "eps": eps}
    x = x.requires_grad_(gradients)
    return module_program(LayerNorm, built, weights, {"x": x}, gradients=gradients, describe=True)


# ---- cases ---------------------------------------------------------------------------------

EVERYWHERE = [
    "over_tokens",
    "over_everything",
    "root_left_out",
    "not_centred",
    "scale_forgotten",
    "shift_forgotten",
    "shift_scaled",
]


@LayerNorm.case("a batch of tokens", separates=[*EVERYWHERE, "unbiased_variance", "detached"])
def batch(rng):
    return _program(rng, _tensor(rng, 2, 3, 5, size=2.0, mean=1.0), gradients=True)


@LayerNorm.case("tokens of two features", separates=["unbiased_variance"])
def two_features(rng):
    return _program(rng, _tensor(rng, 4, 2, size=3.0))


@LayerNorm.case("tokens of tiny variance", separates=["eps_outside_the_root", "eps_forgotten"])
def tiny_variance(rng):
    return _program(rng, _tensor(rng, 3, 6, size=1e-3, mean=0.01))


@LayerNorm.case("a large eps", separates=["eps_forgotten", "eps_outside_the_root", "eps_fixed"])
def large_eps(rng):
    return _program(rng, _tensor(rng, 3, 4), eps=0.5)


@LayerNorm.case(
    "means of 1000 and -1000",
    separates=["mean_of_squares", "over_everything"],
    tolerance=Bound(
        "float32 numbers near 1000 are 6e-5 apart: mean and deviations are right to 8 roundings of "
        "it over σ = 1, times the largest weight, 1",
        absolute=8 * 2.0**-23 * 1e3,
        beside=True,
    ),
)
def far_from_zero(rng):
    x = _tensor(rng, 5, 64)
    x = (x - x.mean(-1, keepdim=True)) / x.std(-1, keepdim=True, unbiased=False)
    means = 1000.0 * torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0]).unsqueeze(-1)  # of each token
    return _program(rng, x + means, largest_weight=1.0)


@LayerNorm.case("at the start", separates=["starts_at_zero", "starts_at_random"])
def at_the_start(rng):
    x = _tensor(rng, 3, 4)
    steps = (
        Construct("LayerNorm", "module", (4,)),
        DescribeModule("module", values=True),
        Mode("module", training=True),
        Call(Slot("module"), (x,), argument_names=("x",)),
    )
    return Program(steps)


@LayerNorm.case(
    "as many tokens as features",
    separates=["over_tokens", "over_everything", "shift_scaled"],
    hidden=True,
)
def square(rng):
    return _program(rng, _tensor(rng, 4, 4, 4, size=2.0), gradients=True)


@LayerNorm.case("a single token, no batch", kind="robustness")
def single_token(rng):
    return _program(rng, _tensor(rng, 6))


@LayerNorm.case("a token whose features are all equal", kind="robustness", hidden=True)
def constant(rng):
    x = _tensor(rng, 3, 5)
    x[1] = 2.0
    return _program(rng, x)


@LayerNorm.case("four axes", kind="robustness", hidden=True)
def four_axes(rng):
    return _program(rng, _tensor(rng, 2, 3, 4, 5, mean=-1.0))


# ---- misconceptions ------------------------------------------------------------------------


class _Parameters(nn.Module):
    """The parameters that all variants share."""

    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))


@LayerNorm.misconception(
    "Divides the sum of squared deviations by d - 1: the unbiased variance, which `var` gives when "
    "it is not told otherwise.",
    hint="By what does Tensor.var divide unless it is told not to?",
    credit=0.5,
)
class unbiased_variance(_Parameters):
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        centred = x - mean
        variance = x.var(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance + self.eps) * self.weight + self.bias


@LayerNorm.misconception(
    "Adds eps to the standard deviation instead of the variance.",
    hint="What does the formula have under its root?",
    credit=0.5,
)
class eps_outside_the_root(_Parameters):
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        centred = x - mean
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred / (torch.sqrt(variance) + self.eps) * self.weight + self.bias


@LayerNorm.misconception(
    "Leaves out eps, so that a token of equal features becomes 0/0.",
    hint="Which variance does a token have whose features are all the same?",
    credit=0.5,
)
class eps_forgotten(_Parameters):
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        centred = x - mean
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance) * self.weight + self.bias


@LayerNorm.misconception(
    "Uses 1e-5 whatever eps the layer was built with.",
    hint="What becomes of the argument of __init__?",
    credit=0.5,
)
class eps_fixed(_Parameters):
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        centred = x - mean
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance + 1e-5) * self.weight + self.bias


@LayerNorm.misconception(
    "Takes mean and variance over the tokens, as batch normalisation does over the batch.",
    hint="Does the result for one token change when another token does? Should it?",
    credit=0.25,
)
class over_tokens(_Parameters):
    def forward(self, x):
        axis = -2 if x.dim() > 1 else -1
        mean = x.mean(dim=axis, keepdim=True)
        centred = x - mean
        variance = centred.square().mean(dim=axis, keepdim=True)
        return centred / torch.sqrt(variance + self.eps) * self.weight + self.bias


@LayerNorm.misconception(
    "Takes one mean and one variance for the whole tensor.",
    hint="How many means does a batch of tokens have?",
    credit=0.25,
)
class over_everything(_Parameters):
    def forward(self, x):
        mean = x.mean()
        centred = x - mean
        variance = centred.square().mean()
        return centred / torch.sqrt(variance + self.eps) * self.weight + self.bias


@LayerNorm.misconception(
    "Divides by the variance instead of its root.",
    hint="Which variance does your result have, for a token of variance 4?",
    credit=0.25,
)
class root_left_out(_Parameters):
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        centred = x - mean
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred / (variance + self.eps) * self.weight + self.bias


@LayerNorm.misconception(
    "Does not take the mean off: this is RMSNorm.",
    hint="Which mean do the normalised features have, before scale and shift?",
    credit=0.25,
)
class not_centred(_Parameters):
    def forward(self, x):
        variance = x.square().mean(dim=-1, keepdim=True)
        return x / torch.sqrt(variance + self.eps) * self.weight + self.bias


@LayerNorm.misconception(
    "Leaves out the learnt scale.",
    hint="Which of the two parameters has no influence on your result?",
    credit=0.25,
)
class scale_forgotten(_Parameters):
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        centred = x - mean
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance + self.eps) + self.bias


@LayerNorm.misconception(
    "Leaves out the learnt shift.",
    hint="Which of the two parameters has no influence on your result?",
    credit=0.25,
)
class shift_forgotten(_Parameters):
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        centred = x - mean
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance + self.eps) * self.weight


@LayerNorm.misconception(
    "Adds the shift first and scales both.",
    hint="Is the shift multiplied by anything in the formula?",
    credit=0.5,
)
class shift_scaled(_Parameters):
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        centred = x - mean
        variance = centred.square().mean(dim=-1, keepdim=True)
        return (centred / torch.sqrt(variance + self.eps) + self.bias) * self.weight


@LayerNorm.misconception(
    "Computes the variance as the mean of the squares less the square of the mean, whose digits "
    "cancel where the mean is large.",
    hint="Near a million, how far apart are neighbouring float32 numbers?",
    credit=0.75,
)
class mean_of_squares(_Parameters):
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        centred = x - mean
        variance = x.square().mean(dim=-1, keepdim=True) - mean.square()
        return centred / torch.sqrt(variance.clamp(min=0.0) + self.eps) * self.weight + self.bias


@LayerNorm.misconception(
    "Treats mean and variance as constants, so that gradients do not flow through them.",
    hint="Mean and variance depend on x. Does your backward pass know?",
    credit=0.5,
)
class detached(_Parameters):
    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True).detach()
        centred = x - mean
        variance = centred.square().mean(dim=-1, keepdim=True).detach()
        return centred / torch.sqrt(variance + self.eps) * self.weight + self.bias


@LayerNorm.misconception(
    "Starts with a scale of zeros, so that the layer's output is zero.",
    hint="What does the layer return before any training?",
    credit=0.5,
)
class starts_at_zero(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        centred = x - mean
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance + self.eps) * self.weight + self.bias


@LayerNorm.misconception(
    "Starts with random parameters instead of ones and zeros.",
    hint="What should the layer do before any training, beside normalising?",
    credit=0.5,
)
class starts_at_random(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.randn(d_model))
        self.bias = nn.Parameter(torch.randn(d_model))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        centred = x - mean
        variance = centred.square().mean(dim=-1, keepdim=True)
        return centred / torch.sqrt(variance + self.eps) * self.weight + self.bias


# ---- right but unusual ---------------------------------------------------------------------


@LayerNorm.alternative("var without the correction, rsqrt, addcmul")
class rsqrt(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.epsilon = eps

    def forward(self, x):
        variance, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
        normed = (x - mean) * torch.rsqrt(variance + self.epsilon)
        return torch.addcmul(self.bias, normed, self.weight)


@LayerNorm.alternative("standard scores by a matrix that takes the mean off")
class centring_matrix(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        d = x.size(-1)
        wide = x.double()
        centred = wide @ (torch.eye(d, dtype=torch.float64) - 1.0 / d)
        norm = (centred.pow(2).sum(-1, keepdim=True) / d + self.eps).sqrt()
        return (centred / norm).to(x.dtype).mul(self.weight).add(self.bias)
