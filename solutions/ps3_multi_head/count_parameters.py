"""How many numbers does training adjust in a multi-head attention layer?

Write it as a formula, without building the layer. Then ask yourself what the number of heads does
in it.
"""

import numpy as np
import torch

from autograder import exercise


@exercise(points=2, order=5)
def count_parameters(d_model: int, num_heads: int, bias: bool = True) -> int:
    """Number of parameters of `MultiHeadAttention(d_model, num_heads, bias)`.

    Args:
        d_model: the width of the tokens.
        num_heads: the number of heads. It divides `d_model`.
        bias: whether the four layers W_q, W_k, W_v and W_o have biases.

    Returns:
        The number of weights and biases in the four layers together, a whole number.
    """
    weights = 4 * d_model**2  # W_q, W_k, W_v, W_o: (d_model, d_model) each, cut into heads or not
    biases = 4 * d_model if bias else 0  # (d_model,) each
    return weights + biases


# ---- cases ---------------------------------------------------------------------------------


@count_parameters.case(
    "one, two and four heads",
    separates=[
        "heads_multiply_all",
        "heads_multiply_projections",
        "full_output_for_each_head",
        "biases_for_each_head",
        "one_head_only",
        "narrow_heads",
        "no_output_layer",
        "no_biases",
        "output_without_bias",
        "bias_of_output_only",
        "one_input_layer",
        "one_bias_number",
    ],
)
def one_two_four(rng):
    return [{"d_model": 8, "num_heads": num_heads} for num_heads in (1, 2, 4)]


@count_parameters.case(
    "without biases",
    separates=["biases_always", "heads_multiply_all", "no_output_layer", "narrow_heads"],
)
def without_biases(rng):
    return {"d_model": 12, "num_heads": 3, "bias": False}


@count_parameters.case(
    "the width of the original Transformer",
    separates=["no_output_layer", "heads_multiply_projections", "one_head_only", "no_biases"],
)
def original(rng):
    return [{"d_model": 512, "num_heads": 8, "bias": bias} for bias in (False, True)]


@count_parameters.case(
    "some width and some number of heads",
    separates=["heads_multiply_all", "narrow_heads", "biases_always", "output_without_bias"],
    hidden=True,
)
def drawn(rng):
    num_heads = int(rng.integers(3, 9))
    d_model = num_heads * int(rng.integers(10, 90))
    return [{"d_model": d_model, "num_heads": num_heads, "bias": bias} for bias in (True, False)]


@count_parameters.case("heads of a single feature", kind="robustness", hidden=True)
def single_features(rng):
    return {"d_model": 6, "num_heads": 6}


@count_parameters.case("a very wide model", kind="robustness", hidden=True)
def very_wide(rng):
    # 67 million: whoever builds the layers to count their parameters, which is right too, takes
    # 268 MB for them
    return {"d_model": 4096, "num_heads": 32}


# ---- misconceptions ------------------------------------------------------------------------


@count_parameters.misconception(
    "Multiplies by the number of heads, as if each head had full matrices of its own.",
    hint="How wide is what one head's queries are made of, and how wide are all heads together?",
)
def heads_multiply_all(d_model, num_heads, bias=True):
    weights = 4 * d_model**2
    biases = 4 * d_model if bias else 0
    return num_heads * (weights + biases)


@count_parameters.misconception(
    "Counts full query, key and value matrices for every head, and the output layer once.",
    hint="How many features does the query of one head have, and how many do those of all heads "
    "have together?",
)
def heads_multiply_projections(d_model, num_heads, bias=True):
    weights = (3 * num_heads + 1) * d_model**2
    biases = (3 * num_heads + 1) * d_model if bias else 0
    return weights + biases


@count_parameters.misconception(
    "Gives every head an output layer of the full size.",
    hint="How wide is what the output layer is given: h times d_model, or d_model?",
)
def full_output_for_each_head(d_model, num_heads, bias=True):
    weights = 3 * d_model**2 + num_heads * d_model**2
    biases = 4 * d_model if bias else 0
    return weights + biases


@count_parameters.misconception(
    "Counts the biases once for each head.",
    hint="How many features do the queries of all heads have together? Each has one bias.",
    credit=0.25,
)
def biases_for_each_head(d_model, num_heads, bias=True):
    weights = 4 * d_model**2
    biases = 4 * d_model * num_heads if bias else 0
    return weights + biases


@count_parameters.misconception(
    "Counts the projections of one head and forgets the others.",
    hint="How many heads does your formula have? Try one with a single head beside it.",
)
def one_head_only(d_model, num_heads, bias=True):
    d_head = d_model // num_heads
    weights = 3 * d_model * d_head + d_model**2
    biases = 3 * d_head + d_model if bias else 0
    return weights + biases


@count_parameters.misconception(
    "Lets each head read only its own slice of the token, with small square matrices.",
    hint="From how many features of a token does one head make its queries?",
)
def narrow_heads(d_model, num_heads, bias=True):
    d_head = d_model // num_heads
    weights = 3 * num_heads * d_head**2 + d_model**2
    biases = 4 * d_model if bias else 0
    return weights + biases


@count_parameters.misconception(
    "Leaves out the output layer.",
    hint="Which layers does the docstring of the module name? Count them.",
    credit=0.25,
)
def no_output_layer(d_model, num_heads, bias=True):
    weights = 3 * d_model**2
    biases = 3 * d_model if bias else 0
    return weights + biases


@count_parameters.misconception(
    "Leaves out the biases.",
    hint="What does a linear layer hold beside its matrix?",
    credit=0.25,
)
def no_biases(d_model, num_heads, bias=True):
    weights = 4 * d_model**2
    return weights


@count_parameters.misconception(
    "Counts biases also where there are none.",
    hint="What changes in your result when `bias` is False?",
    credit=0.25,
)
def biases_always(d_model, num_heads, bias=True):
    weights = 4 * d_model**2
    biases = 4 * d_model
    return weights + biases


@count_parameters.misconception(
    "Leaves out the bias of the output layer.",
    hint="How many of the four layers have a bias?",
    credit=0.25,
)
def output_without_bias(d_model, num_heads, bias=True):
    weights = 4 * d_model**2
    biases = 3 * d_model if bias else 0
    return weights + biases


@count_parameters.misconception(
    "Counts the bias of one layer only.",
    hint="How many of the four layers have a bias?",
    credit=0.25,
)
def bias_of_output_only(d_model, num_heads, bias=True):
    weights = 4 * d_model**2
    biases = d_model if bias else 0
    return weights + biases


@count_parameters.misconception(
    "Takes one matrix for queries, keys and values together.",
    hint="A token plays three roles. Does one matrix make all three, or one for each?",
)
def one_input_layer(d_model, num_heads, bias=True):
    weights = 2 * d_model**2
    biases = 2 * d_model if bias else 0
    return weights + biases


@count_parameters.misconception(
    "Counts a bias as a single number.",
    hint="A layer adds its bias to every feature of its output. How many numbers is that?",
    credit=0.25,
)
def one_bias_number(d_model, num_heads, bias=True):
    weights = 4 * d_model**2
    biases = 4 if bias else 0
    return weights + biases


# ---- right but unusual ---------------------------------------------------------------------


@count_parameters.alternative("head by head, added up as a NumPy integer")
def head_by_head(d_model, num_heads, bias=True):
    columns = d_model // num_heads
    rows = d_model + (1 if bias else 0)
    total = np.int64(0)
    for _ in range(num_heads):
        total += 3 * rows * columns
    return total + d_model * rows


@count_parameters.alternative("a whole number in floating point, with a true division")
def floating(d_model, num_heads, bias=True):
    d_head = d_model / num_heads
    return 4.0 * num_heads * d_head * (d_model + bias)


@count_parameters.alternative("a tensor without axes")
def tensor(d_model, num_heads, bias=True):
    sizes = torch.tensor([d_model * d_model] * 4 + [d_model] * 4 * bias)
    return sizes.sum()


@count_parameters.alternative("the layers are built and counted")
def built(d_model, num_heads, bias=True):
    layers = [torch.nn.Linear(d_model, d_model, bias=bias, device="meta") for _ in range(4)]
    return sum(parameter.numel() for layer in layers for parameter in layer.parameters())
