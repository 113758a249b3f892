"""How an answer is read from its syntax, what it earns, and mistakes in quiz.yaml."""

import ast
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.exercise import AuthoringError
from autograder.quiz import (
    NotAnAnswer,
    Option,
    Question,
    Wrong,
    for_student,
    form_of,
    guessing,
    judge_answer,
    literal,
    load_quiz,
    read_answer,
)

CHOICE = Question(
    id="kind",
    type="single_choice",
    points=2.0,
    prompt="Which?",
    answer="stone",
    explanation="Stones are hard.",
    options=(
        Option("river", "A river", "Rivers flow.", "What is wet?"),
        Option("stone", "A stone"),
        Option("Big Cloud", "A cloud"),
    ),
)
NUMBER = Question(
    id="count",
    type="number",
    points=1.0,
    prompt="How many?",
    answer=144,
    explanation="It is 3 · 48.",
    absolute=0.5,
    wrong=(
        Wrong(48.0, "Forgot the mean.", "Which mean?"),
        Wrong(6.928203, "A root.", ""),
        Wrong(7.2, "B.", ""),
    ),
)


def expression(source):
    return ast.parse(source, mode="eval").body


def value(source):
    return literal(expression(source))


def judged(question, source):
    return judge_answer(question, None if source is None else expression(source))


class TestLiterals:
    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("'stone'", "stone"),
            ("'a' 'b'", "ab"),
            ("3", 3),
            ("-3", -3),
            ("+-+3.5", -3.5),
            ("1_024", 1024),
            ("0x10", 16),
            ("1e3", 1000.0),
            ("(3)", 3),
            ("None", None),
            ("...", None),
            ("''", ""),
            ("1e999", math.inf),
            ("1/8", "1/8"),
            ("-1/8.5", "-1/8.5"),
            ("-(1)/-8", "-1/-8"),
        ],
    )
    def test_are_read(self, source, expected):
        found = value(source)
        assert (found, type(found)) == (expected, type(expected))

    def test_no_expression_is_no_answer(self):
        assert literal(None) is None

    @pytest.mark.parametrize(
        "source",
        [
            "2**10**9",
            "3 * 48",
            "1/8/2",
            "1/n",
            "'1'/8",
            "f()",
            "f'{x}'",
            "f'stone'",
            "stone",
            "x.y",
            "[0][0]",
            "True",
            "-True",
            "-'stone'",
            "+None",
            "-...",
            "~3",
            "not 3",
            "3j",
            "b'stone'",
            "'a' if b else 'c'",
            "lambda: 3",
            "(x := 3)",
            "'a'.strip()",
            "[i for i in range(3)]",
            "__import__('os').system('true')",
        ],
    )
    def test_anything_else_is_refused_and_not_computed(self, source):
        with pytest.raises(NotAnAnswer) as problem:
            value(source)
        assert str(problem.value) == (
            "write the answer itself, as a number or in quotes, not an expression"
        )

    @pytest.mark.parametrize(
        ("source", "expected"),
        [
            ("12,5", [12, 5]),
            ("'stone',", ["stone"]),
            ("[[3, -1], (0.5, 'x')]", [[3, -1], [0.5, "x"]]),
            ("{3}", [3]),
            ("()", []),
            ("{'a': 'x', 'b': None}", {"a": "x", "b": None}),
        ],
    )
    def test_several_values(self, source, expected):
        assert value(source) == expected

    @pytest.mark.parametrize(
        ("source", "why"),
        [
            ("{'a': 1, 'a': 2}", "“a” stands twice; write each once"),
            ("{1: 'a'}", 'write the names in quotes: {"a": "x"}'),
            ("{**a}", 'write the names in quotes: {"a": "x"}'),
            ("[[[[[1]]]]]", "this is larger than any answer; write the answer alone"),
            (str([0] * 5000), "this is larger than any answer; write the answer alone"),
            ("[f()]", "write the answer itself, as a number or in quotes, not an expression"),
            ("-[1]", "write the answer itself, as a number or in quotes, not an expression"),
        ],
    )
    def test_several_values_that_are_no_answer(self, source, why):
        with pytest.raises(NotAnAnswer) as problem:
            value(source)
        assert str(problem.value) == why

    def test_signs_without_end(self):
        assert value("-" * 1501 + "3") == -3

    @settings(deadline=None)
    @given(st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()))
    def test_whatever_repr_writes_is_read_back(self, answer):
        source = repr(answer)
        assert value(source) == answer


class TestChoices:
    @pytest.mark.parametrize(
        "source", ["'stone'", "'STONE'", "' Stone\\n'", "'s t o n e'", "'\\u017ftone'"]
    )
    def test_neither_case_nor_space_counts(self, source):
        result = judged(CHOICE, source)
        assert (result.outcome, result.score, result.max_score) == ("correct", 2.0, 2.0)
        assert result.message == "“stone” is right."

    def test_an_option_of_several_words(self):
        assert read_answer(form_of(CHOICE), "bigcloud") == "Big Cloud"

    def test_a_wrong_one_is_explained(self):
        result = judged(CHOICE, "'River'")
        assert (result.outcome, result.score) == ("incorrect", 0.0)
        assert result.message == (
            "“river” is not right. Rivers flow. What is wet? Stones are hard."
        )
        assert judged(CHOICE, "'big cloud'").message == (
            "“Big Cloud” is not right. Stones are hard."
        )

    @pytest.mark.parametrize("source", ["'A stone'", "'x'", "3", "-1.5"])
    def test_none_of_them(self, source):
        result = judged(CHOICE, source)
        assert (result.outcome, result.score) == ("unreadable", 0.0)
        assert result.message == (
            'could not be read: choose one of "Big Cloud", "river", "stone". Stones are hard.'
        )

    @pytest.mark.parametrize("source", [None, "None", "...", "''", "'  '"])
    def test_unanswered(self, source):
        result = judged(CHOICE, source)
        assert (result.outcome, result.score) == ("unanswered", 0.0)
        assert result.message == "no answer was given. Stones are hard."


class TestNumbers:
    @pytest.mark.parametrize(
        "source", ["144", "144.0", "1.44e2", "'144'", "' 144.2 '", "143.5", "144.5", "0x90"]
    )
    def test_right(self, source):
        assert judged(NUMBER, source).outcome == "correct"

    @pytest.mark.parametrize("source", ["144.51", "143.49", "-144", "0", "1e300", "10**0"])
    def test_not_right(self, source):
        assert judged(NUMBER, source).score == 0.0

    def test_how_it_was_read(self):
        assert judged(NUMBER, "144.25").message == "“144.25” is right."
        many = judged(NUMBER, "1234567.25")
        assert many.message == "“1234567.25” is not right. It is 3 · 48."

    @pytest.mark.parametrize(
        ("source", "cause"),
        [
            ("48", "Forgot the mean. Which mean? "),
            ("48.5", "Forgot the mean. Which mean? "),
            ("6.93", "A root. "),
            ("7.1", "B. "),
            ("7.06", "A root. "),
            ("60", ""),
        ],
    )
    def test_a_known_mistake_is_named_if_it_is_the_nearest(self, source, cause):
        message = judged(NUMBER, source).message
        assert message == f"“{source}” is not right. {cause}It is 3 · 48."

    @pytest.mark.parametrize(
        ("answer", "tolerance", "given", "right"),
        [
            (0.3, {"absolute": 0.1}, 0.4, True),
            (0.3, {"absolute": 0.1}, 0.2, True),
            (0.3, {"absolute": 0.1}, 0.4000001, False),
            (200, {"relative": 0.01}, 202, True),
            (200, {"relative": 0.01}, 198, True),
            (200, {"relative": 0.01}, 202.01, False),
            (-200, {"relative": 0.01}, -198, True),
            (0, {"relative": 0.5}, 0, True),
            (0, {"relative": 0.5}, 1e-9, False),
            (0.1 + 0.2, {}, 0.3, True),
            (590_592, {}, 590_592, True),
            (590_592, {}, 590_593, False),
            (10**15, {}, 10**15 + 1, False),
            (10, {"relative": 0.01, "absolute": 1}, 11, True),
        ],
    )
    def test_edges_belong_to_it(self, answer, tolerance, given, right):
        question = Question(
            id="x", type="number", points=1, prompt="", answer=answer, explanation="", **tolerance
        )
        assert (judged(question, repr(given)).outcome == "correct") is right

    @pytest.mark.parametrize(
        ("source", "why"),
        [
            ("'1,024'", "write the number with a decimal point and no separators: 1024.5"),
            ("'1_024'", "write the number with a decimal point and no separators: 1024.5"),
            ("'12 apples'", "write one number, for example 12.5"),
            ("'0x10'", "write one number, for example 12.5"),
            ("'nan'", "write a finite number"),
            ("'inf'", "write a finite number"),
            ("-1e999", "write a finite number"),
            ("True", "write the answer itself, as a number or in quotes, not an expression"),
            ("1" + "0" * 400, "this number is too large to be meant"),
            ("-1" + "0" * 400, "this number is too large to be meant"),
        ],
    )
    def test_cannot_be_read(self, source, why):
        result = judged(NUMBER, source)
        assert (result.outcome, result.score) == ("unreadable", 0.0)
        assert result.message == f"could not be read: {why}. It is 3 · 48."

    def test_a_typographic_minus(self):
        assert read_answer(form_of(NUMBER), "−3.5") == -3.5

    @pytest.mark.parametrize("live", [np.float32(1.5), np.float64(1.5), 1.5, Fraction(3, 2)])
    def test_a_value_of_the_kernel(self, live):
        assert read_answer(form_of(NUMBER), live) == 1.5
        assert read_answer(form_of(NUMBER), np.int64(3)) == 3.0

    @pytest.mark.parametrize("live", [True, np.bool_(True), 3j, [3], np.array([1, 2]), object()])
    def test_no_number_of_the_kernel(self, live):
        with pytest.raises(NotAnAnswer):
            read_answer(form_of(NUMBER), live)

    @settings(deadline=None)
    @given(st.text())
    def test_any_text_is_read_or_refused(self, text):
        for question in (NUMBER, CHOICE):
            result = judge_answer(question, ast.Constant(text))
            assert result.outcome in ("correct", "incorrect", "unreadable", "unanswered")


YAML = """
- id: kind
  type: single_choice
  points: 2
  prompt: Which?
  options:
    - id: river
      text: A river
      misconception: Rivers flow.
      hint: What is wet?
    - id: stone
      text: A stone
  answer: stone
  explanation: Stones are hard.
- id: count
  type: number
  points: 0.5
  prompt: |
    How many?
  answer: 144
  tolerance: {absolute: 0.5, relative: 0.01}
  wrong:
    - value: 48
      misconception: Forgot the mean.
  explanation: It is 3 · 48.
"""


class TestFiles:
    def test_none(self, tmp_path):
        assert load_quiz(tmp_path) == ()

    @pytest.mark.parametrize("text", ["", "# nothing yet\n", "[]"])
    def test_empty(self, tmp_path, text):
        (tmp_path / "quiz.yaml").write_text(text, "utf-8")
        assert load_quiz(tmp_path) == ()

    def test_both_types(self, tmp_path):
        (tmp_path / "quiz.yaml").write_text(YAML, "utf-8")
        kind, count = load_quiz(tmp_path)
        assert kind == Question(
            id="kind",
            type="single_choice",
            points=2.0,
            prompt="Which?",
            answer="stone",
            explanation="Stones are hard.",
            options=(
                Option("river", "A river", "Rivers flow.", "What is wet?"),
                Option("stone", "A stone"),
            ),
        )
        assert (count.prompt, count.answer, count.points) == ("How many?", 144, 0.5)
        assert (count.absolute, count.relative) == (0.5, 0.01)
        assert count.wrong == ((48.0, "Forgot the mean.", ""),)

    def test_what_students_may_know(self):
        assert (CHOICE.variable, NUMBER.variable) == ("q_kind", "q_count")
        assert form_of(CHOICE) == {
            "type": "single_choice",
            "options": ["Big Cloud", "river", "stone"],
        }
        assert form_of(NUMBER) == {"type": "number"}

    def test_the_quiz_of_the_course_is_answered_right_by_its_answers(self):
        for folder in (Path(__file__).parents[2] / "solutions").iterdir():
            for question in load_quiz(folder):
                for student in ("s01", "s02"):
                    answer = guessing.right(for_student(question, student))
                    result = judge_answer(question, expression(repr(answer)), student)
                    assert (result.outcome, result.score) == ("correct", question.points)

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (YAML, "id: kind", ": write a list of questions, each beginning with `- id:`"),
            (YAML, "- 3", ", line 1: 3 is no map; write id, type"),
            (YAML, "- type: number", ": every question is a map with an id"),
            (YAML, "- {id: a, id", " is not YAML in UTF-8: "),
            ("id: kind", "id: a-b", ": 'a-b' cannot be part of a Python name; use snake_case"),
            ("id: kind", "id: ﬁ", ": 'ﬁ' cannot be part of a Python name; use snake_case"),
            ("id: count", "id: kind", ": two questions are called kind; rename one"),
            (
                "type: number",
                "type: numbers",
                ": question count has type 'numbers'; write one of single_choice, multiple_choice, "
                "number, shape, matrix, ordering, matching, expression",
            ),
            ("  type: number\n", "", ": question count has type None; write one of "),
            ("  points: 2\n", "", ": question kind: points is missing; add it"),
            ("points: 2", "points: two", ": question kind: points is 'two'; write a number"),
            ("points: 2", "points: yes", ": question kind: points is True; write a number"),
            (
                "points: 2",
                "points: -1",
                ": question kind: points is -1; write a finite number, at least 0",
            ),
            ("points: 2", "points: .nan", ": question kind: points is nan; write a finite "),
            ("  prompt: Which?\n", "", ": question kind: prompt is missing; add it"),
            ("Which?", "''", ": question kind: prompt is empty; write it"),
            (
                "explanation: Stones are hard.",
                "explanation: 3",
                ": question kind: explanation is 3; put it in quotes",
            ),
            (
                "tolerance:",
                "tolerence:",
                ": question count: there is no tolerence; the keys are answer, draws, equal, "
                "explanation, id, points, prompt, significant, tolerance, type, unit, where, wrong",
            ),
            (
                "answer: stone",
                "answer: rock",
                ": question kind: the answer rock is none of its options; name one by its id",
            ),
            ("answer: stone", "answer: yes", ": question kind: answer is True; put it in quotes"),
            ("id: stone", "id: no", ": question kind, options: id is False; put it in quotes"),
            ("      text: A stone\n", "", ": question kind, options: text is missing; add it"),
            (
                "id: river",
                "id: S tone",
                ": question kind: the option S tone is not the only one to be read so; rename it",
            ),
            (
                "    - id: stone\n      text: A stone\n",
                "",
                ": question kind: there are fewer than two options; add one",
            ),
            (
                "- id: river\n      text: A river\n      misconception: Rivers flow.\n"
                "      hint: What is wet?",
                "- river",
                ": question kind, options: 'river' is no map; write hint, id, misconception, text",
            ),
            ("answer: 144", "answer: '144'", ": question count: answer is '144'; write a number"),
            ("answer: 144", "answer: true", ": question count: answer is True; write a number"),
            ("answer: 144", "answer: .inf", ": question count: answer is inf; write a finite num"),
            ("answer: 144", "answer: 1" + "0" * 400, "; write a finite number"),
            (
                "{absolute: 0.5, relative: 0.01}",
                "0.5",
                ": question count, tolerance: 0.5 is no map; write absolute, relative",
            ),
            (
                "absolute: 0.5",
                "absolute: -0.5",
                ": question count, tolerance: absolute is -0.5; write a finite number, at least 0",
            ),
            ("value: 48", "value: a", ": question count, wrong: value is 'a'; write a number"),
            (
                "      misconception: Forgot the mean.\n",
                "",
                ": question count, wrong: misconception is missing; add it",
            ),
            (
                "value: 48",
                "value: 145",
                ": question count: the wrong value 145 counts as right; narrow the tolerance",
            ),
            (
                "  wrong:\n    - value: 48\n      misconception: Forgot the mean.\n",
                "  wrong: 48\n",
                ": question count: wrong is no list; write each item after a dash",
            ),
        ],
    )
    def test_a_mistake_is_named_with_its_place_and_the_fix(self, tmp_path, old, new, message):
        path = tmp_path / "quiz.yaml"
        assert old in YAML
        path.write_text(YAML.replace(old, new), "utf-8")
        with pytest.raises(AuthoringError) as problem:
            load_quiz(tmp_path)
        assert str(problem.value).startswith(str(path))
        assert message in str(problem.value)

    def test_not_utf_8(self, tmp_path):
        (tmp_path / "quiz.yaml").write_bytes(b"- id: \xe9")
        with pytest.raises(AuthoringError, match="is not YAML in UTF-8"):
            load_quiz(tmp_path)
