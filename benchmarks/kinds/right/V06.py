# ps4/stable_softmax: powers of 2 instead of e, in float32.
from math import e, log2

import torch


def stable_softmax(x, dim=-1):
    wide = x if x.dtype == torch.float64 else x.float()
    powers = torch.exp2((wide - wide.amax(dim, keepdim=True)) * log2(e))
    return (powers / powers.sum(dim, keepdim=True)).to(x.dtype)
