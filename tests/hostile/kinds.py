"""What a hostile submission is, and how the modules beside this one write them down.

Each is a few lines that look like a student's, a name, one sentence, and a pattern of how it
has to end: code that fails by a slip of ours would be stopped everywhere, and prove nothing.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

EXERCISE = "softmax"

# Said by a submission that got what it wanted.
GOT = "GOT THROUGH"

# How the outcome and the feedback of the exercise begin.
REFUSED = r"^error: .*(PermissionError|FileNotFoundError)"
WRONG = r"^failed: "
TIMED_OUT = r"^timed_out: "
CRASHED = r"^crashed: "
RIGHT = r"^passed: "

_CALL = """\
def got(*found):
    raise RuntimeError("{got} %r" % (found,))


def {exercise}(scores):
{body}
    return 0 * scores
"""

# For what no library wraps: the kernel's calls by number, on x86-64.
SYSTEM_CALL = f"""\
import ctypes, os

libc = ctypes.CDLL(None, use_errno=True)


def system_call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *arguments)
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    raise RuntimeError("{GOT} %r" % (result,))
"""


@dataclass(frozen=True)
class Hostile:
    """One submission. earns: the exercises that it has honestly right, beside what it tries.

    ends: a pattern of "outcome: feedback" of the exercise that it attacks.
    machine: the only one that it is for. seed: the only one that it makes sense for.
    """

    kind: str
    name: str
    sentence: str
    code: str
    ends: str
    earns: tuple[str, ...] = ()
    machine: str | None = None
    seed: str | None = None
    attacks: str = EXERCISE

    @property
    def title(self) -> str:
        """Kind and name."""
        return f"{self.kind}: {self.name}"

    def ended_well(self, outcome: str, feedback: str) -> bool:
        """Whether the exercise ended as it has to."""
        return re.search(self.ends, f"{outcome}: {feedback}", re.DOTALL) is not None


class Kind:
    """Submissions of one kind. `ends` is how most of them have to end, in what they attack."""

    def __init__(self, name: str, ends: str, attacks: str = EXERCISE) -> None:
        self.name, self.ends, self.attacks = name, ends, attacks
        self.members: list[Hostile] = []

    def __call__(self, name: str, sentence: str, code: str, ends: str = "", **more: object) -> None:
        """Add one. Code without a definition of the exercise is what its call does."""
        code = textwrap.dedent(code).strip("\n")
        more.setdefault("attacks", self.attacks)
        attacked = more["attacks"]
        is_whole = re.search(rf"^((def|class) )?{attacked}\b(?!\.)", code, re.MULTILINE)
        if not is_whole and "@table@" not in code:
            body = textwrap.indent(code, "    ")
            code = _CALL.format(got=GOT, exercise=EXERCISE, body=body)
        hostile = Hostile(self.name, name, sentence, code + "\n", ends or self.ends, **more)  # type: ignore[arg-type]
        assert all(hostile.name != other.name for other in self.members), hostile.name
        self.members.append(hostile)

    def by_number(self, name: str, sentence: str, number: int | str, ends: str = "") -> None:
        """Add one that makes a call of the kernel by its number (and arguments, as text)."""
        code = f"{SYSTEM_CALL}\n\ndef {EXERCISE}(scores):\n    system_call({number})\n"
        self(name, sentence, code, ends, machine="x86_64")
