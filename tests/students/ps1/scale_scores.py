"""What students wrote for `scale_scores`: divide by √d_k, into a new array."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "C3",
        "forgets the root",
        """
def scale_scores(scores, d_k):
    return scores / d_k
""",
        "by_d_k",
        fault="scores / d_k",
    ),
    wrong(
        "own",
        "divides in place",
        """
def scale_scores(scores, d_k):
    scores /= np.sqrt(d_k)
    return scores
""",
        "in_place",
        fault="scores /= np.sqrt(d_k)",
    ),
    wrong(
        "C11",
        "precedence: d_k**1/2",
        """
def scale_scores(scores, d_k):
    scale = d_k**1/2
    return scores / scale
""",
        "halved",
        fault="d_k**1/2",
    ),
    wrong(
        "C4",
        "inverse root, then divided by it",
        """
def scale_scores(scores, d_k):
    scale = d_k ** -0.5
    scaled = scores / scale
    return scaled
""",
        "multiplied",
        fault=("d_k ** -0.5", "scores / scale"),
    ),
    wrong(
        "C8",
        "takes the width from the array's shape",
        """
def scale_scores(scores, d_k):
    d = scores.shape[-1]   # d_k
    return scores * (1.0 / math.sqrt(d))
""",
        "by_number_of_queries",
        fault=("d = scores.shape[-1]", "math.sqrt(d)"),
    ),
    wrong(
        "C10",
        "computes the scaled scores and returns the others",
        """
def scale_scores(scores, d_k):
    scaled_scores = np.array(scores) / np.sqrt(d_k)
    # print(scaled_scores)
    return scores
""",
        "not_scaled",
        fault="return scores",
    ),
    wrong(
        "own",
        "standardises the scores instead of using d_k",
        """
def scale_scores(scores, d_k):
    # we want unit variance after this step
    return scores / np.std(scores)
""",
        fault="np.std(scores)",
    ),
    wrong(
        "C8",
        "root of the number of keys",
        """
def scale_scores(scores, d_k):
    n_k, n_q = np.shape(scores)
    return scores / np.sqrt(n_k)
""",
        "by_number_of_keys",
        fault="np.sqrt(n_k)",
    ),
    wrong(
        "own",
        "integer root",
        """
def scale_scores(scores, d_k):
    root = int(d_k ** 0.5)
    return scores / root
""",
        "whole_root",
        fault="int(d_k ** 0.5)",
    ),
    wrong(
        "own",
        "scales twice: once at the root, once more for luck",
        """
def scale_scores(scores, d_k):
    scores = scores / np.sqrt(d_k)
    scores = scores * d_k ** (-0.5)
    return scores
""",
        "by_d_k",
        fault=("scores = scores / np.sqrt(d_k)", "scores = scores * d_k ** (-0.5)"),
    ),
    wrong(
        "own",
        "np.divide with out= the argument",
        """
def scale_scores(scores, d_k):
    out = scores            # copy
    np.divide(out, np.sqrt(float(d_k)), out=out)
    return out
""",
        "in_place",
        fault=("out = scores ", "np.divide(out"),
    ),
    right(
        "times d_k ** -0.5",
        """
def scale_scores(scores, d_k):
    return d_k ** -0.5 * np.asarray(scores, dtype=np.float64)
""",
    ),
    right(
        "copy, then in place",
        """
def scale_scores(scores, d_k):
    s = scores.copy()
    s /= math.sqrt(d_k)
    return s
""",
    ),
    right(
        "through logarithms and a list comprehension",
        """
from math import exp, log

def scale_scores(scores, d_k):
    f = exp(-0.5 * log(d_k))
    return np.array([[x * f for x in row] for row in scores])
""",
    ),
]
