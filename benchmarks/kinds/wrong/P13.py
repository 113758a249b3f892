# ps2/SelfAttention: makes its layers anew in each call.
# Named: layers_made_anew
import math

import torch
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        self.input_dim = input_dim
        self.dim_k = dim_k
        self.dim_v = dim_k if dim_v is None else dim_v
        self.bias = bias

    def forward(self, x, mask=None):
        Q = nn.Linear(self.input_dim, self.dim_k, bias=self.bias)(x)
        K = nn.Linear(self.input_dim, self.dim_k, bias=self.bias)(x)
        V = nn.Linear(self.input_dim, self.dim_v, bias=self.bias)(x)
        scores = Q @ K.transpose(1, 2) / math.sqrt(self.dim_k)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ V, weights
