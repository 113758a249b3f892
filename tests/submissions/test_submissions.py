"""One submission for each kind of failure, with the result that it must get beside it.

A folder holds what a student handed in to the small course in `course`, and `expected.json`:
its entry of the result document. After an intended change of words, write them anew with

    AUTOGRADER_WRITE_EXPECTED=1 pytest tests/submissions

and read the difference before it is committed.
"""

import os
import sys
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from autograder.grading import Assignment, grade_submission
from autograder.observe.session import Limits
from autograder.result import ExerciseOutcome, QuestionOutcome

HERE = Path(__file__).parent
WRITE = os.environ.get("AUTOGRADER_WRITE_EXPECTED") == "1"
# Of the clock, a loop takes all; of memory, twice what NumPy's libraries take at their start.
LIMITS = Limits(wall=0.5, total=5.0, cpu=10, memory=256, output=1 << 16)
KINDS = sorted(path.name for path in HERE.iterdir() if path.is_dir() and path.name[0] not in "_.")
KINDS.remove("course")


@pytest.fixture(scope="module")
def pool():
    if sys.platform != "linux":
        pytest.skip("the sandbox exists on Linux only")
    from autograder.observe.pool import ZygotePool

    with ZygotePool(packages=["numpy"]) as pool:
        yield pool


@pytest.fixture(scope="module")
def assignment():
    return Assignment.draw(HERE / "course", "mini", seed="fixed", explain=True)


@pytest.mark.parametrize("kind", KINDS)
def test_gets_what_is_expected(kind, assignment, pool):
    def open_session(**own):
        return pool.session(LIMITS.for_exercise(**own))

    found = grade_submission(assignment, kind, HERE / kind, open_session, "strong")
    plain = msgspec.json.decode(msgspec.json.encode(found))
    del plain["seconds"], plain["sha256"]
    data = msgspec.json.format(msgspec.json.encode(plain), indent=1) + b"\n"
    path = HERE / kind / "expected.json"
    if WRITE:
        path.write_bytes(data)
    assert plain == msgspec.json.decode(path.read_bytes())


def test_every_outcome_has_its_submission():
    documents = [
        msgspec.json.decode((HERE / kind / "expected.json").read_bytes()) for kind in KINDS
    ]
    submissions = {document["outcome"] for document in documents}
    exercises = {item["outcome"] for document in documents for item in document["exercises"]}
    questions = {item["outcome"] for document in documents for item in document["questions"]}
    # infrastructure is nothing that a submission could bring about
    assert submissions == {"graded", "unreadable"}
    assert exercises == set(get_args(ExerciseOutcome)) - {"infrastructure"}
    assert questions == set(get_args(QuestionOutcome))
