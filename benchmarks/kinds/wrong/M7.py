# ps2/scaled_dot_product_attention: masks after the softmax and does not normalise again.
# Named: masked_after_softmax
import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = torch.einsum("...ik,...jk->...ij", Q, K) * Q.shape[-1] ** -0.5
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights * mask
    return torch.einsum("...ij,...jv->...iv", weights, V), weights
