"""Right parts for a composition: exercises answered by a process that holds their solutions.

The process is a sandboxed child like that of a submission. It holds the references of the parts
that are answered, and of what these need; no case, no expected value, no seed. What it is asked
comes from a submission, so that all of it is bounded here before it is passed on.
"""

from __future__ import annotations

import ast
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from autograder.observe.protocol import Array, Opaque
from autograder.observe.session import Answer, Question, Refused, Session, Stopped
from autograder.observe.values import SPECIAL
from autograder.pack import Pack
from autograder.program import Call, Program
from autograder.results_view import one_line
from autograder.source_trees import parse_source
from autograder.specification import Case
from autograder.stubs import student_code
from autograder.wire import observed_from_wire, program_to_wire

# For each call of the exercise in a case; as many may ask for gradients, one for each answer.
MAX_CALLS = 64

# An intermediate result may be larger than what a case hands over and gets back: four times as
# many numbers covers queries, keys and values next to each other, and hidden layers of four times
# the width. The floor lets tiny cases be tried on a pad of constants: 32 KiB harm nobody.
_TIMES, _FLOOR = 4, 4096
_LARGEST_SIZE = 1 << 16  # of an axis, where a case hands over whole numbers

# For one call and for all calls of a submission. References take less than a millisecond on
# arrays of this size; they are not on the student's clock, so a bomb ends by this one.
CALL_SECONDS, ALL_SECONDS = 5.0, 10.0

# What the solution files import for our sake; a reference's body uses neither.
_OURS = ("autograder", "jaxtyping")


@dataclass(frozen=True)
class Reference:
    """The solution of an exercise as a process can hold it.

    imports: statements; several: whether it returns more than one value.
    """

    source: str
    imports: tuple[str, ...]
    parameters: tuple[str, ...]
    needs: tuple[str, ...]
    several: bool
    framework: str


def references_of(pack: Pack) -> dict[str, Reference]:
    """The references of all exercises that can be answered: functions.

    A class is none of them: its instances live in the process of the submission.
    """
    return {
        name: Reference(
            source=student_code(pack.sources[name], name, name),
            imports=tuple(_imports(pack.sources[name])),
            parameters=tuple(exercise.parameters),
            needs=exercise.needs,
            several=len(exercise.returns) > 1,
            framework=exercise.framework,
        )
        for name, exercise in pack.exercises.items()
        if not exercise.is_class and name in pack.sources
    }


def _imports(source: str) -> Iterator[str]:
    for node in parse_source(source).body:
        if isinstance(node, ast.Import):
            names = [item.name for item in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        else:
            continue
        if not any(name.split(".")[0] in _OURS for name in names):
            yield ast.unparse(node)


class Desk:
    """Answers the calls that one exercise makes of some parts. Opened at the first question.

    asked: the parts that were answered. refused: whether a call was. failed: whether the fault
    was ours. spent: seconds that the answers took, and those of desks before.
    """

    def __init__(
        self,
        references: Mapping[str, Reference],
        parts: Sequence[str],
        names: Mapping[str, Sequence[str]],
        open_session: Callable[..., Session],
        spent: float = 0.0,
    ) -> None:
        """names: what a submission calls the parameters of its own parts."""
        self.parts = tuple(parts)
        self.asked: set[str] = set()
        self.refused = self.failed = False
        self.spent = spent
        self._references = references
        self._names = names
        self._open_session = open_session
        self._session: Session | None = None

    def program(self, case: Case) -> dict[str, Any]:
        """The case's program in plain form, with the parts answered."""
        answered = tuple(dict.fromkeys([*case.program.answered, *self.parts]))
        return program_to_wire(replace(case.program, answered=answered))

    def answers(self, case: Case) -> Answer:
        """What answers the questions of one case."""
        room = _room(case)
        most = MAX_CALLS * max(1, len(case.program.calls))
        count = {False: 0, True: 0}

        def answer(question: Question) -> Any:
            for_gradients = question.cotangents is not None
            try:
                count[for_gradients] += 1
                if count[for_gradients] > most:
                    raise Refused(
                        f"{most} calls of other exercises are answered in a case, and no more: "
                        "call each once, for the whole array"
                    )
                return self._answer(question, room)
            except Refused:
                self.refused = True
                raise

        return answer

    def close(self) -> None:
        """End the process, if there is one. May be called twice."""
        if self._session is not None:
            with contextlib.suppress(Exception):
                self._session.close()
            self._session = None

    # --- one question -----------------------------------------------------------------

    def _answer(self, question: Question, room: int) -> Any:
        name = question.name
        if name not in self.parts:
            raise Refused(f"{one_line(name, 60)} is not answered here")
        arguments = [*question.args, *question.kwargs.values(), *(question.cotangents or ())]
        left = room
        for size in _sizes(arguments, name):
            left -= size
            if left < 0:
                raise Refused(f"{name} is not answered for arguments so much larger than the case")
        if question.cotangents is None:
            call = Call(name, tuple(question.args), self._keywords(question), watch=())
        else:
            whole = (list(question.args), self._keywords(question), list(question.cotangents))
            call = Call(f"gradients_of_{name}", whole, watch=())
        value = self._ask(name, Program((call,)))
        self.asked.add(name)
        several = self._references[name].several and question.cotangents is None
        return tuple(value) if several and isinstance(value, list) else value

    def _keywords(self, question: Question) -> dict[str, Any]:
        """Arguments by keyword, by the names of the reference where the student has others."""
        known, own = self._references[question.name].parameters, self._names.get(question.name, ())
        found: dict[str, Any] = {}
        for key, value in question.kwargs.items():
            place = list(own).index(key) if key in own and key not in known else None
            named = key if place is None else (*known, "")[min(place, len(known))]
            if named not in known or named in found:
                called = one_line(key, 60)
                raise Refused(f"{question.name} has no argument called {called}")
            found[named] = value
        return found

    def _ask(self, name: str, program: Program) -> Any:
        started = time.monotonic()
        try:
            if self.failed or self.spent >= ALL_SECONDS:
                raise Stopped("timed_out", "no time is left")
            if self._session is None:
                self._open()
            assert self._session is not None
            (observed,) = observed_from_wire(self._session.run(program_to_wire(program)))
        except Exception as fault:  # ours, or that of what was asked: no fault to be judged
            self.failed = True
            self.close()
            raise Refused(f"{name} could not be answered") from fault
        finally:
            self.spent += time.monotonic() - started
        if observed.raised is not None:
            raised = f"{observed.raised.type_name}: {observed.raised.message}"
            raise Refused(f"{name} raised {one_line(raised, 200)}")
        return _plain(observed.value, name)

    def _open(self) -> None:
        self._session = session = self._open_session()
        if hasattr(session, "wall"):
            session.wall = CALL_SECONDS
        outcomes = session.load(list(self._statements()), {"stand_ins": []})
        if any(outcome is not None for outcome in outcomes):
            raise Stopped("infrastructure", f"the references could not be loaded: {outcomes}")

    def _statements(self) -> Iterator[dict[str, Any]]:
        sources: dict[str, None] = {}
        for name in self._closure(self.parts):
            reference = self._references[name]
            sources |= dict.fromkeys((*reference.imports, reference.source))
            if reference.framework == "torch":
                sources["from autograder.observe.answered import gradients_of"] = None
                sources[f"gradients_of_{name} = gradients_of({name})"] = None
        for source in sources:
            yield {"source": source, "line": 1, "cell": "reference", "stops_cell": False}

    def _closure(self, names: Sequence[str]) -> list[str]:
        """The names and what they need, as far as it can be answered."""
        found: dict[str, None] = {}
        for name in names:
            if name in self._references and name not in found:
                found |= dict.fromkeys(self._closure(self._references[name].needs))
                found[name] = None
        return list(found)


def _room(case: Case) -> int:
    """How many numbers the arguments of one call may have, in this case."""
    plain = [case.wire["steps"], [observed.value for observed in case.expected]]
    return _FLOOR + _TIMES * sum(_numbers(plain))


def _numbers(value: Any) -> Iterator[int]:
    """The sizes of all arrays in a plain value, and its whole numbers: they may be sizes."""
    if isinstance(value, Array):
        yield 0 if value.data is None else value.data.size
    elif type(value) is int:
        yield min(abs(value), _LARGEST_SIZE)
    elif isinstance(value, Mapping) and SPECIAL not in value:  # a generator's seed is no size
        for item in value.values():
            yield from _numbers(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _numbers(item)


def _sizes(items: Sequence[Any], name: str) -> Iterator[int]:
    """The sizes of arguments, as in `_numbers`; Refused for what cannot be an argument.

    Maps are refused above all: in plain form, some of them stand for code.
    """
    for item in items:
        if isinstance(item, Array) and item.data is not None:
            yield max(item.data.size, 1)
        elif item is None or type(item) in (bool, float):
            yield 1
        elif type(item) is int:
            yield max(abs(item), 1)
        elif type(item) is str:
            yield max(len(item), 1)
        elif isinstance(item, (list, tuple)):
            yield 1
            yield from _sizes(item, name)
        else:
            kind = item.type_name if isinstance(item, Opaque) else type(item).__name__
            raise Refused(f"{name} is not answered for a {one_line(kind, 60)}")


def _plain(value: Any, name: str) -> Any:
    """A result as it is sent back: the graph of a tensor is on the other side."""
    if isinstance(value, Array):
        if value.data is None:
            raise Refused(f"{name} is not answered: its result would be too large")
        return replace(value, requires_grad=False)
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item, name) for item in value)
    return value
