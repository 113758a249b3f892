# ps5/sinusoidal_positions: counts the factor 2 in the exponent twice.
# Named: exponent_doubled
import torch


def sinusoidal_positions(n, d_model):
    position = torch.arange(n).unsqueeze(1)
    i = torch.arange(0, d_model, 2)
    angle = position / 10000 ** (2 * i / d_model)
    table = torch.zeros(n, d_model)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle)
    return table
