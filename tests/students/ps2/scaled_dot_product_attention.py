"""What students wrote for `scaled_dot_product_attention`: rows are queries, true may attend."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "M1",
        "masked_fill where the mask is true",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    d_k = Q.size(-1)
    attn_logits = torch.matmul(Q, K.transpose(-2, -1))
    attn_logits = attn_logits / math.sqrt(d_k)
    if mask is not None:
        attn_logits = attn_logits.masked_fill(mask == 1, -9e15)
    attention = F.softmax(attn_logits, dim=-1)
    values = torch.matmul(attention, V)
    return values, attention
""",
        "polarity_inverted_filled",
        fault="mask == 1",
    ),
    wrong(
        "C1",
        "no scale",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", Q, K)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    w = torch.softmax(scores, -1)
    return torch.einsum("...qk,...kv->...qv", w, V), w
""",
        "not_scaled",
        fault='torch.einsum("...qd,...kd->...qk", Q, K)',
    ),
    wrong(
        "F1",
        "softmax over dim=-2",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    # (b, n_q, d) x (b, d, n_k)
    S = Q @ K.mT / Q.shape[-1] ** 0.5
    if mask is not None:
        S = torch.where(mask.bool(), S, torch.tensor(-1e9, dtype=S.dtype))
    P = S.softmax(dim=-2)
    return P @ V, P
""",
        "over_queries_filled",
        fault="S.softmax(dim=-2)",
    ),
    wrong(
        "M5",
        "multiplies the scores with the mask",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    sim = (Q @ K.transpose(-1, -2)) * K.shape[-1] ** -0.5
    if mask is not None:
        sim = sim * mask          # 0 where padding
    attn = sim.softmax(dim=-1)
    out = attn @ V
    return out, attn
""",
        "hidden_scores_zero",
        fault="sim = sim * mask",
    ),
    wrong(
        "M7",
        "weights set to zero after the softmax",
        '''
def scaled_dot_product_attention(Q, K, V, mask=None):
    """Args: Q, K, V. Returns output, attention weights"""
    dk = K.shape[-1]
    scaled = torch.matmul(Q, K.transpose(-2, -1)) / np.sqrt(dk)
    weights = nn.Softmax(dim=-1)(scaled)
    if mask is not None:
        weights = weights.masked_fill(mask == 0, 0.0)
    output = torch.matmul(weights, V)
    return output, weights
''',
        "masked_after_softmax",
        fault=("weights = nn.Softmax", "weights.masked_fill(mask == 0, 0.0)"),
    ),
    wrong(
        "M6",
        "1e-9 for 1e9",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e-9)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, V), p_attn
""",
        "tiny_fill",
        "hidden_scores_zero",
        fault="-1e-9",
    ),
    wrong(
        "M23",
        "masked_fill without assignment",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(K.size(-1))
    if mask is not None:
        scores.masked_fill(mask == 0, float('-inf'))
    attn = F.softmax(scores, dim=-1)
    return torch.matmul(attn, V), attn
""",
        "mask_ignored",
        fault="scores.masked_fill(mask == 0",
    ),
    wrong(
        "M9",
        "(1 - mask) times minus infinity",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(K.size(-1))
    if mask is not None:
        m = mask.to(scores.dtype)
        scores = scores + (1.0 - m) * float('-inf')
    attn = F.softmax(scores, dim=-1)
    return attn @ V, attn
""",
        "infinity_times_zero",
        fault="(1.0 - m) * float('-inf')",
    ),
    wrong(
        "own",
        "adds the 0/1 mask to the scores as it is",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q.matmul(K.transpose(-2, -1)).div(Q.size(-1) ** 0.5)
    if mask is not None:
        scores += mask
    weights = scores.softmax(-1)
    return weights.matmul(V), weights
""",
        "mask_added",
        fault="scores += mask",
    ),
    wrong(
        "C3",
        "divides by d_k",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    d_k = Q.shape[-1]
    scores = torch.matmul(Q, K.transpose(-2, -1)) / d_k
    if mask is not None:
        scores = scores.masked_fill(~mask.bool(), -torch.inf)
    attn = torch.softmax(scores, dim=-1)
    return torch.matmul(attn, V), attn
""",
        "by_d_k",
        fault="/ d_k",
    ),
    wrong(
        "C8",
        "root of the number of keys (shape[-2])",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    dim = K.shape[-2]
    scores = Q @ K.transpose(-2, -1)
    scores = scores / dim ** .5
    if mask is not None: scores = scores.masked_fill(mask == 0, -1e20)
    A = F.softmax(scores, dim=-1)
    return A @ V, A
""",
        "by_number_of_keys",
        fault=("dim = K.shape[-2]", "scores / dim ** .5"),
    ),
    wrong(
        "C7",
        "root of V's width",
        """
def scaled_dot_product_attention(Q: Tensor, K: Tensor, V: Tensor, mask=None):
    *_, d = V.shape
    energy = torch.einsum('...id,...jd->...ij', Q, K)
    if mask is not None:
        energy = energy.masked_fill(mask == 0, float("-1e20"))
    attention = torch.softmax(energy / (d ** (1/2)), dim=-1)
    return torch.einsum('...ij,...jd->...id', attention, V), attention
""",
        "by_value_width",
        fault=("*_, d = V.shape", "energy / (d **"),
    ),
    wrong(
        "own",
        "no gradient: through numpy-like detach",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1).detach()   # only for plotting
    return weights @ V, weights
""",
        "weights_cut",
        fault=".detach()",
    ),
    wrong(
        "own",
        "fixed axes: transposes 1 and 2",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    b, n, d = Q.shape
    scores = torch.bmm(Q, K.transpose(1, 2)) / math.sqrt(d)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    attn = F.softmax(scores, dim=2)
    return torch.bmm(attn, V), attn
""",
        "three_axes_unpacked",
        fault=("b, n, d = Q.shape", "torch.bmm(Q", "F.softmax(scores, dim=2)", "torch.bmm(attn"),
    ),
    wrong(
        "own",
        "scales Q in place",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    with torch.no_grad():
        Q.div_(math.sqrt(Q.size(-1)))
    attn = Q @ K.transpose(-2, -1)
    if mask is not None:
        attn = attn.masked_fill(mask == 0, float('-inf'))
    attn = attn.softmax(-1)
    return attn @ V, attn
""",
        fault="Q.div_(",
    ),
    wrong(
        "D1",
        "functional dropout that is always on",
        """
def scaled_dot_product_attention(Q, K, V, mask=None, dropout=0.1):
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    attn = F.softmax(scores, dim=-1)
    attn = F.dropout(attn, p=dropout)
    return torch.matmul(attn, V), attn
""",
        fault="F.dropout(attn",
    ),
    wrong(
        "C5",
        "scaled after the softmax",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    A = Q @ K.transpose(-2, -1)
    if mask is not None:
        A = A.masked_fill(mask == 0, -float("inf"))
    A = A.softmax(dim=-1) / math.sqrt(Q.size(-1))
    return A @ V, A
""",
        "scaled_after_softmax",
        fault=("A.softmax(dim=-1) / math.sqrt", "A = Q @ K"),
    ),
    wrong(
        "M8",
        "plus infinity",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("inf"))
    attn = F.softmax(scores, dim=-1)
    return torch.matmul(attn, V), attn
""",
        "plus_infinity",
        fault='float("inf")',
    ),
    wrong(
        "own",
        "~mask on a mask of zeros and ones",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores[~mask.expand_as(scores)] = -1e9
    weights = F.softmax(scores, dim=-1)
    return weights @ V, weights
""",
        fault="~mask.expand_as",
    ),
    wrong(
        "C4",
        "rsqrt and then a division",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scale = 1 / math.sqrt(Q.size(-1))
    scores = torch.matmul(Q, K.transpose(-2, -1)) / scale
    if mask is not None:
        scores = scores.masked_fill(mask == 0, torch.finfo(scores.dtype).min)
    attn = scores.softmax(-1)
    return attn @ V, attn
""",
        "multiplied",
        fault=("scale = 1 / math.sqrt", "/ scale"),
    ),
    wrong(
        "own",
        "the mask is forgotten",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    # TODO mask
    attn = F.softmax(Q @ K.transpose(-2, -1) / math.sqrt(K.size(-1)), dim=-1)
    return attn @ V, attn
""",
        "mask_ignored",
        fault=("# TODO mask", "attn = F.softmax("),
    ),
    wrong(
        "F1",
        "softmax along dim=1 whatever the number of axes",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q.matmul(K.transpose(-1, -2)) / Q.shape[-1]**0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    attn = F.softmax(scores, dim=1)
    return attn.matmul(V), attn
""",
        "axis_1_filled",
        fault="F.softmax(scores, dim=1)",
    ),
    wrong(
        "own",
        "masks the output's rows, not the scores",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    attn = F.softmax(Q @ K.transpose(-2, -1) / math.sqrt(K.size(-1)), dim=-1)
    if mask is not None:
        V = V * mask.any(dim=-2)[..., None]
    return attn @ V, attn
""",
        fault=("attn = F.softmax(Q @ K", "V = V * mask"),
    ),
    wrong(
        "F9",
        "log_softmax, since the loss wants it",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    s = Q @ K.transpose(-2, -1) / math.sqrt(K.size(-1))
    if mask is not None:
        s = s.masked_fill(mask == 0, -1e4)
    lw = F.log_softmax(s, dim=-1)
    return lw @ V, lw
""",
        fault="F.log_softmax",
    ),
    right(
        "annotated transformer style",
        """
def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    "Compute 'Scaled Dot Product Attention'"
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn
""",
    ),
    right(
        "mask multiplied into the exponentials",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    s = torch.einsum("...qd,...kd->...qk", Q, K) / Q.size(-1) ** 0.5
    s = s - s.amax(dim=-1, keepdim=True)
    e = s.exp()
    if mask is not None:
        e = e * mask
    w = e / e.sum(-1, keepdim=True)
    return [w.matmul(V), w]
""",
    ),
    right(
        "the fourth root on both sides, torch.where",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    d = Q.shape[-1]
    q, k = Q * d ** -0.25, K * d ** -0.25
    logits = q @ k.swapaxes(-1, -2)
    if mask is not None:
        logits = torch.where(mask.bool(), logits, torch.finfo(logits.dtype).min)
    probs = logits.softmax(logits.dim() - 1)
    return probs @ V, probs
""",
    ),
    right(
        "additive mask made from the 0/1 mask",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    n_q, n_k = Q.size(-2), K.size(-2)
    bias = torch.zeros(n_q, n_k, dtype=Q.dtype, device=Q.device)
    if mask is not None:
        bias = bias.masked_fill(mask.logical_not(), float("-inf"))
    A = Q @ K.transpose(-2, -1) * (1 / math.sqrt(Q.size(-1))) + bias
    A = torch.softmax(A, dim=-1)
    return A @ V, A
""",
    ),
    right(
        "query by query, softmax first and renormalised after the mask",
        """
def scaled_dot_product_attention(Q, K, V, mask=None):
    rows = []
    keep = None
    if mask is not None:
        keep = torch.broadcast_to(mask, (*Q.shape[:-1], K.shape[-2])).to(Q.dtype)
    for i in range(Q.shape[-2]):
        q = Q[..., i, :].unsqueeze(-2)                       # (..., 1, d)
        s = (q * K).sum(-1) / math.sqrt(K.shape[-1])         # (..., n_k)
        w = torch.softmax(s, -1)
        if keep is not None:
            w = w * keep[..., i, :]
            w = w / w.sum(-1, keepdim=True)
        rows.append(w)
    W = torch.stack(rows, dim=-2)
    return torch.matmul(W, V), W
""",
    ),
]
