# ps5/rotary: pairs the halves but spaces the frequencies for neighbours.
# Named: mixed_layouts
import torch


def rotary(x, base=10000.0):
    n, d = x.shape[-2:]
    speed = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = torch.arange(n, dtype=torch.float64)[:, None] * speed
    angle = angle.repeat_interleave(2, dim=-1)  # each frequency twice, side by side
    front, back = x.chunk(2, dim=-1)
    turned = torch.cat([-back, front], dim=-1)  # pairs (i, i + d/2)
    return x * angle.cos().to(x.dtype) + turned * angle.sin().to(x.dtype)
