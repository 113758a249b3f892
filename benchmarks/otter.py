"""otter-grader, where it is installed: `otter run` on the same notebooks, one after the other.

Its tests call the same self-check as nbgrader's cells do. It is not required anywhere: give
`--otter COMMAND`, or have it on PATH.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

from autograder.selfcheck import KEY_FILE
from benchmarks.course import ROOT, Class
from benchmarks.processes import Measured, measure

# `check` shows a card and returns the points; a test is passed by its last line's output.
_TEST = """OK_FORMAT = True
test = {{
    "name": {name!r},
    "points": {points!r},
    "suites": [{{
        "cases": [{{
            "code": r'''>>> import contextlib, io
>>> with contextlib.redirect_stdout(io.StringIO()):
...     points = check({name!r})
>>> points == {points!r}
True''',
            "hidden": False,
            "locked": False,
        }}],
        "scored": True,
        "setup": "",
        "teardown": "",
        "type": "doctest",
    }}],
}}
"""


def otter_command(given: str | None) -> str | None:
    """The command that was given, or the one that is installed, if any."""
    beside = Path(sys.executable).with_name("otter")
    return given or (str(beside) if beside.exists() else shutil.which("otter"))


class Otter:
    """The class and an autograder archive for `otter run`."""

    title = "otter run"
    workers = 1

    def __init__(self, folder: Path, class_: Class, count: int, command: str) -> None:
        self.count = count
        self.right = dict(list(class_.right.items())[:count])
        self._folder = folder
        self._class = class_
        self._command = os.path.abspath(command)
        tests = folder / "tests"
        tests.mkdir(parents=True)
        self._points = _exercise_points(class_.assignment)
        for name, points in self._points.items():
            (tests / f"{name}.py").write_text(_TEST.format(name=name, points=points), "utf-8")
        # `otter run` copies the notebook away from what lies beside it, but brings such files
        shutil.copy(ROOT / "assignments" / class_.assignment / KEY_FILE, folder)
        options = ["-t", "tests", "-o", "autograder.zip", "--no-environment"]
        self._otter("generate", *options, KEY_FILE)

    def grade(self) -> Measured:
        """One command for each notebook, as it works without containers."""
        loop = "import json, subprocess, sys\nfor c in json.load(open(sys.argv[1])):\n"
        loop += "    subprocess.run(c['command'], cwd=c['folder'], check=True)\n"
        todo = []
        for student in self.right:
            folder = self._folder / "graded" / student
            folder.mkdir(parents=True, exist_ok=True)
            name = f"{self._class.assignment}.ipynb"
            shutil.copy(self._class.submitted / student / self._class.assignment / name, folder)
            archive = str(self._folder / "autograder.zip")
            command = [self._command, "run", "--no-logo", "-a", archive, "-o", ".", name]
            todo.append({"command": command, "folder": str(folder)})
        plan = self._folder / "plan.json"
        plan.write_text(json.dumps(todo), "utf-8")
        command = [sys.executable, "-c", loop, str(plan)]
        return measure(command, self._folder, self._environment())

    def wrongly_graded(self) -> list[str]:
        """Students of whom not exactly those tests passed that should."""
        wrong = []
        for student, is_right in self.right.items():
            file = self._folder / "graded" / student / "results.json"
            tests = json.loads(file.read_text("utf-8"))["tests"]
            found = {test["name"]: test.get("score", 0) for test in tests}
            all_right = all(found.get(name) == most for name, most in self._points.items())
            if all_right != is_right:
                wrong.append(student)
        return wrong

    def _otter(self, *arguments: str) -> Measured:
        return measure([self._command, *arguments], self._folder, self._environment())

    def _environment(self) -> dict[str, str]:
        here = str(Path(self._command).parent)
        nothing = str(self._folder / "no-configuration")
        path = os.pathsep.join([here, os.environ.get("PATH", "")])
        return {
            **os.environ,
            "PATH": path,
            "JUPYTER_CONFIG_DIR": nothing,
            "IPYTHONDIR": nothing,
        }


def _exercise_points(assignment: str) -> dict[str, float]:
    book = ROOT / "assignments" / assignment / f"{assignment}.ipynb"
    cells = json.loads(book.read_text("utf-8"))["cells"]
    about = [cell["metadata"].get("nbgrader", {}) for cell in cells]
    return {
        item["grade_id"].removeprefix("check_"): float(item["points"])
        for item in about
        if item.get("grade") and not item["grade_id"].startswith("check_q_")
    }
