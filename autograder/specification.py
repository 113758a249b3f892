"""What is judged, as plain data: exercises, drawn cases, checks, known mistakes.

A specification is made either from the pack (`autograder.pack`: fresh cases, live
reference) or from the self-check key (`autograder.selfcheck`: public cases, stored
outputs). The judge cannot tell the difference, which is why a student's self-check and
the grade agree.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from autograder.equal_answers import EqualAnswers
from autograder.numerics import Bound
from autograder.observe.protocol import Prepared
from autograder.program import Observed, Program
from autograder.wire import program_to_wire

CaseKind = Literal["separating", "robustness"]

# Names of the checks that every exercise has, in the order of judging. The author's own lines
# stand between FINITE and VALUES. Released test files hold these names: they stay.
RUNS, TYPE, SHAPE, DTYPE, FINITE = "runs", "type", "shape", "dtype", "finite"
VALUES, GRADIENTS, UNTOUCHED = "values", "gradients", "arguments untouched"
FIXED_CHECKS = (RUNS, TYPE, SHAPE, DTYPE, FINITE, VALUES, GRADIENTS, UNTOUCHED)


@dataclass(frozen=True)
class ValueSpec:
    """What an annotation says of one argument or result.

    kind: "array", "int", "float", "bool", or "any" (nothing was said).
    axes: names of the axes ("n_k", "n_q"); None when nothing is said of the shape.
    framework: "numpy" or "torch" for arrays.
    """

    kind: str = "any"
    axes: tuple[str, ...] | None = None
    framework: str | None = None


@dataclass(frozen=True)
class BuiltinCheck:
    """A check of `autograder.checks` by name, with its parameters; `line` is shown.

    cases: names of the cases that it is for; none: all of them.
    """

    name: str
    line: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    credit: float = 0.0
    cases: tuple[str, ...] = ()


@dataclass(frozen=True)
class CustomCheck:
    """A check that an author wrote; see `Exercise.check` for what the function returns."""

    name: str
    line: str
    function: Callable[[Any], Any] = field(compare=False)
    public: bool = False
    credit: float = 0.0
    cases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Interval:
    """A statistic of random results and its half width (six standard errors, say)."""

    name: str
    value: float
    half_width: float

    def agrees_with(self, other: Interval) -> bool:
        """Whether both could be estimates of one number."""
        return abs(self.value - other.value) <= self.half_width + other.half_width


@dataclass(frozen=True)
class Verdict:
    """What a statistical check returns: a fault in words, if any, and its summary.

    A case with a summary is not compared value by value; misconceptions are matched by
    whether their summaries agree.
    """

    message: str | None
    summary: tuple[Interval, ...]


@dataclass(frozen=True)
class CallView:
    """One observed call as a check sees it.

    arguments: by name; arrays are NumPy arrays whatever the framework, generators and
        probes are as the case made them.
    result, expected: an array, a number, or a tuple of several.
    dtype: that of a result that is one array, dtypes: those of all its parts, as returned.
    notes: what a call was watched for, such as "largest_allocation" (advisory).
    """

    arguments: Mapping[str, Any]
    result: Any
    expected: Any
    dtype: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    dtypes: tuple[str | None, ...] = ()


@dataclass(frozen=True)
class CaseView:
    """All calls of one case. The last call's fields are the view's own, for short.

    steps: what every step of the case's program gave, calls or not, in order: the parameters
    that `DescribeModule` found, gradients, a picture. Nothing in a view can be written to.
    """

    calls: Sequence[CallView]
    steps: Sequence[Any] = ()

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Arguments of the last call."""
        return self.calls[-1].arguments

    @property
    def result(self) -> Any:
        """Result of the last call."""
        return self.calls[-1].result

    @property
    def expected(self) -> Any:
        """What the reference returned for the last call."""
        return self.calls[-1].expected


# Names of two misconceptions that one implementation has together.
Pair = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """A drawn case: what is run, what the reference gave, what each misconception gives.

    pairs: what implementations with two misconceptions at once give, one for each way to
        merge them; a key for self-checks has none, since they would take more room than all
        the rest.
    tolerance: the author's bound for this case, before the exercise's.
    """

    name: str
    title: str
    program: Program
    expected: tuple[Observed, ...]
    explanations: Mapping[str, tuple[Observed, ...]] = field(default_factory=dict)
    pairs: Mapping[Pair, tuple[tuple[Observed, ...], ...]] = field(default_factory=dict)
    separates: tuple[str, ...] = ()
    hidden: bool = False
    kind: CaseKind = "separating"
    tolerance: Bound | None = None

    @cached_property
    def wire(self) -> Prepared:
        """The program in its plain form, encoded once for a whole class."""
        return Prepared(program_to_wire(self.program))


@dataclass(frozen=True)
class KnownMistake:
    """The words for a misconception; its outputs stand in each case's explanations."""

    name: str
    sentence: str
    hint: str
    credit: float = 0.0
    hidden: bool = False


@dataclass(frozen=True)
class ExerciseLimits:
    """What an exercise may use where the run's own limits do not fit; None: the run's hold.

    seconds: for one case. cpu: seconds of processor time, memory: MiB beyond what the process
    has at its start, output: bytes printed, files: open at a time, five of which are taken.
    processes: 0 is all that the sandbox can give, so it can be said and not raised.
    """

    seconds: float | None = None
    cpu: int | None = None
    memory: int | None = None
    output: int | None = None
    files: int | None = None
    processes: int | None = None

    def as_given(self) -> dict[str, Any]:
        """Those that are set, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def of_process(self) -> dict[str, int]:
        """Those that a process is started with, by name; the seconds of a case are the clock's."""
        return {name: value for name, value in self.as_given().items() if name != "seconds"}


@dataclass(frozen=True)
class ExerciseSpec:
    """An exercise ready to be observed and judged.

    half_precision: float16 and bfloat16 inputs are judged as such, not as float32.
    tolerance: the author's bound for all cases, see `numerics.Bound`.
    show_edits: a self-check may show an edit that repairs the code; grading never does.
    """

    name: str
    points: float
    cases: tuple[Case, ...]
    checks: tuple[BuiltinCheck | CustomCheck, ...] = ()
    mistakes: tuple[KnownMistake, ...] = ()
    parameters: Mapping[str, ValueSpec] = field(default_factory=dict)
    returns: tuple[ValueSpec, ...] = (ValueSpec(),)
    needs: tuple[str, ...] = ()
    forbids: tuple[str, ...] = ()
    framework: str = "numpy"
    axes_needed: bool = False
    half_precision: bool = False
    tolerance: Bound | None = None
    limits: ExerciseLimits = ExerciseLimits()
    show_edits: bool = False
    stub_fingerprint: str = ""

    @cached_property
    def equal_answers(self) -> EqualAnswers:
        """What was judged in this run, by the bytes of the answers."""
        return EqualAnswers()

    def mistake(self, name: str) -> KnownMistake:
        """The known mistake called `name`; KeyError when there is none."""
        for known in self.mistakes:
            if known.name == name:
                return known
        raise KeyError(name)


class LazySequence(Sequence[Any]):
    """A sequence whose items are computed each time they are asked for."""

    def __init__(self, length: int, compute: Callable[[int], Any]) -> None:
        self._length = length
        self._compute = compute

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self._compute(i) for i in range(self._length)[index])
        return self._compute(range(self._length)[index])


class LazyMap(Mapping[Any, Any]):
    """A mapping whose values are computed when first asked for, once.

    Misconceptions are run only for cases that somebody failed, so a class of right
    submissions never pays for them.
    """

    def __init__(self, keys: Sequence[Any], compute: Callable[[Any], Any]) -> None:
        self._keys = dict.fromkeys(keys)
        self._compute = compute
        self._values: dict[Any, Any] = {}
        self._lock = threading.RLock()  # a class is judged in several threads

    def __getitem__(self, key: Any) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        with self._lock:
            if key not in self._values:
                self._values[key] = self._compute(key)
            return self._values[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys  # without computing it

    def __iter__(self) -> Iterator[Any]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)
