# ps2/SelfAttention: makes the values as wide as the keys.
# Named: value_width_ignored
import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_k, bias=bias)

    def forward(self, x, mask=None):
        Q, K, V = self.W_q(x), self.W_k(x), self.W_v(x)
        scores = Q @ K.transpose(1, 2) / math.sqrt(Q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ V, weights
