# ps2/scaled_dot_product_attention: takes the scale from the number of keys.
# Named: by_number_of_keys
import math

import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    d_k = K.shape[-2]
    scores = torch.matmul(Q, K.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(torch.logical_not(mask), -math.inf)
    weights = torch.nn.functional.softmax(scores, dim=-1)
    return torch.matmul(weights, V), weights
