"""Implementations of ps1 with two mistakes each, written by hand as students write.

Nothing here was made by merging trees: own names, own order, loops, library functions. Each
entry is (exercise, names of the two misconceptions, source).
"""

ENTRIES = [
    ("softmax", {"over_queries", "global_maximum"}, """
def softmax(scores):
    e = np.exp(scores - np.max(scores))
    return e / np.sum(e, axis=1, keepdims=True)
"""),
    ("softmax", {"over_queries", "no_maximum"}, """
def softmax(scores):
    powers = np.exp(scores)
    total = powers.sum(axis=1)
    return powers / total[:, np.newaxis]
"""),
    ("softmax", {"whole_matrix", "no_maximum"}, """
def softmax(scores):
    return np.exp(scores) / np.sum(np.exp(scores))
"""),
    ("softmax", {"not_normalised", "no_maximum"}, """
def softmax(scores):
    return np.exp(scores)
"""),
    ("softmax", {"over_queries", "logarithms"}, """
def softmax(scores):
    s = scores - scores.max(1, keepdims=True)
    lse = np.log(np.exp(s).sum(1, keepdims=True))
    return s - lse
"""),
    ("softmax", {"over_queries", "in_place"}, """
def softmax(scores):
    scores -= scores.max(axis=1, keepdims=True)
    e = np.exp(scores)
    e /= e.sum(axis=1, keepdims=True)
    return e
"""),
    ("softmax", {"not_normalised", "in_place"}, """
def softmax(scores):
    scores -= np.max(scores, axis=0)
    return np.exp(scores)
"""),
    ("softmax", {"whole_matrix", "logarithms"}, """
def softmax(scores):
    shifted = scores - np.amax(scores, axis=0)
    return shifted - np.log(np.sum(np.exp(shifted)))
"""),
    ("scale_scores", {"by_d_k", "in_place"}, """
def scale_scores(scores, d_k):
    scores /= d_k
    return scores
"""),
    ("scale_scores", {"by_d_k", "multiplied"}, """
def scale_scores(scores, d_k):
    return d_k * scores
"""),
    ("scale_scores", {"whole_root", "multiplied"}, """
def scale_scores(scores, d_k):
    root = int(d_k ** 0.5)
    return scores * root
"""),
    ("scale_scores", {"by_number_of_keys", "multiplied"}, """
def scale_scores(scores, d_k):
    n_k, n_q = scores.shape
    return scores * np.sqrt(n_k)
"""),
    ("scale_scores", {"halved", "in_place"}, """
def scale_scores(scores, d_k):
    for row in scores:
        row /= d_k ** 1 / 2
    return scores
"""),
    ("attention_scores", {"transposed", "already_scaled"}, """
def attention_scores(Q, K):
    d_k = Q.shape[0]
    return np.dot(Q.T, K) / d_k ** 0.5
"""),
    ("attention_scores", {"transposed", "cosine"}, """
def attention_scores(Q, K):
    q = Q / np.sqrt((Q ** 2).sum(axis=0))
    k = K / np.sqrt((K ** 2).sum(axis=0))
    return q.T @ k
"""),
    ("attention_scores", {"features_with_features", "already_scaled"}, """
def attention_scores(Q, K):
    return np.matmul(K, Q.transpose()) / np.sqrt(len(Q))
"""),
    ("attention_scores", {"keys_with_keys", "already_scaled"}, """
def attention_scores(Q, K):
    d_k, n_k = K.shape
    return (K.T @ K) / np.sqrt(d_k)
"""),
    ("attention_scores", {"transposed", "averaged"}, """
def attention_scores(Q, K):
    scores = np.zeros((Q.shape[1], K.shape[1]))
    for i in range(Q.shape[1]):
        for j in range(K.shape[1]):
            scores[i, j] = np.mean(Q[:, i] * K[:, j])
    return scores
"""),
    ("attend", {"transposed_weights", "averaged_once_more"}, """
def attend(V, weights):
    n_k = V.shape[1]
    return np.dot(V, weights.T) / n_k
"""),
    ("attend", {"outputs_as_rows", "averaged_once_more"}, """
def attend(V, weights):
    out = weights.T.dot(V.T)
    return out / weights.shape[0]
"""),
    ("attend", {"outputs_as_rows", "softmax_again"}, """
def attend(V, weights):
    w = np.exp(weights) / np.exp(weights).sum(axis=0)
    return (V @ w).T
"""),
    ("project", {"last_feature_missing", "tokens_as_rows"}, """
def project(W, X):
    out = np.zeros((X.shape[1], W.shape[0]))
    for t in range(X.shape[1]):
        for o in range(W.shape[0]):
            for i in range(W.shape[1] - 1):
                out[t, o] += W[o, i] * X[i, t]
    return out
"""),
    ("project", {"not_projected", "tokens_as_rows"}, """
def project(W, X):
    return X.T.copy()
"""),
    ("self_attention", {"not_scaled", "over_queries"}, """
def self_attention(X, W_q, W_k, W_v):
    q, k, v = W_q @ X, W_k @ X, W_v @ X
    s = k.T @ q
    e = np.exp(s - s.max(axis=1, keepdims=True))
    w = e / e.sum(axis=1, keepdims=True)
    return v @ w, w
"""),
    ("self_attention", {"not_scaled", "weights_transposed"}, """
def self_attention(X, W_q, W_k, W_v):
    weights = softmax(attention_scores(project(W_q, X), project(W_k, X)))
    output = attend(project(W_v, X), weights)
    return output, np.transpose(weights)
"""),
    ("self_attention", {"by_d_k", "attends_transposed"}, """
def self_attention(X, W_q, W_k, W_v):
    Q = W_q @ X
    K = W_k @ X
    V = W_v @ X
    A = softmax(attention_scores(Q, K) / W_k.shape[0])
    return V @ A.T, A
"""),
    ("self_attention", {"roles_swapped", "not_scaled"}, """
def self_attention(X, W_q, W_k, W_v):
    Q, K, V = [W @ X for W in (W_q, W_k, W_v)]
    S = Q.T @ K
    A = softmax(S)
    return V @ A, A
"""),
    ("self_attention", {"values_from_queries", "not_scaled"}, """
def self_attention(X, W_q, W_k, W_v):
    Q = project(W_q, X)
    K = project(W_k, X)
    V = project(W_q, X)
    w = softmax(attention_scores(Q, K))
    return attend(V, w), w
"""),
    ("self_attention", {"by_number_of_tokens", "roles_swapped"}, """
def self_attention(X, W_q, W_k, W_v):
    d, n = X.shape
    Q, K, V = W_q @ X, W_k @ X, W_v @ X
    w = softmax(scale_scores(attention_scores(K, Q), n))
    return attend(V, w), w
"""),
    ("self_attention", {"keys_from_queries", "by_d_k"}, """
def self_attention(X, W_q, W_k, W_v):
    Q = W_q @ X
    K = W_q @ X
    V = W_v @ X
    d_k = Q.shape[0]
    scores = K.T @ Q / d_k
    weights = softmax(scores)
    return V @ weights, weights
"""),
    ("self_attention", {"order_swapped", "not_scaled"}, """
def self_attention(X, W_q, W_k, W_v):
    w = softmax(attention_scores(W_q @ X, W_k @ X))
    return w, attend(W_v @ X, w)
"""),
    ("softmax_jacobian", {"sign_flipped", "softmax_again"}, """
def softmax_jacobian(p):
    w = np.exp(p - p.max())
    w = w / w.sum()
    return w[:, None] * w[None, :] - np.diag(w)
"""),
    ("softmax_jacobian", {"identity", "sign_flipped"}, """
def softmax_jacobian(p):
    J = np.zeros((len(p), len(p)))
    for i in range(len(p)):
        for j in range(len(p)):
            J[i, j] = p[i] * p[j] - (1 if i == j else 0)
    return J
"""),
    ("softmax_jacobian", {"diagonal_only", "softmax_again"}, """
def softmax_jacobian(p):
    w = np.exp(p) / np.sum(np.exp(p))
    return np.diag(w * (1 - w))
"""),
    ("score_variance", {"standard_deviation", "not_scaled"}, """
def score_variance(d_k, n_pairs, rng):
    q = rng.normal(size=(n_pairs, d_k))
    k = rng.normal(size=(n_pairs, d_k))
    s = np.sum(q * k, axis=1)
    return np.std(s), np.std(s)
"""),
    ("score_variance", {"by_d_k", "shared_query"}, """
def score_variance(d_k, n_pairs, rng):
    q = rng.standard_normal(d_k)
    scores = []
    for _ in range(n_pairs):
        scores.append(np.dot(q, rng.standard_normal(d_k)))
    scores = np.array(scores)
    return scores.var(), (scores / d_k).var()
"""),
    ("score_variance", {"standard_deviation", "swapped"}, """
def score_variance(d_k, n_pairs, rng):
    q, k = rng.normal(size=(2, n_pairs, d_k))
    s = (q * k).sum(axis=1)
    return (s / np.sqrt(d_k)).std(), s.std()
"""),
]  # fmt: skip
