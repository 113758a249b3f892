"""Every notebook of the course, solved, runs from top to bottom in a fresh kernel.

The source notebook is the solved one. It runs beside what students get with theirs, without
anything else of the course, and with warnings as errors.
"""

import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.pack import assignments_of
from autograder.selfcheck import KEY_FILE
from tests.e2e.folders import NBCLIENT

COURSE = Path(__file__).parents[2]
ASSIGNMENTS = [name for name in assignments_of(COURSE) if (COURSE / "source" / name).is_dir()]

SECONDS = 55  # of processor time, for a notebook on a student's machine
WARNINGS = "import warnings\n\nwarnings.simplefilter('error')"
# What the notebooks' own helper prints instead of raising.
NOT_SHOWN = ("Come back to this cell", "This picture needs", "This did not work")


@pytest.fixture(scope="module", params=ASSIGNMENTS)
def executed(request, tmp_path_factory):
    """(cells, processor seconds) of a solved notebook."""
    name = request.param
    folder = tmp_path_factory.mktemp(name)
    for companion in (KEY_FILE, f"test_{name}.py"):
        shutil.copy(COURSE / "assignments" / name / companion, folder)
    book = json.loads((COURSE / "source" / name / f"{name}.ipynb").read_text("utf-8"))
    first = {"cell_type": "code", "id": "warnings", "metadata": {}, "source": WARNINGS}
    book["cells"].insert(0, {**first, "outputs": [], "execution_count": None})
    path = folder / f"{name}.ipynb"
    path.write_text(json.dumps(book), "utf-8")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # a process of its own: pytest makes errors of warnings, also of the client's
    command = [sys.executable, "-c", NBCLIENT, path.name]
    subprocess.run([*command, "--inplace", "--allow-errors"], cwd=folder, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(path.read_text("utf-8"))["cells"], seconds


def outputs(cells, kind):
    return [
        (cell["id"], output)
        for cell in cells
        for output in cell.get("outputs", [])
        if output["output_type"] == kind
    ]


def text_of(output):
    text = output.get("text") or output.get("data", {}).get("text/plain", "")
    return "".join(text)


def test_nothing_goes_wrong(executed):
    cells, _ = executed
    errors = outputs(cells, "error")
    assert [(place, error["ename"], error["evalue"]) for place, error in errors] == []
    streams = outputs(cells, "stream")
    printed = [(place, text_of(output)) for place, output in streams]
    assert [item for item, (_, output) in zip(printed, streams, strict=True)
            if output["name"] == "stderr"] == []  # fmt: skip
    assert [item for item in printed if any(words in item[1] for words in NOT_SHOWN)] == []


def test_every_check_passes_and_every_answer_is_read(executed):
    cells, _ = executed
    shown = {}
    for kind in ("stream", "display_data", "execute_result"):
        for place, output in outputs(cells, kind):
            shown[place] = shown.get(place, "") + text_of(output)
    checks = [cell for cell in cells if cell["id"].startswith("check_")]
    assert checks
    for cell in checks:
        words = shown.get(cell["id"], "")
        if cell["id"].startswith("check_q_"):
            assert words and "no answer yet" not in words, (cell["id"], words)
        else:
            assert "all public cases pass" in words, (cell["id"], words)


def test_it_takes_less_than_a_minute(executed):
    _, seconds = executed
    assert seconds < SECONDS
