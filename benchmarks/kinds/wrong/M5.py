# ps2/scaled_dot_product_attention: multiplies the scores by the mask.
# Named: hidden_scores_zero
import math

import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        scores = scores * mask  # what is hidden scores nothing
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
