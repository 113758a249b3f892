"""What a zygote does once, so that no child has to: imports, and the first use of libraries.

A first use may read files, start threads or want a folder for temporary files; a child can
do none of that.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import tempfile
from collections.abc import Iterable

# What submissions import all the time; loaded here, it costs a child nothing.
_WARM = (
    "abc ast collections.abc copy dataclasses enum functools inspect itertools json math numbers "
    "operator random re statistics string textwrap time timeit typing warnings"
)


def warm_up(framework: str, packages: Iterable[str]) -> None:
    """Import and use what submissions need, in one thread."""
    import numpy as np

    np.linalg.svd(np.random.default_rng(0).standard_normal((4, 4)))
    np.einsum("ij,jk", np.eye(2), np.eye(2))
    np.fft.fft(np.ones(4))
    if framework == "torch":
        _torch()
    for name in [*_WARM.split(), *packages]:
        with contextlib.suppress(ImportError):  # not installed: an import fails there too
            importlib.import_module(name)
    if "matplotlib" in sys.modules:
        _matplotlib()


def _torch() -> None:
    import torch

    # Before any parallel work: children of a process with a live OpenMP pool hang.
    torch.set_num_threads(1)
    with contextlib.ExitStack() as stack:
        # torch.optim makes a folder for caches when it is first imported
        with contextlib.suppress(OSError):  # nowhere to write: perhaps it can do without
            tempfile.tempdir = stack.enter_context(tempfile.TemporaryDirectory())
        import torch.utils.data

        x = torch.randn(8, 8, requires_grad=True)
        torch.softmax(torch.nn.Linear(8, 8)(x @ x), -1).sum().backward()  # reads /proc/cpuinfo
        torch.optim.Adam([x]).step()
    tempfile.tempdir = None
    # libgomp ends the process when it cannot start a thread: asking for more does nothing.
    torch.set_num_threads = torch.set_num_interop_threads = lambda number: None


def _matplotlib() -> None:
    """Find the fonts and draw once."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    axes.imshow([[0.0, 1.0]])
    axes.set_title("text")
    figure.canvas.draw()
    pyplot.close(figure)
