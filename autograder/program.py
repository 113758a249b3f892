"""What an observation is asked to do, and what comes back.

An observation is a short program over a fixed vocabulary: construct, load weights, call,
backward, set the mode, describe a module, read Axes. The same program is run on the
student's code (by whichever observer) and on the reference, so that the judge compares
like with like. `autograder.wire` gives the plain form that `observe.protocol` can carry
and `observe.worker` carries out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Generator:
    """A random generator argument, made beside the student's code from its own seed."""

    seed: int
    framework: str = "numpy"


@dataclass(frozen=True)
class Probe:
    """A function or module that is handed to the student's code.

    `source` is public (it is sent to the child); `name` is what it defines. With `call`
    set, the argument is what name(*call) returns: for instance a module built by a class.
    """

    source: str
    name: str
    call: tuple[Any, ...] | None = None


@dataclass(frozen=True)
class Slot:
    """What an earlier step stored under `name`; `item` picks one of several values.

    A call that is stored as "result" also stores its arguments: "result.x" and so on.
    """

    name: str
    item: int | None = None


@dataclass(frozen=True)
class Call:
    """Call a name of the submission, or the object in a slot, with positional arguments.

    argument_names are for messages (and for `changed`); a positional argument without one is
    called "argument 1" and so on. watch: "arguments" (were they modified?) is on by default;
    "allocation" (the largest tensor made) is not.
    """

    target: str | Slot
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    argument_names: tuple[str, ...] = ()
    slot: str | None = None
    watch: tuple[str, ...] = ("arguments",)

    @cached_property
    def named(self) -> Mapping[str, Any]:
        """Arguments by name, positional ones first."""
        count = len(self.args)
        names = list(self.argument_names[:count])
        names += [f"argument {number + 1}" for number in range(len(names), count)]
        return {**dict(zip(names, self.args, strict=True)), **self.kwargs}


@dataclass(frozen=True)
class Construct:
    """Build an object of a class of the submission and keep it in `slot`."""

    target: str
    slot: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LoadWeights:
    """Copy weights, named as in the reference ("W_q.weight"), into the object in `slot`.

    The loader maps fused, per-head, transposed and raw parameters where it can; where it
    cannot, the step's outcome is an exception that says which parameter is missing.
    """

    slot: str
    weights: Mapping[str, Any]


@dataclass(frozen=True)
class Mode:
    """Put a module into training or evaluation mode."""

    slot: str
    training: bool


@dataclass(frozen=True)
class Backward:
    """Gradients of the result in `slot`, for the arguments that require them and for parameters.

    The cotangent of each floating result is cos(1.7·k + seed) at its k-th entry: fixed,
    without symmetry, and the same on both sides whatever made the result. `item`: of this
    one of several results only.
    """

    slot: str
    seed: int = 0
    module: str | None = None
    item: int | None = None


@dataclass(frozen=True)
class DescribeModule:
    """Names, shapes and values of the parameters of the module in `slot`."""

    slot: str
    values: bool = False


@dataclass(frozen=True)
class ReadAxes:
    """What a matplotlib Axes shows: image values and orientation, ticks, labels."""

    slot: str


Step = Call | Construct | LoadWeights | Mode | Backward | DescribeModule | ReadAxes


@dataclass(frozen=True)
class Program:
    """Steps in order. The first that raises ends the program.

    answered: exercises that the grader answers itself instead of the student's code.
    seed: the state of every global random generator when the program starts.
    double: run in double precision (how references are observed).
    forbidden: calls are watched for these, and the name that each maps to is told in the
        notes of a call: see `autograder.forbidden.watched_for`.
    operators: look for them among PyTorch's operators too, below the functions that Python
        sees. It costs ten times as much, so one case of an exercise does it.
    trace: note the arrays that the code under test makes on its way, as "trace" of each call.
    """

    steps: tuple[Step, ...]
    answered: tuple[str, ...] = ()
    seed: int = 0
    double: bool = False
    forbidden: Mapping[str, str] = field(default_factory=dict)
    operators: bool = False
    trace: bool = False

    @cached_property
    def calls(self) -> tuple[tuple[int, Call], ...]:
        """The calls with their positions among the steps."""
        return tuple((i, step) for i, step in enumerate(self.steps) if isinstance(step, Call))


@dataclass(frozen=True)
class Raised:
    """An exception of the student's code. `line` and `cell` point into their source.

    `function` is the qualified name of the function in which it was raised.
    """

    type_name: str
    bases: tuple[str, ...]
    message: str
    line: int | None = None
    cell: str | None = None
    function: str | None = None

    def is_a(self, type_name: str) -> bool:
        """Whether it is an exception of that class or of a subclass."""
        return type_name == self.type_name or type_name in self.bases


@dataclass(frozen=True)
class Observed:
    """What one step gave. `changed` and `notes` are reported from beside student code."""

    value: Any = None
    raised: Raised | None = None
    changed: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
