"""A small synthetic class of every set, graded in the real sandbox: who gets what, and why."""

import json
from pathlib import Path

import pytest

from autograder.demo import make_class, run_demo
from autograder.pack import assignments_of, load_pack
from autograder.quiz import load_quiz
from autograder.run import Run

pytestmark = pytest.mark.e2e

COURSE = Path(__file__).parents[2]
COUNT = 4  # one right, one with a mistake, one with two, one who did half
# nbgrader takes longer than all the rest: the simplest set and the one with a gift go there.
WITH_NBGRADER = ("ps1_numpy_attention", "ps6_transformer_block")


# One on NumPy, one on PyTorch and the one that is given an exercise; the others in `make soak`.
QUICK = ("ps1_numpy_attention", "ps2_torch_attention", "ps6_transformer_block")
SETS = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.soak)
    for name in assignments_of(COURSE)
]


@pytest.fixture(scope="module", params=SETS)
def graded(request, tmp_path_factory):
    """(students, their results by name, the folder, what was printed)."""
    folder = tmp_path_factory.mktemp("demo") / "class"
    with pytest.MonkeyPatch.context() as patch:
        printed = []
        patch.setattr("builtins.print", lambda *words, **_: printed.append(" ".join(words)))
        if request.param not in WITH_NBGRADER:
            patch.setattr(Run, "_write_gradebook", lambda run, finished: None)
        status = run_demo(COURSE, request.param, folder, COUNT)
    pack = load_pack(COURSE, request.param)
    students = make_class(pack, load_quiz(pack.folder), COUNT)
    document = json.loads((folder / "result.json").read_text("utf-8"))
    results = {result["student"]: result for result in document["submissions"]}
    return status, students, results, folder, printed


def test_everybody_is_graded(graded):
    status, students, results, folder, _ = graded
    assert status == 0
    assert [student.kind for student in students] == ["right", "one", "two", "missing"]
    assert {result["outcome"] for result in results.values()} == {"graded"}
    pages = len(list((folder / "feedback").rglob("*.html")))
    assert pages == (COUNT if (folder / "gradebook.db").exists() else 0)


def test_every_mistake_is_named_and_nothing_else_is_wrong(graded):
    _, students, results, *_ = graded
    for student in students:
        exercises = results[student.name]["exercises"]
        told = {item["name"]: item for item in exercises if item["outcome"] != "passed"}
        if student.kind == "missing":
            assert {item["outcome"] for item in told.values()} == {"missing"}
            assert len(told) == (len(exercises) + 1) // 2
            continue
        assert {name: item["misconceptions"] for name, item in told.items()} == {
            name: [mistake] for name, mistake in student.mistakes.items()
        }, student.name


def test_who_is_right_gets_all_points(graded):
    _, students, results, *_ = graded
    for student in students:
        for item in results[student.name]["exercises"]:
            if item["outcome"] == "passed":
                assert item["score"] == item["max_score"], (student.name, item["name"])
        questions = {q["id"]: q for q in results[student.name]["questions"]}
        for name, answer in student.answers.items():
            assert (questions[name]["outcome"] == "unanswered") == (answer is None)


def test_what_an_instructor_reads(graded):
    printed = "\n".join(map(str, graded[-1]))
    assert f"Made a class of {COUNT}" in printed
    for words in ("Results: ", "Gradebook: ", "Feedback: ", "Isolation: "):
        assert words in printed
