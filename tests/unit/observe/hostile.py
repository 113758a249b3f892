"""Hostile submissions, and a way to try them on a pool, each followed by a right one.

`test_sandbox` tries them one by one. Executed as a program, with options as JSON, this tries
all of them and prints what went through: `test_rungs` does so as other users, with other
interpreters and with fewer layers. It needs NumPy and the tools of the sandbox only.
"""

import dataclasses
import importlib.util
import json
import os
import select
import signal
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

# --- what is refused with an exception -----------------------------------------------------

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
    "chown": "import os; os.chown('{canary}', 1, 1)",
    "named pipe": "import os; os.mkfifo('/tmp/autograder-canary')",
    "extended attribute": "import os; os.setxattr('{canary}', 'user.x', b'1')",
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

# --- what ends the process -----------------------------------------------------------------

X32 = "import ctypes; ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 + 57))"

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
    "regular expression that never ends": (
        "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
        "timed_out",
        "within 0.5 s",
    ),
    "power that never ends": ("x = 7 ** (1 << 26)", "timed_out", "within 0.5 s"),
    "NumPy that never ends": (
        "import numpy; numpy.linalg.matrix_power(numpy.eye(900), (1 << 60) - 1)",
        "timed_out",
        "within 0.5 s",
    ),
    "read that never ends": ("import os; os.read(3, 1)", "timed_out", "within 0.5 s"),
    "lock that is never released": (
        "import _thread; lock = _thread.allocate_lock(); lock.acquire(); lock.acquire()",
        "timed_out",
        "within 0.5 s",
    ),
    "exit code 3": ("import os; os._exit(3)", "crashed", "exit code 3"),
    "the code of a sandbox not entered": ("import os; os._exit(97)", "crashed", "exit code 97"),
    "the code of a worker that failed": ("import os; os._exit(96)", "crashed", "beside your code"),
    "segmentation fault": ("import ctypes; ctypes.string_at(0)", "crashed", "SIGSEGV"),
    "abort": ("import os; os.abort()", "crashed", "crashed the Python interpreter"),
    "32-bit system call": (X32, "crashed", "SIGSYS"),
    "output flood": ("while True: print('x' * 1000)", "crashed", "printed more than"),
    "output flood from C": (
        "import os\nwhile True: os.write(2, b'x' * 9999)",
        "crashed",
        "printed",
    ),
    "bytes into the result channel": (
        "import os; os.write(4, b'x' * 100)",
        "crashed",
        "something else than results",
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


# What their placeholders stand for.
PLACES = ("canary", "package", "port")
# Of these an exception has to be one when something was refused.
REFUSALS = {"OSError", "MemoryError", "ImportError", "RuntimeError", "ValueError"}
RIGHT = "import numpy as np\nassert (2 * np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]\n"


def statement(source):
    return {"source": source, "line": 1, "cell": "cell-1", "binds": []}


def attempt(source):
    return "def attempt():\n" + textwrap.indent(textwrap.dedent(source).strip() or "pass", "    ")


def limits(**changed):
    """Limits that a test can wait for."""
    from autograder.observe.session import Limits

    quick = Limits(wall=0.5, total=3.0, cpu=60, memory=96, output=1 << 16)
    return dataclasses.replace(quick, **changed)


def run(pool, source, **changed):
    """What a submission raised, or None; Stopped when it brought its process down."""
    with pool.session(limits(**changed)) as session:
        (raised,) = session.load([statement(source)], {})
        printed = session.log
    return raised, printed


def wrong_after(pool):
    """What is wrong with a right submission now, or None."""
    raised, _ = run(pool, RIGHT, wall=10.0, total=10.0)
    return None if raised is None else f"the next submission raised {raised}"


def not_refused(pool, name, places):
    """Why an entry of REFUSED is not what it has to be, or None."""
    source = REFUSED[name]
    for key in PLACES:
        source = source.replace("{" + key + "}", str(places[key]))
    raised, printed = run(pool, attempt(source) + "\nattempt()", wall=10.0, total=10.0)
    if raised is None:
        return "it went through"
    if not {raised["type"], *raised["bases"]} & REFUSALS:
        return f"it raised {raised}"
    if "secret-canary" in str(raised) + printed:
        return "it read the canary"
    with open(places["canary"], encoding="utf-8") as file:
        if file.read() != "secret-canary":
            return "it changed the canary"
    return wrong_after(pool)


def not_denied(pool, name):
    """Why a system call is not what it has to be, or None; by number, as no library has it."""
    number = SYSCALLS[name].get(os.uname().machine)
    if number is None:
        return None
    source = f"""
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        result = libc.syscall(ctypes.c_long({number}), 0, 0, 0, 0, 0, 0)
        raise ValueError(result, ctypes.get_errno())
    """
    raised, _ = run(pool, attempt(source) + "\nattempt()", wall=10.0, total=10.0)
    wanted = (-1, 38 if name == "clone3" else 1)  # ENOSYS, EPERM
    if raised["message"] != str(wanted):
        return f"(result, errno) was {raised['message']} and not {wanted}"
    return wrong_after(pool)


def not_ended(pool, name):
    """Why an entry of ENDED is not what it has to be, or None."""
    from autograder.observe.session import Stopped

    source, reason, words = ENDED[name]
    if source == X32 and os.uname().machine != "x86_64":
        return None  # only x86-64 has this second table of system calls
    # what ends by itself has time to, even on a busy machine
    wall = 0.5 if reason == "timed_out" else 8.0
    try:
        raised, _ = run(pool, attempt(source) + "\nattempt()", memory=256, wall=wall, total=10.0)
    except Stopped as stopped:
        if stopped.reason != reason or words not in stopped.message:
            return f"it ended as {stopped.reason}: {stopped.message}"
        return wrong_after(pool)
    return f"it did not end: {raised}"


def try_all(pool, places):
    """(how many were tried, {name: why} of those that were not stopped as they have to be)."""
    tried = {f"refused: {name}": (not_refused, name, places) for name in REFUSED}
    tried |= {f"denied: {name}": (not_denied, name) for name in SYSCALLS}
    tried |= {f"ended: {name}": (not_ended, name) for name in ENDED}
    with ThreadPoolExecutor(16) as threads:  # most of the time is waiting for limits of time
        results = {
            name: threads.submit(function, pool, *rest) for name, (function, *rest) in tried.items()
        }
        through = {name: result.result() for name, result in results.items()}
    return len(tried), {name: why for name, why in through.items() if why is not None}


def forbid_namespaces():
    """Be in a container that forbids them, as Docker's own filter does for this process."""
    import errno

    import pyseccomp

    rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in ("unshare", "setns", "mount", "umount2", "pivot_root"):
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
    for flag in (0x00020000, *(1 << bit for bit in range(25, 31))):  # CLONE_NEWNS to NEWNET
        rules.add_rule(
            pyseccomp.ERRNO(errno.EPERM), "clone", pyseccomp.Arg(0, pyseccomp.MASKED_EQ, flag, flag)
        )
    rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")  # its flags cannot be seen
    rules.load()


def users_of_children(pool):
    """The users that two children are."""
    source = "import os\nraise ValueError(os.getuid())"
    return [int(run(pool, source)[0]["message"]) for _ in range(2)]


def outlives_the_zygote(pool):
    """Whether a child is still there five seconds after its zygote was killed."""
    with pool.session() as session:
        session.load([statement("pass")], {})
        os.kill(pool.pids[0], signal.SIGKILL)
        poll = select.poll()
        poll.register(session._pidfd, select.POLLIN)
        return not poll.poll(5000)


def main(options):
    """Options: package, canary, port; layers and course, or None; forbid_namespaces, suite."""
    file = os.path.join(options["package"], "zygote.py")
    specification = importlib.util.spec_from_file_location("zygote_as_a_module", file)
    zygote = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(zygote)
    zygote.only_beside(options["package"])
    from autograder.observe import sandbox
    from autograder.observe.pool import ZygotePool

    if options.get("forbid_namespaces"):
        forbid_namespaces()
    layers = options.get("layers") or sandbox.LAYERS
    secret = [options["course"]] if options.get("course") else []
    with ZygotePool(layers=layers, words=False, secret=secret) as pool:
        tried, through = try_all(pool, options) if options.get("suite") else (0, {})
        wrong = wrong_after(pool)
        if wrong is not None:
            through["right"] = wrong
        found = {
            "user": os.getuid(),
            "isolation": pool.isolation,
            "layers": pool.layers,
            "missing": pool.missing,
            "tried": tried,
            "through": through,
            "children": users_of_children(pool),
            "outlives": outlives_the_zygote(pool),
        }
    print(json.dumps(found))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
