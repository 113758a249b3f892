"""What a matplotlib Axes shows, as plain values: what a reader sees, not how it was drawn.

The same picture can be made by imshow with its origin at either end, by pcolormesh, with
ticks between or on the cells. All of them are brought into one form here.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from autograder.observe.values import Unfit, is_a, type_name

# Interpolations that leave every cell its own colour. "auto" and "antialiased" do so for
# pictures that are enlarged, as a heat map of a few tokens is.
_PLAIN_CELLS = ("none", "nearest", "auto", "antialiased")


def read_axes(axes: Any) -> dict[str, Any]:
    """An Axes in two parts: `shown`, which the judge compares, and `texts`, for checks.

    shown: `values` with the first row at the top and the first column at the left, None when
    there is neither an image nor a mesh; `row_labels` from the top, `column_labels` from the
    left (None where a cell has no label); `linear`: colours grow in proportion to the values;
    `distinct`: every cell has one colour; `complete`: no cell and no value is cut off.
    """
    from matplotlib.axes import Axes

    if not is_a(axes, Axes):
        raise Unfit(f"expected a matplotlib Axes, got a value of type {type_name(axes)}")
    # tick labels exist only once the figure was laid out; its colours need not be painted
    axes.figure.canvas.figure.draw_without_rendering()
    texts = {"title": axes.get_title(), "x_label": axes.get_xlabel(), "y_label": axes.get_ylabel()}
    return {"shown": _read_picture(axes), "texts": texts}


def _read_picture(axes: Any) -> dict[str, Any]:
    from matplotlib.collections import QuadMesh
    from matplotlib.image import AxesImage

    drawn: list[Any] = [
        child for child in axes.get_children() if isinstance(child, (AxesImage, QuadMesh))
    ]
    values = None if not drawn else _values(drawn[0])
    if values is None:
        return {"values": None}
    picture = drawn[0]
    x_edges, y_edges = _edges(picture, values.shape)
    # on the screen, where every kind of axis has the same directions: right and up
    columns, left_to_right = _centres(axes, x_edges, 0)
    rows, bottom_to_top = _centres(axes, y_edges, 1)
    seen = values[np.ix_(bottom_to_top[::-1], left_to_right)]
    is_image = isinstance(picture, AxesImage)
    return {
        "values": seen,
        "row_labels": _labels(axes.yaxis, axes, rows, 1)[::-1],
        "column_labels": _labels(axes.xaxis, axes, columns, 0),
        "linear": type(picture.norm).__name__ == "Normalize",
        "distinct": not is_image or picture.get_interpolation() in _PLAIN_CELLS,
        "complete": _is_complete(axes, picture, values, x_edges, y_edges),
    }


def _values(picture: Any) -> Any:
    """The numbers of an image or mesh, (rows, columns) as they were given."""
    array = np.ma.asarray(picture.get_array())
    # their own floating type, which says how exact they are
    values = np.ma.filled(array if array.dtype.kind == "f" else array.astype(np.float64), np.nan)
    if values.ndim == 1 and hasattr(picture, "get_coordinates"):  # a mesh, flattened
        height, width, _ = picture.get_coordinates().shape
        values = values.reshape(height - 1, width - 1)
    return values if values.ndim == 2 and values.size else None


def _edges(picture: Any, shape: tuple[int, int]) -> tuple[Any, Any]:
    """Borders of the columns and of the rows, in data coordinates."""
    height, width = shape
    if hasattr(picture, "get_coordinates"):
        corners = np.asarray(picture.get_coordinates(), dtype=np.float64)
        if corners.shape[:2] == shape:  # gouraud shading: values stand at the corners
            corners = np.pad(corners, ((0, 1), (0, 1), (0, 0)), mode="edge")
        return corners[0, :, 0], corners[:, 0, 1]
    left, right, bottom, top = picture.get_extent()
    first, last = (top, bottom) if picture.origin == "upper" else (bottom, top)
    return np.linspace(left, right, width + 1), np.linspace(first, last, height + 1)


def _on_screen(axes: Any, places: Any, axis: int) -> Any:
    """Data coordinates along one axis as screen coordinates."""
    points = np.zeros((len(places), 2))
    points[:, axis] = places
    points[:, 1 - axis] = (axes.get_xlim(), axes.get_ylim())[1 - axis][0]
    return axes.transData.transform(points)[:, axis]


def _centres(axes: Any, edges: Any, axis: int) -> tuple[Any, Any]:
    """Screen coordinates of the middles of cells in rising order, and that order."""
    screen = _on_screen(axes, edges, axis)
    middles = (screen[1:] + screen[:-1]) / 2
    order = np.argsort(middles)
    return middles[order], order


def _labels(ticked: Any, axes: Any, centres: Any, axis: int) -> list[Any]:
    """The label of the tick that is nearest to the middle of each cell, inside the cell."""
    found: list[Any] = [None] * len(centres)
    half = (centres[-1] - centres[0]) / (len(centres) - 1) / 2 if len(centres) > 1 else np.inf
    for minor in (True, False):  # a major tick wins over a minor one in the same cell
        places = ticked.get_ticklocs(minor=minor)
        texts = [label.get_text() for label in ticked.get_ticklabels(minor=minor)]
        for place, text in zip(_on_screen(axes, places, axis), texts, strict=False):
            nearest = int(np.abs(centres - place).argmin())
            if text and abs(centres[nearest] - place) <= 1.001 * half:
                found[nearest] = text
    return found


def _is_complete(axes: Any, picture: Any, values: Any, x_edges: Any, y_edges: Any) -> bool:
    """Whether all cells lie in view and all values in the range of the colours."""
    for edges, limits in ((x_edges, axes.get_xlim()), (y_edges, axes.get_ylim())):
        cell = np.abs(np.diff(edges)).min()
        if min(edges) < min(limits) - cell / 2 or max(edges) > max(limits) + cell / 2:
            return False
    low, high = picture.get_clim()
    if low is None or high is None or not np.isfinite(values).any():
        return True
    slack = 1e-6 * (np.nanmax(np.abs(values)) + 1e-300)
    return bool(low <= np.nanmin(values) + slack and high >= np.nanmax(values) - slack)


def open_figures() -> set[int]:
    """Numbers of the figures that pyplot holds; none when nothing was drawn with it."""
    pyplot: Any = sys.modules.get("matplotlib.pyplot")
    numbers = pyplot.get_fignums() if hasattr(pyplot, "get_fignums") else []
    return set(numbers) if isinstance(numbers, list) else set()


def close_figures(kept: set[int]) -> None:
    """Close the figures that were opened since, so that none piles up or is shown."""
    for number in open_figures() - kept:
        sys.modules["matplotlib.pyplot"].close(number)
