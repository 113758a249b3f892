"""Landlock: the given files can be read, and nothing can be written, run or connected to.

What to ask the kernel for is worked out on the trusted side (`rights`), with a library; the
zygote makes the ruleset, and each child enters it, with three system calls. So neither the
library nor what it needs to find itself is there where student code runs.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence

from autograder.observe.kernel import out_of_the_way, syscall

# The same numbers on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3


def rights() -> dict[str, int]:
    """What this kernel's Landlock can deny, all of which is denied; raises without Landlock."""
    from py_landlock import abi, landlock_sys

    # Newer kernels know rights that py_landlock does not; they stay unhandled.
    version = abi.ABIVersion(min(landlock_sys.get_abi_version(), abi.MAX_KNOWN_ABI))
    return {
        "abi": int(version),
        "files": int(abi.get_supported_fs(version)),
        "network": int(abi.get_supported_net(version)),
        # From ABI 6: no signals to processes outside the child, no abstract sockets.
        "scope": int(abi.get_supported_scope(version)),
    }


class Landlock:
    """A ruleset, to be entered by any number of children."""

    def __init__(self, readable: Sequence[str], rights: Mapping[str, int]) -> None:
        self.abi = rights["abi"]
        asked = struct.pack("QQQ", rights["files"], rights["network"], rights["scope"])
        self._ruleset = out_of_the_way(syscall(_CREATE_RULESET, asked, len(asked), 0))
        for path in readable:
            # READ_DIR on a file is EINVAL
            allowed = _READ_FILE | (_READ_DIR if os.path.isdir(path) else 0)
            try:
                place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except FileNotFoundError:
                continue  # in bubblewrap: a link of Debian's to a file that is not shown there
            try:
                rule = struct.pack("=Qi", allowed, place)
                syscall(_ADD_RULE, self._ruleset, _PATH_BENEATH, rule, 0)
            finally:
                os.close(place)

    def enter(self) -> None:
        """Restrict this process, which has to have given up gaining privileges.

        Each child has a domain of its own, so none can signal another, or the zygote.
        """
        syscall(_RESTRICT_SELF, self._ruleset, 0)
