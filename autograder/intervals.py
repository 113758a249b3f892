"""Intervals for statistics of random results, each with the false-alarm rate that it has.

A right solution leaves an interval by chance, and would be rejected for it. The rate of that is
chosen for a whole grading and shared among all statistics that are looked at (Bonferroni:
whatever their dependence, the rates add up at most). Every rate here is confirmed by
simulation in the tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

# Of a whole grading: of a million right solutions one is rejected by chance.
FALSE_ALARMS = 1e-6

# E[(x − mean)⁴] / Var(x)² of the distributions that weights are drawn from.
NORMAL_KURTOSIS = 3.0
UNIFORM_KURTOSIS = 1.8


@dataclass(frozen=True)
class Range:
    """From low to high, both included."""

    low: float
    high: float

    def __contains__(self, value: object) -> bool:
        return isinstance(value, (int, float, np.number)) and bool(self.low <= value <= self.high)


def standard_errors(statistics: int = 1, *, rate: float = FALSE_ALARMS) -> float:
    """How many standard errors a normal statistic may be off, up or down.

    statistics: how many are looked at in one grading; rate: false alarms of all together.
    One statistic at 1e-6 gets 4.89, ten get 5.33.
    """
    return -NormalDist().inv_cdf(rate / statistics / 2)


def relative_sd_of_pairs(d_k: int, pairs: int) -> float:
    """Of the sample variance of q·k over independent pairs of standard normal vectors.

    A sum of d_k products of normal draws has the kurtosis 3 + 6/d_k, and the variance of N
    independent draws of kurtosis κ has the relative variance (κ − 1)/N.
    """
    return math.sqrt((2 + 6 / d_k) / pairs)


def relative_sd_of_matrix(d_k: int, n: int) -> float:
    """Of the variance of all n² scores of n queries with n keys, all standard normal.

    These share their vectors: the relative variance is (2 + 2/d_k)/n² + 4/(n·d_k), and not the
    (2 + 6/d_k)/n² of as many independent pairs. The second term is that of the lengths: the
    mean of n values |q|²/d_k has the variance 2/(n·d_k), and so for k.
    """
    return math.sqrt((2 + 2 / d_k) / n**2 + 4 / (n * d_k))


def mean_range(
    mean: float, variance: float, n: int, *, statistics: int = 1, rate: float = FALSE_ALARMS
) -> Range:
    """For the mean of n independent draws."""
    half = standard_errors(statistics, rate=rate) * math.sqrt(variance / n)
    return Range(mean - half, mean + half)


def variance_range(
    variance: float,
    n: int,
    *,
    kurtosis: float = NORMAL_KURTOSIS,
    statistics: int = 1,
    rate: float = FALSE_ALARMS,
) -> Range:
    """For the sample variance of n independent draws.

    The sample variance is taken as a chi-square variable that has its relative variance,
    (kurtosis − 1)/n; exact for normal draws. Tails by Wilson and Hilferty (1931): the cube root
    of a chi-square variable over its k degrees of freedom is nearly normal, with mean 1 − 2/(9k)
    and variance 2/(9k). So the interval reaches further up than down, as few draws need.
    """
    degrees = 2 * (n - 1) / (kurtosis - 1)
    share = 2 / (9 * degrees)
    z = standard_errors(statistics, rate=rate) * math.sqrt(share)
    low = max(1 - share - z, 0.0) ** 3
    return Range(variance * low, variance * (1 - share + z) ** 3)


def count_range(
    n: int, probability: float, *, statistics: int = 1, rate: float = FALSE_ALARMS
) -> Range:
    """For how many of n independent entries are kept, each with that probability.

    Exact: the shortest range whose two tails have at most half the rate each, by summing the
    binomial distribution. Takes time and memory in proportion to n (10⁶: 0.1 s).
    """
    if not 0.0 < probability < 1.0:
        return Range(n * probability, n * probability)
    successes = np.arange(n + 1)
    # log n! by its recurrence: exact enough (1e-10 relative) for any n that fits in memory
    factorials = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    logs = factorials[n] - factorials - factorials[::-1]
    logs += successes * math.log(probability) + (n - successes) * math.log1p(-probability)
    mass = np.exp(logs)
    tail = rate / statistics / 2
    low = int(np.searchsorted(np.cumsum(mass), tail, side="right"))
    high = n - int(np.searchsorted(np.cumsum(mass[::-1]), tail, side="right"))
    return Range(low, high)


@dataclass(frozen=True)
class XavierRanges:
    """Where mean and sample variance of one Xavier-initialised weight matrix may lie."""

    mean: Range
    variance: Range


def xavier_ranges(
    fan_in: int,
    fan_out: int,
    gain: float = 1.0,
    *,
    matrices: int = 1,
    rate: float = FALSE_ALARMS,
) -> XavierRanges:
    """For a matrix of fan_out × fan_in weights of variance gain²·2/(fan_in + fan_out).

    Wide enough for normal draws, and thus for uniform ones, whose variance spreads less.
    matrices: how many are looked at in one grading, with two statistics each.
    """
    variance = gain**2 * 2 / (fan_in + fan_out)
    n, looked_at = fan_in * fan_out, 2 * matrices
    return XavierRanges(
        mean_range(0.0, variance, n, statistics=looked_at, rate=rate),
        variance_range(variance, n, statistics=looked_at, rate=rate),
    )
