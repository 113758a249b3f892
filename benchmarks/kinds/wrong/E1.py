# ps4/chunked_attention: does not rescale old sums when the maximum grows.
# Named: sums_not_rescaled
import torch


def chunked_attention(Q, K, V, chunk_size):
    Q = Q / Q.shape[-1] ** 0.5
    maximum = torch.full_like(Q[..., :1], -torch.inf)  # (..., n_q, 1)
    total = torch.zeros_like(maximum)
    output = torch.zeros(*Q.shape[:-1], V.shape[-1], dtype=Q.dtype)
    for K_chunk, V_chunk in zip(K.split(chunk_size, -2), V.split(chunk_size, -2), strict=True):
        scores = Q @ K_chunk.mT  # (..., n_q, chunk)
        maximum = torch.maximum(maximum, scores.amax(-1, keepdim=True))
        e = torch.exp(scores - maximum)
        total = total + e.sum(-1, keepdim=True)
        output = output + e @ V_chunk
    return output / total
