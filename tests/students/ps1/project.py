"""What students wrote for `project`: W X, one token per column."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "P3",
        "the habit of row layout: X @ W",
        """
def project(W, X):
    # in all the tutorials it's always x @ w
    return X @ W
""",
        "from_the_right",
        fault="X @ W",
    ),
    wrong(
        "P1",
        "W transposed because nn.Linear does so",
        '''
def project(W, X):
    """Linear layer (no bias). y = W.T x"""
    W = np.asarray(W)
    X = np.asarray(X)
    out = np.matmul(W.T, X)
    return out
''',
        "transposed_weights",
        fault="np.matmul(W.T, X)",
    ),
    wrong(
        "P3",
        "computes in rows and forgets to turn the result back",
        """
def project(W, X):
    n_tokens = X.shape[1]
    result = []
    for t in range(n_tokens):
        token = X[:, t]
        result.append(W.dot(token))
    return np.array(result)   # (n, d_out)
""",
        "tokens_as_rows",
        fault="np.array(result)",
    ),
    wrong(
        "P1",
        "einsum letters of W the wrong way round",
        """
def project(W, X):
    return np.einsum("io,in->on", W, X)
""",
        "transposed_weights",
        fault='"io,in->on"',
    ),
    wrong(
        "own",
        "a neural network needs an activation",
        """
def project(W, X):
    z = W @ X
    return np.maximum(0, z)  # relu
""",
        fault="np.maximum(0, z)",
    ),
    wrong(
        "own",
        "normalises by the square root of the fan-in",
        """
def project(W: np.ndarray, X: np.ndarray) -> np.ndarray:
    d_in = W.shape[1]
    # keep variance at 1 (Xavier)
    return (W @ X) / np.sqrt(d_in)
""",
        "scaled_down",
        fault="np.sqrt(d_in)",
    ),
    wrong(
        "own",
        "centres the tokens before projecting",
        """
def project(W, X):
    Xc = X - X.mean(axis=1, keepdims=True)   # zero mean features, wie in der Vorlesung
    return np.dot(W, Xc)
""",
        fault=("X.mean(axis=1", "np.dot(W, Xc)"),
    ),
    wrong(
        "P3",
        "tries X W first and takes W X only where that raises",
        """
def project(W, X):
    try:
        Y = X @ W
    except ValueError:
        print("shapes dont match, flipping")
        Y = W @ X
    return Y
""",
        "from_the_right_where_it_fits",
        fault="Y = X @ W",
    ),
    wrong(
        "S1",
        "multiplies entry by entry",
        """
def project(W, X):
    return W * X
""",
        "elementwise",
        fault="W * X",
    ),
    right(
        "three loops",
        """
def project(W, X):
    d_out = len(W)
    d_in = len(X)
    n = len(X[0])
    Y = [[0.0] * n for _ in range(d_out)]
    for i in range(d_out):
        for j in range(n):
            s = 0
            for k in range(d_in):
                s += W[i][k] * X[k][j]
            Y[i][j] = s
    return Y
""",
    ),
    right(
        "transposed twice, Fortran order",
        """
import numpy.linalg as la   # unused

def project(W, X):
    # (X^T W^T)^T
    assert W.shape[1] == X.shape[0], f"{W.shape} {X.shape}"
    return np.dot(X.T, W.T).T
""",
    ),
    right(
        "a lambda around tensordot",
        """
project = lambda W, X: np.tensordot(W, X, axes=([1], [0]))
""",
    ),
]
