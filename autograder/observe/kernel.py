"""Calls of the Linux kernel that Python's standard library does not have.

This stands on the untrusted side too, so that a child can be locked in.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
from typing import Any

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_MADV_COLLAPSE, _HUGE_PAGE = 25, 1 << 21
_NAMESPACES = ("mnt", "net", "pid", "ipc", "uts")

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def syscall(number: int, *arguments: Any) -> int:
    """Make a system call by its number; OSError when the kernel refuses."""
    values = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result: int = libc.syscall(ctypes.c_long(number), *values)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"system call {number}: {os.strerror(code)}")
    return result


def prctl(option: int, *arguments: Any) -> None:
    """Call the kernel's prctl; OSError when it refuses."""
    values = [ctypes.c_ulong(value) if isinstance(value, int) else value for value in arguments]
    values += [ctypes.c_ulong(0)] * (4 - len(values))
    if libc.prctl(ctypes.c_int(option), *values) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")


def hide_memory() -> None:
    """Let no process of this user read or trace this one."""
    prctl(_PR_SET_DUMPABLE, 0)


def die_with_parent() -> None:
    """End with the thread that made this process. Changing the user takes this back."""
    prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def out_of_the_way(descriptor: int) -> int:
    """Move a descriptor up, since every child fills the low ones anew."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 100)
    os.close(descriptor)
    return moved


def namespaces() -> dict[str, str]:
    """The kernel's names of the namespaces that this process is in."""
    return {name: os.readlink(f"/proc/self/ns/{name}") for name in _NAMESPACES}


def gather_pages() -> int:
    """Put this process's own memory into huge pages where the kernel can (Linux 6.1); how many.

    A fork copies an entry for every page: 217 MiB of PyTorch are 55,000 of them, or about a
    hundred. Measured: a fork and its end take a quarter of the time.
    """
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    gathered = 0
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        for line in file:
            where, rights, _, _, _, *name = line.split()
            if "w" not in rights or (name and name[0] != "[heap]"):
                continue
            first, last = (int(address, 16) for address in where.split("-"))
            start = -(-first // _HUGE_PAGE) * _HUGE_PAGE
            for page in range(start, last - _HUGE_PAGE + 1, _HUGE_PAGE):
                gathered += libc.madvise(page, _HUGE_PAGE, _MADV_COLLAPSE) == 0
    return gathered
