# ps2/scaled_dot_product_attention: multiplies by √d_k.
# Named: multiplied
import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    scale = Q.shape[-1] ** -0.5
    scores = (Q @ K.mT) / scale
    if mask is not None:
        scores = torch.where(mask.bool(), scores, -torch.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
