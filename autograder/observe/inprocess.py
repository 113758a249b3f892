"""Observing in this very process: references, and live objects in a student's notebook."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from autograder.observe import worker
from autograder.observe.answered import Ask
from autograder.observe.protocol import decode, encode
from autograder.observe.session import Answer, Question, Refused
from autograder.program import Observed, Program
from autograder.wire import observed_from_wire, program_to_wire

# A program runs with seeds and a precision that the whole process shares.
_alone = threading.RLock()


class _Kept:
    """How many blocks of `random_state_kept` are running, and the state before the first."""

    blocks = 0
    state: Mapping[str, Any] = {}


@contextlib.contextmanager
def random_state_kept() -> Iterator[None]:
    """Put the global generators back after all programs inside, instead of after each.

    That takes longer than many a program. Blocks may overlap, also in several threads.
    """
    with _alone:
        if not _Kept.blocks:
            _Kept.state = worker.random_state()
        _Kept.blocks += 1
    try:
        yield
    finally:
        with _alone:
            _Kept.blocks -= 1
            if not _Kept.blocks:
                worker.restore_random_state(dict(_Kept.state))


def observe(
    namespace: Mapping[str, Any], program: Program, ask: Answer | None = None
) -> tuple[Observed, ...]:
    """Run a program on the names of `namespace`, which is left as it was.

    Results are what they would be from another process, since they are encoded here too.
    Names that the grader answers are replaced in the namespace itself while the program
    runs, because functions look their globals up there and not in a copy.
    """
    names = namespace if program.answered and isinstance(namespace, dict) else dict(namespace)
    with _alone:
        outcomes = worker.run(
            program_to_wire(program),
            names,
            _asking(ask),
            live=True,
            keep_random=not _Kept.blocks,
        )
    return observed_from_wire(decode(encode(outcomes)))


def _asking(answer: Answer | None) -> Ask | None:
    """The same, refusing with the exception that it would be in another process."""
    if answer is None:
        return None

    def ask(question: dict[str, Any]) -> Any:
        try:
            return answer(Question.read(question))
        except Refused as refused:
            raise RuntimeError(str(refused)) from None

    return ask
