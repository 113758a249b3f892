# ps2/CrossAttention: the output is normalised last.
import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_k if dim_v is None else dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q, K, V = self.W_q(x), self.W_k(context), self.W_v(context)
        scores = Q @ K.mT * Q.shape[-1] ** -0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -torch.inf)
        e = torch.exp(scores - scores.amax(-1, keepdim=True))
        sums = e.sum(-1, keepdim=True)
        return (e @ V) / sums, e / sums  # the output is normalised last
