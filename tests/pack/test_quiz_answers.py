"""Answers of quizzes, and what the mistakes beside them give, computed again.

One function for each question that is not computed beside the oracles of its set. It gets the
numbers of the question and returns the answer and what the wrong ways give, in the order of
quiz.yaml.
"""

import math
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from autograder.pack import load_pack
from autograder.quiz import load_quiz

COURSE = Path(__file__).parents[2]
PS1 = "ps1_numpy_attention"


@lru_cache
def questions(assignment):
    return {question.id: question for question in load_quiz(COURSE / "solutions" / assignment)}


@lru_cache
def reference(assignment, name):
    return load_pack(COURSE, assignment).exercises[name].reference


def right_option(question):
    return next(option.text for option in question.options if option.id == question.answer)


# --- ps1 -------------------------------------------------------------------------------


def twice_scaled(d_k=64):
    unscaled = math.sqrt(d_k)  # standard deviation of a sum of d_k products of variance 1
    wrong = [unscaled / math.sqrt(d_k), 1 / d_k, unscaled, unscaled**2, unscaled / d_k / d_k]
    return unscaled / math.sqrt(d_k) / math.sqrt(d_k), wrong


def soft_lookup(a=1, b=3, c=4, x=8, y=4, z=2):
    scores, values = np.log([[a], [b], [c]]), np.array([[x, y, z]], dtype=float)
    mix = reference(PS1, "attend")
    best = values[0, scores[:, 0].argmax()]
    answer = mix(values, reference(PS1, "softmax")(scores)).item()
    return answer, [
        best,
        values.mean(),
        mix(values, np.exp(scores)).item(),
        (values @ scores).item(),
    ]


def variance_with_spread(s=0.5, d_k=48):
    entry, product = s**2, s**2 * s**2  # mean 0: the mean of a square is the variance
    score = d_k * product
    return score / d_k, [1, entry, s, score, score / d_k**2]


def diagonal_score(d_k=64):
    # E[q²] = 1 and E[q⁴] = 3 for N(0, 1): a square has mean 1 and variance 2
    mean, variance = d_k * 1, d_k * (3 - 1)
    scale = math.sqrt(d_k)
    return mean / scale, [0, mean, mean / d_k, variance / scale**2, variance]


NUMBERS = {
    PS1: (twice_scaled, soft_lookup, variance_with_spread, diagonal_score),
}


@pytest.mark.parametrize(
    ("assignment", "compute"),
    [
        pytest.param(name, function, id=f"{name[:3]}-{function.__name__}")
        for name, functions in NUMBERS.items()
        for function in functions
    ],
)
def test_the_answer_and_what_mistakes_give(assignment, compute):
    question = questions(assignment)[compute.__name__]
    answer, wrong = compute()
    assert question.answer == pytest.approx(answer, rel=1e-5)
    assert [value for value, *_ in question.wrong] == pytest.approx(wrong, rel=1e-4)


class TestChoicesOfPs1:
    def test_which_widths_fit(self):
        """(d_out, d_in) of W_k and of W_v beside a W_q of (4, 6)."""
        layer, question = reference(PS1, "self_attention"), questions(PS1)["fitting_widths"]
        shapes = {
            "`W_k` (3, 6) and `W_v` (4, 6)": ((3, 6), (4, 6)),
            "`W_k` (4, 6) and `W_v` (4, 3)": ((4, 6), (4, 3)),
            "`W_k` (6, 4) and `W_v` (6, 4)": ((6, 4), (6, 4)),
            "`W_k` (4, 6) and `W_v` (3, 6)": ((4, 6), (3, 6)),
        }
        assert list(shapes) == [option.text for option in question.options]
        for text, (key, value) in shapes.items():
            arguments = np.ones((6, 5)), np.ones((4, 6)), np.ones(key), np.ones(value)
            if text == right_option(question):
                assert layer(*arguments)[0].shape == (3, 5)
            else:
                with pytest.raises(ValueError, match="matmul"):
                    layer(*arguments)

    def test_which_columns_are_lost(self):
        scores = np.array([[10.0, -600.0, -900.0], [8.0, -602.0, -902.0]])
        powers = np.exp(scores - scores.max())
        with np.errstate(invalid="ignore"):
            weights = powers / powers.sum(axis=0)
        assert np.isnan(weights).any(axis=0).tolist() == [False, False, True]
        np.testing.assert_allclose(weights[:, :2], reference(PS1, "softmax")(scores)[:, :2])
        assert round(math.log10(math.exp(-610))) == -265
        assert right_option(questions(PS1)["which_columns"]) == "column 2 alone"

    def test_what_a_sure_query_still_teaches(self):
        """Finite differences of the output by each matrix, where the softmax is saturated."""
        layer, rng = reference(PS1, "self_attention"), np.random.default_rng(0)
        X = rng.normal(size=(4, 4))
        W = [1e3 * rng.normal(size=(4, 4)), 1e3 * rng.normal(size=(4, 4)), rng.normal(size=(3, 4))]
        output, weights = layer(X, *W)
        assert set(weights.flatten().tolist()) == {0.0, 1.0}
        moved = []
        for i in range(3):
            nudged = [part + 1e-3 * (i == k) for k, part in enumerate(W)]
            moved.append(bool(np.abs(layer(X, *nudged)[0] - output).max() > 0))
        assert moved == [False, False, True]
        assert right_option(questions(PS1)["sure_queries"]) == "`W_v`, and no other"
