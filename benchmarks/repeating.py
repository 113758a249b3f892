"""A class graded again: unchanged, and after one exercise was changed."""

from __future__ import annotations

import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.course import ROOT, Class
from benchmarks.processes import Measured, measure

MOST_SECONDS = 3.0  # for a class of 1,000 in which nothing has changed


@dataclass(frozen=True)
class Repeated:
    """Seconds of the three runs, and what each says that it observed."""

    seconds: tuple[float, float, float]
    observed: tuple[str, str, str]


def repeated(class_: Class, folder: Path, workers: int) -> Repeated:
    """Grade in a copy of the course: at first, with nothing changed, with one exercise changed."""
    course = folder / "course"
    shutil.copytree(
        ROOT / "solutions", course / "solutions", ignore=shutil.ignore_patterns("__pycache__")
    )
    runs = [_grade(class_, course, workers), _grade(class_, course, workers)]
    changed = next(iter(sorted((course / "solutions" / class_.assignment).glob("[a-z]*.py"))))
    changed.write_text(changed.read_text("utf-8") + "\n# a remark\n", "utf-8")
    runs.append(_grade(class_, course, workers))
    found = [re.search(r"Observed: (.*)\.", run.output) for run in runs]
    first, second, third = (match[1].partition(";")[0] if match else "?" for match in found)
    times = [run.seconds for run in runs]
    return Repeated((times[0], times[1], times[2]), (first, second, third))


def _grade(class_: Class, course: Path, workers: int) -> Measured:
    command = [sys.executable, "-m", "autograder.cli", "grade", class_.assignment]
    command += ["--course", str(course), "--submitted", str(class_.submitted)]
    command += ["--json", str(course / "result.json"), "--workers", str(workers)]
    return measure([*command, "--allow-unsandboxed"], course, os.environ)
