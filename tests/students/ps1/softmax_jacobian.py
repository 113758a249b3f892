"""What students wrote for `softmax_jacobian`: diag(p) − p pᵀ."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "own",
        "the derivative of the sigmoid: p (1 - p) on the diagonal only",
        """
def softmax_jacobian(p):
    return np.diag(p * (1 - p))
""",
        "diagonal_only",
        fault="np.diag(p * (1 - p))",
    ),
    wrong(
        "own",
        "the sign turned round",
        """
def softmax_jacobian(p):
    return np.outer(p, p) - np.diag(p)
""",
        "sign_flipped",
        fault="np.outer(p, p) - np.diag(p)",
    ),
    wrong(
        "own",
        "takes p for the scores and applies softmax first",
        """
def softmax_jacobian(p):
    e = np.exp(p - p.max())
    s = e / e.sum()
    return np.diag(s) - np.outer(s, s)
""",
        "softmax_again",
        fault=("np.exp(p - p.max())", "s = e / e.sum()"),
    ),
    wrong(
        "own",
        "p @ p instead of the outer product",
        """
def softmax_jacobian(p):
    # diag(p) - p p^T
    return np.diag(p) - p @ p.T
""",
        "inner_product",
        fault="p @ p.T",
    ),
    wrong(
        "own",
        "off the diagonal with a plus",
        """
def softmax_jacobian(p):
    n = len(p)
    J = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i == j:
                J[i, j] = p[i] * (1 - p[i])
            else:
                J[i, j] = p[i] * p[j]
    return J
""",
        fault="J[i, j] = p[i] * p[j]",
    ),
    wrong(
        "own",
        "identity in place of diag(p)",
        """
def softmax_jacobian(p):
    n = p.shape[0]
    return np.eye(n) - np.outer(p, p)
""",
        "identity",
        fault="np.eye(n)",
    ),
    wrong(
        "own",
        "only the outer product",
        """
def softmax_jacobian(p):
    p = p.reshape(-1, 1)
    return -(p @ p.T)
""",
        fault="return -(p @ p.T)",
    ),
    wrong(
        "own",
        "p_i (1 - p_j): the delta forgotten",
        """
def softmax_jacobian(p):
    p = np.asarray(p)
    return p[:, None] * (1 - p[None, :])
""",
        "crossed",
        fault="p[:, None] * (1 - p[None, :])",
    ),
    right(
        "p_i (delta_ij - p_j) in loops",
        """
def softmax_jacobian(p):
    n = len(p)
    def kron(i, j):
        return 1 if i == j else 0
    return [[p[i] * (kron(i, j) - p[j]) for j in range(n)] for i in range(n)]
""",
    ),
    right(
        "the old recipe with reshape and diagflat",
        """
def softmax_jacobian(p):
    s = p.reshape(-1, 1)
    return np.diagflat(s) - np.dot(s, s.T)
""",
    ),
    right(
        "broadcast against the identity",
        """
def softmax_jacobian(p):
    I = np.identity(p.size)
    return (I - p) * p[:, np.newaxis]
""",
    ),
]
