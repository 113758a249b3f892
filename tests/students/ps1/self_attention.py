"""What students wrote for `self_attention`: by calls of the five above, or all in one."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "C1",
        "calls all but scale_scores",
        """
def self_attention(X, W_q, W_k, W_v):
    Q = project(W_q, X)
    K = project(W_k, X)
    V = project(W_v, X)
    weights = softmax(attention_scores(Q, K))
    return attend(V, weights), weights
""",
        "not_scaled",
        fault="softmax(attention_scores(Q, K))",
    ),
    wrong(
        "C2",
        "scales with the width of the input",
        """
def self_attention(X, W_q, W_k, W_v):
    d = X.shape[0]
    Q, K, V = W_q @ X, W_k @ X, W_v @ X
    S = (K.T @ Q) / np.sqrt(d)
    E = np.exp(S - S.max(axis=0, keepdims=True))
    A = E / E.sum(axis=0, keepdims=True)
    return V @ A, A
""",
        "by_input_width",
        fault=("d = X.shape[0]", "np.sqrt(d)"),
    ),
    wrong(
        "P5",
        "the values are the tokens themselves",
        """
def self_attention(X, W_q, W_k, W_v):
    q = project(W_q, X)
    k = project(W_k, X)
    v = X
    s = scale_scores(attention_scores(q, k), W_q.shape[0])
    w = softmax(s)
    out = attend(v, w)
    return out, w
""",
        "values_not_projected",
        fault="v = X",
    ),
    wrong(
        "P6",
        "copy and paste: V made with W_k",
        """
def self_attention(X, W_q, W_k, W_v):
    Q = project(W_q, X)
    K = project(W_k, X)
    V = project(W_k, X)
    d_k = K.shape[0]
    weights = softmax(scale_scores(attention_scores(Q, K), d_k))
    output = attend(V, weights)
    return output, weights
""",
        "keys_averaged",
        fault="V = project(W_k, X)",
    ),
    wrong(
        "P8",
        "query and key swapped in the scores",
        """
def self_attention(X, W_q, W_k, W_v):
    Q = project(W_q, X)
    K = project(W_k, X)
    V = project(W_v, X)
    S = attention_scores(K, Q)   # (key, query)
    A = softmax(scale_scores(S, len(Q)))
    return attend(V, A), A
""",
        "roles_swapped",
        fault="attention_scores(K, Q)",
    ),
    wrong(
        "C8",
        "root of the number of tokens",
        """
def self_attention(X, W_q, W_k, W_v):
    Q = W_q.dot(X); K = W_k.dot(X); V = W_v.dot(X)
    n = X.shape[1]
    scores = K.T.dot(Q) / n**0.5
    w = softmax(scores)
    return V.dot(w), w
""",
        "by_number_of_tokens",
        fault=("n = X.shape[1]", "n**0.5"),
    ),
    wrong(
        "F1",
        "softmax over the last axis, as in torch",
        """
def self_attention(X, W_q, W_k, W_v):
    Q = W_q @ X
    K = W_k @ X
    V = W_v @ X
    scores = K.T @ Q / math.sqrt(Q.shape[0])
    # softmax, dim=-1
    scores = scores - scores.max(axis=-1, keepdims=True)
    exp = np.exp(scores)
    weights = exp / exp.sum(axis=-1, keepdims=True)
    return V @ weights, weights
""",
        "over_queries",
        fault=("scores.max(axis=-1", "exp.sum(axis=-1"),
    ),
    wrong(
        "own",
        "gives the weights first",
        """
def self_attention(X, W_q, W_k, W_v):
    Q, K, V = [project(W, X) for W in (W_q, W_k, W_v)]
    A = softmax(scale_scores(attention_scores(Q, K), Q.shape[0]))
    return A, attend(V, A)
""",
        "order_swapped",
        fault="return A, attend(V, A)",
    ),
    wrong(
        "own",
        "returns the scaled scores beside the output, not the weights",
        """
def self_attention(X, W_q, W_k, W_v):
    Q = project(W_q, X)
    K = project(W_k, X)
    V = project(W_v, X)
    scores = attention_scores(Q, K)
    scores = scale_scores(scores, W_k.shape[0])
    output = attend(V, softmax(scores))
    return output, scores
""",
        "scores_returned",
        fault="return output, scores",
    ),
    wrong(
        "own",
        "a residual added, as in the transformer's picture",
        """
def self_attention(X, W_q, W_k, W_v):
    Q = project(W_q, X)
    K = project(W_k, X)
    V = project(W_v, X)
    A = softmax(scale_scores(attention_scores(Q, K), Q.shape[0]))
    Z = attend(V, A)
    if Z.shape == X.shape:
        Z = Z + X        # skip connection
    return Z, A
""",
        "residual_added",
        fault=("if Z.shape == X.shape", "Z = Z + X"),
    ),
    wrong(
        "C7",
        "root of the value width",
        """
def self_attention(X, W_q, W_k, W_v):
    Q = project(W_q, X)
    K = project(W_k, X)
    V = project(W_v, X)
    dim = V.shape[0]
    weights = softmax(scale_scores(attention_scores(Q, K), dim))
    return attend(V, weights), weights
""",
        "by_value_width",
        fault=("dim = V.shape[0]", "scale_scores(attention_scores(Q, K), dim)"),
    ),
    wrong(
        "own",
        "a causal mask that nobody asked for",
        """
def self_attention(X, W_q, W_k, W_v):
    Q = W_q @ X
    K = W_k @ X
    V = W_v @ X
    n = X.shape[1]
    S = K.T @ Q / np.sqrt(K.shape[0])
    # tokens cannot look into the future
    S = np.where(np.arange(n)[:, None] > np.arange(n)[None, :], -np.inf, S)
    A = np.exp(S - S.max(axis=0))
    A = A / A.sum(axis=0)
    return V @ A, A
""",
        "later_tokens_hidden",
        fault="S = np.where(",
    ),
    wrong(
        "C5",
        "scaled after the softmax",
        """
def self_attention(X, W_q, W_k, W_v):
    Q = project(W_q, X)
    K = project(W_k, X)
    V = project(W_v, X)
    weights = softmax(attention_scores(Q, K))
    weights = scale_scores(weights, Q.shape[0])
    return attend(V, weights), weights
""",
        "scaled_after_softmax",
        fault=("softmax(attention_scores(Q, K))", "weights = scale_scores(weights"),
    ),
    wrong(
        "P7",
        "the weights applied to the keys",
        """
def self_attention(X, W_q, W_k, W_v):
    # 1. project
    Q = np.matmul(W_q, X)
    K = np.matmul(W_k, X)
    V = np.matmul(W_v, X)
    # 2. scores  3. scale
    scores = np.matmul(K.T, Q) / np.sqrt(W_k.shape[0])
    # 4. softmax
    weights = softmax(scores)
    # 5. weighted sum
    output = np.matmul(K, weights)
    return output, weights
""",
        "keys_averaged",
        fault="output = np.matmul(K, weights)",
    ),
    wrong(
        "own",
        "output only",
        """
def self_attention(X, W_q, W_k, W_v):
    Q, K, V = W_q @ X, W_k @ X, W_v @ X
    A = softmax(K.T @ Q / np.sqrt(Q.shape[0]))
    return V @ A
""",
        fault="return V @ A",
    ),
    wrong(
        "own",
        "the paper's formula word for word, in columns",
        """
def self_attention(X, W_q, W_k, W_v):
    Q = W_q @ X
    K = W_k @ X
    V = W_v @ X
    d_k = Q.shape[0]
    weights = softmax(Q @ K.T / np.sqrt(d_k))
    return weights @ V, weights
""",
        "row_formula",
        fault=("softmax(Q @ K.T", "return weights @ V"),
    ),
    right(
        "everything in rows, turned at the end",
        """
def self_attention(X, W_q, W_k, W_v):
    x = X.T                                   # (n, d)
    q, k, v = x @ W_q.T, x @ W_k.T, x @ W_v.T
    s = q @ k.T / np.sqrt(q.shape[-1])        # (query, key)
    s = s - s.max(-1, keepdims=True)
    a = np.exp(s)
    a = a / a.sum(-1, keepdims=True)
    return (a @ v).T, a.T
""",
    ),
    right(
        "calls, a dict and the scale folded into W_q",
        """
def self_attention(X, W_q, W_k, W_v):
    steps = {}
    steps["Q"] = project(W_q / np.sqrt(W_q.shape[0]), X)
    steps["K"] = project(W_k, X)
    steps["V"] = project(W_v, X)
    steps["A"] = softmax(attention_scores(steps["Q"], steps["K"]))
    return attend(steps["V"], steps["A"]), steps["A"]
""",
    ),
    right(
        "token by token",
        """
def self_attention(X, W_q, W_k, W_v):
    n = X.shape[1]
    outs, ws = [], []
    for j in range(n):
        q = W_q @ X[:, j]
        sc = np.array([(W_k @ X[:, i]) @ q for i in range(n)]) / math.sqrt(len(q))
        sc = np.exp(sc - sc.max())
        sc = sc / sc.sum()
        outs.append(sum(sc[i] * (W_v @ X[:, i]) for i in range(n)))
        ws.append(sc)
    return np.array(outs).T, np.array(ws).T
""",
    ),
    right(
        "one bilinear form, normalised last",
        """
def self_attention(X, W_q, W_k, W_v):
    B = W_k.T @ W_q / len(W_q) ** 0.5
    S = X.T @ B @ X
    E = np.exp(S - S.max(0))
    Z = E.sum(0)
    return (W_v @ X @ E) / Z, E / Z
""",
    ),
]
