"""What students wrote for `SelfAttention`: a module with W_q, W_k, W_v."""

from tests.students.corpus import right, wrong

ENTRIES = [
    wrong(
        "C2",
        "inline, root of the input's width",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super(SelfAttention, self).__init__()
        self.input_dim = input_dim
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)
        self.softmax = nn.Softmax(dim=2)

    def forward(self, x, mask=None):
        queries = self.W_q(x)
        keys = self.W_k(x)
        values = self.W_v(x)
        scores = torch.bmm(queries, keys.transpose(1, 2)) / (self.input_dim ** 0.5)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        attention = self.softmax(scores)
        return torch.bmm(attention, values), attention
""",
        "by_input_width",
        fault="self.input_dim ** 0.5",
    ),
    wrong(
        "own",
        "the mask is taken and not passed on",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        return scaled_dot_product_attention(self.W_q(x), self.W_k(x), self.W_v(x))
""",
        "mask_ignored",
        fault="return scaled_dot_product_attention(",
    ),
    wrong(
        "P6",
        "values by W_k",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.dim_k = dim_k
        self.dim_v = dim_k if dim_v is None else dim_v
        self.W_q = nn.Linear(input_dim, self.dim_k, bias)
        self.W_k = nn.Linear(input_dim, self.dim_k, bias)
        self.W_v = nn.Linear(input_dim, self.dim_v, bias)

    def forward(self, x, mask=None):
        q = self.W_q(x)
        k = self.W_k(x)
        v = self.W_k(x)
        return scaled_dot_product_attention(q, k, v, mask)
""",
        "values_from_keys",
        fault="v = self.W_k(x)",
    ),
    wrong(
        "own",
        "bias=True left as nn.Linear has it",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_k if dim_v is None else dim_v
        self.W_q = nn.Linear(input_dim, dim_k)
        self.W_k = nn.Linear(input_dim, dim_k)
        self.W_v = nn.Linear(input_dim, dim_v)

    def forward(self, x, mask=None):
        out, w = scaled_dot_product_attention(self.W_q(x), self.W_k(x), self.W_v(x), mask=mask)
        return out, w
""",
        "bias_always",
        fault=(
            "self.W_q = nn.Linear(input_dim, dim_k)",
            "self.W_k = nn.Linear(input_dim, dim_k)",
            "self.W_v = nn.Linear(input_dim, dim_v)",
        ),
    ),
    wrong(
        "W4",
        "dim_v is ignored",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_k, bias=bias)

    def forward(self, x, mask=None):
        return scaled_dot_product_attention(self.W_q(x), self.W_k(x), self.W_v(x), mask)
""",
        "value_width_ignored",
        fault="self.W_v = nn.Linear(input_dim, dim_k",
    ),
    wrong(
        "P5",
        "the input itself as values",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v if dim_v else dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q, K = self.W_q(x), self.W_k(x)
        return scaled_dot_product_attention(Q, K, x, mask)
""",
        "values_not_projected",
        fault="scaled_dot_product_attention(Q, K, x, mask)",
    ),
    wrong(
        "C1",
        "from a tutorial without the scale",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        keys = self.W_k(x)
        queries = self.W_q(x)
        values = self.W_v(x)
        attn_scores = queries @ keys.transpose(1, 2)
        if mask is not None:
            attn_scores = attn_scores.masked_fill(~mask.bool(), -torch.inf)
        attn_weights = torch.softmax(attn_scores, dim=-1)
        context_vec = attn_weights @ values
        return context_vec, attn_weights
""",
        "not_scaled",
        fault="attn_scores = queries @",
    ),
    wrong(
        "S5",
        "attends over the batch: inputs turned as for nn.MultiheadAttention",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        x = x.transpose(0, 1)        # seq first
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        out, w = scaled_dot_product_attention(q, k, v)
        return out.transpose(0, 1), w
""",
        "mask_ignored",
        "batch_attended",
        fault=("x = x.transpose(0, 1)", "out.transpose(0, 1)"),
    ),
    wrong(
        "own",
        "an output projection on top",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)
        self.W_o = nn.Linear(dim_v, dim_v, bias=bias)

    def forward(self, x, mask=None):
        h, w = scaled_dot_product_attention(self.W_q(x), self.W_k(x), self.W_v(x), mask)
        return self.W_o(h), w
""",
        "with_output_layer",
        fault=("self.W_o = nn.Linear", "return self.W_o(h)"),
    ),
    wrong(
        "P13",
        "the layers are made in forward",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.input_dim, self.dim_k, self.bias = input_dim, dim_k, bias
        self.dim_v = dim_v or dim_k

    def forward(self, x, mask=None):
        W_q = nn.Linear(self.input_dim, self.dim_k, bias=self.bias)
        W_k = nn.Linear(self.input_dim, self.dim_k, bias=self.bias)
        W_v = nn.Linear(self.input_dim, self.dim_v, bias=self.bias)
        return scaled_dot_product_attention(W_q(x), W_k(x), W_v(x), mask)
""",
        "layers_made_anew",
        fault=(
            "W_q = nn.Linear(self.input_dim",
            "W_k = nn.Linear(self.input_dim",
            "W_v = nn.Linear(self.input_dim",
        ),
    ),
    wrong(
        "P6",
        "one layer for queries and keys",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_k if dim_v is None else dim_v
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = self.W_q     # same size, so share
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        return scaled_dot_product_attention(q, k, v, mask)
""",
        fault="self.W_k = self.W_q",
    ),
    wrong(
        "own",
        "residual connection inside",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.dim_v = dim_k if dim_v is None else dim_v
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, self.dim_v, bias=bias)

    def forward(self, x, mask=None):
        out, w = scaled_dot_product_attention(self.W_q(x), self.W_k(x), self.W_v(x), mask)
        if out.shape == x.shape:
            out = out + x
        return out, w
""",
        "skip_where_it_fits",
        fault=("if out.shape == x.shape", "out = out + x"),
    ),
    wrong(
        "F1",
        "softmax dim=1 on (batch, n, n)",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.d = dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x); K = self.W_k(x); V = self.W_v(x)
        score = torch.matmul(Q, K.permute(0, 2, 1)) / math.sqrt(self.d)
        if mask is not None:
            score = score.masked_fill(mask == 0, -1e9)
        weight = F.softmax(score, dim=1)
        return torch.matmul(weight, V), weight
""",
        "over_queries",
        fault="F.softmax(score, dim=1)",
    ),
    wrong(
        "own",
        "dim_v defaults to the input's width",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        if dim_v is None:
            dim_v = input_dim
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        return scaled_dot_product_attention(self.W_q(x), self.W_k(x), self.W_v(x), mask)
""",
        "default_value_width",
        fault="dim_v = input_dim",
    ),
    wrong(
        "M1",
        "hands the inverted mask on",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        if mask is not None:
            mask = (mask == 0)   # True = hidden
        return scaled_dot_product_attention(self.W_q(x), self.W_k(x), self.W_v(x), mask)
""",
        "mask_inverted",
        fault="mask = (mask == 0)",
    ),
    wrong(
        "P1",
        "nn.Linear with in and out swapped",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_v or dim_k
        self.W_q = nn.Linear(dim_k, input_dim, bias=bias)
        self.W_k = nn.Linear(dim_k, input_dim, bias=bias)
        self.W_v = nn.Linear(dim_v, input_dim, bias=bias)

    def forward(self, x, mask=None):
        q = x @ self.W_q.weight
        k = x @ self.W_k.weight
        v = x @ self.W_v.weight
        return scaled_dot_product_attention(q, k, v, mask)
""",
        "layers_turned_around",
        fault=("nn.Linear(dim_k, input_dim", "nn.Linear(dim_v, input_dim", "x @ self.W_"),
    ),
    right(
        "inline with prints, type hints and a base class helper",
        '''
class Base(nn.Module):
    """helper so that I don't repeat myself in CrossAttention"""
    def _attn(self, q: Tensor, k: Tensor, v: Tensor, mask) -> tuple[Tensor, Tensor]:
        s = q @ k.transpose(-1, -2)
        s = s * (q.shape[-1] ** -0.5)
        if mask is not None:
            s = s.masked_fill(mask.bool().logical_not(), -1e9)
        a = s.softmax(dim=-1)
        return a @ v, a
# %%
class SelfAttention(Base):
    def __init__(self, input_dim: int, dim_k: int, dim_v: int | None = None, bias: bool = False):
        super().__init__()
        dim_v = dim_k if dim_v is None else dim_v
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.register_buffer("calls", torch.zeros(1), persistent=False)

    def forward(self, x: Tensor, mask: Tensor | None = None):
        return self._attn(self.W_q(x), self.W_k(x), self.W_v(x), mask)
''',
    ),
    right(
        "layers by setattr in a loop",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dims = {"q": dim_k, "k": dim_k, "v": dim_k if dim_v is None else dim_v}
        for name, d in dims.items():
            setattr(self, "W_" + name, nn.Linear(input_dim, d, bias=bias))

    def forward(self, x, mask=None):
        q, k, v = (getattr(self, f"W_{n}")(x) for n in "qkv")
        return scaled_dot_product_attention(q, k, v, mask)
""",
    ),
    right(
        "F.linear and a loop over the batch",
        """
class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        nn.Module.__init__(self)
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v or dim_k, bias=bias)
        # nn.init.xavier_uniform_(self.W_q.weight)
        nn.init.normal_(self.W_q.weight, std=0.02)

    def forward(self, x, mask=None):
        B, N, _ = x.shape
        if mask is not None:
            mask = mask.expand(B, N, N)
        outs, ws = [], []
        for b in range(B):
            q = F.linear(x[b], self.W_q.weight, self.W_q.bias)
            k = F.linear(x[b], self.W_k.weight, self.W_k.bias)
            v = F.linear(x[b], self.W_v.weight, self.W_v.bias)
            o, w = scaled_dot_product_attention(q, k, v, None if mask is None else mask[b])
            outs.append(o)
            ws.append(w)
        return torch.stack(outs), torch.stack(ws)
""",
    ),
    right(
        "subclass of a module that holds the projections, returns a named tuple",
        """
from collections import namedtuple
Result = namedtuple("Result", "output weights")

class SelfAttention(torch.nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        make = lambda d: nn.Linear(input_dim, d, bias=bias)
        self.W_q, self.W_k = make(dim_k), make(dim_k)
        self.W_v = make(dim_k if dim_v is None else dim_v)

    def forward(self, x, mask=None):
        att = scaled_dot_product_attention(self.W_q(x), self.W_k(x), self.W_v(x), mask)
        return Result(*att)
""",
    ),
]
