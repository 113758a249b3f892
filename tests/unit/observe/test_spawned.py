"""A plain process: loops and crashes are survived, on systems without Linux's calls too."""

import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from autograder.observe.session import Limits, Refused, Stopped
from autograder.observe.spawned import Spare, SpawnedSession


@pytest.fixture
def spawned(quick):
    with SpawnedSession(quick) as session:
        yield session


def test_a_right_submission(spawned, observe):
    observe.good(spawned)


def test_prints_do_not_reach_the_protocol(spawned, observe):
    source = """
import os, subprocess, sys
def attempt():
    print("to stdout ü")
    print("to stderr", file=sys.stderr)
    os.write(1, b"to descriptor 1\\n")
    sys.__stdout__.buffer.write(b"raw \\xff\\n")
    subprocess.run([sys.executable, "-c", "print('from a process')"])
    return 7
"""
    assert observe(spawned, source)["value"] == 7
    observe.good(spawned)
    spawned.close()
    for words in ("to stdout ü", "to stderr", "to descriptor 1", "raw \ufffd", "from a process"):
        assert words in spawned.log


def test_arrays_larger_than_a_pipe_cross_both_ways(spawned, observe):
    data = np.arange(1 << 17, dtype=np.float64)
    outcome = observe(spawned, "def attempt(x): return x[::-1]", "attempt", data)
    np.testing.assert_array_equal(outcome["value"].data, data[::-1])


def test_answers_and_refusals(spawned, observe):
    def answer(question):
        if question.args[0] > 1:
            raise Refused("enough")
        return question.args[0] + 1

    observe.load(spawned, "def attempt(x): return 10 * softmax(x)")
    call = {"answered": ("softmax",), "answer": answer}
    assert observe.call(spawned, "attempt", 1, **call)["value"] == 20
    assert observe.call(spawned, "attempt", 2, **call)["raised"]["message"] == "enough"


ENDED = {
    "loop": ("while True: pass", "timed_out", "within 0.5 s"),
    "loop that catches all": (
        "while True:\n        try:\n            while True: pass\n        except: pass",
        "timed_out",
        "within 0.5 s",
    ),
    "hang in C": ("import ctypes; ctypes.PyDLL(None).sleep(1000)", "timed_out", "within 0.5 s"),
    "exit": ("import os; os._exit(3)", "crashed", "exit code 3"),
    "segmentation fault": ("import ctypes; ctypes.string_at(0)", "crashed", "crashed the Python"),
    "flood": ("while True: print('x' * 999)", "crashed", "printed more than the 65536 bytes"),
    "closed channels": (
        "import os; os.closerange(3, 64)\n    while True: pass",
        "crashed",
        "closed the channel",
    ),
    "a process left behind": (
        "import subprocess, sys, os\n"
        "    subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3)'])\n"
        "    while True: pass",
        "timed_out",
        "within 0.5 s",
    ),
}


@pytest.mark.parametrize("name", ENDED)
def test_ends_with_its_reason(name, spawned, observe):
    if name == "hang in C" and sys.platform == "win32":
        pytest.skip("the C library of Windows has another sleep")
    source, reason, words = ENDED[name]
    started = time.monotonic()
    with pytest.raises(Stopped) as stopped:
        observe(spawned, f"def attempt():\n    {source}")
    assert (stopped.value.reason, words in stopped.value.message) == (reason, True)
    assert spawned._process.returncode is not None  # certainly dead, and reaped
    assert not any(thread.is_alive() for thread in spawned._threads)
    assert time.monotonic() - started < 5


LEFT_BEHIND = {
    "in its group": "subprocess.Popen([sys.executable, '-c', SLEEP])",
    "a daemon": "subprocess.Popen([sys.executable, '-c', SLEEP], start_new_session=True)",
}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is tried and not promised")
@pytest.mark.parametrize("how", LEFT_BEHIND)
@pytest.mark.parametrize("end", ["os._exit(3)", "return 7", "os.kill(os.getpid(), 9)"])
def test_what_a_submission_leaves_behind_ends_too(how, end, spawned, observe, tmp_path):
    said = tmp_path / "pid"
    observe.load(
        spawned,
        f"""
import os, subprocess, sys, time
SLEEP = "import os, time; open({str(said)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
def attempt():
    {LEFT_BEHIND[how]}
    while not os.path.exists({str(said)!r}) or not os.path.getsize({str(said)!r}):
        time.sleep(0.005)
    {end}
""",
    )
    if end == "return 7":
        assert observe.call(spawned, "attempt")["value"] == 7
        spawned.close()
    else:
        with pytest.raises(Stopped):
            observe.call(spawned, "attempt")
    pid = int(said.read_text("utf-8"))
    deadline = time.monotonic() + 5
    while _lives(pid):
        assert time.monotonic() < deadline, "it lives on"
        time.sleep(0.01)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits it")
def test_memory_is_limited(spawned, observe):
    outcome = observe(
        spawned, "def attempt():\n    x = []\n    while True: x.append(bytes(1 << 20))"
    )
    assert outcome["raised"]["type"] == "MemoryError"


def test_input_is_empty_and_the_folder_is_theirs_but_not_imported_from(tmp_path, observe):
    (tmp_path / "helper.py").write_text("x = 1", encoding="utf-8")
    source = """
import os
def attempt():
    try:
        input()
    except EOFError as error:
        seen = [type(error).__name__]
    for name in ("helper", "protocol", "worker", "pool"):
        try:
            __import__(name)
        except ImportError as error:
            seen.append(error.name)
    return [*seen, os.path.exists("helper.py")]
"""
    with SpawnedSession(folder=tmp_path) as session:
        seen = observe(session, source)["value"]
    assert seen == ["EOFError", "helper", "protocol", "worker", "pool", True]


def test_a_python_that_cannot_start_is_not_the_students_fault(observe, monkeypatch, tmp_path):
    (tmp_path / "numpy.py").write_text("raise ImportError('broken here')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with SpawnedSession() as session, pytest.raises(Stopped) as stopped:
        observe.good(session)
    assert stopped.value.reason == "infrastructure"
    assert "broken here" in stopped.value.message


def test_closing_twice_and_unused():
    session = SpawnedSession()
    session.close()
    session.close()
    assert session._process.returncode is not None


@pytest.mark.skipif(os.name != "posix", reason="asks for processes as POSIX does")
def test_a_loop_does_not_outlive_the_process_that_checks():
    code = textwrap.dedent(
        """
        import os, signal, threading
        from autograder.observe.spawned import SpawnedSession
        session = SpawnedSession()
        loop = {"source": "while True: pass", "line": 1, "cell": "", "binds": []}
        def die():
            print(session._process.pid, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        session.load([], {})
        threading.Timer(0.2, die).start()
        session.load([loop], {})
        """
    )
    checking = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    pid = int(checking.stdout)
    deadline = time.monotonic() + 5
    while _lives(pid):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _lives(pid):
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False)
    return bool(state.stdout.strip()) and not state.stdout.strip().startswith(b"Z")


# Everything that Windows or macOS lack, gone before any import of ours, on both sides.
HIDE = """
import os, random, subprocess, sys, threading  # noqa
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("fork", "forkpty", "pidfd_open", "killpg", "setsid"):
    if hasattr(os, name):
        delattr(os, name)
import select, signal
for name in ("poll", "epoll"):
    if hasattr(select, name):
        delattr(select, name)
for name in ("SIGALRM", "pidfd_send_signal", "pthread_kill"):
    if hasattr(signal, name):
        delattr(signal, name)
"""


def test_without_the_calls_of_linux(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(HIDE, encoding="utf-8")
    code = textwrap.dedent(
        """
        import os, sys
        assert sys.modules["fcntl"] is None and not hasattr(os, "fork")
        from autograder.observe.session import Limits, Stopped
        from autograder.observe.spawned import SpawnedSession

        def statement(source):
            return [{"source": source, "line": 1, "cell": "", "binds": []}]

        with SpawnedSession(Limits(wall=0.5)) as session:
            assert session.load(statement("import fcntl"), {})[0]["type"] == "ModuleNotFoundError"
            assert session.load(statement("x = 1; print('printed')"), {}) == [None]
        assert session.log == "printed\\n", session.log
        for source in ("while True: pass", "import os; os._exit(3)"):
            with SpawnedSession(Limits(wall=0.5)) as session:
                try:
                    session.load(statement(source), {})
                except Stopped as stopped:
                    print(stopped.reason)
        """
    )
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-X", "warn_default_encoding", "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    assert ran.stderr.decode() == ""
    assert ran.stdout.decode().split() == ["timed_out", "crashed"]


def test_spare_processes_are_used_once_and_only_by_their_like(tmp_path):
    spare = Spare(2)
    spare.prepare()  # nothing is known yet of what will be asked for
    first = spare.open(Limits(), "numpy", tmp_path)
    spare.prepare()
    waiting = list(spare._waiting)
    assert len(waiting) == 2 and first not in waiting
    of_another_kind = spare.open(Limits(memory=100), "numpy", tmp_path)
    assert spare._waiting == waiting  # they go on waiting for their like
    waiting[0]._process.kill()
    while not waiting[0]._has_ended():
        time.sleep(0.005)
    alive = spare.open(Limits(), "numpy", tmp_path)
    assert alive is waiting[1]  # one that has ended is of no use
    assert alive.load([{"source": "x = 1", "line": 1, "cell": "", "binds": []}], {}) == [None]
    fresh = spare.open(Limits(), "numpy", tmp_path)
    assert fresh not in (first, *waiting)
    spare.prepare()
    last = list(spare._waiting)
    spare.close()
    spare.close()
    assert all(session._process.poll() is not None for session in last)
    for session in (first, of_another_kind, alive, fresh):
        session.close()
