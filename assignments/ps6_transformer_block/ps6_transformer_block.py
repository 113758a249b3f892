"""Problem set 6: from attention to a transformer block.

The exercises of ps6_transformer_block.ipynb as a module. Hand in the notebook or this file;
check it with `pytest` or `autograder check` in this folder.
"""

import torch
from torch import nn
import numpy as np
import matplotlib


# Given, from ps3_multi_head: nothing is to be written in this cell.


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
    batch, n, d_model = x.shape
    d_head = d_model // num_heads  # features of each head
    heads = x.reshape(batch, n, num_heads, d_head)  # (batch, n, h, d_head)
    return heads.transpose(1, 2)  # (batch, h, n, d_head)


def concat_heads(heads):
    """Concatenate the heads of every token: the inverse of `split_heads`.

    Args:
        heads: shape (batch, h, n, d_head).

    Returns:
        Shape (batch, n, h·d_head), of the same dtype. Row t holds the d_head features of token
        t from head 0, then those from head 1, and so on. Gradients flow back to `heads`, which
        is left as it was.
    """
    batch, num_heads, n, d_head = heads.shape
    tokens = heads.transpose(1, 2)  # (batch, n, h, d_head)
    return tokens.reshape(batch, n, num_heads * d_head)  # (batch, n, h·d_head)


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

    def forward(self, query, key=None, value=None, mask=None):
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


# LayerNorm: 4 points
# Give every token mean 0 and variance 1 over its own features, then scale and shift.
#
# Each token is normalised by itself: neither the other tokens nor the rest of the batch matter.
# That is why it works for any length and any batch, in training as in evaluation.
class LayerNorm(nn.Module):
    """Layer normalisation over the last axis, with a learnt scale and shift.

    (x - mean) / √(variance + eps) · weight + bias, with mean and variance of each token's own
    features. The variance is the biased one: the mean of the squared deviations, divided by d and
    not by d - 1.

    Parameters: weight, shape (d_model,), ones at the start; bias, shape (d_model,), zeros at the
    start. No others.
    """

    def __init__(self, d_model, eps=1e-05):
        """Make weight and bias.

        Args:
            d_model: width of a token.
            eps: added to the variance, inside the root.
        """
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, x):
        """Normalised tokens.

        Args:
            x: shape (..., d_model), any leading dimensions. Right also where the mean of a
                token is a thousand times its standard deviation.

        Returns:
            The shape and dtype of x, which is not changed.
        """
        # YOUR CODE HERE
        raise NotImplementedError()


# attention_dropout: 3 points
# Dropout on attention weights: in training, some keys are not seen.
#
# What is kept is scaled up, so that the mean stays as it was. A row of weights then no longer
# sums to 1, and that is right: only its mean does.
def attention_dropout(weights, p, training, generator=None):
    """Inverted dropout of attention weights.

    Args:
        weights: any shape.
        p: the probability that an entry is dropped, 0 ≤ p < 1.
        training: whether the model is being trained. If not, weights come back as they are.
        generator: a torch.Generator, or None for PyTorch's global one. When it is given, it is
            the only source of randomness: equal generators give equal results.

    Returns:
        Shape and dtype of weights. In training, each entry is set to 0 with probability p,
        independently of all others, and what is kept is divided by 1 - p. The argument is not
        changed; in evaluation it may be returned itself.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# EncoderBlock: 8 points
# Attention mixes tokens, a small network mixes features, and around both leads a path past them.
#
# The residual paths are why deep models can be trained; where the norms stand (before each
# sublayer or after each sum) is why some of them train without a warm-up. `MultiHeadAttention` is
# given above; the library's attention is forbidden.
class EncoderBlock(nn.Module):
    """An encoder block: self-attention and a feed-forward network, each with a residual path.

    With norm_first (pre-norm): x + attention(norm1(x)), then x + ff(norm2(x)). Without (post-norm,
    as in the first transformer): norm1(x + attention(x)), then norm2(x + ff(x)). The network ff is
    linear1, ReLU, linear2.

    Submodules: attention (a MultiHeadAttention), norm1 and norm2 (nn.LayerNorm or your own, with
    eps 1e-5), linear1 (d_model to d_ff) and linear2 (d_ff to d_model). All have biases.

    Args:
        d_model: the width of the tokens. A `ValueError` is raised unless num_heads divides it.
        num_heads: heads of the attention.
        d_ff: the width between the two linear layers.
        dropout: in training mode, dropout with this probability acts on the attention weights,
            after the ReLU, and on the output of each sublayer before it is added; never on the
            path that leads past a sublayer. In evaluation mode there is none.
        norm_first: where the norms stand.

    `forward(x, mask=None)` takes x of the shape (batch, n, d_model) and a mask as
    MultiHeadAttention does; each query may attend to one key at least. It returns a tensor of
    the shape of x, alone. No argument is changed.
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=True):
        # YOUR CODE HERE
        raise NotImplementedError()

    def attend(self, x, mask):
        # YOUR CODE HERE
        raise NotImplementedError()

    def feed_forward(self, x):
        # YOUR CODE HERE
        raise NotImplementedError()

    def forward(self, x, mask=None):
        # YOUR CODE HERE
        raise NotImplementedError()


# is_permutation_equivariant: 3 points
# Does the order of the tokens matter?
#
# Reorder the tokens and run a layer: if the same outputs come out, reordered in the same way, it
# is permutation *equivariant*. Write the test, for any function of tokens.
def is_permutation_equivariant(f, x, permutation):
    """Whether f of the reordered tokens is the reordered f of the tokens.

    Args:
        f: a function of a tensor of shape (n, d) that returns one of shape (n, ...), always the
            same for the same tokens.
        x: shape (n, d), one token per row.
        permutation: shape (n,), the numbers 0 to n - 1 in another order; x[permutation] are the
            reordered tokens.

    Returns:
        True if f(x[permutation]) equals f(x)[permutation] up to rounding: to a relative 1e-4, or
        to 1e-5 of the size of the largest output. It is about this one permutation.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# receptive_field: 2 points
# How far does a stack of convolutions see?
#
# A layer of self-attention sees all n tokens at once. A convolution sees its kernel, and only a
# stack of them sees further: this is how deep it has to be to match one layer of attention.
def receptive_field(num_layers, kernel_size):
    """Inputs that one output of a stack of convolutions depends on.

    Args:
        num_layers: convolutions, one after the other, of stride 1 and without dilation; 0 or more.
        kernel_size: inputs that one of them looks at, at least 1.

    Returns:
        A whole number. Without any layer an output is its own input: 1.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# attention_heatmap: 4 points
# Show who attends to whom.
#
# Queries go down, keys go across, as in the matrix of weights. A picture of weights is a look at
# one layer, and not a proof of what the model understands; but it finds many a bug.
def attention_heatmap(weights, query_tokens, key_tokens, ax=None):
    """Draw attention weights as a heat map.

    Args:
        weights: shape (n_q, n_k), a tensor, also one that requires grad, or a NumPy array.
        query_tokens: n_q strings; tokens may occur more than once.
        key_tokens: n_k strings.
        ax: the matplotlib Axes to draw into; a new one by default.

    Returns:
        The Axes. Query 0 is at the top, key 0 at the left. Each cell shows its weight undistorted:
        colours grow linearly with the values, and do not run into each other (imshow or
        pcolormesh). Every query is labelled on the y axis and every key on the x axis.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# Questions. The notebook shows them with their formulas set.
# Those with numbers of your own are shown by `autograder check` in this folder.

# Some questions have numbers of your own, drawn from your student id. Write the id
# between the quotes, as your course knows you, and run this cell first.
student_id = ""

# A token has the features (1, 3, 5, 7). What does layer normalisation make of the 7, before scale
# and shift? Leave eps aside and give three decimals.
q_normalised_entry = None  # a number

# A batch has the shape (⟨batch⟩, ⟨n⟩, ⟨d⟩): ⟨batch⟩ sentences of ⟨n⟩ tokens with ⟨d⟩ features.
# How many means does a layer norm compute for it?
#
# *The numbers are your own: ⟨batch⟩, ⟨n⟩, ⟨d⟩ are shown below for your student id.*
q_number_of_means = None  # a number

# The features of a token have the variance 1e-5, and the layer norm has eps = 1e-5 (weight 1,
# bias 0). Which variance do the normalised features have?
q_variance_beside_eps = None  # a number

# The same number is added to *all* features of a token (say, 5 to each of its 64 features). Which
# norm gives the same result as before? (Both with their initial parameters.)
#
# - `"breeze"`: Neither, since the shift changes the variance
# - `"copper"`: RMSNorm alone
# - `"tundra"`: Layer norm and RMSNorm
# - `"walnut"`: Layer norm alone
q_shifted_token = None  # one of the options, in quotes

# A query spreads its weight evenly over ⟨n⟩ keys, 1/⟨n⟩ each. In training, dropout with p = ⟨p⟩
# happens to drop ⟨lost⟩ of them. What is the sum of the row then? Three decimals.
#
# *The numbers are your own: ⟨n⟩, ⟨lost⟩, ⟨p⟩ are shown below for your student id.*
q_dropped_row = None  # a number

# Somebody finds that rows of weights do not sum to 1 in training, and divides every row by its
# sum after dropout. What does that change?
#
# - `"flint"`: It repairs a mistake, since weights have to be a distribution.
# - `"meadow"`: Nothing but the scale, which the next layer norm removes.
# - `"orchid"`: The mean of an entry is no longer its weight, so that training and evaluation
#   differ.
# - `"saffron"`: It turns dropout off, since a renormalised row is the row from before.
q_rows_made_to_sum_to_one = None  # one of the options, in quotes

# Somebody forgets the ReLU between `linear1` (d to 4·d) and `linear2` (4·d to d) of an encoder
# block. What can the network of that block then compute?
#
# - `"harbor"`: More than with it, since no feature is cut off at 0.
# - `"juniper"`: Nothing at all, since the gradient of two linear layers is constant.
# - `"lantern"`: Nothing that a single `nn.Linear(d, d)` could not.
# - `"pebble"`: The same, since the softmax in the attention is not linear either.
q_without_relu = None  # one of the options, in quotes

# In a stack of ⟨L⟩ encoder blocks, follow the path that leads from the input past all sublayers
# to the output of the last block. Through how many layer norms does it go, post-norm and
# pre-norm?
#
# *The numbers are your own: ⟨L⟩ and the options are shown below for your student id.*
q_norms_on_the_path = None  # one of the options, in quotes

# How many parameters does `EncoderBlock(768, 12, 3072)` have, a block of the size that BERT uses?
# Count weights and biases of the attention, both linear layers and both norms.
q_block_parameters = None  # a number

# Which of these models can tell "dog bites man" from "man bites dog", if its output is the mean
# over its tokens? Tokens are the same three vectors both times, and nothing is added to them.
#
# - `"basalt"`: A layer of self-attention with many heads
# - `"clover"`: A stack of twelve encoder blocks without a mask
# - `"heather"`: A layer of self-attention with a causal mask
# - `"ivory"`: None of them
q_tells_the_order = None  # one of the options, in quotes

# f is permutation equivariant, and `permutation = torch.tensor([2, 0, 3, 1])`. Row 1 of
# `f(x[permutation])` equals row number … of `f(x)`. (Rows count from 0.)
q_row_after_permutation = None  # a number

# One layer of self-attention sees all ⟨n⟩ pixels of a row. How many convolutions of kernel size 3
# (stride 1, no dilation) have to be stacked until one output depends on at least ⟨n⟩ inputs of
# the row?
#
# *The numbers are your own: ⟨n⟩ are shown below for your student id.*
q_layers_to_see_all = None  # a number

# An image is shifted to the right by 3 pixels. What does the output of a convolution (kernel 3,
# stride 1, padded with zeros) do?
#
# - `"gravel"`: It moves by 3 pixels, except near the borders.
# - `"marble"`: It stays as it was.
# - `"raven"`: Nothing can be said, since every place has weights of its own.
# - `"thistle"`: It moves by 3 pixels, exactly, everywhere.
q_shifted_image = None  # one of the options, in quotes

# In a heat map of one head, the brightest cell of the row "it" lies in the column "animal". Which
# of these follows from it?
#
# - `"cinder"`: In this head, "animal" attends to "it" more than to other words.
# - `"maple"`: In this layer, the output for "it" resembles the value of "animal" most.
# - `"spruce"`: The model has understood that "it" stands for the animal.
# - `"topaz"`: In this head, "animal" has the largest weight in the mixture that "it" gets.
q_bright_cell = None  # one of the options, in quotes

# In training, a weight $w$ goes through dropout: with probability $p$ it becomes 0, and otherwise
# it is divided by $1 - p$. Its mean stays $w$. What is the **variance** of what comes out? Give a
# formula.
#
# Write it with `w`, `p`.
q_spread_of_a_weight = None  # a formula, in quotes, of w, p

# Bring the steps of an encoder block with `norm_first=True` into their order.
#
# - `"acacia"`: apply `linear1`, ReLU and `linear2`
# - `"cedar"`: apply self-attention
# - `"hazel"`: add what came into the block
# - `"laurel"`: add the sum that was made halfway
# - `"myrtle"`: normalise with `norm1`
# - `"poplar"`: normalise with `norm2`
q_pre_norm_steps = None  # every option once, in order, in quotes, with commas between

# Self-attention without a mask gives three tokens the weights
#
# `[[0.5, 0.3, 0.2], [0.15, 0.75, 0.1], [0.25, 0.05, 0.7]]`.
#
# Now the tokens come in another order, x[permutation] with permutation (2, 0, 1): token 2 first,
# then token 0, then token 1. What are the weights now, row by row?
q_permuted_weights = None  # a list of rows

# Which of these functions of n tokens, each a row, are permutation **equivariant**? Choose all
# that are.
#
# - `"bobbin"`: `linear1`, ReLU and `linear2`, applied to each token
# - `"canyon"`: the mean over the tokens
# - `"ferret"`: a convolution of kernel size 3 along the tokens
# - `"gopher"`: self-attention with a bias for each distance between query and key
# - `"jasper"`: self-attention with a causal mask
# - `"lentil"`: self-attention without a mask
# - `"nugget"`: sorting the tokens by their first feature
# - `"puffin"`: adding sinusoidal positions
# - `"sorrel"`: layer norm
q_equivariant_ones = None  # every option that is right, in quotes, with commas between

# There are 100 tokens, counted from 0. On which of them does the output for **token 50** depend,
# in one layer of each kind?
#
# Match each of these …
#
# - `"brook"`: self-attention without a mask
# - `"delta"`: self-attention with a causal mask
# - `"fjord"`: a convolution of kernel size 5 (stride 1, centred)
# - `"marsh"`: layer norm
#
# … with one of these:
#
# - `"amber"`: token 50
# - `"coral"`: tokens 48 to 52
# - `"ivory"`: tokens 0 to 50
# - `"slate"`: tokens 0 to 99
q_sees_what = None  # pairs in quotes: "left-right, left-right"
