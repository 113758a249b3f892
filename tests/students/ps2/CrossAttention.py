"""What students wrote for `CrossAttention`: queries from x, keys and values from the context."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "P8",
        "queries from the context, keys and values from x",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(query_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        # encoder asks, decoder answers
        return scaled_dot_product_attention(self.W_q(context), self.W_k(x), self.W_v(x), mask)
""",
        "sources_and_widths_swapped",
        fault=(
            "nn.Linear(context_dim",
            "nn.Linear(query_dim",
            "return scaled_dot_product_attention(",
        ),
    ),
    wrong(
        "own",
        "values from x",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_k if dim_v is None else dim_v
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(query_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        q = self.W_q(x)
        k = self.W_k(context)
        v = self.W_v(x)
        return scaled_dot_product_attention(q, k, v, mask)
""",
        "values_of_width_from_x",
        fault=("self.W_v = nn.Linear(query_dim", "v = self.W_v(x)"),
    ),
    wrong(
        "C2",
        "root of the query's input width",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.scale = query_dim ** -0.5
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v or dim_k, bias=bias)

    def forward(self, x, context, mask=None):
        q, k, v = self.W_q(x), self.W_k(context), self.W_v(context)
        sim = torch.einsum('b i d, b j d -> b i j', q, k) * self.scale
        if mask is not None:
            max_neg_value = -torch.finfo(sim.dtype).max
            sim = sim.masked_fill(mask == 0, max_neg_value)
        attn = sim.softmax(dim=-1)
        out = torch.einsum('b i j, b j d -> b i d', attn, v)
        return out, attn
""",
        "by_query_width",
        fault="self.scale = query_dim",
    ),
    wrong(
        "own",
        "self-attention: the context is not used",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(query_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_v(x)
        return scaled_dot_product_attention(Q, K, V, mask)
""",
        "context_never_used",
        fault=(
            "self.W_k = nn.Linear(query_dim",
            "self.W_v = nn.Linear(query_dim",
            "K = self.W_k(x)",
            "V = self.W_v(x)",
        ),
    ),
    wrong(
        "own",
        "weights come back as keys by queries",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        out, w = scaled_dot_product_attention(
            self.W_q(x), self.W_k(context), self.W_v(context), mask)
        return out, w.transpose(1, 2)
""",
        fault="return out, w.transpose(1, 2)",
    ),
    wrong(
        "own",
        "mask applied to queries: unsqueezed at the end",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        if mask is not None:
            mask = mask.transpose(-2, -1)
        q = self.W_q(x); k = self.W_k(context); v = self.W_v(context)
        return scaled_dot_product_attention(q, k, v, mask)
""",
        "mask_transposed",
        fault=("mask = mask.transpose(-2, -1)", "if mask is not None"),
    ),
    wrong(
        "F1",
        "softmax over the queries",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.dim_k = dim_k
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)
        self.softmax = nn.Softmax(dim=1)

    def forward(self, x, context, mask=None):
        q, k, v = self.W_q(x), self.W_k(context), self.W_v(context)
        scores = q.bmm(k.transpose(1, 2)) / math.sqrt(self.dim_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        w = self.softmax(scores)
        return w.bmm(v), w
""",
        "over_queries",
        fault="nn.Softmax(dim=1)",
    ),
    wrong(
        "own",
        "bias only for the queries",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=False)
        self.W_v = nn.Linear(context_dim, dim_v, bias=False)

    def forward(self, x, context, mask=None):
        q, k, v = self.W_q(x), self.W_k(context), self.W_v(context)
        return scaled_dot_product_attention(q, k, v, mask)
""",
        "bias_of_queries_only",
        fault=(
            "self.W_k = nn.Linear(context_dim, dim_k, bias=False)",
            "self.W_v = nn.Linear(context_dim, dim_v, bias=False)",
        ),
    ),
    wrong(
        "own",
        "mask forgotten",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        a = torch.softmax(
            self.W_q(x) @ self.W_k(context).mT / math.sqrt(self.W_q.out_features), -1)
        return a @ self.W_v(context), a
""",
        "mask_ignored",
        fault=("a = torch.softmax(", "self.W_q(x) @ self.W_k(context).mT"),
    ),
    wrong(
        "P7",
        "the weights applied to the keys",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q, K, V = self.W_q(x), self.W_k(context), self.W_v(context)
        S = Q @ K.transpose(1, 2) / math.sqrt(K.size(2))
        if mask is not None:
            S = S.masked_fill(mask == 0, -1e9)
        A = S.softmax(2)
        return A @ K, A
""",
        "values_from_keys",
        fault="return A @ K, A",
    ),
    right(
        "the diffusion models' style with einsum",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False, **unused):
        super().__init__()
        self.scale = dim_k ** -0.5
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v if dim_v is not None else dim_k, bias=bias)

    def forward(self, x, context, mask=None):
        q = self.W_q(x)
        k = self.W_k(context)
        v = self.W_v(context)
        sim = torch.einsum('b i d, b j d -> b i j', q, k) * self.scale
        if mask is not None:
            max_neg_value = -torch.finfo(sim.dtype).max
            sim.masked_fill_(mask == 0, max_neg_value)
        attn = sim.softmax(dim=-1)
        return torch.einsum('b i j, b j d -> b i d', attn, v), attn
""",
    ),
    right(
        "key and value sources concatenated into one product, then split",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None: dim_v = dim_k
        self.sizes = [dim_k, dim_v]
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        W = torch.cat([self.W_k.weight, self.W_v.weight])
        b = None if self.W_k.bias is None else torch.cat([self.W_k.bias, self.W_v.bias])
        k, v = F.linear(context, W, b).split(self.sizes, dim=-1)
        return scaled_dot_product_attention(self.W_q(x), k, v, mask=mask)
""",
    ),
    right(
        "positions of the arguments, asserts",
        """
class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super(CrossAttention, self).__init__()
        assert dim_k > 0
        dv = dim_k if not dim_v else dim_v
        self.W_q = nn.Linear(query_dim, dim_k, bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias)
        self.W_v = nn.Linear(context_dim, dv, bias)

    def forward(self, x, context, mask=None):
        assert x.dim() == 3 and context.dim() == 3, "batch first please"
        result = scaled_dot_product_attention(
            K=self.W_k(context), V=self.W_v(context), Q=self.W_q(x), mask=mask,
        )
        o, a = result
        return o, a
""",
    ),
]
