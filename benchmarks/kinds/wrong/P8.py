# ps2/CrossAttention: asks with the context and answers with x.
# Named: sources_swapped
import math

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.W_q = nn.Linear(query_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(context_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(context_dim, dim_k if dim_v is None else dim_v, bias=bias)

    def forward(self, x, context, mask=None):
        Q = self.W_q(context)
        K = self.W_k(x)
        V = self.W_v(x)
        scores = Q @ K.transpose(-2, -1) / math.sqrt(K.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ V, weights
