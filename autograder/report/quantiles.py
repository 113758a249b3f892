"""Quantiles of the F distribution, for intervals; nothing else of ours needs SciPy."""

from __future__ import annotations

import math

# Of the continued fraction: it converges in about √(degrees of freedom) steps.
_STEPS = 10_000
_EXACT = 1e-15


def f_quantile(share: float, over: int, under: int) -> float:
    """The value below which a variable with `over` and `under` degrees of freedom lies so often."""
    low, high = 0.0, 1.0
    while high - low > _EXACT * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if beta_share(middle, over / 2, under / 2) < share:
            low = middle
        else:
            high = middle
    return high * under / (over * (1 - high)) if high < 1 else math.inf


def beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b): the F distribution in other clothes.

    By its continued fraction (DLMF 8.17.22), where that converges fast; else by symmetry.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_share(1 - x, b, a)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # Lentz's method: the fraction is the product of the ratios of its partial numerators and
    # denominators
    fraction, over, under = 1.0, 1.0, 0.0
    for step in range(_STEPS):
        half = step // 2
        if step == 0:
            term = 1.0
        elif step % 2 == 0:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        else:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        under = 1 / (1 + term * under)
        over = 1 + term / over
        fraction *= over * under
        if step and abs(over * under - 1) < _EXACT:
            break
    return front * (fraction - 1) / a
