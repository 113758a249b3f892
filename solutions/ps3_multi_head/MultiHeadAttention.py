"""The layer that models use: all heads' projections in four matrices, any mask, any source of keys.

It computes what the formula above says, for a batch and without a loop over the heads. Your
`split_heads` and `concat_heads` do the rest.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from autograder import Construct, Interval, Mode, Program, Verdict, exercise
from autograder.cases import changed_at, linear_weights, module_program, normal_tensor, visible_mask
from autograder.checks import batch_independent, exact_zeros, no_leak, not_negative, sums_to_one
from autograder.forbidden import LIBRARY_ATTENTION


@exercise(
    points=10,
    order=4,
    needs=["split_heads", "concat_heads"],
    forbids=LIBRARY_ATTENTION,
    checks=[
        not_negative(line="no weight is negative", result=1),
        sums_to_one(axis=-1, line="each row of the weights sums to 1", result=1),
        exact_zeros(line="hidden keys get no weight", result=1),
        no_leak(line="what the mask hides changes nothing", cases=["padding_mask"]),
        batch_independent(line="samples do not mix", cases=["one_sample_changed"]),
    ],
)
class MultiHeadAttention(nn.Module):
    """Multi-head attention with four linear layers: W_q, W_k, W_v and W_o.

    Args:
        d_model: the width of the tokens. Each layer maps d_model features to d_model features.
        num_heads: h, the number of heads, each d_model / h wide. A `ValueError` is raised when
            the layer is built and num_heads does not divide d_model.
        bias: whether all four layers have a bias, or none.
        dropout: in training mode, each weight is set to zero with this probability before the
            values are mixed, and divided by 1 - dropout otherwise. In evaluation mode, none is.

    `forward(query, key=None, value=None, mask=None)` takes:
        query: shape (batch, n_q, d_model).
        key: shape (batch, n_k, d_model). By default the query (self-attention).
        value: shape (batch, n_k, d_model). By default the key.
        mask: truth values, or the numbers 0 and 1: true where a query may attend to a key. Of
            the shape (n_q, n_k) for all samples; (batch, 1, n_k) or (batch, n_q, n_k) for each
            sample; (batch, h, n_q, n_k) for each head too. No mask: every key is seen. Each
            query may attend to one key at least.

    and returns (output, weights): output has the shape (batch, n_q, d_model), weights has the
    shape (batch, h, n_q, n_k); each row of it sums to 1. They are the weights before dropout.
    Scores are divided by the square root of the width of a head, and may be large. No argument
    is changed; gradients flow back from the output.
    """

    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)  # the queries of all heads at once
        self.W_k = nn.Linear(d_model, d_model, bias=bias)  # (d_model, d_model), as all four
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)  # mixes the heads
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        query: Float[Tensor, "batch n_q d_model"],
        key: Float[Tensor, "batch n_k d_model"] | None = None,
        value: Float[Tensor, "batch n_k d_model"] | None = None,
        mask: Tensor | None = None,
    ) -> tuple[Float[Tensor, "batch n_q d_model"], Float[Tensor, "batch h n_q n_k"]]:
        key = query if key is None else key  # (batch, n_k, d_model)
        value = key if value is None else value  # (batch, n_k, d_model)
        Q = split_heads(self.W_q(query), self.num_heads)  # (batch, h, n_q, d_head)
        K = split_heads(self.W_k(key), self.num_heads)  # (batch, h, n_k, d_head)
        V = split_heads(self.W_v(value), self.num_heads)  # (batch, h, n_k, d_head)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5  # (batch, h, n_q, n_k)
        if mask is not None:
            if mask.dim() == 3:  # the same for all heads of a sample
                mask = mask.unsqueeze(1)  # (batch, 1, 1 or n_q, n_k)
            scores = scores.masked_fill(mask == 0, -torch.inf)  # (batch, h, n_q, n_k)
        weights = torch.softmax(scores, dim=-1)  # (batch, h, n_q, n_k), each row sums to 1
        heads = self.dropout(weights) @ V  # (batch, h, n_q, d_head)
        output = self.W_o(concat_heads(heads))  # (batch, n_q, d_model)
        return output, weights


@MultiHeadAttention.check(
    "in training, dropout acts on the weights", public=True, cases=["training"]
)
def dropout_on_weights(view):
    """Reads off the output which weights were dropped.

    The values are unit vectors, twice in each head, and the
    output layer passes on what it gets: feature j of a head is the weight of key j, and so is
    feature j + n_k. So a dropped weight shows as two zeros, and a kept one as twice the same
    number, the weight divided by 1 - 0.4.
    """
    evaluated, trained = view.calls
    weights = np.asarray(evaluated.expected[1], dtype=np.float64)  # (1, h, n_q, n_k)
    _, h, n_q, n_k = weights.shape
    before = np.abs(trained.result[1] - weights).max()
    still = np.abs(evaluated.result[0] - evaluated.expected[0]).max()
    features = np.asarray(trained.result[0], dtype=np.float64)  # (1, n_q, h·2·n_k)
    first, second = np.moveaxis(features.reshape(n_q, h, 2, n_k), 2, 0)  # (n_q, h, n_k) each
    used = np.moveaxis(first, 1, 0)[None]  # (1, h, n_q, n_k), the weights that met the values
    kept = np.abs(used) > 1e-6  # weights are above 1e-3 here, so that none is lost by rounding
    factors = (used / weights)[kept]  # all of them 1/(1 - 0.4) = 1.667
    factor = float(np.median(factors)) if factors.size else 0.0
    even = bool((np.abs(factors - factor) < 1e-3).all())
    paired = bool(np.abs(first - second).max() < 1e-4)
    message = None
    if not still < 1e-4:
        message = "in evaluation mode the output is not what it is without dropout"
    elif not before < 1e-4:
        message = (
            f"the weights that are returned in training differ by up to {before:.2g} from those "
            "in evaluation mode, expected the same: those before dropout"
        )
    elif not paired:
        message = (
            "two features that should be mixed with the same weights were not: dropout has to "
            "act on the weights"
        )
    elif kept.all():  # of 64 weights none is dropped by chance once in 10^14 runs
        message = "no weight was dropped, expected about 40% of them for dropout = 0.4"
    elif not even or abs(factor - 1 / 0.6) > 1e-3:
        found = f"{factor:.4g}" if even else "different numbers"
        message = f"the weights that are kept were multiplied by {found}, expected 1/(1 - 0.4)"
    return Verdict(
        message,
        (
            Interval("before", float(before < 1e-4), 0.0),
            Interval("still", float(still < 1e-4), 0.0),
            Interval("paired", float(paired), 0.0),
            Interval("dropped", float(not kept.all()), 0.0),
            Interval("factor", factor if even else 0.0, 1e-3),
        ),
    )


# ---- cases ---------------------------------------------------------------------------------


def _case(rng, num_heads, d_head, *calls, bias=True, dropout=None, gradients=False, **arguments):
    """A layer with drawn weights, in evaluation mode, and its calls or the arguments of one."""
    d_model = num_heads * d_head
    built = {"d_model": d_model, "num_heads": num_heads}
    built |= {} if bias else {"bias": False}
    built |= {} if dropout is None else {"dropout": dropout}
    weights = _weights(rng, d_model, bias)
    calls = calls or (arguments,)
    return module_program(MultiHeadAttention, built, weights, *calls, gradients=gradients, item=0)


def _weights(rng, d_model, bias=True):
    layers = ("W_q", "W_k", "W_v", "W_o")
    return linear_weights(rng, dict.fromkeys(layers, (d_model, d_model)), bias=bias)


@MultiHeadAttention.case(
    "self-attention, all sizes different",
    separates=[
        "scale_missing",
        "scale_of_model",
        "scale_without_root",
        "scale_of_heads",
        "scale_of_length",
        "scale_multiplied",
        "scale_precedence",
        "scaled_after_softmax",
        "over_queries",
        "over_heads",
        "over_heads_and_keys",
        "over_everything",
        "softmax_missing",
        "attends_over_batch",
        "always_causal",
        "roles_swapped",
        "values_from_keys",
        "keys_averaged",
        "values_not_projected",
        "split_by_reshape",
        "merged_by_reshape",
        "split_interleaved",
        "merged_interleaved",
        "number_for_width",
        "one_head",
        "heads_summed",
        "no_output_layer",
        "added_to_query",
        "output_layer_missing",
        "narrow_shared_projection",
        "full_width_for_each_head",
        "layers_in_a_list",
        "layer_shared",
        "fused_cut_by_heads",
        "bias_never",
        "output_without_bias",
        "division_turned_around",
        "weights_averaged",
        "scores_returned",
        "order_swapped",
        "output_alone",
        "cut_graph",
    ],
)
def self_attention(rng):
    query = normal_tensor(rng, 4, 5, 6, grad=True)
    return _case(rng, num_heads=2, d_head=3, query=query, gradients=True)


@MultiHeadAttention.case(
    "cross-attention, all sizes different",
    separates=["key_ignored", "value_defaults_to_query", "roles_swapped", "scale_of_length"],
)
def cross_attention(rng):
    query, key = normal_tensor(rng, 4, 5, 6), normal_tensor(rng, 4, 7, 6)
    return _case(rng, num_heads=2, d_head=3, query=query, key=key)


@MultiHeadAttention.case(
    "keys and values from two sources, as many queries as keys",
    separates=["value_ignored", "key_ignored", "roles_swapped"],
)
def two_sources(rng):
    query, key, value = (normal_tensor(rng, 3, 4, 6) for _ in range(3))
    return _case(rng, num_heads=2, d_head=3, query=query, key=key, value=value)


@MultiHeadAttention.case(
    "cross-attention with a mask for all samples, as many queries as keys",
    separates=[
        "value_defaults_to_query",
        "mask_ignored",
        "mask_polarity",
        "mask_multiplied",
        "mask_after_softmax",
        "mask_transposed",
        "mask_changed",
        "mask_numbers_only",
    ],
)
def mask_for_all(rng):
    query, key = normal_tensor(rng, 3, 4, 6), normal_tensor(rng, 3, 4, 6)
    return _case(rng, num_heads=2, d_head=3, query=query, key=key, mask=visible_mask(rng, 4, 4))


@MultiHeadAttention.case(
    "a padding mask of zeros and ones",
    separates=[
        "mask_bool_only",
        "mask_without_head_axis",
        "mask_repeated_in_turn",
        "mask_of_first_sample",
        "mask_ignored",
        "mask_transposed",
    ],
)
def padding_mask(rng):
    lengths = rng.permutation([1, 2, 3])  # (3,), of the samples; the last token is padding in all
    mask = (np.arange(4) < lengths[:, None, None]).astype(np.int64)  # (3, 1, 4)
    query = normal_tensor(rng, 3, 4, 6)
    changed = changed_at(rng, query, np.s_[:, 3])
    return _case(rng, 2, 3, {"query": query, "mask": mask}, {"query": changed, "mask": mask})


@MultiHeadAttention.case("one sample changed", separates=["attends_over_batch"])
def one_sample_changed(rng):
    query = normal_tensor(rng, 3, 2, 4)
    changed = changed_at(rng, query, np.s_[1])
    return _case(rng, 2, 2, {"query": query}, {"query": changed})


@MultiHeadAttention.case(
    "a mask for each sample, as many samples as heads",
    separates=[
        "mask_without_head_axis",
        "mask_repeated_in_turn",
        "mask_of_first_sample",
        "mask_transposed",
        "mask_polarity",
    ],
)
def mask_for_each_sample(rng):
    # a mask without a head axis broadcasts in silence here: sample i meets head i
    return _case(
        rng,
        num_heads=2,
        d_head=3,
        query=normal_tensor(rng, 2, 4, 6),
        mask=visible_mask(rng, 2, 4, 4),
    )


@MultiHeadAttention.case(
    "a mask for each head",
    separates=["mask_of_first_head", "mask_axis_always", "mask_polarity", "mask_changed"],
)
def mask_for_each_head(rng):
    return _case(
        rng,
        num_heads=3,
        d_head=2,
        query=normal_tensor(rng, 2, 4, 6),
        mask=visible_mask(rng, 2, 3, 4, 4),
    )


@MultiHeadAttention.case("without biases", separates=["bias_always", "scale_missing"])
def without_biases(rng):
    return _case(rng, num_heads=2, d_head=2, bias=False, query=normal_tensor(rng, 3, 4, 4))


@MultiHeadAttention.case("scores of 800", separates=["overflows"])
def large_scores(rng):
    # each token finds itself with 40·40/√4 = 800 and the others with 0: exp overflows above 88
    features = [rng.permutation(4)[:3] for _ in range(4)]  # of three tokens, in 2 samples, 2 heads
    tokens = np.zeros((2, 3, 2, 4))
    for number, hot in enumerate(features):
        tokens[number // 2, [0, 1, 2], number % 2, hot] = 40.0
    weights = _weights(rng, 8, bias=False)
    weights |= {
        "W_q.weight": np.eye(8, dtype=np.float32),
        "W_k.weight": np.eye(8, dtype=np.float32),
    }
    query = torch.tensor(tokens.reshape(2, 3, 8), dtype=torch.float32)
    built = {"d_model": 8, "num_heads": 2, "bias": False}
    return module_program(MultiHeadAttention, built, weights, {"query": query})


@MultiHeadAttention.case(
    "dropout, in evaluation mode", separates=["dropout_in_evaluation"], hidden=True
)
def dropout_in_evaluation_mode(rng):
    return _case(rng, num_heads=2, d_head=3, dropout=0.5, query=normal_tensor(rng, 3, 4, 6))


@MultiHeadAttention.case(
    "training with dropout",
    separates=[
        "dropout_ignored",
        "weights_after_dropout",
        "dropout_before_softmax",
        "dropout_on_output",
        "dropout_renormalised",
        "dropout_in_evaluation",
    ],
)
def training(rng):
    # what comes out is the weights themselves: see the check for how they are read off
    weights = _weights(rng, 16, bias=False)
    one_head = np.hstack([np.eye(4), np.eye(4)]).T  # (8, 4), each key twice
    weights["W_v.weight"] = np.zeros((16, 16), dtype=np.float32)
    weights["W_v.weight"][:, :4] = np.vstack([one_head, one_head])  # two heads
    weights["W_o.weight"] = np.eye(16, dtype=np.float32)
    value = torch.eye(4, 16).unsqueeze(0)  # (1, 4, 16), unit vectors
    arguments = {
        "query": normal_tensor(rng, 1, 8, 16),
        "key": normal_tensor(rng, 1, 4, 16),
        "value": value,
    }
    built = {"d_model": 16, "num_heads": 2, "bias": False, "dropout": 0.4}
    *before, first, second = module_program(
        MultiHeadAttention, built, weights, arguments, arguments
    ).steps
    return Program((*before, first, Mode("module", training=True), second))


@MultiHeadAttention.case(
    "a width of 10 and 4 heads", separates=["no_error", "assertion"], raises=ValueError
)
def not_divisible(rng):
    return Program((Construct("MultiHeadAttention", "module", (10, 4)),))


@MultiHeadAttention.case(
    "more heads than features",
    separates=["no_error", "assertion", "division_turned_around"],
    hidden=True,
    raises=ValueError,
)
def more_heads_than_features(rng):
    return Program((Construct("MultiHeadAttention", "module", (4, 8)),))


@MultiHeadAttention.case(
    "all sizes equal, a mask for each sample",
    separates=[
        "attends_over_batch",
        "over_heads",
        "over_heads_and_keys",
        "over_queries",
        "mask_without_head_axis",
        "mask_repeated_in_turn",
        "mask_of_first_sample",
        "split_by_reshape",
        "merged_by_reshape",
        "split_interleaved",
    ],
    hidden=True,
)
def all_equal(rng):
    query, mask = normal_tensor(rng, 3, 3, 9, grad=True), visible_mask(rng, 3, 3, 3)
    return _case(rng, num_heads=3, d_head=3, query=query, mask=mask, gradients=True)


@MultiHeadAttention.case(
    "three sources, a mask of zeros and ones for each head",
    separates=["mask_of_first_head", "mask_axis_always", "mask_bool_only", "value_ignored"],
    hidden=True,
)
def everything(rng):
    query, key, value = (normal_tensor(rng, 2, n, 12, grad=True) for n in (5, 6, 6))
    mask = visible_mask(rng, 2, 3, 5, 6).astype(np.int64)
    sources = {"query": query, "key": key, "value": value}
    return _case(rng, num_heads=3, d_head=4, mask=mask, gradients=True, **sources)


@MultiHeadAttention.case(
    "three calls, the first with a mask", separates=["mask_remembered", "mask_ignored"], hidden=True
)
def three_calls(rng):
    calls = [{"query": normal_tensor(rng, 2, 4, 6)} for _ in range(3)]
    calls[0]["mask"] = visible_mask(rng, 2, 1, 4)
    return _case(rng, 2, 3, *calls)


@MultiHeadAttention.case("a single head", kind="robustness", hidden=True)
def single_head(rng):
    return _case(rng, num_heads=1, d_head=5, query=normal_tensor(rng, 2, 3, 5))


@MultiHeadAttention.case("heads of a single feature", kind="robustness", hidden=True)
def single_features(rng):
    return _case(
        rng,
        num_heads=4,
        d_head=1,
        query=normal_tensor(rng, 2, 3, 4),
        mask=visible_mask(rng, 2, 3, 3),
    )


@MultiHeadAttention.case("a single token", kind="robustness", hidden=True)
def single_token(rng):
    return _case(rng, num_heads=2, d_head=3, query=normal_tensor(rng, 2, 1, 6))


@MultiHeadAttention.case("tiny tokens", kind="robustness", hidden=True)
def tiny(rng):
    query = normal_tensor(rng, 2, 4, 6, size=1e-3)
    return _case(rng, num_heads=2, d_head=3, bias=False, query=query, mask=visible_mask(rng, 4, 4))


# ---- misconceptions ------------------------------------------------------------------------


@MultiHeadAttention.misconception(
    "Leaves out the scale.",
    hint="How large do the scores become for wide heads, and what does softmax make of large "
    "scores?",
    credit=0.5,
)
class scale_missing(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Takes the scale from d_model instead of the width of a head.",
    hint="Over how many products does the sum in one score run?",
    credit=0.5,
)
class scale_of_model(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / query.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Divides by the width of a head without the root, or scales twice.",
    hint="If a score has the variance d_head, what is its standard deviation?",
    credit=0.5,
)
class scale_without_root(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1]
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Takes the scale from the number of heads.",
    hint="Which axis of the queries does the sum in one score run along?",
    credit=0.5,
)
class scale_of_heads(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Takes the scale from the number of tokens.",
    hint="Which axis of the queries does the sum in one score run along?",
    credit=0.5,
    hidden=True,
)
class scale_of_length(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[2] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Multiplies by the square root of the width of a head instead of dividing.",
    hint="Do your scores become larger or smaller through the scale?",
    credit=0.5,
    hidden=True,
)
class scale_multiplied(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT * Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Divides by half of the width of a head: the power binds tighter than the division.",
    hint="In which order does Python work out a power and a division beside it?",
    credit=0.5,
    hidden=True,
)
class scale_precedence(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / (Q.shape[-1] ** 1 / 2)
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Applies the scale to the weights, after softmax.",
    hint="What does a row of your weights sum to?",
    credit=0.25,
    hidden=True,
)
class scaled_after_softmax(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1) / Q.shape[-1] ** 0.5
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Normalises over the queries instead of the keys.",
    hint="Along which axis of the scores do the keys of one query lie?",
    credit=0.25,
)
class over_queries(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-2)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Normalises over the heads instead of the keys.",
    hint="Should the heads compete with each other? Along which axis do the keys of one query lie?",
    credit=0.25,
)
class over_heads(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Normalises over heads and keys together: a query has one distribution for all its heads.",
    hint="Each head has a softmax of its own. What do the weights of one query sum to in one head?",
    credit=0.25,
)
class over_heads_and_keys(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        joint = scores.transpose(1, 2).flatten(2).softmax(-1)  # (batch, n_q, h·n_k)
        weights = joint.unflatten(2, (self.num_heads, -1)).transpose(1, 2)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Normalises over all heads, queries and keys together.",
    hint="How many distributions does one sample need: one, or one for each head and each query?",
    credit=0.25,
    hidden=True,
)
class over_everything(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores.flatten(1), dim=-1).view_as(scores)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Takes the exponential of the scores as they are, which overflows for large ones.",
    hint="What does PyTorch give for the exponential of 800? Which shift leaves softmax unchanged?",
    credit=0.5,
)
class overflows(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.exp(scores) / torch.exp(scores).sum(dim=-1, keepdim=True)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Uses the scores as weights, without softmax.",
    hint="May a weight be negative? Do your weights sum to 1?",
    hidden=True,
)
class softmax_missing(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = scores
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Takes the first axis for the tokens, so that samples attend to each other.",
    hint="Change one sample of the batch: which outputs may move? Which axis comes first here?",
    credit=0.25,
)
class attends_over_batch(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query).transpose(0, 1), self.num_heads)
        K = split_heads(self.W_k(key).transpose(0, 1), self.num_heads)
        V = split_heads(self.W_v(value).transpose(0, 1), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads)).transpose(0, 1)
        return output, weights


@MultiHeadAttention.misconception(
    "Ignores the mask.",
    hint="Follow the mask through your code: which line makes a weight zero?",
    credit=0.25,
)
class mask_ignored(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Reads the mask the other way round: attends only where it must not.",
    hint="Does a true entry mean that a query may attend to a key here, or that it may not?",
    credit=0.5,
)
class mask_polarity(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask != 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Leaves hidden keys a score of 0: multiplies by the mask, or fills in a tiny number.",
    hint="What is the exponential of 0? Which weight does a hidden key get?",
    credit=0.25,
)
class mask_multiplied(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores * mask
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Removes hidden weights after softmax and does not normalise again.",
    hint="What does a row of your weights sum to when some keys are hidden?",
    credit=0.25,
)
class mask_after_softmax(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            hidden = mask == 0
        weights = torch.softmax(scores, dim=-1)
        if mask is not None:
            weights = weights.masked_fill(hidden, 0.0)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Lets a mask of three axes broadcast as it is: its samples meet the heads.",
    hint="Write the shape of the mask under that of the scores, aligned at the right. Which axis "
    "does the batch of the mask meet?",
    credit=0.25,
)
class mask_without_head_axis(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Adds a head axis to every mask, also to one that has it already.",
    hint="How many axes does a mask for each head have before your line, and how many after it?",
    credit=0.5,
)
class mask_axis_always(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() != 2:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Repeats the masks in another order than that of samples and heads.",
    hint="Write down, for two samples and two heads, which mask each pair of them gets. Should "
    "the heads of one sample not share one?",
    credit=0.25,
)
class mask_repeated_in_turn(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.repeat(self.num_heads, 1, 1).unflatten(0, Q.shape[:2])
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Uses the mask of sample 0 for all samples.",
    hint="Two sentences of one batch differ in length. Which mask does the second one get?",
    credit=0.25,
)
class mask_of_first_sample(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask[:1].unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Uses the mask of head 0 for all heads.",
    hint="Give each head another mask: do their weights have zeros in different places?",
    credit=0.25,
)
class mask_of_first_head(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            elif mask.dim() == 4:
                mask = mask[:, :1]
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Uses the mask transposed: hides queries where it should hide keys.",
    hint="Is it the row or the column of the mask that belongs to the query?",
    credit=0.25,
)
class mask_transposed(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask.mT == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Inverts the mask in place: the caller's mask is another one after the call.",
    hint="Print the mask before and after the call. Which of your statements changes it?",
    credit=0.5,
)
class mask_changed(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask.logical_not_().bool(), -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Inverts the mask bit by bit, which works for truth values only and not for 0 and 1.",
    hint="What does the operator that you invert with make of the integer 1?",
    credit=0.5,
)
class mask_bool_only(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Subtracts the mask from 1, which PyTorch refuses for truth values.",
    hint="Which kinds of masks does the docstring promise to accept? Try both.",
    credit=0.5,
)
class mask_numbers_only(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores - 1e9 * (1 - mask)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Keeps the mask of one call and applies it in the next one too.",
    hint="Call the layer with a mask and then without: is the second call free of it?",
    credit=0.5,
    hidden=True,
)
class mask_remembered(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.mask = None
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        mask = self.mask = self.mask if mask is None else mask
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Hides the future also when nobody asked for it.",
    hint="Without a mask, how many tokens may the first token attend to?",
    credit=0.25,
    hidden=True,
)
class always_causal(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        scores = scores.masked_fill(torch.ones_like(scores).tril() == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Takes the query for the value when only a key is given.",
    hint="Values belong to keys. Whose tokens does the docstring name as the default?",
    credit=0.25,
)
class value_defaults_to_query(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = query if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Always attends to the query itself, also when a key is given.",
    hint="Change the key: does your output move?",
    credit=0.25,
)
class key_ignored(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Always takes the key for the value, also when a value is given.",
    hint="Change the value and leave the key: does your output move?",
    credit=0.25,
)
class value_ignored(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Swaps the roles of queries and keys.",
    hint="Row i of the weights belongs to the query that asks. Does it ask in your scores?",
    credit=0.5,
)
class roles_swapped(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = K @ Q.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Makes the values with the matrix of the keys.",
    hint="Which of your four layers is never called?",
    credit=0.25,
)
class values_from_keys(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_k(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Averages the keys instead of the values.",
    hint="What are the values for, once the weights are there? Which line uses them?",
    credit=0.25,
    hidden=True,
)
class keys_averaged(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_k(key), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Averages the tokens themselves instead of their values.",
    hint="Which of your four layers is never called?",
    credit=0.25,
    hidden=True,
)
class values_not_projected(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(value, self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Splits into heads by a reshape alone, which mixes neighbouring tokens.",
    hint="Two exercises above you wrote a function for this step. What does it do beside the "
    "reshape?",
    credit=0.25,
)
class split_by_reshape(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = self.W_q(query).reshape(
            query.shape[0], self.num_heads, -1, query.shape[-1] // self.num_heads
        )
        K = self.W_k(key).reshape(
            query.shape[0], self.num_heads, -1, query.shape[-1] // self.num_heads
        )
        V = self.W_v(value).reshape(
            query.shape[0], self.num_heads, -1, query.shape[-1] // self.num_heads
        )
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Merges the heads by a reshape alone, so that a row mixes several tokens.",
    hint="You wrote a function for this step. What does it do before the reshape?",
    credit=0.25,
)
class merged_by_reshape(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(heads.reshape(query.shape))
        return output, weights


@MultiHeadAttention.misconception(
    "Deals the features out in turn: head 0 gets features 0, h, 2h and so on.",
    hint="Which features stand side by side in head 0: those that `split_heads` puts there?",
    credit=0.25,
    hidden=True,
)
class split_interleaved(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = self.W_q(query).unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)
        K = self.W_k(key).unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)
        V = self.W_v(value).unflatten(-1, (-1, self.num_heads)).permute(0, 3, 1, 2)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Interleaves the heads when it merges them.",
    hint="Which input features of the output layer belong to head 0?",
    credit=0.25,
    hidden=True,
)
class merged_interleaved(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(heads.permute(0, 2, 3, 1).flatten(2))
        return output, weights


@MultiHeadAttention.misconception(
    "Takes the number of heads for the width of a head.",
    hint="How many matrices of weights does your layer return for a sample, and how many heads "
    "are there?",
    credit=0.25,
)
class number_for_width(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Attends once with the full width: the heads are never split.",
    hint="How many matrices of weights does your layer make for each sample?",
)
class one_head(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = 1
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Adds the heads up instead of putting them side by side.",
    hint="How wide is what the output layer expects, and how wide is the sum of your heads?",
    credit=0.25,
)
class heads_summed(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(heads.sum(dim=1))
        return output, weights


@MultiHeadAttention.misconception(
    "Ends with the concatenation: the output layer is there, but never used.",
    hint="Which of your four layers is never called?",
    credit=0.25,
)
class no_output_layer(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = concat_heads(heads)
        return output, weights


@MultiHeadAttention.misconception(
    "Adds the query to the output: that belongs to the block around this layer.",
    hint="What should the layer return when W_o is zero?",
    credit=0.5,
    hidden=True,
)
class added_to_query(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = query + self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Has no output layer at all.",
    hint="Which four layers does the docstring name? Count yours.",
)
class output_layer_missing(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = concat_heads(heads)
        return output, weights


@MultiHeadAttention.misconception(
    "Cuts the tokens first and gives all slices one small projection.",
    hint="From how many features of a token does one head make its queries?",
)
class narrow_shared_projection(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model // num_heads, d_model // num_heads, bias=bias)
        self.W_k = nn.Linear(d_model // num_heads, d_model // num_heads, bias=bias)
        self.W_v = nn.Linear(d_model // num_heads, d_model // num_heads, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = self.W_q(split_heads(query, self.num_heads))
        K = self.W_k(split_heads(key, self.num_heads))
        V = self.W_v(split_heads(value, self.num_heads))
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Gives each head the full width, which multiplies the parameters by h.",
    hint="Does the number of heads change how many parameters the layer has?",
)
class full_width_for_each_head(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, num_heads * d_model, bias=bias)
        self.W_k = nn.Linear(d_model, num_heads * d_model, bias=bias)
        self.W_v = nn.Linear(d_model, num_heads * d_model, bias=bias)
        self.W_o = nn.Linear(num_heads * d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Keeps its layers in a Python list, where the module does not see them.",
    hint="What does `list(module.parameters())` give for your module?",
    credit=0.25,
)
class layers_in_a_list(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.layers = [nn.Linear(d_model, d_model, bias=bias) for _ in range(4)]
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.layers[0](query), self.num_heads)
        K = split_heads(self.layers[1](key), self.num_heads)
        V = split_heads(self.layers[2](value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.layers[3](concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Uses one layer for queries and keys.",
    hint="How many different layers does your module hold?",
    hidden=True,
)
class layer_shared(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = self.W_q
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Fuses the projections of queries, keys and values, and cuts the result head by head.",
    hint="In which order do the rows of your fused layer lie: all queries first, or head by "
    "head? In which order do you cut them?",
    credit=0.25,
)
class fused_cut_by_heads(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_qkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_qkv(query), self.num_heads).chunk(3, dim=-1)[0]
        K = split_heads(self.W_qkv(key), self.num_heads).chunk(3, dim=-1)[1]
        V = split_heads(self.W_qkv(value), self.num_heads).chunk(3, dim=-1)[2]
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Has biases also when they are not asked for.",
    hint="What does the argument `bias` change in your layers?",
    credit=0.5,
)
class bias_always(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model)
        self.W_k = nn.Linear(d_model, d_model)
        self.W_v = nn.Linear(d_model, d_model)
        self.W_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Has no biases, although they are the default.",
    hint="What does the argument `bias` change in your layers, and what is its default?",
    credit=0.5,
)
class bias_never(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Has biases in the projections only, not in the output layer.",
    hint="For how many of the four layers does the argument `bias` hold?",
    credit=0.5,
    hidden=True,
)
class output_without_bias(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Builds a layer also when the heads cannot have one width.",
    hint="What should the constructor do with a width of 10 and 4 heads?",
    credit=0.5,
)
class no_error(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Refuses by an assertion, which is another exception and vanishes under `python -O`.",
    hint="Which exception does the docstring promise?",
    credit=0.5,
)
class assertion(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        assert d_model % num_heads == 0, (
            f"num_heads = {num_heads} does not divide d_model = {d_model}"
        )
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Asks whether d_model divides num_heads, and refuses nearly every layer.",
    hint="Which of the two numbers must be a multiple of the other?",
    credit=0.25,
    hidden=True,
)
class division_turned_around(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if num_heads % d_model != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Drops weights in evaluation mode too.",
    hint="How does the function that drops weights know about the mode of your module?",
    credit=0.5,
)
class dropout_in_evaluation(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = dropout

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = nn.functional.dropout(weights, self.dropout) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Never drops a weight, whatever `dropout` says.",
    hint="Call the layer twice in training mode with `dropout` = 0.9: should the outputs be equal?",
    credit=0.5,
)
class dropout_ignored(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = weights @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Returns the weights after dropout.",
    hint="In training mode, do the rows of the weights that you return sum to 1?",
    credit=0.5,
)
class weights_after_dropout(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        weights = self.dropout(weights)
        heads = weights @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Drops scores before softmax instead of weights after it.",
    hint="Which weight does a key get whose score was dropped to 0?",
    credit=0.5,
)
class dropout_before_softmax(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(self.dropout(scores), dim=-1)
        heads = weights @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Drops features of the output instead of weights.",
    hint="What does a key that is dropped lose: one feature, or all features of its value?",
    credit=0.5,
)
class dropout_on_output(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = weights @ V
        output = self.dropout(self.W_o(concat_heads(heads)))
        return output, weights


@MultiHeadAttention.misconception(
    "Divides by the sum of the weights that are left after dropout.",
    hint="On average over many draws, what should the weight of a key be after dropout? The "
    "factor that dropout applies sees to it already.",
    credit=0.5,
    hidden=True,
)
class dropout_renormalised(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = nn.functional.normalize(self.dropout(weights), p=1, dim=-1) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Returns the weights averaged over the heads.",
    hint="How many axes do the weights have in the docstring?",
    credit=0.5,
)
class weights_averaged(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights.mean(dim=1)


@MultiHeadAttention.misconception(
    "Returns the scores in place of the weights.",
    hint="Can a weight be negative? Look at the second result.",
    credit=0.5,
)
class scores_returned(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, scores


@MultiHeadAttention.misconception(
    "Returns weights and output in the wrong order.",
    hint="Which of the two results does the docstring name first?",
    credit=0.5,
)
class order_swapped(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return weights, output


@MultiHeadAttention.misconception(
    "Returns the output alone.",
    hint="How many results does the docstring promise?",
    credit=0.5,
)
class output_alone(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output


@MultiHeadAttention.misconception(
    "Cuts the graph: no gradient flows back through the weights.",
    hint="Which parameters would never learn? What does PyTorch need for backward?",
    credit=0.5,
)
class cut_graph(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores.detach(), dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


# With a number for minus infinity, as many write it, a slice that is hidden as a whole gives
# equal weights instead of NaN.


@MultiHeadAttention.misconception(
    "Normalises over the heads instead of the keys.",
    hint="What does axis 1 of the scores count, and which axis counts keys?",
    credit=0.25,
    hidden=True,
)
class over_heads_filled(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = torch.softmax(scores, dim=1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Normalises over the queries instead of the keys.",
    hint="Along which axis do your weights sum to 1, and along which one should they?",
    credit=0.25,
    hidden=True,
)
class over_queries_filled(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = torch.softmax(scores, dim=-2)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Builds the output layer with a bias, whatever `bias` says.",
    hint="How many of your four layers know of the argument `bias`?",
    credit=0.5,
)
class output_bias_always(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q = split_heads(self.W_q(query), self.num_heads)
        K = split_heads(self.W_k(key), self.num_heads)
        V = split_heads(self.W_v(value), self.num_heads)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


@MultiHeadAttention.misconception(
    "Splits the keys with the number of queries, so that cross-attention fails.",
    hint="How many tokens does `key` have in cross-attention, and which size do you give its view?",
    credit=0.5,
)
class one_length_for_all(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"num_heads = {num_heads} does not divide d_model = {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        batch, n, d_model = query.shape
        shape = (batch, n, self.num_heads, d_model // self.num_heads)
        Q = self.W_q(query).view(shape).transpose(1, 2)
        K = self.W_k(key).view(shape).transpose(1, 2)
        V = self.W_v(value).view(shape).transpose(1, 2)
        scores = Q @ K.mT / Q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -torch.inf)
        weights = torch.softmax(scores, dim=-1)
        heads = self.dropout(weights) @ V
        output = self.W_o(concat_heads(heads))
        return output, weights


# ---- right but unusual ---------------------------------------------------------------------


@MultiHeadAttention.alternative("one fused layer, cut into thirds; the mask added")
class fused(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be a multiple of num_heads")
        self.h = num_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.p = dropout

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        W_q, W_k, W_v = self.qkv.weight.chunk(3)
        b_q, b_k, b_v = (None,) * 3 if self.qkv.bias is None else self.qkv.bias.chunk(3)
        parts = ((query, W_q, b_q), (key, W_k, b_k), (value, W_v, b_v))
        Q, K, V = (
            nn.functional.linear(*part).unflatten(-1, (self.h, -1)).permute(0, 2, 1, 3)
            for part in parts
        )
        scores = torch.einsum("bhqe,bhke->bhqk", Q / Q.shape[-1] ** 0.5, K)
        if mask is not None:
            kept = mask.to(scores.dtype)
            scores = scores + (1 - (kept[:, None] if kept.ndim == 3 else kept)) * -1e30
        weights = scores.softmax(3)
        used = nn.functional.dropout(weights, self.p, self.training)
        return [self.W_o(torch.einsum("bhqk,bhke->bqhe", used, V).flatten(2)), weights]


@MultiHeadAttention.alternative("a layer for each head, and a loop over the heads")
class head_by_head(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        d_head, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"{d_model} features cannot be shared out among {num_heads} heads")

        def layers():
            return nn.ModuleList(nn.Linear(d_model, d_head, bias) for _ in range(num_heads))

        self.W_o = nn.Linear(d_model, d_model, bias)
        self.W_v, self.W_k, self.W_q = layers(), layers(), layers()
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        outputs, weights = [], []
        for head, (W_q, W_k, W_v) in enumerate(zip(self.W_q, self.W_k, self.W_v, strict=True)):
            scores = torch.bmm(W_q(query), W_k(key).mT) * W_k.out_features**-0.5
            if mask is not None:
                own = mask[:, head] if mask.dim() == 4 else mask
                scores = torch.where(own.bool(), scores, torch.finfo(scores.dtype).min)
            weights.append(torch.exp(scores - scores.logsumexp(-1, keepdim=True)))
            outputs.append(self.drop(weights[-1]) @ W_v(value))
        return self.W_o(torch.cat(outputs, dim=-1)), torch.stack(weights, dim=1)


@MultiHeadAttention.alternative("raw parameters, samples and heads in one axis, normalised last")
class raw_parameters(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        self.heads, self.width = num_heads, d_model // num_heads
        if self.heads * self.width != d_model:
            raise ValueError("the heads would have different widths")
        for name in ("W_q", "W_k", "W_v", "W_o"):
            self.register_parameter(name, nn.Parameter(torch.empty(d_model, d_model)))
            nn.init.xavier_uniform_(self.get_parameter(name))
            if bias:
                self.register_parameter(f"{name}_bias", nn.Parameter(torch.zeros(d_model)))
        self.keep = 1.0 - dropout

    def apply_layer(self, name, tokens):
        bias = getattr(self, f"{name}_bias", None)
        made = tokens @ self.get_parameter(name)
        return made if bias is None else made + bias

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        batch, n_q, n_k = query.shape[0], query.shape[1], key.shape[1]

        def split(tokens):
            parts = tokens.view(batch, -1, self.heads, self.width).transpose(1, 2)
            return parts.reshape(batch * self.heads, -1, self.width)

        Q = split(self.apply_layer("W_q", query)) * self.width**-0.25
        K = split(self.apply_layer("W_k", key)) * self.width**-0.25
        V = split(self.apply_layer("W_v", value))
        seen = torch.ones(batch * self.heads, n_q, n_k, dtype=torch.bool)
        if mask is not None and mask.dim() == 3:
            seen = mask.bool().repeat_interleave(self.heads, dim=0)
        elif mask is not None:
            seen = mask.bool().expand(batch, self.heads, n_q, n_k).flatten(0, 1)
        scores = torch.baddbmm(torch.zeros(()), Q, K.mT)
        powers = torch.exp(scores - scores.amax(-1, keepdim=True)) * seen
        weights = powers / powers.sum(-1, keepdim=True)
        used = weights
        if self.training and self.keep < 1.0:
            used = weights * torch.bernoulli(torch.full_like(weights, self.keep)) / self.keep
        heads = torch.bmm(used, V).view(batch, self.heads, n_q, self.width)
        output = self.apply_layer("W_o", heads.transpose(1, 2).reshape(batch, n_q, -1))
        return output, weights.view(batch, self.heads, n_q, n_k)


@MultiHeadAttention.alternative(
    "the output layer in slices, the weights masked and normalised again"
)
class sliced_output(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model / num_heads != d_model // num_heads:
            raise ValueError("num_heads has to divide d_model")
        self.d_head = d_model // num_heads
        self.W_o, self.W_v, self.W_k, self.W_q = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4)
        )
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("scale", torch.tensor(self.d_head**-0.5), persistent=False)

    def forward(self, query, key=None, value=None, mask=None):
        if key is None:
            key = query
        if value is None:
            value = key
        Q, K, V = (
            torch.stack(made.split(self.d_head, dim=-1), dim=1)
            for made in (self.W_q(query), self.W_k(key), self.W_v(value))
        )
        weights = nn.functional.softmax(self.scale * (Q @ K.transpose(-2, -1)), dim=-1)
        if mask is not None:
            seen = mask[:, None] if mask.dim() == 3 else mask
            weights = weights * seen
            weights = weights / weights.sum(-1, keepdim=True)
        heads = torch.matmul(self.dropout(weights), V)
        slices = self.W_o.weight.split(self.d_head, dim=1)
        output = sum(heads[:, i] @ part.T for i, part in enumerate(slices))
        output = output if self.W_o.bias is None else output + self.W_o.bias
        return output, weights
