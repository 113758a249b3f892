"""What a matplotlib Axes shows, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np


def read_axes(axes: Any) -> dict[str, Any]:
    """Image values as displayed, orientation, ticks and labels of an Axes.

    Raises TypeError when `axes` is no matplotlib Axes. `values` has the first row at the
    top and the first column at the left, as a reader sees them; it is None when the Axes
    shows neither an image nor a mesh.
    """
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.image import AxesImage

    if not isinstance(axes, Axes):
        raise TypeError(f"a matplotlib Axes was expected, got {type(axes).__name__}")
    axes.figure.canvas.draw()  # tick labels exist only after a draw
    images = [child for child in axes.get_children() if isinstance(child, (AxesImage, QuadMesh))]
    drawn = images[0] if images else None
    values: Any = None if drawn is None else np.ma.filled(np.ma.asarray(drawn.get_array()), np.nan)
    origin_at_top = bool(axes.yaxis_inverted())
    return {
        "kind": None if drawn is None else type(drawn).__name__,
        "values": values,
        "origin": getattr(drawn, "origin", None),
        "y_inverted": origin_at_top,
        "x_inverted": bool(axes.xaxis_inverted()),
        "norm": None if drawn is None else type(drawn.norm).__name__,
        "limits": None if drawn is None else [float(x) for x in drawn.get_clim()],
        "interpolation": drawn.get_interpolation() if isinstance(drawn, AxesImage) else None,
        "x_ticks": [float(tick) for tick in axes.get_xticks()],
        "y_ticks": [float(tick) for tick in axes.get_yticks()],
        "x_tick_labels": [label.get_text() for label in axes.get_xticklabels()],
        "y_tick_labels": [label.get_text() for label in axes.get_yticklabels()],
        "x_label": axes.get_xlabel(),
        "y_label": axes.get_ylabel(),
        "title": axes.get_title(),
    }
