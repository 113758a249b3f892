# ps2/scaled_dot_product_attention: inverts the caller's mask in place.
# Named: mask_changed
import math

import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / math.sqrt(Q.size(-1))
    if mask is not None:
        hidden = mask.logical_not_()  # the underscore: it is the caller's mask that is turned over
        scores = scores.masked_fill(hidden.bool(), -math.inf)
    weights = torch.softmax(scores, dim=-1)
    return weights @ V, weights
