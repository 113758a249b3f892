"""Cross-attention as a layer: one sequence asks, another one answers.

The only difference from self-attention is where Q and where K and V come from. It is how a
translation looks at the original, and how a picture being made looks at the words asked for.
"""

import math

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn

from autograder import exercise
from autograder.cases import changed_at, linear_weights, module_program, normal_tensor
from autograder.checks import batch_independent, no_leak, not_negative, sums_to_one
from autograder.forbidden import LIBRARY_ATTENTION


@exercise(
    points=5,
    order=5,
    needs=["scaled_dot_product_attention"],
    forbids=LIBRARY_ATTENTION,
    checks=[
        not_negative(line="no weight is negative", result=1),
        sums_to_one(axis=-1, line="each row of the weights sums to 1", result=1),
        no_leak(
            line="hidden tokens of the context change nothing",
            cases=["one_thing_changed"],
            changed="changing the last token of the context, which the mask hides",
        ),
        batch_independent(line="samples do not mix", cases=["one_thing_changed"], calls=(0, 2)),
    ],
)
class CrossAttention(nn.Module):
    """Cross-attention with one head.

    Its parameters are those of three `nn.Linear` layers and no others: `W_q`, which reads x, and
    `W_k` and `W_v`, which read the context.

    Args:
        query_dim: the width of the tokens in x.
        context_dim: the width of the tokens in the context.
        dim_k: the width of queries and keys.
        dim_v: the width of the values, and so of the output; dim_k when it is None.
        bias: whether all three layers have a bias.
    """

    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)  # (..., query_dim) -> (..., dim_k)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)  # (..., context_dim) -> (..., dim_k)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)  # (..., context_dim) -> (..., dim_v)

    def forward(
        self,
        x: Float[Tensor, "batch n_q query_dim"],
        context: Float[Tensor, "batch n_k context_dim"],
        mask: Shaped[Tensor, "..."] | None = None,
    ) -> tuple[Float[Tensor, "batch n_q dim_v"], Float[Tensor, "batch n_q n_k"]]:
        """Attention of every token of x to every token of the context.

        Args:
            x: shape (batch, n_q, query_dim), the tokens that ask.
            context: shape (batch, n_k, context_dim), the tokens that answer.
            mask: as in scaled_dot_product_attention: None, or broadcastable to
                (batch, n_q, n_k), true where a token of x (row) may attend to a token of the
                context (column).

        Returns:
            (output, weights): output of shape (batch, n_q, dim_v), weights (batch, n_q, n_k).
        """
        Q = self.W_q(x)  # (batch, n_q, dim_k)
        K = self.W_k(context)  # (batch, n_k, dim_k)
        V = self.W_v(context)  # (batch, n_k, dim_v)
        return scaled_dot_product_attention(Q, K, V, mask)  # (batch, n_q, dim_v), (batch, n_q, n_k)


# The name above stands for the plain reference once the file has been read.
_exercise = CrossAttention


def _layer(rng, sizes, *calls, bias=None, gradients=True, training=False):
    """A layer with given weights, its calls, and all gradients.

    sizes: (query_dim, context_dim, dim_k) or (query_dim, context_dim, dim_k, dim_v).
    """
    query_dim, context_dim, dim_k, dim_v = (*sizes, sizes[2])[:4]
    layers = {"W_q": (dim_k, query_dim), "W_k": (dim_k, context_dim), "W_v": (dim_v, context_dim)}
    names = ("query_dim", "context_dim", "dim_k", "dim_v")
    built = dict(zip(names, sizes, strict=False)) | ({} if bias is None else {"bias": bias})
    weights = linear_weights(rng, layers, bias=bool(bias))
    return module_program(
        _exercise, built, weights, *calls, gradients=gradients, training=training, seed=5
    )


def _inputs(rng, batch, n_q, n_k, query_dim, context_dim):
    # twice the size of N(0, 1), so that the weights are far from uniform
    return {
        "x": normal_tensor(rng, batch, n_q, query_dim, size=2.0, grad=True),
        "context": normal_tensor(rng, batch, n_k, context_dim, size=2.0, grad=True),
    }


# ---- cases ---------------------------------------------------------------------------------


@CrossAttention.case(
    "seven different sizes",
    separates=[
        "sources_swapped",
        "keys_from_x",
        "values_from_x",
        "context_ignored",
        "x_ignored",
        "widths_swapped",
        "context_width_ignored",
        "not_scaled",
        "scaled_twice",
        "by_query_width",
        "values_from_keys",
        "roles_swapped",
        "value_width_ignored",
        "bias_always",
        "output_alone",
        "order_swapped",
        "graph_cut",
        "context_cut",
        "with_output_layer",
    ],
)
def different_sizes(rng):
    return _layer(rng, (5, 6, 7, 1), _inputs(rng, 2, 3, 4, 5, 6))


@CrossAttention.case(
    "both inputs of one width, a mask of zeros and ones for each sample",
    separates=[
        "mask_ignored",
        "mask_transposed",
        "sources_swapped",
        "keys_from_x",
        "values_from_x",
        "context_ignored",
        "x_ignored",
        "x_among_the_context",
    ],
)
def one_width(rng):
    mask = (np.arange(4) < np.array([2, 4, 3])[:, None])[:, None, :].astype(np.int64)  # (3, 1, 4)
    call = {**_inputs(rng, 3, 2, 4, 3, 3), "mask": mask}
    return _layer(rng, (3, 3, 2, 5), call, gradients=False)


@CrossAttention.case(
    "dim_v left out, with biases",
    separates=["bias_never", "default_value_width", "not_scaled", "values_from_keys"],
)
def default_width(rng):
    return _layer(rng, (4, 3, 2), _inputs(rng, 2, 5, 3, 4, 3), bias=True, gradients=False)


@CrossAttention.case(
    "first a hidden token of the context changed, then another sample",
    separates=["mask_ignored", "context_ignored", "keys_from_x", "values_from_x"],
)
def one_thing_changed(rng):
    made = _inputs(rng, 2, 3, 4, 2, 2)
    mask = np.array([True, True, True, False])  # (4,)
    context = changed_at(rng, made["context"], np.s_[:, 3:], size=2.0)
    changed = {"x": changed_at(rng, made["x"], np.s_[1:], size=2.0)}
    changed["context"] = changed_at(rng, made["context"], np.s_[1:], size=2.0)
    calls = [{**call, "mask": mask} for call in (made, {**made, "context": context}, changed)]
    return _layer(rng, (2, 2, 4, 3), *calls, gradients=False)


@CrossAttention.case(
    "all sizes equal",
    separates=[
        "sources_swapped",
        "keys_from_x",
        "values_from_x",
        "context_ignored",
        "x_ignored",
        "roles_swapped",
        "values_from_keys",
        "x_among_the_context",
    ],
    hidden=True,
)
def one_size(rng):
    # mix-ups between the inputs keep the right shape here: only the values tell
    return _layer(rng, (4, 4, 4, 4), _inputs(rng, 4, 4, 4, 4, 4), bias=False)


@CrossAttention.case(
    "a mask for each query, in training mode",
    separates=["mask_ignored", "by_query_width", "scaled_twice", "mask_transposed"],
    hidden=True,
)
def each_query(rng):
    mask = np.array([[True, False, True], [True, True, False], [False, False, True]])
    call = {**_inputs(rng, 2, 3, 3, 6, 2), "mask": mask}
    return _layer(rng, (6, 2, 4, 3), call, bias=True, training=True)


@CrossAttention.case(
    "a long context for a single query",
    separates=["sources_swapped", "keys_from_x", "not_scaled"],
    hidden=True,
)
def single_query(rng):
    return _layer(rng, (2, 5, 3, 4), _inputs(rng, 1, 1, 9, 2, 5))


@CrossAttention.case("a context of a single token", kind="robustness", hidden=True)
def single_key(rng):
    return _layer(rng, (3, 4, 2), _inputs(rng, 2, 5, 1, 3, 4))


@CrossAttention.case("queries and keys of width 1", kind="robustness", hidden=True)
def width_one(rng):
    return _layer(rng, (3, 2, 1, 2), _inputs(rng, 2, 3, 4, 3, 2), bias=True)


@CrossAttention.case("called again, then another context", kind="robustness", hidden=True)
def called_again(rng):
    # what is remembered, or drawn anew, shows
    first = _inputs(rng, 2, 3, 4, 3, 5)
    second = {**first, "context": _inputs(rng, 2, 3, 4, 3, 5)["context"]}
    return _layer(rng, (3, 5, 2, 4), first, first, second)


# ---- misconceptions ------------------------------------------------------------------------


@CrossAttention.misconception(
    "Takes the queries from the context, and keys and values from x.",
    hint="Who asks, and who answers? How many rows must the output have?",
    credit=0.25,
)
class sources_swapped(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(context)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Takes the keys from x.",
    hint="Whom does a query look for: tokens of x, or tokens of the context?",
    credit=0.25,
)
class keys_from_x(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Takes the values from x.",
    hint="A query has found a token of the context. Whose value does it get?",
    credit=0.25,
)
class values_from_x(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Takes keys and values from x too: that is self-attention, and the context is not used.",
    hint="Change the context. Does the output move?",
)
class context_ignored(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Takes the queries from the context too: that is self-attention of the context, and x is not "
    "used.",
    hint="Change x. Does the output move? How many rows must the output have?",
)
class x_ignored(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(context)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Lets x attend to itself as well: keys and values are made of x and the context together.",
    hint="How many columns do the weights have to have?",
    credit=0.25,
    hidden=True,
)
class x_among_the_context(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        context = torch.cat([x, context], dim=1)
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Swaps the widths of x and of the context in the constructor.",
    hint="Which of the three layers reads x, and how wide is a token of x?",
    credit=0.5,
)
class widths_swapped(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(query_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Builds all three layers for tokens as wide as those of x.",
    hint="Where does context_dim stand in your constructor?",
    credit=0.5,
)
class context_width_ignored(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(query_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Leaves out the scale.",
    hint="Your function above divides its scores by something. Does this layer use that function?",
    credit=0.5,
)
class not_scaled(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        scores = Q @ K.transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return weights @ V, weights


@CrossAttention.misconception(
    "Scales twice: the queries here, and the scores in the function that is called.",
    hint="What does your function above do to the scores already?",
    credit=0.5,
)
class scaled_twice(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x) / math.sqrt(self.W_q.out_features)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Takes the scale from the width of the tokens in x instead of that of queries and keys.",
    hint="Over how many products does the sum in one score run?",
    credit=0.5,
)
class by_query_width(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        scores = Q @ K.transpose(-2, -1) / math.sqrt(x.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return weights @ V, weights


@CrossAttention.misconception(
    "Mixes the keys: the values are made with the layer of the keys.",
    hint="Three lines look almost alike. Which layer stands in each?",
    credit=0.25,
)
class values_from_keys(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_k(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Swaps the roles of queries and keys in the call.",
    hint="In which order does your function above take its arguments?",
    credit=0.5,
)
class roles_swapped(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(K, Q, V, mask)


@CrossAttention.misconception(
    "Does not hand the mask on.",
    hint="Where does `mask` stand in your forward?",
    credit=0.5,
)
class mask_ignored(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V)


@CrossAttention.misconception(
    "Hands on the mask with queries and keys swapped.",
    hint="Which axis of the mask counts the tokens of the context?",
    credit=0.5,
    hidden=True,
)
class mask_transposed(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        if mask is not None:
            mask = mask.transpose(-2, -1)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Gives the values the width of the keys, whatever dim_v says.",
    hint="Which of your three layers depends on dim_v?",
    credit=0.5,
)
class value_width_ignored(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_k, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Gives the values the width of the context where dim_v is left out.",
    hint="What is dim_v when it is None, according to the docstring?",
    credit=0.5,
)
class default_value_width(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = context_dim
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Builds the layer of the values with dim_v as it comes, also where that is None.",
    hint="What is dim_v when it is left out, and what should it be then?",
    credit=0.5,
)
class none_as_a_width(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Builds the layers with a bias, whatever `bias` says.",
    hint="Does `nn.Linear` have a bias if you say nothing?",
    credit=0.5,
)
class bias_always(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k)
        self.W_k = nn.Linear(context_dim, dim_k)
        self.W_v = nn.Linear(context_dim, dim_v)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Builds the layers without a bias, whatever `bias` says.",
    hint="Where does the argument `bias` stand in your constructor?",
    credit=0.5,
)
class bias_never(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=False)
        self.W_k = nn.Linear(context_dim, dim_k, bias=False)
        self.W_v = nn.Linear(context_dim, dim_v, bias=False)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Has an output layer too, which comes with several heads only.",
    hint="Which parameters does the docstring name?",
    credit=0.25,
    hidden=True,
)
class with_output_layer(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)
        self.W_o = nn.Linear(dim_v, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        output, weights = scaled_dot_product_attention(Q, K, V, mask)
        return self.W_o(output), weights


@CrossAttention.misconception(
    "Returns the output alone.",
    hint="How many results does the docstring name?",
    credit=0.5,
)
class output_alone(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        output, weights = scaled_dot_product_attention(Q, K, V, mask)
        return output


@CrossAttention.misconception(
    "Returns weights and output in the wrong order.",
    hint="Which of the two results does the docstring name first?",
    credit=0.5,
)
class order_swapped(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        output, weights = scaled_dot_product_attention(Q, K, V, mask)
        return weights, output


@CrossAttention.misconception(
    "Cuts the graph: no gradient reaches the layers, since detach, no_grad or NumPy stands "
    "between.",
    hint="Call backward on a sum of the output. Which parameters have a gradient?",
    credit=0.5,
)
class graph_cut(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        Q, K, V = Q.detach(), K.detach(), V.detach()
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Detaches the context, so that whatever made it cannot learn from this layer.",
    hint="Does the context get a gradient?",
    credit=0.5,
    hidden=True,
)
class context_cut(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        context = context.detach()
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


# Whoever takes a source for the other one also gives the layer its width, or nothing would run.


@CrossAttention.misconception(
    "Takes the queries from the context, and keys and values from x.",
    hint="Who asks, and who answers? How many rows must the output have?",
    credit=0.25,
)
class sources_and_widths_swapped(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(query_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(context)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Takes the keys from x.",
    hint="Whom does a query look for: tokens of x, or tokens of the context?",
    credit=0.25,
)
class keys_of_width_from_x(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Takes the values from x.",
    hint="A query has found a token of the context. Whose value does it get?",
    credit=0.25,
)
class values_of_width_from_x(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(query_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Takes keys and values from x too: that is self-attention, and the context is not used.",
    hint="Change the context. Does the output move?",
)
class context_never_used(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(query_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Builds only the layer of the queries with the bias that `bias` asks for.",
    hint="How many of your three layers know of the argument `bias`?",
    credit=0.5,
)
class bias_of_queries_only(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=False)
        self.W_v = nn.Linear(context_dim, dim_v, bias=False)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        return scaled_dot_product_attention(Q, K, V, mask)


@CrossAttention.misconception(
    "Normalises over the queries instead of the keys.",
    hint="Along which axis do your weights sum to 1, and along which one should they?",
    credit=0.25,
)
class over_queries(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(context)
        V = self.W_v(context)
        scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
        if mask is not None:  # a number, so that a key hidden from all queries gives no NaN
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = torch.softmax(scores, dim=-2)
        return weights @ V, weights


# ---- right but unusual ---------------------------------------------------------------------


@CrossAttention.alternative("keys and values from one fused layer")
class FusedKeysAndValues(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.cuts = [dim_k, dim_v or dim_k]
        self.W_kv = nn.Linear(context_dim, sum(self.cuts), bias=bias)
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)

    def forward(self, x, context, mask=None):
        K, V = self.W_kv(context).split(self.cuts, dim=2)
        return scaled_dot_product_attention(self.W_q(x), K, V, mask)


@CrossAttention.alternative("raw matrices (in, out) with biases of their own, einsum")
class RawMatrices(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.W_q = nn.Parameter(torch.zeros(query_dim, dim_k))
        self.W_k = nn.Parameter(torch.zeros(context_dim, dim_k))
        self.W_v = nn.Parameter(torch.zeros(context_dim, dim_v or dim_k))
        for name in ("W_q", "W_k", "W_v"):
            offset = nn.Parameter(torch.zeros(getattr(self, name).shape[1])) if bias else None
            self.register_parameter(f"{name}_bias", offset)

    def project(self, name, tokens):
        projected = torch.einsum("bni,io->bno", tokens, getattr(self, name))
        offset = getattr(self, f"{name}_bias")
        return projected if offset is None else projected + offset

    def forward(self, x, context, mask=None):
        Q = self.project("W_q", x) / self.W_q.shape[1] ** 0.5
        K, V = self.project("W_k", context), self.project("W_v", context)
        scores = torch.einsum("bqd,bkd->bqk", Q, K)
        if mask is not None:
            scores = scores.masked_fill(~mask.bool(), -1e9)
        weights = torch.softmax(scores, -1)
        return torch.einsum("bqk,bkv->bqv", weights, V), weights


@CrossAttention.alternative("built through a method, results in a list")
class ThroughAMethod(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        nn.Module.__init__(self)
        widths = {"W_v": dim_v or dim_k, "W_k": dim_k}
        for name, width in widths.items():
            setattr(self, name, nn.Linear(context_dim, width, bias))
        self.W_q = nn.Linear(query_dim, dim_k, bias)
        self.attention = scaled_dot_product_attention

    def forward(self, x, context, mask=None):
        made = self.attention(self.W_q(x), self.W_k(context), self.W_v(context), mask=mask)
        return [part + 0 for part in made]


@CrossAttention.alternative("query after query, with a softmax of its own")
class QueryByQuery(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v if dim_v is not None else dim_k, bias=bias)

    def forward(self, x, context, mask=None):
        K, V = self.W_k(context), self.W_v(context)
        if mask is not None:
            mask = mask.expand(x.shape[0], x.shape[1], context.shape[1]) != 0
        outputs, weights = [], []
        for place in range(x.shape[1]):
            query = self.W_q(x[:, place])
            scores = (K * query[:, None]).sum(-1) / math.sqrt(query.shape[-1])
            shares = torch.exp(scores - scores.max(1, keepdim=True).values)
            if mask is not None:
                shares = shares * mask[:, place]
            shares = shares / shares.sum(1, keepdim=True)
            weights.append(shares)
            outputs.append((shares[..., None] * V).sum(1))
        return torch.stack(outputs, 1), torch.stack(weights, 1)
