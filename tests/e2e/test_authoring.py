"""docs/authoring.md, followed to the letter in an empty folder."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "authoring.md"
STEP = re.compile(r'```(sh|python)(?: title="([^"]+)")?\n(.*?)```', re.DOTALL)


@pytest.mark.e2e
def test_from_nothing_to_graded(tmp_path):
    printed = {}
    for language, title, text in STEP.findall(PAGE.read_text("utf-8")):
        if language == "python":
            if not title:  # shown, and no file
                continue
            path = tmp_path / title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            continue
        for command in text.strip().splitlines():
            name, *arguments = shlex.split(command)
            assert name == "autograder"
            if arguments[0] == "validate":
                assert (tmp_path / "solutions").is_dir()
            done = subprocess.run(
                [sys.executable, "-m", "autograder.cli", *arguments],
                cwd=tmp_path,
                capture_output=True,
                text=True,
                timeout=300,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            printed[arguments[0]] = done.stdout
    assert list(printed) == ["new", "validate", "build", "grade"]
    assert "5 of 5 misconceptions caught and named, 0 blind cases" in printed["validate"]
    names = {path.name for path in (tmp_path / "assignments" / "ps7_measures").iterdir()}
    assert names == {
        "ps7_measures.ipynb",
        "ps7_measures.py",
        "selfcheck.safetensors",
        "test_ps7_measures.py",
    }
    [maria] = json.loads((tmp_path / "results.json").read_text("utf-8"))["submissions"]
    [exercise] = maria["exercises"]
    assert exercise["misconceptions"] == ["zeros_forgotten"]
    assert (exercise["score"], exercise["max_score"]) == (1.5, 3.0)
