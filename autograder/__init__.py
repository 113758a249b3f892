"""A grader for self-attention exercises: it observes student code and judges elsewhere.

This module stays light: neither torch nor nbgrader is imported by it.
"""

from autograder.exercise import exercise
from autograder.numerics import Bound
from autograder.program import (
    Backward,
    Call,
    Construct,
    DescribeModule,
    Generator,
    LoadWeights,
    Mode,
    Probe,
    Program,
    ReadAxes,
    Slot,
)
from autograder.specification import ExerciseLimits, Interval, Verdict

__version__ = "0.1.0"

__all__ = [
    "Backward",
    "Bound",
    "Call",
    "Construct",
    "DescribeModule",
    "ExerciseLimits",
    "Generator",
    "Interval",
    "LoadWeights",
    "Mode",
    "Probe",
    "Program",
    "ReadAxes",
    "Slot",
    "Verdict",
    "__version__",
    "check",
    "exercise",
]


def check(name: str | None = None) -> float:
    """Check an exercise in the notebook that calls this; see `autograder.notebook.check`."""
    from autograder.notebook import check as check_here

    return check_here(name)
