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
# does
# in it.
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
