# ps4/mixed_precision_attention: returns float32 for half precision.
# Named: float32_returned
import torch


def mixed_precision_attention(Q, K, V):
    Q, K, V = Q.float(), K.float(), V.float()
    weights = torch.softmax(Q @ K.mT / Q.shape[-1] ** 0.5, dim=-1)
    return weights @ V
