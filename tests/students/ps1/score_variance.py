"""What students wrote for `score_variance`: a Monte Carlo estimate of two variances."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "own",
        "returns what the theory says",
        """
def score_variance(d_k, n_pairs, rng):
    # Var(q.k) = d_k, after scaling 1
    return float(d_k), 1.0
""",
        "known_answer",
        fault="return float(d_k), 1.0",
    ),
    wrong(
        "own",
        "the global generator",
        """
def score_variance(d_k, n_pairs, rng):
    q = np.random.randn(n_pairs, d_k)
    k = np.random.randn(n_pairs, d_k)
    s = (q * k).sum(axis=1)
    return s.var(), (s / np.sqrt(d_k)).var()
""",
        "other_randomness",
        fault=("q = np.random.randn", "k = np.random.randn"),
    ),
    wrong(
        "own",
        "uniform instead of normal",
        """
def score_variance(d_k, n_pairs, rng):
    q = rng.random((n_pairs, d_k))
    k = rng.random((n_pairs, d_k))
    s = np.einsum("nd,nd->n", q, k)
    return np.var(s), np.var(s / np.sqrt(d_k))
""",
        "uniform_draws",
        fault=("q = rng.random(", "k = rng.random("),
    ),
    wrong(
        "C3",
        "scales by d_k",
        """
def score_variance(d_k, n_pairs, rng):
    dots = []
    for _ in range(n_pairs):
        q = rng.standard_normal(d_k)
        k = rng.standard_normal(d_k)
        dots.append(q @ k)
    dots = np.array(dots)
    return np.var(dots), np.var(dots / d_k)
""",
        "by_d_k",
        fault="np.var(dots / d_k)",
    ),
    wrong(
        "own",
        "standard deviation instead of variance",
        """
def score_variance(d_k, n_pairs, rng):
    q, k = rng.normal(size=(2, n_pairs, d_k))
    s = np.sum(q * k, axis=-1)
    return np.std(s), np.std(s / d_k**0.5)
""",
        "standard_deviation",
        fault="np.std(s)",
    ),
    wrong(
        "own",
        "the variance divided by the root, not the scores",
        """
def score_variance(d_k, n_pairs, rng):
    q = rng.normal(0, 1, (n_pairs, d_k))
    k = rng.normal(0, 1, (n_pairs, d_k))
    products = np.array([np.dot(a, b) for a, b in zip(q, k)])
    var = products.var(ddof=1)
    return var, var / np.sqrt(d_k)
""",
        "variance_over_root",
        fault="return var, var / np.sqrt(d_k)",
    ),
    wrong(
        "own",
        "q = k: the same draws for both",
        """
def score_variance(d_k, n_pairs, rng):
    x = rng.standard_normal((n_pairs, d_k))
    q, k = x, x
    raw = (q * k).sum(1)
    return raw.var(), (raw / math.sqrt(d_k)).var()
""",
        "key_equals_query",
        fault=("x = rng.standard_normal", "q, k = x, x"),
    ),
    wrong(
        "own",
        "variance of the products before they are summed",
        """
def score_variance(d_k, n_pairs, rng):
    Q = rng.standard_normal((n_pairs, d_k))
    K = rng.standard_normal((n_pairs, d_k))
    prod = Q * K
    return prod.var(), (prod / np.sqrt(d_k)).var()
""",
        "not_summed",
        fault=("prod = Q * K", "prod.var()"),
    ),
    wrong(
        "own",
        "makes its own generator with a seed",
        """
def score_variance(d_k, n_pairs, rng):
    rng = np.random.default_rng(42)   # reproducible!
    q = rng.standard_normal((n_pairs, d_k))
    k = rng.standard_normal((n_pairs, d_k))
    s = (q * k).sum(-1)
    return s.var(), (s / np.sqrt(d_k)).var()
""",
        "reseeded",
        fault="np.random.default_rng(42)",
    ),
    right(
        "all dot products in a loop, sample variance by hand",
        """
def score_variance(d_k, n_pairs, rng):
    vals = []
    for i in range(n_pairs):
        q = rng.normal(0.0, 1.0, d_k)
        k = rng.normal(0.0, 1.0, d_k)
        vals.append(sum(q[t] * k[t] for t in range(d_k)))
    m = sum(vals) / n_pairs
    v = sum((x - m) ** 2 for x in vals) / (n_pairs - 1)
    return v, v / d_k
""",
    ),
    right(
        "mean of squares minus square of mean, other order of draws",
        """
def score_variance(d_k, n_pairs, rng):
    draws = rng.standard_normal((d_k, 2, n_pairs))
    s = (draws[:, 0] * draws[:, 1]).sum(axis=0)
    unscaled = (s**2).mean() - s.mean()**2
    s2 = s / d_k**0.5
    scaled = (s2**2).mean() - s2.mean()**2
    return [unscaled, scaled]
""",
    ),
    right(
        "multivariate_normal, statistics module",
        """
import statistics

def score_variance(d_k, n_pairs, rng):
    q = rng.multivariate_normal(np.zeros(d_k), np.eye(d_k), size=n_pairs)
    k = rng.multivariate_normal(np.zeros(d_k), np.eye(d_k), size=n_pairs)
    s = np.einsum('ij,ij->i', q, k).tolist()
    return statistics.variance(s), statistics.variance([a / math.sqrt(d_k) for a in s])
""",
    ),
]
