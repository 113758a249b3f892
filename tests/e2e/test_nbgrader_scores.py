"""What nbgrader's gradebook, formgrader's API and the feedback pages say of a class."""

from __future__ import annotations

import pytest

from autograder.files import MADE_BY_US
from autograder.grading import DEFAULT_LIMITS, Assignment, find_submissions, grade_submission
from autograder.observe.pool import ZygotePool
from tests.e2e.nbgrader_course import (
    CANARY,
    OWN_TEST,
    OWN_TEXT,
    PS1,
    api_of,
    autograded,
    cell_of,
    comments_of,
    feedback_page,
    gradebook_of,
    open_cells_of,
    scores_of,
)
from tests.e2e.nbgrader_students import SEED, SEVEN, WALL

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="session")
def results(nbgrader_class):
    """What `autograder grade` says of the same class."""
    from dataclasses import replace

    course = nbgrader_class.course
    assignment = Assignment.draw(course, PS1, SEED)
    limits = replace(DEFAULT_LIMITS, wall=WALL)
    with ZygotePool("numpy", secret=[course / "solutions"]) as pool:
        return {
            student: grade_submission(
                assignment, student, folder, lambda: pool.session(limits), "strong"
            )
            for student, folder in find_submissions(course / "submitted", PS1).items()
        }


def test_the_whole_class_is_graded(nbgrader_class):
    """None of the traps ends the batch, or is passed over."""
    assert nbgrader_class.answer["success"], nbgrader_class.answer["error"]
    handed_in = {path.parent.name for path in nbgrader_class.course.glob(f"submitted/*/{PS1}")}
    done = {path.parent.name for path in nbgrader_class.course.glob(f"autograded/*/{PS1}")}
    assert handed_in == done and len(done) > 20


def test_scores_are_those_of_autograder_grade(nbgrader_class, results):
    """Per exercise and per question, for everybody."""
    for student, result in results.items():
        expected = {f"check_{e.name}": e.score for e in result.exercises}
        expected |= {f"check_q_{q.id}": q.score for q in result.questions}
        scores = scores_of(nbgrader_class.course, student)
        assert {name: scores[name] for name in expected} == expected, student


def test_the_seven(nbgrader_class):
    scores = {student: scores_of(nbgrader_class.course, student) for student in SEVEN}
    of_softmax = {student: found["check_softmax"] for student, found in scores.items()}
    assert of_softmax == {
        "right": 4, "wrong": 1, "looping": 0, "warning": 4, "duplicated-test": 4, "stub": 0,
        "module": 4,
    }  # fmt: skip
    everything = dict.fromkeys(scores["right"], None) | {
        cell: float(cell_of(nbgrader_class.written.release, cell)["metadata"]["nbgrader"]["points"])
        for cell in scores["right"]
        if cell.startswith("check_")
    }
    for student in ("right", "warning", "duplicated-test", "module"):
        expected = everything | {OWN_TEXT: 0.0, OWN_TEST: None}
        assert scores[student] == expected, student


@pytest.mark.parametrize("student", ["wrong", "plainly-wrong", "looping"])
def test_one_slip_is_paid_once(nbgrader_class, student):
    """`self_attention` is right but for the `softmax` that it calls: the points, and a word."""
    assert scores_of(nbgrader_class.course, student)["check_self_attention"] == 6
    comment = comments_of(nbgrader_class.course, student)["self_attention"]
    assert "Your own `softmax` cannot be relied on yet" in comment


def test_formgrader_lists_the_scores(nbgrader_class, results):
    api = api_of(nbgrader_class.course)
    listed = {entry["student"]: entry for entry in api.get_submissions(PS1)}
    assert {name: entry["score"] for name, entry in listed.items()} == {
        name: result.score for name, result in results.items()
    }
    assert all(entry["autograded"] for entry in listed.values())
    books = {entry["student"]: entry for entry in api.get_notebook_submissions(PS1, PS1)}
    assert books["right"]["code_score"] == results["right"].score
    assert books.keys() == results.keys()
    assert listed["right"]["max_score"] == results["right"].max_score + 6


@pytest.fixture(scope="module")
def pages(nbgrader_class):
    """The course, with the feedback pages of those who are looked at."""
    api = api_of(nbgrader_class.course)
    for student in ("wrong", "html", "module", "delimiters", "nothing"):
        answer = api.generate_feedback(PS1, student)
        assert answer["success"], answer["error"]
    return nbgrader_class.course


class TestFeedback:
    def test_it_says_what_is_wrong_in_our_words(self, pages):
        page = feedback_page(pages, "wrong")
        assert page.count("Normalises over the queries instead of the keys.") >= 2
        assert "Score: 1.0 / 4.0" in page

    def test_a_students_words_are_no_html(self, pages):
        page = feedback_page(pages, "html")
        assert "alert(1)" in page
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert 'href="javascript' not in page

    def test_a_module_is_shown(self, pages):
        page = feedback_page(pages, "module")
        assert f"made for grading from {PS1}.py" in page
        assert "keepdims" in page

    def test_hidden_tests_are_not_shown(self, pages):
        """Neither by themselves nor because a student writes their delimiters."""
        for student in ("wrong", "delimiters"):
            assert CANARY not in feedback_page(pages, student)

    def test_who_handed_in_nothing_has_a_page_too(self, pages):
        assert "nothing could be read" in feedback_page(pages, "nothing")


class TestOutputs:
    def test_a_check_cell_shows_words_and_a_builtin_float(self, nbgrader_class):
        check = cell_of(autograded(nbgrader_class.course, "wrong"), "check_softmax")
        words, value = check["outputs"]
        assert (words["output_type"], words["name"]) == ("stream", "stdout")
        assert "each column sums to 1" in "".join(words["text"])
        assert value["data"] == {"text/plain": ["1.0"]}
        assert check["source"] == ['check("softmax")']

    def test_no_other_cell_has_outputs(self, nbgrader_class):
        book = autograded(nbgrader_class.course, "right")
        graded = [c for c in book["cells"] if c["metadata"].get("nbgrader", {}).get("grade")]
        others = [c for c in book["cells"] if c["cell_type"] == "code" and c not in graded]
        assert all(cell["outputs"] == [] for cell in others)

    def test_the_run_can_be_repeated(self, nbgrader_class, results):
        about = autograded(nbgrader_class.course, "right")["metadata"]["autograder"]
        assert about["seed"] == SEED
        assert about["sha256"] == results["right"].sha256

    def test_comments_stand_on_the_solution_cells(self, nbgrader_class):
        comments = comments_of(nbgrader_class.course, "wrong")
        assert "Likely cause" in comments["softmax"]
        assert comments["q_column_layout"].strip().startswith("q_column_layout: “stone” is right.")
        assert comments[OWN_TEXT] == "No response."


class TestTraps:
    def test_the_last_of_duplicated_solutions_counts(self, nbgrader_class):
        assert scores_of(nbgrader_class.course, "duplicated-solution")["check_softmax"] == 4
        shown = cell_of(autograded(nbgrader_class.course, "duplicated-solution"), "softmax")
        assert "axis=0" in "".join(shown["source"])

    @pytest.mark.parametrize("student", ["renamed", "deleted"])
    def test_missing_cells_return_to_their_place(self, nbgrader_class, student):
        assert scores_of(nbgrader_class.course, student)["check_softmax"] == 4
        book = autograded(nbgrader_class.course, student)
        frame = [cell for cell in book["cells"] if cell["metadata"].get("nbgrader")]
        names = [cell["metadata"]["nbgrader"]["grade_id"] for cell in frame]
        released = [
            cell["metadata"]["nbgrader"]["grade_id"]
            for cell in nbgrader_class.written.release["cells"]
            if cell["metadata"].get("nbgrader")
        ]
        assert names == released
        put_back = "".join(cell_of(book, "softmax")["source"])
        assert put_back.startswith("# This cell was missing")

    def test_no_score_stays_open_but_those_for_people(self, nbgrader_class):
        for student in ("deleted", "renamed", "nothing", "no-json", "right"):
            assert open_cells_of(nbgrader_class.course, student) == {OWN_TEST}, student

    def test_metadata_comes_from_the_release(self, nbgrader_class):
        scores = scores_of(nbgrader_class.course, "tampered")
        assert scores["check_softmax"] == 1 and scores["check_attend"] == 3
        book = autograded(nbgrader_class.course, "tampered")
        for cell in nbgrader_class.written.release["cells"]:
            about = cell["metadata"].get("nbgrader")
            if about:
                assert cell_of(book, about["grade_id"])["metadata"]["nbgrader"] == about
        assert book["metadata"]["kernelspec"]["name"] == "python3"
        assert scores[OWN_TEXT] is None  # written, so somebody has to read it
        assert "".join(cell_of(book, OWN_TEXT)["source"]) == "Because."

    def test_a_test_cell_of_the_instructor_is_left_open(self, nbgrader_class):
        """No kernel runs it; without an output nbgrader would give full marks."""
        assert scores_of(nbgrader_class.course, "right")[OWN_TEST] is None
        shown = cell_of(autograded(nbgrader_class.course, "right"), OWN_TEST)
        assert "left open" in "".join(shown["outputs"][0]["text"])

    def test_the_module_that_was_worked_on_counts(self, nbgrader_class):
        assert scores_of(nbgrader_class.course, "both, module")["check_softmax"] == 4
        shown = cell_of(autograded(nbgrader_class.course, "both, module"), "softmax")
        assert "NotImplementedError" in "".join(shown["source"])
        first = comments_of(nbgrader_class.course, "both, module")["project"]
        assert f"{PS1}.py was graded." in first

    @pytest.mark.parametrize(
        ("student", "sentence"),
        [
            ("no-json", "is not a notebook"),
            ("other-name", "found Untitled.ipynb: hand it in under the right name"),
            ("nothing", "was handed in."),
        ],
    )
    def test_unreadable_is_zero_with_a_sentence(self, nbgrader_class, student, sentence):
        scores = scores_of(nbgrader_class.course, student)
        assert {v for name, v in scores.items() if name != OWN_TEST} == {0.0}
        assert sentence in comments_of(nbgrader_class.course, student)["softmax"]
        text = "".join(autograded(nbgrader_class.course, student)["cells"][0]["source"])
        assert "nothing could be read" in text

    def test_a_students_file_stays_as_it_was(self, nbgrader_class):
        submitted = nbgrader_class.course / "submitted"
        for student, content in [
            ("no-json", b"def softmax(scores): ..."),
            ("no-json, module", b"\xff\xfe\x00"),
            ("empty-file", b""),
        ]:
            assert (submitted / student / PS1 / f"{PS1}.ipynb").read_bytes() == content

    def test_a_readable_module_beside_a_broken_notebook_counts(self, nbgrader_class):
        assert scores_of(nbgrader_class.course, "no-json, module")["check_softmax"] == 4
        shown = cell_of(autograded(nbgrader_class.course, "no-json, module"), "softmax")
        assert "axis=0" in "".join(shown["source"])

    def test_our_notebook_is_marked_where_it_was_put_and_not_where_it_goes(self, nbgrader_class):
        """A student may get the autograded one back, and hand it in again."""
        course = nbgrader_class.course
        put = (course / "submitted" / "module" / PS1 / f"{PS1}.ipynb").read_text("utf-8")
        assert f'"{MADE_BY_US}": "{PS1}.py"' in put
        assert MADE_BY_US not in autograded(course, "module")["metadata"]

    def test_old_notebooks_foreign_names_and_broken_links(self, nbgrader_class):
        assert scores_of(nbgrader_class.course, "nbformat-3")["check_softmax"] == 4
        assert scores_of(nbgrader_class.course, "dangling-link")["check_softmax"] == 4
        assert scores_of(nbgrader_class.course, "王 小明 Ünal")["check_softmax"] == 1


def test_the_gradebook_learns_of_the_assignment(nbgrader_class):
    """There was none when the run began, as in a fresh clone."""
    with gradebook_of(nbgrader_class.course) as gradebook:
        notebook = gradebook.find_notebook(PS1, PS1)
        cells = {cell.name: cell.max_score for cell in notebook.grade_cells}
        assert cells["check_softmax"] == 4 and cells[OWN_TEXT] == 3
        assert gradebook.find_source_cell("check_softmax", PS1, PS1).source == 'check("softmax")'
