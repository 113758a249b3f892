"""What Dask adds: the same class by the local pool and over a cluster of this machine, by turns.

Exit status: 0 when Dask adds no more than promised, 1 when it does, 2 when the two could not be
compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.course import make_class
from benchmarks.ours import Ours
from benchmarks.processes import CommandFailed, Measured

PROMISED = 1.15  # times as long as the local pool, at most
PS = "ps1_numpy_attention"
# Remarks end when their time does, so that no two runs give quite the same; and the more a
# submission costs, the less is what Dask adds.
PLAIN = ("--progress", "json", "--no-explain")
WAYS: Mapping[str, Sequence[str]] = {"local pool": (), "Dask": ("--scheduler", "local")}


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="autograder-bench-") as folder:
            found = run(options, Path(folder))
    except CommandFailed as problem:
        print(f"benchmarks: {problem}", file=sys.stderr)
        return 2
    show(found)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    if not found["equal"]:
        print("benchmarks: the two gave other results, so nothing is compared", file=sys.stderr)
        return 2
    return 1 if found["ratio"]["whole"] > PROMISED else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--submissions", type=int, default=1000, help="size of the class (1000)")
    parser.add_argument("--workers", type=int, default=2, help="of each (2)")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each, by turns (2)")
    parser.add_argument("--assignment", default=PS, help=f"the problem set ({PS})")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE too")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure; all figures as plain data, times in seconds."""
    class_ = make_class(folder / "submitted", options.submissions, options.assignment)
    graders = {
        way: Ours(class_, folder / way, options.workers, [*more, *PLAIN])
        for way, more in WAYS.items()
    }
    runs: dict[str, list[Measured]] = {way: [] for way in graders}
    for number in range(options.rounds):
        # there and back again, so that neither has all the busy moments of the machine
        for way in graders if number % 2 == 0 else reversed(graders):
            runs[way].append(graders[way].grade())
    times = {
        way: {
            "whole": [measured.seconds for measured in found],
            "grading": [_grading(measured.output) for measured in found],
            "processor": [measured.cpu for measured in found],
        }
        for way, found in runs.items()
    }
    one, other = (median_of(times[way]) for way in WAYS)
    return {
        "assignment": options.assignment,
        "submissions": class_.size,
        "workers": options.workers,
        "times": times,
        "peak_mib": {way: max(m.peak for m in found) / 2**20 for way, found in runs.items()},
        "ratio": {name: other[name] / one[name] for name in one},
        "equal": len({_results(grader.document) for grader in graders.values()}) == 1,
    }


def _grading(output: str) -> float:
    """Seconds from the first submission to the last, without the start of the sandbox."""
    events = [json.loads(line) for line in output.splitlines() if line.startswith('{"event"')]
    return next(e["seconds"] for e in events if e["event"] == "end" and e["stage"] == "grading")


def median_of(times: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The median of each kind of time."""
    return {name: median(found) for name, found in times.items()}


def _results(document: dict[str, Any]) -> str:
    return json.dumps([{**entry, "seconds": 0} for entry in document["submissions"]])


def show(found: Mapping[str, Any]) -> None:
    """The table."""
    out = Console(highlight=False, soft_wrap=True)
    title = (
        f"{found['submissions']} submissions to {found['assignment']}, {found['workers']} workers"
    )
    table = Table(title=title)
    for heading in ("", *found["times"], "ratio"):
        table.add_column(heading, justify="left" if not heading else "right")
    labels = {
        "whole": "whole command",
        "grading": "from the first submission to the last",
        "processor": "processor time",
    }
    for name, label in labels.items():
        cells = [f"{median(times[name]):.2f} s" for times in found["times"].values()]
        table.add_row(label, *cells, f"{found['ratio'][name]:.3f}")
    table.add_row("peak memory", *[f"{size:.0f} MiB" for size in found["peak_mib"].values()], "")
    out.print(table)
    for way, times in found["times"].items():
        out.print(
            f"{way}, each run: {', '.join(f'{seconds:.2f} s' for seconds in times['whole'])}."
        )
    verdict = "reached" if found["ratio"]["whole"] <= PROMISED else "NOT reached"
    out.print(
        f"Whole command, ratio: {found['ratio']['whole']:.3f} (at most {PROMISED}, {verdict})."
    )


if __name__ == "__main__":
    sys.exit(main())
