"""The authoring API: one exercise, one file, read from top to bottom.

    @exercise(points=4)
    def softmax(scores: Float[np.ndarray, "n_k n_q"]) -> Float[np.ndarray, "n_k n_q"]:
        ...the reference solution...

    @softmax.case("a column far below the global maximum", separates=["global_maximum"])
    def far_below(rng): return {"scores": ...}

    @softmax.check("each column sums to 1")
    def columns_sum_to_one(call): ...

    @softmax.misconception("Normalises over the queries.", hint="Which axis holds the keys?")
    def over_queries(scores): ...

    @softmax.alternative("in log space")
    def log_space(scores): ...

What a case returns: a dict of arguments (one call), a list of dicts (several calls), or a
`Program` of its own. `autograder.pack` finds the files and loads them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args, get_origin

import numpy as np

from autograder.observe.protocol import array_from_numpy
from autograder.program import Call, Generator, Probe, Program, Slot
from autograder.specification import BuiltinCheck, CaseKind, CustomCheck, ValueSpec

Implementation = Callable[..., Any]
CaseFunction = Callable[[np.random.Generator], Mapping[str, Any] | Sequence[Any] | Program]


class AuthoringError(Exception):
    """A mistake in an exercise file; the message names the exercise and the fix."""


@dataclass(frozen=True)
class CaseDefinition:
    """A case as its author wrote it: a function of a random generator."""

    name: str
    title: str
    function: CaseFunction
    separates: tuple[str, ...]
    hidden: bool
    kind: CaseKind


@dataclass(frozen=True)
class Misconception:
    """Runnable wrong code, the sentence that names the mistake, and a hint."""

    name: str
    sentence: str
    hint: str
    implementation: Implementation
    credit: float
    hidden: bool


@dataclass(frozen=True)
class Alternative:
    """A right but unusual solution, which must be accepted."""

    name: str
    title: str
    implementation: Implementation


@dataclass
class Exercise:
    """An exercise while its file is being read; nothing changes it afterwards."""

    name: str
    points: float
    reference: Implementation
    order: float
    needs: tuple[str, ...]
    forbids: tuple[str, ...]
    checks: list[BuiltinCheck | CustomCheck]
    parameters: dict[str, ValueSpec]
    returns: tuple[ValueSpec, ...]
    framework: str
    axes_needed: bool
    prompt: str = ""
    cases: list[CaseDefinition] = field(default_factory=list)
    misconceptions: list[Misconception] = field(default_factory=list)
    alternatives: list[Alternative] = field(default_factory=list)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the reference, so that files can use each other's names as functions."""
        return self.reference(*args, **kwargs)

    @property
    def is_class(self) -> bool:
        """Whether students write a class (a module) rather than a function."""
        return inspect.isclass(self.reference)

    def case(
        self,
        title: str,
        *,
        separates: Sequence[str] = (),
        hidden: bool = False,
        kind: CaseKind = "separating",
    ) -> Callable[[CaseFunction], CaseFunction]:
        """Add a case. `separates` names the misconceptions it is there to see."""

        def register(function: CaseFunction) -> CaseFunction:
            name = function.__name__
            self._claim(name, [case.name for case in self.cases], "case")
            made = CaseDefinition(name, title, function, tuple(separates), hidden, kind)
            self.cases.append(made)
            return function

        return register

    def check(
        self, line: str, *, public: bool = False, credit: float = 0.0
    ) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
        """Add a check of the author's own; `line` is what a student sees.

        The function is given a `CaseView` and returns None when all is well, a sentence
        when it is not, or a `Verdict` with a statistical summary. A public check is copied
        as source into the students' test file and may use only numpy or torch.
        """

        def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
            name = function.__name__
            self._claim(name, [check.name for check in self.checks], "check")
            self.checks.append(CustomCheck(name, line, function, public, credit))
            return function

        return register

    def misconception(
        self, sentence: str, *, hint: str, credit: float = 0.0, hidden: bool = False
    ) -> Callable[[Implementation], Implementation]:
        """Add wrong code that people really write. `credit` is a share of the points, 0 to 1."""

        def register(implementation: Implementation) -> Implementation:
            name = implementation.__name__
            self._claim(name, [known.name for known in self.misconceptions], "misconception")
            if not 0.0 <= credit < 1.0:
                raise AuthoringError(f"{self.name}: credit of {name} must be in [0, 1)")
            self.misconceptions.append(
                Misconception(name, sentence, hint, implementation, credit, hidden)
            )
            return implementation

        return register

    def alternative(self, title: str) -> Callable[[Implementation], Implementation]:
        """Add a right but unusual solution that must be accepted."""

        def register(implementation: Implementation) -> Implementation:
            name = implementation.__name__
            self._claim(name, [known.name for known in self.alternatives], "alternative")
            self.alternatives.append(Alternative(name, title, implementation))
            return implementation

        return register

    def program(self, drawn: Mapping[str, Any] | Sequence[Any] | Program) -> Program:
        """The program that a case's return value stands for."""
        if isinstance(drawn, Program):
            return drawn
        several: Sequence[Any] = [drawn] if isinstance(drawn, Mapping) else drawn
        return Program(steps=tuple(self.call(**arguments) for arguments in several))

    def call(self, /, slot: str | None = None, **arguments: Any) -> Call:
        """A call of this exercise, its arguments in the order of the signature."""
        unknown = set(arguments) - set(self.parameters)
        if unknown:
            raise AuthoringError(f"{self.name} has no argument called {', '.join(sorted(unknown))}")
        names = tuple(name for name in self.parameters if name in arguments)
        # a gap (an optional argument left out) makes the later ones go by keyword
        in_order = tuple(self.parameters)[: len(names)] == names
        values = {name: self._as_argument(arguments[name]) for name in names}
        if in_order:
            return Call(self.name, tuple(values.values()), {}, names, slot)
        return Call(self.name, (), values, names, slot)

    def _as_argument(self, value: Any) -> Any:
        """NumPy draws become tensors where the exercise works on tensors."""
        if self.framework == "torch":
            if isinstance(value, (np.ndarray, np.generic)):
                return array_from_numpy(np.asarray(value), "torch")
            if isinstance(value, (list, tuple)):
                return type(value)(self._as_argument(item) for item in value)
        return value

    def _claim(self, name: str, taken: Sequence[str], what: str) -> None:
        if name in taken:
            raise AuthoringError(f"{self.name}: two {what}s are called {name}; rename one")


def exercise(
    *,
    points: float,
    order: float = 0.0,
    needs: Sequence[str] = (),
    forbids: Sequence[str] = (),
    checks: Sequence[BuiltinCheck] = (),
    framework: str | None = None,
    axes_needed: bool = False,
) -> Callable[[Implementation], Exercise]:
    """Make an exercise of its reference solution.

    points: all of them, or what a misconception or a check says.
    order: where it stands in its set (fractions may go between).
    needs: exercises that it may call. forbids: dotted names it may not use.
    checks: built-in checks beyond the fixed order of judging (see `autograder.checks`).
    axes_needed: the student's code draws, so it gets the real matplotlib.
    """

    def make(reference: Implementation) -> Exercise:
        parameters, returns = _read_annotations(reference)
        found = framework or next(
            (spec.framework for spec in (*parameters.values(), *returns) if spec.framework),
            "torch" if inspect.isclass(reference) else "numpy",
        )
        return Exercise(
            name=reference.__name__,
            points=float(points),
            reference=reference,
            order=order,
            needs=tuple(needs),
            forbids=tuple(forbids),
            checks=list(checks),
            parameters=parameters,
            returns=returns,
            framework=found,
            axes_needed=axes_needed,
        )

    return make


def _read_annotations(
    reference: Implementation,
) -> tuple[dict[str, ValueSpec], tuple[ValueSpec, ...]]:
    """Argument and result specifications; a class is described by its forward method."""
    function = getattr(reference, "forward", reference.__init__) if inspect.isclass(
        reference
    ) else reference  # fmt: skip
    signature = inspect.signature(function, eval_str=True)
    parameters = {
        name: _value_spec(parameter.annotation)
        for name, parameter in signature.parameters.items()
        if name != "self"
    }
    result = signature.return_annotation
    if get_origin(result) is tuple:
        return parameters, tuple(_value_spec(part) for part in get_args(result))
    return parameters, (_value_spec(result),)


def _value_spec(annotation: Any) -> ValueSpec:
    """Read a jaxtyping annotation (by its attributes, so that none is imported here)."""
    if annotation in (int, float, bool):
        return ValueSpec(kind=annotation.__name__)
    axes = getattr(annotation, "dim_str", None)
    array_type = getattr(annotation, "array_type", None)
    if axes is None or array_type is None:
        return ValueSpec()
    framework = "torch" if array_type.__module__.split(".")[0] == "torch" else "numpy"
    return ValueSpec("array", tuple(axes.split()), framework)


__all__ = [
    "AuthoringError",
    "Exercise",
    "Generator",
    "Probe",
    "Program",
    "Slot",
    "exercise",
]
