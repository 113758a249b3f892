"""What locks a child in before it runs a submission.

This runs on the untrusted side. The zygote builds a `Sandbox` once; every child enters it
before it has seen a byte of student code, and a layer that cannot be entered ends the
child (`enter` raises, the zygote's fork exits): there is no going on with less. Linux only.

Each layer alone has been got around; the comments say what each is for.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import resource
import signal
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

# What may be asked for, in the order in which it is entered.
LAYERS = ("landlock", "rlimits", "seccomp")

# The channels of a child: standard input is empty, what is printed goes to the log.
REQUESTS, RESULTS = 3, 4

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SET_NO_NEW_PRIVS, _SECCOMP_MODE_FILTER = 38, 2
_SYS_CLOSE_RANGE = 436  # the same on every architecture

libc = ctypes.CDLL(None, use_errno=True)


def level(layers: Collection[str]) -> str:
    """The rung of the ladder that these layers make.

    "basic" and "strong+" need bubblewrap (or a user of its own for each child), which is
    entered around the zygote and not here; without them there is nothing in between.
    """
    return "strong" if set(LAYERS) <= set(layers) else "none"


# --- Landlock: which files can be read ---------------------------------------------------


class Landlock:
    """A ruleset: the given paths can be read, nothing can be written, run or connected to."""

    def __init__(self, readable: Sequence[str]) -> None:
        from py_landlock import abi, landlock_sys
        from py_landlock.flags import AccessFs

        self._sys: Any = landlock_sys
        # Newer kernels know rights that py_landlock does not; they stay unhandled.
        self.abi = int(min(landlock_sys.get_abi_version(), abi.MAX_KNOWN_ABI))
        version = abi.ABIVersion(self.abi)
        rules = landlock_sys.RulesetAttr()
        rules.handled_access_fs = int(abi.get_supported_fs(version))
        rules.handled_access_net = int(abi.get_supported_net(version))
        # From ABI 6: no signals to processes outside the child, no abstract sockets.
        rules.scoped = int(abi.get_supported_scope(version))
        self._ruleset = landlock_sys.RulesetFd(out_of_the_way(landlock_sys.create_ruleset(rules)))
        for path in readable:
            rule = landlock_sys.PathBeneathAttr()
            # READ_DIR on a file is EINVAL
            listing = AccessFs.READ_DIR if os.path.isdir(path) else AccessFs(0)
            rule.allowed_access = int(AccessFs.READ_FILE | listing)
            rule.parent_fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                landlock_sys.add_rule(self._ruleset, rule)
            finally:
                os.close(rule.parent_fd)

    def enter(self) -> None:
        """Restrict this process.

        Each child has a domain of its own, so none can signal another, or the zygote.
        """
        self._sys.restrict_self(self._ruleset, None)


# --- seccomp: which system calls exist ---------------------------------------------------

# Everything else is EPERM: no sockets, no processes or threads, no writing or deleting, no
# signals (not even to itself), no ptrace, namespaces, keyrings, io_uring or memfd.
_ALLOWED = """
read write readv writev pread64 close lseek fstat newfstatat stat lstat statx
access faccessat faccessat2 readlink readlinkat getcwd getdents64 dup
mmap munmap mprotect mremap madvise brk futex membarrier
clock_gettime clock_getres clock_nanosleep nanosleep gettimeofday time getrandom sched_yield
sched_getaffinity getcpu getpid gettid getppid getuid geteuid getgid getegid uname sysinfo
times getrusage rt_sigaction rt_sigprocmask rt_sigreturn sigaltstack restart_syscall
poll ppoll select pselect6 exit exit_group rseq
"""

_TCGETS, _FIOCLEX, _FIONCLEX = 0x5401, 0x5451, 0x5450

# F_SETOWN, F_SETSIG and O_ASYNC on a pipe are a way to signal any process of the same user
# although kill is refused, hence no F_SETFL and no F_SETOWN: only these.
_FCNTL_COMMANDS = (
    fcntl.F_GETFD,
    fcntl.F_SETFD,
    fcntl.F_GETFL,
    fcntl.F_DUPFD,
    fcntl.F_DUPFD_CLOEXEC,
)


class _FilterProgram(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class Seccomp:
    """A filter of system calls, compiled once; entering it is one call of the kernel."""

    def __init__(self) -> None:
        # Its import looks for libseccomp with ldconfig: not possible later, in a child.
        import pyseccomp

        rules = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.EPERM))

        def rule(action: int, name: str, *conditions: Any) -> None:
            # negative: no such call here (arm64 has no `open`), or libseccomp is older than it
            if pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) >= 0:
                rules.add_rule(action, name, *conditions)

        def allow(name: str, *conditions: Any) -> None:
            rule(pyseccomp.ALLOW, name, *conditions)

        for name in _ALLOWED.split():
            allow(name)
        # ENOSYS makes the C library fall back to clone, which is then EPERM.
        rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
        # O_TMPFILE needs a writing mode, so this covers it.
        writing = os.O_ACCMODE | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        allow("openat", pyseccomp.Arg(2, pyseccomp.MASKED_EQ, writing, 0))
        allow("open", pyseccomp.Arg(1, pyseccomp.MASKED_EQ, writing, 0))
        allow("prlimit64", pyseccomp.Arg(2, pyseccomp.EQ, 0))  # ask for a limit, set none
        for command in (_TCGETS, _FIOCLEX, _FIONCLEX):
            allow("ioctl", pyseccomp.Arg(1, pyseccomp.EQ, command))
        for command in _FCNTL_COMMANDS:
            allow("fcntl", pyseccomp.Arg(1, pyseccomp.EQ, command))
        reading, writing_end = os.pipe()  # the program is far smaller than a pipe's buffer
        with os.fdopen(writing_end, "wb") as file:
            rules.export_bpf(file)
        with os.fdopen(reading, "rb") as source:
            code = source.read()
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = _FilterProgram(len(code) // 8, ctypes.addressof(self._code))

    def enter(self) -> None:
        """Filter this process's system calls from now on, for good."""
        prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(self._program))


# --- all layers --------------------------------------------------------------------------


@dataclass
class Sandbox:
    """The layers that this machine has, ready to be entered by each child.

    missing: for each layer that was wanted and is not there, why.
    """

    landlock: Landlock | None = None
    seccomp: Seccomp | None = None
    rlimits: bool = False
    missing: dict[str, str] = field(default_factory=dict)

    def enter(
        self, channels: Sequence[int], memory: int, cpu: int, base: int, parent: int
    ) -> tuple[str, ...]:
        """Lock this process in; the names of the layers entered.

        channels: requests, results and log. memory: bytes above `base`, which is the
        zygote's own address space; cpu: seconds. Raises when a layer cannot be entered.
        """
        _arrange(channels)
        # Also what allows Landlock and seccomp to be entered without being root.
        prctl(_PR_SET_NO_NEW_PRIVS, 1)
        entered = []
        if self.landlock is not None:
            self.landlock.enter()
            entered.append("landlock")
        _close_from(RESULTS + 1)
        # A user of its own for each child of root, without bubblewrap, belongs here: before
        # the next lines, since changing the user takes back both.
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(_PR_SET_DUMPABLE, 0)
        if os.getppid() != parent:
            raise RuntimeError("the zygote died while the child was made")
        if self.rlimits:
            _limit(memory, base, cpu)
            entered.append("rlimits")
        if self.seccomp is not None:
            self.seccomp.enter()
            entered.append("seccomp")
        return tuple(entered)


def build(readable: Sequence[str], wanted: Collection[str] = LAYERS) -> Sandbox:
    """Prepare the wanted layers, as far as this machine has them."""
    sandbox = Sandbox(rlimits="rlimits" in wanted)
    if "landlock" in wanted:
        try:
            sandbox.landlock = Landlock(readable)
        except Exception as fault:  # not installed, too old a kernel, disabled at boot
            sandbox.missing["landlock"] = f"{type(fault).__name__}: {fault}"
    if "seccomp" in wanted:
        try:
            sandbox.seccomp = Seccomp()
        except Exception as fault:  # not installed, or no libseccomp
            sandbox.missing["seccomp"] = f"{type(fault).__name__}: {fault}"
    return sandbox


def prctl(option: int, *arguments: Any) -> None:
    """Call the kernel's prctl; OSError when it refuses."""
    values = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    values += [ctypes.c_ulong(0)] * (4 - len(values))
    if libc.prctl(ctypes.c_int(option), *values) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}): {os.strerror(number)}")


def hide_memory() -> None:
    """Let no process of this user read or trace this one."""
    prctl(_PR_SET_DUMPABLE, 0)


def out_of_the_way(descriptor: int) -> int:
    """Move a descriptor up, since every child fills the low ones anew."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(descriptor)
    return moved


def _arrange(channels: Sequence[int]) -> None:
    """Put the channels where the worker expects them."""
    null = os.open(os.devnull, os.O_RDONLY)
    # High first: a channel may have come in on one of the low descriptors.
    requests, results, log, empty = (fcntl.fcntl(f, fcntl.F_DUPFD, 20) for f in (*channels, null))
    targets = {0: empty, 1: log, 2: log, REQUESTS: requests, RESULTS: results}
    for target, source in targets.items():
        os.dup2(source, target, inheritable=False)


def _close_from(first: int) -> None:
    """Close every other descriptor: the zygote's control socket above all."""
    if libc.syscall(ctypes.c_long(_SYS_CLOSE_RANGE), first, ctypes.c_uint(2**32 - 1), 0) != 0:
        os.closerange(first, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def _limit(memory: int, base: int, cpu: int) -> None:
    if memory < 0 or cpu < 0:
        raise ValueError("a negative limit would be none")  # the kernel takes -1 for infinity
    for name, soft, hard in (
        ("CORE", 0, 0),
        ("FSIZE", 0, 0),
        ("MEMLOCK", 0, 0),
        ("MSGQUEUE", 0, 0),
        ("NOFILE", 64, 64),
        ("NPROC", 0, 0),  # the kernel ignores it for root: seccomp refuses clone
        ("CPU", cpu, cpu + 1),  # SIGXCPU can be ignored; a second later SIGKILL cannot
        # RLIMIT_DATA in place of this one made NumPy's SVD hang
        ("AS", base + memory, base + memory),
    ):
        which = getattr(resource, f"RLIMIT_{name}")
        ceiling = resource.getrlimit(which)[1]
        if ceiling != resource.RLIM_INFINITY:  # a limit can be lowered only
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(which, (soft, hard))
