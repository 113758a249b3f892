"""Running the suite as an ordinary user, where the tests run as root; and as root with users.

The interpreter may lie in a home that nobody else may enter. In a mount namespace of its own,
with a copy of the way there that can be walked, the program finds it at the same place.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

NOBODY = 65534

# $1: the first folder on the way that others may not enter; $2: what is needed below it.
_SCRIPT = """
set -e
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/kept && mount --rbind "$2" /mnt/kept
mount -t tmpfs -o mode=755 tmpfs "$1"
mkdir -p "$2" && mount --rbind /mnt/kept "$2"
shift 2
exec "$@"
"""


class NotPossible(Exception):
    """This machine does not let root do this; the message says what is missing."""


def command(program: Sequence[str], *, as_nobody: bool = True) -> list[str]:
    """A command that runs `python PROGRAM` of this environment as nobody.

    Or as root, with an interpreter that others can read: then the sandbox can give each child a
    user of its own.
    """
    drop = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    drop += ["--inh-caps=-all", "--bounding-set=-all", "--no-new-privs"]
    wanted = ["env", "HOME=/tmp", sys.executable, *program]
    if as_nobody:
        wanted = [*drop, *wanted]
    for tool in ("setpriv", "unshare"):
        if shutil.which(tool) is None:
            raise NotPossible(f"there is no {tool}")
    closed = _closed_folder()
    if closed is None:
        return wanted
    kept = str(Path(sys.base_prefix).resolve())
    inside = ["unshare", "--mount", "--propagation", "private"]
    inside += ["sh", "-c", _SCRIPT, "sh", str(closed), kept]
    tried = subprocess.run([*inside, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise NotPossible(f"no mount namespace can be made: {tried.stderr.strip()}")
    return [*inside, *wanted]


def _closed_folder() -> Path | None:
    """The first folder above the interpreter that only its owner may enter."""
    python = Path(os.path.realpath(sys.executable))
    for folder in reversed(python.parents):
        if not folder.stat().st_mode & 0o001:
            return folder
    return None
