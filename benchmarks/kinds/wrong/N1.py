# ps5/sliding_window_mask: leaves the window's edge out.
# Named: strict
import torch


def sliding_window_mask(n, window):
    i = torch.arange(n)
    return (i[:, None] - i[None, :]).abs() < window
