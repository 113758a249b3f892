"""Every set as a student has it: untouched, and solved; in a kernel, with pytest, with check.

`test_student_folder` looks closely at one set, from an installed wheel. Here each set goes
through the same three programs once.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autograder import stubs
from autograder.pack import assignments_of
from tests.e2e.folders import (
    NBCLIENT,
    ROOT,
    environment,
    pack,
    questions,
    right_answers,
    right_code,
    run,
    work_on,
)

pytestmark = pytest.mark.e2e

PYTEST = "import sys, pytest; sys.exit(pytest.main())"
AUTOGRADER = "from autograder.cli import main; main()"


@dataclass(frozen=True)
class Tried:
    """What three programs said of one set.

    cells: of the release's notebook, executed. tested: pytest over an untouched copy and a
    solved notebook. checked: `autograder check` in the folder of a solved module.
    """

    name: str
    cells: list[dict[str, Any]]
    tested: tuple[int, str]
    checked: tuple[int, str]

    @property
    def exercises(self) -> list[str]:
        return list(pack(self.name).exercises)

    def items(self, copy: str) -> list[tuple[str, str]]:
        """(exercise, outcome) of every item of one of the two copies that pytest saw."""
        found = re.findall(
            rf"^{copy}/\S+::test_(\w+)\[.*\] (PASSED|FAILED|SKIPPED)", self.tested[1], re.M
        )
        assert found, self.tested[1]
        return found

    def under(self, grade_id: str) -> list[dict[str, Any]]:
        """What stands under a cell of the executed notebook."""
        outputs: list[dict[str, Any]] = next(
            cell["outputs"]
            for cell in self.cells
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
        )
        return outputs


def copy_of(name: str, folder: Path) -> Path:
    release = ROOT / "assignments" / name
    return shutil.copytree(release, folder, ignore=shutil.ignore_patterns("__pycache__"))


def _program(code: str, folder: Path, *arguments: str) -> tuple[int, str]:
    done = run([sys.executable, "-c", code, *arguments], folder, environment(COLUMNS="300"))
    return done.returncode, done.stdout


def _execute(name: str, folder: Path) -> list[dict[str, Any]]:
    """The cells of the notebook in a folder, after a fresh kernel has run them all."""
    path = folder / f"{name}.ipynb"
    # a process of its own: pytest makes errors of warnings, also of the client's
    status, printed = _program(NBCLIENT, folder, path.name, "--inplace", "--allow-errors")
    assert status == 0, printed
    cells: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))["cells"]
    return cells


# The one that is given an exercise; the others in `make soak`. What is done with ps1 here is
# part of test_student_folder too.
QUICK = ("ps6_transformer_block",)
SETS = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.soak)
    for name in assignments_of(ROOT)
]


@pytest.fixture(scope="module", params=SETS)
def tried(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tried:
    name: str = request.param
    parent = tmp_path_factory.mktemp(name)
    copies = {kind: copy_of(name, parent / kind) for kind in ("untouched", "solved", "module")}
    in_kernel = copy_of(name, tmp_path_factory.mktemp("kernel") / name)
    # as the source notebook has it, solution markers and all
    sources = pack(name).sources
    cells = {
        key: stubs.solution_cell(item, sources[key]) for key, item in pack(name).exercises.items()
    }
    work_on(copies["solved"], "notebook", cells, right_answers(name), name)
    work_on(copies["module"], "module", right_code(name), right_answers(name), name)
    with ThreadPoolExecutor(3) as threads:  # each waits for a process
        executed = threads.submit(_execute, name, in_kernel)
        tested = threads.submit(_program, PYTEST, parent, "-v", "untouched", "solved")
        checked = threads.submit(_program, AUTOGRADER, copies["module"], "check")
    return Tried(name, executed.result(), tested.result(), checked.result())


def test_an_untouched_notebook_runs_to_its_end(tried: Tried) -> None:
    """And every check in it says that there is nothing to check yet."""
    outputs = [output for cell in tried.cells for output in cell.get("outputs", ())]
    assert [o for o in outputs if o["output_type"] == "error"] == []
    assert [o for o in outputs if o.get("name") == "stderr"] == []
    for name in tried.exercises:
        (card,) = (o for o in tried.under(f"check_{name}") if o["output_type"] == "display_data")
        said = "".join(card["data"]["text/plain"])
        assert said.splitlines()[0] == f"○ {name}: not written yet"
    for question in questions(tried.name):
        (card,) = (
            o for o in tried.under(f"check_q_{question.id}") if o["output_type"] == "display_data"
        )
        assert "no answer yet" in "".join(card["data"]["text/plain"])


def test_pytest_in_an_untouched_folder(tried: Tried) -> None:
    """One failure of one line for each exercise; what would come after it is skipped."""
    status, printed = tried.tested
    assert status == 1
    items = tried.items("untouched")
    assert [name for name, outcome in items if outcome == "FAILED"] == tried.exercises
    assert {outcome for _, outcome in items} == {"FAILED", "SKIPPED"}
    failures = printed.split("= FAILURES =", 1)[1].split("= self-check of ", 1)[0]
    lines = [line for line in failures.splitlines()[1:] if line and line[0] not in "=_"]
    assert lines == [f"{name}: not written yet." for name in tried.exercises]
    assert f"0 of {len(tried.exercises)} exercises written" in printed


def test_pytest_in_a_solved_folder(tried: Tried) -> None:
    items = tried.items("solved")
    assert {name for name, _ in items} == set(tried.exercises)
    assert {outcome for _, outcome in items} == {"PASSED"}, tried.tested[1]
    # the same checks as there are of the stubs
    assert sorted(name for name, _ in items) == sorted(name for name, _ in tried.items("untouched"))


def test_check_in_a_solved_folder(tried: Tried) -> None:
    status, printed = tried.checked
    assert status == 0, printed
    assert re.findall(r"^✓ (\w+):", printed, re.M) == tried.exercises
    count = len(questions(tried.name))
    assert f"{count} of {count} questions answered." in printed
