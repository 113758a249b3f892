"""Follow-through: a composition that fails by its parts is observed once more with right ones.

One slip is not paid twice: `self_attention` that calls the student's own wrong `softmax` gets its
points when it is right given a right one. When a mistake of its own remains and has a name, that
is the one to tell. In all other cases the first result stands.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import msgspec

from autograder.observing import OpenSession, Pass
from autograder.references import Desk, Reference
from autograder.result import ExerciseResult
from autograder.specification import ExerciseSpec
from autograder.submission import Submission

# Outcomes that a part can be the cause of: a part that loops is one that is not right.
_MAY_BE_A_PART = ("failed", "error", "forbidden", "timed_out", "out_of_memory", "crashed")


class FollowThrough:
    """What one submission is given: fresh sessions, and references that answer for its parts.

    open_session: for the submission, on its clock. open_reference: for what answers, which is
    on a clock of its own (see `references`).
    """

    def __init__(
        self,
        submission: Submission,
        references: Mapping[str, Reference],
        open_session: OpenSession,
        open_reference: OpenSession,
    ) -> None:
        self._submission = submission
        self._references = references
        self._open_session = open_session
        self._open_reference = open_reference
        self._spent = 0.0

    def __call__(
        self, spec: ExerciseSpec, results: Mapping[str, ExerciseResult], *, whole_too: bool
    ) -> ExerciseResult | None:
        """The result with right parts, or None when the first one stands.

        results: of this exercise and those before it. whole_too: whether to run all cells
        when what the exercise depends on is not enough.
        """
        first = results[spec.name]
        parts = self.parts(spec, results)
        if not parts or first.outcome not in _MAY_BE_A_PART:
            return None
        if self._submission.uses(spec.name, spec.forbids, parts) is not None:
            return None
        for whole in (False, True) if whole_too else (False,):
            found = self._observe(spec, first, parts, whole)
            if found is not None:
                return found
        return None

    def parts(self, spec: ExerciseSpec, results: Mapping[str, ExerciseResult]) -> list[str]:
        """The parts of an exercise that would be answered for it, as they are not right."""
        return [
            name
            for name in spec.needs
            if name in self._references and name in results and not _is_right(results[name])
        ]

    def _observe(
        self, spec: ExerciseSpec, first: ExerciseResult, parts: Sequence[str], whole: bool
    ) -> ExerciseResult | None:
        own = {name: _parameters(self._submission, name) for name in parts}
        desk = Desk(self._references, parts, own, self._open_reference, self._spent)
        try:
            again = Pass(self._submission, self._open_session, whole=whole, desk=desk)
            found = again.run([spec])[spec.name]
        finally:
            desk.close()
            self._spent = desk.spent
        asked = [name for name in parts if name in desk.asked]
        if not asked or desk.failed:
            return None
        if found.outcome == "passed":
            return msgspec.structs.replace(
                found, followed_through=True, feedback=_passed(found.feedback, asked)
            )
        if found.misconceptions and found.score is not None and not desk.refused:
            score = max(found.score, first.score or 0.0)
            return msgspec.structs.replace(
                found, score=score, feedback=_remains(found.feedback, asked)
            )
        return None


def may_be_a_part(result: ExerciseResult) -> bool:
    """Whether a part that is not right may be what is wrong with a result."""
    return result.outcome in _MAY_BE_A_PART


def _is_right(result: ExerciseResult) -> bool:
    """Whether calls of it can be left to the student's own code; not known is as good."""
    return result.outcome in ("passed", "infrastructure") and not result.followed_through


def _parameters(submission: Submission, name: str) -> tuple[str, ...]:
    """What a student calls the parameters of a function, as its definition says."""
    node = submission.definition(name)
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return ()
    return tuple(item.arg for item in (*node.args.posonlyargs, *node.args.args))


# --- words -------------------------------------------------------------------------------


def _passed(feedback: str, asked: Sequence[str]) -> str:
    calls, cost = ("its", "it costs its") if len(asked) == 1 else ("their", "they cost their")
    return (
        f"{feedback}\n  Your own {_names(asked)} cannot be relied on yet, so {calls} calls were "
        f"answered with right results: {cost} own points, and none here."
    )


def _remains(feedback: str, asked: Sequence[str]) -> str:
    repair = "needs a repair of its own" if len(asked) == 1 else "need repairs of their own"
    return (
        f"{feedback}\n  This remains when calls of {_names(asked)} are answered with right "
        f"results: yours {repair}."
    )


def _names(asked: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in asked]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)
