"""`autograder new`: what it writes, what it refuses, and that it says what is to be written."""

import pytest

from autograder.exercise import AuthoringError
from autograder.pack import load_pack
from autograder.scaffold import CannotBegin, exercise_text, new_exercise
from autograder.validate import validate_pack


def begin(course, target="ps7_measures/entropy", **options):
    return new_exercise(target, course=course, **options)


class TestNewExercise:
    @pytest.mark.parametrize(
        "options", [{}, {"framework": "torch"}, {"framework": "torch", "is_class": True}]
    )
    def test_the_file_loads_and_nothing_is_written_yet(self, tmp_path, options):
        begin(tmp_path, "ps7_measures/Entropy", **options)
        assert list(load_pack(tmp_path, "ps7_measures").exercises) == ["Entropy"]
        with pytest.raises(AuthoringError, match="write the reference solution"):
            validate_pack(tmp_path, "ps7_measures", "seed")

    def test_wrong_and_right_variants_are_asked_for_next(self, tmp_path):
        *_, path = begin(tmp_path)
        text = path.read_text("utf-8")
        reference = 'raise NotImplementedError("write the reference solution")'
        path.write_text(text.replace(reference, "return scores + 1"), "utf-8")
        complaints = validate_pack(tmp_path, "ps7_measures", "seed").complaints
        assert "entropy: the alternative another_way is not written yet" in complaints
        assert "entropy: the misconception first_mistake is not written yet" in complaints

    def test_a_set_is_begun_once(self, tmp_path):
        first = begin(tmp_path, "ps7_measures/entropy")
        assert [path.name for path in first] == ["__init__.py", "quiz.yaml", "entropy.py"]
        (first[0]).write_text('"""Mine."""\n', "utf-8")
        second = begin(tmp_path, "ps7_measures/perplexity")
        assert [path.name for path in second] == ["perplexity.py"]
        assert first[0].read_text("utf-8") == '"""Mine."""\n'

    def test_a_file_is_never_written_over(self, tmp_path):
        *_, path = begin(tmp_path)
        path.write_text("mine", "utf-8")
        with pytest.raises(CannotBegin, match=r"exists already; choose another name"):
            begin(tmp_path)
        assert path.read_text("utf-8") == "mine"

    @pytest.mark.parametrize(
        "target, words",
        [
            ("entropy", "is not <problem set>/<exercise>"),
            ("ps7/entropy/more", "is not <problem set>/<exercise>"),
            ("/entropy", "is not <problem set>/<exercise>"),
            ("../entropy", "a problem set is named in small letters"),
            ("PS 7/entropy", "a problem set is named in small letters"),
            ("ps7/two words", "cannot be the name of a Python function"),
            ("ps7/class", "cannot be the name of a Python function"),
            ("ps7/__init__", "is taken or private"),
        ],
    )
    def test_names_that_cannot_be(self, tmp_path, target, words):
        with pytest.raises(CannotBegin, match=words):
            begin(tmp_path, target)
        assert list(tmp_path.iterdir()) == []

    def test_options_that_cannot_be(self, tmp_path):
        with pytest.raises(CannotBegin, match="numpy or torch, not jax"):
            begin(tmp_path, framework="jax")
        with pytest.raises(CannotBegin, match="add --framework torch"):
            begin(tmp_path, is_class=True)

    def test_outside_of_a_course(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(CannotBegin, match="begin one here with --course"):
            new_exercise("ps7_measures/entropy")


def test_the_scaffold_keeps_the_line_length():
    for options in ({}, {"framework": "torch"}, {"framework": "torch", "is_class": True}):
        text = exercise_text("a_rather_long_name_of_an_exercise", **options)
        assert all(len(line) <= 120 for line in text.splitlines())
