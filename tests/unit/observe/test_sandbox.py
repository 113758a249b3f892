"""Hostile submissions, each followed by a right one on the same zygote.

Where a layer stops something with an ordinary exception, the submission sees it and the
test reads it; what ends the process has its named reason.
"""

import socket
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from autograder.observe.session import Limits, Stopped
from tests.unit.observe import hostile
from tests.unit.observe.hostile import attempt

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from autograder.observe import sandbox, worker
from autograder.observe.pool import ZygotePool
from tests.unit.observe.processes import pid_of


@pytest.fixture
def canary(tmp_path):
    path = tmp_path / "canary.txt"
    path.write_text("secret-canary", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


@pytest.fixture(scope="module")
def bare():
    """A pool whose refusals are the kernel's own: nothing is said before it is asked."""
    with ZygotePool(words=False) as pool:
        if pool.isolation not in ("strong", "strong+"):
            pytest.skip(f"this machine lacks layers of the sandbox: {pool.missing}")
        yield pool


@pytest.mark.parametrize("name", hostile.REFUSED)
def test_refused_with_an_exception(name, bare, canary, listener):
    package = Path(sandbox.__file__).parent
    places = {"canary": canary, "package": package, "port": listener.getsockname()[1]}
    assert hostile.not_refused(bare, name, places) is None


@pytest.mark.parametrize("name", hostile.SYSCALLS)
def test_other_system_calls_do_not_exist(name, bare):
    assert hostile.not_denied(bare, name) is None


@pytest.mark.parametrize("name", hostile.ENDED)
def test_ends_with_its_reason(name, bare):
    started = time.monotonic()
    assert hostile.not_ended(bare, name) is None
    assert time.monotonic() - started < 5


def test_processor_time_is_limited_even_if_the_signal_is_ignored(pool, observe):
    source = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    with pool.session(Limits(wall=10, cpu=1)) as session, pytest.raises(Stopped) as stopped:
        observe(session, attempt(source))
    assert stopped.value.reason == "timed_out"
    assert "1 s of processor time" in stopped.value.message


# --- what a child finds around it --------------------------------------------------------


def test_no_descriptor_but_the_channels(pool, observe):
    source = """
        import fcntl
        found = []
        for fd in range(4096):
            try:
                fcntl.fcntl(fd, fcntl.F_GETFD)
                found.append(fd)
            except OSError:
                pass
        return found
    """
    with pool.session() as session:
        assert observe(session, attempt(source))["value"].data.tolist() == [0, 1, 2, 3, 4]


def test_nothing_of_the_authoring_side_is_in_memory(pool, observe):
    source = "import sys; return sorted(m for m in sys.modules if m.startswith('autograder'))"
    with pool.session() as session:
        names = observe(session, attempt(source))["value"]
    ours = {name.removeprefix("autograder.observe.") for name in names}
    to_lock_in = {"kernel", "landlock", "seccomp", "capabilities", "sandbox", "refusals"}
    at_the_start = {"warming", "rehearsal"}
    known = {"autograder", "autograder.observe", *worker.BESIDE, *to_lock_in, *at_the_start}
    assert ours <= known


def test_the_environment_is_not_the_graders(observe, monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "secret-canary")
    with ZygotePool() as pool, pool.session() as session:
        seen = observe(session, attempt("import os; return str(dict(os.environ))"))["value"]
    assert "secret-canary" not in seen


def test_no_capability_is_left(pool):
    with pool.session() as session:
        session.layers()
        with open(f"/proc/{pid_of(session)}/status", encoding="utf-8") as status:
            lines = dict(line.split(":\t") for line in status.read().splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(lines[name], 16) == 0, name
    assert (lines["NoNewPrivs"], lines["Seccomp"]) == ("1", "2")


def test_the_tools_that_built_the_walls_are_not_there(pool):
    """They are used on the trusted side; neither can be imported beside student code."""
    for name in ("pyseccomp", "py_landlock"):
        raised, _ = hostile.run(pool, f"import sys; assert '{name}' not in sys.modules")
        assert raised is None
        raised, _ = hostile.run(pool, f"import {name}")
        assert raised["type"] == "ModuleNotFoundError"


def test_allowed_modules_can_be_imported_late(pool, observe):
    source = """
        import xml.dom.minidom, sqlite3, email.message, concurrent.futures, lzma, decimal
        import numpy.polynomial.hermite, numpy.ma.mrecords, unittest.mock
        return [numpy.fft.fft([1.0])[0].real, float(numpy.linalg.svd([[2.0]])[1][0])]
    """
    with pool.session() as session:
        assert observe(session, attempt(source))["value"].data.tolist() == [1.0, 2.0]


def test_other_packages_seem_not_to_be_installed(pool, observe):
    source = """
        try:
            import pytest
        except ImportError as error:
            return [str(error), error.name, type(error).__name__]
    """
    with pool.session() as session:
        message, name, kind = observe(session, attempt(source))["value"]
    assert message == (
        "No module named 'pytest' (a submission may import the standard library and numpy)"
    )
    assert (name, kind) == ("pytest", "ModuleNotFoundError")


def test_memory_within_the_limit_is_given(pool, observe):
    source = "import numpy as np; return float(np.ones(100 << 17).sum())"  # 100 MiB
    with pool.session(Limits(memory=256)) as session:
        assert observe(session, attempt(source))["value"] == 100 << 17


def test_a_signal_cannot_reach_a_process_of_the_same_user(pool, observe):
    """The way around kill: a pipe that signals its owner. Tried on a stranger."""
    stranger = subprocess.Popen(["sleep", "30"])
    try:
        source = f"""
            import ctypes, os
            libc = ctypes.CDLL(None)
            results = []
            for fd in range(5):
                results += [libc.fcntl(fd, 8, {stranger.pid}), libc.fcntl(fd, 10, 9)]
                results.append(libc.fcntl(fd, 4, 0o20000))
            os.write(4, b"")
            return max(results)
        """
        with pool.session() as session:
            assert observe(session, attempt(source))["value"] == -1
        time.sleep(0.05)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


# --- building blocks -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("library", "layer", "rung"),
    [("pyseccomp", "seccomp", ("none",)), ("py_landlock", "landlock", ("basic", "none"))],
)
def test_a_missing_library_is_reported_and_costs_the_rung(monkeypatch, library, layer, rung):
    monkeypatch.setitem(sys.modules, library, None)
    with ZygotePool() as pool:
        assert layer not in pool.layers
        assert pool.missing[layer].startswith("ModuleNotFoundError")
        assert pool.isolation in rung
        assert hostile.wrong_after(pool) is None


def test_bubblewrap_that_is_not_installed(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    with ZygotePool() as pool:
        assert pool.missing["bubblewrap"] == "bubblewrap is not installed"
        assert pool.isolation == "strong"


def test_fewer_layers_are_called_none():
    with ZygotePool(layers=("rlimits",)) as pool:
        assert pool.layers == ("rlimits",)
        assert pool.isolation == "none"
        assert hostile.wrong_after(pool) is None


def test_arrays_as_large_as_a_pipe_and_more(pool, observe):
    data = np.arange(1 << 18, dtype=np.float64)  # 2 MiB each way
    with pool.session() as session:
        outcome = observe(session, "def attempt(x): return x[::-1]", "attempt", data)
    np.testing.assert_array_equal(outcome["value"].data, data[::-1])
