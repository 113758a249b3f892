"""Problem set 2: attention in PyTorch, one row per token.

The exercises of ps2_torch_attention.ipynb as a module. Hand in the notebook or this file;
check it with `pytest` or `autograder check` in this folder.
"""

import numpy as np
import torch
from torch import nn


# scaled_dot_product_attention: 8 points
# The formula of attention, for whole batches at once: softmax(Q Kᵀ / √d_k) V, with a mask.
#
# Write it with tensor operations (`torch.softmax` is allowed). PyTorch's own attention is not:
# `F.scaled_dot_product_attention`, `nn.MultiheadAttention` and `nn.Transformer…` are forbidden
# here.
def scaled_dot_product_attention(Q, K, V, mask=None):
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
    # YOUR CODE HERE
    raise NotImplementedError()


# causal_mask: 4 points
# The mask of a language model: no token may look at what comes after it.
#
# In training, all tokens of a sentence are predicted at once. The mask keeps each of them from
# reading its own answer.
def causal_mask(n):
    """Mask of a sequence of n tokens.

    Args:
        n: how many tokens there are, at least 1.

    Returns:
        A tensor of truth values (`torch.bool`) of shape (n, n), to be used as `mask` of
        scaled_dot_product_attention. Entry [i, j] is True where token i may attend to token j:
        to itself and to all before it.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# padding_mask: 4 points
# The mask of a batch: sentences differ in length, and what fills them up is not a token.
#
# A batch is one tensor, so that short sentences are padded to the length of the longest. Nobody
# may attend to the padding.
def padding_mask(lengths, n_max):
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
    # YOUR CODE HERE
    raise NotImplementedError()


# SelfAttention: 5 points
# Self-attention as a layer: every token asks, and every token answers.
#
# Three linear layers make queries, keys and values of one input; your function above does the
# rest. A layer holds its weights as parameters, so that training finds them.
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
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, x, mask=None):
        """Attention of every token of x to every token of x.

        Args:
            x: shape (batch, n, input_dim), one token per row.
            mask: as in scaled_dot_product_attention: None, or broadcastable to (batch, n, n),
                true where a token (row) may attend to a token (column).

        Returns:
            (output, weights): output of shape (batch, n, dim_v), weights (batch, n, n).
        """
        # YOUR CODE HERE
        raise NotImplementedError()


# CrossAttention: 5 points
# Cross-attention as a layer: one sequence asks, another one answers.
#
# The only difference from self-attention is where Q and where K and V come from. It is how a
# translation looks at the original, and how a picture being made looks at the words asked for.
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
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, x, context, mask=None):
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
        # YOUR CODE HERE
        raise NotImplementedError()


# init_projections: 4 points
# Give projections the initial weights that keep the scores in softmax's soft range.
#
# Xavier's rule draws the weights of a layer uniformly, with a variance that follows from the
# layer's two widths. `gain` stretches the weights; it is no standard deviation itself.
def init_projections(module, gain=1.0):
    """Xavier-uniform weights and zero biases, in place.

    Args:
        module: any module, with `nn.Linear` layers anywhere in it, or an `nn.Linear` itself.
            Every `nn.Linear` gets new weights, drawn uniformly from an interval around 0, with
            variance gain² · 2 / (fan_in + fan_out), where fan_in and fan_out are the widths of
            what goes into the layer and what comes out. Where it has a bias, that becomes 0.
        gain: a positive number.

    Returns:
        The module that was given. Its parameters are the same objects as before, with other
        values; layers of other kinds are left as they are.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# Questions. The notebook shows them with their formulas set.
# Those with numbers of your own are shown by `autograder check` in this folder.

# Some questions have numbers of your own, drawn from your student id. Write the id
# between the quotes, as your course knows you, and run this cell first.
student_id = ""

# Three keys have the scaled scores −1, −1 and 5. The third one is to be hidden. Somebody
# multiplies the scores with the mask (1, 1, 0) and then takes the softmax. Which weight does the
# **hidden** key get? Three digits are enough.
q_hidden_by_zero = None  # a number

# How many entries of `causal_mask(⟨n⟩)` are True?
#
# *The numbers are your own: ⟨n⟩ are shown below for your student id.*
q_causal_entries = None  # a number

# A batch holds 8 sentences, padded to 8 tokens. The scores have shape (8, 8, 8). By mistake the
# padding mask has shape (8, 8), (batch, key), instead of (8, 1, 8). What happens?
#
# - `"alder"`: No error; in every sample, query i is given the padding of sample i.
# - `"anchor"`: PyTorch raises an error, because the mask has one axis less than the scores.
# - `"copper"`: No error, and the result is right, since PyTorch finds the axis of the samples by
#   its size.
# - `"meadow"`: No error; padding is hidden as a query instead of as a key.
q_silent_broadcast = None  # one of the options, in quotes

# How many parameters does `SelfAttention(64, 128, dim_v=160, bias=True)` have? A batch of shape
# (4, 10, 64) goes through it.
q_parameters = None  # a number

# The tokens of "The animal didn't cross the street because it was too tired" are counted from 0:
# "animal" is token 1 and "it" is token 7. Which entry of the weights, of shape (11, 11), says how
# much "it" attends to "animal"?
#
# - `"harbor"`: `weights[1, 7]`
# - `"pebble"`: `weights[7, 1]`
# - `"saffron"`: `weights[8, 2]`
# - `"thicket"`: Either of `weights[7, 1]` and `weights[1, 7]`: attention is mutual.
q_pronoun_entry = None  # one of the options, in quotes

# A `SelfAttention` layer has biases in `W_q`, `W_k` and `W_v`. Which of them can be set to any
# value without changing any output?
#
# - `"birch"`: That of `W_k`.
# - `"drizzle"`: That of `W_v`.
# - `"granite"`: None of them.
# - `"lantern"`: That of `W_q`.
q_idle_bias = None  # one of the options, in quotes

# `CrossAttention(64, 32, 16, dim_v=24)` is called with x of shape (⟨batch⟩, ⟨n_q⟩, 64) and a
# context of shape (⟨batch⟩, ⟨n_k⟩, 32). Which shape do the **weights** have?
#
# *The numbers are your own: ⟨batch⟩, ⟨n_q⟩, ⟨n_k⟩ are shown below for your student id.*
q_cross_shape = None  # the sizes, in brackets

# Tokens have independent entries from N(0, 1). `W_q` and `W_k` are `nn.Linear(256, 64,
# bias=False)` as PyTorch builds them: weights are uniform between −1/√256 and 1/√256. What is the
# variance of a scaled score q·k/√64 of two different tokens?
q_default_variance = None  # a number

# Now `W_q` and `W_k` project ⟨d_in⟩ features to ⟨d_k⟩ and have entries from N(0, 1); tokens are
# as before. What is the standard deviation of a scaled score q·k/√⟨d_k⟩ of two different tokens,
# roughly?
#
# *The numbers are your own: ⟨d_in⟩, ⟨d_k⟩ are shown below for your student id.*
q_unit_weights = None  # a number

# `nn.init.xavier_uniform_(weight, gain=0.02)` fills the weight of a layer from 64 to 128
# features. What is the standard deviation of its entries? Two significant digits are enough.
q_xavier_gain = None  # a number

# All scores of three tokens are equal, and `causal_mask(3)` is used. What are the weights, row by
# row? Two decimals are enough.
q_equal_scores = None  # a list of rows

# These are the steps of `scaled_dot_product_attention` with a mask. Bring them into an order that
# is right. (Where more than one order is right, any of them counts.)
#
# - `"badger"`: multiply the weights with V
# - `"copper"`: take the softmax of every row
# - `"marlin"`: divide the scores by √d_k
# - `"pebble"`: multiply Q with the transpose of K
# - `"tulip"`: set the scores of hidden keys to minus infinity
q_order_of_steps = None  # every option once, in order, in quotes, with commas between

# Scores have the shape (8, 12, 12): 8 samples, 12 queries, 12 keys. What can a mask of each shape
# say?
#
# Match each of these …
#
# - `"ash"`: (8, 12, 12)
# - `"elm"`: (8, 12, 1)
# - `"fig"`: (8, 1, 12)
# - `"oak"`: (12, 12)
#
# … with one of these:
#
# - `"gold"`: of every sample, which query may see which key
# - `"lead"`: for all samples alike, which query may see which key
# - `"tin"`: of every sample, which keys all of its queries may see
# - `"zinc"`: of every sample and every query, whether it may see all keys or none
q_mask_shapes = None  # pairs in quotes: "left-right, left-right"
