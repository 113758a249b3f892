"""Problem set 5: where a token stands, and which tokens it may look at.

The exercises of ps5_positions_and_sparsity.ipynb as a module. Hand in the notebook or this file;
check it with `pytest` or `autograder check` in this folder.
"""

import torch
from torch import nn
import numpy as np


# sinusoidal_positions: 3 points
# Give every position a vector of its own, made of waves that get longer and longer.
#
# Attention does not see the order of its tokens. Added to the embeddings, these vectors say where
# a token stands. The first transformer used them; nothing in them is learned.
def sinusoidal_positions(n, d_model):
    """Sinusoidal position vectors.

    Args:
        n: the number of positions, at least 1.
        d_model: the width of the vectors, an even number.

    Returns:
        Shape (n, d_model), of any float dtype. Row p belongs to position p, counted from 0.
        Columns 2i and 2i + 1 are neighbours and hold the sine and the cosine of the same angle
        p / 10000^(2i/d_model), so that i runs from 0 to d_model/2 - 1. Float32 angles are exact
        enough: up to position 512 entries may be off by 1e-4.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# relative_position_bias: 3 points
# Add to each score a learned number that depends only on how far key and query are apart.
#
# The table holds one number for each head and each distance. Distances beyond its ends share the
# last entry, so one table serves texts of every length.
def relative_position_bias(table, n_q, n_k):
    """Bias to be added to the scores of every head, looked up by distance.

    Args:
        table: shape (h, 2m + 1). Column m + r holds the bias for the distance r, which is key
            position MINUS query position: column m is for the token itself, the columns left of
            it for keys that come before the query, those right of it for keys after it.
        n_q: the number of queries. Query q stands at position q.
        n_k: the number of keys. Key k stands at position k, also when n_q and n_k differ: there
            is no offset.

    Returns:
        Shape (h, n_q, n_k): entry [head, q, k] is the bias for the distance k - q. Distances
        below -m count as -m, those above m as m. `table` is left as it was.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# rotary: 4 points
# Rotate pairs of features by an angle that grows with the position of the token.
#
# Queries and keys that were rotated so have inner products that depend on their distance alone,
# not on where in the text they stand. Llama and most of today's language models do this.
def rotary(x, base=10000.0):
    """Rotary position embedding of queries or keys.

    Args:
        x: shape (..., n, d) with an even d: any leading axes, none included; the tokens stand
            on axis -2, at the positions 0, 1, … n - 1.
        base: sets how much slower each pair turns than the one before it.

    Returns:
        The same shape and dtype. Pair i of a token, its features 2i and 2i + 1 (neighbours, not
        the two halves), is a point (a, b) of the plane and is rotated by the angle
        t = position · base^(-2i/d): to (a cos t - b sin t, a sin t + b cos t). Differentiable;
        `x` is left as it was.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# sliding_window_mask: 2 points
# Let each token look at its neighbours and at itself, and at nobody else.
#
# The mask is a band along the diagonal. Longformer and Mistral use it for texts so long that the
# full matrix of scores would not fit into memory.
def sliding_window_mask(n, window):
    """Mask of a sliding window: true where token i may attend to token j.

    Args:
        n: the number of tokens, at least 1.
        window: how many tokens on EACH side may be looked at, at least 0. With 0 a token sees
            itself alone; a window of n or more is allowed and hides nothing.

    Returns:
        Shape (n, n), dtype torch.bool. Entry [i, j] is true where i and j are at most `window`
        apart. Row i belongs to the query: a token inside the sequence sees 2·window + 1 keys.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# local_attention: 6 points
# Attend to the neighbours alone, without ever making the full matrix of scores.
#
# Masking the full matrix gives the same output, at the price of n·n scores for every head. With w
# neighbours on each side, only n·(2w + 1) of them count. Longformer and Mistral live on this.
def local_attention(Q, K, V, window):
    """Sliding-window attention with memory linear in the number of tokens.

    Args:
        Q: shape (batch, n, d), the queries.
        K: shape (batch, n, d), the keys.
        V: shape (batch, n, d_v), the values; d_v may differ from d.
        window: how many keys on EACH side of its own position a query may look at, at least 0.
            Near the ends there are fewer. A window of n or more is allowed and hides nothing.

    Returns:
        Shape (batch, n, d_v): the same as scaled dot-product attention (scores divided by the
        square root of d) under the mask of sliding_window_mask. No tensor of n·n elements is made
        on the way: n may be so large that it would not fit into memory. Differentiable; no
        argument is changed. PyTorch's own attention is forbidden here; its softmax is not.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# window_partition: 3 points
# Cut images into square windows: the tokens of one window will attend to each other.
#
# A window is a square of neighbouring pixels. Memory holds an image row after row, so the pixels
# of one window do not lie side by side there. This is the first step of a Swin transformer.
def window_partition(x, window_size):
    """Cut every image of a batch into windows.

    Args:
        x: shape (batch, H, W, C): images, rows, columns, channels.
        window_size: w, the side of the square windows; it divides H and W.

    Returns:
        Shape (batch·windows, w·w, C) with windows = (H/w)·(W/w). Images are outermost: first come
        all windows of image 0. The windows of an image are in row-major order (left to right,
        then the next row of windows), and so are the pixels of a window. `x` is left as it was.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# window_merge: 3 points
# Put windows back together into images: the inverse of `window_partition`.
#
# After attention inside the windows every token has to return to its pixel. Merging what was
# partitioned must give the image back, to the last pixel.
def window_merge(windows, window_size, H, W):
    """Images from their windows.

    Args:
        windows: shape (batch·windows, w·w, C), in the order in which window_partition returns
            them: images outermost, windows row-major in an image, pixels row-major in a window.
        window_size: w, the side of a window; it divides H and W.
        H: the height of the images.
        W: their width. How many images there are follows from the number of windows.

    Returns:
        Shape (batch, H, W, C). `windows` is left as it was.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# relative_position_index: 3 points
# Number the relative positions inside a square window, to look them up in a learned table.
#
# Two pixels of a window differ by -(w - 1) … w - 1 in each direction, which makes (2w - 1)²
# relative positions. A Swin transformer learns one bias for each, and this index finds it.
def relative_position_index(window_size):
    """Index into the bias table of two-dimensional windows.

    Args:
        window_size: w, the side of a square window of w·w tokens. They are numbered row by row:
            token t stands in row t // w and column t % w.

    Returns:
        Shape (w·w, w·w), integers from 0 to (2w - 1)² - 1. With (dy, dx) = (row, column) of token
        i MINUS (row, column) of token j, entry [i, j] is (dy + w - 1)·(2w - 1) + dx + w - 1. This
        is query minus key: Swin's own convention, and the opposite of relative_position_bias.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# patchify: 3 points
# Turn images into sequences of patches: the words that a vision transformer reads.
#
# A patch is a square of pixels with all its channels, laid out as one long vector. An image of
# 224 x 224 pixels and patches of 16 x 16 give 196 tokens.
def patchify(images, patch_size):
    """Cut images into patches and lay each out as a vector.

    Args:
        images: shape (batch, C, H, W): images, channels, rows, columns.
        patch_size: p, the side of the square patches; it divides H and W.

    Returns:
        Shape (batch, patches, C·p·p) with patches = (H/p)·(W/p), in row-major order: left to
        right, then the next row of patches. Within a patch the order is channel, row, column:
        first all pixels of channel 0, row by row. `images` is left as it was.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# graph_attention: 6 points
# Attention on a graph: every node attends to its neighbours and to itself.
#
# The mask is the graph. Scores come from a small additive rule instead of an inner product, as in
# graph attention networks (GAT), where a layer has several such heads.
def graph_attention(H, adjacency, W, a, negative_slope=0.2):
    """One head of a graph attention layer.

    Args:
        H: shape (n, d), the features of n nodes, one node per row.
        adjacency: shape (n, n), bool. Entry [i, j] is true where node i attends to node j. It
            need not be symmetric; self-loops and nodes without any neighbour are allowed. Every
            node attends to itself too, whatever the diagonal says, and once only.
        W: shape (d, d_out), the projection: W h_i means row i of H @ W.
        a: shape (2·d_out,), the weights of the score.
        negative_slope: the slope of the LeakyReLU below 0.

    Returns:
        (output, weights). weights, shape (n, n), is the softmax of
        LeakyReLU(aᵀ[W h_i ‖ W h_j]) over the nodes j that node i attends to, and 0 elsewhere: the
        first half of `a` meets the node that asks. Each row sums to 1. output, shape (n, d_out),
        has the rows Σ_j weights[i, j]·(W h_j), without another activation. Differentiable; no
        argument is changed. PyTorch's own attention is forbidden here; its softmax is not.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# Questions. The notebook shows them with their formulas set.
# Those with numbers of your own are shown by `autograder check` in this folder.

# Some questions have numbers of your own, drawn from your student id. Write the id
# between the quotes, as your course knows you, and run this cell first.
student_id = ""

# A layer of self-attention without positions and without a mask is given the same 8 tokens
# twice, the second time in another order. How do its two outputs compare?
#
# - `"amber"`: They are equal, row by row.
# - `"birch"`: The second output holds the same rows, in the new order of the tokens.
# - `"coral"`: They have nothing in common: another order makes other scores, and so other
#   weights.
# - `"delta"`: Only their largest entries agree, since softmax picks the best key of each query.
q_shuffled_tokens = None  # one of the options, in quotes

# Take the sinusoidal positions of width d_model = 10 and base 10000, positions counted from 0.
# What stands in row 3, column 2 (both counted from 0)? Give three significant digits.
q_sinusoid_entry = None  # a number

# A table of `relative_position_bias` is made for distances up to m = ⟨m⟩: its columns are
# numbered from 0 to 2·m. Which column is read for the query at position ⟨q⟩ and the key at
# position ⟨k⟩?
#
# *The numbers are your own: ⟨m⟩, ⟨q⟩, ⟨k⟩ are shown below for your student id.*
q_clipped_distance = None  # a number

# A layer uses rotary positions and should give the same outputs when all positions are moved on
# by 5. What has to be rotated?
#
# - `"ember"`: Queries, keys and values.
# - `"fjord"`: Queries and keys.
# - `"grove"`: The tokens, before they are projected.
# - `"heath"`: The queries alone, since only the difference of the positions counts.
q_what_is_rotated = None  # one of the options, in quotes

# One library rotates neighbouring features (2i, 2i + 1), another features (i, i + d/2). Somebody
# calls the second a bug. What is right?
#
# - `"iris"`: It is a bug: only neighbouring features form the points of a plane that a rotation
#   turns.
# - `"jade"`: Both are right, and differ by the order of the features. Trained weights fit only
#   their own.
# - `"kelp"`: Both are right, and differ by the order of the features. Trained weights fit either
#   of them.
# - `"lotus"`: It is a bug: scores of the second depend on absolute positions, not on the distance
#   alone.
q_two_layouts = None  # one of the options, in quotes

# A language model with rotary positions has read ⟨n⟩ tokens and keeps their rotated keys. Now the
# next token arrives, the first that it generates. Its query is a matrix with one row. By the
# angle of which position must it be rotated, positions counted from 0?
#
# *The numbers are your own: ⟨n⟩ are shown below for your student id.*
q_cached_position = None  # a number

# How many entries of `sliding_window_mask(⟨n⟩, ⟨w⟩)` are true?
#
# *The numbers are your own: ⟨n⟩, ⟨w⟩ are shown below for your student id.*
q_visible_pairs = None  # a number

# A model stacks layers of local attention with ⟨w⟩ neighbours on each side. How many layers does
# it take at least until the first of ⟨n⟩ tokens can influence the output of the last one?
#
# *The numbers are your own: ⟨n⟩, ⟨w⟩ are shown below for your student id.*
q_layers_to_reach = None  # a number

# One head attends over n = ⟨n⟩ tokens, with a sliding window that reaches ⟨w⟩ keys to each side.
# How much memory do its float32 scores take, in a tensor that has the same number of scores for
# every query? Answer in bytes, or with a unit, in quotes, as in "1.25 MiB"; four digits are
# enough.
#
# *The numbers are your own: ⟨n⟩, ⟨w⟩ are shown below for your student id.*
q_memory_of_a_window = None  # a number of bytes

# The pixels of a 4 x 4 image are numbered row by row from 0 to 15. Which numbers hold the first
# two windows of `window_partition` with a window size of 2?
#
# - `"maple"`: 0, 1, 2, 3 and 4, 5, 6, 7
# - `"north"`: 0, 1, 4, 5 and 2, 3, 6, 7
# - `"olive"`: 0, 1, 4, 5 and 8, 9, 12, 13
# - `"pearl"`: 0, 4, 1, 5 and 2, 6, 3, 7
# - `"quartz"`: 0, 2, 8, 10 and 1, 3, 9, 11
q_first_window = None  # one of the options, in quotes

# An image is given to a layer as ⟨side⟩ x ⟨side⟩ tokens. By which factor do windows of 7 x 7
# lower the number of scores, compared with attention over all tokens?
#
# *The numbers are your own: ⟨side⟩ are shown below for your student id.*
q_cost_of_windows = None  # a number

# In a window of ⟨w⟩ x ⟨w⟩, token i stands in row 0 and column 0, and token j in row ⟨r⟩ and
# column ⟨c⟩. What is entry [i, j] of `relative_position_index(⟨w⟩)`? (The difference is that of
# token i minus that of token j.)
#
# *The numbers are your own: ⟨w⟩, ⟨r⟩, ⟨c⟩ are shown below for your student id.*
q_index_of_a_pair = None  # a number

# A vision transformer cuts images of 3 channels, height ⟨height⟩ and width ⟨width⟩ into patches
# of ⟨p⟩ x ⟨p⟩ pixels, and puts one class token in front. How many tokens does its first layer
# see?
#
# *The numbers are your own: ⟨height⟩, ⟨width⟩, ⟨p⟩ are shown below for your student id.*
q_number_of_patches = None  # a number

# An image is moved by one pixel. Apart from the borders, which of these layers are sure to give
# the same output, moved by one pixel? (Nothing is added to tell positions.) Choose all that are.
#
# - `"basin"`: a linear layer from all pixels at once to all pixels of the output
# - `"cliff"`: attention in a sliding window, pixels as tokens
# - `"quill"`: max pooling over blocks of 2 x 2
# - `"raven"`: attention inside of fixed windows, pixels as tokens
# - `"sage"`: a convolution with stride 1
# - `"thorn"`: a convolution with stride 2
# - `"umber"`: cutting into patches of 4 x 4 and projecting each
q_who_is_equivariant = None  # every option that is right, in quotes, with commas between

# Node i of a graph has one neighbour j. Before the LeakyReLU the score of i for itself is 2, and
# for j it is -5; the slope is 0.2. Which weight does node i give to j? Three significant digits.
q_weight_of_a_neighbour = None  # a number

# Where do these ways of telling positions enter a layer of attention?
#
# Match each of these …
#
# - `"fern"`: rotary positions
# - `"moss"`: a relative position bias
# - `"reed"`: sinusoidal positions
#
# … with one of these:
#
# - `"chalk"`: they turn queries and keys, before their product
# - `"iron"`: they are added to the tokens, before the projections
# - `"salt"`: they are added to the scores
q_where_positions_enter = None  # pairs in quotes: "left-right, left-right"

# An image of $H \times W$ tokens is cut into windows of $m \times m$ tokens ($m$ divides both).
# Attention runs inside of each window. How many scores does one head compute in all? Give a
# formula.
#
# Write it with `H`, `W`, `m`.
q_window_scores = None  # a formula, in quotes, of H, W, m

# `images` has shape (⟨batch⟩, 3, ⟨height⟩, ⟨width⟩): ⟨batch⟩ images of 3 channels. Which shape
# does `patchify(images, ⟨p⟩)` return?
#
# *The numbers are your own: ⟨batch⟩, ⟨height⟩, ⟨width⟩, ⟨p⟩ are shown below for your student id.*
q_patch_shape = None  # the sizes, in brackets
