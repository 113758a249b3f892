"""How long a student waits: `autograder check --watch`, from the save to the verdict."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

from autograder import stubs
from autograder.pack import load_pack
from benchmarks.course import ROOT

# Milliseconds from the save to the last line, at most, on two cores.
MOST = {"ps1_numpy_attention": 150.0, "ps3_multi_head": 250.0}
_WAITING = b"Waiting for you to save"
_PATIENCE = 120.0


def latencies(assignment: str, folder: Path, saves: int) -> list[float]:
    """Milliseconds of each of `saves` saves of a module in which one exercise is written anew.

    The exercise is right in one save and wrong in the next. The process that will run the code
    is started while nobody waits; its start is over before the next save, as it is when a person
    writes.
    """
    pack = load_pack(ROOT, assignment)
    shutil.copytree(ROOT / "assignments" / assignment, folder)
    (folder / f"{assignment}.ipynb").unlink(missing_ok=True)
    module = folder / f"{assignment}.py"
    stub = module.read_text("utf-8")
    name = next(iter(pack.exercises))
    source = pack.sources[name]
    wrong = next(m.name for m in pack.exercises[name].misconceptions if not m.hidden)
    texts = [
        stub.replace(
            stubs.stub_cell(pack.exercises[name], source), stubs.student_code(source, way, name)
        )
        for way in (name, wrong)
    ]
    command = [sys.executable, "-m", "autograder.cli", "check", "--watch", "-e", name]
    found = []
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            _read_until_waiting(process.stdout.fileno())
            for number in range(saves):
                time.sleep(6.0 if assignment != "ps1_numpy_attention" else 2.0)
                fresh = folder / "half-written~"
                fresh.write_text(texts[number % 2], "utf-8")
                start = time.perf_counter()
                os.replace(fresh, module)
                _read_until_waiting(process.stdout.fileno())
                found.append(1000 * (time.perf_counter() - start))
        finally:
            process.kill()
    return found


def _read_until_waiting(descriptor: int) -> None:
    seen = b""
    until = time.monotonic() + _PATIENCE
    while _WAITING not in seen:
        ready, _, _ = select.select([descriptor], [], [], max(until - time.monotonic(), 0))
        piece = os.read(descriptor, 1 << 16) if ready else b""
        if not piece:
            raise RuntimeError("autograder check --watch said nothing more")
        seen += piece
