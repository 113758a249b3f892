"""Let each token look at its neighbours and at itself, and at nobody else.

The mask is a band along the diagonal. Longformer and Mistral use it for texts so long that the
full matrix of scores would not fit into memory.
"""

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from autograder import exercise


@exercise(points=2, order=4)
def sliding_window_mask(n: int, window: int) -> Bool[Tensor, "n n"]:
    """Mask of a sliding window: true where token i may attend to token j.

    Args:
        n: the number of tokens, at least 1.
        window: how many tokens on EACH side may be looked at, at least 0. With 0 a token sees
            itself alone; a window of n or more is allowed and hides nothing.

    Returns:
        Shape (n, n), dtype torch.bool. Entry [i, j] is true where i and j are at most `window`
        apart. Row i belongs to the query: a token inside the sequence sees 2·window + 1 keys.
    """
    positions = torch.arange(n)  # (n,)
    distance = positions[None, :] - positions[:, None]  # (n, n), key minus query
    return distance.abs() <= window  # (n, n)


# ---- cases ---------------------------------------------------------------------------------


@sliding_window_mask.case(
    "seven tokens, two on each side",
    separates=[
        "strict",
        "half_on_each_side",
        "past_only",
        "future_only",
        "inverted",
        "itself_missing",
        "blocks",
        "edge_only",
        "ring",
        "one_too_far",
    ],
)
def seven_tokens(rng):
    return {"n": 7, "window": 2}


@sliding_window_mask.case(
    "one on each side",
    separates=["strict", "half_on_each_side", "past_only", "future_only", "ring", "blocks"],
)
def one_each_side(rng):
    return {"n": 5, "window": 1}


@sliding_window_mask.case(
    "a window of 0: every token alone", separates=["strict", "itself_missing", "one_too_far"]
)
def alone(rng):
    return {"n": 4, "window": 0}


@sliding_window_mask.case(
    "a window that just reaches from end to end", separates=["strict", "past_only", "inverted"]
)
def end_to_end(rng):
    return {"n": 6, "window": 5}


@sliding_window_mask.case("a window wider than the sequence", separates=["past_only", "inverted"])
def wider(rng):
    return {"n": 3, "window": 8}


@sliding_window_mask.case(
    "more tokens",
    separates=["strict", "half_on_each_side", "blocks", "edge_only", "ring", "one_too_far"],
    hidden=True,
)
def more_tokens(rng):
    window = int(rng.integers(2, 5))
    return {"n": int(rng.integers(3 * window + 2, 23)), "window": window}


@sliding_window_mask.case("a single token", kind="robustness")
def single_token(rng):
    return {"n": 1, "window": 0}


@sliding_window_mask.case("a single token in a wide window", kind="robustness", hidden=True)
def single_token_wide(rng):
    return {"n": 1, "window": int(rng.integers(1, 9))}


# ---- misconceptions ------------------------------------------------------------------------


@sliding_window_mask.misconception(
    "Leaves out the outermost token on each side: it compares with `<` where `<=` is meant.",
    hint="With a window of 1, does a token see its direct neighbour in your mask?",
    credit=0.5,
)
def strict(n, window):
    positions = torch.arange(n)
    distance = positions[None, :] - positions[:, None]
    return distance.abs() < window


@sliding_window_mask.misconception(
    "Takes `window` for the whole width, so that only half of it lies on each side.",
    hint="Count the true entries in a middle row for a window of 2. How many should there be?",
    credit=0.5,
)
def half_on_each_side(n, window):
    positions = torch.arange(n)
    distance = positions[None, :] - positions[:, None]
    return distance.abs() <= window // 2


@sliding_window_mask.misconception(
    "Lets a token see the tokens before it only, as if the mask were causal too.",
    hint="Look at row 0: which tokens stand within its window, and does your mask show them?",
    credit=0.25,
)
def past_only(n, window):
    positions = torch.arange(n)
    distance = positions[None, :] - positions[:, None]
    return (distance <= 0) & (distance >= -window)


@sliding_window_mask.misconception(
    "Lets a token see the tokens after it only: the sign of the distance is lost on one side.",
    hint="Look at the last row: who stands within its window, and does your mask show them?",
    credit=0.25,
)
def future_only(n, window):
    positions = torch.arange(n)
    distance = positions[None, :] - positions[:, None]
    return (distance >= 0) & (distance <= window)


@sliding_window_mask.misconception(
    "Has true and false the wrong way round: the mask hides the window and shows the rest.",
    hint="In this course a true entry means “may attend”. What does your diagonal say?",
    credit=0.25,
)
def inverted(n, window):
    positions = torch.arange(n)
    distance = positions[None, :] - positions[:, None]
    return distance.abs() > window


@sliding_window_mask.misconception(
    "Leaves out the token itself.",
    hint="How far is a token away from itself, and is that inside the window?",
    credit=0.5,
)
def itself_missing(n, window):
    positions = torch.arange(n)
    distance = positions[None, :] - positions[:, None]
    return (distance.abs() <= window) & (distance != 0)


@sliding_window_mask.misconception(
    "Cuts the sequence into fixed blocks: the window does not slide along with the token.",
    hint="Take two neighbours on both sides of a cut. How far are they apart, and may they see "
    "each other?",
)
def blocks(n, window):
    positions = torch.arange(n) // (2 * window + 1)
    distance = positions[None, :] - positions[:, None]
    return distance.abs() <= 0


@sliding_window_mask.misconception(
    "Marks the tokens at exactly the distance of the window and the token itself, nothing between.",
    hint="With a window of 2, is a token at distance 1 inside?",
)
def edge_only(n, window):
    positions = torch.arange(n)
    distance = positions[None, :] - positions[:, None]
    return (distance.abs() == window) | (distance == 0)


@sliding_window_mask.misconception(
    "Wraps around the ends, so that the first token sees the last one.",
    hint="How far are the first and the last token apart in a text? Which operation of yours "
    "treats them as neighbours?",
    credit=0.25,
)
def ring(n, window):
    positions = torch.arange(n)
    distance = positions[None, :] - positions[:, None]
    return torch.minimum(distance.abs(), n - distance.abs()) <= window


@sliding_window_mask.misconception(
    "Reaches one token too far on each side.",
    hint="With a window of 0 a token sees itself alone. What does your mask give there?",
    credit=0.5,
)
def one_too_far(n, window):
    positions = torch.arange(n)
    distance = positions[None, :] - positions[:, None]
    return distance.abs() <= window + 1


# ---- right but unusual ---------------------------------------------------------------------


@sliding_window_mask.alternative("two triangles cut from a matrix of ones")
def two_triangles(n, window):
    ones = torch.ones(n, n, dtype=torch.bool)
    return ones.triu(-window) & ones.tril(window)


@sliding_window_mask.alternative("row by row, with slices that stop at the ends")
def row_by_row(n, window):
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, max(0, i - window) : i + window + 1] = True
    return mask


@sliding_window_mask.alternative("a sum of shifted identities")
def shifted_identities(n, window):
    reach = min(window, n - 1)
    band = torch.zeros(n, n)
    for shift in range(-reach, reach + 1):
        band += torch.diag(torch.ones(n - abs(shift)), shift)
    return band.bool()


@sliding_window_mask.alternative("NumPy's grid of indices, turned into a tensor")
def numpy_grid(n, window):
    rows, columns = np.indices((n, n))
    return torch.from_numpy((rows - columns) ** 2 <= window**2)
