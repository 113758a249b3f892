"""Hostile submissions, each followed by a right one on the same zygote.

Where a layer stops something with an ordinary exception, the submission sees it and the
test reads it; what ends the process has its named reason.
"""

import os
import socket
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

from autograder.observe.session import Limits, Stopped

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

# --- what is refused with an exception -------------------------------------------------

REFUSED = {
    "fork": "import os; os.fork()",
    "vfork in C": """
        import ctypes, os
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.vfork() == -1:
            raise PermissionError(ctypes.get_errno(), "vfork")
    """,
    "thread": "import threading; threading.Thread(target=print).start()",
    "exec": "import os; os.execv('/bin/true', ['true'])",
    "subprocess": "import subprocess; subprocess.run(['/bin/true'])",
    "posix_spawn": "import os; os.posix_spawn('/bin/true', ['true'], {})",
    "multiprocessing": "import multiprocessing as m; m.Process(target=print).start()",
    "open for writing": "open('/tmp/autograder-canary', 'w')",
    "open for appending": "import os; os.open('{canary}', os.O_RDONLY | os.O_APPEND)",
    "open for update": "open('{canary}', 'r+')",
    "truncate on opening": "import os; os.open('{canary}', os.O_RDONLY | os.O_TRUNC)",
    "write to a device": "open('/dev/null', 'w')",
    "unnamed temporary file": "import tempfile; tempfile.TemporaryFile()",
    "delete": "import os; os.unlink('{canary}')",
    "rename": "import os; os.rename('{canary}', '{canary}2')",
    "link": "import os; os.link('{canary}', '{canary}2')",
    "symlink": "import os; os.symlink('{canary}', '{canary}2')",
    "mkdir": "import os; os.mkdir('/tmp/autograder-canary')",
    "chmod": "import os; os.chmod('{canary}', 0o777)",
    "utime": "import os; os.utime('{canary}')",
    "chdir": "import os; os.chdir('/tmp')",
    "chroot": "import os; os.chroot('/')",
    "read a file": "open('{canary}').read()",
    "read shadow": "open('/etc/shadow').read()",
    "read passwd": "open('/etc/passwd').read()",
    "read the package": "open('{package}/pool.py').read()",
    "read the worker": "open('{package}/worker.py').read()",
    "list the root": "import os; os.listdir('/')",
    "list site-packages": "import numpy, os; os.listdir(os.path.dirname(numpy.__path__[0]))",
    "read memory": "open('/proc/self/mem', 'rb').read(1)",
    "read the parent's environment": "import os; open(f'/proc/{os.getppid()}/environ').read()",
    "read the parent's command": "import os; open(f'/proc/{os.getppid()}/cmdline').read()",
    "follow the parent's directory": "import os; os.listdir(f'/proc/{os.getppid()}/cwd/')",
    "internet socket": "import socket; socket.socket(socket.AF_INET)",
    "datagram socket": "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "unix socket": "import socket; socket.socket(socket.AF_UNIX)",
    "netlink socket": "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "socket pair": "import socket; socket.socketpair()",
    "connect": "import socket; socket.create_connection(('127.0.0.1', {port}), 1)",
    "kill the parent": "import os; os.kill(os.getppid(), 9)",
    "stop the parent": "import os; os.kill(os.getppid(), 19)",
    "kill the group": "import os; os.killpg(0, 9)",
    "kill everyone": "import os; os.kill(-1, 9)",
    "pidfd": "import os; os.pidfd_open(os.getppid())",
    "signal by F_SETOWN": """
        import fcntl, os
        fcntl.fcntl(3, fcntl.F_SETOWN, os.getppid())
    """,
    "signal by F_SETSIG": "import fcntl; fcntl.fcntl(3, 10, 9)",
    "O_ASYNC": "import fcntl, os; fcntl.fcntl(3, fcntl.F_SETFL, os.O_ASYNC)",
    "FIOSETOWN": "import fcntl, os; fcntl.ioctl(3, 0x8901, os.getppid().to_bytes(4, 'little'))",
    "FIOASYNC": "import fcntl; fcntl.ioctl(3, 0x5452, b'\\1\\0\\0\\0')",
    "inject terminal input": "import fcntl; fcntl.ioctl(0, 0x5412, b'x')",
    "lease": "import fcntl; fcntl.fcntl(0, 1024, 0)",
    "raise its limits": """
        import resource
        resource.setrlimit(resource.RLIMIT_AS, (-1, -1))
    """,
    "priority": "import os; os.nice(1)",
    "affinity": "import os; os.sched_setaffinity(0, [0])",
    "memfd": "import os; os.memfd_create('x')",
    "setuid": "import os; os.setuid(0)",
    "unshare": """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(0x10000000):
            raise PermissionError(ctypes.get_errno(), "unshare")
    """,
    "dumpable again": """
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(4, 1, 0, 0, 0):
            raise PermissionError(ctypes.get_errno(), "prctl")
    """,
    "more memory than allowed": "import numpy; numpy.ones((1 << 30,))",
    "more memory bit by bit": "x = []\nwhile True: x.append(bytearray(1 << 20))",
    "more files than allowed": "import os\nfor _ in range(100): os.dup(0)",
    "import of the grader": "from autograder.observe import pool",
    "import of what is not allowed": "import pytest",
}

SYSCALLS = {  # by number, since no library wraps them; x86-64 and (most of them) arm64
    "ptrace": {"x86_64": 101, "aarch64": 117},
    "io_uring_setup": {"x86_64": 425, "aarch64": 425},
    "add_key": {"x86_64": 248, "aarch64": 217},
    "bpf": {"x86_64": 321, "aarch64": 280},
    "userfaultfd": {"x86_64": 323, "aarch64": 282},
    "perf_event_open": {"x86_64": 298, "aarch64": 241},
    "process_vm_readv": {"x86_64": 310, "aarch64": 270},
    "process_vm_writev": {"x86_64": 311, "aarch64": 271},
    "open_by_handle_at": {"x86_64": 304, "aarch64": 265},
    "mount": {"x86_64": 165, "aarch64": 40},
    "clone": {"x86_64": 56, "aarch64": 220},
    "clone3": {"x86_64": 435, "aarch64": 435},
    "tgkill": {"x86_64": 234, "aarch64": 131},
    "rt_sigqueueinfo": {"x86_64": 129, "aarch64": 138},
    "pidfd_send_signal": {"x86_64": 424, "aarch64": 424},
    "openat2": {"x86_64": 437, "aarch64": 437},
    "seccomp": {"x86_64": 317, "aarch64": 277},
    "landlock_restrict_self": {"x86_64": 446, "aarch64": 446},
    "shmget": {"x86_64": 29, "aarch64": 194},
    "mq_open": {"x86_64": 240, "aarch64": 180},
}


@pytest.fixture
def canary(tmp_path):
    path = tmp_path / "canary.txt"
    path.write_text("secret-canary", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def attempt(source):
    return "def attempt():\n" + textwrap.indent(textwrap.dedent(source).strip() or "pass", "    ")


@pytest.mark.parametrize("name", REFUSED)
def test_refused_with_an_exception(name, pool, observe, canary, listener):
    import autograder.observe

    source = REFUSED[name]
    for key, value in {
        "{canary}": canary,
        "{package}": autograder.observe.__path__[0],
        "{port}": listener.getsockname()[1],
    }.items():
        source = source.replace(key, str(value))
    with pool.session(Limits(memory=96)) as session:
        outcome = observe(session, attempt(source))
    raised = outcome.get("raised")
    assert raised is not None, f"{name} went through: {outcome}"
    kinds = {raised["type"], *raised["bases"]}
    assert kinds & {"OSError", "MemoryError", "ImportError", "RuntimeError", "ValueError"}, raised
    assert "secret-canary" not in str(outcome) + session.log
    assert canary.read_text(encoding="utf-8") == "secret-canary"
    with pool.session(Limits(memory=96)) as session:
        observe.good(session)


@pytest.mark.parametrize("name", SYSCALLS)
def test_other_system_calls_do_not_exist(name, pool, quick, observe):
    number = SYSCALLS[name].get(os.uname().machine)
    if number is None:
        pytest.skip(f"the number of {name} on {os.uname().machine} is not known here")
    source = f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        result = libc.syscall(ctypes.c_long({number}), 0, 0, 0, 0, 0, 0)
        return [result, ctypes.get_errno()]
    """
    with pool.session(quick) as session:
        result, number = observe(session, attempt(source))["value"].data.tolist()
    assert result == -1
    assert number == (38 if name == "clone3" else 1)  # ENOSYS, EPERM
    with pool.session(quick) as session:
        observe.good(session)


# --- what ends the process -------------------------------------------------------------

ENDED = {
    "endless loop": ("while True: pass", "timed_out", "within 0.5 s"),
    "loop that catches all": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "timed_out",
        "never ends",
    ),
    "loop that ignores signals": (
        "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except Exception: pass\nwhile True: pass",
        "timed_out",
        "never ends",
    ),
    "hang in C that holds the interpreter": (
        "import ctypes; ctypes.PyDLL(None).sleep(1000)",
        "timed_out",
        "within 0.5 s",
    ),
    "sleep": ("import time; time.sleep(1000)", "timed_out", "within 0.5 s"),
    "exit code 3": ("import os; os._exit(3)", "crashed", "exit code 3"),
    "the code of a sandbox not entered": ("import os; os._exit(97)", "crashed", "exit code 97"),
    "the code of a worker that failed": ("import os; os._exit(96)", "crashed", "beside your code"),
    "segmentation fault": ("import ctypes; ctypes.string_at(0)", "crashed", "SIGSEGV"),
    "abort": ("import os; os.abort()", "crashed", "crashed the Python interpreter"),
    "32-bit system call": ("{x32}", "crashed", "SIGSYS"),
    "output flood": ("while True: print('x' * 1000)", "crashed", "printed more than"),
    "output flood from C": (
        "import os\nwhile True: os.write(2, b'x' * 9999)",
        "crashed",
        "printed",
    ),
    "bytes into the result channel": (
        "import os; os.write(4, b'x' * 100)",
        "crashed",
        "something other than the worker",
    ),
    "a reply with a made-up nonce": (
        "import os, struct\n"
        "os.write(4, struct.pack('<4s16sBQ', b'AGP1', bytes(16), 12, 5) + b'\\7' + bytes(4))",
        "crashed",
        "wrong nonce",
    ),
    "a reply without end": (
        "import os, struct\nos.write(4, struct.pack('<4s16sBQ', b'AGP1', bytes(16), 12, 2**63))",
        "crashed",
        "above the limit",
    ),
    "closed channels": (
        "import os; os.closerange(3, 64)\nwhile True: pass",
        "crashed",
        "closed the channel",
    ),
    "deaf and dumb": ("import os; os.closerange(0, 64)", "crashed", ""),
}


@pytest.mark.parametrize("name", ENDED)
def test_ends_with_its_reason(name, pool, quick, observe):
    source, reason, words = ENDED[name]
    if source == "{x32}":
        if os.uname().machine != "x86_64":
            pytest.skip("only x86-64 has this second table of system calls")
        source = "import ctypes; ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 + 57))"
    started = time.monotonic()
    with pool.session(quick) as session, pytest.raises(Stopped) as stopped:
        observe(session, attempt(source))
    assert stopped.value.reason == reason
    assert words in stopped.value.message
    assert time.monotonic() - started < 5
    with pool.session(quick) as session:
        observe.good(session)


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
    assert set(names) <= {
        "autograder",
        *(
            f"autograder{rest}"
            for rest in (
                ".observe",
                ".observe.protocol",
                ".observe.values",
                ".observe.drawing",
                ".observe.modules",
                ".observe.worker",
                ".observe.sandbox",
                ".observe.capabilities",
            )
        ),
    }


def test_the_environment_is_not_the_graders(observe, monkeypatch):
    from autograder.observe.pool import ZygotePool

    monkeypatch.setenv("SECRET_TOKEN", "secret-canary")
    with ZygotePool() as pool, pool.session() as session:
        seen = observe(session, attempt("import os; return str(dict(os.environ))"))["value"]
    assert "secret-canary" not in seen


def test_no_capability_is_left(pool):
    zygote = pool._zygotes[0]._process.pid
    with open(f"/proc/{zygote}/status", encoding="utf-8") as status:
        sets = dict(line.split(":\t") for line in status.read().splitlines() if "Cap" in line)
    for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        assert int(sets[name], 16) == 0, name


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


def test_the_rung_needs_every_layer():
    from autograder.observe import sandbox

    assert sandbox.level(("landlock", "rlimits", "seccomp")) == "strong"
    for left_out in sandbox.LAYERS:
        assert sandbox.level(set(sandbox.LAYERS) - {left_out}) == "none"


def test_a_missing_library_is_reported_and_not_fatal(monkeypatch):
    from autograder.observe import sandbox

    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    monkeypatch.setitem(sys.modules, "py_landlock", None)
    built = sandbox.build(["/usr/lib"])
    assert built.landlock is None
    assert built.seccomp is None
    assert set(built.missing) == {"landlock", "seccomp"}


def test_fewer_layers_are_called_none(observe):
    from autograder.observe.pool import ZygotePool

    with ZygotePool(layers=("rlimits",)) as pool:
        assert pool.layers == ("rlimits",)
        assert pool.isolation == "none"
        with pool.session() as session:
            observe.good(session)


def test_arrays_as_large_as_a_pipe_and_more(pool, observe):
    data = np.arange(1 << 18, dtype=np.float64)  # 2 MiB each way
    with pool.session() as session:
        outcome = observe(session, "def attempt(x): return x[::-1]", "attempt", data)
    np.testing.assert_array_equal(outcome["value"].data, data[::-1])
