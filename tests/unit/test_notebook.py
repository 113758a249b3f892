"""check() and read_back() on live objects: cards, floats, and nothing on stderr."""

import sys
import warnings

import numpy as np
import pytest

from autograder import build, notebook
from tests.unit.courses import NAME, make_course

NOT_WRITTEN = """\
○ double: not written yet
  0 of 2 points.
  The set: 0 of 1 exercises pass, 0 of 2 points.
"""


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("course"))
    build.build(course)
    return course / "assignments" / NAME


@pytest.fixture
def names(assignment, monkeypatch):
    """The notebook's namespace; tests put their functions into it."""
    monkeypatch.chdir(assignment)
    found = {}
    monkeypatch.setattr(notebook, "_user_namespace", lambda: found)
    return found


class TestCheck:
    def test_right(self, names, capsys):
        names["double"] = lambda x: x + x
        score = notebook.check("double")
        assert type(score) is float
        assert score == 2.0
        assert "✓ double: all public cases pass" in capsys.readouterr().out

    def test_a_misconception_is_named_and_keeps_no_credit(self, names, capsys):
        names["double"] = np.square
        assert notebook.check("double") == 0.0  # credits do not travel
        out = capsys.readouterr().out
        assert "Squares instead of doubling." in out
        assert "What is twice three?" in out

    def test_not_defined(self, names, capsys):
        assert notebook.check("double") == 0.0
        assert capsys.readouterr().out == NOT_WRITTEN

    def test_the_stub(self, names, capsys):
        def double(x):
            raise NotImplementedError

        names["double"] = double
        assert notebook.check("double") == 0.0
        assert capsys.readouterr().out == NOT_WRITTEN

    def test_an_exception_is_told_and_not_raised(self, names, capsys):
        names["double"] = lambda x: x["two"]
        assert notebook.check("double") == 0.0
        assert "IndexError" in capsys.readouterr().out

    def test_nothing_reaches_stderr(self, names, capsys):
        def double(x):
            print("noise")
            print("noise", file=sys.stderr)
            warnings.warn("noise", stacklevel=1)
            return x + x

        names["double"] = double
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            assert notebook.check("double") == 2.0
        captured = capsys.readouterr()
        assert captured.err == ""
        assert "noise" not in captured.out

    def test_all(self, names, capsys):
        names["double"] = lambda x: x + x
        assert notebook.check() == 2.0
        out = capsys.readouterr().out
        assert "1 of 1 exercises pass" in out
        assert f"To be graded: {NAME}.ipynb, 0 of 1 exercises written." in out  # as it is saved
        assert "0 of 2 questions answered." in out

    def test_an_unknown_name_says_which_there_are(self, names, capsys):
        assert notebook.check("triple") == 0.0
        assert "There are: double." in capsys.readouterr().out

    def test_without_a_key(self, names, capsys, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert notebook.check("double") == 0.0
        assert "belongs beside the notebook" in capsys.readouterr().out

    def test_the_notebook_s_random_state_is_left_alone(self, names):
        names["double"] = lambda x: x + x
        np.random.seed(3)
        expected = np.random.get_state()[1].copy()
        notebook.check("double")
        assert np.array_equal(np.random.get_state()[1], expected)


class TestWhatIsShown:
    """The card itself: its picture, its points, and how far the set is."""

    @pytest.fixture
    def cards(self, names, monkeypatch):
        shown = []
        monkeypatch.setattr(notebook, "_show", shown.append)
        return shown

    def test_wrong_values_are_pictured(self, names, cards):
        names["double"] = np.square
        notebook.check("double")
        assert cards[-1].picture.where == "“five numbers” (n = 5)"
        assert cards[-1].picture.wrong.all()
        assert cards[-1].points == "0 of 2 points"

    def test_right_values_are_not(self, names, cards):
        names["double"] = lambda x: x + x
        notebook.check("double")
        assert cards[-1].picture is None
        assert cards[-1].progress.states == {"double": "passed"}
        assert cards[-1].progress.points == 2.0

    def test_what_is_defined_anew_is_open_again(self, names, cards):
        names["double"] = lambda x: x + x
        notebook.check("double")
        names["double"] = lambda x: x
        assert notebook._progress(notebook._key(), names).states == {"double": "open"}

    @pytest.mark.parametrize(
        "returned", [None, "x", 3, [1, "a"], {}, np.zeros((5, 5, 5)), np.full(5, np.nan),
                     np.zeros(5, complex), np.array([1, "a"], object), [[1], [2]], object()]
    )  # fmt: skip
    def test_whatever_is_returned_has_a_card(self, names, cards, returned):
        names["double"] = lambda x: returned
        assert notebook.check("double") == 0.0
        assert "double" in cards[-1]._repr_html_()


class TestReadBack:
    @pytest.mark.parametrize(
        "question, answer, said",
        [
            ("twice", 41, "q_twice: I read this as the number 41"),
            ("twice", "41.5", "the number 41.5"),
            ("twice", None, "q_twice: no answer yet"),
            ("twice", "many", "q_twice cannot be read yet"),
            ("kind", " LINEAR ", "I read this as “linear”"),
            ("kind", "cubic", 'choose one of "linear", "quadratic"'),
            ("which", 1, "There is no question called which"),
        ],
    )
    def test_form_only(self, names, capsys, question, answer, said):
        assert notebook.read_back(question, answer) == 0.0
        out = capsys.readouterr().out
        assert said in out
        assert "right." not in out.replace("Its form is right.", "")

    @pytest.mark.parametrize(
        "source, said",
        [
            ("q_twice = 6 * 7", "cannot be read yet"),
            ("q_twice = 42", "I read this as the number 42"),
            ("print('hello')\nq_twice = 42.125", "the number 42.125"),
            ("q_twice = None", "no answer yet"),
        ],
    )
    def test_it_reads_as_grading_does(self, names, capsys, source, said):
        """By the syntax: what the kernel computed does not count."""
        names["In"] = ["", "q_twice = 1", source, "read_back('twice', q_twice)"]
        notebook.read_back("twice", 42)
        assert said in capsys.readouterr().out

    def test_right_and_wrong_answers_look_alike(self, names, capsys):
        notebook.read_back("twice", 42)
        right = capsys.readouterr().out
        notebook.read_back("twice", 43)
        assert capsys.readouterr().out == right.replace("42", "43")


class TestCard:
    def test_html_is_escaped(self):
        card = notebook.Card("<script>", ["<img src=x onerror=alert(1)>"], False)
        html = card._repr_html_()
        assert "<script>" not in html
        assert "<img" not in html
        assert "&lt;img" in html

    def test_text_carries_everything(self):
        assert repr(notebook.Card("title", ["one", "two"], True)) == "title\none\ntwo"
