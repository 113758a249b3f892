# ps5/relative_position_bias: looks up query minus key.
# Named: query_minus_key
import torch


def relative_position_bias(table, n_q, n_k):
    m = (table.shape[1] - 1) // 2
    distance = torch.arange(n_q)[:, None] - torch.arange(n_k)[None, :]
    return table[:, distance.clamp(-m, m) + m]
