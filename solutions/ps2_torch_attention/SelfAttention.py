"""Self-attention as a layer: every token asks, and every token answers.

Three linear layers make queries, keys and values of one input; your function above does the rest.
A layer holds its weights as parameters, so that training finds them.
"""

import math

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from autograder import Probe, exercise
from autograder.cases import changed_at, linear_weights, module_program, normal_tensor, visible_mask
from autograder.checks import batch_independent, no_leak, not_negative, sums_to_one
from autograder.forbidden import LIBRARY_ATTENTION


@exercise(
    points=5,
    order=4,
    needs=["scaled_dot_product_attention"],
    forbids=LIBRARY_ATTENTION,
    checks=[
        not_negative(line="no weight is negative", result=1),
        sums_to_one(axis=-1, line="each row of the weights sums to 1", result=1),
        no_leak(
            line="a causal mask hides the future",
            cases=["one_thing_changed"],
            changed="changing the last token, under a causal mask",
            what="token",
        ),
        batch_independent(line="samples do not mix", cases=["one_thing_changed"], calls=(0, 2)),
    ],
)
class SelfAttention(nn.Module):
    """Self-attention with one head.

    Its parameters are those of three `nn.Linear` layers and no others: `W_q`, `W_k` (both of
    output width dim_k) and `W_v` (of output width dim_v).

    Args:
        input_dim: the width of the tokens.
        dim_k: the width of queries and keys.
        dim_v: the width of the values, and so of the output; dim_k when it is None.
        bias: whether all three layers have a bias.
    """

    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)  # (..., input_dim) -> (..., dim_k)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)  # (..., input_dim) -> (..., dim_k)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)  # (..., input_dim) -> (..., dim_v)

    def forward(
        self, x: Float[Tensor, "batch n input_dim"], mask: Shaped[Tensor, "..."] | None = None
    ) -> tuple[Float[Tensor, "batch n dim_v"], Float[Tensor, "batch n n"]]:
        """Attention of every token of x to every token of x.

        Args:
            x: shape (batch, n, input_dim), one token per row.
            mask: as in scaled_dot_product_attention: None, or broadcastable to (batch, n, n),
                true where a token (row) may attend to a token (column).

        Returns:
            (output, weights): output of shape (batch, n, dim_v), weights (batch, n, n).
        """
        Q = self.W_q(x)  # (batch, n, dim_k)
        K = self.W_k(x)  # (batch, n, dim_k)
        V = self.W_v(x)  # (batch, n, dim_v)
        return scaled_dot_product_attention(Q, K, V, mask)  # (batch, n, dim_v), (batch, n, n)


# The name above stands for the plain reference once the file has been read.
_exercise = SelfAttention


def _layer(rng, sizes, *calls, bias=None, gradients=True, training=False):
    """A layer with given weights, its calls, and all gradients.

    sizes: (input_dim, dim_k) or (input_dim, dim_k, dim_v).
    """
    input_dim, dim_k, dim_v = (*sizes, sizes[1])[:3]
    layers = {"W_q": (dim_k, input_dim), "W_k": (dim_k, input_dim), "W_v": (dim_v, input_dim)}
    names = ("input_dim", "dim_k", "dim_v")
    built = dict(zip(names, sizes, strict=False)) | ({} if bias is None else {"bias": bias})
    weights = linear_weights(rng, layers, bias=bool(bias))
    return module_program(
        _exercise, built, weights, *calls, gradients=gradients, training=training, seed=5
    )


def _tokens(rng, *shape):
    # twice the size of N(0, 1), so that the weights are far from uniform
    return normal_tensor(rng, *shape, size=2.0, grad=True)


# ---- cases ---------------------------------------------------------------------------------


@SelfAttention.case(
    "five different sizes",
    separates=[
        "not_scaled",
        "scaled_twice",
        "by_input_width",
        "values_not_projected",
        "values_from_keys",
        "keys_from_queries",
        "roles_swapped",
        "value_width_ignored",
        "bias_always",
        "output_alone",
        "order_swapped",
        "graph_cut",
        "queries_cut",
        "layers_made_anew",
        "one_layer_for_all",
        "with_output_layer",
        "weights_untransposed",
        "skip_connection",
    ],
)
def different_sizes(rng):
    return _layer(rng, (5, 3, 4), {"x": _tokens(rng, 2, 6, 5)})


@SelfAttention.case(
    "dim_v left out, with biases",
    separates=["bias_never", "default_value_width", "not_scaled", "values_from_keys"],
)
def default_width(rng):
    return _layer(rng, (4, 2), {"x": _tokens(rng, 2, 3, 4)}, bias=True, gradients=False)


@SelfAttention.case(
    "all widths and numbers equal, a causal mask",
    separates=[
        "mask_ignored",
        "mask_inverted",
        "values_not_projected",
        "values_from_keys",
        "keys_from_queries",
        "roles_swapped",
        "weights_untransposed",
        "batch_attended",
        "skip_connection",
    ],
)
def one_size(rng):
    # mix-ups between the projections keep the right shape here: only the values tell
    mask = np.tril(np.ones((3, 3), dtype=bool))
    call = {"x": _tokens(rng, 3, 3, 3), "mask": mask}
    return _layer(rng, (3, 3, 3), call, bias=False, gradients=False)


@SelfAttention.case(
    "first the last token changed, then another sample, under a causal mask",
    separates=["mask_ignored", "mask_inverted", "batch_attended"],
)
def one_thing_changed(rng):
    x = _tokens(rng, 2, 3, 4)
    changes = (np.s_[:, 2:], np.s_[1:])
    inputs = [x] + [changed_at(rng, x, change, size=2.0) for change in changes]
    mask = np.tril(np.ones((3, 3), dtype=bool))
    calls = [{"x": tokens, "mask": mask} for tokens in inputs]
    return _layer(rng, (4, 2, 3), *calls, gradients=False)


@SelfAttention.case(
    "a padding mask of zeros and ones, in training mode",
    separates=["mask_ignored", "mask_inverted", "scaled_twice", "by_input_width"],
    hidden=True,
)
def padding(rng):
    mask = (np.arange(5) < np.array([5, 2, 3])[:, None])[:, None, :].astype(np.int64)  # (3, 1, 5)
    call = {"x": _tokens(rng, 3, 5, 6), "mask": mask}
    return _layer(rng, (6, 4, 2), call, bias=True, training=True)


@SelfAttention.case(
    "values as wide as the tokens",
    separates=["values_not_projected", "skip_connection", "keys_from_queries", "not_scaled"],
    hidden=True,
)
def values_like_tokens(rng):
    return _layer(rng, (4, 6, 4), {"x": _tokens(rng, 2, 5, 4)})


@SelfAttention.case(
    "as many samples as tokens",
    separates=["batch_attended", "roles_swapped", "by_input_width"],
    hidden=True,
)
def as_many_samples_as_tokens(rng):
    return _layer(rng, (5, 2, 3), {"x": _tokens(rng, 4, 4, 5)})


@SelfAttention.case("a mask for each sample, query and key", kind="robustness", hidden=True)
def full_mask(rng):
    call = {"x": _tokens(rng, 2, 4, 3), "mask": visible_mask(rng, 2, 4, 4)}
    return _layer(rng, (3, 5, 2), call)


@SelfAttention.case("a single sample of a single token", kind="robustness", hidden=True)
def single_token(rng):
    return _layer(rng, (4, 3, 2), {"x": _tokens(rng, 1, 1, 4)})


@SelfAttention.case("queries and keys of width 1", kind="robustness", hidden=True)
def width_one(rng):
    return _layer(rng, (3, 1, 2), {"x": _tokens(rng, 2, 4, 3)}, bias=True)


@SelfAttention.case("called again, with new numbers", kind="robustness", hidden=True)
def called_again(rng):
    # what is remembered, or drawn anew, shows
    first, second = ({"x": _tokens(rng, 2, 5, 3)} for _ in range(2))
    return _layer(rng, (3, 2, 4), first, first, second)


VIEW = """
def transposed(tensor):
    return tensor.transpose(1, 2)
"""


@SelfAttention.case("tokens that are not contiguous", kind="robustness", hidden=True)
def view(rng):
    x = Probe(VIEW, "transposed", (_tokens(rng, 2, 4, 5),))  # (2, 5, 4)
    return _layer(rng, (4, 3, 2), {"x": x})


# ---- misconceptions ------------------------------------------------------------------------


@SelfAttention.misconception(
    "Leaves out the scale.",
    hint="Your function above divides its scores by something. Does this layer use that function?",
    credit=0.5,
)
class not_scaled(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        scores = Q @ K.transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return weights @ V, weights


@SelfAttention.misconception(
    "Scales twice: the queries here, and the scores in the function that is called.",
    hint="What does your function above do to the scores already?",
    credit=0.5,
)
class scaled_twice(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x) / math.sqrt(self.W_q.out_features)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Takes the scale from the width of the tokens instead of that of queries and keys.",
    hint="Over how many products does the sum in one score run?",
    credit=0.5,
)
class by_input_width(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        scores = Q @ K.transpose(-2, -1) / math.sqrt(x.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return weights @ V, weights


@SelfAttention.misconception(
    "Mixes the tokens themselves: W_v is not used.",
    hint="Set W_v to zero: what should the output be?",
    credit=0.25,
)
class values_not_projected(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = x
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Mixes the keys: the values are made with the layer of the keys.",
    hint="Three lines look almost alike. Which layer stands in each?",
    credit=0.25,
)
class values_from_keys(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_k(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Makes queries and keys with one and the same layer.",
    hint="Three lines look almost alike. Which layer stands in each?",
    credit=0.25,
)
class keys_from_queries(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_q(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Swaps the roles of queries and keys.",
    hint="In which order does your function above take its arguments?",
    credit=0.5,
)
class roles_swapped(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(K, Q, V, mask)


@SelfAttention.misconception(
    "Does not hand the mask on.",
    hint="Where does `mask` stand in your forward?",
    credit=0.5,
)
class mask_ignored(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V)


@SelfAttention.misconception(
    "Hands on the mask the other way round.",
    hint="What does true mean in the mask that comes in, and what in the one that your function "
    "above takes?",
    credit=0.5,
    hidden=True,
)
class mask_inverted(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        if mask is not None:
            mask = mask == 0
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Gives the values the width of the keys, whatever dim_v says.",
    hint="Which of your three layers depends on dim_v?",
    credit=0.5,
)
class value_width_ignored(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_k, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Gives the values the width of the tokens where dim_v is left out.",
    hint="What is dim_v when it is None, according to the docstring?",
    credit=0.5,
)
class default_value_width(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = input_dim
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Builds the layer of the values with dim_v as it comes, also where that is None.",
    hint="What is dim_v when it is left out, and what should it be then?",
    credit=0.5,
)
class none_as_a_width(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Builds the layers with a bias, whatever `bias` says.",
    hint="Does `nn.Linear` have a bias if you say nothing?",
    credit=0.5,
)
class bias_always(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k)
        self.W_k = nn.Linear(input_dim, dim_k)
        self.W_v = nn.Linear(input_dim, dim_v)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Builds the layers without a bias, whatever `bias` says.",
    hint="Where does the argument `bias` stand in your constructor?",
    credit=0.5,
)
class bias_never(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=False)
        self.W_k = nn.Linear(input_dim, dim_k, bias=False)
        self.W_v = nn.Linear(input_dim, dim_v, bias=False)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Has one layer that makes queries, keys and values alike.",
    hint="How many weight matrices does the formula have?",
    hidden=True,
)
class one_layer_for_all(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = self.W_q
        self.W_v = self.W_q

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Makes its layers in forward: they are new at every call, and nothing can be learned.",
    hint="Call the layer twice on one input. Are the results equal? What does "
    "list(layer.parameters()) hold?",
    hidden=True,
)
class layers_made_anew(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.sizes = (input_dim, dim_k, dim_v)
        self.bias = bias

    def forward(self, x, mask=None):
        input_dim, dim_k, dim_v = self.sizes
        Q = nn.Linear(input_dim, dim_k, bias=self.bias)(x)
        K = nn.Linear(input_dim, dim_k, bias=self.bias)(x)
        V = nn.Linear(input_dim, dim_v, bias=self.bias)(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Has an output layer too, which comes with several heads only.",
    hint="Which parameters does the docstring name?",
    credit=0.25,
)
class with_output_layer(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)
        self.W_o = nn.Linear(dim_v, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        output, weights = scaled_dot_product_attention(Q, K, V, mask)
        return self.W_o(output), weights


@SelfAttention.misconception(
    "Multiplies with the weight of the layer as it is stored, (out, in), instead of calling the "
    "layer.",
    hint="Which shape does `W_q.weight` have, and what does a layer do with it when it is called?",
    credit=0.25,
)
class weights_untransposed(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = x @ self.W_q.weight
        K = x @ self.W_k.weight
        V = x @ self.W_v.weight
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Attends over the batch instead of the tokens, as if x were (n, batch, input_dim).",
    hint="Change one sample of the batch. Does the output of another sample move?",
    credit=0.25,
    hidden=True,
)
class batch_attended(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        x = x.transpose(0, 1)
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        output, weights = scaled_dot_product_attention(Q, K, V, mask)
        return output.transpose(0, 1), weights


@SelfAttention.misconception(
    "Adds the input to the output, which is the business of the block around the layer.",
    hint="What is the output when all values are zero?",
    credit=0.25,
    hidden=True,
)
class skip_connection(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        output, weights = scaled_dot_product_attention(Q, K, V, mask)
        return x + output, weights


@SelfAttention.misconception(
    "Returns the output alone.",
    hint="How many results does the docstring name?",
    credit=0.5,
)
class output_alone(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        output, weights = scaled_dot_product_attention(Q, K, V, mask)
        return output


@SelfAttention.misconception(
    "Returns weights and output in the wrong order.",
    hint="Which of the two results does the docstring name first?",
    credit=0.5,
)
class order_swapped(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        output, weights = scaled_dot_product_attention(Q, K, V, mask)
        return weights, output


@SelfAttention.misconception(
    "Cuts the graph: no gradient reaches the layers, since detach, no_grad or NumPy stands "
    "between.",
    hint="Call backward on a sum of the output. Which parameters have a gradient?",
    credit=0.5,
)
class graph_cut(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        Q, K, V = Q.detach(), K.detach(), V.detach()
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Detaches the queries, so that W_q cannot learn.",
    hint="Which of the three layers gets no gradient?",
    credit=0.5,
    hidden=True,
)
class queries_cut(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x).detach()
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.misconception(
    "Normalises over the queries instead of the keys.",
    hint="Along which axis do your weights sum to 1, and along which one should they?",
    credit=0.25,
)
class over_queries(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
        if mask is not None:  # a number, so that a key hidden from all queries gives no NaN
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = torch.softmax(scores, dim=-2)
        return weights @ V, weights


@SelfAttention.misconception(
    "Adds the input to the output where the widths allow it, which is the business of the block "
    "around the layer.",
    hint="What is the output when all values are zero?",
    credit=0.5,
)
class skip_where_it_fits(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        output, weights = scaled_dot_product_attention(Q, K, V, mask)
        return x + output if output.shape == x.shape else output, weights


@SelfAttention.misconception(
    "Builds the layers the wrong way round, and multiplies with their weights as they are stored.",
    hint="`nn.Linear(a, b)` maps a features to b features when it is called. How many biases does "
    "it have?",
    credit=0.25,
)
class layers_turned_around(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(dim_k, input_dim, bias=bias)
        self.W_k = nn.Linear(dim_k, input_dim, bias=bias)
        self.W_v = nn.Linear(dim_v, input_dim, bias=bias)

    def forward(self, x, mask=None):
        Q = x @ self.W_q.weight
        K = x @ self.W_k.weight
        V = x @ self.W_v.weight
        return scaled_dot_product_attention(Q, K, V, mask)


# ---- right but unusual ---------------------------------------------------------------------


@SelfAttention.alternative("one fused layer for all three")
class Fused(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.cuts = [dim_k, dim_k, dim_k if dim_v is None else dim_v]
        self.W_qkv = nn.Linear(input_dim, sum(self.cuts), bias=bias)

    def forward(self, x, mask=None):
        Q, K, V = self.W_qkv(x).split(self.cuts, dim=-1)
        return list(scaled_dot_product_attention(Q, K, V, mask))


@SelfAttention.alternative("raw matrices (in, out), the formula in one go with einsum")
class RawMatrices(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        widths = {"W_q": dim_k, "W_k": dim_k, "W_v": dim_v or dim_k}
        for name, width in widths.items():
            self.register_parameter(name, nn.Parameter(torch.empty(input_dim, width)))
            offset = nn.Parameter(torch.zeros(width)) if bias else None
            self.register_parameter(f"{name}_bias", offset)

    def project(self, name, x):
        projected = torch.einsum("bni,io->bno", x, getattr(self, name))
        offset = getattr(self, f"{name}_bias")
        return projected if offset is None else projected + offset

    def forward(self, x, mask=None):
        Q, K, V = (self.project(name, x) for name in ("W_q", "W_k", "W_v"))
        scores = torch.einsum("bqd,bkd->bqk", Q, K) / K.shape[2] ** 0.5
        if mask is not None:
            scores = torch.where(mask.bool(), scores, torch.finfo(scores.dtype).min)
        weights = scores.softmax(2)
        return torch.einsum("bqk,bkv->bqv", weights, V), weights


@SelfAttention.alternative("layers in a ModuleDict that share one loop, buffers beside them")
class InADictionary(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.register_buffer("scale", torch.tensor(dim_k**-0.25), persistent=False)
        for name, width in {"q": dim_k, "k": dim_k, "v": dim_v or dim_k}.items():
            self.add_module(f"W_{name}", nn.Linear(input_dim, width, bias=bias))

    def forward(self, x, mask=None):
        Q, K, V = (layer(x) for layer in self.children())
        scores = torch.bmm(Q * self.scale, (K * self.scale).permute(0, 2, 1))
        if mask is not None:
            scores = scores + (mask == 0) * -1e9
        exponentials = torch.exp(scores - scores.amax(dim=2, keepdim=True))
        weights = exponentials / exponentials.sum(dim=2, keepdim=True)
        return torch.bmm(weights, V), weights


@SelfAttention.alternative("a layer for each feature, as others have one for each head")
class FeatureByFeature(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()

        def layers(width):
            return nn.ModuleList([nn.Linear(input_dim, 1, bias=bias) for _ in range(width)])

        self.W_q, self.W_k = layers(dim_k), layers(dim_k)
        self.W_v = layers(dim_v or dim_k)

    def forward(self, x, mask=None):
        Q, K, V = (
            torch.cat([layer(x) for layer in layers], dim=-1)
            for layers in (self.W_q, self.W_k, self.W_v)
        )
        return scaled_dot_product_attention(Q, K, V, mask)


@SelfAttention.alternative("sample after sample, weights used through the functional interface")
class SampleBySample(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.W_v = nn.Linear(input_dim, dim_v or dim_k, bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias)
        self.W_q = nn.Linear(input_dim, dim_k, bias)

    def forward(self, x, mask=None):
        masks = [None] * len(x) if mask is None else mask.expand(len(x), x.shape[1], x.shape[1])
        pairs = []
        for sample, shown in zip(x, masks, strict=True):
            Q, K, V = (
                nn.functional.linear(sample, layer.weight, layer.bias)
                for layer in (self.W_q, self.W_k, self.W_v)
            )
            pairs.append(scaled_dot_product_attention(Q, K, V, shown))
        return tuple(torch.stack(parts) for parts in zip(*pairs, strict=True))
