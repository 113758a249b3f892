"""The program of a spawned process: serve the worker on the pipes that it was started with.

`spawned` executes this file. It runs on every system, so it needs nothing that only some of
them have. Arguments: framework, nonce of the greeting, number of its kind, MiB of memory,
seconds of processor time, open files.
"""

from __future__ import annotations

import contextlib
import math
import os
import queue
import sys
import threading
import traceback
import types
from pathlib import Path

# As `conversation` has them.
WORKER_FAILED, WORKER_OUT_OF_MEMORY = 96, 95


def main() -> None:
    """Move the pipes to where no print reaches them, load the worker, serve."""
    framework, nonce, greeting, *bounds = sys.argv[1:]
    requests, results = os.dup(0), os.dup(1)
    if sys.platform == "win32":
        import msvcrt

        for descriptor in (requests, results):
            msvcrt.setmode(descriptor, os.O_BINARY)
    # From here on standard input is empty, and what is printed, by C code too, is the log.
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    printed = (sys.stdout, sys.stderr)  # before a submission replaces them
    for stream in printed:
        stream.reconfigure(  # type: ignore[union-attr]
            encoding="utf-8", errors="backslashreplace", line_buffering=True
        )
    _only_beside(str(Path(__file__).parent))
    from autograder.observe import protocol, worker

    if framework == "torch":
        import torch  # noqa: F401  # now, since the time until the greeting is not the student's
    arriving: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, arriving), daemon=True).start()
    waiting = bytearray()

    def read(count: int) -> bytes:
        while len(waiting) < count:
            waiting.extend(arriving.get())
        data = bytes(memoryview(waiting)[:count])
        del waiting[:count]
        return data

    def write(data: bytes) -> None:
        for stream in printed:
            stream.flush()
        left = memoryview(data)
        while left:
            left = left[os.write(results, left) :]

    _limit(*map(int, bounds))
    write(protocol.pack_frame(int(greeting), bytes.fromhex(nonce), protocol.encode([])))
    try:
        worker.serve(read, write)
    except MemoryError:
        os._exit(WORKER_OUT_OF_MEMORY)
    except BaseException:
        traceback.print_exc()
        os._exit(WORKER_FAILED)


def _only_beside(folder: str) -> None:
    """Make `autograder.observe` importable from `folder` without running the packages."""
    above = types.ModuleType("autograder")
    above.__path__ = []
    package = types.ModuleType("autograder.observe")
    package.__path__ = [folder]
    above.observe = package  # type: ignore[attr-defined]
    sys.modules.update({"autograder": above, "autograder.observe": package})


def _listen(descriptor: int, arriving: queue.SimpleQueue[bytes]) -> None:
    """Pass on what arrives. When nobody is left to answer to, end, even in an endless loop."""
    while True:
        piece = os.read(descriptor, 1 << 16)
        if not piece:
            os._exit(0)
        arriving.put(piece)


def _limit(mebibytes: int, seconds: int, files: int) -> None:
    """Keep a student's machine from swapping and heating, where the system can.

    Only the soft limits, by which an honest mistake is named: this is no sandbox.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _set_soft(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime) + seconds)
    _set_soft(resource.RLIMIT_NOFILE, files)
    if sys.platform == "linux":  # elsewhere it is not kept, or cannot be measured from
        with open("/proc/self/statm", "rb") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        _set_soft(resource.RLIMIT_AS, now + (mebibytes << 20))


def _set_soft(which: int, wanted: int) -> None:
    """Set a limit unless the system already has a stricter one."""
    import resource

    with contextlib.suppress(OSError, ValueError):
        hard = resource.getrlimit(which)[1]
        if hard == resource.RLIM_INFINITY or wanted < hard:
            resource.setrlimit(which, (wanted, hard))


if __name__ == "__main__":
    main()
