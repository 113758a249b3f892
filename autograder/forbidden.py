"""Names that exercises forbid together, for `@exercise(forbids=…)`.

A dotted name stands for itself and for all that lies under it. Import resolution sees it
where it is written; what is reached by another way (an alias made at run time, getattr, a
method of a tensor) shows when it is called.
"""

from __future__ import annotations

# Everything in PyTorch that is attention already.
LIBRARY_ATTENTION = (
    "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.functional.multi_head_attention_forward",
    "torch.nn.MultiheadAttention",
    "torch.nn.Transformer",
    "torch.nn.TransformerEncoder",
    "torch.nn.TransformerEncoderLayer",
    "torch.nn.TransformerDecoder",
    "torch.nn.TransformerDecoderLayer",
    "torch.nn.attention",
)

# For the exercise that is about softmax itself; logsumexp is allowed.
LIBRARY_SOFTMAX = (
    "torch.softmax",
    "torch.log_softmax",
    "torch.nn.functional.softmax",
    "torch.nn.functional.log_softmax",
    "torch.nn.functional.softmin",
    "torch.nn.functional.gumbel_softmax",
    "torch.nn.Softmax",
    "torch.nn.Softmax2d",
    "torch.nn.LogSoftmax",
    "torch.nn.Softmin",
    "torch.special.softmax",
    "torch.special.log_softmax",
    "torch.Tensor.softmax",
    "torch.Tensor.log_softmax",
)
