"""Number the relative positions inside a square window, to look them up in a learned table.

Two pixels of a window differ by -(w - 1) … w - 1 in each direction, which makes (2w - 1)²
relative positions. A Swin transformer learns one bias for each, and this index finds it.
"""

import itertools

import torch
from jaxtyping import Int
from torch import Tensor

from autograder import exercise


@exercise(points=3, order=8)
def relative_position_index(window_size: int) -> Int[Tensor, "query_token key_token"]:
    """Index into the bias table of two-dimensional windows.

    Args:
        window_size: w, the side of a square window of w·w tokens. They are numbered row by row:
            token t stands in row t // w and column t % w.

    Returns:
        Shape (w·w, w·w), integers from 0 to (2w - 1)² - 1. With (dy, dx) = (row, column) of token
        i MINUS (row, column) of token j, entry [i, j] is (dy + w - 1)·(2w - 1) + dx + w - 1. This
        is query minus key: Swin's own convention, and the opposite of relative_position_bias.
    """
    w = window_size
    tokens = torch.arange(w * w)  # (w·w,)
    y, x = tokens // w, tokens % w  # (w·w,) each
    dy = y[:, None] - y[None, :]  # (w·w, w·w), token i minus token j
    dx = x[:, None] - x[None, :]  # (w·w, w·w)
    return (dy + w - 1) * (2 * w - 1) + (dx + w - 1)  # (w·w, w·w)


# ---- cases ---------------------------------------------------------------------------------


@relative_position_index.case(
    "windows of 2 x 2",
    separates=[
        "key_minus_query",
        "rows_and_columns_swapped",
        "stride_too_long",
        "not_shifted",
        "not_unique",
        "one_dimensional",
        "without_sign",
        "shifted_too_far",
        "rows_not_shifted",
        "rows_twice",
    ],
)
def two_by_two(rng):
    return {"window_size": 2}


@relative_position_index.case(
    "windows of 3 x 3",
    separates=[
        "key_minus_query",
        "rows_and_columns_swapped",
        "stride_too_long",
        "not_shifted",
        "not_unique",
        "one_dimensional",
        "without_sign",
        "shifted_too_far",
        "rows_not_shifted",
        "rows_twice",
    ],
)
def three_by_three(rng):
    return {"window_size": 3}


@relative_position_index.case(
    "larger windows",
    separates=["key_minus_query", "rows_and_columns_swapped", "one_dimensional", "not_unique"],
    hidden=True,
)
def larger(rng):
    return {"window_size": int(rng.integers(4, 8))}


@relative_position_index.case("windows of one token", kind="robustness")
def one_token(rng):
    return {"window_size": 1}


# ---- misconceptions ------------------------------------------------------------------------


@relative_position_index.misconception(
    "Takes key minus query: the table is read from its other end.",
    hint="Whose position comes first in the docstring's difference? Look at entry [0, 1] and say "
    "which sign its column difference has.",
    credit=0.5,
)
def key_minus_query(window_size):
    w = window_size
    tokens = torch.arange(w * w)
    y, x = tokens // w, tokens % w
    dy = y[None, :] - y[:, None]
    dx = x[None, :] - x[:, None]
    return (dy + w - 1) * (2 * w - 1) + (dx + w - 1)


@relative_position_index.misconception(
    "Swaps rows and columns, as a grid in x-y order does.",
    hint="Which of the two neighbours of token 0 has the number 1: the one on its right or the one "
    "below?",
    credit=0.5,
)
def rows_and_columns_swapped(window_size):
    w = window_size
    tokens = torch.arange(w * w)
    x, y = tokens // w, tokens % w
    dy = y[:, None] - y[None, :]
    dx = x[:, None] - x[None, :]
    return (dy + w - 1) * (2 * w - 1) + (dx + w - 1)


@relative_position_index.misconception(
    "Makes a row of the table one entry too long: some indices run off its end.",
    hint="How many different column differences are there in a window of side w? Count them for "
    "w = 2.",
    credit=0.5,
)
def stride_too_long(window_size):
    w = window_size
    tokens = torch.arange(w * w)
    y, x = tokens // w, tokens % w
    dy = y[:, None] - y[None, :]
    dx = x[:, None] - x[None, :]
    return (dy + w - 1) * (2 * w) + (dx + w - 1)


@relative_position_index.misconception(
    "Does not shift the differences, so that half of the indices are negative.",
    hint="What is the smallest entry of your result, and what does a negative index read from a "
    "table?",
    credit=0.25,
)
def not_shifted(window_size):
    w = window_size
    tokens = torch.arange(w * w)
    y, x = tokens // w, tokens % w
    dy = y[:, None] - y[None, :]
    dx = x[:, None] - x[None, :]
    return dy * (2 * w - 1) + dx


@relative_position_index.misconception(
    "Adds the two differences without a factor: one step down and one step right get one index.",
    hint="How many different entries has your result, and how many relative positions are there?",
    credit=0.25,
)
def not_unique(window_size):
    w = window_size
    tokens = torch.arange(w * w)
    y, x = tokens // w, tokens % w
    dy = y[:, None] - y[None, :]
    dx = x[:, None] - x[None, :]
    return (dy + w - 1) + (dx + w - 1)


@relative_position_index.misconception(
    "Takes the difference of the token numbers, as in a text: the end of one row and the start of "
    "the next count as neighbours. (A table row only as long as the window's side does the same.)",
    hint="Two pairs of tokens with consecutive numbers: one side by side, one across a line break. "
    "Should they share a bias?",
    credit=0.25,
)
def one_dimensional(window_size):
    w = window_size
    tokens = torch.arange(w * w)
    difference = tokens[:, None] - tokens[None, :]
    return difference + w * w - 1


@relative_position_index.misconception(
    "Drops the signs: left and right, above and below share an index.",
    hint="Is your result symmetric? Should token 0 see token 1 as token 1 sees token 0?",
    credit=0.25,
)
def without_sign(window_size):
    w = window_size
    tokens = torch.arange(w * w)
    y, x = tokens // w, tokens % w
    dy = (y[:, None] - y[None, :]).abs()
    dx = (x[:, None] - x[None, :]).abs()
    return (dy + w - 1) * (2 * w - 1) + (dx + w - 1)


@relative_position_index.misconception(
    "Shifts the differences by one step too much: index 0 is never used, and the last ones run off "
    "the table.",
    hint="What is the smallest difference in a window of side 2, and what must be added to make it "
    "zero?",
    credit=0.5,
)
def shifted_too_far(window_size):
    w = window_size
    tokens = torch.arange(w * w)
    y, x = tokens // w, tokens % w
    dy = y[:, None] - y[None, :]
    dx = x[:, None] - x[None, :]
    return (dy + w) * (2 * w - 1) + (dx + w)


@relative_position_index.misconception(
    "Shifts the column differences only; those of the rows stay negative.",
    hint="What is the smallest entry of your result? Which of the two differences makes it so?",
    credit=0.5,
)
def rows_not_shifted(window_size):
    w = window_size
    tokens = torch.arange(w * w)
    y, x = tokens // w, tokens % w
    dy = y[:, None] - y[None, :]
    dx = x[:, None] - x[None, :]
    return dy * (2 * w - 1) + (dx + w - 1)


@relative_position_index.misconception(
    "Uses the row of a token for both of its coordinates.",
    hint="Tokens 0 and 1 stand side by side. Does your result tell them apart?",
    credit=0.25,
)
def rows_twice(window_size):
    w = window_size
    tokens = torch.arange(w * w)
    y, x = tokens // w, tokens // w
    dy = y[:, None] - y[None, :]
    dx = x[:, None] - x[None, :]
    return (dy + w - 1) * (2 * w - 1) + (dx + w - 1)


# ---- right but unusual ---------------------------------------------------------------------


@relative_position_index.alternative("meshgrid and stacked coordinates, as in Swin's own code")
def stacked_coordinates(window_size):
    w = window_size
    grid = torch.stack(torch.meshgrid(torch.arange(w), torch.arange(w), indexing="ij")).flatten(1)
    relative = grid[:, :, None] - grid[:, None, :]  # (2, w·w, w·w)
    return torch.einsum("cij,c->ij", relative + (w - 1), torch.tensor([2 * w - 1, 1]))


@relative_position_index.alternative("one number for each token, differences of these")
def one_number_each(window_size):
    w = window_size
    number = (torch.arange(w)[:, None] * (2 * w - 1) + torch.arange(w)).reshape(-1)
    return number.unsqueeze(1) - number + 2 * w * (w - 1)


@relative_position_index.alternative("pair by pair in plain Python, as float64")
def pair_by_pair(window_size):
    w = window_size
    places = list(itertools.product(range(w), repeat=2))
    rows = [[(a - c + w - 1) * (2 * w - 1) + b - d + w - 1 for c, d in places] for a, b in places]
    return torch.tensor(rows, dtype=torch.float64)


@relative_position_index.alternative("a table of positions, looked up")
def looked_up(window_size):
    w = window_size
    table = torch.arange((2 * w - 1) ** 2).reshape(2 * w - 1, 2 * w - 1)
    tokens = torch.arange(w * w)
    y, x = torch.div(tokens, w, rounding_mode="floor"), torch.remainder(tokens, w)
    return table[y[:, None] - y + w - 1, x[:, None] - x + w - 1]
