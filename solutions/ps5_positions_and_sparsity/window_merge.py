"""Put windows back together into images: the inverse of `window_partition`.

After attention inside the windows every token has to return to its pixel. Merging what was
partitioned must give the image back, to the last pixel.
"""

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder import exercise


@exercise(points=3, order=7)
def window_merge(
    windows: Float[Tensor, "windows pixels C"], window_size: int, H: int, W: int
) -> Float[Tensor, "batch H W C"]:
    """Images from their windows.

    Args:
        windows: shape (batch·windows, w·w, C), in the order in which window_partition returns
            them: images outermost, windows row-major in an image, pixels row-major in a window.
        window_size: w, the side of a window; it divides H and W.
        H: the height of the images.
        W: their width. How many images there are follows from the number of windows.

    Returns:
        Shape (batch, H, W, C). `windows` is left as it was.
    """
    w, C = window_size, windows.shape[-1]
    squares = windows.reshape(-1, H // w, W // w, w, w, C)  # (batch, H/w, W/w, w, w, C)
    grid = squares.permute(0, 1, 3, 2, 4, 5)  # (batch, H/w, w, W/w, w, C)
    return grid.reshape(-1, H, W, C)  # (batch, H, W, C)


def _numbered(*shape):
    """Windows whose entries are numbered in memory order: a value says where it comes from."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def _normal(rng, *shape):
    """Standard normal float32 entries of the given shape."""
    return rng.normal(size=shape).astype(np.float32)


# ---- cases ---------------------------------------------------------------------------------


@window_merge.case(
    "six windows of 2 x 2 numbered pixels",
    separates=[
        "rows_instead_of_squares",
        "windows_down_the_columns",
        "pixels_down_the_columns",
        "grid_of_the_other_shape",
        "width_before_height",
        "every_nth_pixel",
        "square_images_only",
    ],
)
def numbered(rng):
    return {"windows": _numbered(6, 4, 1), "window_size": 2, "H": 4, "W": 6}


@window_merge.case(
    "a batch of images with channels",
    separates=[
        "rows_instead_of_squares",
        "windows_down_the_columns",
        "pixels_down_the_columns",
        "grid_of_the_other_shape",
        "width_before_height",
        "every_nth_pixel",
        "images_innermost",
        "channels_first",
        "one_image_only",
        "square_images_only",
    ],
)
def batch_with_channels(rng):
    return {"windows": _normal(rng, 3 * 6, 4, 5), "window_size": 2, "H": 4, "W": 6}


@window_merge.case(
    "square images, all sizes equal",
    separates=[
        "rows_instead_of_squares",
        "windows_down_the_columns",
        "pixels_down_the_columns",
        "images_innermost",
        "channels_first",
    ],
)
def all_equal(rng):
    # mix-ups of axes keep the right shape here: only the values tell
    return {"windows": _normal(rng, 4 * 4, 4, 4), "window_size": 2, "H": 4, "W": 4}


@window_merge.case(
    "tall images, larger windows",
    separates=["rows_instead_of_squares", "grid_of_the_other_shape", "every_nth_pixel"],
    hidden=True,
)
def tall(rng):
    channels = int(rng.integers(2, 5))
    return {"windows": _normal(rng, 2 * 6, 9, channels), "window_size": 3, "H": 9, "W": 6}


@window_merge.case(
    "windows as wide as the image",
    separates=["pixels_down_the_columns", "every_nth_pixel", "images_innermost"],
    hidden=True,
)
def full_width(rng):
    return {"windows": _normal(rng, 2 * 2, 16, 3), "window_size": 4, "H": 8, "W": 4}


@window_merge.case("windows of one pixel", kind="robustness")
def single_pixels(rng):
    return {"windows": _normal(rng, 2 * 12, 1, 2), "window_size": 1, "H": 3, "W": 4}


@window_merge.case("one window for the whole image", kind="robustness", hidden=True)
def whole_image(rng):
    return {"windows": _normal(rng, 3, 25, 2), "window_size": 5, "H": 5, "W": 5}


@window_merge.case("float64", kind="robustness", hidden=True)
def double_precision(rng):
    return {"windows": rng.normal(size=(2, 9, 2)), "window_size": 3, "H": 6, "W": 3}


# ---- misconceptions ------------------------------------------------------------------------


@window_merge.misconception(
    "Writes the windows into memory one after the other: each fills pixels of a row, not a square.",
    hint="Merge windows that hold their own number. Do you see squares of equal numbers?",
    credit=0.25,
)
def rows_instead_of_squares(windows, window_size, H, W):
    w, C = window_size, windows.shape[-1]
    squares = windows.reshape(-1, H // w, W // w, w, w, C)
    return squares.reshape(-1, H, W, C)


@window_merge.misconception(
    "Lays the windows of an image out column by column.",
    hint="Where does the second window belong: to the right of the first or below it?",
    credit=0.5,
)
def windows_down_the_columns(windows, window_size, H, W):
    w, C = window_size, windows.shape[-1]
    squares = windows.reshape(-1, W // w, H // w, w, w, C)
    grid = squares.permute(0, 2, 3, 1, 4, 5)
    return grid.reshape(-1, H, W, C)


@window_merge.misconception(
    "Lays the pixels of a window out column by column: every window comes out transposed.",
    hint="Where does the second pixel of a window belong: to the right of the first or below it?",
    credit=0.5,
)
def pixels_down_the_columns(windows, window_size, H, W):
    w, C = window_size, windows.shape[-1]
    squares = windows.reshape(-1, H // w, W // w, w, w, C)
    grid = squares.permute(0, 1, 4, 2, 3, 5)
    return grid.reshape(-1, H, W, C)


@window_merge.misconception(
    "Takes the grid of windows for as many rows as it has columns: height and width are swapped "
    "there.",
    hint="How many windows stand side by side in an image that is wider than high, and which size "
    "says so?",
    credit=0.25,
)
def grid_of_the_other_shape(windows, window_size, H, W):
    w, C = window_size, windows.shape[-1]
    squares = windows.reshape(-1, W // w, H // w, w, w, C)
    grid = squares.permute(0, 1, 3, 2, 4, 5)
    return grid.reshape(-1, H, W, C)


@window_merge.misconception(
    "Returns width before height.",
    hint="Compare the shape of your result with the docstring: which of the two comes first?",
    credit=0.5,
)
def width_before_height(windows, window_size, H, W):
    w, C = window_size, windows.shape[-1]
    squares = windows.reshape(-1, H // w, W // w, w, w, C)
    grid = squares.permute(0, 1, 3, 2, 4, 5)
    return grid.reshape(-1, W, H, C)


@window_merge.misconception(
    "Spreads the pixels of a window over the whole image, a fixed step apart.",
    hint="When two axes are joined into one, which of them moves on at every step: the one that "
    "counts windows or the one that counts pixels inside a window?",
    credit=0.25,
)
def every_nth_pixel(windows, window_size, H, W):
    w, C = window_size, windows.shape[-1]
    squares = windows.reshape(-1, H // w, W // w, w, w, C)
    grid = squares.permute(0, 3, 1, 4, 2, 5)
    return grid.reshape(-1, H, W, C)


@window_merge.misconception(
    "Takes neighbouring windows for windows of different images.",
    hint="In which order do the windows come: all of image 0 first, or one of each image?",
    credit=0.5,
)
def images_innermost(windows, window_size, H, W):
    w, C = window_size, windows.shape[-1]
    squares = windows.reshape(H // w, W // w, -1, w, w, C)
    grid = squares.permute(2, 0, 3, 1, 4, 5)
    return grid.reshape(-1, H, W, C)


@window_merge.misconception(
    "Returns the channels in front of height and width, as a convolution wants them.",
    hint="Where do the channels stand in the argument of window_partition? The inverse has to "
    "return them there.",
    credit=0.5,
)
def channels_first(windows, window_size, H, W):
    w, C = window_size, windows.shape[-1]
    squares = windows.reshape(-1, H // w, W // w, w, w, C)
    grid = squares.permute(0, 5, 1, 3, 2, 4)
    return grid.reshape(-1, C, H, W)


@window_merge.misconception(
    "Expects the windows of a single image.",
    hint="How many windows has one image, and how many did you get? What does that say of the "
    "number of images?",
    credit=0.25,
)
def one_image_only(windows, window_size, H, W):
    w, C = window_size, windows.shape[-1]
    squares = windows.reshape(1, H // w, W // w, w, w, C)
    grid = squares.permute(0, 1, 3, 2, 4, 5)
    return grid.reshape(-1, H, W, C)


@window_merge.misconception(
    "Expects square images.",
    hint="Try an image that is wider than high. Which of your sizes is wrong there?",
    credit=0.25,
)
def square_images_only(windows, window_size, H, W):
    w, C = window_size, windows.shape[-1]
    squares = windows.reshape(-1, H // w, H // w, w, w, C)
    grid = squares.permute(0, 1, 3, 2, 4, 5)
    return grid.reshape(-1, H, W, C)


# ---- right but unusual ---------------------------------------------------------------------


@window_merge.alternative("rows of windows joined side by side, then stacked")
def joined(windows, window_size, H, W):
    w, across = window_size, W // window_size
    squares = windows.unflatten(1, (w, w))
    rows = [torch.cat(tuple(part), dim=1) for part in squares.split(across)]
    down = H // w
    images = [torch.cat(rows[i : i + down]) for i in range(0, len(rows), down)]
    return torch.stack(images)


@window_merge.alternative("window after window, written into an empty image")
def written(windows, window_size, H, W):
    w = window_size
    of_one = (H // w) * (W // w)
    image = windows.new_zeros(len(windows) // of_one, H, W, windows.shape[-1])
    for number, window in enumerate(windows):
        top, left = divmod(number % of_one, W // w)
        part = image[number // of_one, top * w : (top + 1) * w, left * w : (left + 1) * w]
        part.copy_(window.unflatten(0, (w, w)))
    return image


@window_merge.alternative("the library's fold for convolutions")
def convolution_fold(windows, window_size, H, W):
    w = window_size
    of_one = (H * W) // (w * w)
    columns = windows.unflatten(0, (-1, of_one)).permute(0, 3, 2, 1).flatten(1, 2)
    return torch.nn.functional.fold(columns, (H, W), w, stride=w).movedim(1, -1)


@window_merge.alternative("the permutation of a numbered image, inverted")
def inverted(windows, window_size, H, W):
    w, C = window_size, windows.shape[-1]
    numbers = torch.arange(H * W).reshape(H, W)
    order = numbers.unfold(0, w, w).unfold(1, w, w).reshape(-1)
    tokens = windows.reshape(-1, math.prod((H, W)), C)
    return tokens[:, order.argsort()].reshape(-1, H, W, C)
