"""seccomp: which system calls exist.

The filter is compiled on the trusted side (`compile_filter`), with a library, into the bytes
that the kernel wants; a child enters it with one call. So neither the library nor what it
needs to find itself is there where student code runs.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
from typing import Any

from autograder.observe.kernel import prctl

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2

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


def compile_filter() -> bytes:
    """The filter as a BPF program for this machine; raises without libseccomp."""
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
        return source.read()


class _FilterProgram(ctypes.Structure):
    """struct sock_fprog."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class Seccomp:
    """A compiled filter, to be entered by any number of children."""

    def __init__(self, code: bytes) -> None:
        self._code = ctypes.create_string_buffer(code, len(code))
        self._program = _FilterProgram(len(code) // 8, ctypes.addressof(self._code))

    def enter(self) -> None:
        """Filter this process's system calls from now on, for good."""
        prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(self._program))
