"""One zygote as the grader sees it: started, asked for children, listened to, stopped."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from autograder.observe import bubblewrap
from autograder.observe.protocol import Prepared
from autograder.observe.session import Limits

START_SECONDS = 120.0  # importing torch from a cold or remote disk takes its time
REPLY_SECONDS = 20.0
KILL_SECONDS = 5.0


class ZygoteDied(Exception):
    """A zygote has ended, does not answer, or cannot fork."""


class Started(NamedTuple):
    """A child, and our ends of its requests, results and log."""

    pid: int
    pidfd: int
    channels: tuple[int, int, int]


class Ended(NamedTuple):
    """How a child ended: wait status, seconds of CPU, most bytes in memory."""

    status: int
    cpu: float
    resident: int


class Supervisor:
    """One zygote process. Threads may share it: each exchange with it is short and bounded.

    It is executed and not forked, with an environment of its own and no descriptor but
    its socket. It ends when the socket does, and at the latest with this process. wrap: what
    stands before the command, to put bubblewrap around it.
    """

    def __init__(self, config: dict[str, Any], wrap: Sequence[str] = ()) -> None:
        self.busy = 0
        self.pid = 0  # as seen from here; known when it is ready
        self.missing: dict[str, str] = {}
        self.landlock_abi = 0
        self.resident = 0
        self.numbers: Mapping[int, int] = {}  # of the programs that it holds, by their identity
        self._lock = threading.RLock()
        self._ended: dict[int, Ended] = {}
        self._forgotten: set[int] = set()
        self._dead: str | None = None
        self._pidfd: int | None = None
        self._said = os.memfd_create("zygote")  # a file without a name: nobody waits for room
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.settimeout(REPLY_SECONDS)
        with theirs:
            self._process = launch(
                [*wrap, *_command(theirs.fileno(), wrapped=bool(wrap))],
                env=_environment(wrapped=bool(wrap)),
                pass_fds=(theirs.fileno(),),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                start_new_session=True,  # away from the terminal and its Ctrl-C
            )
        with contextlib.suppress(OSError):  # it has ended: the answer will not come
            self._control.send(json.dumps(config).encode())

    def wait_until_ready(self) -> None:
        """Return when all is imported and built; ZygoteDied says what went wrong."""
        with self._lock:
            message, (self._pidfd,) = self._receive(START_SECONDS)
            ready = message["ready"]
            self.missing, self.landlock_abi = ready["missing"], ready["landlock_abi"]
            self.resident = ready["resident"]
            self.pid = _pid_of(self._pidfd)

    def teach(self, programs: Sequence[Prepared], packed: bytes) -> None:
        """Have it hold programs, so that its children are asked for them by number.

        The caller keeps them. Raises ZygoteDied.
        """
        file = os.memfd_create("programs")
        try:
            with open(file, "wb", closefd=False) as stream:
                stream.write(packed)
            os.lseek(file, 0, os.SEEK_SET)  # which both sides share
            with self._lock:
                self._send(json.dumps({"programs": len(programs)}).encode(), [file])
                self._receive(REPLY_SECONDS, "learnt")
                self.numbers = {id(program): number for number, program in enumerate(programs)}
        except BaseException:
            self._end("an exchange with the zygote was interrupted")
            raise
        finally:
            os.close(file)

    def spawn(self, limits: Limits, nonce: bytes) -> Started:
        """Have a child made. The caller owns the descriptors."""
        bounds = {
            "memory": limits.memory << 20,
            "cpu": limits.cpu,
            "files": limits.files,
            "processes": limits.processes,
        }
        request = {"limits": bounds, "nonce": nonce.hex()}
        pipes = [os.pipe() for _ in range(3)]  # requests go the other way
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        ours = (pipes[0][1], pipes[1][0], pipes[2][0])
        try:
            with self._lock:
                self._send(json.dumps(request).encode(), theirs)
                message, descriptors = self._receive(REPLY_SECONDS, "started")
                self.busy += 1
        except BaseException:
            # Also for Ctrl-C: an answer that came later would be taken for that to another
            # request, and pipes of one submission for those of the next.
            self._end("an exchange with the zygote was interrupted")
            for descriptor in ours:
                os.close(descriptor)
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        for descriptor in ours:
            os.set_blocking(descriptor, False)
        return Started(message["started"], descriptors[0], ours)

    def wait_for(self, pid: int) -> Ended:
        """How a child ended that has ended, or has been killed."""
        with self._lock:
            while pid not in self._ended:
                self._receive(REPLY_SECONDS, "ended")
            return self._ended[pid]

    def forget(self, pid: int) -> None:
        """A session is over: nobody will ask how its child ended."""
        with self._lock:
            self.busy -= 1
            if self._ended.pop(pid, None) is None:
                self._forgotten.add(pid)

    def retire(self, why: str) -> None:
        """Have it replaced: its children no longer get what they need."""
        with self._lock:
            self._end(why)

    def has_died(self) -> bool:
        """Whether the process has ended."""
        if self._dead is None and self._pidfd is not None:
            poll = select.poll()  # with bubblewrap the other process ends a moment later
            poll.register(self._pidfd, select.POLLIN)
            return bool(poll.poll(0))
        return self._dead is not None or self._process.poll() is not None

    def stop(self) -> None:
        """End the zygote; the kernel then ends its children. May be called twice."""
        with self._lock:
            self._end("the pool was closed")  # by a signal: it may be wedged
            self._control.close()
            for descriptor in (self._pidfd, self._said):
                if descriptor is not None and descriptor >= 0:
                    os.close(descriptor)
            self._pidfd, self._said = None, -1

    def _send(self, message: bytes, descriptors: list[int]) -> None:
        if self._dead is not None:
            raise ZygoteDied(self._dead)
        try:
            socket.send_fds(self._control, [message], descriptors)
        except OSError as fault:
            self._die(f"the zygote has died: {fault}")

    def _receive(self, seconds: float, until: str = "ready") -> tuple[dict[str, Any], list[int]]:
        """The next message of a kind; endings of children that come before it are noted."""
        deadline = time.monotonic() + seconds
        while True:
            if self._dead is not None:
                raise ZygoteDied(self._dead)
            poll = select.poll()
            poll.register(self._control, select.POLLIN)
            if not poll.poll(max(deadline - time.monotonic(), 0) * 1000):
                self._die(f"the zygote did not answer within {seconds:g} s")
            try:
                data, descriptors, _, _ = socket.recv_fds(self._control, 1 << 16, 1)
            except OSError:
                data = b""
            if not data:
                self._die(self._last_words())
            message = json.loads(data)
            if "failed" in message:
                self._die(message["failed"])
            if "ended" in message:
                self._note(message)
            if until in message:
                return message, descriptors

    def _note(self, message: dict[str, Any]) -> None:
        pid = message["ended"]
        if pid in self._forgotten:
            self._forgotten.discard(pid)
        else:
            self._ended[pid] = Ended(message["status"], message["cpu"], message["resident"])

    def _die(self, why: str) -> NoReturn:
        self._end(why)
        raise ZygoteDied(why)

    def _last_words(self) -> str:
        """Why it has died, as far as it, or bubblewrap, has said anything."""
        said = os.pread(self._said, 1 << 16, 0).decode("utf-8", "replace").strip().splitlines()
        return f"the zygote has died ({said[-1][:300]})" if said else "the zygote has died"

    def _end(self, why: str) -> None:
        self._dead = self._dead or why
        if self._pidfd is not None:
            # bubblewrap's own process then reaps it and ends by itself
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
            self._wait(KILL_SECONDS)
        self._process.kill()
        self._wait(KILL_SECONDS)

    def _wait(self, seconds: float) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)


def launch(command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a process from a thread that lives as long as the process.

    What asks the kernel to die with its parent dies with the thread that started it; ours
    may be a worker that ends long before the grader.
    """
    started: queue.SimpleQueue[subprocess.Popen[bytes] | Exception] = queue.SimpleQueue()

    def stay() -> None:
        try:
            process = subprocess.Popen(command, **options)
        except Exception as fault:
            started.put(fault)
            return
        pid = process.pid
        started.put(process)
        del process
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # does not take its status away

    threading.Thread(target=stay, name="parent of a zygote", daemon=True).start()
    outcome = started.get()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _pid_of(pidfd: int) -> int:
    """The number of a process in our own namespace; its own may be another."""
    with open(f"/proc/self/fdinfo/{pidfd}", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pid:"))


def _command(descriptor: int, wrapped: bool) -> list[str]:
    """-I and -S: no variable, no user's packages, no .pth file that names other folders."""
    python = bubblewrap.executable() if wrapped else sys.executable
    file = Path(__file__).with_name("zygote.py")
    return [python, "-I", "-S", "-B", "-X", "utf8", str(file), str(descriptor)]


def _environment(wrapped: bool) -> dict[str, str]:
    # One thread for every BLAS: children of a process with threads hang, and cannot make any.
    threads = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")
    environment = {f"{name}_NUM_THREADS": "1" for name in threads}
    environment |= {"PATH": "/usr/bin:/bin", "HOME": "/", "LANG": "C.UTF-8", "MPLBACKEND": "Agg"}
    # Arrays of this many bytes go back to the system when they are freed. By default glibc keeps
    # them in a heap that falls to pieces, and a loop over chunks then meets a memory limit that is
    # ten times what it holds at any moment.
    environment["MALLOC_MMAP_THRESHOLD_"] = str(1 << 18)
    # Where matplotlib, if it is loaded, keeps the list of fonts that takes it long to make; in
    # bubblewrap there are only its own.
    fonts = "/tmp" if wrapped else "~/.cache/attention-autograder/matplotlib"
    environment["MPLCONFIGDIR"] = os.path.expanduser(fonts)
    # Some interpreters find their own libraries by it.
    if "LD_LIBRARY_PATH" in os.environ:
        environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    return environment
