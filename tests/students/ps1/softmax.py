"""What students wrote for `softmax`: each column a distribution, stable."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "F4",
        "copied from a blog, nothing subtracted",
        '''
def softmax(scores):
    """Compute softmax values for each sets of scores in x."""
    return np.exp(scores) / np.sum(np.exp(scores), axis=0)
''',
        "no_maximum",
        fault="np.exp(scores) / np.sum",
    ),
    wrong(
        "F5",
        "the famous answer from the question-and-answer site: one maximum",
        '''
def softmax(x):
    """Compute softmax values for each sets of scores in x."""
    e_x = np.exp(x - np.max(x))
    return e_x / e_x.sum(axis=0) # only difference
''',
        "global_maximum",
        fault="np.exp(x - np.max(x))",
    ),
    wrong(
        "F1",
        "rows instead of columns (axis=-1)",
        """
def softmax(scores):
    m = scores.max(axis=-1, keepdims=True)
    e = np.exp(scores - m)
    return e / e.sum(axis=-1, keepdims=True)
""",
        "over_queries",
        fault=("scores.max(axis=-1", "e / e.sum(axis=-1"),
    ),
    wrong(
        "F7",
        "sums over the whole matrix",
        """
def softmax(scores):
    shifted = scores - scores.max(axis=0)
    num = np.exp(shifted)
    denom = np.sum(num)
    return num / denom
""",
        "whole_matrix",
        fault="denom = np.sum(num)",
    ),
    wrong(
        "F10",
        "divides by the plain sum",
        """
def softmax(scores):
    # normalize so that the columns sum up to 1
    total = np.sum(scores, axis=0, keepdims=True)
    return scores / total
""",
        "missing_exponential",
        fault=("total = np.sum(scores", "scores / total"),
    ),
    wrong(
        "F8",
        "maximum over the other axis than the sum",
        """
def softmax(scores):
    row_max = np.max(scores, axis=1, keepdims=True)
    ex = np.exp(scores - row_max)
    return ex / np.sum(ex, axis=0, keepdims=True)
""",
        "row_maximum",
        fault="row_max = np.max(scores, axis=1",
    ),
    wrong(
        "own",
        "log-softmax left as weights",
        """
def softmax(scores):
    m = np.amax(scores, axis=0)
    lse = m + np.log(np.sum(np.exp(scores - m), axis=0))
    return scores - lse
""",
        "logarithms",
        fault="return scores - lse",
    ),
    wrong(
        "F1",
        "loops over the rows",
        """
def softmax(scores):
    out = np.zeros_like(scores, dtype=float)
    for i in range(scores.shape[0]):
        row = scores[i]
        e = np.exp(row - row.max())
        out[i] = e / e.sum()
    return out
""",
        "over_queries",
        fault=(
            "for i in range(scores.shape[0])",
            "row = scores[i]",
            "np.exp(row - row.max())",
            "out[i] = e / e.sum()",
        ),
    ),
    wrong(
        "own",
        "adds an epsilon of 1e-2 below, to be safe",
        """
def softmax(scores):
    e = np.exp(scores - scores.max(0))
    return e / (e.sum(0) + 1e-2)   # avoid division by zero
""",
        fault="1e-2",
    ),
    wrong(
        "own",
        "clips the scores instead of shifting them",
        """
def softmax(scores):
    s = np.clip(scores, -50, 50)    # prevent overflow
    e = np.exp(s)
    return e / e.sum(axis=0, keepdims=True)
""",
        "clipped",
        fault="np.clip(scores, -50, 50)",
    ),
    wrong(
        "own",
        "two to the power of the scores",
        """
def softmax(scores):
    p = 2.0 ** (scores - scores.max(axis=0, keepdims=True))
    return p / p.sum(axis=0, keepdims=True)
""",
        fault="2.0 **",
    ),
    wrong(
        "F5",
        "shifts by the mean of everything",
        """
def softmax(scores):
    scores = scores - np.mean(scores)
    exps = np.exp(scores)
    sums = exps.sum(axis=0)
    return exps / sums[None, :]
""",
        "global_maximum",
        "mean_shift",
        fault="np.mean(scores)",
    ),
    wrong(
        "F9",
        "normalises both ways, rows after columns",
        """
def softmax(scores):
    e = np.exp(scores - np.max(scores, axis=0, keepdims=True))
    w = e / e.sum(axis=0, keepdims=True)
    w = w / w.sum(axis=1, keepdims=True)
    return w
""",
        fault="w = w / w.sum(axis=1",
    ),
    wrong(
        "F9",
        "softmax of the softmax",
        """
def _sm(z):
    z = z - z.max(axis=0)
    return np.exp(z) / np.exp(z).sum(axis=0)

def softmax(scores):
    probs = _sm(scores)
    probs = _sm(probs)      # make sure it is normalised
    return probs
""",
        "twice",
        fault="probs = _sm(probs)",
    ),
    wrong(
        "own",
        "hardmax: one at the maximum",
        """
def softmax(scores):
    best = scores.argmax(axis=0)
    w = np.zeros(scores.shape)
    w[best, np.arange(scores.shape[1])] = 1
    return w
""",
        fault=("scores.argmax(axis=0)", "w = np.zeros", "w[best"),
    ),
    right(
        "column by column with a helper and a list",
        """
def softmax_vec(v):
    v = np.array(v, dtype=float)
    v = v - max(v)
    e = np.exp(v)
    return e / sum(e)

def softmax(scores):
    cols = []
    for j in range(scores.shape[1]):
        cols.append(softmax_vec(scores[:, j]))
    return np.stack(cols, axis=1)
""",
    ),
    right(
        "through logsumexp by hand",
        """
def softmax(scores):
    m = scores.max(0)
    z = scores - m
    # log sum exp
    lse = np.log(np.add.reduce(np.exp(z), axis=0))
    return np.exp(z - lse)
""",
    ),
    right(
        "on the transpose with axis=-1",
        """
def softmax(scores):
    A = np.transpose(scores)                     # jetzt Zeilen
    A = A - np.max(A, axis=-1, keepdims=True)
    A = np.exp(A)
    A /= A.sum(-1, keepdims=True)
    return A.T
""",
    ),
    right(
        "np.apply_along_axis and base two",
        """
def softmax(scores):
    def one(col):
        t = (col - col.max()) * np.log2(np.e)
        p = np.exp2(t)
        return p / p.sum()
    return np.apply_along_axis(one, 0, scores)
""",
    ),
]
