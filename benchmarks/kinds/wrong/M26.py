# ps2/scaled_dot_product_attention: uses the first sample's mask for all.
# Named: first_mask_for_all
import math

import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        if mask.dim() > 2:
            mask = mask[0]
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
