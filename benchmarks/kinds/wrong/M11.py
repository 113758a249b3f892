# ps4/masked_softmax: gives NaN where everything is masked.
# Named: minus_infinity
import torch


def masked_softmax(scores, mask, dim=-1):
    scores = scores.masked_fill(mask == 0, float("-inf"))
    return torch.softmax(scores, dim=dim)
