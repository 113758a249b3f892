"""What root may do beyond owning its files, and giving it up. Linux only."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Sequence
from pathlib import Path

from autograder.observe.kernel import libc, prctl

_PR_CAPBSET_DROP, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 24, 47, 4
_CAPABILITY_VERSION_3 = 0x20080522
_DAC_READ_SEARCH = 1 << 2
# To make each child another user. The kernel signals the children when the zygote dies as
# if the zygote did, so it has to be allowed to.
_KILL, _SETGID, _SETUID = 1 << 5, 1 << 6, 1 << 7
FOR_USERS = _KILL | _SETGID | _SETUID

# Numbers that no user has: systemd's list calls both unused. The second is for containers
# with no more than 65,536 users; there a few children may have to share.
_UNUSED = ((1_879_048_192, 2_147_483_647), (50_000, 59_999))
_AT_A_TIME = 1024


class NoUsers(Exception):
    """Children cannot have users of their own; the message says why."""


def drop(readable: Sequence[str], keep: int = 0) -> None:
    """Give up, for good, what root may do beyond owning its files. The zygote calls it once.

    The user stays the same: an interpreter in a home that only its owner may enter has to
    remain readable. Where that home is another user's, the one capability to read stays
    too; Landlock limits what is read in any case. keep: what the zygote needs itself.
    """
    permitted = _permitted()
    if permitted == 0:
        return
    _set(0, permitted)
    needed = 0 if all(_can_open(path) for path in readable) else _DAC_READ_SEARCH
    _set(permitted, permitted)
    for capability in range(64):
        try:
            prctl(_PR_CAPBSET_DROP, capability)
        except OSError as fault:
            if fault.errno == errno.EINVAL:  # one more than the last that the kernel knows
                break
            if fault.errno != errno.EPERM:  # a container without CAP_SETPCAP: no exec anyway
                raise
    prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL)
    left = (needed | keep) & permitted
    _set(left, left)


def users(readable: Sequence[str]) -> range:
    """Numbers of users that nobody has, for the children of this zygote.

    Raises NoUsers where that cannot be, above all because the interpreter or a package lies
    in a folder that only its owner may enter: a child of another user could import nothing.
    """
    if os.geteuid() != 0:
        raise NoUsers("only root can run each child as a user of its own")
    if _permitted() & FOR_USERS != FOR_USERS:
        raise NoUsers("root may not become another user in this container")
    numbers = next((block for block in _UNUSED if _is_mapped(block)), None)
    if numbers is None:
        raise NoUsers("this container knows no numbers of users beside those in use")
    blocks = (numbers[1] - numbers[0]) // _AT_A_TIME
    # at random, so that zygotes do not share; from the system, so that no generator is moved
    block = int.from_bytes(os.urandom(4), "little") % blocks
    first = numbers[0] + block * _AT_A_TIME
    closed = _closed_to(first, readable)
    if closed is not None:
        raise NoUsers(f"only root may read {closed}, where the interpreter or a package lies")
    return range(first, first + _AT_A_TIME)


def become(user: int) -> None:
    """Be this user for good, with no capability; raises when anything of root is left."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if _permitted() != 0:
        raise RuntimeError("capabilities outlived the change of user")


def _is_mapped(block: tuple[int, int]) -> bool:
    """Whether this user namespace has all of these numbers, for users and for groups."""
    for kind in ("uid", "gid"):
        with open(f"/proc/self/{kind}_map", encoding="ascii") as file:
            lines = [[int(part) for part in line.split()] for line in file]
        if not any(start <= block[0] and block[1] < start + size for start, _, size in lines):
            return False
    return True


def _closed_to(user: int, readable: Sequence[str]) -> str | None:
    """What this user would have to be able to read, or to enter."""
    groups = os.getgroups()
    try:
        os.setgroups([])
        os.setegid(user)
        os.seteuid(user)  # takes the effective capabilities away; coming back gives them back
        closed = next((path for path in readable if not _can_open(path)), None)
        return None if closed is None else _what_closes(closed)
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def _what_closes(path: str) -> str:
    """The folder that keeps this user from a path below it, or the path itself."""
    before = "/"
    for parent in reversed(Path(path).parents):
        try:
            parent.stat()
        except PermissionError:
            return before
        before = str(parent)
    return path


def _permitted() -> int:
    data = ctypes.create_string_buffer(24)  # (effective, permitted, inheritable), low and high
    if libc.capget(struct.pack("<Ii", _CAPABILITY_VERSION_3, 0), data) != 0:
        raise OSError(ctypes.get_errno(), "capget")
    sets = struct.unpack("<6I", data.raw)
    return int(sets[1] | sets[4] << 32)


def _set(effective: int, permitted: int) -> None:
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
