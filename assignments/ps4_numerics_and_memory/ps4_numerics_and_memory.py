"""Problem set 4: attention in the precision and the memory that a machine really has.

The exercises of ps4_numerics_and_memory.ipynb as a module. Hand in the notebook or this file;
check it with `pytest` or `autograder check` in this folder.
"""

import torch
from torch import nn
import numpy as np


# stable_softmax: 5 points
# Softmax that holds for every finite logit, in every floating dtype.
#
# The exponential of 12 is already too large for float16, that of 89 for float32. Shifting a slice
# by its own maximum changes nothing in the result, and leaves no exponent above 0. In half
# precision the sum needs room as well: 70,000 ones do not fit into float16.
def stable_softmax(x, dim=-1):
    """Softmax of the logits along `dim`.

    Args:
        x: any shape, float16, bfloat16, float32 or float64. Logits of ±10⁴ and entries of minus
            infinity are fine; a slice has at least one finite entry, and any length. A tensor
            of no axes, with dim=-1, gives 1.
        dim: the axis along which the result sums to 1.

    Returns:
        Shape and dtype of x. x itself is left as it was. softmax and log_softmax of the library
        are forbidden, in every form; logsumexp is not.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# masked_softmax: 6 points
# Softmax over the entries that the mask keeps; in half precision too, and for empty rows.
#
# The usual recipe, adding -1e9 to what is hidden, does not fit into float16, and turns a row with
# nothing visible into an average over everything. Here such a row has weights of zero.
def masked_softmax(scores, mask, dim=-1):
    """Softmax along `dim` over the visible entries; hidden ones get exactly 0.

    Args:
        scores: any shape, float16 to float64. Visible scores go down to -10⁴; a hidden one may
            be any number up to 10⁴ in size.
        mask: bool or 0/1 (integers or floats), broadcastable to the shape of scores; true means
            that the entry is visible.
        dim: the axis of the keys.

    Returns:
        Weights of the shape and dtype of scores. Visible entries of a slice sum to 1. A slice
        without any is all zeros. Hidden scores change neither the result nor a gradient, and
        gradients are finite everywhere. No argument is changed.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# pad_batch: 3 points
# Put sequences of different lengths into one tensor, and keep note of what is real.
#
# Everything after the last token of a sequence is padding: zeros that no query may attend to.
# The mask says where the real tokens stand.
def pad_batch(sequences):
    """One tensor of all sequences, and a mask of its real tokens.

    Args:
        sequences: a list of at least one tensor; sequence i has the shape (n_i, d), n_i ≥ 1.

    Returns:
        (padded, mask). padded has the shape (batch, n_max, d), n_max the longest length:
        the tokens of each sequence first, then zeros, in the dtype of the sequences. mask has
        the shape (batch, n_max) and the dtype torch.bool: true at real tokens, also where a
        real token happens to be all zeros. The order of the sequences stays.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# chunked_attention: 8 points
# Attention without its matrix: the keys come in chunks, and the softmax is kept up to date.
#
# At n_q = n_k = 32,768 the scores of one head take 4 GiB in float32. They are never needed all at
# once: for each query it is enough to remember the largest score so far, the sum of the
# exponentials, and the weighted sum of the values. When a larger score comes, both sums are
# rescaled. This is what FlashAttention does on a GPU.
def chunked_attention(Q, K, V, chunk_size):
    """Scaled dot-product attention, softmax(Q Kᵀ / √d_k) V, over `chunk_size` keys at a time.

    Args:
        Q: shape (..., n_q, d_k); any leading dimensions, none included.
        K: shape (..., n_k, d_k), the same leading dimensions.
        V: shape (..., n_k, d_v).
        chunk_size: keys of a chunk, at least 1; it need not divide n_k, and may be above it.

    Returns:
        The output alone, shape (..., n_q, d_v). No tensor with as many as n_q·n_k elements is
        ever made (where chunk_size is well below n_k). Right for large scores too, and
        differentiable. No argument is changed. The library's attention is forbidden.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# mixed_precision_attention: 5 points
# Attention on half-precision tensors that does not overflow on the way.
#
# With entries of size 16 to 48 and a width of 64, the product of a query and a key comes to
# some 70,000: beyond 65504, the largest float16, although scores and outputs are harmless once
# they are scaled. Half precision is for storing; sums are carried in float32.
def mixed_precision_attention(Q, K, V):
    """Scaled dot-product attention of half-precision tensors, as exact as their dtype allows.

    Args:
        Q: shape (..., n_q, d_k), float16 or bfloat16; any leading dimensions, none included.
        K: shape (..., n_k, d_k), the same dtype and leading dimensions.
        V: shape (..., n_k, d_v), the same dtype and leading dimensions.

    Returns:
        The output alone, shape (..., n_q, d_v), in the dtype of the inputs. Entries of Q, K and
        V may be up to 48 in size, with products of queries and keys beyond the largest float16.
        The output is right to 2 units in the last place of its dtype at the largest entry of V,
        plus a thousandth of that entry. The library's attention is forbidden.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# attention_flops: 2 points
# Count what one layer of self-attention computes.
#
# A multiply-add counts as two floating-point operations. Four projections and two products of
# matrices are all that matters; softmax, masks and biases are left out.
def attention_flops(n, d_model):
    """Floating-point operations of one self-attention layer, for one sequence.

    Args:
        n: number of tokens.
        d_model: width of a token. Queries, keys and values of all heads together are as wide,
            however many heads there are.

    Returns:
        A whole number: 2 for each multiply-add in the projections to queries, keys and values,
        in the product that gives the scores, in the one that mixes the values, and in the
        output projection.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# score_matrix_bytes: 1 points
# How much memory do the scores take?
#
# One number for each pair of a query and a key, in each head, for each sequence of the batch.
def score_matrix_bytes(batch, num_heads, n_q, n_k, bytes_per_element):
    """Bytes of one tensor of attention scores.

    Args:
        batch: sequences.
        num_heads: heads.
        n_q: queries of a sequence.
        n_k: keys of a sequence.
        bytes_per_element: 4 for float32, 2 for float16 and bfloat16.

    Returns:
        A whole number of bytes. (A kibibyte has 1024 of them.)
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# Questions. The notebook shows them with their formulas set.
# Those with numbers of your own are shown by `autograder check` in this folder.

# Some questions have numbers of your own, drawn from your student id. Write the id
# between the quotes, as your course knows you, and run this cell first.
student_id = ""

# All logits of a slice are equal, and the softmax is computed in float16 throughout, with its
# maximum subtracted. How many entries can the slice have before the sum of its exponentials goes
# beyond the largest float16? Give the number to the nearest thousand or better.
q_equal_logits = None  # a number

# Someone subtracts the maximum of the whole (n_q, n_k) matrix in float32 instead of each row's
# own. When does the result go wrong?
#
# - `"amber"`: Always; a shift changes the ratios between the weights of a row.
# - `"cedar"`: When a row lies so far below the largest one that all its exponentials become 0.
# - `"ivory"`: Never; softmax does not see any shift.
# - `"slate"`: When a score is larger than 88.
q_why_own_maximum = None  # one of the options, in quotes

# A row of float32 scores has nothing visible. Someone fills hidden entries with `-1e9`, applies
# softmax and multiplies with the values. What is the output of that row?
#
# - `"basil"`: zeros in every feature of the output
# - `"ember"`: what it would be if there were no mask
# - `"heron"`: the mean of all values, padding included
# - `"quartz"`: NaN in every feature of the output
q_empty_row = None  # one of the options, in quotes

# `torch.nan_to_num(torch.softmax(scores + added_mask, dim=-1))`, with minus infinity in the added
# mask, returns zeros for a row with nothing visible. What is wrong with it?
#
# - `"coral"`: The weights of the other rows no longer sum to 1.
# - `"maple"`: Nothing; the weights are right, and so is everything after them.
# - `"raven"`: The gradient of the scores in that row is NaN.
# - `"willow"`: nan_to_num also removes the minus infinities of the mask.
q_gradient_of_nan = None  # one of the options, in quotes

# Scores have the shape (batch, n_q, n_k), and a padding mask has the shape (batch, n_k). Someone
# writes `scores.masked_fill(~mask, lowest)`. When is this wrong *without an error*?
#
# - `"clover"`: When batch = n_k
# - `"flint"`: When batch = n_q
# - `"pearl"`: Always; PyTorch broadcasts from the left.
# - `"tawny"`: Never; the shapes of mask and scores have to be equal.
q_silent_broadcast = None  # one of the options, in quotes

# In chunked attention the largest score so far is 3 and the sum of exponentials (measured against
# it) is 2. The next chunk has the scores 5 and 4. What is the new sum of exponentials, measured
# against the new maximum? Give three decimals.
q_rescaling = None  # a number

# One query attends to a cache of ⟨n_k⟩ keys, in chunks of ⟨chunk⟩ keys. How many scores does the
# largest tensor of scores hold?
#
# *The numbers are your own: ⟨n_k⟩, ⟨chunk⟩ are shown below for your student id.*
q_chunk_memory = None  # a number

# Queries and keys are float16, of width 64, and their entries lie between 25 and 40. Which of
# these computes the scores so exactly that no weight is off by more than 0.01?
#
# - `"birch"`: Convert to bfloat16, multiply and divide there.
# - `"finch"`: Divide the queries by 8 in float16, then multiply in float16.
# - `"lotus"`: Convert to float32, multiply and divide there.
# - `"opal"`: Multiply in float16, then divide by 8.
q_half_types = None  # one of the options, in quotes

# One layer of self-attention takes 8·n·d² + 4·n²·d operations. For a width of d = ⟨d⟩, at which
# number of tokens n do the projections and the products over pairs of tokens cost the same?
#
# *The numbers are your own: ⟨d⟩ are shown below for your student id.*
q_projections_share = None  # a number

# How much memory does one tensor of scores take for a batch of ⟨batch⟩, with ⟨h⟩ heads, ⟨n⟩
# tokens and float16? Answer in bytes, or with a unit, in quotes, as in "20 MiB".
#
# *The numbers are your own: ⟨batch⟩, ⟨h⟩, ⟨n⟩ are shown below for your student id.*
q_scores_in_bytes = None  # a number of bytes

# Scores are `float16` and lie between -1000 and 1000, and every query has at least one visible
# key. `hidden` is true where a key must not be seen. Which of these lead to the right weights,
# with 0 for every hidden key? Choose all that do.
#
# - `"beetle"`: `torch.softmax(scores.masked_fill(hidden, -1000), dim=-1)`
# - `"cello"`: `torch.softmax(scores * ~hidden, dim=-1)`
# - `"gourd"`: `torch.exp(scores) * ~hidden / (torch.exp(scores) * ~hidden).sum(dim=-1,
#   keepdim=True)`
# - `"mango"`: `torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1)`
# - `"pixel"`: `torch.softmax(scores.masked_fill(hidden, -1e9), dim=-1)`
# - `"rowan"`: `torch.softmax(scores.float().masked_fill(hidden, -1e9), dim=-1).half()`
# - `"tapir"`: `torch.softmax(scores, dim=-1) * ~hidden`
# - `"umbra"`: `torch.softmax(scores.masked_fill(hidden, torch.finfo(scores.dtype).min), dim=-1)`
q_hides_safely = None  # every option that is right, in quotes, with commas between

# The two rows of scores are (0, ln 3, 5) and (2, 4, 1), and the rows of the mask are (1, 1, 0)
# and (0, 0, 0), where 1 means *keep*. What should `masked_softmax` return, row by row?
q_masked_rows = None  # a list of rows

# `pad_batch` is given three sequences of shapes (⟨a⟩, ⟨d⟩), (⟨b⟩, ⟨d⟩) and (⟨c⟩, ⟨d⟩). Which
# shape does the padded tensor have?
#
# *The numbers are your own: ⟨a⟩, ⟨b⟩, ⟨c⟩, ⟨d⟩ are shown below for your student id.*
q_padded_batch = None  # the sizes, in brackets

# `chunked_attention` keeps, for each query, the largest score so far, the sum of the exponentials
# and a weighted sum of values. Bring the steps of its last chunk into an order that is right.
# (Where more than one order is right, any of them counts.)
#
# - `"cherry"`: multiply both sums by exp(old maximum − new maximum)
# - `"dahlia"`: add the chunk's exponentials to the one sum, and its weighted values to the other
# - `"falcon"`: divide the weighted sum by the sum of the exponentials
# - `"magnet"`: find the new maximum, of the old one and the chunk's scores
# - `"nettle"`: compute the scores of the chunk
# - `"turtle"`: take the exponentials of the chunk's scores − new maximum
q_one_chunk = None  # every option once, in order, in quotes, with commas between

# One layer of self-attention takes $8nd^2 + 4n^2d$ operations for $n$ tokens of width $d$. Which
# **share** of them is spent on pairs of tokens, that is, on the term with $n^2$? Give a formula.
#
# Write it with `n`, `d`.
q_quadratic_share = None  # a formula, in quotes, of n, d
