"""A corpus of students' work: nothing wrong accepted, nothing right rejected, causes named."""

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from autograder.evaluation import evaluate
from autograder.grading import DEFAULT_LIMITS, Assignment
from autograder.submission import read
from tests.students.corpus import students_of

COURSE = Path(__file__).parents[2]
SETS = ("ps1", "ps2", "ps3")
ASSIGNMENTS = {"ps1": "ps1_numpy_attention"}
ENOUGH_NAMED = 0.85

# Misconceptions were added after a look at one half of the entries, and never at the other.
HALVES = {"held out": (True,), "looked at": (False,), "both": (True, False)}


def grade(students, assignment, folder):
    """Student → the result of the exercise that the student wrote."""
    from autograder.observe.pool import ZygotePool

    specs = {spec.name: spec for spec in assignment.specs}

    def one(numbered):
        number, student = numbered
        place = folder / str(number)
        place.mkdir()
        submission = read(student.hand_in(place, assignment.name))

        def open_session(**own):
            return pool.session(DEFAULT_LIMITS)

        return evaluate(submission, [specs[student.exercise]], open_session)[0]

    with ZygotePool(assignment.framework, size=2) as pool, ThreadPoolExecutor(2) as threads:
        return dict(zip(students, threads.map(one, enumerate(students)), strict=True))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    if sys.platform != "linux":
        pytest.skip("the sandbox exists on Linux only")
    found = {}
    for ps, name in ASSIGNMENTS.items():
        assignment = Assignment.draw(COURSE, name, seed="students")
        found |= grade(students_of(ps), assignment, tmp_path_factory.mktemp(ps))
    return found


def test_nothing_right_is_rejected(results):
    rejected = [
        f"{student}\n{result.feedback}"
        for student, result in results.items()
        if student.entry.right and result.outcome != "passed"
    ]
    assert not rejected, "\n\n".join(rejected)


def test_nothing_wrong_is_accepted(results):
    accepted = [
        str(student)
        for student, result in results.items()
        if not student.entry.right and result.outcome not in ("failed", "error", "forbidden")
    ]
    assert not accepted, "\n".join(accepted)


def test_causes_are_named(results, capsys):
    wrong = {s: r for s, r in results.items() if not s.entry.right}
    named = {s for s, r in wrong.items() if s.entry.described_by(r.misconceptions)}
    misnamed = {s for s, r in wrong.items() if r.misconceptions and s not in named}
    lines = [
        _share(ps, half, wrong, named, misnamed) for ps in [*ASSIGNMENTS, "all"] for half in HALVES
    ]
    lines += [
        f"misnamed: {s}: {', '.join(wrong[s].misconceptions)}" for s in sorted(misnamed, key=str)
    ]
    with capsys.disabled():
        print("", *lines, sep="\n")
    assert len(named) / len(wrong) >= ENOUGH_NAMED


def _share(ps, half, wrong, named, misnamed):
    chosen = {s for s in wrong if ps in ("all", s.ps) and s.held_out in HALVES[half]}
    hits = len(chosen & named)
    return (
        f"{ps} {half}: {len(chosen)} wrong, none accepted; the cause of {hits} is named "
        f"({hits / len(chosen):.0%}), another cause is named for {len(chosen & misnamed)}"
    )


def test_the_corpus_is_large_enough():
    students = [student for ps in SETS for student in students_of(ps)]
    kinds = Counter("right" if student.entry.right else "wrong" for student in students)
    assert kinds["wrong"] >= 150
    assert kinds["right"] >= 60
    assert len({(s.ps, s.exercise, s.entry.title) for s in students}) == len(students)
