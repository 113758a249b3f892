"""A small course for tests: one exercise that is quick to draw, judge and build."""

from pathlib import Path

INIT = '''"""Doubling.

A set for tests.
"""

PACKAGES = ("numpy",)
'''

DOUBLE = '''"""Double every number."""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=2, order=1)
def double(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """Twice x.

    Args:
        x: shape (n,).

    Returns:
        Shape (n,).
    """
    # a comment stays with the body
    return 2 * x  # (n,)


@double.case("five numbers", separates=["squared", "left_alone"])
def five(rng):
    return {"x": rng.normal(size=5)}


@double.case("three other numbers", separates=["squared"], hidden=True)
def three(rng):
    return {"x": rng.normal(size=3)}


@double.misconception("Squares instead of doubling.", hint="What is twice three?", credit=0.5)
def squared(x):
    return x * x


@double.misconception("Returns the numbers as they are.", hint="What was to be done with them?")
def left_alone(x):
    return x.copy()


@double.alternative("by adding")
def added(x):
    return x + x
'''

QUIZ = """\
- id: twice
  type: number
  points: 1
  prompt: What is twice 21?
  answer: 42
  tolerance: {absolute: 0.001}
  wrong:
    - {value: 441, misconception: "That is the square.", hint: "Add it to itself."}
  explanation: Twice a number is the number added to itself.
- id: kind
  type: single_choice
  points: 1
  prompt: Doubling is …
  options:
    - {id: linear, text: linear}
    - {id: quadratic, text: quadratic, misconception: "That is squaring.", hint: "Try 2 and 3."}
  answer: linear
  explanation: f(a + b) = f(a) + f(b).
"""

NAME = "ps0_double"


def make_course(root: Path, *, quiz: bool = True, double: str = DOUBLE) -> Path:
    """Write the course; returns its folder."""
    folder = root / "solutions" / NAME
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(INIT, "utf-8")
    (folder / "double.py").write_text(double, "utf-8")
    if quiz:
        (folder / "quiz.yaml").write_text(QUIZ, "utf-8")
    return root


def submit(course: Path, student: str, code: str, suffix: str = ".py") -> Path:
    """Hand in a module for a student; returns its folder."""
    folder = course / "submitted" / student / NAME
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{NAME}{suffix}").write_text(code, "utf-8")
    return folder


RIGHT = "def double(x):\n    return x + x\nq_twice = 42\nq_kind = 'linear'\n"
SQUARED = "def double(x):\n    return x ** 2\nq_twice = 441\n"
