"""Cut images into square windows: the tokens of one window will attend to each other.

A window is a square of neighbouring pixels. Memory holds an image row after row, so the pixels
of one window do not lie side by side there. This is the first step of a Swin transformer.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder import exercise


@exercise(points=3, order=6)
def window_partition(
    x: Float[Tensor, "batch H W C"], window_size: int
) -> Float[Tensor, "windows pixels C"]:
    """Cut every image of a batch into windows.

    Args:
        x: shape (batch, H, W, C): images, rows, columns, channels.
        window_size: w, the side of the square windows; it divides H and W.

    Returns:
        Shape (batch·windows, w·w, C) with windows = (H/w)·(W/w). Images are outermost: first come
        all windows of image 0. The windows of an image are in row-major order (left to right,
        then the next row of windows), and so are the pixels of a window. `x` is left as it was.
    """
    batch, H, W, C = x.shape
    w = window_size
    grid = x.reshape(batch, H // w, w, W // w, w, C)  # (batch, H/w, w, W/w, w, C)
    squares = grid.permute(0, 1, 3, 2, 4, 5)  # (batch, H/w, W/w, w, w, C)
    return squares.reshape(-1, w * w, C)  # (batch·windows, w·w, C)


def _numbered(*shape):
    """Images whose entries are numbered in memory order: a value says where it comes from."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def _normal(rng, *shape):
    """Standard normal float32 entries of the given shape."""
    return rng.normal(size=shape).astype(np.float32)


# ---- cases ---------------------------------------------------------------------------------


@window_partition.case(
    "one image of 4 x 6 numbered pixels",
    separates=[
        "rows_instead_of_squares",
        "windows_down_the_columns",
        "pixels_down_the_columns",
        "height_and_width_swapped",
        "every_nth_pixel",
        "square_images_only",
        "windows_kept_two_dimensional",
    ],
)
def numbered(rng):
    return {"x": _numbered(1, 4, 6, 1), "window_size": 2}


@window_partition.case(
    "a batch of images with channels",
    separates=[
        "rows_instead_of_squares",
        "windows_down_the_columns",
        "pixels_down_the_columns",
        "height_and_width_swapped",
        "every_nth_pixel",
        "images_innermost",
        "channels_before_pixels",
        "channels_scrambled",
        "images_apart",
        "channels_expected_first",
        "square_images_only",
    ],
)
def batch_with_channels(rng):
    return {"x": _normal(rng, 3, 4, 6, 5), "window_size": 2}


@window_partition.case(
    "square images, all sizes equal",
    separates=[
        "rows_instead_of_squares",
        "windows_down_the_columns",
        "pixels_down_the_columns",
        "images_innermost",
        "channels_scrambled",
        "channels_expected_first",
    ],
)
def all_equal(rng):
    # mix-ups of axes keep the right shape here: only the values tell
    return {"x": _normal(rng, 4, 4, 4, 4), "window_size": 2}


@window_partition.case(
    "tall images, larger windows",
    separates=["rows_instead_of_squares", "height_and_width_swapped", "every_nth_pixel"],
    hidden=True,
)
def tall(rng):
    return {"x": _normal(rng, 2, 9, 6, int(rng.integers(2, 5))), "window_size": 3}


@window_partition.case(
    "windows as wide as the image",
    separates=["pixels_down_the_columns", "every_nth_pixel", "images_innermost"],
    hidden=True,
)
def full_width(rng):
    # a window is a stretch of full rows here, so that cutting rows happens to be right
    return {"x": _normal(rng, 2, 8, 4, 3), "window_size": 4}


@window_partition.case("windows of one pixel", kind="robustness")
def single_pixels(rng):
    return {"x": _normal(rng, 2, 3, 4, 2), "window_size": 1}


@window_partition.case("one window for the whole image", kind="robustness", hidden=True)
def whole_image(rng):
    return {"x": _normal(rng, 3, 5, 5, 2), "window_size": 5}


@window_partition.case("float64", kind="robustness", hidden=True)
def double_precision(rng):
    return {"x": rng.normal(size=(1, 6, 3, 2)), "window_size": 3}


# ---- misconceptions ------------------------------------------------------------------------


@window_partition.misconception(
    "Cuts the memory into stretches: each window holds pixels of a row, not a square.",
    hint="Number the pixels of a small image row by row. Which numbers belong into its first "
    "window, and which did you get?",
    credit=0.25,
)
def rows_instead_of_squares(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    grid = x.reshape(batch, H // w, w, W // w, w, C)
    return grid.reshape(-1, w * w, C)


@window_partition.misconception(
    "Walks through the windows of an image column by column.",
    hint="Which window comes second: the one on the right or the one below?",
    credit=0.5,
)
def windows_down_the_columns(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    grid = x.reshape(batch, H // w, w, W // w, w, C)
    squares = grid.permute(0, 3, 1, 2, 4, 5)
    return squares.reshape(-1, w * w, C)


@window_partition.misconception(
    "Walks through the pixels of a window column by column.",
    hint="Which pixel comes second in a window: the one on the right or the one below?",
    credit=0.5,
)
def pixels_down_the_columns(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    grid = x.reshape(batch, H // w, w, W // w, w, C)
    squares = grid.permute(0, 1, 3, 4, 2, 5)
    return squares.reshape(-1, w * w, C)


@window_partition.misconception(
    "Swaps height and width, which a square image does not show.",
    hint="Which axis of the argument counts rows, and by which size do you cut it?",
    credit=0.25,
)
def height_and_width_swapped(x, window_size):
    batch, W, H, C = x.shape
    w = window_size
    grid = x.reshape(batch, H // w, w, W // w, w, C)
    squares = grid.permute(0, 1, 3, 2, 4, 5)
    return squares.reshape(-1, w * w, C)


@window_partition.misconception(
    "Collects pixels that lie a fixed step apart, a sparse grid over the whole image, instead of "
    "neighbours.",
    hint="When an axis of length H is split in two, does the slow part count windows or pixels "
    "inside a window?",
    credit=0.25,
)
def every_nth_pixel(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    grid = x.reshape(batch, w, H // w, w, W // w, C)
    squares = grid.permute(0, 2, 4, 1, 3, 5)
    return squares.reshape(-1, w * w, C)


@window_partition.misconception(
    "Puts images innermost: neighbouring windows of the result come from different images.",
    hint="To which image does the second window of your result belong?",
    credit=0.5,
)
def images_innermost(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    grid = x.reshape(batch, H // w, w, W // w, w, C)
    squares = grid.permute(1, 3, 0, 2, 4, 5)
    return squares.reshape(-1, w * w, C)


@window_partition.misconception(
    "Returns channels before pixels.",
    hint="A pixel is a token here. Which axis of the result counts tokens?",
    credit=0.5,
)
def channels_before_pixels(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    grid = x.reshape(batch, H // w, w, W // w, w, C)
    squares = grid.permute(0, 1, 3, 5, 2, 4)
    return squares.reshape(-1, C, w * w)


@window_partition.misconception(
    "Moves the channels in front of the pixels and then reads the memory as pixels: a token is "
    "made of numbers from different pixels.",
    hint="The shape is right, but do the entries of one token come from one pixel? Try an image "
    "whose channels have different signs.",
)
def channels_scrambled(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    grid = x.reshape(batch, H // w, w, W // w, w, C)
    squares = grid.permute(0, 1, 3, 5, 2, 4)
    return squares.reshape(-1, w * w, C)


@window_partition.misconception(
    "Keeps an axis for the images, so that the result has one axis too many.",
    hint="How many axes does the docstring name, and which two of yours does its first one join?",
    credit=0.5,
)
def images_apart(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    grid = x.reshape(batch, H // w, w, W // w, w, C)
    squares = grid.permute(0, 1, 3, 2, 4, 5)
    return squares.reshape(batch, -1, w * w, C)


@window_partition.misconception(
    "Leaves the windows two-dimensional: attention needs their pixels in one line of tokens.",
    hint="Which axis of the result counts the tokens of a window, and how long is it?",
    credit=0.5,
)
def windows_kept_two_dimensional(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    grid = x.reshape(batch, H // w, w, W // w, w, C)
    squares = grid.permute(0, 1, 3, 2, 4, 5)
    return squares.reshape(-1, w, w, C)


@window_partition.misconception(
    "Takes the second axis for the channels, as in a convolution; here they come last.",
    hint="Read the shape in the docstring once more: where do the channels stand?",
    credit=0.25,
)
def channels_expected_first(x, window_size):
    batch, C, H, W = x.shape
    w = window_size
    grid = x.reshape(batch, C, H // w, w, W // w, w)
    squares = grid.permute(0, 2, 4, 3, 5, 1)
    return squares.reshape(-1, w * w, C)


@window_partition.misconception(
    "Expects square images.",
    hint="Try an image that is wider than high. Which of your sizes is wrong there?",
    credit=0.25,
)
def square_images_only(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    grid = x.reshape(batch, H // w, w, H // w, w, C)
    squares = grid.permute(0, 1, 3, 2, 4, 5)
    return squares.reshape(-1, w * w, C)


# ---- right but unusual ---------------------------------------------------------------------


@window_partition.alternative("window after window, cut out with slices")
def slices(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    cut = [
        image[top : top + w, left : left + w].reshape(w * w, C)
        for image in x
        for top in range(0, H, w)
        for left in range(0, W, w)
    ]
    return torch.stack(cut)


@window_partition.alternative("sliding views that step by a whole window")
def stepping_views(x, window_size):
    w = window_size
    views = x.unfold(1, w, w).unfold(2, w, w)  # (batch, H/w, W/w, C, w, w)
    return views.movedim(3, -1).flatten(0, 2).flatten(1, 2)


@window_partition.alternative("the library's unfold for convolutions")
def convolution_unfold(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    columns = torch.nn.functional.unfold(x.permute(0, 3, 1, 2), kernel_size=w, stride=w)
    apart = columns.unflatten(1, (C, w * w))  # (batch, C, w·w, windows)
    return apart.permute(0, 3, 2, 1).reshape(-1, w * w, C)


@window_partition.alternative("indices of the pixels of every window")
def gathered(x, window_size):
    batch, H, W, C = x.shape
    w = window_size
    numbers = torch.arange(H * W).reshape(H, W)
    rows = [part.chunk(W // w, dim=1) for part in numbers.chunk(H // w, dim=0)]
    order = torch.cat([square.reshape(-1) for row in rows for square in row])
    return x.flatten(1, 2)[:, order].reshape(-1, w * w, C)
