"""Every interval's false-alarm rate, against simulation and exact distributions."""

import math

import numpy as np
import pytest

from autograder.intervals import (
    UNIFORM_KURTOSIS,
    Range,
    count_range,
    mean_range,
    relative_sd_of_matrix,
    relative_sd_of_pairs,
    standard_errors,
    variance_range,
    xavier_ranges,
)


def outside(values, allowed):
    """The share of values that a range rejects."""
    return float(np.mean((values < allowed.low) | (values > allowed.high)))


def at_most(share, rate, count, slack=1.0):
    """Whether a share of `count` simulations agrees with a rate of at most slack·rate."""
    rate *= slack
    return share <= rate + 5 * math.sqrt(rate / count)


class TestStandardErrors:
    def test_of_a_normal_statistic(self):
        assert standard_errors(rate=0.05) == pytest.approx(1.95996, abs=1e-4)
        assert standard_errors() == pytest.approx(4.8916, abs=1e-3)

    def test_are_shared_among_the_statistics(self):
        assert standard_errors(10) == standard_errors(rate=1e-7)


class TestVariancesOfScores:
    """The figures that the course speaks of."""

    @pytest.mark.parametrize(("d_k", "pairs"), [(4, 30), (16, 200)])
    def test_of_independent_pairs(self, d_k, pairs):
        rng = np.random.default_rng(1)
        Q, K = rng.standard_normal((2, 4000, pairs, d_k), dtype=np.float32)
        found = np.einsum("spd,spd->sp", Q, K).var(axis=1, ddof=1)
        assert found.mean() == pytest.approx(d_k, rel=0.02)
        assert found.std() / d_k == pytest.approx(relative_sd_of_pairs(d_k, pairs), rel=0.06)

    @pytest.mark.parametrize(("d_k", "n"), [(4, 24), (16, 40), (64, 20)])
    def test_of_a_full_matrix(self, d_k, n):
        rng = np.random.default_rng(2)
        Q, K = rng.standard_normal((2, 4000, n, d_k), dtype=np.float32)
        found = (Q @ K.transpose(0, 2, 1)).var(axis=(1, 2)) / d_k
        stated, naive = relative_sd_of_matrix(d_k, n), relative_sd_of_pairs(d_k, n * n)
        assert found.std() == pytest.approx(stated, rel=0.07)
        assert found.std() != pytest.approx(naive, rel=0.2)


class TestMeansAndVariances:
    @pytest.mark.parametrize("rate", [1e-2, 1e-3])
    @pytest.mark.parametrize("n", [12, 300])
    def test_of_normal_draws(self, n, rate):
        draws = 3 + 2 * np.random.default_rng(3).standard_normal((60_000, n), dtype=np.float32)
        means, variances = draws.mean(axis=1), draws.var(axis=1, ddof=1)
        for share in (
            outside(means, mean_range(3, 4, n, rate=rate)),
            outside(variances, variance_range(4, n, rate=rate)),
        ):
            assert at_most(share, rate, len(draws), slack=1.1)
            assert share > 0.5 * rate  # no wider than it says

    def test_of_uniform_draws(self):
        draws = np.random.default_rng(4).random((60_000, 100), dtype=np.float32)
        allowed = variance_range(1 / 12, 100, kurtosis=UNIFORM_KURTOSIS, rate=1e-2)
        assert at_most(outside(draws.var(axis=1, ddof=1), allowed), 1e-2, len(draws), slack=1.3)

    def test_a_rate_is_of_all_statistics_together(self):
        draws = np.random.default_rng(5).standard_normal((20_000, 5, 40), dtype=np.float32)
        allowed = variance_range(1, 40, statistics=5, rate=0.05)
        variances = draws.var(axis=2, ddof=1)
        alarms = ((variances < allowed.low) | (variances > allowed.high)).any(axis=1).mean()
        assert 0.03 < alarms < 0.06


class TestCounts:
    @pytest.mark.parametrize(("n", "p"), [(10, 0.5), (200, 0.9), (5000, 0.37)])
    @pytest.mark.parametrize("rate", [0.1, 1e-3, 1e-6])
    def test_the_tails_are_exact(self, n, p, rate):
        """Against probabilities summed with exact integers."""
        allowed = count_range(n, p, rate=rate)
        share = {k: math.comb(n, k) for k in range(n + 1)} if n <= 200 else None
        if share is None:  # by logarithms of the gamma function instead
            logs = [
                math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
                + k * math.log(p) + (n - k) * math.log1p(-p)
                for k in range(n + 1)
            ]  # fmt: skip
            mass = np.exp(logs)
        else:
            mass = np.array([share[k] * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
        low, high = int(allowed.low), int(allowed.high)
        assert mass[:low].sum() <= rate / 2 * (1 + 1e-6)
        assert mass[high + 1 :].sum() <= rate / 2 * (1 + 1e-6)
        assert mass[: low + 1].sum() > rate / 2
        assert mass[high:].sum() > rate / 2

    @pytest.mark.parametrize(("p", "count"), [(0.0, 0), (1.0, 7)])
    def test_what_is_certain(self, p, count):
        assert count_range(7, p) == Range(count, count)

    def test_a_million(self):
        allowed = count_range(10**6, 0.5, rate=0.05)
        assert allowed.low == pytest.approx(5e5 - 980, abs=2)


class TestXavier:
    @pytest.mark.parametrize("draw", ["normal", "uniform"])
    def test_right_weights_stay_inside(self, draw):
        rng, rate = np.random.default_rng(6), 1e-2
        variance = 0.02**2 * 2 / (30 + 50)
        allowed = xavier_ranges(30, 50, 0.02, rate=rate)
        drawn = rng.standard_normal((4000, 1500))
        if draw == "uniform":
            drawn = (2 * rng.random((4000, 1500)) - 1) * math.sqrt(3)
        weights = math.sqrt(variance) * drawn
        share = outside(weights.mean(axis=1), allowed.mean)
        share += outside(weights.var(axis=1, ddof=1), allowed.variance)
        assert at_most(share, rate, 4000, slack=1.1)

    def test_other_variances_do_not(self):
        allowed = xavier_ranges(64, 128)
        assert 2 / (64 + 128) in allowed.variance
        for wrong in (1 / (64 + 128), 2 / 64, 1 / 64, 0.02**2, 3 / (64 + 128)):
            assert wrong not in allowed.variance
        assert 0.0 in allowed.mean
        assert 0.01 not in allowed.mean


def test_a_range_holds_numbers_only():
    assert np.float64(1.0) in Range(0, 1)
    assert float("nan") not in Range(0, 1)
    assert None not in Range(0, 1)
