"""What students wrote for `attention_scores`: KᵀQ, unscaled, column j belongs to query j."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "P8",
        "Q K^T of the paper, carried over to columns as Q^T K",
        """
def attention_scores(Q, K):
    # Attention(Q,K,V) = softmax(QK^T / sqrt(d)) V
    return Q.T @ K
""",
        "transposed",
        fault="Q.T @ K",
    ),
    wrong(
        "own",
        "the formula of the paper as it stands: compares features, not tokens",
        """
def attention_scores(Q, K):
    scores = np.matmul(Q, K.T)
    return scores
""",
        "transposed",
        "features_with_features",
        fault="np.matmul(Q, K.T)",
    ),
    wrong(
        "C1",
        "scales here already",
        """
def attention_scores(Q, K):
    d_k = K.shape[0]
    S = K.T @ Q / np.sqrt(d_k)
    return S
""",
        "already_scaled",
        fault="K.T @ Q / np.sqrt(d_k)",
    ),
    wrong(
        "own",
        "cosine similarity: normalises queries and keys",
        '''
def attention_scores(Q, K):
    """similarity between keys and queries"""
    Qn = Q / np.linalg.norm(Q, axis=0, keepdims=True)
    Kn = K / np.linalg.norm(K, axis=0, keepdims=True)
    return Kn.T @ Qn
''',
        "cosine",
        fault=("Qn = Q /", "Kn = K /", "Kn.T @ Qn"),
    ),
    wrong(
        "S1",
        "element-wise product, summed over the features",
        """
def attention_scores(Q, K):
    prod = Q * K
    print(prod.shape)
    return prod.sum(axis=0)
""",
        "elementwise",
        fault=("prod = Q * K", "prod.sum(axis=0)"),
    ),
    wrong(
        "P6",
        "keys compared with keys (copy and paste)",
        """
def attention_scores(Q, K):
    n_k = K.shape[1]
    n_q = Q.shape[1]
    s = np.zeros((n_k, n_q))
    for i in range(n_k):
        for j in range(n_q):
            s[i, j] = np.dot(K[:, i], K[:, j % n_k])
    return s
""",
        fault="K[:, j % n_k]",
    ),
    wrong(
        "P8",
        "loops with i over queries and j over keys",
        """
def attention_scores(Q, K):
    d_k, n_q = Q.shape
    _, n_k = K.shape
    S = np.empty((n_q, n_k))
    for i in range(n_q):
        for j in range(n_k):
            S[i][j] = sum(Q[d, i] * K[d, j] for d in range(d_k))
    return S
""",
        "transposed",
        fault=("np.empty((n_q, n_k))", "S[i][j] =", "return S"),
    ),
    wrong(
        "own",
        "negative distance as similarity",
        """
def attention_scores(Q, K):
    # closer = more similar -> minus squared distance
    diff = K[:, :, None] - Q[:, None, :]
    return -(diff ** 2).sum(0)
""",
        "minus_squared_distance",
        "distance",
        fault=("diff = K", "-(diff ** 2)"),
    ),
    right(
        "einsum with long letters",
        """
def attention_scores(Q, K):
    return np.einsum("dk,dq->kq", K, Q)
""",
    ),
    right(
        "Q^T K, turned round afterwards",
        """
def attention_scores(Q, K):
    QK = Q.T @ K
    # column = query, sonst stimmt die Achse nicht!!
    scores = QK.swapaxes(0, 1)
    return scores
""",
    ),
    right(
        "broadcast product and a sum",
        """
def attention_scores(Q, K):
    tmp = K[:, :, np.newaxis] * Q[:, np.newaxis, :]
    return tmp.sum(axis=0)
""",
    ),
]
