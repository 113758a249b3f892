"""Two exercises in PyTorch, a function and a module, for submissions that attack with tensors.

They stand in the copied course beside those in NumPy, so that every submission of the suite can
be let loose on children of a zygote that holds PyTorch.
"""

from __future__ import annotations

from pathlib import Path

EXERCISES = FUNCTION, MODULE = "blend", "Shrink"

_BLEND = '''"""Mix values in the shares that scores give."""

import torch
from jaxtyping import Float
from torch import Tensor

from autograder import exercise
from autograder.cases import normal_tensor, with_gradients


@exercise(points=2, order=20)
def blend(
    scores: Float[Tensor, "n_q n_k"], values: Float[Tensor, "n_k d"]
) -> Float[Tensor, "n_q d"]:
    """Softmax over the keys, times the values."""
    return torch.softmax(scores, dim=-1) @ values


_exercise = blend


@blend.case("three sizes", kind="robustness")
def three_sizes(rng):
    return with_gradients(
        _exercise,
        scores=normal_tensor(rng, 3, 4, grad=True),
        values=normal_tensor(rng, 4, 2, grad=True),
    )


@blend.case("others", kind="robustness", hidden=True)
def others(rng):
    return {"scores": normal_tensor(rng, 4, 3), "values": normal_tensor(rng, 3, 5)}
'''

_SHRINK = '''"""A layer."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from autograder import exercise
from autograder.cases import linear_weights, module_program, normal_tensor


@exercise(points=3, order=21)
class Shrink(nn.Module):
    """x @ W.T, and its hyperbolic tangent."""

    def __init__(self, width, smaller):
        super().__init__()
        self.W = nn.Linear(width, smaller, bias=False)

    def forward(self, x: Float[Tensor, "n width"]) -> Float[Tensor, "n smaller"]:
        """Shape (n, width) in, (n, smaller) out."""
        return torch.tanh(self.W(x))


_exercise = Shrink


@Shrink.case("given weights", kind="robustness")
def given_weights(rng):
    weights = linear_weights(rng, {"W": (3, 5)}, bias=False)
    inputs = {"x": normal_tensor(rng, 4, 5, grad=True)}
    return module_program(
        _exercise, {"width": 5, "smaller": 3}, weights, inputs, gradients=True, seed=5
    )
'''

RIGHT = """
import torch


def blend(scores, values):
    return torch.softmax(scores, dim=-1) @ values


class Shrink(torch.nn.Module):
    def __init__(self, width, smaller):
        super().__init__()
        self.W = torch.nn.Linear(width, smaller, bias=False)

    def forward(self, x):
        return torch.tanh(self.W(x))
"""


def write(solutions: Path) -> None:
    """Add them to a copied set of exercises."""
    (solutions / f"{FUNCTION}.py").write_text(_BLEND, "utf-8")
    (solutions / f"{MODULE}.py").write_text(_SHRINK, "utf-8")
