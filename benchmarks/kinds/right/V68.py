# ps3/MultiHeadAttention: holds buffers, one of which counts the calls.
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        self.d_head, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"{d_model} = {num_heads} * {self.d_head} + {rest}")
        self.register_buffer("hidden", torch.tensor(-torch.inf))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        self.calls += 1
        key = query if key is None else key
        value = key if value is None else value
        Q, K, V = (
            layer(x).unflatten(2, (-1, self.d_head))  # (batch, n, h, d_head)
            for layer, x in ((self.W_q, query), (self.W_k, key), (self.W_v, value))
        )
        scores = torch.einsum("bqhd,bkhd->bhqk", Q, K) / self.d_head**0.5
        if mask is not None:
            mask = mask[:, None] if mask.dim() == 3 else mask
            scores = torch.where(mask.bool(), scores, self.hidden)
        weights = scores.softmax(dim=3)
        output = torch.einsum("bhqk,bkhd->bqhd", self.drop(weights), V)
        return self.W_o(output.flatten(2)), weights
