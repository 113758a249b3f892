# ps6/attention_dropout: normalises the rows again after dropout.
# Named: renormalised
import torch


def attention_dropout(weights, p, training, generator=None):
    if not training or p == 0:
        return weights
    keep = torch.rand(weights.shape, generator=generator) >= p
    kept = weights * keep
    return kept / kept.sum(dim=-1, keepdim=True).clamp_min(1e-9)  # the row sums to 1 again
