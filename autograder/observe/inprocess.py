"""Observing in this very process: references, and live objects in a student's notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from autograder.observe import worker
from autograder.program import Observed, Program
from autograder.wire import observed_from_wire, program_to_wire


def observe(
    namespace: Mapping[str, Any], program: Program, ask: worker.Ask | None = None
) -> tuple[Observed, ...]:
    """Run a program on the names of `namespace`, which is left as it was.

    Names that the grader answers are replaced in the namespace itself while the program
    runs, because functions look their globals up there and not in a copy.
    """
    names = namespace if program.answered and isinstance(namespace, dict) else dict(namespace)
    return observed_from_wire(worker.run(program_to_wire(program), names, ask))
