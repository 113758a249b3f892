"""Finding and loading a course's exercises, and drawing their cases.

A solution file is run as a module of a synthetic package; afterwards the references of
its siblings are put into its globals, so that a body may call what it `needs`. The pack
is secret: nothing that runs beside student code imports this module.
"""

from __future__ import annotations

import ast
import hashlib
import types
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from autograder.cases import called_again
from autograder.exercise import AuthoringError, CaseDefinition, Exercise, Misconception
from autograder.forbidden import watched_for
from autograder.observe.inprocess import observe, random_state_kept
from autograder.pairs import Merger, pairs_of
from autograder.program import Call, Observed, Program, Step
from autograder.solution_files import in_order, run_module
from autograder.source_trees import parse_source
from autograder.specification import (
    BuiltinCheck,
    Case,
    CustomCheck,
    ExerciseSpec,
    KnownMistake,
    LazyMap,
)
from autograder.wire import in_double

SYNTHETIC = "autograder_solutions"


class CourseNotFound(Exception):
    """No course, or no such assignment; the message says where was looked and what exists."""


def find_course(start: Path | None = None) -> Path:
    """The nearest folder at or above `start` that has a `solutions` folder."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "solutions").is_dir():
            return folder
    raise CourseNotFound(
        f"no course at or above {here}: a course is a folder with `solutions/` in it; "
        "go there or give --course"
    )


def assignments_of(course: Path) -> list[str]:
    """Names of the assignments that the course has solutions for."""
    folder = course / "solutions"
    return sorted(
        child.name
        for child in (folder.iterdir() if folder.is_dir() else ())
        if child.is_dir() and (child / "__init__.py").exists()
    )


@dataclass(frozen=True)
class Given:
    """An exercise of another set that students of this one are given, solved.

    parts: the exercises that it needs and itself, in that order, each with its file's source.
    """

    name: str
    assignment: str
    parts: tuple[tuple[Exercise, str], ...]


@dataclass
class Pack:
    """One assignment's exercises, in the course's order, with where they were written."""

    name: str
    folder: Path
    title: str
    packages: tuple[str, ...]
    exercises: dict[str, Exercise]
    modules: dict[str, types.ModuleType]
    sources: dict[str, str] = field(repr=False)
    given: tuple[Given, ...] = ()
    _mergers: dict[str, Merger] = field(default_factory=dict, repr=False)

    def versions(self) -> dict[str, str]:
        """A digest of each exercise's file: it changes when the exercise does."""
        return {
            name: hashlib.sha256(source.encode()).hexdigest()[:16]
            for name, source in self.sources.items()
        }

    @cached_property
    def max_score(self) -> float:
        """Points of all exercises (the quiz has its own)."""
        return sum(exercise.points for exercise in self.exercises.values())

    @random_state_kept()
    def draw(
        self, name: str, seed: str, *, public_only: bool = False, dropped: Collection[str] = ()
    ) -> ExerciseSpec:
        """The exercise with its cases drawn for `seed`, expectations computed live.

        dropped: names of cases that are left out.
        """
        exercise = self.exercises[name]
        known = [m for m in exercise.misconceptions if not (public_only and m.hidden)]
        watched = watched_for(exercise.forbids)
        wanted = [case for case in exercise.cases if case.name not in dropped]
        cases = [
            # operators are looked at in one case: see Program.operators
            self._draw_case(exercise, definition, seed, known, watched, operators=number == 0)
            for number, definition in enumerate(wanted)
            if not (public_only and definition.hidden)
        ]
        again = called_again(exercise, cases) if name in self.sources else None
        if again is not None and again.name not in dropped:
            case = self._draw_case(exercise, again, seed, known, watched, operators=False)
            cases.append(case)
        mistakes = tuple(
            KnownMistake(m.name, m.sentence, m.hint, m.credit, m.hidden) for m in known
        )
        return ExerciseSpec(
            name=name,
            points=exercise.points,
            cases=tuple(cases),
            checks=_for_cases(exercise.checks, {case.name for case in cases}),
            mistakes=mistakes,
            parameters=exercise.parameters,
            returns=exercise.returns,
            needs=exercise.needs,
            forbids=exercise.forbids,
            framework=exercise.framework,
            axes_needed=exercise.axes_needed,
            half_precision=exercise.half_precision,
            tolerance=exercise.tolerance,
            limits=exercise.limits,
            show_edits=exercise.show_edits,
        )

    def draw_all(
        self,
        seed: str,
        *,
        public_only: bool = False,
        dropped: Mapping[str, Collection[str]] | None = None,
    ) -> list[ExerciseSpec]:
        """Every exercise, drawn for `seed`; dropped: cases that are left out, by exercise."""
        left_out = dropped or {}
        return [
            self.draw(name, seed, public_only=public_only, dropped=left_out.get(name, ()))
            for name in self.exercises
        ]

    def observe(self, name: str, implementation: Any, program: Program) -> tuple[Observed, ...]:
        """Run a program with `implementation` standing where the exercise's own code stands."""
        namespace = {**vars(self.modules[name]), name: implementation}
        return observe(namespace, program)

    def merged(self, name: str, first: str, second: str) -> tuple[Any, ...]:
        """Implementations of an exercise with two of its misconceptions; see `pairs.Merger`."""
        if name not in self._mergers:
            made = Merger(self.sources[name], name, vars(self.modules[name]))
            self._mergers.setdefault(name, made)  # two threads may have made one
        return self._mergers[name].implementations(first, second)

    def _draw_case(
        self,
        exercise: Exercise,
        definition: CaseDefinition,
        seed: str,
        known: Sequence[Misconception],
        watched: Mapping[str, str],
        operators: bool,
    ) -> Case:
        rng = case_generator(seed, self.name, exercise.name, definition.name)
        what = f"{exercise.name}: the case {definition.name}"
        try:
            program = exercise.program(definition.function(rng))
            program = replace(
                program,
                steps=tuple(_watching(step, definition.watch) for step in program.steps),
                forbidden=watched,
                operators=operators and bool(watched),
            )
            expected = self.observe(exercise.name, exercise.reference, in_double(program))
        except AuthoringError as error:
            raise AuthoringError(f"{what}: {error}") from error
        except Exception as error:
            raise AuthoringError(f"{what} raised {type(error).__name__}: {error}") from error
        if not expected:
            raise AuthoringError(f"{what} has no steps; let it call the exercise")
        broken = next((step.notes["forbidden"] for step in expected if _breaks(step)), None)
        if broken is not None:
            raise AuthoringError(
                f"{what}: the reference calls {broken}, which the exercise forbids; write it "
                "otherwise, or take the name out of forbids"
            )
        raised = expected[-1].raised
        if definition.raises is None and raised is not None:
            raise AuthoringError(
                f"{what}: the reference raised {raised.type_name}: {raised.message}; repair it, "
                f"or give the case raises={raised.type_name} if solutions have to"
            )
        if definition.raises is not None and (
            raised is None or raised.type_name != definition.raises
        ):
            got = "nothing" if raised is None else raised.type_name
            raise AuthoringError(
                f"{what}: the reference should raise {definition.raises} and raised {got}"
            )
        kept_back = {m.name for m in exercise.misconceptions} - {m.name for m in known}
        implementations = {m.name: m.implementation for m in known if definition.explained}
        return Case(
            name=definition.name,
            title=definition.title,
            program=program,
            expected=expected,
            explanations=LazyMap(
                tuple(implementations),
                lambda key: self.observe(exercise.name, implementations[key], program),
            ),
            pairs=LazyMap(
                pairs_of(tuple(implementations)) if exercise.name in self.sources else (),
                lambda pair: tuple(
                    self.observe(exercise.name, merged, program)
                    for merged in self.merged(exercise.name, *pair)
                ),
            ),
            separates=tuple(name for name in definition.separates if name not in kept_back),
            hidden=definition.hidden,
            kind=definition.kind,
            tolerance=definition.tolerance,
        )


def _for_cases(
    checks: Sequence[BuiltinCheck | CustomCheck], drawn: Set[str]
) -> tuple[BuiltinCheck | CustomCheck, ...]:
    """Checks as far as they are for cases that were drawn: a hidden one is not even named."""
    kept = []
    for check in checks:
        cases = tuple(name for name in check.cases if name in drawn)
        if cases or not check.cases:
            kept.append(check if cases == check.cases else replace(check, cases=cases))
    return tuple(kept)


def _watching(step: Step, watch: Sequence[str]) -> Step:
    if isinstance(step, Call) and watch:
        return replace(step, watch=tuple(dict.fromkeys((*step.watch, *watch))))
    return step


def _breaks(observed: Observed) -> bool:
    return "forbidden" in observed.notes


def case_generator(seed: str, *names: str) -> np.random.Generator:
    """The generator of one case: the same for the same run seed, independent of all others."""
    digest = hashlib.sha256("/".join((seed, *names)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:16], "little"))


def load_pack(course: Path, assignment: str) -> Pack:
    """Load an assignment's exercises.

    Raises CourseNotFound when there is no such assignment and AuthoringError for a file
    that cannot be an exercise.
    """
    folder = course / "solutions" / assignment
    if not (folder / "__init__.py").exists():
        known = ", ".join(assignments_of(course)) or "none"
        raise CourseNotFound(
            f"no assignment called {assignment} in {course / 'solutions'}; there are: {known}"
        )
    package = f"{SYNTHETIC}.{assignment}"
    sources = {
        path.stem: path.read_text("utf-8")
        for path in sorted(folder.glob("*.py"))
        if path.stem != "__init__"
    }
    about = run_module(package, folder / "__init__.py", (folder / "__init__.py").read_text("utf-8"))
    modules: dict[str, types.ModuleType] = {}
    exercises: dict[str, Exercise] = {}
    for name, source in sources.items():
        module = run_module(f"{package}.{name}", folder / f"{name}.py", source)
        found = vars(module).get(name)
        if not isinstance(found, Exercise):
            raise AuthoringError(
                f"{folder / f'{name}.py'} does not define an exercise called {name}; "
                f"decorate `{name}` with @exercise(points=…)"
            )
        found.prompt = (module.__doc__ or "").strip()
        modules[name], exercises[name] = module, found
    order = in_order(list(exercises.values()))
    given = tuple(_given(course, assignment, name) for name in getattr(about, "GIVEN", ()))
    for own, module in modules.items():
        for gift in given:
            vars(module)[gift.name] = gift.parts[-1][0].reference
        for name, other in exercises.items():
            # siblings as plain functions and classes; its own name stays the exercise, which
            # cases hand to `autograder.cases`, and which can be called like its reference
            if name != own:
                vars(module)[name] = other.reference
    title = (about.__doc__ or assignment).strip().splitlines()[0]
    return Pack(
        name=assignment,
        folder=folder,
        title=title,
        packages=tuple(getattr(about, "PACKAGES", ())),
        exercises={exercise.name: exercise for exercise in order},
        modules=modules,
        sources={exercise.name: sources[exercise.name] for exercise in order},
        given=given,
    )


def _given(course: Path, assignment: str, name: str) -> Given:
    """The exercise of another set that GIVEN names, with all that it needs."""
    givers = [
        other
        for other in assignments_of(course)
        if other != assignment and (course / "solutions" / other / f"{name}.py").is_file()
    ]
    if not givers:
        raise AuthoringError(
            f"solutions/{assignment}: GIVEN names {name}, which is no exercise of another set; "
            "correct the name or take it out"
        )
    pack = load_pack(course, givers[0])
    wanted = {name}
    for exercise in reversed(pack.exercises.values()):  # what is needed stands earlier
        if exercise.name in wanted:
            wanted |= set(exercise.needs)
    parts = [
        (pack.exercises[part], pack.sources[part]) for part in pack.exercises if part in wanted
    ]
    return Given(name, givers[0], tuple(parts))


def definition_of(source: str, name: str) -> ast.FunctionDef | ast.ClassDef:
    """The syntax node of an exercise in its file."""
    for node in parse_source(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name == name:
            return node
    raise AuthoringError(f"no def or class called {name}")
