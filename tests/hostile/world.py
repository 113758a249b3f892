"""What hostile submissions are let loose on: a course, a home, listeners, a bystander.

Whatever they could take holds a canary, and nothing but the sandbox protects it: the files can
be read and written by the user that grades.
"""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from autograder import selfcheck
from autograder.grading import Assignment
from tests.hostile import torch_set
from tests.hostile.kinds import Hostile

REPOSITORY = Path(__file__).resolve().parents[2]
SET = "ps1_numpy_attention"

# One for each place, so that a leak says where it came from.
CANARY = "canary-{}-5b1c8e"
PLACES = ("home", "solutions", "source", "gradebook", "student", "folder", "environment", "memory")

# In the grader's memory while the submissions run, as everything is that it knows.
IN_MEMORY = CANARY.format("memory") * 3


class World:
    """The surroundings of one run; `harm()` says what has been done to them.

    framework: with "torch", the set has exercises in PyTorch too.
    """

    def __init__(self, root: Path, framework: str = "numpy") -> None:
        self.root, self.framework = root, framework
        self.course = root / "course"
        self.solutions = self.course / "solutions" / SET
        self.folder = root / "folder"
        self._stack = ExitStack()
        self._make_course()
        self._make_folders()
        self._make_listeners()
        self.sentinel = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", "import time; time.sleep(3600)"],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.environ["SECRET_TOKEN"] = CANARY.format("environment")
        self._before = self._state()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *details: object) -> None:
        self._stack.close()
        os.environ.pop("SECRET_TOKEN", None)
        self.sentinel.kill()
        self.sentinel.wait()

    def write(self, hostile: Hostile, seed: str) -> Path:
        """Hand a submission in; returns the student's folder."""
        return self.hand_in("mallory", self.code_of(hostile, seed))

    def hand_in(self, student: str, code: str) -> Path:
        """Hand in a module for a student."""
        folder = self.course / "submitted" / student / SET
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{SET}.py").write_text(code, "utf-8")
        return folder

    def code_of(self, hostile: Hostile, seed: str, **places: Path) -> str:
        """The code with the places and numbers of this world, or others, in it."""
        names: dict[str, object] = {
            "set": SET,
            "course": self.course,
            "solutions": self.solutions,
            "source": self.course / "source" / SET / f"{SET}.ipynb",
            "release": self.course / "assignments" / SET,
            "gradebook": self.course / "gradebook.db",
            "alice": self.course / "submitted" / "alice" / SET / f"{SET}.py",
            "home": self.root / "home",
            "folder": self.folder,
            "canary": self.folder / "canary.txt",
            "package": REPOSITORY / "autograder",
            "unix": self.unix,
            "abstract": self.abstract,
            "tcp": self.tcp,
            "udp": self.udp,
            "sentinel": self.sentinel.pid,
            "grader": os.getpid(),
            "seed": seed,
            **places,
        }
        code = hostile.code
        for name, value in names.items():
            code = code.replace(f"@{name}@", str(value))
        return code.replace("@table@\n", self._table()) if "@table@" in code else code

    def canaries_in(self, text: str) -> list[str]:
        """Places whose canary a text holds."""
        return [place for place in PLACES if CANARY.format(place) in text]

    def harm(self) -> list[str]:
        """What has been done to these surroundings since they were made."""
        found = []
        after = self._state()
        for name in self._before.keys() | after.keys():
            if self._before.get(name) != after.get(name):
                found.append(f"{name} was {self._before.get(name)} and is {after.get(name)}")
        status = Path(f"/proc/{self.sentinel.pid}/status").read_text("utf-8")
        state = next(line for line in status.splitlines() if line.startswith("State"))
        if self.sentinel.poll() is not None or "S (sleeping)" not in state:
            found.append(f"the bystander was signalled: {state}")
        for listener in self._listeners:
            try:
                if listener.type == socket.SOCK_DGRAM:
                    listener.recv(1)
                else:
                    listener.accept()[0].close()
                found.append(f"somebody spoke to {listener.getsockname()}")
            except BlockingIOError:
                pass
        return found

    # --- making it --------------------------------------------------------------------

    def _make_course(self) -> None:
        for name in ("solutions", "source", "assignments"):
            shutil.copytree(
                REPOSITORY / name / SET,
                self.course / name / SET,
                ignore=shutil.ignore_patterns("__pycache__"),
            )
        if self.framework == "torch":
            torch_set.write(self.solutions)
        with (self.solutions / "softmax.py").open("a", encoding="utf-8") as file:
            file.write(f"\n# {CANARY.format('solutions')}\n")
        (self.course / "source" / SET / f"{SET}.ipynb").write_text(CANARY.format("source"), "utf-8")
        with sqlite3.connect(self.course / "gradebook.db") as gradebook:
            gradebook.execute("create table grade (student text, score real)")
            gradebook.execute("insert into grade values (?, 1.0)", (CANARY.format("gradebook"),))
        gradebook.close()
        self.hand_in("alice", f"# {CANARY.format('student')}\n{RIGHT}")

    def _make_folders(self) -> None:
        home = self.root / "home"
        for folder in (home, self.folder, self.folder / "below"):
            folder.mkdir()
        (home / ".netrc").write_text(CANARY.format("home"), "utf-8")
        canary = self.folder / "canary.txt"
        canary.write_text(CANARY.format("folder"), "utf-8")
        os.utime(canary, (10**9, 10**9))
        # permissions protect nothing here
        for path in (self.folder, canary, self.course / "gradebook.db"):
            path.chmod(0o777)

    def _make_listeners(self) -> None:
        self.unix = str(self.root / "service.sock")
        self.abstract = f"autograder-{os.getpid()}-{id(self)}"
        tcp = socket.create_server(("127.0.0.1", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        local, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        local.bind(self.unix)
        abstract.bind(f"\0{self.abstract}")
        self._listeners = [tcp, udp, local, abstract]
        for listener in self._listeners:
            self._stack.enter_context(listener)
            listener.setblocking(False)
            if listener is not udp:
                listener.listen(8)
        self.tcp, self.udp = tcp.getsockname()[1], udp.getsockname()[1]

    def _state(self) -> dict[str, Any]:
        """Everything here but what is handed in; no change is without a new ctime."""
        found: dict[str, Any] = {}
        for path in sorted(self.root.rglob("*")):
            if "mallory" in path.parts or "bob" in path.parts:
                continue
            about = path.lstat()
            state: tuple[Any, ...] = (stat.filemode(about.st_mode), about.st_uid, about.st_nlink)
            if stat.S_ISREG(about.st_mode):
                state += (about.st_size, about.st_mtime_ns, about.st_ctime_ns)
            if stat.S_ISDIR(about.st_mode):
                state = state[:2]  # its links are the folders in it
            found[str(path.relative_to(self.root))] = state
        return found

    def _table(self) -> str:
        """A submission with the key's results in it, as a student can write one at home."""
        import numpy as np

        key = selfcheck.load_key(REPOSITORY / "assignments" / SET)
        lines = ["import numpy as np\n\nTABLE = {"]
        for case in key.spec("softmax").cases:
            arguments = case.program.calls[0][1].named
            given = getattr(arguments["scores"], "data", arguments["scores"])
            result = np.asarray(case.expected[0].value.data)
            lines.append(f"    {np.asarray(given).tobytes()!r}: {result.tolist()!r},")
        lines.append("}\n\n\ndef softmax(scores):")
        lines.append("    return np.array(TABLE.get(scores.tobytes(), 0 * scores))\n")
        return "\n".join(lines)


RIGHT = """\
import numpy as np


def softmax(scores):
    e = np.exp(scores - scores.max(axis=0))
    return e / e.sum(axis=0)
"""

# As above, but for scores near the largest float: these overflow in the subtraction.
BENIGN = RIGHT.replace("    e =", "    with np.errstate(over='ignore'):\n        e =", 1)


def draw(course: Path, seed: str) -> Assignment:
    """The assignment of this world with its cases drawn."""
    return Assignment.draw(course, SET, seed)


# --- processes -------------------------------------------------------------------------


def descendants(pid: int) -> set[int]:
    """The processes below a process, zombies excepted."""
    found: set[int] = set()
    todo = [pid]
    while todo:
        try:
            threads = os.listdir(f"/proc/{(parent := todo.pop())}/task")
            children = [
                int(child)
                for thread in threads
                for child in Path(f"/proc/{parent}/task/{thread}/children").read_text().split()
            ]
        except OSError:  # it has ended, or the thread has
            continue
        living = {child for child in children if is_alive(child)} - found
        found |= living
        todo += living
    return found


def is_alive(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def settle(before: set[int], pid: int, seconds: float = 3.0) -> set[int]:
    """Processes below `pid` that were not there before and do not go away."""
    deadline = time.monotonic() + seconds
    while (left := descendants(pid) - before) and time.monotonic() < deadline:
        time.sleep(0.005)
    return left


def open_descriptors(pid: int | None = None) -> int:
    """How many descriptors a process has open."""
    return len(os.listdir(f"/proc/{pid or 'self'}/fd"))
