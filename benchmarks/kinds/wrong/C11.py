# ps3/multi_head_formula: writes d_k ** 1/2 for the root.
# Named: scale_precedence
import torch


def multi_head_formula(x, W_q, W_k, W_v, W_o):
    heads = []
    for w_q, w_k, w_v in zip(W_q, W_k, W_v, strict=True):
        Q, K, V = x @ w_q, x @ w_k, x @ w_v
        root = Q.shape[1] ** 1/2  # fmt: skip
        heads.append(torch.softmax(Q @ K.T / root, dim=1) @ V)
    return torch.cat(heads, dim=1) @ W_o
