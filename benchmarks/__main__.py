"""Our grader and others on the same notebooks, in one run and one table.

Exit status: 0 when everything promised is kept, 1 when it is not, 2 when the graders could
not be compared.
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

from benchmarks import repeating, saving, table
from benchmarks.course import PS, SEED, Class, make_class
from benchmarks.graders import Grader, figures, ratios
from benchmarks.otter import Otter, otter_command
from benchmarks.ours import Ours, Parts, take_apart
from benchmarks.processes import INTERVAL, CommandFailed, Measured, unit
from benchmarks.recorded import Recorded
from benchmarks.stock import Stock

# One submission at a time, with walls, channels, reading and judging, may take this many times
# what its calls take without.
MOST_OVER_FLOOR = 12.0
PACKAGES = ("attention-autograder", "nbgrader", "nbclient", "numpy", "torch")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; the exit status."""
    options = _options(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="autograder-bench-") as folder:
            found = run(options, Path(folder))
    except CommandFailed as problem:
        print(f"benchmarks: {problem}", file=sys.stderr)
        return 2
    table.show(found)
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    wrong = {key: g["wrongly_graded"] for key, g in found["graders"].items()}
    if any(wrong.values()):
        print(
            f"benchmarks: not comparable, since scores are not as expected ({wrong}); see that "
            "autograder build --check and autograder validate are content",
            file=sys.stderr,
        )
        return 2
    return 0 if all(kept(found)) else 1


def kept(found: dict[str, Any]) -> list[bool]:
    """Which of the promises are kept."""
    return [
        *(ratio["ratio"] >= ratio["target"] for ratio in found["ratios"]),
        found["over_floor"] <= found["most_over_floor"],
        *(save["median_ms"] <= save["most_ms"] for save in found["saves"].values()),
        *(repeat["kept"] for repeat in found["repeated"]),
    ]


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--assignment", default=PS, help=f"the set ({PS})")
    parser.add_argument(
        "--submissions", type=_at_least(1), default=1000, help="size of the class (1000)"
    )
    parser.add_argument(
        "--others",
        type=_at_least(0),
        metavar="N",
        default=10,
        help="give the other graders the first N only, since they take seconds for each "
        "(10; 0: leave them out)",
    )
    parser.add_argument(
        "--workers",
        type=_at_least(1),
        default=_cores(),
        help="of our grader (one a core); the others have one",
    )
    parser.add_argument(
        "--otter",
        metavar="COMMAND",
        help="the command otter of an environment with otter-grader, PyTorch and "
        "attention-autograder (by default, that on PATH or beside this Python)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="the table alone: no self-check, no repeated run"
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
    class_ = make_class(folder / "submitted", options.submissions, options.assignment)
    ours = Ours(class_, folder / "ours", options.workers)
    mine = {"ours": ours, "recorded": Recorded(class_, folder / "recorded", options.workers)}
    count = min(options.others, class_.size)
    others: dict[str, Grader] = {}
    otter = otter_command(options.otter)
    if count:
        others["stock"] = Stock(folder / "stock", class_, count)
        if otter is not None:
            others["otter"] = Otter(folder / "otter", class_, count, otter)
    # the others between two runs of ours, so that one busy moment does not decide
    runs: dict[str, list[Measured]] = {key: [] for key in mine}
    for key, grader in mine.items():
        out.print(f"{class_.size} notebooks of {class_.assignment}: {grader.title} …")
        runs[key].append(grader.grade())
    measured: dict[str, Any] = {}
    for key, other in others.items():
        out.print(f"{other.count} of them: {other.title}, seconds for each …")
        measured[key] = figures(other, [other.grade()])
    for key, grader in mine.items() if others else ():
        out.print(f"{grader.title} once more …")
        runs[key].append(grader.grade())
    graders = {key: figures(grader, runs[key]) for key, grader in mine.items()} | measured
    parts = _parts(
        take_apart(
            make_class(folder / "apart", min(20, class_.size), class_.assignment), options.workers
        )
    )
    return {
        "assignment": class_.assignment,
        "submissions": class_.size,
        "seed": SEED,
        "isolation": ours.document["isolation"],
        "graders": graders,
        "not_installed": [] if otter else ["otter-grader"],
        "ratios": ratios(graders),
        "over_floor": sum(parts["each_ms"].values()) / parts["floor_ms"],
        "most_over_floor": MOST_OVER_FLOOR,
        "saves": {} if options.quick else _saves(folder),
        "repeated": [] if options.quick else [_repeated(class_, folder, options.workers)],
        "memory": f"{unit()}, summed over the process tree every {INTERVAL * 1000:g} ms",
        "parts": parts,
        "machine": {
            "system": f"{platform.system()} {platform.release()} {platform.machine()}",
            "processor": _processor(),
            "cores": _cores(),
            "load at the end": _load(),
            "python": platform.python_version(),
            **{name: version(name) for name in PACKAGES},
        },
    }


def _saves(folder: Path) -> dict[str, Any]:
    found = {}
    for name, most in saving.MOST.items():
        times = saving.latencies(name, folder / "saving" / name, 10)
        found[name] = {
            "median_ms": round(median(times), 1),
            "most_ms": most,
            "all_ms": [round(ms) for ms in times],
        }
    return found


def _repeated(class_: Class, folder: Path, workers: int) -> dict[str, Any]:
    run = repeating.repeated(class_, folder / "repeating", workers)
    most = repeating.MOST_SECONDS
    return {
        "submissions": class_.size,
        "seconds": [round(seconds, 2) for seconds in run.seconds],
        "observed": run.observed,
        "most_seconds": most,
        "kept": run.seconds[1] <= most
        and run.observed[1].startswith("nothing")
        and run.observed[2].count(",") == 0,
    }


def _parts(parts: Parts) -> dict[str, Any]:
    return {
        "once_ms": {name: round(seconds * 1000, 1) for name, seconds in parts.once.items()},
        "each_ms": {name: round(seconds * 1000, 2) for name, seconds in parts.each.items()},
        "floor_ms": round(parts.floor * 1000, 2),
        "judged_ms": round(parts.judged * 1000, 2),
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


if __name__ == "__main__":
    sys.exit(main())
