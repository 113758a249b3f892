# ps2/SelfAttention: makes the values with the keys' layer.
# Named: values_from_keys
import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_k if dim_v is None else dim_v
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q = self.W_q(x)
        K = self.W_k(x)
        V = self.W_k(x)
        scores = Q @ K.transpose(1, 2) / math.sqrt(Q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ V, weights
