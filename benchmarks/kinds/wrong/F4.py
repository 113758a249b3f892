# ps4/stable_softmax: subtracts no maximum.
# Named: no_maximum
import torch


def stable_softmax(x, dim=-1):
    e = torch.exp(x)
    return (e / e.sum(dim=dim, keepdim=True, dtype=torch.float64)).to(x.dtype)
