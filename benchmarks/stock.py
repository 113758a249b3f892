"""Stock nbgrader: a course of its own with the default configuration, none of our plug-in."""

from __future__ import annotations

import csv
import os
import shutil
import sys
from pathlib import Path

from benchmarks.course import ROOT, Class
from benchmarks.processes import Measured, measure

CONFIGURATION = "c = get_config()  # nothing: nbgrader's defaults\n"


class Stock:
    """The course, ready for `nbgrader autograde`."""

    title = "nbgrader autograde"
    workers = 1

    def __init__(self, folder: Path, class_: Class, count: int) -> None:
        self.folder = folder
        self.count = count
        self._assignment = class_.assignment
        self.right = dict(list(class_.right.items())[:count])
        self._exercise_points = class_.exercise_points
        folder.mkdir(parents=True)
        (folder / "nbgrader_config.py").write_text(CONFIGURATION, "utf-8")
        shutil.copytree(ROOT / "source" / class_.assignment, folder / "source" / class_.assignment)
        for student in self.right:
            shutil.copytree(class_.submitted / student, folder / "submitted" / student)
        # what autograde needs in its database; not a part of what is measured
        self._nbgrader("generate_assignment", class_.assignment)

    def grade(self) -> Measured:
        """The measured command, from the start of its process to the end."""
        return self._nbgrader("autograde", self._assignment)

    def wrongly_graded(self) -> list[str]:
        """Students whose score is not what their code deserves, or who have none.

        The quiz gives no points here: it is graded by us alone.
        """
        self._nbgrader("export", "--to", "grades.csv")
        with (self.folder / "grades.csv").open(encoding="utf-8", newline="") as file:
            scores = {row["student_id"]: float(row["score"] or 0) for row in csv.DictReader(file)}
        full = self._exercise_points
        return [
            student
            for student, is_right in self.right.items()
            if student not in scores or (scores[student] == full) != is_right
        ]

    def _nbgrader(self, *arguments: str) -> Measured:
        command = [sys.executable, "-m", "nbgrader", *arguments]
        return measure(command, self.folder, self._environment())

    def _environment(self) -> dict[str, str]:
        here = Path(sys.executable).parent
        nothing = str(self.folder / "no-configuration")
        return {
            **os.environ,
            # nbgrader calls `alembic` by name
            "PATH": os.pathsep.join([str(here), os.environ.get("PATH", "")]),
            # whatever configuration the machine has is not stock
            "JUPYTER_CONFIG_DIR": nothing,
            "IPYTHONDIR": nothing,
        }
