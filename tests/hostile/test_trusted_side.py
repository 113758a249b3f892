"""Attacks on the grader itself, where no sandbox stands between: files, names, sizes, patience."""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path

import numpy as np
import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from autograder import submission
from autograder.grading import Assignment, grade_submission
from autograder.observe.pool import ZygotePool
from autograder.observe.session import Limits, Stopped
from autograder.program import Call, Program
from autograder.run import Run
from autograder.submission import Unreadable
from autograder.wire import program_to_wire
from tests.hostile.frames import SPEAK
from tests.hostile.fuzzing import limited
from tests.unit.courses import NAME, RIGHT, make_course, submit

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.needs_debian("libseccomp2", library="seccomp"),
]

DOUBLE = "def double(x):\n    return x + x\n"


# --- sources -----------------------------------------------------------------------------

# Each reads in at most a few seconds, or is refused with a sentence.
BOMBS = {
    "an undefined codec": b"# coding: undefined\n" + DOUBLE.encode(),
    "a codec that takes for ever": b"# coding: punycode\n" + b"a" * 10**6 + b"-" + b"9z" * 10**5,
    "a codec that unpacks": b"# coding: zlib\n" + bytes(999),
    "names in reverse order": "".join(f"a{i} = a{i + 1}\n" for i in range(9999, -1, -1))
    + "def double(x):\n    return a0\n",
    "a chain of attributes": "def double(x):\n    return x" + ".b" * 100_000,
    "a chain of calls": "def double(x):\n    return x" + "()" * 50_000,
    "a hundred thousand signs": "q_twice = " + "-" * 100_000 + "1\n" + DOUBLE,
    "a hundred thousand terms": "q_twice = 1" + "+1" * 100_000 + "\n" + DOUBLE,
    "a hundred thousand brackets": "q_twice = " + "(" * 100_000 + "\n" + DOUBLE,
    "lambdas in lambdas": "double = " + "lambda:" * 20_000 + "1\n",
    "conditions in conditions": "double = " + "1 if 1 else " * 20_000 + "1\n",
    "blocks in blocks": "".join(" " * i + "if 1:\n" for i in range(300)) + DOUBLE,
    "many branches": "if 1: pass\n" + "elif 1: pass\n" * 5000 + DOUBLE,
    "a long f-string": "double = f'" + "{x}" * 100_000 + "'\n",
    "many comparisons": "double = 1" + "<1" * 50_000 + "\n",
    "many decorators": "@a\n" * 20_000 + DOUBLE,
    "many broken definitions": "def x(:\n" * 20_000 + DOUBLE,
    "many open strings": "x = '''\ndef a(\n" * 5000 + DOUBLE,
    "a number of two million digits": "q_twice = 0x" + "f" * 1_900_000 + "\n" + DOUBLE,
    "a number too long for decimal": "q_twice = " + "9" * 5000 + "\n" + DOUBLE,
    "form feeds": "\f\n" * 200_000 + DOUBLE,
    "a null byte": DOUBLE + "\0",
    "more source than may be": "#" * (2 * 1024 * 1024 + 1),
}

SLOW = {
    "four hundred thousand statements on one line": "a=1;" * 400_000 + "\n" + DOUBLE,
    "two hundred thousand broken definitions": "def x(:\n" * 200_000 + DOUBLE,
    "two hundred thousand definitions": "double = 1\n" * 180_000,
}

NOTEBOOKS = {
    "lists in lists": b"[" * 1_000_000,
    "maps in maps": b'{"metadata":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_000 + b"}",
    "an old format, nested": b'{"nbformat":3,"metadata":' + b'{"a":' * 900 + b"1" + b"}" * 901,
    "an old format without cells": b'{"nbformat":2,"worksheets":{}}',
    "a format that never was": b'{"nbformat":-99999999999999999999999999}',
    "half a character": b'{"cells":[{"cell_type":"code","source":"x=\'\\ud800\'"}]}',
    "ten thousand cells": json.dumps(
        {"cells": [{"cell_type": "code", "source": "a=1"}] * 10_000}
    ).encode(),
    "magics without end": json.dumps(
        {"cells": [{"cell_type": "code", "source": text} for text in
                   ("%" * 100_000, "a" + " " * 100_000 + "!", "a.b" * 30_000 + " ?x",
                    "a," * 50_000 + "\n(", "_[: ," * 20_000 + "\n(", " " * 500_000 + "\n%x\n(",
                    "\n" * 100_000 + "%", "x='" + "\\" * 500_000)]}
    ).encode(),
}  # fmt: skip


def read_all_of_it(path: Path) -> None:
    """What the grader does with a file before anything of it is run."""
    try:
        found = submission.read(path)
    except Unreadable:
        return
    positions = found.slice_for(["double"])
    found.uses(positions, ["numpy.exp"])
    found.written("double")
    submission.is_touched(found, ["double"], ["q_twice"])


def write(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("name", BOMBS)
def test_no_module_holds_the_grader_up(tmp_path, name):
    with limited(15.0):
        read_all_of_it(write(tmp_path, "x.py", BOMBS[name]))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_notebook_holds_the_grader_up(tmp_path, name):
    with limited(15.0):
        read_all_of_it(write(tmp_path, "x.ipynb", NOTEBOOKS[name]))


@pytest.mark.soak
@pytest.mark.parametrize("name", SLOW)
def test_no_module_of_two_megabytes_takes_a_minute(tmp_path, name):
    with limited(60.0):
        read_all_of_it(write(tmp_path, "x.py", SLOW[name]))


# --- files and folders -------------------------------------------------------------------


@pytest.fixture
def course(tmp_path):
    made = make_course(tmp_path / "course")
    submit(made, "alice", RIGHT)
    return made


def grade(course: Path, **options):
    options = {"workers": 1, "timeout": 5.0, "quiet": True, "resume": False, **options}
    found = Run(course=course, assignment=NAME, **options).grade()
    return {result.student: result for result in found.submissions}


def test_a_link_to_a_file_of_another_student(course):
    folder = course / "submitted" / "mallory" / NAME
    folder.mkdir(parents=True)
    (folder / f"{NAME}.py").symlink_to(course / "submitted" / "alice" / NAME / f"{NAME}.py")
    result = grade(course)["mallory"]
    assert (result.outcome, result.score) == ("unreadable", 0.0)
    assert "hand in the file itself" in result.messages[0]


def test_a_link_to_the_folder_of_another_students_assignment(course):
    (course / "submitted" / "mallory").mkdir()
    link = course / "submitted" / "mallory" / NAME
    link.symlink_to(course / "submitted" / "alice" / NAME)
    result = grade(course).get("mallory")
    assert result is None or result.score == 0.0


def test_a_link_to_the_folder_of_another_student(course):
    (course / "submitted" / "mallory").symlink_to(course / "submitted" / "alice")
    result = grade(course).get("mallory")
    assert result is None or result.score == 0.0


@pytest.mark.parametrize("kind", ["pipe", "folder", "device"])
def test_what_is_no_file(course, kind):
    folder = course / "submitted" / "mallory" / NAME
    folder.mkdir(parents=True)
    path = folder / f"{NAME}.py"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    with limited(20.0):
        assert grade(course)["mallory"].outcome == "unreadable"


def test_a_file_without_end(course):
    """Sparse, so that it takes no room here; read whole, it would not fit into memory."""
    folder = course / "submitted" / "mallory" / NAME
    folder.mkdir(parents=True)
    with (folder / f"{NAME}.ipynb").open("wb") as file:
        file.truncate(1 << 40)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = grade(course)["mallory"]
    assert result.outcome == "unreadable"
    assert "256 MB" in result.messages[0]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


def test_a_file_name_that_clears_a_terminal(course, capsys):
    folder = course / "submitted" / "mallory" / NAME
    folder.mkdir(parents=True)
    (folder / "\x1b[2J\x1b]0;mine\x07\n=1.py").write_text("x", "utf-8")
    Run(course=course, assignment=NAME, workers=1, resume=False).execute()
    said = "".join(capsys.readouterr())
    assert "mallory" in said
    assert all(character.isprintable() or character == "\n" for character in said)


def test_a_students_name_that_clears_a_terminal(course, capsys):
    submit(course, "\x1b[2Jmallory", RIGHT)
    Run(course=course, assignment=NAME, workers=1, resume=False).execute()
    said = "".join(capsys.readouterr())
    assert "mallory" in said
    assert all(character.isprintable() or character == "\n" for character in said)


def test_a_students_name_that_is_no_text(course):
    submit(course, os.fsdecode(b"mallory\xff"), RIGHT)
    assert grade(course)["alice"].score == 4.0


# --- patience and memory -----------------------------------------------------------------


def test_the_limit_of_a_submission_is_kept_over_all_its_exercises(tmp_path):
    """Eight exercises that take too long have the time of one submission, not of eight."""
    from tests.hostile.world import REPOSITORY, SET

    assignment = Assignment.draw(REPOSITORY, SET, "patience")
    limits = Limits(wall=0.5, total=0.5, cpu=60, memory=96)
    names = [spec.name for spec in assignment.specs]
    waits = "".join(f"def {name}(*a, **k):\n    time.sleep(9)\n" for name in names)
    (tmp_path / f"{SET}.py").write_text(f"import time\n{waits}", "utf-8")
    with ZygotePool() as pool:
        started = time.monotonic()
        result = grade_submission(
            assignment, "mallory", tmp_path, lambda: pool.session(limits), "strong"
        )
        took = time.monotonic() - started
    assert {exercise.outcome for exercise in result.exercises} == {"timed_out"}
    assert took < 3 * limits.total


def test_a_flood_during_a_long_request_takes_no_memory():
    """A request larger than a pipe waits while the child writes; what it writes is not kept."""
    attack = (
        f"{SPEAK}\n"
        "def attack(x):\n"
        "    reply([{'value': None}])\n"
        "    junk = bytes(1 << 20)\n"
        "    while True:\n        os.write(4, junk)\n"
    )
    small = program_to_wire(Program((Call("attack", (1.0,)),)))
    large = program_to_wire(Program((Call("attack", (np.zeros(1 << 17),)),)))
    with ZygotePool() as pool, pool.session(Limits(wall=1.5, total=5.0)) as session:
        session.load([{"source": attack, "line": 1, "cell": "x", "binds": []}], {})
        session.run(small)
        before = _resident()
        with pytest.raises(Stopped):
            session.run(large)
        kept, grown = len(session._received) >> 20, _resident() - before
    assert kept < 128
    assert grown < 128


@pytest.mark.parametrize(
    ("bits", "dtype"),
    [
        (np.uint32(0x7F800001), np.float32),
        (np.uint64(0x7FF0000000000001), np.complex128),
    ],
    ids=["float32", "complex128"],
)
def test_a_nan_that_signals_is_judged_without_a_warning(bits, dtype):
    """With warnings as errors, the warning would be a fault of ours, and no score."""
    from autograder.numerics import compare, tolerance_for

    strange = np.full((2, 2), bits).view(dtype)
    right = np.ones(strange.shape)
    assert compare(strange, right, tolerance_for([strange.dtype.name], right)) is not None


def _resident() -> int:
    """This process's memory in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() >> 20
