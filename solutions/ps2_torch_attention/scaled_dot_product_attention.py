"""The formula of attention, for whole batches at once: softmax(Q Kᵀ / √d_k) V, with a mask.

Write it with tensor operations (`torch.softmax` is allowed). PyTorch's own attention is not:
`F.scaled_dot_product_attention`, `nn.MultiheadAttention` and `nn.Transformer…` are forbidden here.
"""

import math

import numpy as np
import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from autograder import Probe, exercise
from autograder.cases import changed_at, normal_tensor, visible_mask, with_gradients
from autograder.checks import exact_zeros, no_leak, not_negative, sums_to_one
from autograder.forbidden import LIBRARY_ATTENTION


@exercise(
    points=8,
    order=1,
    forbids=LIBRARY_ATTENTION,
    checks=[
        not_negative(line="no weight is negative", result=1),
        sums_to_one(axis=-1, line="each row of the weights sums to 1", result=1),
        exact_zeros(line="hidden keys get no weight", result=1),
        no_leak(
            line="what is hidden changes nothing",
            cases=["hidden_keys_changed"],
            changed="changing the keys and values that the mask hides",
        ),
    ],
)
def scaled_dot_product_attention(
    Q: Float[Tensor, "... n_q d_k"],
    K: Float[Tensor, "... n_k d_k"],
    V: Float[Tensor, "... n_k d_v"],
    mask: Shaped[Tensor, "..."] | None = None,
) -> tuple[Float[Tensor, "... n_q d_v"], Float[Tensor, "... n_q n_k"]]:
    """Scaled dot-product attention.

    Args:
        Q: shape (..., n_q, d_k), one query per row. There may be any leading dimensions, or
            none; Q, K and V have the same ones.
        K: shape (..., n_k, d_k), one key per row.
        V: shape (..., n_k, d_v), one value per row. d_v may differ from d_k.
        mask: None, or a tensor that can be broadcast to (..., n_q, n_k), of truth values or of
            zeros and ones of any dtype. True (or 1) means that the query may attend to the
            key. Every query may attend to at least one key.

    Returns:
        (output, weights): output has the shape (..., n_q, d_v), weights (..., n_q, n_k). Each
        row of the weights sums to 1 and is 0 where the mask is. Both have the dtype of Q, K
        and V, and gradients flow through both. No argument is changed.
    """
    d_k = Q.shape[-1]  # the number of features over which a score sums
    scores = Q @ K.transpose(-2, -1)  # (..., n_q, d_k) @ (..., d_k, n_k) -> (..., n_q, n_k)
    scores = scores / math.sqrt(d_k)  # (..., n_q, n_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))  # (..., n_q, n_k), exp(-inf) is 0
    weights = torch.softmax(scores, dim=-1)  # (..., n_q, n_k), each row sums to 1
    output = weights @ V  # (..., n_q, n_k) @ (..., n_k, d_v) -> (..., n_q, d_v)
    return output, weights


# The name above stands for the plain reference once the file has been read.
_exercise = scaled_dot_product_attention


def _tensors(rng, leading, n_q, n_k, d_k, d_v, dtype="float32", grad=False):
    """Normal queries, keys and values with the given leading dimensions."""
    shapes = {"Q": (n_q, d_k), "K": (n_k, d_k), "V": (n_k, d_v)}
    return {
        name: normal_tensor(rng, *leading, *shape, dtype=dtype, grad=grad)
        for name, shape in shapes.items()
    }


def _with_gradients(arguments):
    """One call, then the gradients of all three arguments through both results."""
    return with_gradients(_exercise, seed=3, **arguments)


# ---- cases ---------------------------------------------------------------------------------


@scaled_dot_product_attention.case(
    "five different sizes",
    separates=[
        "not_scaled",
        "by_d_k",
        "by_half_d_k",
        "by_value_width",
        "by_number_of_keys",
        "by_number_of_queries",
        "multiplied",
        "scaled_after_softmax",
        "over_queries",
        "over_everything",
        "over_the_batch",
        "softmax_twice",
        "keys_averaged",
        "queries_averaged",
        "roles_swapped",
        "reshaped_keys",
        "output_alone",
        "order_swapped",
        "scores_returned",
        "weights_transposed",
        "graph_cut",
        "weights_cut",
    ],
)
def different_sizes(rng):
    # b = 2, n_q = 3, n_k = 4, d_k = 6, d_v = 5; d_k = 4 would hide that d_k/2 is not its root
    return _with_gradients(_tensors(rng, (2,), 3, 4, 6, 5, grad=True))


@scaled_dot_product_attention.case(
    "no batch, as many queries as keys",
    separates=[
        "not_scaled",
        "over_queries",
        "roles_swapped",
        "attends_transposed",
        "queries_averaged",
        "weights_transposed",
        "only_three_axes",
        "axis_from_the_left",
    ],
)
def no_batch(rng):
    # transposed weights fit here: only the values tell
    return _tensors(rng, (), 4, 4, 3, 2)


@scaled_dot_product_attention.case(
    "two leading dimensions",
    separates=["only_three_axes", "axis_from_the_left", "axis_1", "over_everything"],
)
def two_leading(rng):
    return _tensors(rng, (3, 2), 2, 4, 5, 1)


@scaled_dot_product_attention.case(
    "all sizes equal",
    separates=[
        "keys_averaged",
        "queries_averaged",
        "keys_and_values_swapped",
        "roles_swapped",
        "attends_transposed",
        "batch_attended",
        "over_the_batch",
        "over_queries",
        "weights_transposed",
        "not_scaled",
        "reshaped_keys",
    ],
)
def one_size(rng):
    # mix-ups between the axes keep the right shape here: only the values tell
    return _tensors(rng, (3,), 3, 3, 3, 3)


@scaled_dot_product_attention.case(
    "a causal mask of truth values",
    separates=[
        "mask_ignored",
        "polarity_inverted",
        "hidden_scores_zero",
        "masked_after_softmax",
        "mask_added",
        "infinity_times_zero",
        "plus_infinity",
        "mask_changed",
        "mask_transposed",
        "mask_after_the_output",
    ],
)
def causal(rng):
    mask = np.tril(np.ones((3, 3), dtype=bool))
    return {**_tensors(rng, (2,), 3, 3, 4, 2), "mask": mask}


@scaled_dot_product_attention.case(
    "a mask for each sample: padding at the end",
    separates=[
        "first_mask_for_all",
        "mask_ignored",
        "polarity_inverted",
        "hidden_scores_zero",
        "masked_after_softmax",
        "mask_transposed",
    ],
)
def padding(rng):
    lengths = np.array([4, 2, 3])  # (3,), of 4 tokens each
    mask = (np.arange(4) < lengths[:, None])[:, None, :]  # (3, 1, 4)
    return {**_tensors(rng, (3,), 2, 4, 5, 2), "mask": mask}


@scaled_dot_product_attention.case(
    "other keys and values where they are hidden",
    separates=[
        "mask_ignored",
        "polarity_inverted",
        "hidden_scores_zero",
        "masked_after_softmax",
        "mask_after_the_output",
    ],
)
def hidden_keys_changed(rng):
    made = _tensors(rng, (2,), 3, 5, 4, 2)
    mask = np.array([True, False, True, True, False])  # (5,)
    hidden = np.s_[:, ~mask]
    other = {
        **made,
        "K": changed_at(rng, made["K"], hidden),
        "V": changed_at(rng, made["V"], hidden),
    }
    return [{**made, "mask": mask}, {**other, "mask": mask}]


@scaled_dot_product_attention.case(
    "a mask of zeros and ones for each query",
    separates=["only_truth_values", "mask_ignored", "polarity_inverted", "mask_changed"],
)
def zeros_and_ones(rng):
    mask = visible_mask(rng, 3, 5).astype(np.int64)
    return {**_tensors(rng, (2,), 3, 5, 2, 4), "mask": mask}


@scaled_dot_product_attention.case(
    "scores around +1000 and -1000, in float64",
    separates=["no_maximum", "global_maximum"],
)
def far_apart(rng):
    # exp overflows above 709.8 and underflows below -745.2: each row needs a maximum of its own
    arguments = _tensors(rng, (2,), 3, 4, 5, 2, dtype="float64")
    arguments["Q"][..., 0] = math.sqrt(5) * torch.tensor([1000.0, -1000.0, 0.0])
    arguments["K"][..., 0] = 1.0
    return arguments


@scaled_dot_product_attention.case(
    "float64, huge queries and tiny keys",
    separates=["single_precision", "not_scaled", "by_d_k"],
    hidden=True,
)
def double_precision(rng):
    # float32 ends at 3e38: there the queries are infinite and the keys 0
    made = _tensors(rng, (3,), 2, 5, 4, 6, dtype="float64")
    return {**made, "Q": 1e60 * made["Q"], "K": 1e-60 * made["K"]}


@scaled_dot_product_attention.case(
    "scores of a thousand, one key far above the others",
    separates=["no_maximum"],
    hidden=True,
)
def large(rng):
    # every row is saturated: weights of 0 and 1 do not depend on how the scores were rounded
    arguments = _tensors(rng, (2,), 3, 4, 6, 5)
    best = rng.integers(4, size=(2, 3))  # (2, 3), the key that each query finds
    K = torch.eye(4, 6).repeat(2, 1, 1)  # (2, 4, 6)
    Q = 1000 * math.sqrt(6) * torch.eye(4, 6)[torch.tensor(best)]  # (2, 3, 6)
    return {**arguments, "Q": Q, "K": K}


@scaled_dot_product_attention.case(
    "a mask of 0.0 and 1.0 for each sample, query and key",
    separates=["only_truth_values", "first_mask_for_all", "mask_ignored", "polarity_inverted"],
    hidden=True,
)
def floating_mask(rng):
    mask = visible_mask(rng, 3, 2, 6).astype(np.float32)
    return _with_gradients({**_tensors(rng, (3,), 2, 6, 3, 4, grad=True), "mask": mask})


@scaled_dot_product_attention.case(
    "padding, with as many samples as tokens",
    separates=["first_mask_for_all", "mask_transposed", "mask_ignored", "batch_attended"],
    hidden=True,
)
def padding_in_a_square(rng):
    # a mask put along the wrong axis is broadcast here without a word
    mask = (np.arange(4) < np.array([2, 4, 1, 3])[:, None])[:, None, :]  # (4, 1, 4)
    return {**_tensors(rng, (4,), 4, 4, 3, 2), "mask": mask}


@scaled_dot_product_attention.case(
    "two leading dimensions, a mask for each sample",
    separates=["first_mask_for_all", "mask_ignored", "only_three_axes", "axis_from_the_left"],
    hidden=True,
)
def two_leading_masked(rng):
    mask = (np.arange(5) < np.array([5, 2])[:, None])[:, None, None, :]  # (2, 1, 1, 5)
    return {**_tensors(rng, (2, 3), 4, 5, 2, 3), "mask": mask}


@scaled_dot_product_attention.case(
    "one sample, one query",
    separates=["squeezed", "not_scaled", "by_number_of_queries"],
    hidden=True,
)
def one_query(rng):
    return _tensors(rng, (1,), 1, 4, 3, 2)


@scaled_dot_product_attention.case(
    "as many keys as features",
    separates=["by_number_of_queries", "by_value_width", "not_scaled"],
    hidden=True,
)
def keys_like_features(rng):
    return _tensors(rng, (3,), 2, 5, 5, 4)


@scaled_dot_product_attention.case(
    "queries, keys and values of one width",
    separates=["keys_averaged", "keys_and_values_swapped", "by_number_of_keys"],
    hidden=True,
)
def one_width(rng):
    return _with_gradients(_tensors(rng, (2,), 3, 5, 4, 4, grad=True))


@scaled_dot_product_attention.case("one visible key for each query", kind="robustness", hidden=True)
def one_visible(rng):
    mask = np.eye(4, dtype=bool)[rng.integers(4, size=3)]  # (3, 4)
    return {**_tensors(rng, (2,), 3, 4, 2, 5), "mask": mask}


@scaled_dot_product_attention.case("tiny queries and keys", kind="robustness", hidden=True)
def tiny(rng):
    made = _tensors(rng, (2,), 3, 4, 5, 2)
    return {**made, "Q": 1e-3 * made["Q"], "K": 1e-3 * made["K"]}


@scaled_dot_product_attention.case("a mask that hides nothing", kind="robustness", hidden=True)
def nothing_hidden(rng):
    return {**_tensors(rng, (2,), 3, 4, 5, 2), "mask": np.ones((1, 3, 4), dtype=bool)}


@scaled_dot_product_attention.case("a single key", kind="robustness", hidden=True)
def single_key(rng):
    return _tensors(rng, (2,), 3, 1, 4, 2)


@scaled_dot_product_attention.case("queries and keys of width 1", kind="robustness", hidden=True)
def width_one(rng):
    return _tensors(rng, (2,), 3, 4, 1, 2)


@scaled_dot_product_attention.case("called again, with new numbers", kind="robustness", hidden=True)
def called_again(rng):
    # a result that is remembered, by nothing or by shapes alone, would come back
    first, second = (_tensors(rng, (2,), 3, 4, 5, 2) for _ in range(2))
    return [first, first, second]


VIEWS = """
def transposed(tensor):
    return tensor.transpose(-2, -1)


def every_other(tensor):
    return tensor[:, ::2]
"""


@scaled_dot_product_attention.case("views that are not contiguous", kind="robustness", hidden=True)
def views(rng):
    def view(name, *shape):
        return Probe(VIEWS, name, (normal_tensor(rng, *shape, grad=True),))

    return _with_gradients(
        {
            "Q": view("transposed", 2, 5, 3),  # (2, 3, 5)
            "K": view("transposed", 2, 5, 4),  # (2, 4, 5)
            "V": view("every_other", 2, 8, 2),  # (2, 4, 2)
            "mask": visible_mask(rng, 3, 4),
        }
    )


# ---- misconceptions: the scale -------------------------------------------------------------


@scaled_dot_product_attention.misconception(
    "Leaves out the scale.",
    hint="With wide queries and keys your weights are almost 0 and 1. What does the formula do to "
    "the scores before the softmax?",
    credit=0.5,
)
def not_scaled(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Divides by d_k without the root, or scales twice.",
    hint="By how much do the scores of wide vectors spread: by their width, or by its root? And "
    "how often do you divide?",
    credit=0.5,
)
def by_d_k(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / d_k
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Divides by half of d_k: a power is taken before a division.",
    hint="What does Python give for `16 ** 1 / 2`, and which of the two operations comes first?",
    credit=0.5,
    hidden=True,
)
def by_half_d_k(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / (d_k**1 / 2)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Takes the scale from the width of the values.",
    hint="Do the values take part in a score?",
    credit=0.5,
)
def by_value_width(Q, K, V, mask=None):
    d_k = V.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Takes the scale from the number of keys.",
    hint="Which axis of the keys counts keys, and which one their features? Over which of the two "
    "does a score sum?",
    credit=0.5,
)
def by_number_of_keys(Q, K, V, mask=None):
    d_k = K.shape[-2]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Takes the scale from the number of queries.",
    hint="Which axis of the queries counts queries, and which one their features? Over which of "
    "the two does a score sum?",
    credit=0.5,
    hidden=True,
)
def by_number_of_queries(Q, K, V, mask=None):
    d_k = Q.shape[-2]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Multiplies by the root of d_k instead of dividing.",
    hint="Scores of wide vectors are large already. Should the scale make them larger or smaller?",
    credit=0.5,
)
def multiplied(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores * math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Scales after the softmax, so that the weights no longer sum to 1.",
    hint="What should a row of the weights sum to, and what does yours sum to?",
    credit=0.25,
)
def scaled_after_softmax(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1) / math.sqrt(d_k)
    output = weights @ V
    return output, weights


# ---- misconceptions: the softmax -----------------------------------------------------------


@scaled_dot_product_attention.misconception(
    "Normalises over the queries instead of the keys.",
    hint="Along which axis do your weights sum to 1? Whose shares have to sum to 1: those of one "
    "query, or those of one key?",
    credit=0.25,
)
def over_queries(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-2)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Normalises over queries and keys together: a whole matrix sums to 1.",
    hint="Each query has a budget of its own. What does one row of your weights sum to?",
    credit=0.25,
)
def over_everything(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores.flatten(-2), dim=-1).view_as(scores)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Normalises over the first axis, which counts samples when there is a batch.",
    hint="What does axis 0 count in a batch? Change one sample: do the weights of another move?",
    credit=0.25,
)
def over_the_batch(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=0)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Normalises over axis 1, which holds the keys only when there is no batch.",
    hint="With one leading dimension more, what does axis 1 count? From which end does the place "
    "of the keys not depend on the leading dimensions?",
    credit=0.25,
    hidden=True,
)
def axis_1(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Normalises over axis 2, which holds the keys only when there is one leading dimension.",
    hint="Your function has to work without a batch, and with two leading dimensions. From which "
    "end does the place of the keys stay the same?",
    credit=0.5,
)
def axis_from_the_left(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=2)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Applies softmax twice.",
    hint="The weights are a distribution after the first softmax. What does a second one do to it?",
    credit=0.25,
)
def softmax_twice(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(torch.softmax(scores, dim=-1), dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Computes its own softmax without the shift, which overflows for large scores.",
    hint="What is exp(1000) in floating point? Which number may be taken off all scores of a query "
    "without changing its weights?",
    credit=0.5,
)
def no_maximum(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.exp(scores) / torch.exp(scores).sum(dim=-1, keepdim=True)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Shifts all scores by one global maximum, so that the exponentials of a query far below it "
    "underflow to 0.",
    hint="One query scores around +1000 and another around -1000. What is left of the second "
    "after your shift?",
    credit=0.5,
)
def global_maximum(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    exponentials = torch.exp(scores - scores.max())
    weights = exponentials / exponentials.sum(dim=-1, keepdim=True)
    output = weights @ V
    return output, weights


# ---- misconceptions: the mask --------------------------------------------------------------


@scaled_dot_product_attention.misconception(
    "The mask has no effect: it is not used, or the result of a fill that does not work in place "
    "is thrown away.",
    hint="Print the scores before and after the line with the mask. Did they change?",
    credit=0.5,
)
def mask_ignored(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Reads the mask the other way round: it hides what may be attended to.",
    hint="What does True mean in the docstring? Which entries do you fill?",
    credit=0.5,
)
def polarity_inverted(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 1, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Gives hidden keys the score 0, or nearly 0: the mask is multiplied into the scores, or the "
    "fill is tiny instead of hugely negative.",
    hint="Which weight does a score of 0 get when the other scores are negative? Which score makes "
    "the exponential vanish?",
    credit=0.25,
)
def hidden_scores_zero(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores * mask
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Masks after the softmax without normalising again: rows with hidden keys sum to less than 1.",
    hint="A hidden key took a share of the budget before you removed it. Who gets that share?",
    credit=0.25,
)
def masked_after_softmax(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(mask == 0, 0.0)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Adds the mask to the scores: a visible key gains 1 and a hidden one stays.",
    hint="By how much do you lower the score of a hidden key, and is its weight 0 then?",
    credit=0.25,
    hidden=True,
)
def mask_added(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores + mask
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Multiplies infinity by 0, which is NaN, at every visible key.",
    hint="What is 0 times infinity in floating point? Which operation puts a number only where you "
    "want it?",
    credit=0.25,
)
def infinity_times_zero(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores + (mask == 0) * float("-inf")
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Fills hidden keys with plus infinity.",
    hint="Which sign must a score have for its exponential to vanish?",
    credit=0.25,
    hidden=True,
)
def plus_infinity(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Inverts the mask in place, so that the caller's mask is another one afterwards.",
    hint="Call it twice with the same mask. Which operations of PyTorch end in an underscore?",
    credit=0.5,
)
def mask_changed(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not_() == 1, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Uses the mask of the first sample for all samples.",
    hint="Give two samples of different lengths. Does the second one attend to its own padding?",
    credit=0.5,
)
def first_mask_for_all(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        mask = mask[0] if mask.dim() > 2 else mask
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Swaps queries and keys in the mask: it hides queries, not keys.",
    hint="Which axis of the mask counts keys? With a causal mask, can token 0 see what comes "
    "after it?",
    credit=0.25,
)
def mask_transposed(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask.transpose(-2, -1) == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Inverts the mask with `~`, which works for truth values only.",
    hint="What does `~` make of the whole number 1? Which comparison turns zeros and ones into "
    "truth values?",
    credit=0.75,
)
def only_truth_values(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Hides the keys that the mask shows: the mask goes into the fill as it is, which works for "
    "truth values only, besides.",
    hint="Which entries does `masked_fill` fill: those where the mask is true, or those where it "
    "is false?",
    credit=0.25,
)
def shown_keys_hidden(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Asks whether the mask itself is true, which a tensor of several entries cannot say.",
    hint="What do you want to know of the mask: what is in it, or whether there is one?",
    credit=0.5,
    hidden=True,
)
def mask_as_a_condition(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Masks only the weights that it returns: the output has seen the hidden keys.",
    hint="Which line mixes the values, and has the mask come before it?",
    credit=0.25,
    hidden=True,
)
def mask_after_the_output(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    output = torch.softmax(scores, dim=-1) @ V
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return output, weights


# ---- misconceptions: roles, axes and results -----------------------------------------------


@scaled_dot_product_attention.misconception(
    "Swaps the roles of queries and keys in the scores.",
    hint="Row i must belong to query i. How many rows do your scores have?",
    credit=0.5,
)
def roles_swapped(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = K @ Q.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Mixes the keys instead of the values.",
    hint="What is a key for, and what is collected once the weights are known?",
    credit=0.25,
)
def keys_averaged(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ K
    return output, weights


@scaled_dot_product_attention.misconception(
    "Mixes the queries instead of the values.",
    hint="What is a query for, and what is collected once the weights are known?",
    credit=0.25,
    hidden=True,
)
def queries_averaged(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ Q
    return output, weights


@scaled_dot_product_attention.misconception(
    "Compares queries with the values and mixes the keys.",
    hint="In which order do the arguments come, and which of them is a query compared with?",
    credit=0.25,
    hidden=True,
)
def keys_and_values_swapped(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ V.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ K
    return output, weights


@scaled_dot_product_attention.misconception(
    "Brings the keys into the transposed shape by reshaping, which scatters their features.",
    hint="Reshape a small matrix of the numbers 0 to 5, and transpose it. Are the two equal?",
    credit=0.25,
)
def reshaped_keys(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.reshape(*K.shape[:-2], K.shape[-1], K.shape[-2])
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Turns all axes of the keys around, the batch included, as `.T` does.",
    hint="Which two axes have to change places, and what does `.T` do to a tensor with three axes?",
    credit=0.5,
)
def all_axes_reversed(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.permute(*range(K.dim() - 1, -1, -1))
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Attends over the batch instead of the tokens, as if tensors were (tokens, batch, features).",
    hint="Change one sample of the batch. Does the output of another sample move?",
    credit=0.25,
    hidden=True,
)
def batch_attended(Q, K, V, mask=None):
    Q, K, V = Q.transpose(0, -2), K.transpose(0, -2), V.transpose(0, -2)
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output.transpose(0, -2), weights


@scaled_dot_product_attention.misconception(
    "Counts axes from the left, so that it works with exactly one leading dimension.",
    hint="Which axes are the last two when there is no batch, and when there are heads as well?",
    credit=0.5,
)
def only_three_axes(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = torch.bmm(Q, K.transpose(1, 2))
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Mixes the values with the transposed weights.",
    hint="Output i must use the weights of query i. Are those a row or a column here?",
    credit=0.25,
)
def attends_transposed(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights.transpose(-2, -1) @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Gets the output right but returns the weights transposed, as in the column layout.",
    hint="Rows belong to queries here. Which axis of your second result sums to 1?",
    credit=0.5,
)
def weights_transposed(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights.transpose(-2, -1)


@scaled_dot_product_attention.misconception(
    "Returns the output alone.",
    hint="How many results does the docstring name?",
    credit=0.5,
)
def output_alone(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output


@scaled_dot_product_attention.misconception(
    "Returns weights and output in the wrong order.",
    hint="Which of the two results does the docstring name first?",
    credit=0.5,
)
def order_swapped(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return weights, output


@scaled_dot_product_attention.misconception(
    "Returns the scaled scores in place of the weights.",
    hint="Can a weight be negative? Look at the second result.",
    credit=0.5,
)
def scores_returned(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, scores


@scaled_dot_product_attention.misconception(
    "Drops axes of size 1 from the results.",
    hint="Which shape do you return for a batch of one sample?",
    credit=0.5,
    hidden=True,
)
def squeezed(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output.squeeze(), weights.squeeze()


# ---- misconceptions: gradients and dtypes --------------------------------------------------


@scaled_dot_product_attention.misconception(
    "Cuts the graph: no gradient flows, since the result comes out of detach, no_grad or NumPy.",
    hint="Set requires_grad on a query and look at the result: does it have a grad_fn?",
    credit=0.5,
)
def graph_cut(Q, K, V, mask=None):
    Q, K, V = Q.detach(), K.detach(), V.detach()
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Detaches the weights, so that queries and keys cannot learn.",
    hint="Which of the three arguments gets a gradient, and what cuts off the other two?",
    credit=0.5,
    hidden=True,
)
def weights_cut(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1).detach()
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Converts everything to float32, whatever dtype comes in.",
    hint="Call it with float64 tensors. Which dtype comes back, and which line changes it?",
    credit=0.5,
    hidden=True,
)
def single_precision(Q, K, V, mask=None):
    Q, K, V = Q.float(), K.float(), V.float()
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


# ---- misconceptions: a finite number in place of minus infinity ----------------------------

# Where a mistake hides a whole slice, minus infinity gives NaN and a large number gives equal
# weights. Students write both, so these mistakes stand here a second time.


@scaled_dot_product_attention.misconception(
    "Reads the mask the other way round: it hides what may be seen.",
    hint="What does true mean in the mask, and where do you put the large negative number?",
    credit=0.25,
)
def polarity_inverted_filled(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 1, -1e9)
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Hides the keys that the mask shows: the mask goes into the fill as it is, which works for "
    "truth values only, besides.",
    hint="Which entries does `masked_fill` fill: those where the mask is true, or those where it "
    "is false?",
    credit=0.25,
)
def shown_keys_hidden_filled(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask, -1e9)
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Normalises over the queries instead of the keys.",
    hint="Along which axis do your weights sum to 1? Whose shares have to sum to 1: those of one "
    "query, or those of one key?",
    credit=0.25,
)
def over_queries_filled(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-2)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Normalises over axis 1, which holds the keys only when there is no batch.",
    hint="With one leading dimension more, what does axis 1 count? From which end does the place "
    "of the keys not depend on the leading dimensions?",
    credit=0.25,
)
def axis_1_filled(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=1)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Normalises over the first axis, which counts samples when there is a batch.",
    hint="What does axis 0 count in a batch? Change one sample: do the weights of another move?",
    credit=0.25,
)
def over_the_batch_filled(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=0)
    output = weights @ V
    return output, weights


@scaled_dot_product_attention.misconception(
    "Takes three sizes out of the shape, so that it works with exactly one leading dimension.",
    hint="How many axes does Q have without a batch, and how many with heads? From which end can "
    "you count?",
    credit=0.5,
)
def three_axes_unpacked(Q, K, V, mask=None):
    _, _, d_k = Q.shape
    scores = Q @ K.transpose(-2, -1)
    scores = scores / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    output = weights @ V
    return output, weights


# ---- right but unusual ---------------------------------------------------------------------


@scaled_dot_product_attention.alternative("einsum, the scale split between queries and keys")
def split_scale(Q, K, V, mask=None):
    quarter = Q.shape[-1] ** -0.25
    scores = torch.einsum("...qd,...kd->...qk", quarter * Q, quarter * K)
    if mask is not None:
        scores = torch.where(mask.bool(), scores, -1e9)
    weights = scores.softmax(-1)
    return torch.einsum("...qk,...kv->...qv", weights, V), weights


@scaled_dot_product_attention.alternative("a mask that is added, in a list of two results")
def additive_mask(Q, K, V, mask=None):
    scores = torch.matmul(Q * Q.size(-1) ** -0.5, K.mT)
    if mask is not None:
        scores = scores + (1.0 - mask.to(scores.dtype)) * torch.finfo(scores.dtype).min
    weights = torch.nn.functional.softmax(scores, dim=-1)
    return [torch.matmul(weights, V), weights]


@scaled_dot_product_attention.alternative("the mask multiplied into the exponentials, then a sum")
def masked_exponentials(Q, K, V, mask=None):
    scores = Q @ K.swapaxes(-1, -2) / Q.shape[-1] ** 0.5
    exponentials = torch.exp(scores - scores.amax(-1, keepdim=True).detach())
    if mask is not None:
        exponentials = exponentials * mask
    totals = exponentials.sum(-1, keepdim=True)
    return exponentials @ V / totals, exponentials / totals


@scaled_dot_product_attention.alternative("softmax first, then the mask, then normalised again")
def normalised_again(Q, K, V, mask=None):
    weights = torch.softmax(Q @ K.mT / Q.new_tensor(Q.shape[-1]).sqrt(), -1)
    if mask is not None:
        weights = weights * mask.expand_as(weights)
        weights = weights / weights.sum(-1, keepdim=True)
    return weights @ V, weights


@scaled_dot_product_attention.alternative("sample after sample, with baddbmm and powers of 2")
def sample_by_sample(Q, K, V, mask=None):
    *leading, n_q, d_k = Q.shape
    n_k, d_v = V.shape[-2:]
    q, k = Q.reshape(-1, n_q, d_k), K.reshape(-1, n_k, d_k)
    bias = torch.zeros((), dtype=Q.dtype)
    if mask is not None:
        shown = mask.expand(*leading, n_q, n_k).reshape(-1, n_q, n_k) > 0
        bias = torch.zeros(shown.shape, dtype=Q.dtype).masked_fill(~shown, -1e30)
    scores = torch.baddbmm(bias, q, k.transpose(1, 2), alpha=1 / math.sqrt(d_k))
    rows = []
    for sample in scores:
        powers = torch.exp2(math.log2(math.e) * (sample - sample.max(1, keepdim=True)[0]))
        rows.append(powers / powers.sum(1, keepdim=True))
    weights = torch.stack(rows).reshape(*leading, n_q, n_k)
    return weights @ V, weights


@scaled_dot_product_attention.alternative("query by query over the visible keys alone")
def visible_keys_alone(Q, K, V, mask=None):
    if Q.dim() > 2:
        shape = (*Q.shape[:-1], K.shape[-2])
        masks = [None] * Q.shape[0] if mask is None else mask.expand(shape)
        pairs = [visible_keys_alone(*parts) for parts in zip(Q, K, V, masks, strict=True)]
        return torch.stack([pair[0] for pair in pairs]), torch.stack([pair[1] for pair in pairs])
    n_q, n_k = Q.shape[0], K.shape[0]
    mask = torch.ones(n_q, n_k) if mask is None else mask.expand(n_q, n_k)
    outputs, weights = [], []
    for query, row in zip(Q, mask, strict=True):
        visible = row.nonzero().squeeze(1)
        shares = torch.softmax(K[visible] @ query / math.sqrt(K.shape[1]), 0)
        weights.append(torch.zeros(n_k, dtype=Q.dtype).index_add(0, visible, shares))
        outputs.append(shares @ V[visible])
    return torch.stack(outputs), torch.stack(weights)


@scaled_dot_product_attention.alternative("an online softmax, key after key")
def online(Q, K, V, mask=None):
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(torch.logical_not(mask), -torch.inf)
    largest = torch.full_like(scores[..., :1], torch.finfo(scores.dtype).min)
    total = torch.zeros_like(largest)
    output = torch.zeros(*Q.shape[:-1], V.shape[-1], dtype=Q.dtype)
    for key in range(K.shape[-2]):
        score = scores[..., key : key + 1]
        new = torch.maximum(largest, score)
        shrink, share = torch.exp(largest - new), torch.exp(score - new)
        total = total * shrink + share
        output = output * shrink + share * V[..., key : key + 1, :]
        largest = new
    return output / total, torch.exp(scores - largest) / total
