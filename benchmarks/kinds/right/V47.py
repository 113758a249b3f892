# ps2/SelfAttention: returns a named tuple; layers made in another order.
import math
from typing import NamedTuple

import torch
from torch import nn


class Attended(NamedTuple):
    output: torch.Tensor
    weights: torch.Tensor


class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.W_v = nn.Linear(input_dim, dim_v or dim_k, bias=bias)
        self.W_k, self.W_q = (nn.Linear(input_dim, dim_k, bias=bias) for _ in range(2))

    def forward(self, x, mask=None):
        Q = self.W_q(x) / math.sqrt(self.W_q.out_features)
        scores = Q @ self.W_k(x).mT
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return Attended(output=weights @ self.W_v(x), weights=weights)
