# ps4/masked_softmax: fills with -1e9, which half precision cannot hold.
# Named: beyond_half_precision
import torch


def masked_softmax(scores, mask, dim=-1):
    weights = torch.softmax(scores.masked_fill(mask == 0, -1e9), dim=dim)
    return weights.masked_fill(mask == 0, 0.0)  # also where a slice is wholly masked
