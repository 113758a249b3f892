# ps2/scaled_dot_product_attention: divides by d_k.
# Named: by_d_k
import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    d_k = Q.size(-1)
    scores = torch.matmul(Q, K.transpose(-2, -1)) / d_k
    if mask is not None:
        scores = scores.masked_fill(~mask.bool(), float("-inf"))
    weights = scores.softmax(-1)
    return torch.matmul(weights, V), weights
