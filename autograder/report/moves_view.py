"""A regrade in the terminal: what was observed, who moved, what would fall."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from autograder.moves import Move
from autograder.regrading import Regrade
from autograder.report.terminal import console
from autograder.wording import clean


def print_regrade(regrade: Regrade) -> None:
    """What this run observed and kept, then every move, one a line."""
    out = console()
    observed = ", ".join(
        f"{name} {regrade.observed[name]}"
        for name in regrade.assignment.bases
        if regrade.observed[name]
    )
    out.print(f"Observed: {observed or 'nothing'}; kept: {regrade.kept_results()} results.")
    for exercise, cases in regrade.assignment.dropped.items():
        for case in cases:
            out.print(
                f"Left out: the case {exercise}/{case} (--restore-case {exercise}/{case} brings "
                "it back)."
            )
    if regrade.gone:
        names = ", ".join(clean(student) for student in regrade.gone[:10])
        more = f" and {len(regrade.gone) - 10} more" if len(regrade.gone) > 10 else ""
        out.print(Text(f"Graded before, and handed in no more: {names}{more}."))
    moves = regrade.moves()
    if moves:
        students = len({move.student for move in moves})
        out.print(
            f"Moved since the last run: {_count(len(moves), 'result')} of "
            f"{_count(students, 'student')}."
        )
    for move in moves:
        out.print(Text(f"  {words_of(move)}", style="yellow" if move.falls else ""))


def words_of(move: Move) -> str:
    """One move in a line."""
    before = f"{move.outcome_before} {_points(move.score_before)}"
    after = f"{move.outcome} {_points(move.score)} of {move.max_score:g}"
    end = " — NOT TAKEN OVER: the earlier score stands" if move.kept else ""
    return f"{clean(move.student)}  {move.name}: {before} → {after} ({move.cause}){end}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _points(score: float | None) -> str:
    return "–" if score is None else f"{score:g}"


def fallen(moves: Sequence[Move]) -> str | None:
    """What to do about scores that would fall, in a sentence; None when there are none."""
    kept = [move for move in moves if move.kept and move.score is not None]
    if not kept:
        return None
    students = len({move.student for move in kept})
    return (
        f"{_count(len(kept), 'score')} of {_count(students, 'student')} would be lower than "
        "before, so the earlier ones stand (see above); to take the lower ones, run the same "
        "command with --allow-lower"
    )
