# ps2/scaled_dot_product_attention: the least finite number instead of minus infinity.
import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", Q, K).mul(Q.shape[-1] ** -0.5)
    if mask is not None:
        scores = torch.where(mask > 0, scores, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=scores.dim() - 1)
    return torch.einsum("...qk,...kv->...qv", weights, V), weights
