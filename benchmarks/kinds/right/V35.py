# ps3/MultiHeadAttention: loops over samples and heads.
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{num_heads} heads do not divide {d_model}")
        self.num_heads = num_heads
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_k = nn.Linear(d_model, d_model, bias=bias)
        self.W_v = nn.Linear(d_model, d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key=None, value=None, mask=None):
        if key is None:
            key = query
        if value is None:
            value = key
        Q, K, V = self.W_q(query), self.W_k(key), self.W_v(value)
        width = Q.shape[-1] // self.num_heads
        outputs, all_weights = [], []
        for sample in range(len(Q)):
            outputs.append([])
            all_weights.append([])
            for head in range(self.num_heads):
                part = slice(head * width, (head + 1) * width)
                scores = Q[sample, :, part] @ K[sample, :, part].T / width**0.5
                if mask is not None:
                    scores = scores.masked_fill(self.of(mask, sample, head) == 0, -torch.inf)
                weights = torch.softmax(scores, dim=1)
                outputs[-1].append(self.dropout(weights) @ V[sample, :, part])
                all_weights[-1].append(weights)
        output = torch.stack([torch.cat(heads, dim=1) for heads in outputs])
        return self.W_o(output), torch.stack([torch.stack(heads) for heads in all_weights])

    @staticmethod
    def of(mask, sample, head):
        if mask.dim() == 4:
            return mask[sample, head]
        return mask[sample] if mask.dim() == 3 else mask
