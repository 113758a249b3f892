"""The namespaces around a zygote.

bubblewrap gives the zygote, once, a file system with the interpreter and the allowed
packages in it and nothing else, no network, and process numbers of its own. It is tried
and not looked up: where a container or the kernel forbids it, it fails, and the pool does
without and says so.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

# Read while a zygote warms up, and not by children: a link to the BLAS in use, by Debian; how
# many processors there are, for PyTorch.
_FOR_THE_ZYGOTE = ("/etc/alternatives", "/sys/devices/system/cpu")
_DEVICES = ("/dev/null", "/dev/urandom")


class NoBubblewrap(Exception):
    """It is not installed."""


def command(readable: Sequence[str], program: Path) -> list[str]:
    """What to write before a command, so that it sees these paths and the program's folder.

    The interpreter has to be named by `executable`: a link to it may lie elsewhere.
    """
    found = shutil.which("bwrap")
    if found is None:
        raise NoBubblewrap("bubblewrap is not installed")
    arguments = [
        found,
        "--unshare-all",
        # with the thread that starts it: see `supervisor.launch`
        "--die-with-parent",
        "--new-session",
        # As process 1 no signal from inside can reach the zygote, and all in there dies with it.
        "--as-pid-1",
        "--cap-drop",
        "ALL",
        "--proc",
        "/proc",
        # Before the paths: an environment that lies in /tmp is put on top of this.
        "--tmpfs",
        "/tmp",
    ]
    for device in _DEVICES:
        arguments += ["--dev-bind-try", device, device]
    for mount in _mounts([*readable, *_FOR_THE_ZYGOTE, executable(), str(program.parent)]):
        arguments += mount
    return [*arguments, "--remount-ro", "/", "--chdir", "/", "--"]


def executable() -> str:
    """The interpreter itself, not a link to it in an environment."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _mounts(paths: Sequence[str]) -> list[list[str]]:
    """Arguments that show these paths, read-only, each after what it lies in.

    The standard library is shown as one, not as its two hundred parts: each mount takes
    time. The folder of all packages, which may lie inside, is covered first.
    """
    stdlib = sysconfig.get_path("stdlib")
    inside = {path for path in paths if os.path.dirname(path) == stdlib}
    shown = [path for path in paths if path not in inside and not path.startswith("/dev/")]
    arguments: dict[str, list[str]] = {}
    for path in [*shown, *([stdlib] if inside else [])]:
        arguments[path] = ["--ro-bind-try", path, path]
    for name in ("site-packages", "dist-packages"):
        covered = os.path.join(stdlib, name)
        if inside and os.path.isdir(covered):
            arguments[covered] = ["--tmpfs", covered]
    return [arguments[path] for path in sorted(arguments)]
