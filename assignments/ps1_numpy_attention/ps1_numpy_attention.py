"""Problem set 1: self-attention in NumPy, one column per token.

The exercises of ps1_numpy_attention.ipynb as a module. Hand in the notebook or this file;
check it with `pytest` or `autograder check` in this folder.
"""

import numpy as np


# project: 2 points
# Project every token with one matrix: the step that makes queries, keys and values.
#
# Tokens are columns here, so a matrix acts on them from the left.
def project(W, X):
    """Linear projection of all tokens.

    Args:
        W: shape (d_out, d_in), the weights.
        X: shape (d_in, n), one token per column.

    Returns:
        Shape (d_out, n). Column j is W applied to token j. `W` and `X` are left as they were.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# attention_scores: 3 points
# Compare every key with every query: one number says how well the two match.
#
# Entry [i, j] belongs to key i and query j, so *column* j holds all that query j asks for.
def attention_scores(Q, K):
    """Unscaled scores of all keys for all queries.

    Args:
        Q: shape (d_k, n_q), one query per column.
        K: shape (d_k, n_k), one key per column.

    Returns:
        Shape (n_k, n_q). Entry [i, j] is the inner product of key i and query j: column j
        belongs to query j. There is no scaling here. `Q` and `K` are left as they were.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# scale_scores: 2 points
# Bring the scores back to unit size, whatever the width of queries and keys.
#
# A score is a sum of d_k products. If these are independent, with mean 0 and variance 1, their
# sum has the standard deviation √d_k, and a wide model would start with a saturated softmax.
def scale_scores(scores, d_k):
    """Scores divided by the square root of d_k.

    Args:
        scores: shape (n_k, n_q).
        d_k: the width of queries and keys, at least 1.

    Returns:
        A new array of the same shape. `scores` itself is left as it was: whoever called you
        may still need it.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# softmax: 4 points
# Turn each query's scores into weights: shares that sum to 1 over the keys.
#
# The formula fits on one line. The craft is that it must hold for *any* finite scores, also
# where `np.exp` alone would overflow. SciPy's softmax is forbidden.
def softmax(scores):
    """Softmax over the keys, separately for each query.

    Args:
        scores: shape (n_k, n_q); entry [i, j] says how well key i matches query j. Any
            finite floats: huge ones, and columns far away from each other, are allowed.

    Returns:
        Weights of shape (n_k, n_q). Column j is a distribution over the keys for query j:
        its entries are at least 0 and sum to 1. `scores` itself is left as it was.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# attend: 3 points
# Collect the values: each query gets a mixture of them, in the proportions of its weights.
def attend(V, weights):
    """Weighted sum of the values, for every query.

    Args:
        V: shape (d_v, n_k), one value per column.
        weights: shape (n_k, n_q). Column j is the distribution of query j over the keys, so
            entry [i, j] says how much of value i goes into output j.

    Returns:
        Shape (d_v, n_q), one output per column. `V` and `weights` are left as they were.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# self_attention: 6 points
# Put the five parts together: every token asks, every token answers.
#
# Call the functions that you wrote above: they are all it takes.
def self_attention(X, W_q, W_k, W_v):
    """Scaled dot-product self-attention of the tokens in X.

    Args:
        X: shape (d, n), one token per column.
        W_q: shape (d_k, d), makes the queries.
        W_k: shape (d_k, d), makes the keys.
        W_v: shape (d_v, d), makes the values. d_v may differ from d_k.

    Returns:
        (output, weights): output has the shape (d_v, n), one column per token. weights has
        the shape (n, n); its column j says how token j spreads its attention over all
        tokens. No argument is changed.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# score_variance: 4 points
# Measure what the scale is for: draw queries and keys, and look at how far the scores spread.
#
# With independent entries of mean 0 and variance 1, scores have the variance d_k. Divided by √d_k
# they have variance 1, whatever the width. Believe it when your own draws say so.
def score_variance(d_k, n_pairs, rng):
    """Sample variance of scores, before and after the scale.

    Args:
        d_k: the width of queries and keys.
        n_pairs: how many independent pairs of one query and one key to draw, at least 2. All
            entries are independent draws from the standard normal distribution.
        rng: a NumPy generator, such as `np.random.default_rng(0)`. All randomness comes from
            it, so that a generator in the same state gives the same result again.

    Returns:
        (unscaled, scaled): the sample variance over the pairs of the inner product of query
        and key, and of the inner product divided by the square root of d_k. Dividing by
        n_pairs or by n_pairs - 1 in the variance is fine.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# softmax_jacobian: 3 points
# How the weights of one query react to its scores, and why a saturated softmax cannot learn.
#
# Entry [i, j] is the derivative of weight i with respect to score j. Try it with weights close
# to 0 and 1: hardly anything is left of it.
def softmax_jacobian(p):
    """Jacobian of softmax, written with its result: diag(p) - p pᵀ.

    Args:
        p: shape (n,), the weights that softmax gave: a distribution over n keys. These are
            not the scores.

    Returns:
        Shape (n, n). Entry [i, j] is the derivative of weight i with respect to score j.
        `p` is left as it was.
    """
    # YOUR CODE HERE
    raise NotImplementedError()


# Questions. The notebook shows them with their formulas set.
# Those with numbers of your own are shown by `autograder check` in this folder.

# Some questions have numbers of your own, drawn from your student id. Write the id
# between the quotes, as your course knows you, and run this cell first.
student_id = ""

# Three tokens go through `self_attention`: token 0 is "the", token 1 is "animal", token 2 is
# "slept". The weights come back with `weights[1, 2] == 0.75`. What does that say?
#
# - `"cloud"`: Tokens 1 and 2 attend to each other with 75%; it does not matter which of the two
#   is asked.
# - `"maple"`: 75% of the value of token 2 ("slept") flows into the output of token 1 ("animal").
# - `"river"`: Token 1 ("animal") spends 75% of its attention on token 2 ("slept").
# - `"stone"`: Token 2 ("slept") spends 75% of its attention on token 1 ("animal").
q_column_layout = None  # one of the options, in quotes

# You drew queries and keys whose entries are independent and have variance 1, but by a slip
# every entry has **mean 1** instead of mean 0. The width is d_k = 48. What is the variance of the
# unscaled score q·k?
q_variance_with_mean = None  # a number

# Tokens have 6 features, and all three matrices have shape (4, 6). `W_q` stays as it is. Which
# other shapes may `W_k` and `W_v` be given, so that `self_attention` still runs?
#
# - `"bronze"`: `W_k` (4, 6) and `W_v` (4, 3)
# - `"lagoon"`: `W_k` (3, 6) and `W_v` (4, 6)
# - `"meadow"`: `W_k` (4, 6) and `W_v` (3, 6)
# - `"walnut"`: `W_k` (6, 4) and `W_v` (6, 4)
q_fitting_widths = None  # one of the options, in quotes

# Queries and keys have width d_k = ⟨d_k⟩, and their entries are independent with mean 0 and
# variance 1. Somebody divides the queries by √d_k and then calls a library that scales the scores
# by itself. What is the **standard deviation** of the scores that reach the softmax?
#
# *The numbers are your own: ⟨d_k⟩ are shown below for your student id.*
q_twice_scaled = None  # a number

# The largest entries of three columns of scores are 10, −600 and −900. Inside a column the
# entries differ by no more than 2. Somebody subtracts 10, the largest entry of the *whole*
# matrix, and computes the rest of the softmax in float64. Columns are counted from 0. Which
# columns of the weights are NaN?
#
# - `"cinder"`: columns 1 and 2
# - `"harbor"`: column 2 alone
# - `"pepper"`: no column at all
# - `"velvet"`: columns 0, 1 and 2
q_which_columns = None  # one of the options, in quotes

# The scaled scores of one query for three keys are ln 1, ln ⟨b⟩ and ln ⟨c⟩, and the three values
# are single numbers: ⟨x⟩, ⟨y⟩ and ⟨z⟩. What is the output for this query? Three digits are
# enough.
#
# *The numbers are your own: ⟨b⟩, ⟨c⟩, ⟨x⟩, ⟨y⟩, ⟨z⟩ are shown below for your student id.*
q_soft_lookup = None  # a number

# Now the entries of queries and keys are independent with mean 0 and **standard deviation ⟨s⟩**.
# The width is d_k = ⟨d_k⟩. What is the variance of a *scaled* score q·k/√d_k?
#
# *The numbers are your own: ⟨s⟩, ⟨d_k⟩ are shown below for your student id.*
q_variance_with_spread = None  # a number

# Somebody begins with `W_q` equal to `W_k`, so that the query of a token is also its key. The
# entries are independent with mean 0 and variance 1, and d_k = ⟨d_k⟩. What is, on average, the
# *scaled* score of a token with itself?
#
# *The numbers are your own: ⟨d_k⟩ are shown below for your student id.*
q_diagonal_score = None  # a number

# In a layer every query is sure: one weight is 1 and all others are 0, to the last digit. Which
# of the three matrices still get a gradient that is not 0?
#
# - `"cobalt"`: `W_v`, and no other
# - `"orchid"`: none of the three
# - `"saffron"`: `W_q`, `W_k` and `W_v`
# - `"timber"`: `W_q` and `W_k` only
q_sure_queries = None  # one of the options, in quotes

# Columns are tokens. Three queries and two keys are
#
# `Q = [[⟨a⟩, 0, 1], [1, ⟨b⟩, 0]]` and `K = [[⟨c⟩, 1], [0, 2]]`.
#
# Work out by hand what `attention_scores(Q, K)` returns, row by row.
#
# *The numbers are your own: ⟨a⟩, ⟨b⟩, ⟨c⟩ are shown below for your student id.*
q_score_matrix = None  # a list of rows

# `X` has shape (⟨d⟩, ⟨n⟩), `W_q` and `W_k` have shape (⟨d_k⟩, ⟨d⟩), and `W_v` has shape (⟨d_v⟩,
# ⟨d⟩). Which shape does the output of `self_attention` have?
#
# *The numbers are your own: ⟨d⟩, ⟨n⟩, ⟨d_k⟩, ⟨d_v⟩ are shown below for your student id.*
q_layer_shape = None  # the sizes, in brackets

# Softmax runs down the columns of a matrix of scores. Which of these changes leave **all**
# weights as they were, in exact arithmetic? Choose all that do.
#
# - `"anchor"`: multiply every entry by 2
# - `"banjo"`: replace every entry above 10 by 10, so that nothing overflows
# - `"ember"`: subtract from every row its largest entry
# - `"lilac"`: add 100 to every entry
# - `"orbit"`: put every column through a softmax beforehand
# - `"pollen"`: subtract from every column its first entry
# - `"quarry"`: subtract from every column its mean
# - `"walrus"`: divide every column by its largest entry
q_harmless_shifts = None  # every option that is right, in quotes, with commas between
