"""What a zygote does once, so that no child has to: imports, and the first use of libraries.

A first use may read files, start threads or want a folder for temporary files; a child can
do none of that.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
import types
from collections.abc import Iterable
from typing import Any

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

    _leave_out_the_compiler()
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


def _leave_out_the_compiler() -> None:
    """PyTorch without torch.compile, which hands back what it is given, as right uncompiled.

    It writes files and starts processes, so it cannot work in a child. Optimizers and jacobians
    would import it all the same, only to say that they are not to be compiled: as much processor
    time and half as much memory again as PyTorch itself takes. What asks for more of it than
    that gets the real one, which can be imported in a child too.
    """
    import torch

    name = "torch._dynamo"

    def same(function: Any = None, *options: Any, **named: Any) -> Any:
        return function if function is not None else lambda function: function

    def of_the_real_one(attribute: str) -> Any:
        if attribute.startswith("__") and attribute != "__path__":
            raise AttributeError(attribute)
        if sys.modules.get(name) is compiler:
            del sys.modules[name]
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/"  # a folder that need not be made
        return getattr(importlib.import_module(name), attribute)

    compiler = types.ModuleType(name)
    vars(compiler).update(
        __getattr__=of_the_real_one,
        disable=same,
        disallow_in_graph=same,
        graph_break=lambda *message, **named: None,
        is_compiling=lambda: False,
        compiled_autograd=types.SimpleNamespace(_disable=contextlib.nullcontext),
    )
    sys.modules[name] = torch._dynamo = compiler
    torch.compile = same
    torch.nn.Module.compile = lambda module, *options, **named: None


def _matplotlib() -> None:
    """Find the fonts and draw once."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots()
    axes.imshow([[0.0, 1.0]])
    axes.set_title("text")
    figure.canvas.draw()
    pyplot.close(figure)
