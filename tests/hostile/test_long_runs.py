"""Large classes: nothing is left behind, nothing grows, nothing is lost by a kill.

The long versions are `make soak`; what runs in `make test` is the same with fewer students.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from tests.hostile.classes import (
    Command,
    Sample,
    comparable,
    make_class,
    samples,
    wait_until_gone,
)
from tests.hostile.world import descendants

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.needs_debian("libseccomp2", library="seccomp"),
]

# Results go to the journal; what a regrade is told by is kept packed. The rest is the list
# of students and the allocator's slack.
KIB_A_RESULT = 1.0
# A zygote keeps nothing of a submission.
ZYGOTE_GROWTH = 2.0  # MiB


def run_and_watch(tmp_path, count: int, first: int, every: int) -> tuple[list[Sample], dict, dict]:
    """Grade a class; samples after `first` and at the end, the document, the points expected."""
    course, points = make_class(tmp_path, count, every)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    out = tmp_path / "out"
    out.mkdir()
    command = Command(course, out / "result.json", environment={"TMPDIR": str(temporary)})
    process = command.start(subprocess.DEVNULL)
    early = late = None
    seen: set[int] = set()
    for sample in samples(process, command):
        if early is None and sample.graded >= first and len(sample.zygotes) == 2:
            early = sample
        if sample.graded >= first and len(sample.zygotes) == 2:
            late = sample
        seen |= descendants(process.pid)
    _, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    assert wait_until_gone(seen) == set()
    assert list(temporary.iterdir()) == []
    assert {path.name for path in out.iterdir()} == {"result.json", "result.json.journal"}
    assert early is not None and late is not None
    return [early, late], command.document(), points


def check(found: list[Sample], document: dict, points: dict) -> None:
    early, late = found
    scores = {entry["student"]: entry["score"] for entry in document["submissions"]}
    assert {name: score for name, score in scores.items() if score != points[name]} == {}
    assert len(document["submissions"]) == len(points)
    for before, after in zip(early.zygotes, late.zygotes, strict=True):
        assert after - before <= ZYGOTE_GROWTH
    # each of two workers may be in the middle of a submission: four descriptors, or none
    assert abs(late.descriptors[0] - early.descriptors[0]) <= 16
    assert all(number <= 16 for number in late.descriptors[1:])
    assert late.processes <= 2 * len(late.zygotes) + 6
    grown = 1024 * (late.grader - early.grader) / max(late.graded - early.graded, 1)
    assert grown <= KIB_A_RESULT or late.grader - early.grader < 4


def test_a_hundred_submissions_leave_nothing(tmp_path):
    found, document, points = run_and_watch(tmp_path, 100, 5, 10)
    check(found, document, points)


@pytest.mark.soak
def test_ten_thousand_submissions_leave_nothing(tmp_path, capsys):
    started = time.monotonic()
    found, document, points = run_and_watch(tmp_path, 10_000, 1000, 100)
    with capsys.disabled():
        print("", *found, f"in {time.monotonic() - started:.0f} s", sep="\n")
    check(found, document, points)


# --- kill -9 ---------------------------------------------------------------------------


def kill_again_and_again(tmp_path, count: int, kills: int, seed: int) -> list[int]:
    """Grade a class in peace, and once more under kills; the results there were at each kill."""
    course, _ = make_class(tmp_path, count, 50)
    peaceful = Command(course, tmp_path / "peaceful.json", ("--seed", "kill", "--no-explain"))
    assert peaceful.run().returncode == 0
    command = Command(course, tmp_path / "killed.json", ("--seed", "kill", "--no-explain"))
    rng = random.Random(seed)
    written: list[int] = []
    while len(written) < kills:
        process = command.start(subprocess.DEVNULL)
        if rng.random() < 0.25:
            time.sleep(rng.uniform(0.02, 0.5))  # while it starts
        else:  # after a share of what is left, with some left over for the other kills
            share = (count - command.written()) / (kills - len(written) + 1)
            wanted = command.written() + rng.uniform(1, share)
            while command.written() < wanted and process.poll() is None:
                time.sleep(0.001)
            time.sleep(rng.uniform(0, 0.01))
        below = descendants(process.pid)
        assert process.poll() is None, "it came to its end before the last kill"
        process.kill()
        process.communicate()
        written.append(command.written())
        assert wait_until_gone(below) == set()
    last = command.run()
    assert (last.returncode, last.stderr) == (0, "")
    students = [entry["student"] for entry in command.document()["submissions"]]
    assert len(students) == len(set(students)) == count
    assert comparable(command.document()) == comparable(peaceful.document())
    assert command.written() == count
    return written


def test_two_kills_lose_nothing(tmp_path):
    kill_again_and_again(tmp_path, 40, 2, seed=1)


@pytest.mark.soak
def test_ten_kills_lose_nothing(tmp_path, capsys):
    written = kill_again_and_again(tmp_path, 300, 10, seed=int(time.time()))
    with capsys.disabled():
        print(f"\n10 times kill -9 after {written} of 300 results; every result once")


def test_a_second_grader_is_not_in_the_way_of_the_first(tmp_path):
    """A killed run's zygotes are gone before the next one starts its own: none is shared."""
    course, _ = make_class(tmp_path, 30, 50)
    command = Command(course, tmp_path / "result.json")
    process = command.start()
    while command.written() < 3 and process.poll() is None:
        time.sleep(0.01)
    below = descendants(process.pid)
    assert below
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert wait_until_gone(below) == set()
    assert command.run().returncode == 0
