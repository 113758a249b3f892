"""What students wrote for `multi_head_formula`: Concat(head_1 … head_h) W_o."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "H5",
        "W_o is not applied",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    heads = []
    for wq, wk, wv in zip(W_q, W_k, W_v):
        q, k, v = x @ wq, x @ wk, x @ wv
        a = torch.softmax(q @ k.T / math.sqrt(k.shape[-1]), dim=-1)
        heads.append(a @ v)
    return torch.cat(heads, dim=-1)
""",
        "no_output_layer",
        fault="return torch.cat(heads, dim=-1)",
    ),
    wrong(
        "C2",
        "root of the model width",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    d_model = x.shape[-1]
    heads = []
    for i in range(len(W_q)):
        Q = x @ W_q[i]
        K = x @ W_k[i]
        V = x @ W_v[i]
        scores = Q @ K.transpose(0, 1) / (d_model ** 0.5)
        heads.append(F.softmax(scores, dim=1) @ V)
    return torch.cat(heads, dim=1) @ W_o
""",
        "scale_of_tokens",
        fault=("d_model = x.shape[-1]", "(d_model ** 0.5)"),
    ),
    wrong(
        "own",
        "only the first head's matrices, h times",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    h = len(W_q)
    outs = []
    for _ in range(h):
        o, _ = attention(x @ W_q[0], x @ W_k[0], x @ W_v[0])
        outs.append(o)
    return torch.cat(outs, -1) @ W_o
""",
        "first_head_for_all",
        fault="W_q[0]",
    ),
    wrong(
        "F1",
        "softmax over dim 0",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    def head(wq, wk, wv):
        q = torch.matmul(x, wq)
        k = torch.matmul(x, wk)
        v = torch.matmul(x, wv)
        s = torch.matmul(q, k.t()) / math.sqrt(q.size(1))
        return torch.matmul(torch.softmax(s, dim=0), v)
    return torch.cat([head(*w) for w in zip(W_q, W_k, W_v)], dim=1) @ W_o
""",
        "over_queries",
        fault="torch.softmax(s, dim=0)",
    ),
    wrong(
        "C1",
        "no scale",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    wq, wk, wv = torch.stack(W_q), torch.stack(W_k), torch.stack(W_v)
    q = torch.einsum("nd,hdk->hnk", x, wq)
    k = torch.einsum("nd,hdk->hnk", x, wk)
    v = torch.einsum("nd,hdv->hnv", x, wv)
    a = torch.einsum("hnk,hmk->hnm", q, k).softmax(-1)
    o = torch.einsum("hnm,hmv->nhv", a, v).flatten(1)
    return o @ W_o
""",
        "scale_missing",
        fault=".softmax(-1)",
    ),
    wrong(
        "own",
        "head index innermost in the concatenation",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    hs = []
    for a, b, c in zip(W_q, W_k, W_v):
        out, w = attention(x @ a, x @ b, x @ c)
        hs.append(out)
    hs = torch.stack(hs, dim=2)       # n, d_v, h
    return hs.reshape(x.shape[0], -1) @ W_o
""",
        "interleaved",
        fault=("torch.stack(hs, dim=2)", "hs.reshape"),
    ),
    wrong(
        "C2",
        "root of h times d_k",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    h = len(W_q)
    d_k = W_q[0].shape[1] * h
    heads = []
    for i in range(h):
        s = (x @ W_q[i]) @ (x @ W_k[i]).T / math.sqrt(d_k)
        heads.append(s.softmax(-1) @ (x @ W_v[i]))
    multi = torch.cat(heads, dim=-1)
    return multi.matmul(W_o)
""",
        "scale_of_all_heads",
        fault=("d_k = W_q[0].shape[1] * h", "math.sqrt(d_k)"),
    ),
    wrong(
        "P6",
        "V made with W_k",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    heads = []
    for i in range(len(W_q)):
        q = x @ W_q[i]
        k = x @ W_k[i]
        v = x @ W_k[i]
        w = F.softmax(q @ k.T / math.sqrt(q.shape[-1]), dim=-1)
        heads.append(w @ v)
    return torch.cat(heads, dim=-1) @ W_o
""",
        "values_from_keys",
        fault="v = x @ W_k[i]",
    ),
    wrong(
        "own",
        "concatenated along the tokens",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    heads = [attention(x @ q, x @ k, x @ v)[0] for q, k, v in zip(W_q, W_k, W_v)]
    out = torch.cat(heads)          # default dim
    out = out.reshape(x.shape[0], -1)
    return out @ W_o
""",
        "reshaped",
        fault="torch.cat(heads)",
    ),
    wrong(
        "C7",
        "root of the value width",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    res = []
    for i, (wq, wk, wv) in enumerate(zip(W_q, W_k, W_v)):
        d = wv.shape[1]
        att = torch.softmax(x @ wq @ (x @ wk).T / d ** 0.5, -1)
        res.append(att @ x @ wv)
    return torch.hstack(res) @ W_o
""",
        "scale_of_values",
        fault=("d = wv.shape[1]", "d ** 0.5"),
    ),
    wrong(
        "P8",
        "queries and keys swapped",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    heads = []
    for Wq, Wk, Wv in zip(W_q, W_k, W_v):
        scores = (x @ Wk) @ (x @ Wq).T
        scores = scores / math.sqrt(Wq.shape[-1])
        heads.append(torch.softmax(scores, dim=-1) @ (x @ Wv))
    return torch.cat(heads, dim=-1) @ W_o
""",
        "roles_swapped",
        fault="(x @ Wk) @ (x @ Wq).T",
    ),
    wrong(
        "F2",
        "one softmax over all heads",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    n = x.shape[0]
    S = torch.stack([(x @ q) @ (x @ k).T / math.sqrt(q.shape[1]) for q, k in zip(W_q, W_k)], 1)
    A = F.softmax(S.reshape(n, -1), dim=-1).reshape(S.shape)     # n, h, n
    heads = [A[:, i] @ (x @ W_v[i]) for i in range(len(W_v))]
    return torch.cat(heads, -1) @ W_o
""",
        "over_heads_and_keys",
        fault="S.reshape(n, -1)",
    ),
    wrong(
        "own",
        "the average of the heads",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    total = None
    h = len(W_q)
    for i in range(h):
        o, _ = attention(x @ W_q[i], x @ W_k[i], x @ W_v[i])
        total = o if total is None else total + o
    avg = total / h
    return avg.repeat(1, h) @ W_o
""",
        fault=("total = o if", "avg = total / h", "avg.repeat"),
    ),
    wrong(
        "P1",
        "W_o transposed",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    heads = []
    for i in range(len(W_q)):
        Q, K, V = x @ W_q[i], x @ W_k[i], x @ W_v[i]
        A = torch.softmax(Q @ K.T / Q.shape[1] ** 0.5, dim=1)
        heads.append(A @ V)
    return F.linear(torch.cat(heads, dim=1), W_o)
""",
        "transposed_output_layer",
        fault="F.linear(torch.cat",
    ),
    wrong(
        "P5",
        "values not projected",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    heads = []
    for wq, wk in zip(W_q, W_k):
        o, w = attention(x @ wq, x @ wk, x)
        heads.append(o)
    return torch.cat(heads, dim=-1) @ W_o
""",
        "values_not_projected",
        fault=("attention(x @ wq, x @ wk, x)", "zip(W_q, W_k)"),
    ),
    right(
        "sum over heads with W_o cut into blocks",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    d_v = W_v[0].shape[1]
    out = 0
    for i in range(len(W_q)):
        head, _ = attention(x @ W_q[i], x @ W_k[i], x @ W_v[i])
        out = out + head @ W_o[i * d_v:(i + 1) * d_v]
    return out
""",
    ),
    right(
        "all heads at once by wide matrices",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    h = len(W_q)
    n = x.shape[0]
    q = (x @ torch.cat(list(W_q), 1)).view(n, h, -1).transpose(0, 1)
    k = (x @ torch.cat(list(W_k), 1)).view(n, h, -1).transpose(0, 1)
    v = (x @ torch.cat(list(W_v), 1)).view(n, h, -1).transpose(0, 1)
    s = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    o = s.softmax(-1) @ v
    return o.transpose(0, 1).reshape(n, -1) @ W_o
""",
    ),
    right(
        "one bilinear form for each head, map and lambda",
        """
def multi_head_formula(x, W_q, W_k, W_v, W_o):
    head = lambda A, B, C: torch.softmax(x @ (A @ B.T) @ x.T / A.shape[1] ** .5, 1) @ (x @ C)
    return torch.cat(list(map(head, W_q, W_k, W_v)), 1) @ W_o
""",
    ),
]
