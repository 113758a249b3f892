# ps4/masked_softmax: spreads evenly where everything is masked.
# Named: uniform_when_empty
import torch


def masked_softmax(scores, mask, dim=-1):
    lowest = torch.finfo(scores.dtype).min
    return torch.where(mask.bool(), scores, lowest).softmax(dim)
