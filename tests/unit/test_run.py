"""A class through `Run`: every outcome by its name, nobody harmed, nothing lost."""

import json
import re

import pytest

from autograder import run as run_module
from autograder.grading import Assignment
from autograder.opening import CannotGrade
from autograder.report.terminal import MOST_ROWS, print_class
from autograder.result import decode, encode
from autograder.run import Run
from tests.unit.class_of_many import document
from tests.unit.courses import NAME, RIGHT, SQUARED, make_course, submit

pytestmark = pytest.mark.needs_debian("libseccomp2", library="seccomp")

STUB = "def double(x):\n    raise NotImplementedError()\n"
BAD = {
    "loops": ("def double(x):\n    while True: pass\n", "timed_out"),
    "eats": ("def double(x):\n    return [bytearray(1 << 26) for _ in range(10**6)]\n", None),
    "exits": ("import os\ndef double(x):\n    os._exit(0)\n", "crashed"),
    "segfaults": ("import ctypes\ndef double(x):\n    ctypes.string_at(0)\n", "crashed"),
    "raises": ("def double(x):\n    return x.nothing\n", "error"),
    "floods": ("def double(x):\n    while True: print('x' * 10**6)\n", None),
    "forks": ("import os\ndef double(x):\n    os.fork()\n    return x + x\n", "error"),
    "missing": (STUB, "missing"),
    "broken": ("def double(x:\n", "error"),
}


@pytest.fixture
def course(tmp_path):
    return make_course(tmp_path)


def grade(course, **options):
    options = {"workers": 2, "timeout": 4.0, "quiet": True, **options}
    return Run(course=course, assignment=NAME, **options).grade()


def by_student(document):
    return {result.student: result for result in document.submissions}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """One class with every kind of trouble, among right ones."""
    course = make_course(tmp_path_factory.mktemp("course"))
    for name, (code, _) in BAD.items():
        submit(course, name, code)
    for number in range(6):
        submit(course, f"right{number}", RIGHT)
    submit(course, "wrong", SQUARED)
    submit(course, "学生 mit Leerzeichen", RIGHT)
    submit(course, "notebook", "{broken", ".ipynb")
    (course / "submitted" / "nothing" / NAME).mkdir(parents=True)
    document = grade(course, memory=256)
    return by_student(document), document


class TestAClass:
    @pytest.mark.parametrize("name", [name for name, (_, outcome) in BAD.items() if outcome])
    def test_named_outcomes(self, graded, name):
        result = graded[0][name].exercise("double")
        assert result.outcome == BAD[name][1]
        assert result.score == 0.0

    @pytest.mark.parametrize("name", ["eats", "floods"])
    def test_limits_have_a_name_too(self, graded, name):
        assert graded[0][name].exercise("double").outcome in (
            "out_of_memory",
            "crashed",
            "timed_out",
        )

    def test_eating_memory_is_called_that(self, graded):
        assert graded[0]["eats"].exercise("double").outcome == "out_of_memory"

    def test_right_ones_have_full_marks(self, graded):
        right = [r for name, r in graded[0].items() if name.startswith(("right", "学生"))]
        assert len(right) == 7
        assert {result.score for result in right} == {4.0}

    def test_a_misconception_gives_its_credit(self, graded):
        result = graded[0]["wrong"]
        assert result.exercise("double").misconceptions == ("squared",)
        assert result.score == 1.0
        assert "That is the square. Add it to itself." in result.questions[0].message

    @pytest.mark.parametrize("name", ["notebook", "nothing"])
    def test_unreadable_is_zero_with_a_sentence(self, graded, name):
        result = graded[0][name]
        assert (result.outcome, result.score, result.file) == ("unreadable", 0.0, None)
        assert "hand it in" in result.messages[0] or "was handed in" in result.messages[0]

    def test_everybody_is_there_once_in_order(self, graded):
        students = [result.student for result in graded[1].submissions]
        assert students == sorted(set(students))
        assert len(students) == 19

    def test_isolation_is_recorded(self, graded):
        assert graded[1].isolation in ("strong", "strong+")
        assert {r.isolation for r in graded[1].submissions} == {graded[1].isolation}

    def test_the_document_reads_back(self, graded):
        assert decode(encode(graded[1])) == graded[1]
        assert not re.search(rb"\bNaN\b|\bInfinity\b", encode(graded[1]))

    def test_no_message_has_a_traceback_of_ours(self, graded):
        assert b"Traceback" not in encode(graded[1])


def test_a_link_to_somebody_else_s_work_is_no_submission(course):
    submit(course, "honest", RIGHT)
    copycat = course / "submitted" / "copycat"
    copycat.mkdir()
    (copycat / NAME).symlink_to(course / "submitted" / "honest" / NAME)
    result = by_student(grade(course))["copycat"]
    assert (result.outcome, result.score) == ("unreadable", 0.0)
    assert result.messages == (f"{NAME} is a link; hand in the files themselves",)


class TestSeed:
    def test_a_seed_can_be_repeated(self, course):
        submit(course, "s", "def double(x):\n    return x * 1.5\n")
        one, two = grade(course, seed="5", resume=False), grade(course, seed="5", resume=False)
        assert one.submissions[0].exercises == two.submissions[0].exercises
        assert one.seed == "5"

    def test_a_fresh_run_draws_a_fresh_seed(self, course):
        submit(course, "s", RIGHT)
        assert grade(course, resume=False).seed != grade(course, resume=False).seed


class TestResume:
    def test_only_what_is_new_is_graded(self, course, monkeypatch):
        submit(course, "one", RIGHT)
        first = grade(course)
        submit(course, "two", SQUARED)
        seen = []
        original = run_module.grade_class

        def spy(assignment, todo, *rest):
            seen.extend(todo)
            return original(assignment, todo, *rest)

        monkeypatch.setattr(run_module, "grade_class", spy)
        second = grade(course)
        assert seen == ["two"]
        assert second.seed == first.seed
        assert [r.score for r in second.submissions] == [4.0, 1.0]

    def test_a_changed_submission_is_graded_again(self, course):
        submit(course, "one", SQUARED)
        grade(course)
        submit(course, "one", RIGHT)
        assert grade(course).submissions[0].score == 4.0

    def test_a_changed_exercise_is_graded_again(self, course):
        submit(course, "one", RIGHT)
        grade(course)
        path = course / "solutions" / NAME / "double.py"
        path.write_text(path.read_text("utf-8").replace("points=2", "points=5"), "utf-8")
        assert grade(course).submissions[0].score == 7.0

    def test_a_cut_line_is_graded_again(self, course):
        submit(course, "one", RIGHT)
        submit(course, "two", RIGHT)
        first = grade(course)
        journal = course / ".autograder" / f"{NAME}.journal"
        data = journal.read_bytes()
        journal.write_bytes(data[: len(data) - 40])  # as a kill leaves it
        second = grade(course)
        assert [r.score for r in second.submissions] == [4.0, 4.0]
        assert second.seed == first.seed

    @pytest.mark.parametrize("content", [b"", b"\0\0\0", b"{}\n", b'{"assignment": 3}\n'])
    def test_a_journal_that_is_none_is_replaced(self, course, content):
        submit(course, "one", RIGHT)
        path = course / ".autograder" / f"{NAME}.journal"
        path.parent.mkdir()
        path.write_bytes(content)
        assert grade(course).submissions[0].score == 4.0

    def test_results_that_were_our_fault_are_not_kept(self, course, monkeypatch):
        submit(course, "one", RIGHT)
        with monkeypatch.context() as patch:
            patch.setattr("autograder.grading.evaluate", lambda *a: 1 / 0)
            broken = grade(course)
        assert broken.submissions[0].outcome == "infrastructure"
        assert broken.submissions[0].score is None
        assert grade(course).submissions[0].score == 4.0


class TestLimits:
    SLOW = "import time\ndef double(x):\n    time.sleep(0.4)\n    return x + x\n"

    def test_an_exercise_may_have_its_own_seconds(self, course):
        path = course / "solutions" / NAME / "double.py"
        text = path.read_text("utf-8")
        submit(course, "slow", self.SLOW)
        assert grade(course, timeout=0.2).submissions[0].exercises[0].outcome == "timed_out"
        path.write_text(text.replace("order=1", "order=1, seconds=5.0"), "utf-8")
        assert grade(course, timeout=0.2).submissions[0].exercises[0].outcome == "passed"

    def test_an_exercise_may_have_its_own_memory(self, course):
        path = course / "solutions" / NAME / "double.py"
        text = path.read_text("utf-8")
        hungry = "import numpy as np\ndef double(x):\n    np.ones(20_000_000)\n    return x + x\n"
        submit(course, "hungry", hungry)
        assert grade(course).submissions[0].exercises[0].outcome == "passed"
        path.write_text(text.replace("order=1", "order=1, memory=64"), "utf-8")
        again = grade(course, allow_lower=True)
        assert again.submissions[0].exercises[0].outcome == "out_of_memory"

    @pytest.mark.parametrize(
        "limit, code, outcome",
        [
            (
                {"output": 100},
                "def double(x):\n    print('x' * 5000)\n    return x + x\n",
                "crashed",
            ),
            ({"total": 0.2}, SLOW, "timed_out"),
            (
                {"files": 16},
                "def double(x):\n    kept = [open(__import__('os').devnull) for _ in range(40)]\n"
                "    return x + x\n",
                "error",
            ),
        ],
    )
    def test_limits_of_the_command_line(self, course, limit, code, outcome):
        submit(course, "s", code)
        result = grade(course, **limit).submissions[0]
        assert result.exercises[0].outcome == outcome
        if outcome != "error":
            assert "the other 0 exercises were graded" in result.messages[-1]


class TestInfrastructure:
    def test_our_fault_costs_nothing_and_shows_in_the_status(self, course, monkeypatch, capsys):
        submit(course, "one", RIGHT)
        monkeypatch.setattr("autograder.grading.evaluate", lambda *a: 1 / 0)
        status = Run(course, NAME, workers=1, quiet=True, json_file=course / "out.json").execute()
        assert status == 1
        assert "a fault of ours (one); run the same command again" in capsys.readouterr().err
        result = json.loads((course / "out.json").read_text("utf-8"))["submissions"][0]
        assert result["score"] is None
        assert result["exercises"][0]["score"] is None

    def test_so_is_one_while_a_submission_is_read(self, course, monkeypatch):
        for student in ("one", "two"):
            submit(course, student, RIGHT)
        choose = Assignment.choose

        def spoilt(self, folder):
            if folder.parent.name == "one":
                raise SystemError("AST constructor recursion depth mismatch")
            return choose(self, folder)

        monkeypatch.setattr(Assignment, "choose", spoilt)
        one, two = grade(course).submissions
        assert (one.outcome, one.score) == ("infrastructure", None)
        assert "SystemError" in one.messages[0]
        assert (two.outcome, two.score) == ("graded", two.max_score)

    def test_a_check_that_raises_is_our_fault(self, course):
        path = course / "solutions" / NAME / "double.py"
        path.write_text(
            path.read_text("utf-8")
            + "\n@double.check('is fine')\ndef fine(call):\n    return 1 / 0\n",
            "utf-8",
        )
        submit(course, "one", RIGHT)
        result = grade(course).submissions[0]
        assert result.outcome == "infrastructure"
        assert "ZeroDivisionError" in result.exercises[0].feedback


class TestRefusals:
    def test_a_folder_for_the_document_that_is_not_there(self, course):
        submit(course, "one", RIGHT)
        with pytest.raises(CannotGrade, match=r"there is no folder .*; make it first"):
            grade(course, json_file=course / "nowhere" / "out.json")

    def test_weak_isolation(self, course, monkeypatch):
        submit(course, "one", RIGHT)
        monkeypatch.setattr("autograder.observe.sandbox.LAYERS", ("rlimits",))
        monkeypatch.setattr(run_module.sys, "platform", "darwin")
        with pytest.raises(CannotGrade, match="give --allow-unsandboxed"):
            grade(course)

    def test_allowed_all_the_same(self, course, monkeypatch):
        submit(course, "one", RIGHT)
        monkeypatch.setattr(run_module.sys, "platform", "darwin")
        document = grade(course, allow_unsandboxed=True)
        assert document.isolation == "none"
        assert document.submissions[0].score == 4.0


class TestTheTableOfAClass:
    def test_has_a_row_a_student(self, capsys):
        print_class(document(MOST_ROWS).submissions)
        out = capsys.readouterr().out
        assert "student0000" in out and f"student{MOST_ROWS - 1:04}" in out

    def test_and_where_students_are_many_a_row_an_exercise(self, capsys):
        results = document(MOST_ROWS + 1).submissions
        print_class(results)
        out = capsys.readouterr().out
        assert "student0000" not in out
        passed = sum(result.exercise("attend").outcome == "passed" for result in results)
        [row] = [line for line in out.splitlines() if "attend" in line]
        assert row.split("│")[1:3] == [" attend   ", f" {passed} "]
        assert f"{MOST_ROWS + 1} submissions" in out
        assert re.search(r"Mean score: \d\.\d\d of 11\.", out)
