# ps2/scaled_dot_product_attention: half of the scale on the queries, half on the keys.
import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    fourth_root = Q.shape[-1] ** 0.25
    scores = (Q / fourth_root) @ (K / fourth_root).mT
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
