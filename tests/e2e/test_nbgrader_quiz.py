"""A question of every type in real nbgrader: cells, points, and what students do to both."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path

import pytest

from autograder import build
from autograder.leaks import scan
from autograder.quiz import STUDENT_ID, for_student
from tests.e2e.nbgrader_course import (
    OWN,
    REPOSITORY,
    Written,
    api_of,
    cell_of,
    comments_of,
    feedback_page,
    grade_id,
    gradebook_of,
    hand_in,
    scores_of,
)
from tests.unit.courses import NAME
from tests.unit.courses import make_course as small_course
from tests.unit.quizzes import write_quiz

pytestmark = pytest.mark.e2e

POINTS = {"axis": 1.0, "facts": 2.0, "memory": 1.0, "ratio": 1.0, "split": 1.0, "mask": 1.0,
          "steps": 2.0, "roles": 3.0, "cost": 1.0, "width": 1.0}  # fmt: skip
EXERCISE = 2.0
DRAWN = ("memory", "split", "width")
SETTINGS = {"ObserveAndJudge__seed": "quiz"}


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A course of one exercise and the quiz, with everybody's submissions graded."""
    root = small_course(tmp_path_factory.mktemp("nbgrader-quiz"))
    write_quiz(root / "solutions" / NAME)
    shutil.copy(REPOSITORY / "nbgrader_config.py", root)
    build.build(root)
    _hand_in_everything(root)
    answer = api_of(root, **SETTINGS).autograde(NAME, "*")
    assert answer["success"], answer["error"]
    return root


def _hand_in_everything(root: Path) -> None:
    written = Written(root, NAME)
    right = written.right()
    hand_in(root, "right", written.notebook(right), NAME)
    hand_in(root, "module", written.module(right), NAME, suffix=".py")
    hand_in(root, "blank", written.notebook({}), NAME)

    wrong = {
        "axis": "'amber'",
        "facts": "'cedar, amber, birch'",
        "steps": "'stone, river, cloud, maple, birch'",
        "roles": "'one-kiwi'",
        "cost": "'n'",
    }
    texts = {f"q_{name}": f"q_{name} = {source}" for name, source in wrong.items()}
    hand_in(root, "partly", written.notebook(right | texts), NAME)

    # metadata: points, options, a check that says full marks, an answer's cell locked
    tampered = written.notebook(right | texts)
    for name in ("axis", "facts", "cost"):
        check = cell_of(tampered, f"check_q_{name}")
        check["metadata"]["nbgrader"] |= {"points": 100, "locked": False}
        check["metadata"] |= {"options": 1, "answer": "amber"}
        check["source"] = "100.0"
        check["outputs"] = [{"output_type": "execute_result", "execution_count": 1, "metadata": {},
                             "data": {"text/plain": "100.0"}}]  # fmt: skip
    cell_of(tampered, "q_axis")["metadata"]["nbgrader"] |= {"points": 50, "grade": True}
    cell_of(tampered, "variant_memory")["source"] = "'What is 1 + 1?'"
    hand_in(root, "tampered", tampered, NAME)

    # answer cells twice (the later one counts), check cells twice
    doubled = written.notebook(right | texts)
    later = copy.deepcopy(cell_of(doubled, "q_axis")) | {"id": "later", "source": right["q_axis"]}
    again = copy.deepcopy(cell_of(doubled, "check_q_axis")) | {"id": "again"}
    doubled["cells"] += [later, again]
    hand_in(root, "doubled", doubled, NAME)

    # answer, check, variant and student_id cells gone; one answer typed in a cell of one's own
    deleted = written.notebook(right)
    gone = {"q_axis", "check_q_axis", "q_facts", "check_q_memory", "variant_memory"}
    gone |= {"question_mask", STUDENT_ID}
    deleted["cells"] = [cell for cell in deleted["cells"] if grade_id(cell) not in gone]
    deleted["cells"].append(
        {"cell_type": "code", "id": "typed-anew", "metadata": {}, "source": right["q_facts"],
         "outputs": [], "execution_count": None}
    )  # fmt: skip
    hand_in(root, "deleted", deleted, NAME)

    reordered = written.notebook(right)
    reordered["cells"].reverse()
    hand_in(root, "reordered", reordered, NAME)

    # right with another student's numbers, under that student's id
    copied = json.dumps(written.notebook(right))
    for question in written.questions:
        if question.draws:
            copied = copied.replace(OWN.format(question.id), _answer(question, "right"))
    hand_in(root, "copied", copied.replace(OWN.format(STUDENT_ID), "right"), NAME)


def _answer(question, student: str) -> str:
    from autograder.quiz import guessing

    return repr(guessing.right(for_student(question, student)))


def of_quiz(course: Path, student: str) -> dict[str, float | None]:
    scores = scores_of(course, student, NAME)
    return {name: scores[f"check_q_{name}"] for name in POINTS}


def test_one_grade_cell_a_question(course):
    """In the release: the cells in order, empty, and nothing of an answer."""
    book = json.loads((course / "assignments" / NAME / f"{NAME}.ipynb").read_text("utf-8"))
    cells = {grade_id(cell): cell for cell in book["cells"]}
    names = [name for name in cells if name]
    assert names.index(STUDENT_ID) < names.index("question_axis")
    for name, points in POINTS.items():
        variant = [f"variant_{name}"] if name in DRAWN else []
        at = names.index(f"question_{name}")
        wanted = [f"question_{name}", *variant, f"q_{name}", f"check_q_{name}"]
        assert names[at : at + len(wanted)] == wanted
        about = cells[f"check_q_{name}"]["metadata"]["nbgrader"]
        assert (about["points"], about["grade"], about["locked"]) == (points, True, True)
        assert "".join(cells[f"q_{name}"]["source"]).startswith(f"q_{name} = None  # ")
    assert "".join(cells[STUDENT_ID]["source"]).endswith('student_id = ""')
    assert scan(course).leaks == ()


def test_the_gradebook_and_formgrader_have_the_points(course):
    assert of_quiz(course, "right") == of_quiz(course, "module") == POINTS
    assert of_quiz(course, "blank") == dict.fromkeys(POINTS, 0.0)
    assert of_quiz(course, "partly") == POINTS | {
        "axis": 0.0, "facts": 1.0, "steps": 1.0, "roles": 0.0, "cost": 0.0
    }  # fmt: skip
    listed = {each["student"]: each for each in api_of(course).get_submissions(NAME)}
    assert {each["max_score"] for each in listed.values()} == {14.0 + EXERCISE}
    assert listed["right"]["score"] == 14.0 + EXERCISE


def test_tampered_metadata_changes_neither_points_nor_maximum(course):
    assert of_quiz(course, "tampered") == of_quiz(course, "partly")
    with gradebook_of(course) as gradebook:
        book = gradebook.find_submission_notebook(NAME, NAME, "tampered")
        assert book.max_score == 14.0 + EXERCISE
        assert {grade.max_score for grade in book.grades if grade.name == "check_q_axis"} == {1.0}


def test_duplicated_cells(course):
    """The last answer counts, as in the kernel; every question has its points once."""
    expected = of_quiz(course, "partly") | {"axis": 1.0}
    assert of_quiz(course, "doubled") == expected


def test_deleted_cells(course):
    """What was deleted is unanswered, wherever it was typed anew it counts; nothing is open."""
    assert of_quiz(course, "deleted") == POINTS | {"axis": 0.0}
    assert "no answer was given" in comments_of(course, "deleted", NAME)["q_axis"]
    listed = {each["student"]: each for each in api_of(course).get_submissions(NAME)}
    assert not listed["deleted"]["needs_manual_grade"]


def test_reordered_cells(course):
    assert of_quiz(course, "reordered") == POINTS


def test_another_s_numbers(course):
    """The id in the notebook never decides; the student is told."""
    scores = of_quiz(course, "copied")
    own = {
        question.id: for_student(question, "copied").answer == for_student(question, "right").answer
        for question in Written(course, NAME).questions
    }
    assert scores == {name: points if own[name] else 0.0 for name, points in POINTS.items()}
    assert not own["memory"] and not own["split"]
    said = comments_of(course, "copied", NAME)
    assert "goes with the numbers of student_id “right”, which is not yours" in said["q_memory"]
    assert any("student_id says “right”" in text for text in said.values() if text)


def test_feedback_explains_and_shows_points(course):
    answer = api_of(course).generate_feedback(NAME, "partly")
    assert answer["success"], answer["error"]
    page = feedback_page(course, "partly", NAME)
    assert "is partly right" in page
    assert "One budget a query." in page  # an explanation: after grading only
    assert "Score: 1.0 / 2.0" in page


def test_points_given_by_hand_survive(course):
    """An answer that was right with a mistyped id, say: formgrader's points stay."""
    with gradebook_of(course) as gradebook:
        grade = gradebook.find_grade("check_q_memory", NAME, NAME, "copied")
        grade.manual_score, grade.needs_manual_grade = 1.0, False
        gradebook.db.commit()
    answer = api_of(course, **SETTINGS).autograde(NAME, "copied", force=True)
    assert answer["success"], answer["error"]
    with gradebook_of(course) as gradebook:
        grade = gradebook.find_grade("check_q_memory", NAME, NAME, "copied")
        assert (grade.auto_score, grade.manual_score, grade.score) == (0.0, 1.0, 1.0)
