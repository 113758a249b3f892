"""What students wrote for `attend`: V times the weights, columns are queries."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "own",
        "weights @ V as in the row layout",
        """
def attend(V, weights):
    return weights @ V
""",
        "from_the_left",
        fault="weights @ V",
    ),
    wrong(
        "own",
        "weights transposed: V @ A.T",
        """
def attend(V, weights):
    out = np.matmul(V, weights.T)
    return out
""",
        "transposed_weights",
        fault="np.matmul(V, weights.T)",
    ),
    wrong(
        "W3",
        "element-wise product with the values",
        """
def attend(V, weights):
    return V * weights
""",
        "elementwise",
        fault="V * weights",
    ),
    wrong(
        "own",
        "takes the best value only",
        """
def attend(V, weights):
    # every query takes the value of the key it likes most
    idx = np.argmax(weights, axis=0)
    return V[:, idx]
""",
        "best_match_only",
        fault=("np.argmax(weights", "V[:, idx]"),
    ),
    wrong(
        "own",
        "normalises the weights once more, over the queries",
        """
def attend(V, weights):
    w = weights / weights.sum(axis=1, keepdims=True)
    return V @ w
""",
        fault="weights.sum(axis=1",
    ),
    wrong(
        "own",
        "divides the sum by the number of keys",
        """
def attend(V, weights):
    d_v, n_k = V.shape
    n_q = weights.shape[1]
    out = np.zeros((d_v, n_q))
    for q in range(n_q):
        for k in range(n_k):
            out[:, q] += weights[k, q] * V[:, k]
        out[:, q] /= n_k      # mean
    return out
""",
        "averaged_once_more",
        fault="out[:, q] /= n_k",
    ),
    wrong(
        "own",
        "the result in rows",
        """
def attend(V, weights):
    return np.einsum('dk,kq->qd', V, weights)
""",
        "outputs_as_rows",
        fault="'dk,kq->qd'",
    ),
    wrong(
        "F9",
        "softmax applied to the weights again",
        """
def attend(V, weights):
    e = np.exp(weights - weights.max(axis=0))
    weights = e / e.sum(axis=0)
    return V.dot(weights)
""",
        "softmax_again",
        fault=("np.exp(weights", "weights = e / e.sum(axis=0)", "V.dot(weights)"),
    ),
    right(
        "sum of outer products",
        """
def attend(V, weights):
    total = 0
    for k in range(V.shape[1]):
        total = total + np.outer(V[:, k], weights[k])
    return total
""",
    ),
    right(
        "rows and back",
        """
def attend(V, weights):
    V_rows = V.T
    A_rows = weights.T
    return (A_rows @ V_rows).T
""",
    ),
    right(
        "broadcast",
        '''
def attend(V: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """sum_k V[:, k] * w[k, q]"""
    return np.sum(V[:, :, None] * weights[None], axis=1)
''',
    ),
]
