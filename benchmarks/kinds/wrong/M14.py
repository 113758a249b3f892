# ps2/padding_mask: hides queries instead of keys.
# Named: queries_hidden
import torch


def padding_mask(lengths, n_max):
    real = torch.arange(n_max) < lengths.unsqueeze(1)  # (batch, n_max)
    return real.unsqueeze(-1)
