"""Words for what a sandboxed submission may not do, said before the kernel refuses it.

This locks nothing: seccomp and Landlock do, and answer “Operation not permitted” to
whatever gets past it. It is there so that a student reads which rule it was and what to do.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from typing import Any

_PROCESSES = (
    "a submission may start {} processes or threads beside its own: do the work in this one"
)
_FILES = "a submission may not write, make or delete files: keep values in variables"
_NETWORK = "a submission may not use the network or other sockets: keep what it needs in its code"
_SIGNALS = "a submission may not send signals: leave other processes alone"

_WORDS = {
    "os.fork": _PROCESSES,
    "os.forkpty": _PROCESSES,
    "os.posix_spawn": _PROCESSES,
    "os.exec": _PROCESSES,
    "os.system": _PROCESSES,
    "subprocess.Popen": _PROCESSES,
    "os.remove": _FILES,
    "os.rename": _FILES,
    "os.mkdir": _FILES,
    "os.rmdir": _FILES,
    "os.truncate": _FILES,
    "socket.__new__": _NETWORK,
    "os.kill": _SIGNALS,
    "os.killpg": _SIGNALS,
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def install(processes: int) -> None:
    """Name the rule in every refusal of this process from now on."""

    def refuse(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            # a number is a descriptor that is open already
            if type(path) is not int and flags & _WRITING:
                raise PermissionError(errno.EPERM, _FILES)
        elif event in _WORDS:
            raise PermissionError(errno.EPERM, _WORDS[event].format(processes or "no"))

    def start_no_thread(*details: Any, **more: Any) -> Any:  # not an event before Python 3.12
        raise RuntimeError(_PROCESSES.format(processes or "no"))

    sys.addaudithook(refuse)
    for name in ("_start_new_thread", "_start_joinable_thread"):  # the latter from 3.13 on
        if hasattr(threading, name):
            setattr(threading, name, start_no_thread)
