# ps3/multi_head_formula: vmap over the heads.
import torch


def multi_head_formula(x, W_q, W_k, W_v, W_o):
    def head(w_q, w_k, w_v):
        scores = (x @ w_q) @ (x @ w_k).T / w_q.shape[1] ** 0.5
        return torch.softmax(scores, dim=-1) @ (x @ w_v)

    stacked = (torch.stack(list(matrices)) for matrices in (W_q, W_k, W_v))
    heads = torch.vmap(head)(*stacked)  # (h, n, d_v)
    return torch.cat(tuple(heads), dim=-1) @ W_o
