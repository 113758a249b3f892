"""A short way from an exercise, written as authors write it, to results of implementations.

Everything is observed twice: directly, and with every message encoded and decoded as between
processes. Both must give the same observation.
"""

import functools
import types
from dataclasses import replace
from pathlib import Path

from autograder.judge import judge
from autograder.observe import protocol, worker
from autograder.observe.inprocess import observe
from autograder.pack import Pack
from autograder.wire import observed_from_wire, program_to_wire
from tests.unit.observe.test_protocol import same


def pack_of(*exercises):
    """A pack that was never a folder."""
    return Pack(
        name="ps0_trial",
        folder=Path("nowhere"),
        title="Trials",
        packages=("numpy",),
        exercises={made.name: made for made in exercises},
        modules={made.name: types.ModuleType("trial") for made in exercises},
        sources={},
    )


class Trial:
    """An exercise with its cases drawn. Called with an implementation, it gives the result."""

    def __init__(self, exercise, seed="trial", **options):
        self.exercise = exercise
        self.spec = pack_of(exercise).draw(exercise.name, seed, **options)

    def observe(self, implementation, ask=None, **names):
        namespace = {self.exercise.name: implementation, **names}
        return {case.name: both_ways(namespace, case.program, ask) for case in self.spec.cases}

    def __call__(self, implementation, ask=None, **names):
        return judge(self.spec, self.observe(implementation, ask, **names))


@functools.cache
def trial_of(make):
    """The trial of the exercise that `make` returns, drawn once for all tests."""
    return Trial(make())


def both_ways(namespace, program, ask=None):
    """The observation of a program, made directly and over the wire."""
    directly = observe(dict(namespace), program, ask)
    over = over_the_wire(dict(namespace), program, ask)
    assert len(directly) == len(over)
    for one, other in zip(directly, over, strict=True):
        assert same(one.value, other.value)
        assert without_place(one.raised) == without_place(other.raised)
        assert one.changed == other.changed
        assert dict(one.notes) == dict(other.notes)
    return over


def over_the_wire(namespace, program, ask=None):
    """The observation of a program, as it would come from another process."""
    request = protocol.decode(protocol.encode(program_to_wire(program)))
    reply = protocol.encode(worker.run(request, namespace, wired(ask)))
    return observed_from_wire(protocol.decode(reply))


def wired(answer):
    """An answer to calls that goes over the wire too."""
    if answer is None:
        return None
    from autograder.observe.session import Question, Refused

    def ask(question):
        asked = Question.read(protocol.decode(protocol.encode(question)))
        try:
            return protocol.decode(protocol.encode(answer(asked)))
        except Refused as refused:
            raise RuntimeError(str(refused)) from None

    return ask


def without_place(raised):
    return raised and replace(raised, line=None, cell=None, function=None)


def failed_checks(result):
    """Names of the checks that failed."""
    return [check.name for check in result.checks if check.outcome == "failed"]
