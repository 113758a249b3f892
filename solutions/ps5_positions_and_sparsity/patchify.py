"""Turn images into sequences of patches: the words that a vision transformer reads.

A patch is a square of pixels with all its channels, laid out as one long vector. An image of
224 x 224 pixels and patches of 16 x 16 give 196 tokens.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from autograder import exercise


@exercise(points=3, order=9)
def patchify(
    images: Float[Tensor, "batch C H W"], patch_size: int
) -> Float[Tensor, "batch patches features"]:
    """Cut images into patches and lay each out as a vector.

    Args:
        images: shape (batch, C, H, W): images, channels, rows, columns.
        patch_size: p, the side of the square patches; it divides H and W.

    Returns:
        Shape (batch, patches, C·p·p) with patches = (H/p)·(W/p), in row-major order: left to
        right, then the next row of patches. Within a patch the order is channel, row, column:
        first all pixels of channel 0, row by row. `images` is left as it was.
    """
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, W // p, p)  # (batch, C, H/p, p, W/p, p)
    squares = grid.permute(0, 2, 4, 1, 3, 5)  # (batch, H/p, W/p, C, p, p)
    return squares.reshape(batch, -1, C * p * p)  # (batch, patches, C·p·p)


def _numbered(*shape):
    """Images whose entries are numbered in memory order: a value says where it comes from."""
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def _normal(rng, *shape):
    """Standard normal float32 entries of the given shape."""
    return rng.normal(size=shape).astype(np.float32)


# ---- cases ---------------------------------------------------------------------------------


@patchify.case(
    "one image of two channels, 4 x 6 numbered pixels",
    separates=[
        "stretches_of_memory",
        "channels_last_inside",
        "pixels_down_the_columns",
        "patches_down_the_columns",
        "height_and_width_swapped",
        "channels_apart",
        "every_nth_pixel",
        "square_images_only",
        "features_first",
        "class_token_added",
        "patches_kept_square",
    ],
)
def numbered(rng):
    return {"images": _numbered(1, 2, 4, 6), "patch_size": 2}


@patchify.case(
    "a batch of images with three channels",
    separates=[
        "stretches_of_memory",
        "channels_last_inside",
        "pixels_down_the_columns",
        "patches_down_the_columns",
        "height_and_width_swapped",
        "channels_outermost",
        "channels_apart",
        "every_nth_pixel",
        "square_images_only",
        "images_joined",
        "channels_expected_last",
    ],
)
def batch_of_three_channels(rng):
    return {"images": _normal(rng, 5, 3, 4, 6), "patch_size": 2}


@patchify.case(
    "square images, all sizes equal",
    separates=[
        "stretches_of_memory",
        "channels_last_inside",
        "pixels_down_the_columns",
        "patches_down_the_columns",
        "channels_outermost",
        "channels_expected_last",
    ],
)
def all_equal(rng):
    # mix-ups of axes keep the right shape here: only the values tell
    return {"images": _normal(rng, 4, 4, 4, 4), "patch_size": 2}


@patchify.case(
    "tall images, larger patches",
    separates=["stretches_of_memory", "height_and_width_swapped", "every_nth_pixel"],
    hidden=True,
)
def tall(rng):
    return {"images": _normal(rng, 2, int(rng.integers(2, 5)), 9, 6), "patch_size": 3}


@patchify.case(
    "one channel",
    separates=["stretches_of_memory", "pixels_down_the_columns", "patches_down_the_columns"],
    hidden=True,
)
def one_channel(rng):
    # the order of channels does not show here
    return {"images": _normal(rng, 3, 1, 8, 4), "patch_size": 2}


@patchify.case("patches of one pixel", kind="robustness")
def single_pixels(rng):
    return {"images": _normal(rng, 2, 3, 2, 4), "patch_size": 1}


@patchify.case("one patch for the whole image", kind="robustness", hidden=True)
def whole_image(rng):
    return {"images": _normal(rng, 3, 2, 4, 4), "patch_size": 4}


@patchify.case("float64", kind="robustness", hidden=True)
def double_precision(rng):
    return {"images": rng.normal(size=(1, 3, 3, 6)), "patch_size": 3}


# ---- misconceptions ------------------------------------------------------------------------


@patchify.misconception(
    "Cuts the memory into stretches: a patch holds rows of one channel, not a square of all.",
    hint="Number the pixels of a small image row by row. Which numbers belong into its first "
    "patch, and which did you get?",
    credit=0.25,
)
def stretches_of_memory(images, patch_size):
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, W // p, p)
    return grid.reshape(batch, -1, C * p * p)


@patchify.misconception(
    "Lays the channels of a pixel side by side; here all pixels of one channel come first.",
    hint="Which number follows the first one in your patch: the same pixel in another channel, or "
    "the next pixel?",
    credit=0.5,
)
def channels_last_inside(images, patch_size):
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, W // p, p)
    squares = grid.permute(0, 2, 4, 3, 5, 1)
    return squares.reshape(batch, -1, C * p * p)


@patchify.misconception(
    "Walks through the pixels of a patch column by column.",
    hint="Which pixel comes second in a patch: the one on the right or the one below?",
    credit=0.5,
)
def pixels_down_the_columns(images, patch_size):
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, W // p, p)
    squares = grid.permute(0, 2, 4, 1, 5, 3)
    return squares.reshape(batch, -1, C * p * p)


@patchify.misconception(
    "Walks through the patches column by column.",
    hint="Which patch comes second: the one on the right or the one below?",
    credit=0.5,
)
def patches_down_the_columns(images, patch_size):
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, W // p, p)
    squares = grid.permute(0, 4, 2, 1, 3, 5)
    return squares.reshape(batch, -1, C * p * p)


@patchify.misconception(
    "Swaps height and width, which a square image does not show.",
    hint="Which axis of the argument counts rows, and by which size do you cut it?",
    credit=0.25,
)
def height_and_width_swapped(images, patch_size):
    batch, C, W, H = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, W // p, p)
    squares = grid.permute(0, 2, 4, 1, 3, 5)
    return squares.reshape(batch, -1, C * p * p)


@patchify.misconception(
    "Leaves the channels outermost and then reads the memory as patches: a token is made of "
    "several places of one channel.",
    hint="The shape is right, but do the numbers of one token come from one place of the image? "
    "Try an image whose channels have different signs.",
)
def channels_outermost(images, patch_size):
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, W // p, p)
    squares = grid.permute(0, 1, 2, 4, 3, 5)
    return squares.reshape(batch, -1, C * p * p)


@patchify.misconception(
    "Makes a token of every channel of a patch.",
    hint="How many numbers has a patch of an image with three channels, and how many have your "
    "tokens?",
    credit=0.25,
)
def channels_apart(images, patch_size):
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, W // p, p)
    squares = grid.permute(0, 2, 4, 1, 3, 5)
    return squares.reshape(batch, -1, p * p)


@patchify.misconception(
    "Collects pixels that lie a fixed step apart instead of neighbours.",
    hint="When an axis of length H is split in two, does the slow part count patches or pixels "
    "inside a patch?",
    credit=0.25,
)
def every_nth_pixel(images, patch_size):
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, p, H // p, p, W // p)
    squares = grid.permute(0, 3, 5, 1, 2, 4)
    return squares.reshape(batch, -1, C * p * p)


@patchify.misconception(
    "Expects square images.",
    hint="Try an image that is wider than high. Which of your sizes is wrong there?",
    credit=0.25,
)
def square_images_only(images, patch_size):
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, H // p, p)
    squares = grid.permute(0, 2, 4, 1, 3, 5)
    return squares.reshape(batch, -1, C * p * p)


@patchify.misconception(
    "Returns features before patches: patches are columns, as an unfold for convolutions gives "
    "them.",
    hint="Tokens are rows in this problem set. Which axis of your result counts patches?",
    credit=0.5,
)
def features_first(images, patch_size):
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, W // p, p)
    squares = grid.permute(0, 1, 3, 5, 2, 4)
    return squares.reshape(batch, C * p * p, -1)


@patchify.misconception(
    "Adds a class token in front, which a vision transformer does later, after its projection.",
    hint="How many patches has the image, and how many tokens do you return?",
    credit=0.5,
)
def class_token_added(images, patch_size):
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, W // p, p)
    squares = grid.permute(0, 2, 4, 1, 3, 5)
    patches = squares.reshape(batch, -1, C * p * p)
    return torch.cat((patches.new_zeros(batch, 1, C * p * p), patches), dim=1)


@patchify.misconception(
    "Joins the patches of all images into one sequence.",
    hint="Which axis of the result counts images, and where is it in yours?",
    credit=0.5,
)
def images_joined(images, patch_size):
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, W // p, p)
    squares = grid.permute(0, 2, 4, 1, 3, 5)
    return squares.reshape(-1, C * p * p)


@patchify.misconception(
    "Leaves the patches as small images instead of laying each out as a vector.",
    hint="A token is a vector. How many axes does the result have by the docstring?",
    credit=0.5,
)
def patches_kept_square(images, patch_size):
    batch, C, H, W = images.shape
    p = patch_size
    grid = images.reshape(batch, C, H // p, p, W // p, p)
    squares = grid.permute(0, 2, 4, 1, 3, 5)
    return squares.reshape(batch, -1, C, p, p)


@patchify.misconception(
    "Expects the channels on the last axis, as in window_partition; here they come second.",
    hint="Read the shape in the docstring once more: where do the channels stand?",
    credit=0.25,
)
def channels_expected_last(images, patch_size):
    batch, H, W, C = images.shape
    p = patch_size
    grid = images.reshape(batch, H // p, p, W // p, p, C)
    squares = grid.permute(0, 1, 3, 5, 2, 4)
    return squares.reshape(batch, -1, C * p * p)


# ---- right but unusual ---------------------------------------------------------------------


@patchify.alternative("the library's unfold for convolutions")
def convolution_unfold(images, patch_size):
    columns = torch.nn.functional.unfold(images, kernel_size=patch_size, stride=patch_size)
    return columns.mT


@patchify.alternative("patch after patch, cut out with slices")
def slices(images, patch_size):
    _, _, H, W = images.shape
    p = patch_size
    cut = [
        images[:, :, top : top + p, left : left + p].flatten(1)
        for top in range(0, H, p)
        for left in range(0, W, p)
    ]
    return torch.stack(cut, dim=1)


@patchify.alternative("a convolution that copies one pixel into each of its outputs")
def copying_convolution(images, patch_size):
    features = images.shape[1] * patch_size**2
    kernel = torch.eye(features, dtype=images.dtype)
    kernel = kernel.reshape(features, images.shape[1], patch_size, patch_size)
    made = torch.nn.functional.conv2d(images, kernel, stride=patch_size)
    return made.flatten(2).transpose(1, 2)


@patchify.alternative("sliding views that step by a whole patch")
def stepping_views(images, patch_size):
    views = images.unfold(2, patch_size, patch_size).unfold(3, patch_size, patch_size)
    return torch.einsum("bchwyx->bhwcyx", views).flatten(1, 2).flatten(2)
