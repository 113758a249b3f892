"""The process that holds warm imports and forks a child for each submission.

The grader *executes* this file (`python -I -S zygote.py FD`) and never forks itself, so
that no solution, seed or expected value is in the memory that a child inherits. Of ours it
imports `sandbox` and what runs beside student code; it does so under stand-ins for the
packages above them, so that nothing of the authoring side is loaded.

FD is one end of a SOCK_SEQPACKET pair. The grader sends the configuration and gets back the
zygote's pidfd, then for each submission a message with three pipes (requests, results, log);
it gets back a pidfd, and later the exit status. Before the first it may send a file with the
programs of the cases, which children are then asked for by number. End of file on FD means that
the grader is gone: so is the zygote then, and its children with it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.abc
import json
import os
import resource
import select
import signal
import site
import socket
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from autograder.observe.sandbox import Sandbox

# How a child ends before (97) or beside student code, the latter as `conversation` has it.
# None of them is trusted: a submission can use the same numbers.
NOT_ENTERED, WORKER_FAILED, WORKER_OUT_OF_MEMORY = 97, 96, 95

# Where `sandbox` puts a child's channels.
REQUESTS, RESULTS = 3, 4

_PAGE = resource.getpagesize()


def only_beside(folder: str) -> None:
    """Make `autograder.observe` importable from `folder` without running the packages."""
    above = types.ModuleType("autograder")
    above.__path__ = []
    package = types.ModuleType("autograder.observe")
    package.__path__ = [folder]
    above.observe = package  # type: ignore[attr-defined]
    sys.modules.update({"autograder": above, "autograder.observe": package})


class OnlyAllowed(importlib.abc.MetaPathFinder):
    """Imports of anything else fail as if it were not installed, not for want of a permission."""

    def __init__(self, config: dict[str, Any]) -> None:
        roots = set(config["path"])
        tops = [path for path in config["readable"] if os.path.dirname(path) in roots]
        packages = {os.path.basename(path).partition(".")[0] for path in tops}
        self.allowed = packages | sys.stdlib_module_names | {"autograder"}
        self.named = ", ".join(config["packages"])

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """Leave what is allowed to the finders after this one."""
        top = fullname.partition(".")[0]
        # how this Python was built: a module of the standard library whose name varies
        if top in self.allowed or top.startswith("_sysconfigdata"):
            return
        # a library that only asks whether another is installed expects no exception
        asked_by = sys._getframe(2).f_globals.get("__name__")
        if asked_by != "importlib.util":
            raise ModuleNotFoundError(
                f"No module named {fullname!r} (a submission may import the standard library "
                f"and {self.named})",
                name=fullname,
            )


class Zygote:
    """The loop between the control socket and the children."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.children: dict[int, int] = {}  # pidfd → pid
        self.serial = 0
        self.sandbox: Sandbox
        self.greet: Callable[[bytes, tuple[str, ...]], bytes]
        self.programs: list[Any] = []
        self.decode: Callable[[BinaryIO], list[Any]]
        self.serve: Callable[..., None]
        self.name_refusals: Callable[[int], None]

    def prepare(self, config: dict[str, Any]) -> dict[str, Any]:
        """Import, warm up and build the sandbox; what the grader is told about it."""
        os.close(os.pidfd_open(os.getpid()))  # a kernel without it cannot be worked with
        sys.path.extend(config["path"])
        site.setquit()  # -S leaves `exit` out, which kernels and scripts have
        only_beside(config["folder"])
        from autograder.observe import (
            capabilities,
            kernel,
            protocol,
            refusals,
            rehearsal,
            sandbox,
            warming,
            worker,
        )

        warming.warm_up(config["framework"], config["packages"])
        rehearsal.rehearse(config["framework"])
        sys.modules["autograder.observe"].__path__ = []  # the rest of it stays out
        self.serve, self.decode = worker.serve, protocol.read_programs
        self.greet = lambda nonce, layers: protocol.pack_frame(
            config["hello"], nonce, protocol.encode(list(layers))
        )
        self.name_refusals = refusals.install if config["words"] else lambda processes: None
        self.control = socket.socket(fileno=kernel.out_of_the_way(self.control.detach()))
        around = ("bubblewrap",) if _is_apart(kernel.namespaces(), config["outside"]) else ()
        self.sandbox = sandbox.build(
            config["readable"], config["layers"], config["landlock"], config["seccomp"], around
        )
        if config["layers"]:
            keep = capabilities.FOR_USERS if self.sandbox.users is not None else 0
            capabilities.drop(config["readable"], keep)
        sys.meta_path.insert(0, OnlyAllowed(config))
        # What a submission prints must be in the pipe even if it is killed the moment after.
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(  # type: ignore[union-attr]
                encoding="utf-8", errors="backslashreplace", line_buffering=True
            )
        # Where memory runs out, the kernel should end a child or this process, not the grader.
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "wb") as file:
            file.write(b"500")
        kernel.hide_memory()
        # The end of the socket says the same, but not to a process that is stopped.
        kernel.die_with_parent()
        gc.set_threshold(10_000, 20, 20)  # what a case makes is soon gone without a collection
        gc.collect()
        gc.freeze()  # a collection in a child would touch, and so copy, every page
        with contextlib.suppress(OSError):  # it only saves time
            kernel.gather_pages()
        return {
            "missing": self.sandbox.missing,
            "landlock_abi": self.sandbox.landlock.abi if self.sandbox.landlock else 0,
            "resident": _resident(),
        }

    def run(self) -> None:
        """Fork and reap until the grader hangs up."""
        poll = select.poll()
        poll.register(self.control, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor == self.control.fileno():
                    message, channels, _, _ = socket.recv_fds(self.control, 1 << 16, 3)
                    if not message:
                        return
                    request = json.loads(message)
                    if "programs" in request:
                        self.learn(channels[0])
                        continue
                    pidfd = self.fork(request, channels)
                    if pidfd is not None:
                        poll.register(pidfd, select.POLLIN)
                else:
                    poll.unregister(descriptor)
                    self.reap(descriptor)

    def learn(self, file: int) -> None:
        """Hold the programs of a file, so that no child has to be sent or to decode them."""
        with open(file, "rb") as stream:
            self.programs = self.decode(stream)
        gc.collect()
        gc.freeze()
        self.tell({"learnt": len(self.programs)})

    def fork(self, request: dict[str, Any], channels: list[int]) -> int | None:
        """Make a child and hand its pidfd to the grader; None when the system refuses."""
        base, me = _address_space(), os.getpid()
        self.serial += 1
        try:
            pid = os.fork()
            if pid == 0:
                self.be_a_child(request, channels, base, me)
            pidfd = os.pidfd_open(pid)
        except OSError as fault:
            self.tell({"failed": f"no child could be made: {fault}"})
            return None
        finally:
            for channel in channels:
                os.close(channel)
        self.children[pidfd] = pid
        self.tell({"started": pid}, [pidfd])
        return pidfd

    def reap(self, pidfd: int) -> None:
        """Collect a child that ended, and say how."""
        pid = self.children.pop(pidfd)
        os.close(pidfd)
        _, status, usage = os.wait4(pid, 0)
        cpu = usage.ru_utime + usage.ru_stime
        self.tell({"ended": pid, "status": status, "cpu": cpu, "resident": usage.ru_maxrss << 10})

    def be_a_child(
        self, request: dict[str, Any], channels: list[int], base: int, zygote: int
    ) -> None:
        """Enter the sandbox, say so, serve; never return."""
        try:
            try:
                os.dup2(channels[2], 2)  # where the grader reads what went wrong
                limits = request["limits"]
                layers = self.sandbox.enter(channels, limits, base, zygote, self.serial)
                if "seccomp" in layers:
                    self.name_refusals(limits["processes"])
                _write_all(RESULTS, self.greet(bytes.fromhex(request["nonce"]), layers))
            except BaseException:  # fail closed
                os.write(2, _traceback())
                os._exit(NOT_ENTERED)
            printed = (sys.stdout, sys.stderr)  # before a submission replaces them

            def write(data: bytes) -> None:
                for stream in printed:
                    stream.flush()
                _write_all(RESULTS, data)

            self.serve(_read_exactly, write, self.programs)
            os._exit(0)
        except MemoryError:
            os._exit(WORKER_OUT_OF_MEMORY)
        except BaseException:
            os.write(2, _traceback())
        finally:
            os._exit(WORKER_FAILED)

    def tell(self, message: dict[str, Any], descriptors: Sequence[int] = ()) -> None:
        """Send a message to the grader."""
        socket.send_fds(self.control, [json.dumps(message).encode()], descriptors)


def _is_apart(mine: dict[str, str], outside: dict[str, str]) -> bool:
    """Whether this process shares no namespace with the grader: then bubblewrap is around it."""
    return all(mine[name] != theirs for name, theirs in outside.items())


def _read_exactly(count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        piece = os.read(REQUESTS, min(count - len(data), 1 << 20))
        if not piece:
            raise EOFError
        data += piece
    return bytes(data)


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _traceback() -> bytes:
    return traceback.format_exc().encode("utf-8", "replace")[-4000:]


def _statm(field: int) -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[field]) * _PAGE


def _address_space() -> int:
    return _statm(0)


def _resident() -> int:
    return _statm(1)


def main() -> None:
    """Serve the control socket whose number is the first argument."""
    control = socket.socket(fileno=int(sys.argv[1]))
    # The terminal's Ctrl-C is the grader's to handle.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    zygote = Zygote(control)
    try:
        ready = zygote.prepare(json.loads(control.recv(1 << 20)))
    except BaseException as fault:
        zygote.tell({"failed": f"the zygote cannot start: {type(fault).__name__}: {fault}"})
        return
    me = os.pidfd_open(os.getpid())
    zygote.tell({"ready": ready}, [me])
    os.close(me)
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the grader is gone
        zygote.run()
    os._exit(0)  # without a clean-up of all that was imported; the children die with it


if __name__ == "__main__":
    main()
