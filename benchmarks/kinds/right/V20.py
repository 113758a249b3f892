# ps2/scaled_dot_product_attention: the mask multiplies the exponentials, then rows are normalised.
import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.mT / Q.shape[-1] ** 0.5
    if mask is None:
        mask = torch.ones_like(scores)
    shown = torch.where(mask.bool(), scores, -torch.inf)
    # a hidden score may be far above the greatest that is shown: clamped, it cannot overflow
    shifted = (scores - shown.amax(-1, keepdim=True)).clamp(max=0)
    e = torch.exp(shifted) * mask
    weights = (e / e.sum(-1, keepdim=True)).to(V.dtype)
    return weights @ V, weights
