"""What this machine's sandbox really stops: tried, in a real child, and not looked up.

Each probe is a small hostile submission. What it does to files it does in a folder made for
it, whose modes would allow it: what holds it back is the sandbox, or nothing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import platform
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.observe.session import Isolation, Limits, Stopped

if TYPE_CHECKING:
    from autograder.observe.pool import ZygotePool

FIT: tuple[Isolation, ...] = ("strong+", "strong")
_CANARY = "the canary of autograder doctor"
# Enough wall time to use up a second of processor time on a busy machine.
_SLOW = Limits(wall=20.0, total=20.0, cpu=1, memory=64)
_INSTALL = "pip install 'attention-autograder[instructor]'"

_MEANING: dict[Isolation, str] = {
    "strong+": "Fit for submissions of people you do not trust.",
    "strong": "Fit for submissions of people you do not trust. With bubblewrap there would be a "
    "second wall around files, network and signals.",
    "basic": "No network, processes or writes. What can be read is limited by mounts or by the "
    "modes of files alone: not enough for people you do not trust.",
    "none": "Loops and crashes are survived, but code can read your files: grade code that you "
    "trust (--allow-unsandboxed), or grade on another machine.",
}


@dataclass(frozen=True)
class Probe:
    """One thing that was tried. fix: what to do about it when it did not hold."""

    name: str
    held: bool
    result: str
    fix: str = ""


@dataclass(frozen=True)
class Report:
    """What was found. layers: what was entered; probes: what was tried from inside."""

    level: Isolation
    system: str
    landlock_abi: int
    layers: tuple[Probe, ...]
    probes: tuple[Probe, ...]

    @property
    def fit(self) -> bool:
        """Whether a class may be graded here."""
        return self.level in FIT


@dataclass(frozen=True)
class _Attempt:
    """A submission to try. layer: what should stop it. limits: those of its session.

    stopped: what the session has to end with, where no exception is expected; a file or a
    socket may show that it went through although it raised (`seen`).
    """

    name: str
    source: str
    layer: str
    limits: Limits = field(default_factory=lambda: Limits(wall=10, total=10, memory=64))
    stopped: str = ""
    seen: Callable[[], bool] = lambda: False


def examine() -> Report:
    """Try everything on this machine. Takes a second or two."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    if sys.platform != "linux":
        fix = "grade on Linux, for instance in a virtual machine"
        probe = Probe("a sandbox", False, f"there is none on {platform.system()}", fix)
        return Report("none", system, 0, (probe,), ())
    from autograder.observe.pool import ZygotePool
    from autograder.observe.supervisor import ZygoteDied

    with _place() as (folder, attempts):
        try:
            pool = ZygotePool(words=False, secret=[folder])  # refusals in the kernel's own words
        except (ZygoteDied, OSError) as fault:
            probe = Probe("a sandbox", False, f"it does not start: {fault}", _INSTALL)
            return Report("none", system, 0, (probe,), ())
        with pool:
            layers = tuple(_layers(pool))
            fixes = {probe.name: probe.fix for probe in layers}
            probes = tuple(_try(pool, attempt, fixes) for attempt in attempts)
            level = pool.isolation
            abi = pool.landlock_abi
    if level in FIT and not all(probe.held for probe in probes):
        level = "none"  # whatever was entered, something went through
    return Report(level, system, abi, layers, probes)


# --- the layers --------------------------------------------------------------------------


def _layers(pool: ZygotePool) -> Iterator[Probe]:
    from autograder.observe import sandbox

    for name in sandbox.LAYERS:
        if name in pool.layers:
            yield Probe(name, True, "entered")
        elif name in pool.missing:
            why = pool.missing[name]
            yield Probe(name, False, why, _fix(name, why))


def _fix(layer: str, why: str) -> str:
    """What to do about a layer that is not there."""
    if "ModuleNotFoundError" in why:
        return _INSTALL
    if layer == "seccomp":
        return "apt-get install libseccomp2"
    if layer == "landlock":
        if "Disabled" in why:
            return "add landlock to the kernel's parameter lsm= and boot again"
        return "use a kernel of version 5.13 or newer, and a container that allows Landlock"
    if layer == "bubblewrap":
        if "not installed" in why:
            return "apt-get install bubblewrap"
        return "allow user namespaces, if you can: containers and some distributions forbid them"
    if layer == "user":
        return "not needed; as root, with the interpreter where all users may read it"
    return "see docs/instructors.md"


# --- what is tried -----------------------------------------------------------------------


@contextlib.contextmanager
def _place() -> Iterator[tuple[Path, list[_Attempt]]]:
    """A folder and sockets that everybody may use, and what to try on them."""
    folder = Path(tempfile.mkdtemp(prefix="autograder-doctor-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        folder.chmod(0o777)
        canary = folder / "canary.txt"
        canary.write_text(_CANARY, encoding="utf-8")
        canary.chmod(0o666)
        inet = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        unix = stack.enter_context(socket.socket(socket.AF_UNIX))
        unix.bind(str(folder / "socket"))
        (folder / "socket").chmod(0o666)
        unix.listen()
        for listener in (inet, udp, unix):
            listener.setblocking(False)
        yield folder, [*_on_files(folder, canary), *_on_sockets(inet, udp, unix), *_on_the_rest()]


def _on_files(folder: Path, canary: Path) -> list[_Attempt]:
    def changed() -> bool:
        return not canary.exists() or canary.read_text("utf-8") != _CANARY

    new = folder / "new"
    home = str(Path.home())
    return [
        _Attempt("read a file", f"open({str(canary)!r}).read()", "landlock"),
        _Attempt("read /etc/shadow", "open('/etc/shadow').read()", "landlock"),
        _Attempt("list your home", f"import os; os.listdir({home!r})", "landlock"),
        _Attempt(
            "write a file", f"open({str(canary)!r}, 'r+').write('x')", "seccomp", seen=changed
        ),
        _Attempt("make a file", f"open({str(new)!r}, 'x').close()", "seccomp", seen=new.exists),
        _Attempt(
            "delete a file", f"import os; os.unlink({str(canary)!r})", "seccomp", seen=changed
        ),
    ]


def _on_sockets(inet: socket.socket, udp: socket.socket, unix: socket.socket) -> list[_Attempt]:
    def reached(listener: socket.socket) -> Callable[[], bool]:
        def look() -> bool:
            try:
                if listener.type == socket.SOCK_DGRAM:
                    listener.recv(16)
                else:
                    listener.accept()[0].close()
            except BlockingIOError:
                return False
            return True

        return look

    start = "import socket as s\n"
    to_udp = f"s.socket(s.AF_INET, s.SOCK_DGRAM).sendto(b'x', {udp.getsockname()!r})"
    return [
        _Attempt(
            "connect over TCP",
            f"{start}s.create_connection({inet.getsockname()!r}, 1)",
            "seccomp",
            seen=reached(inet),
        ),
        _Attempt("send over UDP", start + to_udp, "seccomp", seen=reached(udp)),
        _Attempt(
            "connect to a local socket",
            f"{start}s.socket(s.AF_UNIX).connect({unix.getsockname()!r})",
            "seccomp",
            seen=reached(unix),
        ),
    ]


def _on_the_rest() -> list[_Attempt]:
    ptrace = (
        "import ctypes, os\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "if libc.ptrace(0x4206, os.getppid(), None, None) != 0:\n"  # PTRACE_SEIZE
        "    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))"
    )
    parent = "import os\nopen(f'/proc/{os.getppid()}/environ').read()"
    short = Limits(wall=0.3, total=5.0, memory=64, output=10_000)
    return [
        _Attempt("start a process", "import os\nif os.fork() == 0: os._exit(0)", "seccomp"),
        _Attempt("run a program", "import os\nos.execv('/bin/true', ['true'])", "seccomp"),
        _Attempt("signal its parent", "import os\nos.kill(os.getppid(), 0)", "seccomp"),
        _Attempt("trace its parent", ptrace, "seccomp"),
        _Attempt("read its parent's environment", parent, "landlock"),
        _Attempt("take too much memory", "bytearray(256 << 20)", "rlimits"),
        _Attempt("loop", "while True: pass", "rlimits", _SLOW, "processor time"),
        _Attempt("sleep", "import time\ntime.sleep(60)", "rlimits", short, "no answer within"),
        _Attempt("print for ever", "while True: print('x' * 99)", "rlimits", short, "printed more"),
    ]


def _try(pool: ZygotePool, attempt: _Attempt, fixes: dict[str, str]) -> Probe:
    statement = {"source": attempt.source, "line": 1, "cell": "", "binds": []}
    held = False
    try:
        with pool.session(attempt.limits) as session:
            raised = session.load([statement], {})[0]
        if raised is None:
            result = "it went through"
        else:
            refusal = {raised["type"], *raised["bases"]} & {"OSError", "MemoryError"}
            held = bool(refusal) and not attempt.stopped
            result = f"refused: {_short(raised['message'])}"
    except Stopped as stopped:
        held = bool(attempt.stopped) and attempt.stopped in stopped.message
        result = f"stopped: {_short(stopped.message)}"
    if attempt.seen():
        held, result = False, "it went through"
    fix = fixes.get(attempt.layer) or "please report this"
    return Probe(attempt.name, held, result, "" if held else fix)


def _short(message: str) -> str:
    """The message of an error or of a limit without its number, its file and its advice."""
    return re.sub(r"^\[Errno \d+\] ", "", message).partition(": ")[0]


# --- what is said ------------------------------------------------------------------------


def to_json(report: Report) -> str:
    """The report for programs."""
    plain = {"schema": 1, "fit": report.fit, **dataclasses.asdict(report)}
    return json.dumps(plain, ensure_ascii=False, indent=2)


def print_report(report: Report) -> None:
    """The report for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    for title, probes in (("layer", report.layers), ("tried from inside", report.probes)):
        if not probes:
            continue
        table = Table(box=None, pad_edge=False)
        for header in (title, "", "result"):
            table.add_column(header, overflow="fold")
        for probe in probes:
            mark = Text("held" if probe.held else "OPEN", style="green" if probe.held else "red")
            if probes is report.layers:
                mark = Text("there" if probe.held else "not there")
            result = f"{probe.result}\n→ {probe.fix}" if probe.fix else probe.result
            table.add_row(Text(probe.name), mark, Text(result))
        console.print(table)
        console.print()
    abi = f", Landlock ABI {report.landlock_abi}" if report.landlock_abi else ""
    console.print(Text(f"{report.system}{abi}, user {_user()}"))
    console.print(Text(f"Isolation: {report.level}. {_MEANING[report.level]}"))


def _user() -> str:
    if not hasattr(os, "geteuid"):
        return "unknown"
    return "root" if os.geteuid() == 0 else str(os.geteuid())
