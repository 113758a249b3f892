"""The synthetic class: the same every time, every kind in it, and honest files."""

import ast
import sys
from collections import Counter
from pathlib import Path

import pytest

from autograder import build
from autograder.demo import (
    KINDS,
    MARKER,
    DemoFolderTaken,
    hand_in,
    make_class,
    make_course,
)
from autograder.exercise import AuthoringError
from autograder.pack import CourseNotFound, load_pack
from autograder.quiz import judge_quiz, load_quiz
from autograder.stubs import student_code
from autograder.submission import choose, read
from tests.unit import courses
from tests.unit.quizzes import write_quiz

COURSE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    made = courses.make_course(tmp_path_factory.mktemp("course"))
    build.build(made)
    (made / "nbgrader_config.py").write_text("", "utf-8")
    return made


@pytest.fixture(scope="module")
def pack(course):
    return load_pack(course, courses.NAME)


@pytest.fixture(scope="module")
def students(pack):
    double = {"double": pack.exercises["double"]}
    pack.exercises = double
    return make_class_with_one_exercise(pack)


def make_class_with_one_exercise(pack):
    """Two misconceptions need two exercises; here everybody has one."""
    import autograder.demo as demo

    kinds = tuple(kind for kind in demo.KINDS if kind != "two")
    before, demo.KINDS = demo.KINDS, kinds
    try:
        return make_class(pack, load_quiz(pack.folder), 30)
    finally:
        demo.KINDS = before


def test_the_same_class_every_time(pack, students):
    assert make_class_with_one_exercise(pack) == students


def test_every_kind_is_there(students):
    kinds = Counter(student.kind for student in students)
    assert set(kinds) == {"right", "one", "missing", "looping", "raising"}
    assert {student.hands_in for student in students} == {"notebook", "module"}


def test_code_parses(students):
    for student in students:
        for code in student.code.values():
            ast.parse(code)


@pytest.mark.parametrize("form", ["notebook", "module"])
def test_what_is_handed_in_is_read_back(course, pack, students, tmp_path, form):
    student = next(s for s in students if s.hands_in == form and s.kind == "one")
    folder = tmp_path / student.name
    hand_in(student, pack, course / "assignments" / courses.NAME, folder)
    chosen = choose(folder, courses.NAME, ["double"], ["q_twice"])
    node = chosen.submission.definition("double")
    assert ast.unparse(node) == ast.unparse(ast.parse(student.code["double"]).body[0])
    answer = read(chosen.submission.path).answer("q_twice")
    assert ast.literal_eval(answer) == student.answers["twice"]


@pytest.fixture(scope="module")
def quiz_class(tmp_path_factory):
    """(the pack, its questions, a class) of a quiz with every type of question."""
    made = courses.make_course(tmp_path_factory.mktemp("quiz"))
    write_quiz(made / "solutions" / courses.NAME)
    build.build(made)
    pack = load_pack(made, courses.NAME)
    return made, pack, load_quiz(pack.folder), make_class_with_one_exercise(pack)


def test_answers_to_every_type_of_question(quiz_class, tmp_path):
    """Right ones, known mistakes, guesses and blanks, each read as it was meant."""
    made, pack, questions, students = quiz_class
    outcomes = {question.type: Counter() for question in questions}
    for student in students:
        hand_in(student, pack, made / "assignments" / courses.NAME, tmp_path / student.name)
        path = next((tmp_path / student.name).iterdir())
        results, said = judge_quiz(questions, read(path).answer, student.name)
        assert said == ()  # the id in the file is the student's
        for question, result in zip(questions, results, strict=True):
            outcomes[question.type][result.outcome] += 1
    for kind, found in outcomes.items():
        assert found["correct"] > len(students) / 3, kind
        assert found["incorrect"] + found["partial"], kind
        assert not found["unreadable"], kind
    assert sum(found["unanswered"] for found in outcomes.values()) > 5


class TestFolder:
    def test_a_course_of_its_own(self, course, tmp_path):
        make_course(course, courses.NAME, tmp_path / "demo")
        assert (tmp_path / "demo" / MARKER).exists()
        assert (tmp_path / "demo" / "solutions" / courses.NAME / "double.py").exists()

    def test_made_again_it_is_emptied(self, course, tmp_path):
        make_course(course, courses.NAME, tmp_path / "demo")
        old = tmp_path / "demo" / "submitted" / "old"
        old.mkdir(parents=True)
        make_course(course, courses.NAME, tmp_path / "demo")
        assert not old.exists()

    def test_somebody_s_folder_is_left_alone(self, course, tmp_path):
        mine = tmp_path / "demo" / "thesis.txt"
        mine.parent.mkdir()
        mine.write_text("mine", "utf-8")
        with pytest.raises(DemoFolderTaken, match="was not made by this command"):
            make_course(course, courses.NAME, mine.parent)
        assert mine.read_text("utf-8") == "mine"

    def test_an_assignment_that_is_not_built(self, course, tmp_path):
        with pytest.raises(CourseNotFound, match="run autograder build first"):
            make_course(course, "ps9", tmp_path / "demo")

    def test_without_pytorch_it_says_so_and_makes_nothing(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "torch", None)  # imports as if it were not installed
        with pytest.raises(AuthoringError, match=r"needs the package torch.*autograder\[torch\]"):
            make_course(COURSE, "ps2_torch_attention", tmp_path / "demo")
        assert not (tmp_path / "demo").exists()


def test_small_classes_have_the_common_kinds_and_larger_ones_all():
    assert set(KINDS[:4]) == {"right", "one", "two", "missing"}
    assert set(KINDS[:20]) == set(KINDS)


def test_mistakes_are_those_of_the_code(pack, students):
    for student in students:
        assert (student.kind == "one") == bool(student.mistakes)
        for name, mistake in student.mistakes.items():
            assert student.code[name] == student_code(pack.sources[name], mistake, name)
