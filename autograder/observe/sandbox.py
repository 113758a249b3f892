"""What locks a child in before it runs a submission, and what that amounts to.

This runs on the untrusted side. The zygote builds a `Sandbox` once; every child enters it
before it has seen a byte of student code, and a layer that cannot be entered ends the
child (`enter` raises, the zygote's fork exits): there is no going on with less. Linux only.

Each layer alone has been got around; `landlock` and `seccomp` say what each is for.
"""

from __future__ import annotations

import base64
import fcntl
import os
import resource
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from autograder.observe import capabilities, kernel
from autograder.observe.landlock import Landlock
from autograder.observe.seccomp import Seccomp

if TYPE_CHECKING:
    from autograder.observe.session import Isolation

# What may be asked for, in the order in which it is entered. `bubblewrap` is around the
# zygote; `user` is a user of its own for each child of root, where there is no bubblewrap.
LAYERS = ("bubblewrap", "user", "landlock", "rlimits", "seccomp")

# The channels of a child: standard input is empty, what is printed goes to the log.
REQUESTS, RESULTS = 3, 4

_PR_SET_NO_NEW_PRIVS = 38
_SYS_CLOSE_RANGE = 436  # the same on every architecture


def level(layers: Collection[str]) -> Isolation:
    """The rung of the ladder that these layers make, all of them entered by a child.

    Without Landlock, what can be read is limited by bubblewrap's mounts, or by the file
    modes that keep a stranger out: the pool tries that the course cannot be read.
    """
    entered = set(layers)
    if not {"rlimits", "seccomp"} <= entered:
        return "none"
    if "landlock" in entered:
        return "strong+" if "bubblewrap" in entered else "strong"
    return "basic" if entered & {"bubblewrap", "user"} else "none"


@dataclass
class Sandbox:
    """The layers that this machine has, ready to be entered by each child.

    around: layers that the zygote itself is in. users: numbers of users, one for each child
    in turn. missing: for each layer that was wanted and is not there, why.
    """

    around: tuple[str, ...] = ()
    users: range | None = None
    landlock: Landlock | None = None
    seccomp: Seccomp | None = None
    rlimits: bool = False
    missing: dict[str, str] = field(default_factory=dict)

    def enter(
        self,
        channels: Sequence[int],
        limits: Mapping[str, int],
        base: int,
        parent: int,
        serial: int,
    ) -> tuple[str, ...]:
        """Lock this process in; the names of the layers entered.

        channels: requests, results and log. limits: memory (bytes above `base`, which is the
        zygote's own address space), cpu (seconds), files, processes. serial: different for
        each child. Raises when a layer cannot be entered.
        """
        _arrange(channels)
        # Also what allows Landlock and seccomp to be entered without being root.
        kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1)
        entered = [*self.around]
        if self.landlock is not None:
            self.landlock.enter()
        _close_from(RESULTS + 1)
        if self.users is not None:
            capabilities.become(self.users[serial % len(self.users)])
            entered.append("user")
        if self.landlock is not None:
            entered.append("landlock")
        # After the user has been changed, which takes back both.
        kernel.die_with_parent()
        kernel.hide_memory()
        if os.getppid() != parent:
            raise RuntimeError("the zygote died while the child was made")
        if self.rlimits:
            _limit(limits, base)
            entered.append("rlimits")
        if self.seccomp is not None:
            self.seccomp.enter()
            entered.append("seccomp")
        return tuple(entered)


def build(
    readable: Sequence[str],
    wanted: Collection[str],
    rights: Mapping[str, int] | None,
    code: str | None,
    around: tuple[str, ...] = (),
) -> Sandbox:
    """Prepare the wanted layers, as far as this machine has them.

    rights: as `landlock.rights` found them; code: the filter of `seccomp.compile_filter` in
    base 64; None where the trusted side has already said why there is none.
    """
    sandbox = Sandbox(around=around, rlimits="rlimits" in wanted)
    if "landlock" in wanted and rights is not None:
        try:
            sandbox.landlock = Landlock(readable, rights)
        except OSError as fault:  # forbidden by a container's own filter
            sandbox.missing["landlock"] = f"{type(fault).__name__}: {fault}"
    if "seccomp" in wanted and code is not None:
        sandbox.seccomp = Seccomp(base64.b64decode(code))
    if "user" in wanted and not around:
        try:
            sandbox.users = capabilities.users(readable)
        except (capabilities.NoUsers, OSError) as fault:
            sandbox.missing["user"] = str(fault)
    return sandbox


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
    try:
        kernel.syscall(_SYS_CLOSE_RANGE, first, 2**32 - 1, 0)
    except OSError:
        os.closerange(first, resource.getrlimit(resource.RLIMIT_NOFILE)[1])


def _limit(limits: Mapping[str, int], base: int) -> None:
    if min(limits.values()) < 0:
        raise ValueError("a negative limit would be none")  # the kernel takes -1 for infinity
    cpu, memory = limits["cpu"], base + limits["memory"]
    for name, soft, hard in (
        ("CORE", 0, 0),
        ("FSIZE", 0, 0),
        ("MEMLOCK", 0, 0),
        ("MSGQUEUE", 0, 0),
        ("NOFILE", limits["files"], limits["files"]),
        # The kernel ignores it for root: seccomp refuses clone.
        ("NPROC", limits["processes"], limits["processes"]),
        ("CPU", cpu, cpu + 1),  # SIGXCPU can be ignored; a second later SIGKILL cannot
        # RLIMIT_DATA in place of this one made NumPy's SVD hang
        ("AS", memory, memory),
    ):
        which = getattr(resource, f"RLIMIT_{name}")
        ceiling = resource.getrlimit(which)[1]
        # Less than was promised would be taken for a fault of the submission.
        if ceiling != resource.RLIM_INFINITY and ceiling < hard:
            raise ValueError(f"the grader itself may have no more than {name} {ceiling} (ulimit)")
        resource.setrlimit(which, (soft, hard))
