"""`autograder check --watch` in a real terminal: what a student sees after each save."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.folders import environment
from tests.unit.courses import NAME

pytestmark = [pytest.mark.e2e, pytest.mark.needs_debian("tmux")]

PATIENCE = 60.0  # seconds that a busy machine may take for one check


class Terminal:
    """A screen of 100 columns and 30 rows, in a tmux of its own."""

    def __init__(self, folder: Path) -> None:
        self.socket = str(folder / "tmux")
        self.environment = environment(TERM="xterm-256color")
        self.environment.pop("TMUX", None)

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self.socket, *arguments],
            env=self.environment, capture_output=True, check=True, encoding="utf-8", timeout=60,
        )  # fmt: skip
        return done.stdout

    def start(self, folder: Path, *command: str) -> None:
        # the shell stays when the command ends, so that its status can be read
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30",
                  "-c", str(folder), "sh")  # fmt: skip
        self.tmux("send-keys", " ".join(command) + '; echo "status $?"', "Enter")

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-S", "-200")

    def wait_for(self, *texts: str) -> str:
        until = time.monotonic() + PATIENCE
        while True:
            seen = self.screen()
            if all(text in seen for text in texts):
                return seen
            assert time.monotonic() < until, f"{texts} did not come; there is:\n{seen}"
            time.sleep(0.05)


@pytest.fixture
def terminal(tmp_path):
    made = Terminal(tmp_path)
    yield made
    subprocess.run(["tmux", "-S", made.socket, "kill-server"], capture_output=True, timeout=60)


@pytest.fixture
def assignment(small_release, tmp_path):
    folder = tmp_path / "my assignment"
    shutil.copytree(small_release, folder)
    (folder / f"{NAME}.ipynb").unlink()
    return folder


def save(folder: Path, code: str) -> None:
    """As most editors do: a new file takes the place of the old one."""
    fresh = folder / "half-written~"
    fresh.write_text(code, "utf-8")
    os.replace(fresh, folder / f"{NAME}.py")


WAITING = "Waiting for you to save"
TRIPLE = "\n\ndef other(x):\n    return 3 * x\n"


def test_it_shows_what_changed(terminal, assignment):
    command = Path(sys.executable).parent / "autograder"
    terminal.start(assignment, str(command), "check", "--watch")
    # what comes is waited for by its words: a busy machine may tell one save as two
    first = terminal.wait_for(WAITING)
    assert "○ double: not written yet.  0 of 2 points" in first
    assert "saved at" not in first

    save(assignment, "def double(x):\n    return x ** 2\n")
    second = terminal.wait_for("Squares instead of doubling.", "What holds:")
    assert "Next: What is twice three?" in second
    assert "0 of 2 points. What holds: runs, type, shape, finite." in second
    assert "saved at" in second

    save(assignment, "def double(x):\n    return x ** 2\n" + TRIPLE)
    third = terminal.wait_for("No exercise has changed.")
    assert third.count("Squares instead of doubling.") == 1  # not said again

    (assignment / f"{NAME}.py").unlink()
    terminal.wait_for(f"no {NAME}.ipynb or {NAME}.py was handed in.")
    save(assignment, "def double(x):\n    return x + x\n")
    last = terminal.wait_for("✓ double: right in", "The set: 1 of 1 exercises pass, 2 of 2 points.")
    assert "Traceback" not in last

    terminal.tmux("send-keys", "C-c")
    terminal.wait_for("status 0")
