# ps2/scaled_dot_product_attention: scales the weights instead of the scores.
# Named: scaled_after_softmax
import math

import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-1, -2)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = torch.softmax(scores, dim=-1) / math.sqrt(Q.shape[-1])
    return weights @ V, weights
