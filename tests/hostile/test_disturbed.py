"""What comes between a run and its end: one sentence, and the same command finishes it."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from tests.hostile.classes import Command, comparable, make_class, wait_until_gone
from tests.hostile.world import descendants
from tests.unit.courses import make_course, submit

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.needs_debian("libseccomp2", library="seccomp"),
]

COUNT = 60


# It ends with its time limit only.
LOOPS = "def double(x):\n    while True:\n        pass\n"


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    return make_class(tmp_path_factory.mktemp("disturbed"), COUNT, 30)[0]


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    """A class that takes a while, whatever else the machine does."""
    course = make_class(tmp_path_factory.mktemp("busy"), COUNT - 6, 30)[0]
    for number in range(6):
        submit(course, f"t{number}", LOOPS)
    return course


def is_one_sentence(said: str) -> bool:
    """One line of ours that says what to do, and no traceback."""
    lines = said.strip().splitlines()
    return len(lines) == 1 and lines[0].startswith("autograder: ") and "report this" not in said


def finishes(command: Command) -> None:
    """The same command once more grades everybody."""
    again = command.run()
    assert (again.returncode, again.stderr) == (0, "")
    assert len({entry["student"] for entry in command.document()["submissions"]}) == COUNT


@pytest.fixture
def started(busy, tmp_path):
    """A run that has written some results down, and not all."""
    command = Command(busy, tmp_path / "result.json")
    process = command.start()
    while command.written() < 5 and process.poll() is None:
        time.sleep(0.01)
    yield command, process
    process.kill()
    process.wait()


def test_an_interruption(started):
    command, process = started
    below = descendants(process.pid)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert wait_until_gone(below) == set()
    finishes(command)


def test_an_interruption_has_a_sentence(started):
    _, process = started
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert said == "autograder: interrupted; run the same command again to go on\n"


def test_a_termination_ends_everything_and_loses_nothing(started):
    command, process = started
    below = descendants(process.pid)
    process.terminate()
    process.communicate(timeout=30)
    assert wait_until_gone(below) == set()
    assert command.written() >= 5
    finishes(command)


def test_a_termination_has_a_sentence(started):
    _, process = started
    process.terminate()
    _, said = process.communicate(timeout=30)
    assert is_one_sentence(said)


# --- disks -----------------------------------------------------------------------------


def in_namespace(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script with mounts of its own; skipped where that is not allowed."""
    if os.getuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root, and unshare of util-linux")
    inside = ["unshare", "--mount", "--propagation", "private"]
    tried = subprocess.run([*inside, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"no mount namespace can be made: {tried.stderr.strip()}")
    return subprocess.run(
        [*inside, "sh", "-c", script, "sh", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_folder_that_is_read_only(course, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    command = Command(course, folder / "result.json")
    script = f'mount -t tmpfs -o ro tmpfs "{folder}"; "$@"'
    done = in_namespace(script, *command.line())
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "Read-only file system" in done.stderr
    finishes(command)


def test_a_folder_that_is_read_only_has_a_sentence(course, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    command = Command(course, folder / "result.json")
    done = in_namespace(f'mount -t tmpfs -o ro tmpfs "{folder}"; "$@"', *command.line())
    assert is_one_sentence(done.stderr)


FULL = """
mount -t tmpfs -o size=24k tmpfs "$1"
kept="$2"
shift 2
"$@" 2> /dev/stderr
echo "first: $?"
mount -o remount,size=64m "$(dirname "$kept")"
"$@"
echo "second: $?"
cp "$kept" "$kept".journal "$(dirname "$(dirname "$kept")")"
"""


def test_a_disk_that_is_full(course, tmp_path):
    """Results stop being written down in the middle of a line; with room they go on."""
    folder = tmp_path / "out"
    folder.mkdir()
    peaceful = Command(course, tmp_path / "peaceful.json", ("--seed", "full", "--no-explain"))
    assert peaceful.run().returncode == 0
    command = Command(course, folder / "result.json", ("--seed", "full", "--no-explain"))
    done = in_namespace(FULL, str(folder), str(command.json_file), *command.line())
    assert "first: 2" in done.stdout, done.stdout + done.stderr
    assert "second: 0" in done.stdout, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "No space left on device" in done.stderr
    found = Command(course, tmp_path / "result.json")
    assert comparable(found.document()) == comparable(peaceful.document())
    assert found.written() == COUNT


def test_a_file_that_may_not_grow(course, tmp_path):
    """The same for anybody: a limit on the size of files, as quotas make it."""
    command = Command(course, tmp_path / "result.json")
    limited = subprocess.run(
        ["sh", "-c", 'ulimit -f 24; exec "$@"', "sh", *command.line()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert limited.returncode == 2
    assert "Traceback" not in limited.stderr
    assert "File too large" in limited.stderr
    finishes(command)


# --- the gradebook ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def with_gradebook(tmp_path_factory):
    """A class whose assignment is built, and a gradebook that knows it."""
    from autograder import build
    from tests.hostile.classes import HONEST

    course = make_course(tmp_path_factory.mktemp("gradebook"))
    build.build(course)
    for number in range(4):
        submit(course, f"s{number}", HONEST[number][0])
    gradebook = course / "gradebook.db"
    command = Command(course, course / "first.json", ("--gradebook", f"sqlite:///{gradebook}"))
    first = command.run()
    assert (first.returncode, first.stderr) == (0, ""), first.stderr
    return course, gradebook


def grades(gradebook: Path) -> list[tuple]:
    with sqlite3.connect(gradebook) as database:
        found = database.execute("select id, auto_score from grade order by id").fetchall()
    database.close()
    return found


def test_a_gradebook_that_is_locked(with_gradebook, tmp_path):
    """Somebody else writes to it: what was graded is kept, and written the next time."""
    course, gradebook = with_gradebook
    before = grades(gradebook)
    assert before
    command = Command(course, tmp_path / "r.json", ("--gradebook", f"sqlite:///{gradebook}"))
    locked = sqlite3.connect(gradebook, isolation_level=None)
    try:
        locked.execute("begin exclusive")
        done = command.run(seconds=120)
    finally:
        locked.close()
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "locked" in done.stderr
    assert len(command.document()["submissions"]) == 4
    again = command.run()
    assert (again.returncode, again.stderr) == (0, "")
    assert len(grades(gradebook)) == len(before)
