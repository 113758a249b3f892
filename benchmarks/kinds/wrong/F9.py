# ps2/scaled_dot_product_attention: applies softmax twice.
# Named: softmax_twice
import torch
import torch.nn.functional as F


def attention_weights(Q, K, mask):
    scores = Q @ K.mT * Q.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -torch.inf)
    return F.softmax(scores, dim=-1)


def scaled_dot_product_attention(Q, K, V, mask=None):
    weights = F.softmax(attention_weights(Q, K, mask), dim=-1)
    return weights @ V, weights
