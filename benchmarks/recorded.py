"""Our grader with all that nbgrader keeps: gradebook, comments, autograded notebooks."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchmarks.course import ROOT, Class
from benchmarks.ours import Ours
from benchmarks.processes import Measured


class Recorded(Ours):
    """`autograder grade --gradebook` on a class, in a course of its own."""

    title = "autograder grade --gradebook"

    def __init__(self, class_: Class, folder: Path, workers: int) -> None:
        super().__init__(class_, folder, workers)
        from autograder.nbgrader_plugin import record

        self.course = folder / "course"
        for name in ("solutions", "source"):
            copied = ROOT / name if name == "solutions" else ROOT / name / class_.assignment
            target = self.course / copied.relative_to(ROOT)
            shutil.copytree(copied, target, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "nbgrader_config.py", self.course)
        # a gradebook that knows the assignment; stock nbgrader is given one too
        record(self.course, class_.assignment, [])
        self._empty = folder / "empty.db"
        self._gradebook = self.course / "gradebook.db"
        self._gradebook.rename(self._empty)

    def grade(self) -> Measured:
        """The measured command, with nothing there of an earlier run."""
        shutil.rmtree(self.course / "autograded", ignore_errors=True)
        shutil.copy(self._empty, self._gradebook)
        return super().grade()

    def options(self) -> list[str]:
        """On top of what is graded how."""
        return ["--gradebook", f"sqlite:///{self._gradebook}"]

    def wrongly_graded(self) -> list[str]:
        """As nbgrader has it: whose score or autograded notebook is missing or not right."""
        from nbgrader.api import Gradebook

        name = self.class_.assignment
        with Gradebook(f"sqlite:///{self._gradebook}", "attention") as gradebook:
            found = {
                entry["student"]: entry["score"] == entry["max_score"]
                for entry in gradebook.submission_dicts(name)
            }
        return [
            student
            for student, is_right in self.class_.right.items()
            if found.get(student) is not is_right
            or not (self.course / "autograded" / student / name / f"{name}.ipynb").is_file()
        ]
