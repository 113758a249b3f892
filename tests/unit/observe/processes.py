"""What tests ask of processes: are they still there, and which are theirs."""

import os
import time
from pathlib import Path


def wait_until(condition, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def _status(pid):
    try:
        stat = Path("/proc", str(pid), "stat").read_text(encoding="utf-8")
    except OSError:
        return None
    return stat.rpartition(")")[2].split()


def is_gone(pid):
    """Whether a process has ended, be it reaped yet or not."""
    status = _status(pid)
    return status is None or status[0] == "Z"


def children_of(pid):
    found = [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]
    return [child for child in found if (_status(child) or [0, 0])[1] == str(pid)]


def pid_of(session):
    """The number of a session's process here; in bubblewrap it has another."""
    info = Path(f"/proc/self/fdinfo/{session._pidfd}").read_text(encoding="utf-8")
    return next(int(line.split()[1]) for line in info.splitlines() if line.startswith("Pid:"))
