"""What root may do beyond owning its files, and giving it up. Linux only."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Sequence

from autograder.observe.sandbox import libc, prctl

_PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 24, 47, 4
_CAP_DAC_READ_SEARCH = 1 << 2
_CAPABILITY_VERSION_3 = 0x20080522


def drop(readable: Sequence[str]) -> None:
    """Give up, for good, what root may do beyond owning its files. The zygote calls it once.

    The user stays the same: an interpreter in a home that only its owner may enter has to
    remain readable. Where that home is another user's, the one capability to read stays
    too; Landlock limits what is read in any case.
    """
    state = _capabilities()
    permitted = state[1] | state[4] << 32
    if permitted == 0:
        return
    _set_capabilities(0, permitted)
    needed = 0 if all(_can_open(path) for path in readable) else _CAP_DAC_READ_SEARCH
    _set_capabilities(permitted, permitted)
    for capability in range(64):
        try:
            prctl(_PR_CAPBSET_DROP, capability)
        except OSError as fault:
            if fault.errno == errno.EINVAL:  # one more than the last that the kernel knows
                break
            if fault.errno != errno.EPERM:  # a container without CAP_SETPCAP: no exec anyway
                raise
    prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    _set_capabilities(needed & permitted, needed & permitted)


def _capabilities() -> tuple[int, ...]:
    data = ctypes.create_string_buffer(24)  # (effective, permitted, inheritable), low and high
    if libc.capget(struct.pack("<Ii", _CAPABILITY_VERSION_3, 0), data) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    return struct.unpack("<6I", data.raw)


def _set_capabilities(effective: int, permitted: int) -> None:
    low, high = (effective & 0xFFFFFFFF, permitted & 0xFFFFFFFF), (effective >> 32, permitted >> 32)
    data = struct.pack("<6I", *low, 0, *high, 0)
    if libc.capset(struct.pack("<Ii", _CAPABILITY_VERSION_3, 0), data) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _can_open(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except PermissionError:
        return False
    except OSError:  # a device that is not there in a container
        pass
    return True
