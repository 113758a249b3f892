"""All hostile submissions at every rung that is called strong, as root and as somebody else.

The figure for each is printed. `python -m tests.hostile.arena --verbose --name fork` tries some
of them by hand.
"""

from __future__ import annotations

import json
import os
import platform
import pwd
import subprocess
import sys

import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from autograder.observe import sandbox
from tests.hostile import unprivileged
from tests.hostile.suite import HARMLESS, SUITE, TENSORS, choose
from tests.hostile.world import REPOSITORY

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.needs_debian("libseccomp2", library="seccomp"),
]

RUNGS = {
    "strong+": tuple(sandbox.LAYERS),
    "strong": tuple(layer for layer in sandbox.LAYERS if layer != "bubblewrap"),
}


def start(layers: str, *options: str, as_nobody: bool = False) -> subprocess.Popen[str]:
    """Start the suite in a process of its own."""
    program = ["-m", "tests.hostile.arena", "--json", "--layers", layers, *options]
    command = [sys.executable, *program]
    if os.getuid() == 0 and layers != "spawned":
        command = unprivileged.command(program, as_nobody=as_nobody)
    return subprocess.Popen(
        command,
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": "/tmp"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> dict:
    """The report of a suite, and what it printed before that."""
    said, _ = process.communicate(timeout=1800)
    *lines, last = said.strip().splitlines() or [""]
    assert last.startswith("{"), said
    return {**json.loads(last), "said": "\n".join(lines), "figure": lines[-1]}


def run(rung: str, *options: str) -> list[dict]:
    """The suite as the user who runs the tests, and, where that is root, as nobody besides."""
    users = [False, True] if os.getuid() == 0 else [False]
    try:
        running = [start(",".join(RUNGS[rung]), *options, as_nobody=user) for user in users]
    except unprivileged.NotPossible as reason:
        pytest.skip(f"the suite needs a mount namespace to run as another user ({reason})")
    found = [finish(process) for process in running]
    assert len({report["user"] for report in found}) == len(users)
    for report in found:
        assert report["rung"] == rung, report["layers"]
        assert report["through"] == {}, report["said"]
        assert report["otherwise"] == {}, report["said"]
    if os.getuid() == 0 and rung == "strong":
        assert "user" in found[0]["layers"]
    return found


# Of each kind one in so many: some of every kind in `make test`, all of them in `make soak`.
@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("rung", RUNGS)
def test_none_gets_through(rung, every, capsys, needs_debian):
    """In children of a zygote that holds NumPy."""
    if rung == "strong+":
        needs_debian("bubblewrap", binary="bwrap")
    found = run(rung, "--every", str(every))
    with capsys.disabled():
        print("", *(report["figure"] for report in found), sep="\n")
    assert all(report["tried"] >= 80 for report in found)


@pytest.mark.parametrize("every", [64, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("rung", RUNGS)
def test_none_gets_through_beside_pytorch(rung, every, capsys, needs_debian):
    """In children of a zygote that holds PyTorch, with attacks of its own."""
    if rung == "strong+":
        needs_debian("bubblewrap", binary="bwrap")
    found = run(rung, "--torch", "--every", str(every))
    with capsys.disabled():
        print("", *(f"PyTorch: {report['figure']}" for report in found), sep="\n")
    kinds = {hostile.kind for hostile in choose(torch=True, every=every)}
    assert kinds >= {"tensors", "layers", *(hostile.kind for hostile in SUITE)}
    expected = sum(
        hostile.machine in (None, platform.machine()) for hostile in choose(torch=True, every=every)
    )
    assert [report["tried"] for report in found] == [expected] * len(found)


def test_values_cannot_be_forged_without_a_sandbox_either(capsys):
    """A student's own check runs in a plain process: what is wrong is found wrong there too."""
    found = finish(start("spawned"))
    with capsys.disabled():
        print("\n" + found["figure"])
    assert found["rung"] == "none"
    assert found["through"] == found["otherwise"] == {}, found["said"]
    assert found["tried"] == sum(hostile.kind in HARMLESS for hostile in SUITE)


class TestTheSuite:
    """It has to see a hole when there is one."""

    def test_it_is_large_enough_and_no_name_is_twice_in_it(self):
        assert len(SUITE) >= 80 and len(TENSORS) >= 80
        everything = [*SUITE, *TENSORS]
        assert len({hostile.title for hostile in everything}) == len(everything)
        assert all(hostile.sentence.endswith(".") for hostile in everything)

    def test_reading_succeeds_where_files_are_not_protected(self, tmp_path):
        """With no Landlock and no mounts, most of what is read is found out."""
        from tests.hostile.arena import arena
        from tests.hostile.suite import choose

        with arena(tmp_path / "world", ("rlimits", "seccomp")) as made:
            report = made.run(choose(["reading"]))
        assert report.rung == "none"
        assert len(report.through) >= 15, report.figure
        assert "a canary of source is in the result" in report.through["reading: the source"]

    def test_talking_succeeds_where_calls_are_not_filtered(self, tmp_path):
        """Landlock alone lets UDP and services with a file through, and the listeners notice."""
        from tests.hostile.arena import arena
        from tests.hostile.suite import choose

        with arena(tmp_path / "world", ("landlock", "rlimits")) as made:
            report = made.run(choose(["network"], "UDP"))
        assert any("somebody spoke" in line for line in report.through["network: UDP"])

    def test_right_answers_are_points_when_they_are_not_earned(self, tmp_path):
        """A submission that is right, and is said to have no points, counts as through."""
        from tests.hostile.arena import arena
        from tests.hostile.kinds import Kind
        from tests.hostile.world import RIGHT

        kind = Kind("trial", "^failed: ")
        kind("right", "Is right.", RIGHT)
        with arena(tmp_path / "world") as made:
            report = made.run(kind.members)
        assert len(report.through) == 1
        assert "4.0 points" in report.faults()[0]


def test_the_user_is_another(tmp_path):
    """What the suite calls nobody has no capability, and is not root."""
    if os.getuid() != 0:
        pytest.skip("the tests do not run as root, so every run is one of an ordinary user")
    program = "import os; print(os.getuid(), open('/proc/self/status').read())"
    said = subprocess.run(
        unprivileged.command(["-c", program]), capture_output=True, text=True, check=True
    ).stdout
    assert said.startswith(f"{pwd.getpwnam('nobody').pw_uid} ")
    assert "CapEff:\t0000000000000000" in said
