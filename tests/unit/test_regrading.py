"""A class graded again: what is observed, who moves and why, and that no score falls in silence."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext

import pytest

from autograder import run as run_module
from autograder.evaluation import evaluate
from autograder.grading import DEFAULT_LIMITS
from autograder.journal import Journal
from autograder.opening import CannotGrade
from autograder.result import decode
from autograder.run import Run
from tests.unit.courses import NAME, QUIZ, make_course, submit
from tests.unit.test_evaluation import Fake

IN_THE_SANDBOX = pytest.mark.needs_debian("libseccomp2", library="seccomp")

HALVE = '''"""Half of every number."""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=1, order=0)
def halve(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """Half of x."""
    return x / 2  # (n,)


@halve.case("four numbers", separates=["left"])
def four(rng):
    return {"x": rng.normal(size=4)}


@halve.misconception("Leaves them.", hint="What is half of one?")
def left(x):
    return x.copy()
'''
# Needs both of the others, so that it depends on what they are.
BOTH = '''"""Twice the half."""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=3, order=2, needs=["halve"])
def both(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    """Half of x, and one more."""
    return halve(x) + 1  # (n,)


@both.case("six numbers", separates=["forgets"])
def six(rng):
    return {"x": rng.normal(size=6)}


@both.misconception("Forgets the one.", hint="What is added?")
def forgets(x):
    return halve(x)
'''
RIGHT = (
    "def halve(x):\n    return x / 2\ndef double(x):\n    return x + x\n"
    "def both(x):\n    return halve(x) + 1\nq_twice = 42\nq_kind = 'linear'\n"
)
WRONG_HALF = RIGHT.replace("x / 2", "x * 1.0")


@pytest.fixture
def course(tmp_path):
    make_course(tmp_path)
    (tmp_path / "solutions" / NAME / "halve.py").write_text(HALVE, "utf-8")
    (tmp_path / "solutions" / NAME / "both.py").write_text(BOTH, "utf-8")
    submit(tmp_path, "ann", RIGHT)
    submit(tmp_path, "bob", RIGHT.replace("x + x", "x * x"))
    return tmp_path


@pytest.fixture(autouse=True)
def here(monkeypatch, request):
    """Observed in this very process, in no time; in the sandbox where a test is marked."""

    @contextmanager
    def observer(*arguments):
        yield Fake(), "strong"

    if request.node.get_closest_marker("needs_debian") is None:
        monkeypatch.setattr(run_module, "observer", observer)


@pytest.fixture
def observed(monkeypatch):
    """Names of the exercises that are really observed, one for each student."""
    seen = []

    def spy(submission, specs, open_session, references=None, known=None, finder=None):
        seen.extend(sorted(spec.name for spec in specs if spec.name not in (known or {})))
        return evaluate(submission, specs, open_session, references, known, finder)

    monkeypatch.setattr("autograder.grading.evaluate", spy)
    monkeypatch.setattr("autograder.evaluation.evaluate", spy)
    return seen


def grade(course, **options):
    """(exit status, student → result)."""
    json_file = course / "out.json"
    options = {"workers": 1, "timeout": 4.0, "json_file": json_file, **options}
    status = Run(course=course, assignment=NAME, **options).execute()
    return status, {one.student: one for one in decode(json_file.read_bytes()).submissions}


def again(course, observed, **options):
    """The same after a first run, with only what the second one observed."""
    observed.clear()
    status, results = grade(course, **options)
    return status, results, sorted(observed)


def scores(results):
    return {
        name: [one.score for one in (*result.exercises, *result.questions)]
        for name, result in results.items()
    }


def edit(course, name, *changes):
    path = course / "solutions" / NAME / f"{name}.py"
    text = path.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")


class TestWhatIsObserved:
    @IN_THE_SANDBOX
    def test_all_at_first_and_nothing_after_that(self, course, observed, monkeypatch, capsys):
        _, first = grade(course)
        assert sorted(observed) == ["both", "both", "double", "double", "halve", "halve"]
        assert "Observed: halve 2, double 2, both 2; kept: 0 results." in capsys.readouterr().out
        # not even a sandbox is started, nor a case drawn
        monkeypatch.setattr("autograder.opening._pool", lambda *arguments: 1 / 0)
        monkeypatch.setattr("autograder.pack.Pack.draw", lambda *arguments, **options: 1 / 0)
        status, second, seen = again(course, observed)
        assert (status, seen, second) == (0, [], first)
        out = capsys.readouterr().out
        assert "Observed: nothing; kept: 6 results." in out
        assert "Moved" not in out

    def test_a_changed_exercise_alone(self, course, observed, capsys):
        grade(course)
        edit(course, "double", ("size=3", "size=7"))
        status, _, seen = again(course, observed)
        assert (status, seen) == (0, ["double", "double"])
        assert "Observed: double 2; kept: 4 results." in capsys.readouterr().out

    @pytest.mark.parametrize(
        "change, expected",
        [
            (("size=4", "size=5"), ["halve"]),  # a case of its own
            (("points=1", "points=2"), ["halve"]),
            (('"""Half of x."""', '"""Halves."""'), ["halve"]),
            (("return x / 2", "return 0.5 * x"), ["both", "halve"]),  # the others are drawn by it
        ],
    )
    def test_what_needs_it_when_its_reference_changes(self, course, observed, change, expected):
        grade(course)
        edit(course, "halve", change)
        assert set(again(course, observed)[2]) == set(expected)

    def test_what_calls_a_part_that_stands_otherwise_now(self, course, observed, capsys):
        submit(course, "ann", WRONG_HALF.replace("+ 1", "+ 2"))
        grade(course)
        # halve: anything goes now, so that ann's is right
        edit(course, "halve", ("return x / 2", "return x / 2"), ("size=4", "size=0"))
        assert again(course, observed)[2] == ["both", "halve", "halve"]
        out = capsys.readouterr().out
        assert "ann  halve: failed 0 → passed 1 of 1 (the exercise changed, " in out

    def test_the_quiz_is_judged_alone(self, course, observed, capsys):
        submit(course, "bob", RIGHT.replace("42", "43"))
        grade(course)
        quiz = course / "solutions" / NAME / "quiz.yaml"
        quiz.write_text(QUIZ.replace("absolute: 0.001", "absolute: 1.5"), "utf-8")
        status, results, seen = again(course, observed)
        assert (status, seen) == (0, [])
        assert results["bob"].score == results["ann"].score == 8.0
        assert "bob  quiz: twice: incorrect 0 → correct 1 of 1 (the quiz changed, " in (
            capsys.readouterr().out
        )

    def test_only_a_fault_of_ours_is_tried_again(self, course, observed, monkeypatch):
        check = "@double.check('is fine')\ndef fine(call):\n    return __import__('os').FAULT\n\n\n"
        edit(course, "double", ("@double.alternative", f"{check}@double.alternative"))
        monkeypatch.setattr("os.FAULT", None, raising=False)
        monkeypatch.delattr("os.FAULT")
        assert grade(course)[0] == 1
        monkeypatch.setattr("os.FAULT", None, raising=False)
        status, _, seen = again(course, observed)
        assert (status, seen) == (0, ["double", "double"])

    @IN_THE_SANDBOX
    def test_what_met_a_limit_under_other_limits(self, course, observed):
        slow = "import time\ndef halve(x):\n    time.sleep(0.4)\n    return x / 2\n"
        submit(course, "ann", slow + RIGHT.split("\n", 2)[2])
        assert grade(course, timeout=0.2)[1]["ann"].exercise("halve").outcome == "timed_out"
        _, results, seen = again(course, observed, timeout=4.0)
        assert "double" not in seen and "halve" in seen
        assert results["ann"].exercise("halve").outcome == "passed"

    def test_one_student_one_exercise(self, course, observed):
        grade(course)
        assert again(course, observed, students=["bob"])[2] == ["both", "double", "halve"]
        assert again(course, observed, exercises=["double"])[2] == ["double", "double"]
        both = {"students": ["ann"], "exercises": ["double"]}
        status, results, seen = again(course, observed, **both)
        assert (status, seen, set(results)) == (0, ["double"], {"ann", "bob"})

    def test_what_one_exercise_leaves_outdated_is_said(self, course, observed):
        grade(course)
        edit(course, "halve", ("size=4", "size=5"))
        _, results, seen = again(course, observed, exercises=["double"])
        assert seen == ["double", "double"]
        assert results["ann"].messages == ("graded by an earlier version: halve",)
        _, results, seen = again(course, observed)
        assert (seen, results["ann"].messages) == (["halve", "halve"], ())

    @pytest.mark.parametrize(
        "options, sentence",
        [
            ({"students": ["cy"]}, "nothing is handed in by cy for"),
            ({"exercises": ["treble"]}, "write one of halve, double, both"),
            ({"exercises": ["double"], "resume": False}, "leave one of them out"),
            ({"exercises": ["double"], "seed": "another"}, "leave out --seed"),
        ],
    )
    def test_refusals(self, course, options, sentence):
        grade(course)
        before = (course / "out.json.journal").read_bytes()
        with pytest.raises(CannotGrade, match=sentence):
            grade(course, **options)
        assert (course / "out.json.journal").read_bytes() == before

    def test_who_is_gone_is_named(self, course, capsys):
        grade(course)
        (course / "submitted" / "bob").rename(course / "elsewhere")
        assert set(grade(course)[1]) == {"ann"}
        assert "Graded before, and handed in no more: bob." in capsys.readouterr().out


# bob squares; with credit 0.5 he has 1 of 2, with 0.25 half of that
LOWER = ("credit=0.5", "credit=0.25")


class TestNoScoreFallsInSilence:
    def test_a_lower_score_waits_until_it_is_allowed(self, course, observed, capsys):
        _, first = grade(course)
        edit(course, "double", LOWER)
        capsys.readouterr()
        for attempt in range(2):  # it is said each time, and observed once
            status, results, seen = again(course, observed)
            assert status == 1
            assert results["bob"].exercises == first["bob"].exercises
            assert results["bob"].score == first["bob"].score
            assert results["bob"].messages == ("the earlier score stands: double",)
            assert seen == ([] if attempt else ["double", "double"])
            out, err = capsys.readouterr()
            assert "bob  double: failed 1 → failed 0.5 of 2 (the exercise changed, " in out
            assert "NOT TAKEN OVER: the earlier score stands" in out
            assert "1 score of 1 student would be lower" in err
            assert err.rstrip().endswith("run the same command with --allow-lower")
        status, results, seen = again(course, observed, allow_lower=True)
        assert (status, seen) == (0, [])
        assert results["bob"].exercise("double").score == 0.5
        assert results["bob"].messages == ()
        out, err = capsys.readouterr()
        assert "bob  double: failed 1 → failed 0.5 of 2" in out
        assert ("NOT TAKEN" in out, err) == (False, "")
        status, _, seen = again(course, observed)
        assert (status, seen, "Moved" in capsys.readouterr().out) == (0, [], False)

    def test_what_is_lowered_again_while_it_waits_is_told_from_where_it_stands(
        self, course, capsys
    ):
        grade(course)
        edit(course, "double", LOWER)
        grade(course)
        edit(course, "double", ("credit=0.25", "credit=0.125"))
        capsys.readouterr()
        status, results = grade(course, allow_lower=True)
        assert (status, results["bob"].exercise("double").score) == (0, 0.25)
        assert "bob  double: failed 1 → failed 0.25 of 2" in capsys.readouterr().out

    def test_it_is_allowed_for_those_that_are_asked_for(self, course):
        submit(course, "cy", RIGHT.replace("x + x", "x * x"))
        grade(course)
        edit(course, "double", LOWER)
        grade(course)
        status, results = grade(course, allow_lower=True, students=["bob"])
        assert (status, results["bob"].exercise("double").score) == (1, 0.5)
        assert results["cy"].exercise("double").score == 1.0
        status, results = grade(course, allow_lower=True, exercises=["halve"])
        assert (status, results["cy"].exercise("double").score) == (1, 1.0)
        status, results = grade(course, allow_lower=True, exercises=["double"])
        assert (status, results["cy"].exercise("double").score) == (0, 0.5)

    def test_what_waits_is_settled_by_a_repair(self, course, observed):
        _, first = grade(course)
        edit(course, "double", LOWER)
        grade(course)
        edit(course, "double", LOWER[::-1])
        status, results, seen = again(course, observed)
        assert (status, seen) == (0, ["double", "double"])
        assert scores(results) == scores(first)

    def test_what_waits_outlives_a_change_elsewhere(self, course, observed):
        grade(course)
        edit(course, "double", LOWER)
        grade(course)
        edit(course, "halve", ("size=4", "size=5"))
        status, results, seen = again(course, observed)
        assert (status, seen) == (1, ["halve", "halve"])
        assert results["bob"].exercise("double").score == 1.0

    def test_at_once_when_it_is_allowed(self, course):
        grade(course)
        edit(course, "double", LOWER)
        status, results = grade(course, allow_lower=True)
        assert (status, results["bob"].exercise("double").score) == (0, 0.5)

    def test_starting_over_is_a_regrade_too(self, course):
        grade(course)
        edit(course, "double", LOWER)
        status, results = grade(course, resume=False)
        assert (status, results["bob"].exercise("double").score) == (1, 1.0)

    def test_a_question_of_the_quiz(self, course):
        grade(course)
        quiz = course / "solutions" / NAME / "quiz.yaml"
        quiz.write_text(QUIZ.replace("answer: 42", "answer: 44"), "utf-8")
        status, results = grade(course)
        assert (status, results["ann"].score) == (1, 8.0)
        status, results = grade(course, allow_lower=True)
        assert (status, results["ann"].score) == (0, 7.0)

    def test_a_new_submission_of_the_student_s_own_counts(self, course, capsys):
        grade(course)
        submit(course, "ann", RIGHT.replace("x + x", "x - x"))
        status, results = grade(course)
        assert (status, results["ann"].exercise("double").score) == (0, 0.0)
        assert "ann  double: passed 2 → failed 0 of 2 (a new submission)" in capsys.readouterr().out

    def test_a_fault_of_ours_takes_nothing_away(self, course, monkeypatch):
        _, first = grade(course)
        with monkeypatch.context() as patch:
            patch.setattr("autograder.evaluation.evaluate", lambda *a: 1 / 0)
            edit(course, "double", ("size=3", "size=7"))
            status, results = grade(course, allow_lower=True)
        assert status == 1
        assert scores(results) == scores(first)
        status, results = grade(course)
        assert (status, scores(results)) == (0, scores(first))

    def test_what_an_interrupted_run_moved_is_told_by_the_next(self, course, capsys):
        grade(course)
        edit(course, "double", ("credit=0.5", "credit=0.75"))
        run = Run(course=course, assignment=NAME, workers=1, json_file=course / "out.json")
        run._grade()  # all graded, and killed before anything was printed
        capsys.readouterr()
        grade(course)
        assert "bob  double: failed 1 → failed 1.5 of 2" in capsys.readouterr().out
        grade(course)
        assert "Moved" not in capsys.readouterr().out


class TestDroppedCases:
    def test_is_left_out_now_and_from_now_on(self, course, observed, capsys):
        grade(course)
        status, results, seen = again(course, observed, drop_cases=["double/three"])
        assert (status, seen) == (0, ["double", "double"])
        assert "in 2 cases" in results["ann"].exercise("double").feedback
        version = json.loads((course / "out.json").read_bytes())["version"]
        assert version["dropped"] == {"double": ["three"]}
        assert "Left out: the case double/three" in capsys.readouterr().out
        assert again(course, observed)[2] == []
        assert again(course, observed, resume=False)[1]["ann"].exercise("double").feedback == (
            results["ann"].exercise("double").feedback
        )
        status, results, seen = again(course, observed, restore_cases=["double/three"])
        assert (status, seen) == (0, ["double", "double"])
        assert "in 3 cases" in results["ann"].exercise("double").feedback
        version = json.loads((course / "out.json").read_bytes())["version"]
        assert version["dropped"] == {}

    def test_who_failed_in_it_alone_has_the_points(self, course, capsys):
        submit(course, "ann", RIGHT.replace("x + x", "x + x if len(x) != 3 else x"))
        assert grade(course)[1]["ann"].exercise("double").score == 0.0
        status, results = grade(course, drop_cases=["double/three"])
        assert (status, results["ann"].exercise("double").score) == (0, 2.0)
        out = capsys.readouterr().out
        assert "ann  double: failed 0 → passed 2 of 2 (the case three was dropped)" in out

    @pytest.mark.parametrize(
        "options, sentence",
        [
            ({"drop_cases": ["double"]}, "write EXERCISE/CASE, such as softmax/far_below"),
            ({"drop_cases": ["treble/x"]}, "no exercise treble; write one of halve, double, both"),
            ({"drop_cases": ["double/x"]}, "write one of five, three, called_again"),
            ({"drop_cases": ["double/five", "double/three"]}, "no case of double is left"),
            ({"restore_cases": ["double/five"]}, "was not dropped; leave out --restore-case"),
            ({"drop_cases": ["double/five"], "students": ["x"]}, "nothing is handed in by x"),
        ],
    )
    def test_refusals(self, course, options, sentence):
        with pytest.raises(Exception, match=sentence) as caught:
            grade(course, **options)
        assert type(caught.value).__module__.startswith("autograder")
        assert not (course / ".autograder").exists()

    def test_nbgrader_s_grader_leaves_it_out_too(self, course, monkeypatch):
        """Also one that runs on, as formgrader's server does."""
        from autograder.nbgrader_plugin import grader

        monkeypatch.setattr(grader, "observer", lambda *a, **o: nullcontext((Fake(), "strong")))
        settings = grader.Settings(DEFAULT_LIMITS, "a seed", False)

        def cases():
            found = grader.grader_for(course, NAME, settings).assignment.specs
            return [case.name for spec in found if spec.name == "double" for case in spec.cases]

        before = cases()
        grade(course, drop_cases=["double/three"])
        assert cases() == [name for name in before if name != "three"]

    def test_a_file_that_says_nothing(self, course):
        (course / ".autograder").mkdir()
        (course / ".autograder" / f"{NAME}.dropped.json").write_text("[3", "utf-8")
        with pytest.raises(Exception, match="delete it and drop them again with --drop-case"):
            grade(course)


def test_the_journal_of_another_assignment_is_not_used(course, tmp_path):
    grade(course)
    assert Journal(course / "out.json.journal").entries("ps9_other") == {}


@pytest.mark.soak
def test_an_unchanged_class_of_a_thousand(course, capsys):
    """Through the command, as it is used; then one exercise changes."""
    for number in range(1000):
        submit(course, f"s{number:04}", RIGHT + f"# {number}\n")
    Run(course, NAME, json_file=course / "out.json", quiet=True).grade()
    command = [sys.executable, "-m", "autograder.cli", "grade", NAME, "--course", str(course)]
    command += ["--json", str(course / "out.json")]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - start
    assert "Observed: nothing; kept: 3006 results." in done.stdout
    with capsys.disabled():
        print(f"an unchanged class of 1,000: {seconds:.2f} s, nothing observed")
    assert seconds < 3.0
    edit(course, "double", ("size=3", "size=7"))
    grade(course)
    assert "Observed: double 1002; kept: 2004 results." in capsys.readouterr().out


class TestNothingToDo:
    """A repeated run does not even load the set; whatever may matter makes it load."""

    @pytest.fixture
    def loads(self, monkeypatch):
        """Runs that have loaded the set."""
        seen = []
        load = run_module.Assignment.load

        def spy(*arguments, **options):
            seen.append(arguments)
            return load(*arguments, **options)

        monkeypatch.setattr(run_module.Assignment, "load", spy)
        return seen

    def test_the_document_is_the_same_and_the_set_is_not_loaded(self, course, loads, capsys):
        grade(course)
        before, printed = (course / "out.json").read_bytes(), capsys.readouterr().out
        loads.clear()
        for _ in range(2):  # a run that did nothing leaves what the next one needs
            grade(course)
            assert loads == []
            assert (course / "out.json").read_bytes() == before
            again = capsys.readouterr().out
            assert again.replace("kept: 6", "kept: 0") == printed.replace(
                "Observed: halve 2, double 2, both 2", "Observed: nothing"
            )

    @pytest.mark.parametrize("what", ["exercise", "quiz", "submission", "drops", "fault", "seed"])
    def test_it_is_loaded_when_something_may_have_changed(self, course, loads, what):
        grade(course)
        options = {}
        if what == "exercise":
            edit(course, "halve", ("What is half of one?", "What is half of ten?"))
        elif what == "quiz":
            with (course / "solutions" / NAME / "quiz.yaml").open("a", encoding="utf-8") as file:
                file.write("# a remark\n")
        elif what == "submission":
            submit(course, "bob", RIGHT)
        elif what == "drops":
            (course / ".autograder").mkdir(exist_ok=True)
            (course / ".autograder" / f"{NAME}.dropped.json").write_text("{}", "utf-8")
        elif what == "fault":
            journal = Journal.beside(course / "out.json", course, NAME)
            text = journal.path.read_bytes()
            assert text.count(b'{"finished":true}\n') == 1
            journal.path.write_bytes(text.replace(b'{"finished":true}\n', b""))
        else:
            options["seed"] = "another"
        loads.clear()
        grade(course, **options)
        assert len(loads) == 1
