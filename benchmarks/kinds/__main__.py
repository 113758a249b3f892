"""Grade 55 implementations with one mistake each and 16 right but unusual ones, in one table.

Exit status: 0 when every wrong one is caught and no right one rejected, 1 when not, 2 when some
could not be graded.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder.opening import CannotGrade
from benchmarks.kinds.catalogue import UnusableFile, entries
from benchmarks.kinds.grading import Graded, grade

SEED = "kinds"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kinds", description=__doc__)
    parser.add_argument("--seed", default=SEED, help="of the cases (%(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="processes (%(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE too")
    options = parser.parse_args(arguments)
    try:
        graded = grade(entries(), options.seed, options.workers)
    except (CannotGrade, UnusableFile) as problem:
        print(f"benchmarks.kinds: {problem}", file=sys.stderr)
        return 2
    show(graded)
    if options.json is not None:
        figures = json.dumps(_figures(graded, options.seed), indent=1)
        options.json.write_text(figures + "\n", "utf-8")
    if any(item.result.outcome == "infrastructure" for item in graded):
        return 2
    return 0 if all(item.as_it_should for item in graded) else 1


def totals(graded: Sequence[Graded]) -> str:
    """The line that sums up."""
    wrong = [item for item in graded if not item.entry.right]
    right = [item for item in graded if item.entry.right]
    caught, named = sum(item.caught for item in wrong), sum(item.named for item in wrong)
    return (
        f"{caught} of {len(wrong)} caught, {named} of {len(wrong)} named, "
        f"{sum(item.rejected for item in right)} of {len(right)} right rejected"
    )


def show(graded: Sequence[Graded]) -> None:
    """The tables, what was not as it should be, and the totals."""
    out = Console(highlight=False)
    wrong = Table(title="with one mistake", show_lines=True)
    for heading in ("kind", "exercise and mistake", "caught", "named as"):
        wrong.add_column(heading)
    right = Table(title="right but unusual")
    for heading in ("kind", "exercise and what is unusual", "accepted"):
        right.add_column(heading)
    for item in graded:
        about = Text(f"{item.entry.exercise}: {item.entry.about}")
        if item.entry.right:
            right.add_row(item.entry.kind, about, "no" if item.rejected else "yes")
        else:
            sentences = Text("\n".join(item.sentences) or "–")
            wrong.add_row(item.entry.kind, about, "yes" if item.caught else "no", sentences)
    out.print(wrong)
    out.print(right)
    for item in graded:
        problem = _problem(item)
        if problem is not None:
            out.print(Text(f"{problem}: {item.entry.path.name}\n{item.result.feedback}"))
    out.print(f"Isolation: {', '.join(sorted({item.isolation for item in graded}))}.")
    out.print(f"{totals(graded)}.")


def _problem(item: Graded) -> str | None:
    if item.result.outcome == "infrastructure":
        return "not graded"
    if item.entry.right:
        return "rejected" if item.rejected else None
    if not item.caught:
        return "not caught"
    if item.named:
        return None
    return "named as something else" if item.sentences else "caught, but not named"


def _figures(graded: Sequence[Graded], seed: str) -> dict[str, Any]:
    return {
        "seed": seed,
        "totals": totals(graded),
        "entries": [
            {
                "kind": item.entry.kind,
                "exercise": f"{item.entry.assignment}/{item.entry.exercise}",
                "about": item.entry.about,
                "right": item.entry.right,
                "outcome": item.result.outcome,
                "misconceptions": list(item.result.misconceptions),
                "named": item.named,
            }
            for item in graded
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
