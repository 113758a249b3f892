"""Names that exercises forbid together, for `@exercise(forbids=…)`, and how their calls show.

A dotted name stands for itself and for all that lies under it. Import resolution sees it
where it is written. What is reached in another way (an alias made at run time, getattr, a
method of a tensor, a private operator) shows when it is called: `watched_for` says by which
names.
"""

from __future__ import annotations

from collections.abc import Sequence

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

# By what a call shows: names of PyTorch's overridable functions and of operators (aten::…),
# without their overloads. Backward operators are not among them: they belong to no call.
_SCALED_DOT_PRODUCT = (
    "scaled_dot_product_attention",
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_attention_math_for_mps",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_fused_attention_overrideable",
    "_flash_attention_forward",
    "_flash_attention_forward_no_dropout_inplace",
    "_efficient_attention_forward",
    "_cudnn_attention_forward",
    "_triton_scaled_dot_attention",
)
_MULTI_HEAD = (
    "multi_head_attention_forward",
    "_native_multi_head_attention",
    "_triton_multi_head_attention",
)
_LAYER = (*_MULTI_HEAD, "_transformer_encoder_layer_fwd")
_SOFTMAX = (
    "softmax",
    "special_softmax",
    "_softmax",
    "_safe_softmax",
    "_masked_softmax",
    "_sparse_softmax",
)
_LOG_SOFTMAX = ("log_softmax", "special_log_softmax", "_log_softmax", "_sparse_log_softmax")

_SHOWN_BY: dict[str, tuple[str, ...]] = {
    "torch.nn.functional.scaled_dot_product_attention": _SCALED_DOT_PRODUCT,
    "torch.nn.functional.multi_head_attention_forward": _MULTI_HEAD,
    "torch.nn.MultiheadAttention": _MULTI_HEAD,
    "torch.nn.Transformer": _LAYER,
    "torch.nn.TransformerEncoder": _LAYER,
    "torch.nn.TransformerEncoderLayer": _LAYER,
    "torch.nn.TransformerDecoder": _LAYER,
    "torch.nn.TransformerDecoderLayer": _LAYER,
    "torch.nn.attention": ("flex_attention", "varlen_attn", "_varlen_attn", *_SCALED_DOT_PRODUCT),
    "torch.nn.Softmax": _SOFTMAX,
    "torch.nn.Softmax2d": _SOFTMAX,
    "torch.nn.LogSoftmax": _LOG_SOFTMAX,
    "torch.nn.Softmin": ("softmin", *_SOFTMAX),
    "torch.nn.functional.softmin": ("softmin",),
    "torch.nn.functional.gumbel_softmax": ("gumbel_softmax",),
    **dict.fromkeys(
        (
            "torch.softmax",
            "torch.nn.functional.softmax",
            "torch.special.softmax",
            "torch.Tensor.softmax",
        ),
        _SOFTMAX,
    ),
    **dict.fromkeys(
        (
            "torch.log_softmax",
            "torch.nn.functional.log_softmax",
            "torch.special.log_softmax",
            "torch.Tensor.log_softmax",
        ),
        _LOG_SOFTMAX,
    ),
}


def watched_for(forbids: Sequence[str]) -> dict[str, str]:
    """What shows that something forbidden is called → the forbidden name that is told of it.

    A name without a dot is one of a function or operator of PyTorch; one with dots is to be
    found as an object (see `observe.watching.forbidden_calls`). Where one function computes
    what several forbidden names stand for, the first of them is told.
    """
    shown: dict[str, str] = {}
    for dotted in forbids:
        for name in _SHOWN_BY.get(dotted) or _by_its_own_name(dotted):
            shown.setdefault(name, dotted)
    return shown


def _by_its_own_name(dotted: str) -> tuple[str, ...]:
    library, *inside = dotted.split(".")
    if library != "torch" or not inside:
        return (dotted,)
    # torch.linalg.inv calls itself linalg_inv, torch.nn.functional.relu just relu
    return (inside[-1], "_".join(inside))
