"""A set that gives an exercise of an earlier one, solved: what students get, and what not.

A small course of two sets: `reach` (which needs `widest`) is written in the first and given in
the second.
"""

import ast
import json
import shutil
import subprocess
import sys

import pytest

from autograder import build, demo, leaks, stubs
from autograder.grading import Assignment, grade_submission
from autograder.judge import judge
from autograder.observe.spawned import SpawnedSession
from autograder.pack import load_pack
from autograder.signature import AuthoringError
from autograder.student import LIMITS, check_folder
from autograder.validate import validate_pack

FIRST, SECOND = "ps0_reach", "ps1_use"

WIDEST = '''"""The entry of the largest size."""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=1, order=1)
def widest(x: Float[np.ndarray, "n"]) -> float:
    """The largest size of an entry of x, shape (n,)."""
    sizes = np.abs(x)  # (n,), no signs
    ordered = np.sort(sizes)[::-1]  # (n,), the largest one first
    return float(ordered[0])  # a number


@widest.case("five numbers", separates=["signed"])
def five(rng):
    return {"x": np.append(rng.normal(size=5), -7.0)}


@widest.misconception("Looks at signs.", hint="How large is -7?")
def signed(x):
    return float(x.max())


@widest.alternative("by a norm")
def norm(x):
    return float(np.linalg.norm(x, ord=np.inf))
'''

REACH = '''"""The logarithm of one more than the largest size."""

import math

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=2, order=2, needs=["widest"])
def reach(x: Float[np.ndarray, "n"]) -> float:
    """log(1 + largest size of an entry).

    Args:
        x: shape (n,).
    """
    # a comment stays with the body
    largest = widest(x)  # a number, whatever the signs are
    if largest == 0.0:  # nothing reaches anywhere
        return 0.0
    shifted = 1.0 + largest  # above 1, so that the logarithm is positive
    return math.log(shifted)  # natural


@reach.case("four numbers", separates=["to_base_two"])
def four(rng):
    return {"x": rng.normal(size=4)}


@reach.misconception("Takes the logarithm to base 2.", hint="To which base?")
def to_base_two(x):
    base_two = math.log2(1.0 + float(np.abs(np.asarray(x)).max()))
    return base_two


@reach.alternative("log1p")
def log1p(x):
    return math.log1p(float(np.abs(x).max()))
'''

DOUBLED = '''"""Twice the reach."""

import numpy as np
from jaxtyping import Float

from autograder import exercise


@exercise(points=3)
def doubled(x: Float[np.ndarray, "n"]) -> float:
    """Twice what `reach` says of x, shape (n,)."""
    return 2.0 * reach(x)


@doubled.case("six numbers", separates=["once"])
def six(rng):
    return {"x": rng.normal(size=6)}


@doubled.case("three other numbers", separates=["once"], hidden=True)
def three(rng):
    return {"x": rng.normal(size=3)}


@doubled.misconception("Forgets to double.", hint="How often?")
def once(x):
    return reach(x)


@doubled.alternative("added to itself")
def added(x):
    return reach(x) + reach(x)
'''

COMMAND = "from autograder.cli import main; main()"
GIVEN = 'GIVEN = {"reach": "the first set is closed by then"}'


def write_course(root, given=GIVEN):
    for name, about, files in (
        (FIRST, "", {"widest": WIDEST, "reach": REACH}),
        (SECOND, given, {"doubled": DOUBLED}),
    ):
        folder = root / "solutions" / name
        folder.mkdir(parents=True)
        init = f'"""A set for tests."""\n\nPACKAGES = ("numpy",)\n{about}\n'
        (folder / "__init__.py").write_text(init, "utf-8")
        for exercise, text in files.items():
            (folder / f"{exercise}.py").write_text(text, "utf-8")
    return root


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    course = write_course(tmp_path_factory.mktemp("course"))
    build.build(course)
    (course / "nbgrader_config.py").write_text("", "utf-8")
    return course


@pytest.fixture
def course(built, tmp_path):
    return shutil.copytree(built, tmp_path / "copy")


@pytest.fixture(scope="module")
def pack(built):
    return load_pack(built, SECOND)


def give(course, text):
    """Let the second set say something else of what it gives."""
    about = course / "solutions" / SECOND / "__init__.py"
    about.write_text(about.read_text("utf-8").replace(GIVEN, text), "utf-8")


def release(course, suffix):
    return (course / "assignments" / SECOND / f"{SECOND}{suffix}").read_text("utf-8")


def cells(course):
    book = json.loads(release(course, ".ipynb"))
    return {cell["id"]: cell for cell in book["cells"]}


@pytest.fixture(scope="module")
def cell(built):
    return "".join(cells(built)["given_reach"]["source"])


class TestWhatStudentsGet:
    def test_it_and_what_it_needs_in_that_order(self, pack, cell):
        (gift,) = pack.given
        assert (gift.name, gift.assignment) == ("reach", FIRST)
        assert [exercise.name for exercise, _ in gift.parts] == ["widest", "reach"]
        defined = [node.name for node in ast.parse(cell).body if isinstance(node, ast.FunctionDef)]
        assert defined == ["widest", "reach"]

    def test_docstring_comments_and_body_and_no_marks(self, cell):
        assert "### " not in cell
        assert "NotImplementedError" not in cell
        assert '    """log(1 + largest size of an entry).\n\n    Args:\n' in cell
        assert "    # a comment stays with the body\n    largest = widest(x)  #" in cell
        assert cell.startswith(f"# Given, from {FIRST}: nothing is to be written in this cell.\n")

    def test_signatures_are_plain(self, cell):
        assert "def reach(x):\n" in cell
        assert "exercise" not in cell and "Float" not in cell

    def test_it_brings_the_imports_that_its_set_does_not_have(self, cell):
        assert "\nimport math\n" in cell
        assert "import numpy" not in cell  # every notebook and every module has it

    def test_locked_and_worth_nothing(self, built):
        about = cells(built)["given_reach"]["metadata"]
        assert about["editable"] is False and about["deletable"] is False
        said = about["nbgrader"]
        assert (said["locked"], said["solution"], said["grade"]) == (True, False, False)
        assert "points" not in said

    def test_it_stands_above_the_exercise(self, built):
        names = list(cells(built))
        assert names.index("given_reach") < names.index("doubled")

    def test_the_module_has_the_same(self, built, cell):
        assert cell in release(built, ".py")
        compile(release(built, ".py"), "the module", "exec")

    def test_the_first_set_gives_nothing_away(self, built):
        text = (built / "assignments" / FIRST / f"{FIRST}.ipynb").read_text("utf-8")
        assert "given_" not in text and "ordered" not in text


class TestAuthors:
    def test_references_alternatives_and_misconceptions_call_it(self, built):
        report = validate_pack(built, SECOND, "a seed")
        assert report.well, report

    def test_no_longer_given_it_leaves_the_notebooks(self, course):
        give(course, "")
        path = course / "solutions" / SECOND / "doubled.py"
        path.write_text(DOUBLED.replace("reach(x)", "float(x.sum())"), "utf-8")
        build.build(course)
        assert "given_reach" not in cells(course)
        assert "widest" not in release(course, ".ipynb") + release(course, ".py")

    @pytest.mark.parametrize("name", ["retch", "doubled", "far_too_much"])
    def test_a_wrong_name_is_one_sentence(self, tmp_path, name):
        course = write_course(tmp_path, f'GIVEN = {{"{name}": "closed"}}')
        with pytest.raises(AuthoringError) as error:
            load_pack(course, SECOND)
        assert str(error.value) == (
            f"solutions/{SECOND}: GIVEN names {name}, which is no exercise of another set; "
            "correct the name or take it out"
        )

    def test_the_command_says_it_without_a_traceback(self, tmp_path):
        course = write_course(tmp_path, 'GIVEN = {"retch": "closed"}')
        run = subprocess.run(
            [sys.executable, "-c", COMMAND, "build", SECOND],
            cwd=course,
            capture_output=True,
            text=True,
        )
        assert run.returncode == 2
        assert run.stderr.startswith("autograder: ") and run.stderr.count("\n") == 1
        assert "GIVEN names retch" in run.stderr


class TestLeaks:
    """The scan exempts the reference of what is given and of what that needs: nothing else."""

    def found(self, course):
        return {(leak.file.split("/")[1], leak.what) for leak in leaks.scan(course).leaks}

    def test_nothing_is_found_in_what_was_built(self, built):
        assert self.found(built) == set()

    def test_undeclared_it_is_a_leak_however_much_it_is_commented(self, course):
        give(course, "")
        assert {(SECOND, "the reference of reach"), (SECOND, "the reference of widest")} <= (
            self.found(course)
        )

    def test_what_it_needs_is_no_gift_by_itself(self, course):
        give(course, 'GIVEN = {"widest": "closed"}')
        assert self.found(course) == {(SECOND, "the reference of reach")}

    def test_a_misconception_of_the_first_set_is_none(self, course):
        wrong = stubs.student_code(REACH, "to_base_two", "to_base_two")
        (course / "assignments" / SECOND / "notes.py").write_text(wrong, "utf-8")
        assert self.found(course) == {(SECOND, "the misconception to_base_two of reach")}

    def test_nor_is_it_given_in_the_first_set(self, course):
        whole = "".join(cells(course)["given_reach"]["source"])
        (course / "assignments" / FIRST / "notes.py").write_text(whole, "utf-8")
        assert {(FIRST, "the reference of reach"), (FIRST, "the reference of widest")} <= (
            self.found(course)
        )


def hand_in(course, folder, code="return 2 * reach(x)"):
    """The release with the exercise written, and nothing else touched."""
    shutil.copytree(course / "assignments" / SECOND, folder)
    path = folder / f"{SECOND}.py"
    text = path.read_text("utf-8")
    assert text.count(stubs.STUB.replace("\n", "\n    ")) == 1
    path.write_text(text.replace(stubs.STUB.replace("\n", "\n    "), code), "utf-8")
    return folder


def grade(course, folder):
    """The result of the set's only exercise."""
    result = grade_submission(
        Assignment.draw(course, SECOND, "a seed"),
        "s1",
        folder,
        lambda **own: SpawnedSession(LIMITS.for_exercise(**own), "numpy", folder),
        "none",
    )
    (graded,) = result.exercises
    return graded


class TestStudents:
    def test_a_stub_is_not_written_yet(self, built):
        result = check_folder(built / "assignments" / SECOND).result("doubled")
        assert result.outcome == "missing"

    def test_the_self_check_runs_what_was_given(self, built, tmp_path):
        checked = check_folder(hand_in(built, tmp_path / "mine"))
        assert checked.passed, checked.result("doubled").feedback

    def test_so_does_pytest(self, built, tmp_path):
        folder = hand_in(built, tmp_path / "mine")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
        run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout
        assert " passed" in run.stdout

    @pytest.mark.parametrize(
        ("code", "outcome"), [("return 2 * reach(x)", "passed"), ("return reach(x)", "failed")]
    )
    def test_graded_with_hidden_cases(self, built, tmp_path, code, outcome):
        graded = grade(built, hand_in(built, tmp_path / SECOND, code))
        assert graded.outcome == outcome, graded.feedback
        assert graded.misconceptions == (() if outcome == "passed" else ("once",))

    def test_a_module_of_the_exercise_alone_is_graded(self, built, tmp_path):
        """What was given is not theirs to hand in."""
        folder = tmp_path / SECOND
        folder.mkdir()
        alone = "def doubled(x):\n    return reach(x) + reach(x)\n"
        (folder / f"{SECOND}.py").write_text(alone, "utf-8")
        graded = grade(built, folder)
        assert graded.outcome == "passed", graded.feedback

    def test_their_own_counts_where_they_have_one(self, built, tmp_path):
        folder = tmp_path / SECOND
        folder.mkdir()
        own = "def reach(x):\n    return 1.0\n\ndef doubled(x):\n    return 2 * reach(x)\n"
        (folder / f"{SECOND}.py").write_text(own, "utf-8")
        assert grade(built, folder).outcome == "failed"


def test_a_demo_has_the_set_that_gives(built, tmp_path):
    folder = tmp_path / "demo"
    demo.make_course(built, SECOND, folder)
    pack = load_pack(folder, SECOND)
    spec = pack.draw("doubled", "a seed")
    observed = {
        case.name: pack.observe("doubled", pack.exercises["doubled"].reference, case.program)
        for case in spec.cases
    }
    assert judge(spec, observed).outcome == "passed"
    assert not (folder / "assignments" / FIRST).exists()
