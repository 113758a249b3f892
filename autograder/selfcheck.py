"""The self-check key: public cases with their outputs, as data, in one safetensors file.

The key is no secret. It holds public inputs, expected outputs, for each public
misconception its outputs, sentence and hint, and the source of public checks; never a
hidden case, a credit or an answer of the quiz. Arrays are tensors named by what they are;
the rest is one JSON text in the file's metadata.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from autograder import __version__
from autograder.faults.storing import from_plain
from autograder.forbidden import watched_for
from autograder.numerics import Bound
from autograder.observe.protocol import Array, Opaque, ProtocolError
from autograder.specification import (
    BuiltinCheck,
    Case,
    CustomCheck,
    ExerciseLimits,
    ExerciseSpec,
    Interval,
    KnownMistake,
    LazyMap,
    ValueSpec,
    Verdict,
)
from autograder.wire import (
    observed_from_wire,
    program_from_wire,
)

FORMAT = 2
KEY_FILE = "selfcheck.safetensors"
SEED = "selfcheck"  # of the fixed public cases
MAX_BYTES = 1_000_000
METADATA = "autograder"
FLOATS = "numbers"  # all single numbers of results, in one tensor
SMALL = "small"  # entries of the small inputs of an exercise, and of what is expected of them
_NOT_OF_THE_FORM = (ValueError, KeyError, TypeError, AttributeError)


class KeyUnusable(Exception):
    """No key, or one that this version cannot read; the message says what to do."""


@dataclass(frozen=True)
class Key:
    """What a student's self-check knows of an assignment."""

    assignment: str
    title: str
    version: str
    specs: tuple[ExerciseSpec, ...]
    questions: Mapping[str, Mapping[str, Any]]
    _small: Mapping[str, Sequence[Case]] = field(default_factory=dict, repr=False)

    def small(self, name: str) -> Sequence[Case]:
        """Small inputs of an exercise, smallest first; none where the key has none."""
        return self._small.get(name, ())

    def spec(self, name: str) -> ExerciseSpec:
        """The exercise called `name`; KeyError when there is none."""
        for spec in self.specs:
            if spec.name == name:
                return spec
        raise KeyError(name)


# --- writing ---------------------------------------------------------------------------


def _bound_from_plain(plain: Mapping[str, Any]) -> Bound | None:
    return Bound(**plain["tolerance"]) if "tolerance" in plain else None


# --- reading ---------------------------------------------------------------------------


def load_key(folder: Path) -> Key:
    """Read the key of an assignment's folder; KeyUnusable with a sentence when it cannot be."""
    path = folder / KEY_FILE
    if not path.is_file():
        raise KeyUnusable(
            f"no {KEY_FILE} in {folder}: it belongs beside the notebook; copy it there from "
            "where you got the assignment"
        )
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            document = json.loads((file.metadata() or {})[METADATA])
            _refuse_other_versions(document)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        reader = _Reader(tensors)
        functions = _LazyChecks(folder, document["assignment"])
        exercises = document["exercises"]
        specs = tuple(_spec_from_plain(plain, reader, functions) for plain in exercises)
        small = _small_inputs(exercises, specs, tensors)
    except (SafetensorError, ProtocolError, OSError, *_NOT_OF_THE_FORM) as error:
        raise KeyUnusable(
            f"{path} is damaged ({type(error).__name__}); copy it again from where you got the "
            "assignment"
        ) from error
    return Key(
        assignment=document["assignment"],
        title=document["title"],
        version=document["version"],
        specs=specs,
        questions=document["questions"],
        _small=small,
    )


def _small_inputs(
    exercises: Sequence[Mapping[str, Any]],
    specs: Sequence[ExerciseSpec],
    tensors: Mapping[str, np.ndarray[Any, Any]],
) -> Mapping[str, Sequence[Case]]:
    """By exercise, read when they are asked for: most checks need none."""
    known = {spec.name: {case.name: case for case in spec.cases} for spec in specs}
    stored = {plain["name"]: plain.get("small", ()) for plain in exercises}

    def read(name: str) -> Sequence[Case]:
        entries = tensors.get(f"{name}/{SMALL}", np.zeros(0))
        return tuple(
            from_plain(plain, number, known[name], entries)
            for number, plain in enumerate(stored[name])
        )

    return LazyMap([name for name, cases in stored.items() if cases], read)


def _refuse_other_versions(document: Mapping[str, Any]) -> None:
    """Keys go with the package that made them, up to the last part of its version."""
    made_by = str(document.get("version", "?"))
    if made_by == __version__ and document.get("format") in range(FORMAT):
        raise KeyUnusable(
            f"this assignment's {KEY_FILE} is of an older form than your attention-autograder "
            f"{__version__} reads; get the assignment's folder again"
        )
    ours = __version__.split(".")[:2]
    if document.get("format") != FORMAT or made_by.split(".")[:2] != ours:
        raise KeyUnusable(
            f"this assignment was made with attention-autograder {made_by}, and you have "
            f"{__version__}; install the right one: pip install attention-autograder=={made_by}"
        )


class _Reader:
    def __init__(self, tensors: Mapping[str, np.ndarray[Any, Any]]) -> None:
        self.tensors = tensors

    def value(self, plain: Any) -> Any:
        if isinstance(plain, list):
            return [self.value(item) for item in plain]
        if not isinstance(plain, dict):
            return plain
        match plain.get("@"):
            case "array":
                data = self.tensors[plain["tensor"]] if "tensor" in plain else None
                about = {} if data is None else {"dtype": data.dtype.name, "shape": data.shape}
                about |= plain  # where it says more than the tensor itself
                dtype, shape = about["dtype"], tuple(about["shape"])
                return Array(dtype, shape, data, plain["framework"], plain.get("grad", False))
            case "opaque":
                return Opaque(plain["type"])
            case "float":
                return float(self.tensors[FLOATS][plain["at"]])
            case "tuple":
                return tuple(self.value(item) for item in plain["items"])
            case _:
                return {key: self.value(item) for key, item in plain.items()}


def _spec_from_plain(plain: dict[str, Any], reader: _Reader, checks: _LazyChecks) -> ExerciseSpec:
    return ExerciseSpec(
        name=plain["name"],
        points=plain["points"],
        cases=tuple(
            _case_from_plain(case, reader, watched_for(plain["forbids"])) for case in plain["cases"]
        ),
        checks=tuple(_check_from_plain(check, checks) for check in plain["checks"]),
        mistakes=tuple(KnownMistake(**known) for known in plain["mistakes"]),
        parameters={name: _spec_value(value) for name, value in plain["parameters"].items()},
        returns=tuple(_spec_value(value) for value in plain["returns"]),
        needs=tuple(plain["needs"]),
        forbids=tuple(plain["forbids"]),
        framework=plain["framework"],
        axes_needed=plain["axes_needed"],
        half_precision=plain.get("half_precision", False),
        show_edits=plain.get("show_edits", False),
        tolerance=_bound_from_plain(plain),
        limits=ExerciseLimits(
            seconds=plain["seconds"], memory=plain["memory"], **plain.get("limits", {})
        ),
    )


def _spec_value(plain: Mapping[str, Any]) -> ValueSpec:
    axes = None if plain["axes"] is None else tuple(plain["axes"])
    return ValueSpec(plain["kind"], axes, plain["framework"])


def _case_from_plain(plain: dict[str, Any], reader: _Reader, forbidden: Mapping[str, str]) -> Case:
    program = program_from_wire(reader.value(plain["program"]))
    explanations = {
        name: observed_from_wire(reader.value(outcome))
        for name, outcome in plain["explanations"].items()
    }
    for name in plain["harmless"]:
        explanations[name] = explanations[plain["harmless"][0]]
    return Case(
        name=plain["name"],
        title=plain["title"],
        program=replace(
            program, forbidden=forbidden, operators=bool(plain.get("operators", False))
        ),
        expected=observed_from_wire(reader.value(plain["expected"])),
        explanations=explanations,
        separates=tuple(plain["separates"]),
        kind=plain["kind"],
        tolerance=_bound_from_plain(plain),
    )


def _check_from_plain(
    plain: Mapping[str, Any], functions: _LazyChecks
) -> BuiltinCheck | CustomCheck:
    cases = tuple(plain.get("cases", ()))
    if "custom" in plain:
        name = plain["custom"]
        function = functions.function(name, plain["source"])
        return CustomCheck(name, plain["line"], function, public=True, cases=cases)
    return BuiltinCheck(plain["builtin"], plain["line"], plain["parameters"], cases=cases)


class _LazyChecks:
    """Authors' public checks, which travel as source.

    They stand in the folder's test file, where a student can read them. Where nbgrader runs
    a notebook that came without its companions, the copy in the key serves.
    """

    def __init__(self, folder: Path, assignment: str) -> None:
        self.path = folder / f"test_{assignment}.py"
        self._functions: dict[str, Callable[[Any], Any]] = {}

    def function(self, name: str, source: str) -> Callable[[Any], Any]:
        def check(view: Any) -> Any:
            if name not in self._functions:
                self._functions[name] = self._load(name, source)
            return self._functions[name](view)

        return check

    def _load(self, name: str, source: str) -> Callable[[Any], Any]:
        if self.path.is_file():
            namespace = vars(load_module(self.path))["CHECKS"]
        else:
            namespace = {"np": np, "Interval": Interval, "Verdict": Verdict}
            exec(compile(source, "<check in the key>", "exec"), namespace)
        found: Callable[[Any], Any] = namespace[name]
        return found


def load_module(path: Path) -> Any:
    """A Python file as a module under a name of its own: two copies never meet."""
    if not path.is_file():
        raise KeyUnusable(f"no {path.name} in {path.parent}: copy it there again")
    unique = f"autograder_file_{abs(hash(str(path.resolve()))):x}"
    spec = importlib.util.spec_from_file_location(unique, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[unique] = module
    spec.loader.exec_module(module)
    return module
