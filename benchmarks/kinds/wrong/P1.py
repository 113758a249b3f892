# ps2/SelfAttention: multiplies by the stored weight instead of its transpose.
# Named: weights_untransposed
import math

import torch
from torch import nn


def project(layer, x):
    y = x @ layer.weight
    return y if layer.bias is None else y + layer.bias


class SelfAttention(nn.Module):
    def __init__(self, input_dim, dim_k, dim_v=None, bias=False):
        super().__init__()
        dim_v = dim_k if dim_v is None else dim_v
        self.W_q = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_k = nn.Linear(input_dim, dim_k, bias=bias)
        self.W_v = nn.Linear(input_dim, dim_v, bias=bias)

    def forward(self, x, mask=None):
        Q, K, V = (project(layer, x) for layer in (self.W_q, self.W_k, self.W_v))
        scores = Q @ K.transpose(1, 2) / math.sqrt(Q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -math.inf)
        weights = torch.softmax(scores, dim=-1)
        return weights @ V, weights
