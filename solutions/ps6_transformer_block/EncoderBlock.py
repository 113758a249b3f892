"""Attention mixes tokens, a small network mixes features, and around both leads a path past them.

The residual paths are why deep models can be trained; where the norms stand (before each
sublayer or after each sum) is why some of them train without a warm-up. `MultiHeadAttention` is
given above; the library's attention is forbidden.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from autograder import Construct, Interval, LoadWeights, Mode, Program, Slot, Verdict, exercise
from autograder.cases import linear_weights, module_program, normal_tensor, visible_mask
from autograder.forbidden import LIBRARY_ATTENTION
from autograder.intervals import count_range
from autograder.program import Call

# Counts of kept entries that are looked at in a grading: they share its false alarms.
CHECKED = 4


@exercise(points=8, order=3, forbids=LIBRARY_ATTENTION)
class EncoderBlock(nn.Module):
    """An encoder block: self-attention and a feed-forward network, each with a residual path.

    With norm_first (pre-norm): x + attention(norm1(x)), then x + ff(norm2(x)). Without (post-norm,
    as in the first transformer): norm1(x + attention(x)), then norm2(x + ff(x)). The network ff is
    linear1, ReLU, linear2.

    Submodules: attention (a MultiHeadAttention), norm1 and norm2 (nn.LayerNorm or your own, with
    eps 1e-5), linear1 (d_model to d_ff) and linear2 (d_ff to d_model). All have biases.

    Args:
        d_model: the width of the tokens. A `ValueError` is raised unless num_heads divides it.
        num_heads: heads of the attention.
        d_ff: the width between the two linear layers.
        dropout: in training mode, dropout with this probability acts on the attention weights,
            after the ReLU, and on the output of each sublayer before it is added; never on the
            path that leads past a sublayer. In evaluation mode there is none.
        norm_first: where the norms stand.

    `forward(x, mask=None)` takes x of the shape (batch, n, d_model) and a mask as
    MultiHeadAttention does; each query may attend to one key at least. It returns a tensor of
    the shape of x, alone. No argument is changed.
    """

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=True):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def attend(self, x, mask):
        output, _ = self.attention(x, mask=mask)  # (batch, n, d_model)
        return self.dropout(output)

    def feed_forward(self, x):
        hidden = self.dropout(torch.relu(self.linear1(x)))  # (batch, n, d_ff)
        return self.dropout(self.linear2(hidden))  # (batch, n, d_model)

    def forward(
        self, x: Float[torch.Tensor, "batch n d_model"], mask: torch.Tensor | None = None
    ) -> Float[torch.Tensor, "batch n d_model"]:
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)  # (batch, n, d_model)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))  # (batch, n, d_model)
        return self.norm2(x + self.feed_forward(x))


# ---- cases ---------------------------------------------------------------------------------

EVERYWHERE = [
    "residual_of_attention_missing",
    "residual_of_network_missing",
    "no_activation",
    "gelu",
    "one_norm_for_both",
]


def _layers(d_model, d_ff):
    layers = {f"attention.W_{name}": (d_model, d_model) for name in "qkvo"}
    return {**layers, "linear1": (d_ff, d_model), "linear2": (d_model, d_ff)}


def _weights(rng, d_model, d_ff):
    norms = {
        f"{norm}.{kind}": rng.normal(1.0 if kind == "weight" else 0.0, 0.4, d_model)
        for norm in ("norm1", "norm2")
        for kind in ("weight", "bias")
    }
    return {**linear_weights(rng, _layers(d_model, d_ff)), **norms}


def _block(rng, *, batch=2, n=3, d_model=6, h=2, d_ff=5, mask=None, gradients=False, **built):
    """The block with given weights, in eval mode, on x; its parameters are compared too."""
    x = normal_tensor(rng, batch, n, d_model, grad=gradients)
    return module_program(
        EncoderBlock,
        {"d_model": d_model, "num_heads": h, "d_ff": d_ff, **built},
        _weights(rng, d_model, d_ff),
        {"x": x} if mask is None else {"x": x, "mask": torch.from_numpy(mask)},
        gradients=gradients,
        describe=True,
    )


@EncoderBlock.case(
    "pre-norm, all sizes different",
    separates=[
        *EVERYWHERE,
        "always_post_norm",
        "norm_on_the_skip_path",
        "old_tokens_to_network",
        "weights_returned_too",
    ],
)
def pre_norm(rng):
    return _block(rng, gradients=True)


@EncoderBlock.case(
    "post-norm",
    separates=[*EVERYWHERE, "always_pre_norm", "norms_inside_the_sum", "last_norm_missing"],
)
def post_norm(rng):
    return _block(rng, n=5, d_model=4, d_ff=7, norm_first=False, gradients=True)


@EncoderBlock.case("a padding mask for each sample", separates=["mask_ignored"])
def padding(rng):
    return _block(rng, batch=2, n=4, mask=visible_mask(rng, 2, 1, 4))


@EncoderBlock.case("dropout, in evaluation mode", separates=["dropout_in_evaluation"])
def evaluation(rng):
    return _block(rng, dropout=0.5)


@EncoderBlock.case("heads that do not divide the width", kind="robustness", raises=ValueError)
def indivisible(rng):
    return Program((Construct("EncoderBlock", "module", (7, 2, 5)),))


@EncoderBlock.case(
    "post-norm, a mask for all, all sizes equal",
    separates=["always_pre_norm", "mask_ignored", "one_norm_for_both"],
    hidden=True,
)
def all_equal(rng):
    mask = np.tril(np.ones((4, 4), dtype=bool))
    return _block(rng, batch=4, n=4, d_model=4, h=4, d_ff=4, mask=mask, norm_first=False)


@EncoderBlock.case("pre-norm, a mask for each head", separates=["mask_ignored"], hidden=True)
def mask_for_each_head(rng):
    return _block(rng, batch=3, n=4, d_model=6, h=3, mask=visible_mask(rng, 3, 3, 4, 4))


@EncoderBlock.case("a single token", kind="robustness", hidden=True)
def single_token(rng):
    return _block(rng, batch=1, n=1, norm_first=bool(rng.integers(2)))


# ---- dropout, made visible: weights under which an output says what was dropped --------------

RATE, WIDTH, TOKENS = 0.4, 16, 24


def _training(rng, changed):
    """A block in which nothing but `changed` adds to x, in training mode with dropout."""
    weights = {
        name: np.zeros(shape)
        for layer, (rows, columns) in _layers(WIDTH, WIDTH).items()
        for name, shape in ((f"{layer}.weight", (rows, columns)), (f"{layer}.bias", (rows,)))
    }
    for norm in ("norm1", "norm2"):
        weights |= {f"{norm}.weight": np.ones(WIDTH), f"{norm}.bias": np.zeros(WIDTH)}
    x = normal_tensor(rng, 1, TOKENS, WIDTH)
    call = Call(Slot("module"), (x,), argument_names=("x",))
    return Program(
        (
            Construct("EncoderBlock", "module", (WIDTH, 2, WIDTH), {"dropout": RATE}),
            LoadWeights(
                "module",
                {name: value.astype(np.float32) for name, value in (weights | changed).items()},
            ),
            Mode("module", training=True),
            call,
        ),
        seed=int(rng.integers(2**31)),
    )


@EncoderBlock.case("training: nothing but the skip path", separates=["skip_path_dropped"])
def skip_path(rng):
    return _training(rng, {})


@EncoderBlock.case(
    "training: the output of the attention",
    separates=["no_dropout_after_sublayers"],
)
def after_attention(rng):
    return _training(rng, {"attention.W_o.bias": np.ones(WIDTH)})


@EncoderBlock.case("training: the output of the network", separates=["no_dropout_after_sublayers"])
def after_network(rng):
    return _training(rng, {"linear2.bias": np.ones(WIDTH)})


@EncoderBlock.case("training: after the ReLU", separates=["no_dropout_after_relu"])
def after_relu(rng):
    changed = {"linear1.bias": np.ones(WIDTH), "linear2.weight": np.eye(WIDTH)}
    return _training(rng, changed)


@EncoderBlock.case(
    "training: the attention weights", separates=["no_dropout_on_weights"], hidden=True
)
def on_weights(rng):
    changed = {"attention.W_v.bias": np.ones(WIDTH), "attention.W_o.weight": np.eye(WIDTH)}
    return _training(rng, changed)


@EncoderBlock.check(
    "in training, dropout acts on what each sublayer gives, and after the ReLU",
    public=True,
    cases=["after_attention", "after_network", "after_relu"],
)
def dropped_in_training(view):
    """One bias of ones is all that adds to x here: without dropout, each entry would grow by 1.

    After k dropouts it grows by (1 - p)^-k with probability (1 - p)^k, and else not at all. Which
    k a case has is read off the reference's own draw. A share may be off by 5.5 standard errors:
    for the 384 entries, chance does that less often than once in four million gradings.
    """
    call = view.calls[-1]
    x = np.asarray(call.arguments["x"], dtype=np.float64)  # (1, n, width)
    wanted = float((np.asarray(call.expected, dtype=np.float64) - x).max())  # (1 - p)^-k
    added = np.asarray(call.result, dtype=np.float64) - x
    is_kept = np.abs(added) > 1e-4
    kept, share = added[is_kept], float(is_kept.mean())
    level = float(np.median(kept)) if kept.size else 0.0
    alike = kept.size > 0 and float(np.abs(kept - level).max()) < 1e-3
    chance = 5.5 * float(np.sqrt((1 - 1 / wanted) / wanted / added.size))
    message = None
    if not alike:
        found = "there are several" if kept.size else "nothing is added"
        message = f"expected what is added to x to be dropped or scaled by one number; {found}"
    elif abs(level - wanted) > 1e-3 or abs(share - 1 / wanted) > chance:
        message = (
            f"for dropout = 0.4, expected {wanted:.4g} to be added to {1 / wanted:.0%} of the "
            f"entries of x, and 0 to the others; found {level:.4g} in {share:.0%} of them"
        )
    error = 6 * float(np.sqrt(0.25 / added.size))
    summary = (
        Interval("level", level if alike else -1.0, 1e-3),
        Interval("share kept", share, error if 0.0 < share < 1.0 else 0.0),
    )
    return Verdict(message, summary)


@EncoderBlock.check("in training, dropout acts on the attention weights", cases=["on_weights"])
def dropped_weights(view):
    """All weights are 1/n and all values 1, so that a head's output counts the weights kept.

    Of n = 24 weights c are kept: c/(n (1 - p)), which is never 1 for p = 0.4. Then comes the
    dropout of the sublayer's output. A head is half of the width.
    """
    call = view.calls[-1]
    x = np.asarray(call.arguments["x"], dtype=np.float64)
    added = np.asarray(call.result, dtype=np.float64) - x  # (batch, n, width)
    counts = added * (1 - RATE) ** 2 * TOKENS
    is_kept = np.abs(added) > 1e-4
    whole = np.abs(counts - np.round(counts)) < 1e-2
    heads = counts.reshape(*counts.shape[:-1], 2, -1)  # (batch, n, 2, width / 2)
    highest = heads.max(-1, keepdims=True)
    in_step = (np.abs(heads - highest) < 1e-2) | (np.abs(heads) < 1e-2)
    message = None
    if not is_kept.any() or not whole[is_kept].all() or not in_step.all():
        message = "the outputs of the heads are not those of weights that were dropped one by one"
    else:
        seen = highest[highest > 0.5]
        inside = int(seen.sum()) in count_range(TOKENS * seen.size, 1 - RATE, statistics=CHECKED)
        if not inside:
            message = f"a share of {seen.mean() / TOKENS:.0%} of the weights is kept, expected 60%"
    summary = (
        Interval("whole counts", float(whole[is_kept].all()) if is_kept.any() else -1.0, 0.0),
        Interval("share kept", float(is_kept.mean()), 6 * (0.25 / added.size) ** 0.5),
        Interval("mean", float(added.mean()), 0.5),
    )
    return Verdict(message, summary)


# ---- misconceptions ------------------------------------------------------------------------


class _Block(nn.Module):
    """What all variants build; each of them changes one of the methods."""

    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=True):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)
        self.norm_first = norm_first

    def attend(self, x, mask):
        output, _ = self.attention(x, mask=mask)
        return self.dropout(output)

    def feed_forward(self, x):
        hidden = self.dropout(torch.relu(self.linear1(x)))
        return self.dropout(self.linear2(hidden))

    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.feed_forward(x))


@EncoderBlock.misconception(
    "Normalises after the sum whatever norm_first says.",
    hint="Where do the norms stand when norm_first is true?",
    credit=0.5,
)
class always_post_norm(_Block):
    def forward(self, x, mask=None):
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.feed_forward(x))


@EncoderBlock.misconception(
    "Normalises before the sublayers whatever norm_first says.",
    hint="Where do the norms stand when norm_first is false?",
    credit=0.5,
)
class always_pre_norm(_Block):
    def forward(self, x, mask=None):
        x = x + self.attend(self.norm1(x), mask)
        return x + self.feed_forward(self.norm2(x))


@EncoderBlock.misconception(
    "Normalises the skip path too: x is replaced by its norm before the sum.",
    hint="Which x does the residual path carry in pre-norm, the normalised one or the one before?",
    credit=0.5,
)
class norm_on_the_skip_path(_Block):
    def forward(self, x, mask=None):
        if self.norm_first:
            x = self.norm1(x)
            x = x + self.attend(x, mask)
            x = self.norm2(x)
            return x + self.feed_forward(x)
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.feed_forward(x))


@EncoderBlock.misconception(
    "In post-norm, normalises what a sublayer gives instead of the sum.",
    hint="In LN(x + f(x)), what does the norm see?",
    credit=0.5,
)
class norms_inside_the_sum(_Block):
    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.feed_forward(self.norm2(x))
        x = x + self.norm1(self.attend(x, mask))
        return x + self.norm2(self.feed_forward(x))


@EncoderBlock.misconception(
    "In post-norm, leaves out the norm at the end.",
    hint="How many norms does the formula of a post-norm block have?",
    credit=0.5,
)
class last_norm_missing(_Block):
    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return x + self.feed_forward(x)


@EncoderBlock.misconception(
    "Has no residual path around the attention.",
    hint="Set the output of the attention to zero. What should be left?",
    credit=0.25,
)
class residual_of_attention_missing(_Block):
    def forward(self, x, mask=None):
        if self.norm_first:
            x = self.attend(self.norm1(x), mask)
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(self.attend(x, mask))
        return self.norm2(x + self.feed_forward(x))


@EncoderBlock.misconception(
    "Has no residual path around the network.",
    hint="Set the output of the network to zero. What should be left?",
    credit=0.25,
)
class residual_of_network_missing(_Block):
    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            return self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(self.feed_forward(x))


@EncoderBlock.misconception(
    "Gives the network the tokens from before the attention.",
    hint="What does the second sublayer read: the block's input, or what the first one made of it?",
    credit=0.5,
)
class old_tokens_to_network(_Block):
    def forward(self, x, mask=None):
        if self.norm_first:
            mixed = x + self.attend(self.norm1(x), mask)
            return mixed + self.feed_forward(self.norm2(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm2(x + self.feed_forward(x))


@EncoderBlock.misconception(
    "Uses the first norm for both sublayers.",
    hint="Which parameters of your block get no gradient?",
    credit=0.5,
)
class one_norm_for_both(_Block):
    def forward(self, x, mask=None):
        if self.norm_first:
            x = x + self.attend(self.norm1(x), mask)
            return x + self.feed_forward(self.norm1(x))
        x = self.norm1(x + self.attend(x, mask))
        return self.norm1(x + self.feed_forward(x))


@EncoderBlock.misconception(
    "Leaves out the ReLU, so that the two linear layers are no more than one.",
    hint="What are two linear maps, one after the other?",
    credit=0.5,
)
class no_activation(_Block):
    def feed_forward(self, x):
        hidden = self.dropout(self.linear1(x))
        return self.dropout(self.linear2(hidden))


@EncoderBlock.misconception(
    "Uses GELU instead of ReLU.",
    hint="Which activation is asked for?",
    credit=0.75,
)
class gelu(_Block):
    def feed_forward(self, x):
        hidden = self.dropout(nn.functional.gelu(self.linear1(x)))
        return self.dropout(self.linear2(hidden))


@EncoderBlock.misconception(
    "Does not hand the mask to the attention.",
    hint="Who needs the mask, and who gets it?",
    credit=0.25,
)
class mask_ignored(_Block):
    def attend(self, x, mask):
        output, _ = self.attention(x)
        return self.dropout(output)


@EncoderBlock.misconception(
    "Drops in evaluation too: functional dropout does not know of eval().",
    hint="Which object knows whether the model is being trained?",
    credit=0.5,
)
class dropout_in_evaluation(_Block):
    def attend(self, x, mask):
        output, _ = self.attention(x, mask=mask)
        return nn.functional.dropout(output, self.dropout.p)


@EncoderBlock.misconception(
    "Drops on the sum, and so on the path that leads past the sublayer.",
    hint="If dropout hits the sum, what becomes of a token's own features?",
    credit=0.5,
)
class skip_path_dropped(_Block):
    def attend(self, x, mask):
        output, _ = self.attention(x, mask=mask)
        return output

    def forward(self, x, mask=None):
        if self.norm_first:
            x = self.dropout(x + self.attend(self.norm1(x), mask))
            return x + self.feed_forward(self.norm2(x))
        x = self.norm1(self.dropout(x + self.attend(x, mask)))
        return self.norm2(x + self.feed_forward(x))


@EncoderBlock.misconception(
    "Has no dropout on what the sublayers give.",
    hint="In which places should dropout act? Count them in your code.",
    credit=0.5,
)
class no_dropout_after_sublayers(_Block):
    def attend(self, x, mask):
        output, _ = self.attention(x, mask=mask)
        return output

    def feed_forward(self, x):
        hidden = self.dropout(torch.relu(self.linear1(x)))
        return self.linear2(hidden)


@EncoderBlock.misconception(
    "Has no dropout after the ReLU.",
    hint="In which places should dropout act? Count them in your code.",
    credit=0.75,
)
class no_dropout_after_relu(_Block):
    def feed_forward(self, x):
        hidden = torch.relu(self.linear1(x))
        return self.dropout(self.linear2(hidden))


@EncoderBlock.misconception(
    "Builds the attention without dropout.",
    hint="Which arguments does MultiHeadAttention take, and which does it get?",
    credit=0.75,
    hidden=True,
)
class no_dropout_on_weights(_Block):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=True):
        super().__init__(d_model, num_heads, d_ff, dropout, norm_first)
        self.attention = MultiHeadAttention(d_model, num_heads)


@EncoderBlock.misconception(
    "Returns the attention weights beside the tokens.",
    hint="How many values does a block return, so that blocks can be stacked?",
    credit=0.75,
)
class weights_returned_too(_Block):
    def forward(self, x, mask=None):
        _, weights = self.attention(self.norm1(x) if self.norm_first else x, mask=mask)
        return super().forward(x, mask), weights


# ---- right but unusual ---------------------------------------------------------------------


@EncoderBlock.alternative("a list of sublayers, dropout modules of their own")
class sublayers(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=True):
        super().__init__()
        self.norm_first = norm_first
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.attention = MultiHeadAttention(d_model, num_heads, bias=True, dropout=dropout)
        self.drops = nn.ModuleList(nn.Dropout(dropout) for _ in range(3))

    def forward(self, x, mask=None):
        network = nn.Sequential(self.linear1, nn.ReLU(), self.drops[0], self.linear2)
        steps = [
            (self.norm1, lambda t: self.attention(t, t, t, mask)[0], self.drops[1]),
            (self.norm2, network, self.drops[2]),
        ]
        for norm, layer, drop in steps:
            x = x + drop(layer(norm(x))) if self.norm_first else norm(x + drop(layer(x)))
        return x


@EncoderBlock.alternative("functional, with dropout told by self.training and norms by hand")
class functional(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, dropout=0.0, norm_first=True):
        super().__init__()
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model, eps=1e-5)
        self.norm2 = nn.LayerNorm(d_model, eps=1e-5)
        self.p, self.first = dropout, norm_first
        self.attention = MultiHeadAttention(d_model, num_heads, True, dropout)

    def drop(self, x):
        return nn.functional.dropout(x, self.p, training=self.training)

    def norm(self, layer, x):
        return nn.functional.layer_norm(x, x.shape[-1:], layer.weight, layer.bias, 1e-5)

    def forward(self, x, mask=None):
        before = self.norm(self.norm1, x) if self.first else x
        y = x + self.drop(self.attention(before, mask=mask)[0])
        y = y if self.first else self.norm(self.norm1, y)
        inner = self.norm(self.norm2, y) if self.first else y
        hidden = self.drop(self.linear1(inner).clamp(min=0.0))
        z = y + self.drop(self.linear2(hidden))
        return z if self.first else self.norm(self.norm2, z)
