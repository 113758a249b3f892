# ps6/attention_dropout: other draws than torch.rand or nn.Dropout.
import torch


def attention_dropout(weights, p, training, generator=None):
    if not training:
        return weights
    keep = torch.empty_like(weights, dtype=torch.float64).bernoulli_(1 - p, generator=generator)
    return (weights * keep / (1 - p)).to(weights.dtype)
