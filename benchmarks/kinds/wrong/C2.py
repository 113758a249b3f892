# ps3/MultiHeadAttention: divides by √d_model instead of √d_k.
# Named: scale_of_model
from math import inf, sqrt

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("d_model must be a multiple of num_heads")
        self.h = num_heads
        self.d_k = d_model // num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def heads(self, x):
        return x.unflatten(-1, (self.h, self.d_k)).transpose(1, 2)

    def forward(self, query, key=None, value=None, mask=None):
        key = query if key is None else key
        value = key if value is None else value
        Q, K, V = (
            self.heads(self.W_q(query)),
            self.heads(self.W_k(key)),
            self.heads(self.W_v(value)),
        )
        scores = Q @ K.transpose(-2, -1) / sqrt(query.shape[-1])
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = scores.masked_fill(mask == 0, -inf)
        weights = torch.softmax(scores, dim=-1)
        mixed = self.dropout(weights) @ V
        return self.W_o(mixed.transpose(1, 2).flatten(2)), weights
