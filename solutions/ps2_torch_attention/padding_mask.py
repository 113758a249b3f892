"""The mask of a batch: sentences differ in length, and what fills them up is not a token.

A batch is one tensor, so that short sentences are padded to the length of the longest. Nobody
may attend to the padding.
"""

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from autograder import exercise


@exercise(points=4, order=3)
def padding_mask(lengths: Int[Tensor, "batch"], n_max: int) -> Bool[Tensor, "batch 1 n_max"]:
    """Mask of a batch of padded sequences.

    Args:
        lengths: shape (batch,), whole numbers: how many real tokens each sequence has, from 0
            to n_max. Real tokens come first, then the padding.
        n_max: the length that all sequences are padded to; it may be above all lengths.

    Returns:
        A tensor of truth values (`torch.bool`) of shape (batch, 1, n_max), to be used as `mask`
        of scaled_dot_product_attention: True where a real token stands. The axis of size 1
        stands for the queries: whatever may be attended to, every query may attend to it.
        `lengths` is left as it was.
    """
    positions = torch.arange(n_max)  # (n_max,), 0 for the first token
    real = positions < lengths[:, None]  # (n_max,) < (batch, 1) -> (batch, n_max)
    return real[:, None, :]  # (batch, 1, n_max)


# ---- cases ---------------------------------------------------------------------------------


@padding_mask.case(
    "three sequences of different lengths",
    separates=[
        "one_too_many",
        "one_too_few",
        "marks_the_padding",
        "padding_first",
        "no_query_axis",
        "queries_hidden",
        "axis_in_front",
        "head_axis_too",
        "both_hidden",
        "first_length_for_all",
        "numbers",
        "added_mask",
        "longest_is_enough",
        "last_token_alone",
    ],
)
def different_lengths(rng):
    return {"lengths": np.array([4, 1, 3]), "n_max": 6}


@padding_mask.case(
    "an empty sequence and a full one",
    separates=["one_too_many", "one_too_few", "marks_the_padding", "numbers"],
)
def empty_and_full(rng):
    return {"lengths": np.array([0, 5]), "n_max": 5}


@padding_mask.case(
    "as many sequences as tokens",
    separates=["queries_hidden", "no_query_axis", "first_length_for_all", "padding_first"],
)
def square(rng):
    return {"lengths": np.array([2, 4, 1, 3]), "n_max": 4}


@padding_mask.case(
    "some lengths more",
    separates=["one_too_many", "one_too_few", "marks_the_padding", "padding_first"],
    hidden=True,
)
def random_lengths(rng):
    lengths = rng.integers(1, 8, size=5)  # (5,)
    lengths[:2] = 2, 6  # neither all equal nor all full
    return {"lengths": lengths, "n_max": 8}


@padding_mask.case(
    "a single sequence",
    separates=["no_query_axis", "one_too_many", "squeezed"],
    hidden=True,
)
def single(rng):
    return {"lengths": np.array([int(rng.integers(1, 6))]), "n_max": 7}


@padding_mask.case("no padding at all", kind="robustness")
def no_padding(rng):
    return {"lengths": np.array([3, 3]), "n_max": 3}


@padding_mask.case("lengths of 32 bits", kind="robustness", hidden=True)
def small_integers(rng):
    return {"lengths": np.array([3, 5, 0, 1], dtype=np.int32), "n_max": 5}


# ---- misconceptions ------------------------------------------------------------------------


@padding_mask.misconception(
    "Counts one token too many: a sequence of length 3 has the positions 0, 1 and 2.",
    hint="How many True should the row of a sequence of length 1 have?",
    credit=0.5,
)
def one_too_many(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions <= lengths[:, None]
    return real[:, None, :]


@padding_mask.misconception(
    "Counts one token too few: positions are numbered from 1.",
    hint="How many True should the row of a sequence of length 1 have?",
    credit=0.5,
)
def one_too_few(lengths, n_max):
    positions = torch.arange(n_max) + 1
    real = positions < lengths[:, None]
    return real[:, None, :]


@padding_mask.misconception(
    "Marks the padding with True, as `key_padding_mask` of `nn.MultiheadAttention` does.",
    hint="What does True mean in the docstring?",
    credit=0.5,
)
def marks_the_padding(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions >= lengths[:, None]
    return real[:, None, :]


@padding_mask.misconception(
    "Takes the padding to stand before the tokens.",
    hint="Where do the real tokens stand: at the beginning, or at the end?",
    credit=0.25,
)
def padding_first(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions >= n_max - lengths[:, None]
    return real[:, None, :]


@padding_mask.misconception(
    "Leaves out the axis of the queries. With as many samples as tokens, such a mask is broadcast "
    "as (query, key) without a word.",
    hint="Broadcasting compares shapes from the right. Which axis of the scores meets the axis of "
    "your samples?",
    credit=0.5,
)
def no_query_axis(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions < lengths[:, None]
    return real


@padding_mask.misconception(
    "Puts the axis of size 1 last, so that the padding may not ask, but is attended to.",
    hint="Which axis of the scores counts keys, and what does padding have to be hidden as?",
    credit=0.25,
)
def queries_hidden(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions < lengths[:, None]
    return real[:, :, None]


@padding_mask.misconception(
    "Puts the axis of size 1 in front of the batch.",
    hint="Which axis of the scores counts samples?",
    credit=0.5,
    hidden=True,
)
def axis_in_front(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions < lengths[:, None]
    return real[None, :, :]


@padding_mask.misconception(
    "Adds an axis for heads too.",
    hint="Which shape does the docstring name?",
    credit=0.5,
    hidden=True,
)
def head_axis_too(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions < lengths[:, None]
    return real[:, None, None, :]


@padding_mask.misconception(
    "Makes a whole matrix for each sample, in which padded queries see nothing.",
    hint="What is left for softmax in a row that is wholly False? Which shape is asked for?",
    credit=0.25,
)
def both_hidden(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions < lengths[:, None]
    return real[:, None, :] & real[:, :, None]


@padding_mask.misconception(
    "Uses the first length for all samples.",
    hint="Do two rows of your mask ever differ?",
    credit=0.25,
)
def first_length_for_all(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions < lengths[0].expand(len(lengths))[:, None]
    return real[:, None, :]


@padding_mask.misconception(
    "Pads to the longest sequence of the batch, whatever n_max says.",
    hint="What does n_max do in your code?",
    credit=0.5,
)
def longest_is_enough(lengths, n_max):
    positions = torch.arange(int(lengths.max()))
    real = positions < lengths[:, None]
    return real[:, None, :]


@padding_mask.misconception(
    "Marks one token of each sequence instead of all that are real.",
    hint="How many True should the row of a sequence of length 3 have?",
    hidden=True,
)
def last_token_alone(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions == lengths[:, None] - 1
    return real[:, None, :]


@padding_mask.misconception(
    "Returns zeros and ones as numbers instead of truth values.",
    hint="Which dtype does the docstring ask for?",
    credit=0.75,
)
def numbers(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions < lengths[:, None]
    return real[:, None, :].float()


@padding_mask.misconception(
    "Makes a mask that is to be added to the scores: 0 at tokens, minus infinity at padding.",
    hint="What do the entries of the mask have to be according to the docstring?",
    credit=0.5,
    hidden=True,
)
def added_mask(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions < lengths[:, None]
    return torch.zeros(len(lengths), 1, n_max).masked_fill(~real[:, None, :], float("-inf"))


@padding_mask.misconception(
    "Drops axes of size 1, so that a batch of one sequence loses its batch axis.",
    hint="Which shape do you return for a batch of one?",
    credit=0.5,
    hidden=True,
)
def squeezed(lengths, n_max):
    positions = torch.arange(n_max)
    real = positions < lengths[:, None]
    return real.squeeze()[..., None, :]


# ---- right but unusual ---------------------------------------------------------------------


@padding_mask.alternative("row after row")
def row_after_row(lengths, n_max):
    mask = torch.zeros(len(lengths), 1, n_max, dtype=torch.bool)
    for row, length in zip(mask, lengths.tolist(), strict=True):
        row[:, :length] = True
    return mask


@padding_mask.alternative("one more step marks the end, and a running sum what comes before it")
def running_sum(lengths, n_max):
    ends = torch.nn.functional.one_hot(lengths.long(), n_max + 1)
    return (ends.cumsum(dim=1)[:, :-1] == 0).unsqueeze(1)


@padding_mask.alternative("the padding, inverted")
def inverted(lengths, n_max):
    padding = torch.arange(n_max).view(1, 1, -1) >= lengths.view(-1, 1, 1)
    return ~padding


@padding_mask.alternative("rows looked up in a triangle")
def looked_up(lengths, n_max):
    triangle = torch.ones(n_max + 1, n_max).tril(-1).bool()
    return triangle[lengths.long()][:, None]


@padding_mask.alternative("nested lists made into a tensor")
def nested_lists(lengths, n_max):
    return torch.tensor([[[place < length for place in range(n_max)]] for length in lengths])
