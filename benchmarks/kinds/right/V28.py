# ps5/rotary: multiplies complex numbers.
import torch


def rotary(x, base=10000.0):
    n, d = x.shape[-2:]
    speed = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    angle = torch.arange(n, dtype=torch.float64)[:, None] * speed
    turn = torch.polar(torch.ones_like(angle), angle)  # (n, d / 2), complex
    pairs = torch.view_as_complex(x.double().reshape(*x.shape[:-1], d // 2, 2))
    return torch.view_as_real(pairs * turn).flatten(-2).to(x.dtype)
