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
`Program` of its own, as it must for a class. `autograder.pack` finds the files and loads them.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from autograder.definitions import (
    Alternative,
    CaseDefinition,
    CaseFunction,
    Implementation,
    Misconception,
)
from autograder.limits import read_limits
from autograder.numerics import Bound
from autograder.observe.protocol import array_from_numpy
from autograder.program import Call, Generator, Probe, Program, Slot
from autograder.signature import AuthoringError, read_signature, return_specs, value_spec
from autograder.specification import (
    FIXED_CHECKS,
    BuiltinCheck,
    CaseKind,
    CustomCheck,
    ExerciseLimits,
    ValueSpec,
)


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
    keywords: frozenset[str]  # parameters that go by keyword only
    returns: tuple[ValueSpec, ...]
    framework: str
    axes_needed: bool
    limits: ExerciseLimits
    half_precision: bool = False
    tolerance: Bound | None = None
    called_again: bool = True
    show_edits: bool = False
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
        raises: type[Exception] | None = None,
        explained: bool = True,
        watch: Sequence[str] = (),
        tolerance: Bound | None = None,
    ) -> Callable[[CaseFunction], CaseFunction]:
        """Add a case. `separates` names the misconceptions it is there to see.

        raises: the exception that the reference raises in it. Any other exception of the
        reference is a mistake in the pack, not a part of the exercise.
        explained: False for a case so large that running every misconception on it would take
        too long; it tells right from wrong, and nothing about the cause.
        watch: ("allocation",) notes the largest tensor made by each call of the case, for the
        check `largest_allocation`. tolerance: a bound for the results of this case's calls, in
        place of the exercise's.
        """
        self._expect_argument(tolerance)
        if not set(watch) <= {"allocation"}:
            raise AuthoringError(f"{self.name}: a case can watch allocation, not {watch!r}")
        if kind not in get_args(CaseKind):
            raise AuthoringError(
                f"{self.name}: a case is of the kind {' or '.join(get_args(CaseKind))}, not {kind}"
            )

        def register(function: CaseFunction) -> CaseFunction:
            name = function.__name__
            self._claim(name, [case.name for case in self.cases], "case")
            wanted = None if raises is None else raises.__name__
            made = CaseDefinition(
                name=name,
                title=title,
                function=function,
                separates=tuple(separates),
                hidden=hidden,
                kind=kind,
                raises=wanted,
                explained=explained,
                watch=tuple(watch),
                tolerance=tolerance,
            )
            self.cases.append(made)
            return function

        return register

    def check(
        self, line: str, *, public: bool = False, credit: float = 0.0, cases: Sequence[str] = ()
    ) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
        """Add a check of the author's own; `line` is what a student sees.

        The function is given a `CaseView` and returns None when all is well, a sentence
        when it is not, or a `Verdict` with a statistical summary. A public check is copied
        as source into the students' test file and may use only numpy or torch. cases: names
        of the cases that it is for, where it is not for all.
        """

        def register(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
            name = function.__name__
            self._claim(name, [check.name for check in self.checks], "check")
            self.add_check(CustomCheck(name, line, function, public, credit, tuple(cases)))
            return function

        return register

    def add_check(self, check: BuiltinCheck | CustomCheck) -> None:
        """Add a check that is ready; AuthoringError when its line or its credit cannot be."""
        if check.line in FIXED_CHECKS or check.line in [known.line for known in self.checks]:
            raise AuthoringError(
                f"{self.name}: two checks have the line “{check.line}”; say it in other words"
            )
        earned = math.fsum(known.credit for known in (*self.checks, check))
        if not (check.credit >= 0.0 and earned <= 1.0):
            raise AuthoringError(
                f"{self.name}: the credits of all checks are shares of the points: 0 or more, and "
                f"1 at most together, not {earned:g}"
            )
        self.checks.append(check)

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
        if self.is_class:
            raise AuthoringError(
                f"{self.name} is a class: its cases return a Program of Construct, LoadWeights, "
                "Call and so on"
            )
        several = [drawn] if isinstance(drawn, Mapping) else drawn
        if (
            not isinstance(several, (list, tuple))
            or not several
            or not all(isinstance(arguments, Mapping) for arguments in several)
        ):
            raise AuthoringError(
                f"{self.name}: a case returns a dict of arguments, a list of such dicts or a "
                f"Program, not {type(drawn).__name__}"
            )
        return Program(steps=tuple(self.call(**arguments) for arguments in several))

    def call(self, /, slot: str | None = None, on: Slot | None = None, **arguments: Any) -> Call:
        """A call of this exercise, its arguments in the order of the signature.

        slot: where the result is kept for later steps. on: the module that is called, when
        the exercise is a class.
        """
        if self.is_class and on is None:
            raise AuthoringError(f"{self.name} is a class: name the module to call, as on=Slot(…)")
        unknown = set(arguments) - set(self.parameters)
        if unknown:
            raise AuthoringError(f"{self.name} has no argument called {', '.join(sorted(unknown))}")
        given = [name for name in self.parameters if name in arguments]
        names = tuple(name for name in given if name not in self.keywords)
        # a gap (an optional argument left out) makes the later ones go by keyword
        if tuple(self.parameters)[: len(names)] != names:
            names = ()
        values = {name: self._as_argument(arguments[name]) for name in given}
        return Call(
            target=self.name if on is None else on,
            args=tuple(values[name] for name in names),
            kwargs={name: values[name] for name in given if name not in names},
            argument_names=names,
            slot=slot,
        )

    def _as_argument(self, value: Any) -> Any:
        """NumPy draws become tensors where the exercise works on tensors, sizes plain numbers."""
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, np.ndarray) and self.framework == "torch":
            return array_from_numpy(value, "torch")
        if isinstance(value, list):
            return [self._as_argument(item) for item in value]
        if isinstance(value, tuple):
            return tuple(self._as_argument(item) for item in value)
        return value

    def _expect_argument(self, bound: Bound | None) -> None:
        """A bound of the size of an argument names one that there is."""
        if bound is not None and bound.of not in (None, "result", *self.parameters):
            raise AuthoringError(
                f"{self.name}: the tolerance is of the size of {bound.of}, which is no argument"
            )

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
    seconds: float | None = None,
    memory: int | None = None,
    limits: ExerciseLimits | None = None,
    half_precision: bool = False,
    tolerance: Bound | None = None,
    called_again: bool = True,
    show_edits: bool = False,
) -> Callable[[Implementation], Exercise]:
    """Make an exercise of its reference solution.

    points: all of them, or what a misconception or a check says.
    order: where it stands in its set (fractions may go between).
    needs: exercises that it may call. forbids: dotted names it may not use, nor reach when it
        runs (see `autograder.forbidden`).
    checks: built-in checks beyond the fixed order of judging (see `autograder.checks`).
    axes_needed: the student's code draws, so it gets the real matplotlib.
    seconds: for one case, and memory: MiB for the process, where the run's own limits do not
        fit; a case whose size follows from the memory limit names it here.
    limits: these two and all others, as ExerciseLimits(cpu=…, output=…, files=…).
    half_precision: float16 and bfloat16 inputs are judged in units of their own last places;
        else a result has to be as right as a float32 one whatever its dtype.
    tolerance: the author's own bound for the results of calls, with its reason; a case may
        have another.
    called_again: whether a case is added that calls twice with the same inputs and then with
        new ones, which sees results that are remembered and state that is kept. It is not
        added where a case has several calls already.
    show_edits: whether a student's self-check may show the very edit that repairs their code,
        where one is found; by default it says no more than the line and a question about it.
        Graded work is never told.
    """

    def make(reference: Implementation) -> Exercise:
        name = reference.__name__
        if not (points > 0 and math.isfinite(points)):
            raise AuthoringError(f"{name}: points are a number above 0, not {points}")
        signature = read_signature(reference)
        parameters = {
            parameter.name: value_spec(parameter.annotation)
            for parameter in signature.parameters.values()
        }
        returns = return_specs(signature.return_annotation)
        found = framework or next(
            (spec.framework for spec in (*parameters.values(), *returns) if spec.framework),
            "torch" if inspect.isclass(reference) else "numpy",
        )
        made = Exercise(
            name=name,
            points=float(points),
            reference=reference,
            order=order,
            needs=tuple(needs),
            forbids=tuple(forbids),
            checks=[],
            parameters=parameters,
            keywords=frozenset(
                parameter.name
                for parameter in signature.parameters.values()
                if parameter.kind is inspect.Parameter.KEYWORD_ONLY
            ),
            returns=returns,
            framework=found,
            axes_needed=axes_needed,
            limits=read_limits(name, limits, seconds=seconds, memory=memory),
            half_precision=half_precision,
            tolerance=tolerance,
            called_again=called_again,
            show_edits=show_edits,
        )
        made._expect_argument(tolerance)
        for check in checks:
            made.add_check(check)
        return made

    return make


__all__ = [
    "Alternative",
    "AuthoringError",
    "Bound",
    "CaseDefinition",
    "Exercise",
    "Generator",
    "Misconception",
    "Probe",
    "Program",
    "Slot",
    "exercise",
]
