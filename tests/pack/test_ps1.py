"""Problem set 1 beside independent oracles: loops, finite differences, exact moments.

What is random is computed exactly where that can be done: eight points with suitable
probabilities have all moments of N(0, 1) up to the 15th.
"""

import math
from pathlib import Path

import numpy as np
import pytest

from autograder.pack import load_pack
from autograder.quiz import load_quiz

PACK = load_pack(Path(__file__).parents[2], "ps1_numpy_attention")
QUIZ = {question.id: question for question in load_quiz(PACK.folder)}

# The running example of the notebook.
X = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
W_Q = np.array([[1.0, 2.0], [0.0, 1.0]])
W_K = np.array([[1.0, 0.0], [1.0, 1.0]])
W_V = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]])


def reference(name):
    return PACK.exercises[name].reference


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def near(got, expected):
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-12)


# --- oracles -------------------------------------------------------------------------------


def softmax_of(scores):
    """One distribution, with plain numbers."""
    largest = max(scores)
    powers = [math.exp(score - largest) for score in scores]
    return [power / math.fsum(powers) for power in powers]


def attention_by_a_loop(X, W_q, W_k, W_v):
    """(output, weights) of each token in turn."""
    n, d_k = X.shape[1], len(W_k)
    weights, output = np.zeros((n, n)), np.zeros((len(W_v), n))
    for j in range(n):
        query = W_q @ X[:, j]
        scores = [float(W_k @ X[:, i] @ query) / math.sqrt(d_k) for i in range(n)]
        weights[:, j] = softmax_of(scores)
        output[:, j] = sum(weights[i, j] * (W_v @ X[:, i]) for i in range(n))
    return output, weights


def test_self_attention_by_a_loop():
    arguments = draw(5, 7), draw(3, 5, seed=1), draw(3, 5, seed=2), draw(4, 5, seed=3)
    output, weights = reference("self_attention")(*arguments)
    expected = attention_by_a_loop(*arguments)
    near(output, expected[0])
    near(weights, expected[1])


@pytest.mark.parametrize("factor", [1, 1e3, 1e300])
def test_softmax_by_a_loop(factor):
    scores = factor * draw(4, 3)
    for column, got in zip(scores.T, reference("softmax")(scores).T, strict=True):
        near(got, softmax_of(list(column)))


def test_the_jacobian_by_finite_differences():
    scores, step = draw(5), 1e-6
    softmax = reference("softmax")
    jacobian = reference("softmax_jacobian")(softmax(scores[:, None])[:, 0])
    for j in range(5):
        moved = step * np.eye(5)[:, [j]]
        slope = (softmax(scores[:, None] + moved) - softmax(scores[:, None] - moved)) / (2 * step)
        np.testing.assert_allclose(jacobian[:, j], slope[:, 0], atol=1e-9)


# --- variance ------------------------------------------------------------------------------


def moments(product):
    """(mean, variance) of a function of two independent numbers from N(0, 1)."""
    points, mass = np.polynomial.hermite_e.hermegauss(8)
    one, other = np.meshgrid(points, points)
    chance = np.outer(mass, mass) / mass.sum() ** 2
    mean = (chance * product(one, other)).sum()
    return mean, (chance * (product(one, other) - mean) ** 2).sum()


def test_the_variance_of_a_score_is_d_k():
    assert moments(lambda q, k: q * k) == pytest.approx((0, 1))  # and d_k of them add up


def test_a_mean_of_one_makes_it_three_times_d_k():
    assert moments(lambda q, k: (1 + q) * (1 + k)) == pytest.approx((1, 3))
    question = QUIZ["variance_with_mean"]
    d_k = 48
    assert question.answer == 3 * d_k
    assert [value for value, _, _ in question.wrong] == pytest.approx(
        [d_k, 4 * d_k, 2 * d_k, 1, 3, math.sqrt(d_k), math.sqrt(3 * d_k)], rel=1e-6
    )


def test_a_query_that_is_its_key_has_mean_d_k_and_variance_two_d_k():
    assert moments(lambda q, _: q * q) == pytest.approx((1, 2))


def test_half_the_standard_deviation_gives_a_sixteenth_once_scaled():
    assert moments(lambda q, k: q / 2 * k / 2) == pytest.approx((0, 1 / 16))


def test_entries_that_share_a_query_are_not_independent():
    """Their squares vary together: the covariance is Var(|q|²), which is 2·d_k."""
    assert moments(lambda q, _: q * q)[1] == pytest.approx(2)
    # given q, all entries of a column have the variance |q|²
    q, keys = draw(16), draw(16, 100_000, seed=1)
    assert (q @ keys).var() == pytest.approx(q @ q, rel=6 * math.sqrt(2 / 100_000))


def test_scaling_twice_is_dividing_by_d_k():
    scale, scores = reference("scale_scores"), draw(3, 4)
    near(scale(scale(scores, 64), 64), scores / 64)
    assert 64 / 64**2 == 1 / 64  # of a variance of d_k, 1/d_k is left


def test_the_spread_of_a_measured_variance():
    """(2 + 6/d_k)/N, from the fourth moment: E(q·k)⁴ = 3·E|q|⁴ = 3·(d_k² + 2·d_k)."""
    for d_k in (1, 4, 64):
        fourth = 3 * (d_k**2 + 2 * d_k)
        assert fourth / d_k**2 - 1 == pytest.approx(2 + 6 / d_k)


def test_projections_from_n_0_1_spread_scaled_scores_by_their_width():
    """256 features: queries and keys of variance 256, scaled scores of standard deviation 256."""
    attention_scores, scale = reference("attention_scores"), reference("scale_scores")
    rng = np.random.default_rng(1)
    X_large = rng.standard_normal((256, 32))
    W_q, W_k = rng.standard_normal((2, 256, 256))
    spread = {}
    for divisor in (1.0, 16.0):
        Q, K = W_q / divisor @ X_large, W_k / divisor @ X_large
        assert (Q.shape, attention_scores(Q, K).shape) == ((256, 32), (32, 32))
        spread[divisor] = scale(attention_scores(Q, K), 256).std()
    # 32 queries and 32 keys: about 1/√32 off for each side
    assert spread[1.0] == pytest.approx(256, rel=0.5)
    assert spread[16.0] == pytest.approx(1, rel=0.5)
    assert spread[1.0] == pytest.approx(256 * spread[16.0])


# --- softmax -------------------------------------------------------------------------------


def test_where_exp_ends():
    with np.errstate(over="ignore"):
        ends = np.exp([709.0, 710.0, -745.0, -746.0])
    assert (ends[0] < np.inf, ends[1], ends[2], ends[3]) == (True, np.inf, 5e-324, 0)
    assert 1.75e308 < np.finfo(float).max < 1.85e308
    assert round(math.e, 2) == 2.72


def test_one_global_maximum_makes_a_column_nan():
    scores = np.array([[0.0, -800.0], [1.0, -801.0], [2.0, -802.0]])
    powers = np.exp(scores - scores.max())
    with np.errstate(invalid="ignore"):
        weights = powers / powers.sum(axis=0)
    assert np.isnan(weights[:, 1]).all() and np.isfinite(weights[:, 0]).all()
    right = reference("softmax")(scores)
    assert [f"{share:.3f}" for share in right[:, 1]] == ["0.665", "0.245", "0.090"]
    near(right[:, 1], right[::-1, 0])


def test_weights_that_come_out_even():
    weights = reference("softmax")(np.log([[1.0], [2.0], [5.0]]))
    near(weights[:, 0], [1 / 8, 2 / 8, 5 / 8])
    jacobian = 64 * reference("softmax_jacobian")(weights[:, 0])
    near(jacobian[0], [7, -2, -5])


def test_entries_of_the_jacobian():
    for seed in range(20):
        jacobian = reference("softmax_jacobian")(np.array(softmax_of(list(3 * draw(6, seed=seed)))))
        assert np.abs(jacobian).max() <= 1 / 4
        near(jacobian.sum(axis=0), np.zeros(6))
        near(jacobian.sum(axis=1), np.zeros(6))
    assert not reference("softmax_jacobian")(np.array([0.0, 1.0, 0.0])).any()
    # two keys whose scores differ by Δ
    larger = 1 / (1 + math.exp(-5))
    near(np.abs(reference("softmax_jacobian")(np.array([larger, 1 - larger]))),
         np.full((2, 2), larger * (1 - larger)))  # fmt: skip


def test_a_saturated_softmax_has_no_gradient():
    """At d_k = 512 less than a thousandth of the Jacobian is left for half of the queries."""
    raw = math.sqrt(512) * draw(8, 2000, seed=7)
    left = {}
    for label, scores in (("unscaled", raw), ("scaled", reference("scale_scores")(raw, 512))):
        columns = reference("softmax")(scores).T
        largest = [np.abs(reference("softmax_jacobian")(column)).max() for column in columns]
        left[label] = float(np.median(largest))
    assert left["unscaled"] < left["scaled"] / 1000
    assert 0.1 < left["scaled"] < 0.25


# --- the layer -----------------------------------------------------------------------------


def test_a_column_holds_what_its_token_attends_to():
    """[i, j] is the attention of token j to token i: changing query j changes column j alone."""
    Q, K = W_Q @ X, W_K @ X
    scores = reference("attention_scores")(Q, K)
    assert (scores[0, 2], scores[2, 0]) == (5, 2)
    changed = Q.copy()
    changed[:, 2] += 1
    moved = (reference("attention_scores")(changed, K) != scores).any(axis=0)
    assert moved.tolist() == [False, False, True]
    question = QUIZ["column_layout"]
    (right,) = (option.text for option in question.options if option.id == question.answer)
    assert right.startswith('Token 2 ("slept") spends 75% of its attention on token 1 ("animal")')


def test_the_running_example():
    near(reference("project")(W_Q, X), [[1, 2, 4], [0, 1, 1]])
    near(reference("project")(W_K, X), [[1, 0, 2], [1, 1, 3]])
    output, weights = reference("self_attention")(X, W_Q, W_K, W_V)
    assert [f"{share:.3f}" for share in weights[:, 0]] == ["0.284", "0.140", "0.576"]
    near(weights[:, 0], softmax_of([score / math.sqrt(2) for score in (1, 0, 2)]))
    assert output.shape == (3, 3)
    values = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [1.0, -1.0, 1.0]])
    near(reference("attend")(values, np.array([[1 / 2], [1 / 4], [1 / 4]]))[:, 0], [1, 0.5, 0.5])


def test_shapes_of_four_tokens_of_three_features():
    """[4, 3] → [4, d_k] → [4, 4] → [4, d_v] in rows is the transpose of each in columns."""
    d_k, d_v = 5, 2
    X, W_q, W_k, W_v = draw(3, 4), draw(d_k, 3), draw(d_k, 3, seed=1), draw(d_v, 3, seed=2)
    Q, K, V = (reference("project")(W, X) for W in (W_q, W_k, W_v))
    scores = reference("attention_scores")(Q, K)
    output = reference("attend")(V, reference("softmax")(reference("scale_scores")(scores, d_k)))
    assert [part.shape for part in (X, Q, scores, output)] == [(3, 4), (d_k, 4), (4, 4), (d_v, 4)]
    rows = (X.T @ W_q.T) @ (X.T @ W_k.T).T
    near(rows, scores.T)


def test_attention_is_a_soft_look_up():
    """Shares of 0.1, 0.8 and 0.1 mix; as scores grow apart, the look-up turns hard."""
    values = np.array([[2.0, 3.0, 6.0]])
    near(reference("attend")(values, np.array([[0.1], [0.8], [0.1]])), [[3.2]])
    scores = np.array([[0.0], [1.0], [0.5]])
    found = [reference("attend")(values, reference("softmax")(f * scores)) for f in (0, 1, 100)]
    assert [round(float(mixed.item()), 3) for mixed in found][::2] == [round(11 / 3, 3), 3.0]


def test_weights_set_by_hand_let_it_attend_to_the_animal():
    sentence = "The animal didn't cross the street because it was too tired"
    words = sentence.split()
    assert (len(words), words.index("animal"), words.index("it")) == (11, 1, 7)
    features = np.zeros((3, 11))
    features[0, [1, words.index("street")]] = features[1, 1] = features[2, 7] = 1.0
    asks, shows = np.array([[0.0, 0.0, 5.0]] * 2), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    _, weights = reference("self_attention")(features, asks, shows, np.eye(3))
    assert weights[:, 7].argmax() == 1 and weights[1, 7] > 0.9
    for token in range(11):
        if token != 7:  # asks for nothing
            near(weights[:, token], np.full(11, 1 / 11))
