"""What quizzes count as right, and what mistakes give, computed without quiz.yaml.

One function for each question, named like it. It gets the numbers that were drawn for a student
(none where nothing is drawn) and returns the answer and the results of the mistakes, in the order
of quiz.yaml. Where there is code that gives the number, it is run: layers are built, masks are
summed, shapes are read off.
"""

import itertools
import math
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from autograder.pack import assignments_of, load_pack
from autograder.quiz import load_quiz

COURSE = Path(__file__).parents[2]
PS1, PS2, PS3 = "ps1_numpy_attention", "ps2_torch_attention", "ps3_multi_head"
PS4, PS5 = "ps4_numerics_and_memory", "ps5_positions_and_sparsity"
PS6 = "ps6_transformer_block"

QUESTIONS = {
    (name, question.id): question
    for name in assignments_of(COURSE)
    for question in load_quiz(COURSE / "solutions" / name)
}


@lru_cache
def reference(assignment, name):
    """A reference solution of the course."""
    return load_pack(COURSE, assignment).exercises[name].reference


def size_of(module):
    return sum(parameter.numel() for parameter in module.parameters())


class Ps1:
    def twice_scaled(d_k):
        unscaled = math.sqrt(d_k)  # standard deviation of a sum of d_k products of variance 1
        once = unscaled / math.sqrt(d_k)
        return once / math.sqrt(d_k), [once, 1 / d_k, unscaled, d_k, unscaled / d_k / d_k]

    def soft_lookup(b, c, x, y, z):
        mix, softmax = reference(PS1, "attend"), reference(PS1, "softmax")
        scores, values = np.log([[1.0], [b], [c]]), np.array([[x, y, z]], dtype=float)
        wrong = [
            values[0, scores[:, 0].argmax()],
            values.mean(),
            mix(values, np.exp(scores)).item(),
            mix(values, softmax(scores)[::-1]).item(),
        ]
        return mix(values, softmax(scores)).item(), wrong

    def variance_with_spread(s, d_k):
        entry = s**2  # mean 0: the mean of a square is the variance
        score = d_k * entry * entry
        return score / d_k, [1, entry, s, score, score / d_k**2]

    def diagonal_score(d_k):
        # E[q²] = 1 and E[q⁴] = 3 for N(0, 1): a square has mean 1 and variance 2
        mean, variance, scale = d_k * 1, d_k * (3 - 1), math.sqrt(d_k)
        return mean / scale, [0, mean, mean / d_k, variance / scale**2, variance]

    def score_matrix(a, b, c):
        Q, K = np.array([[a, 0, 1], [1, b, 0]]), np.array([[c, 1], [0, 2]])
        scores = reference(PS1, "attention_scores")(Q, K)
        return scores, [scores.T, K @ Q, reference(PS1, "scale_scores")(scores, 2)]

    def layer_shape(d, n, d_k, d_v):
        narrow, wide = np.ones((d_k, d)), np.ones((d_v, d))
        output, weights = reference(PS1, "self_attention")(np.ones((d, n)), narrow, narrow, wide)
        return output.shape, [(n, d_v), (d_k, n), (d, n), weights.shape, (d_v, d_k)]


class Ps2:
    def causal_entries(n):
        mask = reference(PS2, "causal_mask")(n)
        return mask.sum(), [mask.tril(-1).sum(), n * n / 2, mask.numel(), mask.diagonal().sum()]

    def cross_shape(batch, n_q, n_k):
        layer = reference(PS2, "CrossAttention")(64, 32, 16, dim_v=24)
        output, weights = layer(torch.zeros(batch, n_q, 64), torch.zeros(batch, n_k, 32))
        wrong = [weights.mT.shape, (batch, n_q, n_q), (batch, n_k, n_k), output.shape, (n_q, n_k)]
        return weights.shape, wrong

    def unit_weights(d_in, d_k):
        entry = d_in * 1 * 1  # variance of a sum of d_in products of variance 1
        unscaled = math.sqrt(d_k * entry * entry)
        scaled = unscaled / math.sqrt(d_k)
        return scaled, [1, math.sqrt(entry), unscaled, scaled**2, d_k]

    def equal_scores():
        mask = reference(PS2, "causal_mask")(3)
        scores = torch.zeros(3, 3)
        even = torch.softmax(scores, -1)
        weights = torch.softmax(scores.masked_fill(~mask, -math.inf), -1)
        past = torch.softmax(scores.masked_fill(~mask.T, -math.inf), -1)
        return weights, [even * mask, past, even, weights.T]


class Ps3:
    def two_tokens():
        x = torch.tensor([[[0, 1, 2, 3], [10, 11, 12, 13]]])
        split = reference(PS3, "split_heads")(x, 2)[0]
        return split[1], [x.reshape(1, 2, 2, 2)[0, 1], x[0, :, 1::2], x[0, :, 2:].T, split[0]]

    def scale_of_a_head(d_model, h):
        assert d_model % h == 0
        d_k = reference(PS3, "split_heads")(torch.zeros(1, 1, d_model), h).shape[-1]
        return math.sqrt(d_k), [math.sqrt(d_model), d_k, math.sqrt(h), h]

    def cross_shape(batch, h, n_q, n_k):
        layer = reference(PS3, "MultiHeadAttention")(64, h)
        output, weights = layer(torch.zeros(batch, n_q, 64), torch.zeros(batch, n_k, 64))
        wrong = [
            weights.mT.shape,
            weights.mean(1).shape,
            output.shape,
            (batch, h, n_q, n_q),
            weights.transpose(0, 1).shape,
        ]
        return weights.shape, wrong

    def parameters(d_model, h):
        count = reference(PS3, "count_parameters")
        answer = size_of(reference(PS3, "MultiHeadAttention")(d_model, h, bias=False))
        one = d_model**2
        wrong = [
            answer - one,
            h * answer,
            h * (answer - one) + one,
            h * 3 * (d_model // h) ** 2 + one,
            count(d_model, h, bias=True),
            one,
        ]
        return answer, wrong


class Ps4:
    def masked_rows():
        scores = torch.tensor([[0, math.log(3), 5], [2, 4, 1]])
        mask = torch.tensor([[1, 1, 0], [0, 0, 0]], dtype=torch.bool)
        right = reference(PS4, "masked_softmax")(scores, mask)
        filled = torch.softmax(scores.masked_fill(~mask, -1e9), -1)
        seen = torch.softmax(scores, -1)
        return right, [filled, seen * mask, torch.stack([right[0], seen[1]])]

    def padded_batch(a, b, c, d):
        padded, mask = reference(PS4, "pad_batch")([torch.zeros(n, d) for n in (a, b, c)])
        whole = a + b + c
        wrong = [padded.transpose(0, 1).shape, (whole, d), mask.shape, (3, a, d), (3, whole, d)]
        return padded.shape, wrong

    def chunk_memory(n_k, chunk):
        assert n_k % chunk == 0
        return 1 * chunk, [1 * n_k, n_k // chunk, chunk * chunk]

    def projections_share(d):
        flops = reference(PS4, "attention_flops")

        def projections(n):
            return 4 * (2 * n * d * d)

        (equal,) = [n for n in range(1, 4 * d + 1) if flops(n, d) == 2 * projections(n)]
        assert (flops(4 * d, d) - projections(4 * d)) == 2 * projections(4 * d)
        assert 2 * (flops(d, d) - projections(d)) == projections(d)
        return equal, [d, d / 2, 4 * d]

    def scores_in_bytes(batch, h, n):
        size = reference(PS4, "score_matrix_bytes")
        wrong = [
            size(batch, h, n, n, 4),
            size(batch, 1, n, n, 2),
            size(1, h, n, n, 2),
            size(batch, h, n, n, 1),
            size(batch, h, n, n, 16),
            size(batch, h, n, 1, 2),
        ]
        return size(batch, h, n, n, torch.finfo(torch.float16).bits // 8), wrong


def visible(n, left, right):
    """How many pairs are no further apart than that, counted one by one."""
    return sum(-left <= key - query <= right for key in range(n) for query in range(n))


class Ps5:
    def clipped_distance(m, q, k):
        columns = torch.arange(2 * m + 1).expand(1, -1)  # each entry is the number of its column
        read = reference(PS5, "relative_position_bias")(columns, q + 1, k + 1)[0, q, k]
        query_minus_key = max(q - k, -m) + m
        return read, [query_minus_key, k - q + m, k - q, min(k - q, m), columns.numel()]

    def cached_position(n):
        positions = list(range(n + 1))  # of n tokens that were read, and of the new one
        return positions[-1], [positions[0], positions[-1] + 1, 1, positions[n - 1]]

    def visible_pairs(n, w):
        mask = reference(PS5, "sliding_window_mask")(n, w)
        wrong = [
            n * mask.sum(1).max(),
            visible(n, w - 1, w - 1),
            visible(n, w, 0),
            mask.sum() - n,
            visible(n, w + 1, w + 1),
        ]
        return mask.sum(), wrong

    def layers_to_reach(n, w):
        reached = torch.zeros(n, dtype=torch.bool)
        reached[0] = True
        mask, layers = reference(PS5, "sliding_window_mask")(n, w), 0
        while not reached[-1]:
            reached, layers = (mask & reached).any(1), layers + 1
        apart = n - 1
        return layers, [apart / (2 * w), layers - 1, math.ceil(n / w), 1, apart]

    def memory_of_a_window(n, w):
        keys = reference(PS5, "sliding_window_mask")(2 * w + 5, w).sum(1).max().item()
        size = reference(PS4, "score_matrix_bytes")
        wrong = [
            size(1, 1, n, w + 1, 4),
            size(1, 1, n, keys, 1),
            size(1, 1, n, keys, 8),
            size(1, 1, n, keys - 1, 4),
            size(1, 1, n, n, 4),
        ]
        return size(1, 1, n, keys, 4), wrong

    def cost_of_windows(side):
        tokens = side * side
        windows = reference(PS5, "window_partition")(torch.zeros(1, side, side, 1), 7)
        scores = windows.shape[0] * windows.shape[1] ** 2
        row = side // 7
        wrong = [row, tokens / 7, windows.shape[1], tokens, tokens**2 / windows.shape[1] ** 2]
        return tokens**2 / scores, wrong

    def index_of_a_pair(w, r, c):
        index = reference(PS5, "relative_position_index")(w)
        token = r * w + c

        def numbered(dy, dx, stride=2 * w - 1, shift=w - 1):
            return (dy + shift) * stride + dx + shift

        wrong = [
            index[token, 0],
            numbered(-r, -c, stride=2 * w),
            numbered(-c, -r),
            numbered(-r, -c, shift=0),
            numbered(-r, -c, stride=1),
            numbered(-r, -c, shift=w),
        ]
        return index[0, token], wrong

    def number_of_patches(height, width, p):
        patches = reference(PS5, "patchify")(torch.zeros(1, 3, height, width), p).shape[1]
        down, across = height // p, width // p
        wrong = [patches, down**2 + 1, across**2 + 1, 3 * patches + 1, height * width + 1]
        return patches + 1, wrong

    def patch_shape(batch, height, width, p):
        right = reference(PS5, "patchify")(torch.zeros(batch, 3, height, width), p)
        _, patches, size = right.shape
        wrong = [
            (batch, patches, size // 3),
            (batch, 3 * patches, size // 3),
            right.flatten(0, 1).shape,
            (batch, height // p, width // p, size),
            right.mT.shape,
        ]
        return right.shape, wrong


class Ps6:
    def number_of_means(batch, n, d):
        x = torch.zeros(batch, n, d)
        others = [x.mean((0, 1)), x.mean((1, 2)), x.mean((0, 2)), x.mean(), x.mean(1)]
        return x.mean(-1).numel(), [mean.numel() for mean in others]

    def dropped_row(n, lost, p):
        p, kept = Fraction(str(p)), Fraction(n - lost, n)
        return float(kept / (1 - p)), [1, *map(float, (kept, kept / p, kept * (1 - p)))]

    def permuted_weights():
        before = torch.tensor([[0.5, 0.3, 0.2], [0.15, 0.75, 0.1], [0.25, 0.05, 0.7]])
        order = torch.tensor([2, 0, 1])
        # tokens that have just these weights: rows of scores, found by their own key
        after = torch.softmax(before.log()[order][:, order], -1)
        back = order.argsort()
        return after, [before[order], before[:, order], before, before[back][:, back]]

    def layers_to_see_all(n):
        field = reference(PS6, "receptive_field")

        def first(enough):
            return next(layers for layers in itertools.count() if enough(layers))

        answer = first(lambda layers: field(layers, 3) >= n)
        assert field(answer - 1, 3) == n - 1
        wrong = [
            first(lambda layers: 3 * layers >= n),
            answer - 1,
            first(lambda layers: 1 + layers >= n),
            first(lambda layers: 3**layers >= n),
            first(lambda layers: 1 + 2 * (2**layers - 1) >= n),
        ]
        return answer, wrong


COMPUTED = {
    (assignment, name): function
    for assignment, questions in {
        PS1: Ps1, PS2: Ps2, PS3: Ps3, PS4: Ps4, PS5: Ps5, PS6: Ps6,
    }.items()
    for name, function in vars(questions).items()
    if not name.startswith("_")
}  # fmt: skip
