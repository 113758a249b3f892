# ps2/scaled_dot_product_attention: takes the scale from the width of the values.
# Named: by_value_width
import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    d = V.shape[-1]
    scores = Q @ K.swapaxes(-1, -2) / d**0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -torch.inf)
    weights = scores.softmax(dim=-1)
    return weights @ V, weights
