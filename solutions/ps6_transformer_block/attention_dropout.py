"""Dropout on attention weights: in training, some keys are not seen.

What is kept is scaled up, so that the mean stays as it was. A row of weights then no longer
sums to 1, and that is right: only its mean does.
"""

import numpy as np
import torch
from jaxtyping import Float

from autograder import Generator, exercise
from autograder.checks import dropout_statistics

RANDOM = ["everyday", "two_generators", "heads", "often", "seldom", "without_generator"]


@exercise(
    points=3,
    order=2,
    called_again=False,
    checks=[
        dropout_statistics(
            "each weight is dropped with probability p, on its own, and what is kept is scaled",
            cases=RANDOM,
        )
    ],
)
def attention_dropout(
    weights: Float[torch.Tensor, "..."], p: float, training: bool, generator=None
) -> Float[torch.Tensor, "..."]:
    """Inverted dropout of attention weights.

    Args:
        weights: any shape.
        p: the probability that an entry is dropped, 0 ≤ p < 1.
        training: whether the model is being trained. If not, weights come back as they are.
        generator: a torch.Generator, or None for PyTorch's global one. When it is given, it is
            the only source of randomness: equal generators give equal results.

    Returns:
        Shape and dtype of weights. In training, each entry is set to 0 with probability p,
        independently of all others, and what is kept is divided by 1 - p. The argument is not
        changed; in evaluation it may be returned itself.
    """
    if not training or p == 0.0:
        return weights
    draws = torch.rand(weights.shape, generator=generator)  # uniform in [0, 1)
    kept = draws >= p  # true with probability 1 - p
    return weights * kept / (1.0 - p)


def _weights(rng, *shape):
    """Rows that sum to 1, without any zero."""
    return torch.from_numpy(rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])).float()


def _seed(rng):
    return int(rng.integers(2**31))


# ---- cases ---------------------------------------------------------------------------------


@attention_dropout.case(
    "training, one generator",
    separates=["not_scaled", "scaled_by_p", "kept_with_p", "renormalised", "whole_rows", "never"],
)
def everyday(rng):
    weights = _weights(rng, 2, 15, 20)
    generator = Generator(_seed(rng), framework="torch")
    return {"weights": weights, "p": 0.3, "training": True, "generator": generator}


@attention_dropout.case(
    "training, the same generator twice and another one",
    separates=["generator_ignored", "same_draws", "one_mask_for_all"],
)
def two_generators(rng):
    weights, seed = _weights(rng, 3, 10, 12), _seed(rng)
    return [
        {
            "weights": weights,
            "p": 0.5,
            "training": True,
            "generator": Generator(which, framework="torch"),
        }
        for which in (seed, seed, seed + 1)
    ]


@attention_dropout.case("evaluation", separates=["always_active", "scaled_in_evaluation"])
def evaluation(rng):
    return {"weights": _weights(rng, 2, 5, 6), "p": 0.4, "training": False}


@attention_dropout.case("training, dropped seldom", separates=["kept_with_p"], hidden=True)
def seldom(rng):
    generator = Generator(_seed(rng), framework="torch")
    weights = _weights(rng, 60, 40)
    return {"weights": weights, "p": 0.1, "training": True, "generator": generator}


@attention_dropout.case(
    "training, a batch of heads", separates=["one_mask_for_all", "whole_rows"], hidden=True
)
def heads(rng):
    generator = Generator(_seed(rng), framework="torch")
    weights = _weights(rng, 4, 4, 12, 12)
    return {"weights": weights, "p": 0.5, "training": True, "generator": generator}


@attention_dropout.case(
    "training, most are dropped", separates=["scaled_by_p", "not_scaled"], hidden=True
)
def often(rng):
    generator = Generator(_seed(rng), framework="torch")
    weights = _weights(rng, 50, 50)
    return {"weights": weights, "p": 0.8, "training": True, "generator": generator}


@attention_dropout.case("training, without a generator", separates=["same_draws"], hidden=True)
def without_generator(rng):
    arguments = {"weights": _weights(rng, 30, 40), "p": 0.4, "training": True}
    return [arguments, arguments]


@attention_dropout.case("training with p = 0", kind="robustness")
def nothing_dropped(rng):
    return {"weights": _weights(rng, 3, 4), "p": 0.0, "training": True}


@attention_dropout.case("float64, evaluation", kind="robustness", hidden=True)
def in_float64(rng):
    return {"weights": _weights(rng, 3, 4).double(), "p": 0.9, "training": False}


# ---- misconceptions ------------------------------------------------------------------------


@attention_dropout.misconception(
    "Does not scale up what is kept, so that weights are smaller in training than in evaluation.",
    hint="What is the mean of an entry that is kept with probability 1 - p?",
    credit=0.5,
)
def not_scaled(weights, p, training, generator=None):
    if not training or p == 0.0:
        return weights
    draws = torch.rand(weights.shape, generator=generator)
    kept = draws >= p
    return weights * kept


@attention_dropout.misconception(
    "Scales by the probability of being dropped instead of that of being kept.",
    hint="By what has 1 - p to be multiplied to give 1?",
    credit=0.5,
)
def scaled_by_p(weights, p, training, generator=None):
    if not training or p == 0.0:
        return weights
    draws = torch.rand(weights.shape, generator=generator)
    kept = draws >= p
    return weights * kept / p


@attention_dropout.misconception(
    "Keeps an entry with probability p instead of dropping it with p.",
    hint="At p = 0.1, how many of a thousand weights should be zero?",
    credit=0.25,
)
def kept_with_p(weights, p, training, generator=None):
    if not training or p == 0.0:
        return weights
    draws = torch.rand(weights.shape, generator=generator)
    kept = draws < p
    return weights * kept / (1.0 - p)


@attention_dropout.misconception(
    "Makes each row sum to 1 again, as if a sum above 1 were a fault.",
    hint="If every row sums to 1 after dropping, what became of the mean of a single entry?",
    credit=0.25,
)
def renormalised(weights, p, training, generator=None):
    if not training or p == 0.0:
        return weights
    draws = torch.rand(weights.shape, generator=generator)
    kept = draws >= p
    dropped = weights * kept
    return dropped / dropped.sum(dim=-1, keepdim=True).clamp(min=1e-9)


@attention_dropout.misconception(
    "Drops whole rows: all keys of a query, or none.",
    hint="How many random numbers does a matrix of weights need?",
    credit=0.25,
)
def whole_rows(weights, p, training, generator=None):
    if not training or p == 0.0:
        return weights
    draws = torch.rand(weights.shape[:-1], generator=generator).unsqueeze(-1)
    kept = draws >= p
    return weights * kept / (1.0 - p)


@attention_dropout.misconception(
    "Draws one pattern and uses it for every matrix of the batch.",
    hint="Do two sequences of a batch drop the same keys?",
    credit=0.5,
)
def one_mask_for_all(weights, p, training, generator=None):
    if not training or p == 0.0:
        return weights
    draws = torch.rand(weights.shape[-2:], generator=generator)
    kept = draws >= p
    return weights * kept / (1.0 - p)


@attention_dropout.misconception(
    "Drops in evaluation too.",
    hint="What should `training=False` change?",
    credit=0.5,
)
def always_active(weights, p, training, generator=None):
    draws = torch.rand(weights.shape, generator=generator)
    kept = draws >= p
    return weights * kept / (1.0 - p)


@attention_dropout.misconception(
    "Never drops anything.",
    hint="Count the zeros of your result in training.",
)
def never(weights, p, training, generator=None):
    return weights.clone()


@attention_dropout.misconception(
    "Scales the weights in evaluation, as the first form of dropout did; inverted dropout scales "
    "in training, and leaves evaluation alone.",
    hint="In evaluation, should anything happen to the weights at all?",
    credit=0.5,
)
def scaled_in_evaluation(weights, p, training, generator=None):
    if not training:
        return weights * (1.0 - p)
    draws = torch.rand(weights.shape, generator=generator)
    kept = draws >= p
    return weights * kept / (1.0 - p)


@attention_dropout.misconception(
    "Draws from the global generator and ignores the one that was given.",
    hint="Call it twice with equally seeded generators. Do the results agree?",
    credit=0.5,
)
def generator_ignored(weights, p, training, generator=None):
    if not training or p == 0.0:
        return weights
    draws = torch.rand(weights.shape)
    kept = draws >= p
    return weights * kept / (1.0 - p)


@attention_dropout.misconception(
    "Seeds a generator inside, so that the same entries are dropped at every call.",
    hint="Call it twice. Should the second call drop the same keys as the first?",
    credit=0.25,
)
def same_draws(weights, p, training, generator=None):
    if not training or p == 0.0:
        return weights
    draws = torch.rand(weights.shape, generator=torch.Generator().manual_seed(0))
    kept = draws >= p
    return weights * kept / (1.0 - p)


# ---- right but unusual ---------------------------------------------------------------------


@attention_dropout.alternative("a Bernoulli draw of what is kept, scaled beforehand")
def bernoulli(weights, p, training, generator=None):
    if not training:
        return weights.clone()
    mask = torch.empty_like(weights).bernoulli_(1 - p, generator=generator)
    return weights / (1 - p) * mask


@attention_dropout.alternative("filled with zeros, along the transposed axes")
def filled(weights, p, training, generator=None):
    if training and p > 0:
        draws = torch.rand(weights.mT.shape, generator=generator, dtype=torch.float64).mT
        return weights.masked_fill(draws < p, 0.0).mul(1.0 / (1.0 - p))
    return weights
