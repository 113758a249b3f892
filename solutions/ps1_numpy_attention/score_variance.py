"""Measure what the scale is for: draw queries and keys, and look at how far the scores spread.

With independent entries of mean 0 and variance 1, scores have the variance d_k. Divided by √d_k
they have variance 1, whatever the width. Believe it when your own draws say so.
"""

import numpy as np

from autograder import Generator, Interval, Verdict, exercise


@exercise(points=4, order=7)
def score_variance(d_k: int, n_pairs: int, rng: np.random.Generator) -> tuple[float, float]:
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
    Q = rng.standard_normal((d_k, n_pairs))  # (d_k, n_pairs), one query per column
    K = rng.standard_normal((d_k, n_pairs))  # (d_k, n_pairs), one key per column
    scores = (Q * K).sum(axis=0)  # (n_pairs,), query i with key i only
    scaled = scores / np.sqrt(d_k)  # (n_pairs,)
    return float(scores.var(ddof=1)), float(scaled.var(ddof=1))  # two numbers


@score_variance.check("means, spread and repeatability over 64 generators", public=True)
def over_generators(view):
    """Statistics over generators: never a comparison with fixed draws.

    The relative standard deviation of a sample variance of n_pairs scores is
    r = sqrt((2 + 6/d_k) / n_pairs), since a score has the kurtosis 3 + 6/d_k. Every constant
    below was confirmed by simulation.
    """
    d_k, n_pairs = view.calls[0].arguments["d_k"], view.calls[0].arguments["n_pairs"]
    seeds = [call.arguments["rng"].seed for call in view.calls]
    results = np.array([[float(part) for part in call.result] for call in view.calls])
    results = results.clip(-1e100, 1e100)  # no variance comes near, and squares stay finite
    first = {}  # seed -> the first call with it; later calls with it must repeat the result
    repeats = True
    for index, seed in enumerate(seeds):
        if first.setdefault(seed, index) != index:
            same = results[first[seed]]
            # matrix products may round otherwise from call to call, hence not ==
            repeats &= bool(np.all(np.abs(results[index] - same) <= 1e-6 * np.abs(same)))
    results = results[list(first.values())]  # (generators, 2)
    generators = len(results)

    steps = np.diff(np.sort(results[:, 0]))
    distinct = 1 + int((steps > 1e-9 * np.abs(results[:, 0]).max()).sum())
    theory = np.array([d_k, 1.0])
    relative = results / theory  # (generators, 2), each with the expectation 1
    means = relative.mean(axis=0)
    spread = np.sqrt((2 + 6 / d_k) / n_pairs)  # r above
    # The sizes of the means, not the theory: a wrong factor must not look like a wrong spread.
    sizes = np.maximum(np.abs(means), 1e-12)
    found = relative.std(axis=0, ddof=1) / sizes  # (2,)
    stretch = np.log(np.maximum(found, 1e-12) / spread)  # (2,), 0 is expected

    error = spread / np.sqrt(generators)
    # 1/n_pairs: dividing by n_pairs instead of n_pairs - 1 lowers the mean by that share.
    allowed = 6 * error + 1 / n_pairs
    # Each mean and each spread below leaves these bounds by chance less often than once in 10
    # million gradings (10^6 and more were simulated). For few pairs the spread itself is known
    # less well, and more often found too large than too small.
    lower, upper = (0.6, 0.6) if n_pairs >= 32 else (1.0, 1.5)

    message = None
    if not repeats:
        message = (
            "two generators in the same state gave different results, expected equal ones: all "
            "randomness must come from `rng`"
        )
    elif distinct < generators - 4:  # results rounded to float32 coincide now and then
        message = (
            f"{generators} different generators gave {distinct} different results, expected "
            f"{generators}: every call must draw anew from `rng`"
        )
    for part, name in enumerate(("first", "second")):
        if message is None and abs(means[part] - 1) > allowed:
            message = (
                f"the {name} result is {means[part] * theory[part]:.4g} on average over "
                f"{generators} generators, expected {theory[part]:.4g} within "
                f"{allowed * theory[part]:.2g} (d_k = {d_k}, n_pairs = {n_pairs})"
            )
    for part, name in enumerate(("first", "second")):
        if message is None and not -lower <= stretch[part] <= upper:
            message = (
                f"the {name} result varies by {100 * found[part]:.2g}% from generator to "
                f"generator, expected about {100 * spread:.2g}% for {n_pairs} independent pairs"
            )

    # Two submissions with one mistake draw different numbers, so their statistics differ by
    # two sampling errors. Equal results are one draw, whatever the number of generators.
    # A spread over 64 generators is known to about 9%, over 32 draws of few pairs to 15%.
    units = np.maximum(found, spread) / np.sqrt(distinct)
    wide = 0.4 if n_pairs >= 32 else 0.5
    summary = [
        Interval("repeats", float(repeats), 0.0),
        Interval("varies", float(distinct > 1), 0.0),
        Interval("theory", float(np.allclose(results, theory, rtol=1e-12)), 0.0),
    ]
    for part, name in enumerate(("unscaled", "scaled")):
        half = 4 * units[part] * sizes[part] + sizes[part] / n_pairs
        summary.append(Interval(f"mean {name}", float(means[part]), float(half)))
        summary.append(Interval(f"spread {name}", float(stretch[part]), wide))
    return Verdict(message, tuple(summary))


# ---- cases ---------------------------------------------------------------------------------


@score_variance.case(
    "64 generators",
    separates=[
        "by_d_k",
        "variance_over_root",
        "not_scaled",
        "standard_deviation",
        "key_equals_query",
        "shared_query",
        "all_products",
        "uniform_draws",
        "known_answer",
        "other_randomness",
        "reseeded",
        "not_summed",
        "summed_over_pairs",
        "swapped",
    ],
)
def many_pairs(rng):
    # Two ways of making pairs dependent leave the means right and show in the spread alone,
    # which is sqrt((2 + 6/d_k)/n_pairs) = 0.109 for independent pairs. At these sizes both are off
    # by a factor of about 3, and sampling stays below exp(0.6) = 1.8:
    #   one query for all pairs   sqrt(2/n_pairs + 2/d_k)                        = 0.367
    #   all n_pairs² products     sqrt((2 + 2/d_k)/n_pairs² + 4/(n_pairs·d_k))   = 0.036
    first = int(rng.integers(2**31))
    # NumPy makes independent streams of neighbouring seeds; the first state comes once more
    seeds = [*range(first, first + 64), first]
    return [{"d_k": 16, "n_pairs": 200, "rng": Generator(seed)} for seed in seeds]


@score_variance.case("few pairs", separates=["fixed_number", "known_answer", "reseeded"])
def few_pairs(rng):
    # The spread is 0.612 here; 1000 pairs, whatever n_pairs says, would have 0.047.
    first = int(rng.integers(2**31))
    return [{"d_k": 24, "n_pairs": 6, "rng": Generator(seed)} for seed in range(first, first + 32)]


# ---- misconceptions ------------------------------------------------------------------------


def _scores(d_k, n_pairs, rng):
    """Right scores: independent pairs, standard normal entries."""
    Q = rng.standard_normal((d_k, n_pairs))
    K = rng.standard_normal((d_k, n_pairs))
    return (Q * K).sum(axis=0)


@score_variance.misconception(
    "Divides the scores by d_k instead of its root.",
    hint="Your second number shrinks as d_k grows. Should it?",
    credit=0.5,
)
def by_d_k(d_k, n_pairs, rng):
    scores = _scores(d_k, n_pairs, rng)
    return float(scores.var()), float((scores / d_k).var())


@score_variance.misconception(
    "Divides the variance, not the scores, by the root of d_k.",
    hint="If all numbers are halved, what happens to their variance?",
    credit=0.5,
)
def variance_over_root(d_k, n_pairs, rng):
    variance = _scores(d_k, n_pairs, rng).var()
    return float(variance), float(variance / np.sqrt(d_k))


@score_variance.misconception(
    "Returns the unscaled variance twice.",
    hint="What distinguishes the numbers that go into your second result from those of the first?",
    credit=0.5,
)
def not_scaled(d_k, n_pairs, rng):
    variance = float(_scores(d_k, n_pairs, rng).var())
    return variance, variance


@score_variance.misconception(
    "Returns standard deviations instead of variances.",
    hint="Which of the two is measured in squared units, and which one does NumPy's `std` give?",
    credit=0.5,
)
def standard_deviation(d_k, n_pairs, rng):
    scores = _scores(d_k, n_pairs, rng)
    return float(scores.std()), float((scores / np.sqrt(d_k)).std())


@score_variance.misconception(
    "Uses the same vector as query and as key.",
    hint="Can the inner product of a vector with itself be negative? Queries and keys are drawn "
    "independently.",
    credit=0.25,
)
def key_equals_query(d_k, n_pairs, rng):
    Q = rng.standard_normal((d_k, n_pairs))
    scores = (Q * Q).sum(axis=0)
    return float(scores.var()), float((scores / np.sqrt(d_k)).var())


@score_variance.misconception(
    "Draws one query and uses it for all pairs, so that the pairs are not independent.",
    hint="How many queries do you draw, and how many pairs are there?",
    credit=0.5,
)
def shared_query(d_k, n_pairs, rng):
    query = rng.standard_normal(d_k)
    K = rng.standard_normal((d_k, n_pairs))
    scores = query @ K
    return float(scores.var()), float((scores / np.sqrt(d_k)).var())


@score_variance.misconception(
    "Matches every query with every key: these products share their vectors and are not "
    "independent pairs.",
    hint="How many inner products enter your variance, and how many pairs were asked for?",
    credit=0.5,
)
def all_products(d_k, n_pairs, rng):
    Q = rng.standard_normal((d_k, n_pairs))
    K = rng.standard_normal((d_k, n_pairs))
    scores = K.T @ Q
    return float(scores.var()), float((scores / np.sqrt(d_k)).var())


@score_variance.misconception(
    "Draws entries uniformly between 0 and 1 instead of from the standard normal distribution.",
    hint="What are the mean and the variance of one entry that you draw?",
    credit=0.25,
)
def uniform_draws(d_k, n_pairs, rng):
    scores = (rng.random((d_k, n_pairs)) * rng.random((d_k, n_pairs))).sum(axis=0)
    return float(scores.var()), float((scores / np.sqrt(d_k)).var())


@score_variance.misconception(
    "Returns what theory says without drawing anything.",
    hint="Would your result move if the theory were wrong? It should come from the draws.",
)
def known_answer(d_k, n_pairs, rng):
    return float(d_k), 1.0


@score_variance.misconception(
    "Draws from a source other than `rng`.",
    hint="Call it twice with generators made from one seed. Are the results equal? Which of your "
    "lines draws without the argument?",
    credit=0.5,
)
def other_randomness(d_k, n_pairs, rng):
    scores = _scores(d_k, n_pairs, np.random)
    return float(scores.var()), float((scores / np.sqrt(d_k)).var())


@score_variance.misconception(
    "Makes a generator of its own with a fixed seed, so that every call draws the same numbers.",
    hint="Call it with two different generators. Do the results differ?",
    credit=0.5,
)
def reseeded(d_k, n_pairs, rng):
    scores = _scores(d_k, n_pairs, np.random.default_rng(0))
    return float(scores.var()), float((scores / np.sqrt(d_k)).var())


@score_variance.misconception(
    "Takes the variance of the products of single entries: they are never summed to a score.",
    hint="How many numbers is one score, and how many numbers enter your variance?",
    credit=0.25,
)
def not_summed(d_k, n_pairs, rng):
    products = rng.standard_normal((d_k, n_pairs)) * rng.standard_normal((d_k, n_pairs))
    return float(products.var()), float((products / np.sqrt(d_k)).var())


@score_variance.misconception(
    "Sums over the pairs instead of over the features.",
    hint="How many scores should be left after the sum: one per pair, or one per feature?",
    credit=0.25,
)
def summed_over_pairs(d_k, n_pairs, rng):
    products = rng.standard_normal((d_k, n_pairs)) * rng.standard_normal((d_k, n_pairs))
    sums = products.sum(axis=1)
    return float(sums.var()), float((sums / np.sqrt(d_k)).var())


@score_variance.misconception(
    "Returns the two variances in the wrong order.",
    hint="Which of the two results does the docstring name first?",
    credit=0.5,
)
def swapped(d_k, n_pairs, rng):
    scores = _scores(d_k, n_pairs, rng)
    return float((scores / np.sqrt(d_k)).var()), float(scores.var())


@score_variance.misconception(
    "Draws a fixed number of pairs, whatever n_pairs says.",
    hint="Where does n_pairs stand in your code? With six pairs the result should jump a lot.",
    credit=0.5,
)
def fixed_number(d_k, n_pairs, rng):
    scores = _scores(d_k, 1000, rng)
    return float(scores.var()), float((scores / np.sqrt(d_k)).var())


# ---- right but unusual ---------------------------------------------------------------------


@score_variance.alternative("pairs as rows, divided by n_pairs, as NumPy scalars of float32")
def rows_float32(d_k, n_pairs, rng):
    Q, K = rng.normal(size=(2, n_pairs, d_k))
    scores = np.einsum("pd,pd->p", Q, K)
    return np.float32(np.var(scores)), np.float32(np.var(scores / d_k**0.5))


@score_variance.alternative("about the mean known to be 0, as a list of 0-d arrays")
def known_mean(d_k, n_pairs, rng):
    Q = rng.standard_normal((n_pairs, d_k))
    K = rng.standard_normal((n_pairs, d_k))
    squares = np.square(np.sum(Q * K, axis=1))
    return [np.asarray(np.mean(squares)), np.asarray(np.mean(squares / d_k))]


@score_variance.alternative("the scale split between queries and keys")
def split_scale(d_k, n_pairs, rng):
    quarter = d_k**-0.25
    Q, K = rng.normal(size=(d_k, n_pairs)), rng.normal(size=(d_k, n_pairs))
    unscaled = np.diagonal(K.T @ Q)
    scaled = np.sum((quarter * Q) * (quarter * K), axis=0)
    return np.cov(unscaled).item(), np.cov(scaled).item()


@score_variance.alternative("pair by pair, with the formula of the variance spelled out")
def pair_by_pair(d_k, n_pairs, rng):
    scores = [rng.normal(size=d_k) @ rng.normal(size=d_k) for _ in range(n_pairs)]
    mean = sum(scores) / n_pairs
    unscaled = sum((score - mean) ** 2 for score in scores) / (n_pairs - 1)
    return unscaled, unscaled / d_k
