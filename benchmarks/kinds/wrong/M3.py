# ps2/causal_mask: hides the diagonal too.
# Named: excludes_diagonal
import torch


def causal_mask(n):
    future = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=0)
    return ~future
