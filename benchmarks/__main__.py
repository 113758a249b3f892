"""Our grader and stock nbgrader on the same notebooks, in one run and one table.

Exit status: 0 when ours is at least as many times quicker as promised, 1 when it is not,
2 when the two could not be compared.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.course import PS, SEED, make_class
from benchmarks.ours import Ours, Parts, take_apart
from benchmarks.processes import INTERVAL, CommandFailed, Measured, unit
from benchmarks.stock import Stock

TARGET = 30.0  # times quicker per submission than stock nbgrader
PACKAGES = ("attention-autograder", "nbgrader", "nbclient", "numpy")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="autograder-bench-") as folder:
            figures = run(options, Path(folder))
    except CommandFailed as problem:
        print(f"benchmarks: {problem}", file=sys.stderr)
        return 2
    show(figures)
    if options.json is not None:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    wrong = {key: g["wrongly_graded"] for key, g in figures["graders"].items()}
    if any(wrong.values()):
        print(
            f"benchmarks: not comparable, since scores are not as expected ({wrong}); see that "
            "autograder build --check and autograder validate are content",
            file=sys.stderr,
        )
        return 2
    return 1 if figures["ratio"] is not None and figures["ratio"] < TARGET else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--submissions", type=_at_least(1), default=40, help="size of the class (40)"
    )
    parser.add_argument(
        "--stock",
        type=_at_least(0),
        metavar="N",
        help="give stock nbgrader the first N only (by default all; 0: leave it out)",
    )
    parser.add_argument(
        "--workers",
        type=_at_least(1),
        default=_cores(),
        help="of our grader (one a core); nbgrader has one",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures to FILE too")
    return parser.parse_args(arguments)


def _at_least(least: int) -> Any:
    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}")
        return int(text)

    return number


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def run(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Measure; all figures as plain data."""
    out = Console(stderr=True)
    class_ = make_class(folder / "submitted", options.submissions)
    out.print(f"{class_.size} notebooks of {PS}; grading them with autograder grade …")
    ours = Ours(class_, folder / "ours", options.workers)
    # seconds beside minutes: runs before and after, so that one busy moment decides nothing
    runs = [ours.grade()]
    graders: dict[str, Any] = {"ours": {}}
    count = class_.size if options.stock is None else min(options.stock, class_.size)
    if count:
        out.print(f"grading {count} of them with nbgrader autograde, seconds for each …")
        stock = Stock(folder / "stock", class_, count)
        measured = stock.autograde()
        graders["stock"] = _figures([measured], count, 1, stock.wrongly_graded())
        runs += [ours.grade(), ours.grade()]
    graders["ours"] = _figures(runs, class_.size, options.workers, ours.wrongly_graded())
    parts = take_apart(class_, options.workers)
    ratio = None
    if "stock" in graders:
        ratio = graders["stock"]["seconds_each"] / graders["ours"]["seconds_each"]
    return {
        "assignment": PS,
        "submissions": class_.size,
        "seed": SEED,
        "isolation": ours.document["isolation"],
        "graders": graders,
        "ratio": ratio,
        "target": TARGET,
        "memory": f"{unit()}, summed over the process tree every {INTERVAL * 1000:g} ms",
        "parts": _parts(parts),
        "machine": {
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            "processor": _processor(),
            "cores": _cores(),
            "load at the end": _load(),
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
    }


def _figures(
    runs: Sequence[Measured], count: int, workers: int, wrongly_graded: list[str]
) -> dict[str, Any]:
    seconds = median(run.seconds for run in runs)
    return {
        "submissions": count,
        "workers": workers,
        "runs": [round(run.seconds, 3) for run in runs],
        "seconds": round(seconds, 3),  # the median
        "seconds_each": seconds / count,
        "cpu_each": median(run.cpu for run in runs) / count,
        "peak_mib": round(max(run.peak for run in runs) / 2**20, 1),
        "wrongly_graded": wrongly_graded,
    }


def _parts(parts: Parts) -> dict[str, Any]:
    return {
        "once_ms": {name: round(seconds * 1000, 1) for name, seconds in parts.once.items()},
        "each_ms": {name: round(seconds * 1000, 2) for name, seconds in parts.each.items()},
        "floor_ms": round(parts.floor * 1000, 2),
    }


def _load() -> float | None:
    """How busy the machine was with this and everything else, over the last minute."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), "unknown")


# --- printing --------------------------------------------------------------------------


def show(figures: dict[str, Any]) -> None:
    """The table, and what one has to know to read it."""
    out = Console(highlight=False, soft_wrap=True)
    graders = figures["graders"]
    names = {"ours": "autograder grade", "stock": "nbgrader autograde"}
    table = Table(title=f"{figures['assignment']}: half right, half with one misconception")
    table.add_column("")
    for key in graders:
        table.add_column(names[key], justify="right")
    rows = {
        "submissions": "{submissions}",
        "workers": "{workers}",
        "wall time, start-up included": "{seconds:.2f} s",
        "per submission": "{each:.1f} ms",
        "processor time per submission": "{cpu:.1f} ms",
        "peak memory of the process tree": "{peak_mib:.0f} MiB",
    }
    for label, form in rows.items():
        cells = [
            form.format(**g, each=g["seconds_each"] * 1000, cpu=g["cpu_each"] * 1000)
            for g in graders.values()
        ]
        table.add_row(label, *cells)
    table.add_row(
        "scores as expected", *["no" if g["wrongly_graded"] else "yes" for g in graders.values()]
    )
    out.print(table)
    if figures["ratio"] is not None:
        verdict = "reached" if figures["ratio"] >= figures["target"] else "NOT reached"
        runs = ", ".join(f"{seconds:.2f} s" for seconds in graders["ours"]["runs"])
        out.print(f"Ours: the median of runs before and after nbgrader's ({runs}).")
        out.print(
            f"Ratio per submission: {figures['ratio']:.1f} "
            f"(target: at least {figures['target']:g}, {verdict})."
        )
        fewer = graders["stock"]["submissions"]
        if fewer < graders["ours"]["submissions"]:
            out.print(f"nbgrader was given {fewer} of the notebooks: its start-up weighs more.")
    out.print(f"Isolation of ours: {figures['isolation']}. nbgrader runs code in plain kernels.")
    out.print(f"Memory: {figures['memory']}.")
    _show_parts(out, figures["parts"])
    out.print(", ".join(f"{name} {value}" for name, value in figures["machine"].items()) + ".")


def _show_parts(out: Console, parts: dict[str, Any]) -> None:
    each = ", ".join(f"{name} {ms:g}" for name, ms in parts["each_ms"].items())
    total = sum(parts["each_ms"].values())
    out.print(f"One submission at a time: {total:.1f} ms ({each}).")
    out.print(f"The same calls without isolation, in one process: {parts['floor_ms']:.1f} ms.")
    once = ", ".join(f"{name} {ms:g} ms" for name, ms in parts["once_ms"].items())
    out.print(f"Once a run, beside the start of Python: {once}.")


if __name__ == "__main__":
    sys.exit(main())
