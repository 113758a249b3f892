"""What students wrote for `MultiHeadAttention`: W_q, W_k, W_v, W_o, masks of four shapes."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "C2",
        "root of d_model",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.d_model = d_model
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.W_q(query), self.num_heads)
        k = split_heads(self.W_k(key), self.num_heads)
        v = split_heads(self.W_v(value), self.num_heads)
        energy = torch.einsum("bhqd,bhkd->bhqk", q, k) / (self.d_model ** (1 / 2))
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        weights = torch.softmax(energy, dim=3)
        out = concat_heads(self.dropout(weights) @ v)
        return self.W_o(out), weights
""",
        "scale_of_model",
        fault="self.d_model ** (1 / 2)",
    ),
    wrong(
        "H1",
        "heads split by view alone",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model} % {num_heads} != 0")
        self.h, self.d_k = num_heads, d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias)
        self.W_k = nn.Linear(d_model, d_model, bias)
        self.W_v = nn.Linear(d_model, d_model, bias)
        self.W_o = nn.Linear(d_model, d_model, bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        if key is None: key = query
        if value is None: value = key
        b = query.size(0)
        q = self.W_q(query).view(b, self.h, -1, self.d_k)
        k = self.W_k(key).view(b, self.h, -1, self.d_k)
        v = self.W_v(value).view(b, self.h, -1, self.d_k)
        if mask is not None and mask.ndim == 3:
            mask = mask[:, None]
        _, w = attention(q, k, v, mask)
        o = (self.drop(w) @ v).transpose(1, 2).reshape(b, -1, self.h * self.d_k)
        return self.W_o(o), w
""",
        "split_by_reshape",
        fault=".view(b, self.h, -1, self.d_k)",
    ),
    wrong(
        "H2",
        "merged without swapping back",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0: raise ValueError("bad heads")
        self.num_heads = num_heads
        self.depth = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.p = dropout

    def split(self, t):
        return t.view(t.shape[0], t.shape[1], self.num_heads, self.depth).permute(0, 2, 1, 3)

    def forward(self, query, key=None, value=None, mask=None):
        key = key if key is not None else query
        value = value if value is not None else key
        Q, K = self.split(self.W_q(query)), self.split(self.W_k(key))
        V = self.split(self.W_v(value))
        logits = Q @ K.transpose(-2, -1) / math.sqrt(self.depth)
        if mask is not None:
            logits = logits.masked_fill((mask.unsqueeze(1) if mask.dim() == 3 else mask) == 0, -1e9)
        A = logits.softmax(-1)
        ctx = F.dropout(A, self.p, self.training) @ V
        ctx = ctx.contiguous().view(query.shape[0], -1, self.num_heads * self.depth)
        return self.W_o(ctx), A
""",
        "merged_by_reshape",
        fault="ctx.contiguous().view",
    ),
    wrong(
        "H5",
        "W_o made but not used",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model has to be a multiple of num_heads")
        self.num_heads = num_heads
        for name in ("W_q", "W_k", "W_v", "W_o"):
            self.add_module(name, nn.Linear(d_model, d_model, bias=bias))
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        q, k, v = [split_heads(f(t), self.num_heads) for f, t in
                   ((self.W_q, query), (self.W_k, key), (self.W_v, value))]
        _, w = attention(q, k, v, mask)
        return concat_heads(self.dropout(w) @ v), w
""",
        "no_output_layer",
        fault="return concat_heads(",
    ),
    wrong(
        "M15",
        "the mask (b, n, n) against (b, h, n, n)",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model % num_heads")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        if key is None:
            key = query
        if value is None:
            value = key
        q = split_heads(self.W_q(query), self.num_heads)
        k = split_heads(self.W_k(key), self.num_heads)
        v = split_heads(self.W_v(value), self.num_heads)
        _, weights = attention(q, k, v, mask)   # broadcasting does the rest
        out = self.dropout(weights) @ v
        return self.W_o(concat_heads(out)), weights
""",
        "mask_without_head_axis",
        fault=("attention(q, k, v, mask)", "out = "),
    ),
    wrong(
        "M1",
        "drops where the mask is true",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("nope")
        self.h = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.attn_dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        B, Nq, D = query.shape
        Nk = key.shape[1]
        q = self.W_q(query).view(B, Nq, self.h, D // self.h).transpose(1, 2)
        k = self.W_k(key).view(B, Nk, self.h, D // self.h).transpose(1, 2)
        v = self.W_v(value).view(B, Nk, self.h, D // self.h).transpose(1, 2)
        s = q @ k.transpose(-2, -1) * (D // self.h) ** -0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            s = s.masked_fill(mask.bool(), -1e9)
        w = s.softmax(dim=-1)
        o = (self.attn_dropout(w) @ v).transpose(1, 2).reshape(B, Nq, D)
        return self.W_o(o), w
""",
        "mask_polarity",
        fault="mask.bool()",
    ),
    wrong(
        "own",
        "the weights averaged over the heads, as nn.MultiheadAttention returns them",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.W_q(query), self.num_heads)
        k = split_heads(self.W_k(key), self.num_heads)
        v = split_heads(self.W_v(value), self.num_heads)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        _, w = attention(q, k, v, mask)
        out = self.W_o(concat_heads(self.dropout(w) @ v))
        return out, w.mean(dim=1)
""",
        "weights_averaged",
        fault="w.mean(dim=1)",
    ),
    wrong(
        "D1",
        "functional dropout without self.training",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads = num_heads
        self.dropout = dropout
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.W_q(query), self.num_heads)
        k = split_heads(self.W_k(key), self.num_heads)
        v = split_heads(self.W_v(value), self.num_heads)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        _, weights = attention(q, k, v, mask)
        out = F.dropout(weights, p=self.dropout) @ v
        return self.W_o(concat_heads(out)), weights
""",
        "dropout_in_evaluation",
        fault="F.dropout(weights",
    ),
    wrong(
        "own",
        "value defaults to the query",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.nh = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        if key is None: key = query
        if value is None: value = query
        q, k, v = self.W_q(query), self.W_k(key), self.W_v(value)
        q, k, v = split_heads(q, self.nh), split_heads(k, self.nh), split_heads(v, self.nh)
        if mask is not None and mask.dim() == 3: mask = mask.unsqueeze(1)
        _, w = attention(q, k, v, mask)
        return self.W_o(concat_heads(self.drop(w) @ v)), w
""",
        "value_defaults_to_query",
        fault="value = query",
    ),
    wrong(
        "own",
        "assert in place of ValueError",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        assert d_model % num_heads == 0, "Embedding dim must be 0 modulo number of heads."
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.W_q(query), self.num_heads)
        k = split_heads(self.W_k(key), self.num_heads)
        v = split_heads(self.W_v(value), self.num_heads)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        _, weights = attention(q, k, v, mask)
        return self.W_o(concat_heads(self.dropout(weights) @ v)), weights
""",
        "assertion",
        fault="assert d_model",
    ),
    wrong(
        "F2",
        "softmax over the heads (dim=1)",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads = num_heads
        self.d_head = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.softmax = nn.Softmax(dim=1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.W_q(query), self.num_heads)
        k = split_heads(self.W_k(key), self.num_heads)
        v = split_heads(self.W_v(value), self.num_heads)
        scores = torch.matmul(q, k.transpose(2, 3)) / math.sqrt(self.d_head)
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -1e9)
        weights = self.softmax(scores)
        return self.W_o(concat_heads(self.dropout(weights) @ v)), weights
""",
        "over_heads_filled",
        fault="nn.Softmax(dim=1)",
    ),
    wrong(
        "own",
        "bias is not passed to the output layer",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.W_q(query), self.num_heads)
        k = split_heads(self.W_k(key), self.num_heads)
        v = split_heads(self.W_v(value), self.num_heads)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        _, weights = attention(q, k, v, mask)
        return self.W_o(concat_heads(self.dropout(weights) @ v)), weights
""",
        "output_bias_always",
        fault="self.W_o = nn.Linear(d_model, d_model)",
    ),
    wrong(
        "own",
        "only the first sample's mask",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.W_q(query), self.num_heads)
        k = split_heads(self.W_k(key), self.num_heads)
        v = split_heads(self.W_v(value), self.num_heads)
        if mask is not None:
            while mask.dim() > 2:     # same for everybody
                mask = mask[0]
        _, weights = attention(q, k, v, mask)
        return self.W_o(concat_heads(self.dropout(weights) @ v)), weights
""",
        fault=("while mask.dim() > 2", "mask = mask[0]"),
    ),
    wrong(
        "M16",
        "heads in the batch, mask repeated in the other order",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        h, b = self.num_heads, query.shape[0]
        q = split_heads(self.W_q(query), h).flatten(0, 1)     # (b*h, n, d)
        k = split_heads(self.W_k(key), h).flatten(0, 1)
        v = split_heads(self.W_v(value), h).flatten(0, 1)
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.repeat(h, 1, 1)
            elif mask.dim() == 4:
                mask = mask.flatten(0, 1)
        _, w = attention(q, k, v, mask)
        out = (self.dropout(w) @ v).unflatten(0, (b, h))
        return self.W_o(concat_heads(out)), w.unflatten(0, (b, h))
""",
        "mask_repeated_in_turn",
        fault="mask.repeat(h, 1, 1)",
    ),
    wrong(
        "own",
        "takes the mask and does not use it",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.W_q(query), self.num_heads)
        k = split_heads(self.W_k(key), self.num_heads)
        v = split_heads(self.W_v(value), self.num_heads)
        # mask is handled by the caller
        _, weights = attention(q, k, v)
        return self.W_o(concat_heads(self.dropout(weights) @ v)), weights
""",
        "mask_ignored",
        fault="attention(q, k, v)",
    ),
    wrong(
        "own",
        "keys cut to the number of queries: one n for both",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads = num_heads
        self.head_dim = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        b, n, d = query.shape
        shape = (b, n, self.num_heads, self.head_dim)
        q = self.W_q(query).view(shape).transpose(1, 2)
        k = self.W_k(key).view(shape).transpose(1, 2)
        v = self.W_v(value).view(shape).transpose(1, 2)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        _, w = attention(q, k, v, mask)
        out = (self.dropout(w) @ v).transpose(1, 2).reshape(b, n, d)
        return self.W_o(out), w
""",
        "one_length_for_all",
        fault=("shape = (b, n,", "self.W_k(key).view(shape)", "self.W_v(value).view(shape)"),
    ),
    wrong(
        "P6",
        "W_k used for the values",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.W_q(query), self.num_heads)
        k = split_heads(self.W_k(key), self.num_heads)
        v = split_heads(self.W_k(value), self.num_heads)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        _, weights = attention(q, k, v, mask)
        return self.W_o(concat_heads(self.dropout(weights) @ v)), weights
""",
        "values_from_keys",
        fault="v = split_heads(self.W_k(value)",
    ),
    wrong(
        "H7",
        "d_model for each head",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model * num_heads, bias=bias)
        self.W_k = nn.Linear(d_model, d_model * num_heads, bias=bias)
        self.W_v = nn.Linear(d_model, d_model * num_heads, bias=bias)
        self.W_o = nn.Linear(d_model * num_heads, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.W_q(query), self.num_heads)
        k = split_heads(self.W_k(key), self.num_heads)
        v = split_heads(self.W_v(value), self.num_heads)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        _, weights = attention(q, k, v, mask)
        return self.W_o(concat_heads(self.dropout(weights) @ v)), weights
""",
        "full_width_for_each_head",
        fault=("nn.Linear(d_model, d_model * num_heads", "nn.Linear(d_model * num_heads, d_model"),
    ),
    wrong(
        "M7",
        "mask multiplied into the weights",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = split_heads(self.W_q(query), self.num_heads)
        k = split_heads(self.W_k(key), self.num_heads)
        v = split_heads(self.W_v(value), self.num_heads)
        _, weights = attention(q, k, v)
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            weights = weights * mask.to(weights.dtype)
        return self.W_o(concat_heads(self.dropout(weights) @ v)), weights
""",
        "mask_after_softmax",
        fault=("attention(q, k, v)", "weights = weights * mask"),
    ),
    wrong(
        "C1",
        "no scale, inline",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(d_model, d_model, bias=bias) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q, k, v = (split_heads(t, self.heads)
                   for t in (self.W_q(query), self.W_k(key), self.W_v(value)))
        dots = q @ k.mT
        if mask is not None:
            mask = mask[:, None] if mask.ndim == 3 else mask
            dots.masked_fill_(mask == 0, -torch.inf)
        attn = dots.softmax(-1)
        return self.W_o(concat_heads(self.dropout(attn) @ v)), attn
""",
        "scale_missing",
        fault="dots = q @ k.mT",
    ),
    right(
        "inline, -1e9, everything in one forward with comments",
        '''
class MultiHeadAttention(nn.Module):
    """ Multi-Head Attention module """

    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_heads does not divide d_model")
        self.n_head = num_heads
        self.d_k = d_model // num_heads
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        if key is None:
            key = query
        if value is None:
            value = key
        sz_b, len_q, len_k = query.size(0), query.size(1), key.size(1)
        # pass through the pre-attention projection: b x lq x (n*dv)
        q = self.W_q(query).view(sz_b, len_q, self.n_head, self.d_k)
        k = self.W_k(key).view(sz_b, len_k, self.n_head, self.d_k)
        v = self.W_v(value).view(sz_b, len_k, self.n_head, self.d_k)
        # transpose for attention dot product: b x n x lq x dv
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        attn = torch.matmul(q / self.d_k ** 0.5, k.transpose(2, 3))
        if mask is not None:
            if len(mask.shape) == 3:
                mask = mask.unsqueeze(1)    # for head axis broadcasting
            attn = attn.masked_fill(mask == 0, -1e9)
        attn = F.softmax(attn, dim=-1)
        out = torch.matmul(self.dropout(attn), v)
        out = out.transpose(1, 2).contiguous().view(sz_b, len_q, -1)
        return self.W_o(out), attn
''',
    ),
    right(
        "heads in the batch axis, mask by repeat_interleave",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(num_heads)
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def fold(self, t):
        return split_heads(t, self.num_heads).flatten(0, 1)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        h, b = self.num_heads, query.shape[0]
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.repeat_interleave(h, dim=0)
            if mask.dim() == 4:
                mask = mask.flatten(0, 1)
        v = self.fold(self.W_v(value))
        _, w = attention(self.fold(self.W_q(query)), self.fold(self.W_k(key)), v, mask)
        out = torch.bmm(self.dropout(w), v).unflatten(0, (b, h))
        return self.W_o(concat_heads(out)), w.unflatten(0, (b, h))
""",
    ),
    right(
        "head by head in a loop, W_o by blocks of columns",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model // num_heads * num_heads != d_model:
            raise ValueError(f"{num_heads} heads do not fit into {d_model}")
        self.num_heads = num_heads
        self.hd = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q, K, V = self.W_q(query), self.W_k(key), self.W_v(value)
        out = 0
        ws = []
        for i in range(self.num_heads):
            sl = slice(i * self.hd, (i + 1) * self.hd)
            m = mask
            if m is not None and m.dim() == 4:
                m = m[:, i]
            _, w = attention(Q[..., sl], K[..., sl], V[..., sl], m)
            head = self.dropout(w) @ V[..., sl]
            out = out + head @ self.W_o.weight[:, sl].T
            ws.append(w)
        if self.W_o.bias is not None:
            out = out + self.W_o.bias
        return out, torch.stack(ws, 1)
""",
    ),
    right(
        "einsum everywhere, mask expanded with a helper",
        '''
def expand_mask(mask):
    """bring the mask to four axes (taken from a tutorial)"""
    assert mask.ndim >= 2
    if mask.ndim == 3:
        mask = mask.unsqueeze(1)
    while mask.ndim < 4:
        mask = mask.unsqueeze(0)
    return mask
# %%
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("Embedding dimension must be 0 modulo number of heads.")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self._reset_parameters()

    def _reset_parameters(self):
        for lin in [self.W_q, self.W_k, self.W_v, self.W_o]:
            nn.init.xavier_uniform_(lin.weight)
            if lin.bias is not None:
                lin.bias.data.fill_(0)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        q = self.W_q(query).unflatten(-1, (self.num_heads, -1))
        k = self.W_k(key).unflatten(-1, (self.num_heads, -1))
        v = self.W_v(value).unflatten(-1, (self.num_heads, -1))
        logits = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
        if mask is not None:
            logits = logits.masked_fill(expand_mask(mask) == 0, -9e15)
        w = logits.softmax(dim=-1)
        o = torch.einsum("bhqk,bkhd->bqhd", self.dropout(w), v)
        return self.W_o(o.flatten(2)), w
''',
    ),
    right(
        "functional dropout with training, scaled queries, a list",
        """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, bias: bool = True, dropout: float = 0.0):
        super().__init__()
        head_dim, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError("d_model / num_heads is not whole")
        self.h, self.p = num_heads, dropout
        self.scale = head_dim ** -0.5
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.last_weights = None     # to look at later

    def forward(self, query, key=None, value=None, mask=None):
        if key is None:
            key = query
        if value is None:
            value = key
        q = split_heads(self.W_q(query) * self.scale, self.h)
        k = split_heads(self.W_k(key), self.h)
        v = split_heads(self.W_v(value), self.h)
        s = q @ k.mT
        if mask is not None:
            keep = mask if mask.dim() != 3 else mask[:, None, :, :]
            s = torch.where(keep.bool(), s, torch.full_like(s, float("-inf")))
        w = torch.softmax(s, -1)
        self.last_weights = w.detach()
        o = F.dropout(w, p=self.p, training=self.training) @ v
        return [self.W_o(concat_heads(o)), w]
""",
    ),
]
