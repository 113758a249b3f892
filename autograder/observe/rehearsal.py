"""What every child does is done a few times in its zygote, so that no child is the first to.

The first backward pass, the first use of a mode that watches PyTorch, the first module built:
each costs milliseconds that a fork inherits as done, and Python has by then specialised the
bytecode that runs beside student code. Measured on a right submission to a set of PyTorch's: a
tenth of the processor time of its calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.observe import protocol, worker
from autograder.observe.protocol import Array

# As students write it; what it computes is of no interest.
_NUMPY = """
import numpy as np

def rehearsed(x, w):
    scores = np.swapaxes(x @ w, -1, -2) @ x / np.sqrt(x.shape[-1])
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)
"""
_TORCH = """
import math
import torch
from torch import nn
import torch.nn.functional as F

def rehearsed(x, w):
    q = (x @ w).view(x.shape[0], x.shape[1], 2, -1).transpose(1, 2)
    scores = q @ q.transpose(-2, -1) / math.sqrt(q.shape[-1])
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    weights = torch.softmax(scores.masked_fill(~mask, float("-inf")), dim=-1)
    return (weights @ q).transpose(1, 2).reshape(x.shape), weights

class Rehearsed(nn.Module):
    def __init__(self, d: int) -> None:
        super().__init__()
        self.W_q = nn.Linear(d, d)
        self.W_k = nn.Linear(d, d, bias=False)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        scores = torch.matmul(self.W_q(x), self.W_k(x).transpose(-2, -1)) / math.sqrt(x.shape[-1])
        return self.dropout(F.softmax(scores, dim=-1)) @ x
"""
_TIMES = 12  # Python specialises a function after eight calls


def rehearse(framework: str) -> None:
    """Load and run such code as a child does, with all that is watched for."""
    source = _NUMPY if framework == "numpy" else _TORCH
    statement = {"source": source, "line": 1, "cell": "rehearsal", "binds": []}
    for _ in range(_TIMES):
        namespace: dict[str, Any] = {"__name__": "rehearsal"}
        worker.load([statement], namespace, ())
        for program in _programs(framework):
            crossed = protocol.decode(protocol.encode(program))
            protocol.encode(worker.run(crossed, namespace))


def _programs(framework: str) -> list[dict[str, Any]]:
    x, w = (np.ones(shape, np.float32) for shape in ((2, 3, 4), (4, 4)))
    given = [Array(str(a.dtype), a.shape, a, framework, framework == "torch") for a in (x, w)]
    call = {
        "do": "call",
        "target": "rehearsed",
        "args": given,
        "kwargs": {},
        "names": ["x", "w"],
        "slot": "result",
        "watch": ["arguments"],
    }
    if framework == "numpy":
        return [_program([call])]
    backward = {"do": "backward", "slot": "result", "seed": 0, "module": None, "item": None}
    weights = {
        name: Array("float32", array.shape, array, "torch")
        for name, array in (("W_q.weight", w), ("W_q.bias", w[0]), ("W_k.weight", w))
    }
    module: list[dict[str, Any]] = [
        {"do": "construct", "target": "Rehearsed", "slot": "module", "args": [4], "kwargs": {}},
        {"do": "load_weights", "slot": "module", "weights": weights},
        {"do": "mode", "slot": "module", "training": False},
        {
            **call,
            "target": {"$": "slot", "name": "module", "item": None},
            "args": given[:1],
            "names": ["x"],
        },
        {**backward, "module": "module"},
        {"do": "describe_module", "slot": "module", "values": False},
    ]
    return [
        _program([call, backward], watched=True),
        _program(module, watched=True),
        _program([{**call, "watch": ["arguments", "allocation"]}]),
    ]


def _program(steps: list[dict[str, Any]], watched: bool = False) -> dict[str, Any]:
    program: dict[str, Any] = {"steps": steps, "answered": [], "seed": 0, "double": False}
    if watched:
        # one name of each kind, neither of which is called
        program |= {"forbidden": {"flex_attention": "it", "numpy.trapz": "it"}, "operators": True}
    return program
