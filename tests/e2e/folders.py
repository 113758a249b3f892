"""What the tests from end to end stand on: copies of the repository, archives, submissions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from autograder import demo, stubs
from autograder.pack import Pack, load_pack
from autograder.quiz import Question, for_student, guessing, load_quiz

ROOT = Path(__file__).parents[2]
PS = "ps1_numpy_attention"
RELEASE = ROOT / "assignments" / PS

# Runs a notebook in a fresh kernel. It takes a fifth of the time without a grammar of addresses
# that is never asked.
NBCLIENT = "import sys; sys.modules['rfc3987_syntax'] = None; from nbclient.cli import main; main()"

# What is there in a clone; a fixed list, since a work tree may hold a demo and an environment.
_FOLDERS = ("autograder", "solutions", "source", "assignments", "docs", "tests", "benchmarks")
_CACHES = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints", ".pytest_cache")


def copy_repository(target: Path, folders: tuple[str, ...] = _FOLDERS) -> Path:
    """Copy the named folders of the repository and the files at its top."""
    target.mkdir(parents=True)
    for name in folders:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, target / name, ignore=_CACHES)
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy(path, target / path.name)
    return target


def environment(**more: str) -> dict[str, str]:
    """This process's environment without what belongs to the running tests or to a CI system."""
    ours = ("PYTEST_", "COV_", "COVERAGE_", "PYTHONPATH", "PYTHONWARNINGS")
    # by these two pytest knows a CI system, where it cuts no line short
    system = ("CI", "BUILD_NUMBER")
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(ours) and key not in system
    }
    # a terminal's width and colours change what is printed
    return {**kept, "COLUMNS": "100", "NO_COLOR": "1", **more}


def run(
    command: list[str | Path],
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 120.0,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; standard error is a part of the output."""
    return subprocess.run(
        command,
        cwd=cwd,
        env=dict(env or environment()),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=timeout,
        check=False,
    )


def run_well(command: list[str | Path], cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """The output of a command that must succeed."""
    done = run(command, cwd, env)
    assert done.returncode == 0, f"{command} ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def build_archives(tree: Path, out: Path, *kinds: str) -> Path:
    """Build archives of a tree, by default both; each from the tree itself. Returns `out`."""
    options = [f"--{kind}" for kind in kinds or ("sdist", "wheel")]
    # without isolation: the build environment would be downloaded
    build: list[str | Path] = [sys.executable, "-m", "build", "--no-isolation", *options]
    run_well([*build, "--outdir", out, tree], cwd=tree)
    return out


# In whose name everything is handed in, unless a test says otherwise.
STUDENT = "s"


# --- submissions -----------------------------------------------------------------------


@cache
def pack(name: str = PS) -> Pack:
    return load_pack(ROOT, name)


@cache
def questions(name: str = PS) -> tuple[Question, ...]:
    return load_quiz(ROOT / "solutions" / name)


def code_of(exercise: str, function: str | None = None) -> str:
    """The reference of an exercise, or another function of its file, as a student has it."""
    return stubs.student_code(pack().sources[exercise], function or exercise, exercise)


def right_code(name: str = PS) -> dict[str, str]:
    sources = pack(name).sources
    return {exercise: stubs.student_code(sources[exercise], exercise, exercise)
            for exercise in sources}  # fmt: skip


def right_answers(name: str = PS) -> dict[str, object]:
    """For the numbers of STUDENT, where they are drawn."""
    return {
        question.id: guessing.right(for_student(question, STUDENT)) for question in questions(name)
    }


def work_on(
    folder: Path,
    hands_in: str,
    code: Mapping[str, str],
    answers: Mapping[str, object] | None = None,
    name: str = PS,
) -> None:
    """Write code and answers into the notebook or the module of a student's folder."""
    student = demo.Student(STUDENT, "some", code, answers or {}, hands_in)
    scratch = folder / "scratch"
    demo.hand_in(student, pack(name), ROOT / "assignments" / name, scratch)
    for path in scratch.iterdir():
        path.replace(folder / path.name)
    scratch.rmdir()
