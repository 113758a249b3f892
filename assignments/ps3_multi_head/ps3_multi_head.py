"""Problem set 3: multi-head attention.

The exercises of ps3_multi_head.ipynb as a module. Hand in the notebook or this file;
check it with `pytest` or `autograder check` in this folder.
"""

import numpy as np
import torch
from torch import nn


# split_heads: 2 points
# Cut the features of every token into heads, without mixing tokens.
#
# Head 0 gets the first d_head features of each token, head 1 the next d_head, and so on. It looks
# like a single reshape. Try what a reshape alone does to two tokens before you believe it.
def split_heads(x, num_heads):
    """Cut the last axis into heads and put the head axis in front of the tokens.

    Args:
        x: shape (batch, n, h·d_head), one token per row.
        num_heads: h, the number of heads. It divides the width of `x`.

    Returns:
        Shape (batch, h, n, d_head), of the same dtype. Entry [b, i, t] holds the features
        i·d_head to (i + 1)·d_head of token t in sample b. Gradients flow back to `x`, which is
        left as it was.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# concat_heads: 2 points
# Put the heads of every token side by side again: the way back from `split_heads`.
#
# A head is a stretch of features. Concatenating them gives each token its full width back, so
# that the next layer can mix what different heads have found.
def concat_heads(heads):
    """Concatenate the heads of every token: the inverse of `split_heads`.

    Args:
        heads: shape (batch, h, n, d_head).

    Returns:
        Shape (batch, n, h·d_head), of the same dtype. Row t holds the d_head features of token
        t from head 0, then those from head 1, and so on. Gradients flow back to `heads`, which
        is left as it was.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# multi_head_formula: 5 points
# Multi-head attention as the formula stands, with a matrix of its own for every head.
#
# Each head projects the tokens with its own three matrices and attends by itself. What the heads
# found is put side by side, and W_o mixes it: Concat(head_1, ..., head_h) W_o.
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    """Multi-head self-attention of the tokens in x, without a mask.

    Args:
        x: shape (n, d), one token per row.
        W_q: h matrices of shape (d, d_k), one for each head. The queries of head i are the rows
            of `x @ W_q[i]`.
        W_k: h matrices of shape (d, d_k), for the keys.
        W_v: h matrices of shape (d, d_v), for the values. d_v may differ from d_k.
        W_o: shape (h·d_v, d), mixes the concatenated heads.

    Returns:
        Shape (n, d), of the same dtype as `x`. Scores are divided by the square root of d_k and
        may be large. Heads are concatenated in the order of the lists. Gradients flow back to
        all arguments, which are left as they were.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# MultiHeadAttention: 10 points
# The layer that models use: all heads' projections in four matrices, any mask, any source of
# keys.
#
# It computes what the formula above says, for a batch and without a loop over the heads. Your
# `split_heads` and `concat_heads` do the rest.
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
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, query, key=None, value=None, mask=None):
        # YOUR CODE HERE
        raise NotImplementedError()


# count_parameters: 2 points
# How many numbers does training adjust in a multi-head attention layer?
#
# Write it as a formula, without building the layer. Then ask yourself what the number of heads
# does in it.
def count_parameters(d_model, num_heads, bias=True):
    """Number of parameters of `MultiHeadAttention(d_model, num_heads, bias)`.

    Args:
        d_model: the width of the tokens.
        num_heads: the number of heads. It divides `d_model`.
        bias: whether the four layers W_q, W_k, W_v and W_o have biases.

    Returns:
        The number of weights and biases in the four layers together, a whole number.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# Questions. The notebook shows them with their formulas set.
# Those with numbers of your own are shown by `autograder check` in this folder.

# Some questions have numbers of your own, drawn from your student id. Write the id
# between the quotes, as your course knows you, and run this cell first.
student_id = ""

# One sample holds two tokens of four features: token 0 is (0, 1, 2, 3) and token 1 is (10, 11,
# 12, 13). `split_heads` cuts them into two heads. What is head 1, one row for each token?
q_two_tokens = None  # a list of rows

# Somebody leaves out $W_o$ and returns the concatenated heads, which have the right width
# already. What can the layer no longer do?
#
# - `"basalt"`: Nothing is lost, because a concatenation holds everything that the heads found.
# - `"clover"`: Attend to several tokens at once.
# - `"ribbon"`: Keep the number of parameters independent of the number of heads.
# - `"walnut"`: Combine in one feature of the output what different heads have found.
q_output_layer = None  # one of the options, in quotes

# A layer has d_model = ⟨d_model⟩ and ⟨h⟩ heads. By which number are its scores divided?
#
# *The numbers are your own: ⟨d_model⟩, ⟨h⟩ are shown below for your student id.*
q_scale_of_a_head = None  # a number

# A layer with d_model = 64 and ⟨h⟩ heads gets a query of shape (⟨batch⟩, ⟨n_q⟩, 64) and a key of
# shape (⟨batch⟩, ⟨n_k⟩, 64), and nothing else. Which shape do the **weights** have that come
# back?
#
# *The numbers are your own: ⟨batch⟩, ⟨h⟩, ⟨n_q⟩, ⟨n_k⟩ are shown below for your student id.*
q_cross_shape = None  # the sizes, in brackets

# The scores have shape (batch, h, n, n), and the mask has shape (batch, n, n), one matrix for
# each sample. Somebody applies the mask as it is. The batch happens to hold 8 samples, and there
# are 8 heads. What happens?
#
# - `"cobalt"`: No error, and all is right, since every sample uses its own mask in all heads.
# - `"heather"`: No error; every sample and every head uses the mask of sample 0.
# - `"juniper"`: PyTorch raises an error, because the mask has one axis less than the scores.
# - `"marble"`: No error; head i uses the mask of sample i, in every sample.
q_silent_mask = None  # one of the options, in quotes

# A layer with dropout = 0.2 is in training mode. What do the rows of the weights sum to **after**
# dropout, when the values are mixed?
#
# - `"quartz"`: To different numbers, below 1 or above it, and to 1 on average.
# - `"saddle"`: To 1, because the weights that are left are normalised again.
# - `"timber"`: To 0.8, because a fifth of the weights is zero.
# - `"velvet"`: To 1.25, because weights are divided by 0.8.
q_dropped_rows = None  # one of the options, in quotes

# How many parameters does `MultiHeadAttention(⟨d_model⟩, ⟨h⟩, bias=False)` have?
#
# *The numbers are your own: ⟨d_model⟩, ⟨h⟩ are shown below for your student id.*
q_parameters = None  # a number

# Somebody compares a layer of 8 heads with a layer of a single head **without** an output layer,
# both with d_model = 512 and without biases, and finds that "more heads cost more parameters".
# How many fewer parameters does the layer with the single head have?
q_single_head = None  # a number

# An image is cut into n = 196 patches, and d_model = 512. How many times as much as the two
# products with n² (scores, and weights times values) do the four projections of a layer cost, in
# multiplications and additions? Two digits are enough.
q_projections_or_scores = None  # a number

# One sequence of n = 8192 tokens goes through a layer with 8 heads, in float32. How many **GiB**
# (1 GiB = 2³⁰ bytes) does the tensor of its scores take?
q_score_memory = None  # a number

# A layer of multi-head self-attention gets the tokens of a sentence in another order: no mask, no
# positions. What happens to its output?
#
# - `"almond"`: Nothing; a sum over all tokens does not depend on their order.
# - `"harvest"`: It changes altogether, because every query meets the keys in another order.
# - `"sandal"`: It is permuted in the same way; every token gets the output that it had before.
# - `"willow"`: With one head it is permuted; with several heads, the heads are permuted as well.
q_permuted = None  # one of the options, in quotes

# `multi_head_formula` is given $h$ matrices `W_q` and $h$ matrices `W_k` of shape $(d, d_k)$, $h$
# matrices `W_v` of shape $(d, d_v)$, and one `W_o` of shape $(h \cdot d_v, d)$. How many numbers
# are that together? Give a formula.
#
# Write it with `d`, `d_k`, `d_v`, `h`.
q_formula_weights = None  # a formula, in quotes, of d, d_k, d_v, h

# A layer keeps its d_model of 512, and the number of heads goes from 8 to 16. What changes?
# Choose all that does.
#
# - `"basil"`: the number that scores are divided by
# - `"ginger"`: the shape of `W_o.weight`
# - `"jackal"`: the shape of the output
# - `"marrow"`: how many flops the products of queries and keys take
# - `"onyx"`: how much memory the scores take
# - `"pebble"`: how many keys one head shows to a query
# - `"spruce"`: the number of parameters
# - `"velour"`: how wide one head is
q_more_heads = None  # every option that is right, in quotes, with commas between
