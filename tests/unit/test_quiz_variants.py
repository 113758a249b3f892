"""Numbers of a student's own: the same everywhere, never degenerate, hardly ever another's."""

import ast
import json
import os
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.quiz import (
    Draws,
    for_student,
    form_of,
    guessing,
    judge_quiz,
    load_quiz,
    plain_id,
    prompt_for,
)
from tests.unit.quizzes import EVERY_TYPE, judged, quiz_in, write_quiz

CLASS = [f"s{number:04d}" for number in range(1000)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_quiz(tmp_path_factory.mktemp("variants") / "ps0")


@pytest.fixture(scope="module")
def quiz(folder):
    return {question.id: question for question in load_quiz(folder)}


@pytest.fixture(scope="module")
def drawn(quiz):
    return [question for question in quiz.values() if question.draws is not None]


class TestTheSameEverywhere:
    def test_in_two_processes_under_two_hash_seeds(self, folder, drawn):
        code = (
            "import sys, json; from pathlib import Path; from autograder.quiz import *\n"
            "print(json.dumps([[q.id, s, for_student(q, s).prompt, repr(for_student(q, s).answer)]"
            " for q in load_quiz(Path(sys.argv[1])) if q.draws for s in ('s01', '王小明')]))"
        )
        printed = [
            subprocess.run(
                [sys.executable, "-c", code, str(folder)],
                env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
                capture_output=True,
                check=True,
                encoding="utf-8",
            ).stdout
            for seed in ("1", "2")
        ]
        here = [
            [q.id, s, for_student(q, s).prompt, repr(for_student(q, s).answer)]
            for q in drawn
            for s in ("s01", "王小明")
        ]
        assert json.loads(printed[0]) == json.loads(printed[1]) == here

    def test_what_is_drawn_is_fixed(self, quiz):
        """Another draw would change what students see, who have answered already."""
        assert {s: quiz["memory"].draws.values_for("memory", s) for s in ("s01", "s02")} == {
            "s01": {"h": 16, "n": 128},
            "s02": {"h": 4, "n": 64},
        }

    def test_the_release_shows_what_is_graded(self, drawn):
        """From the form in the key, which holds neither formulas nor answers."""
        for question in drawn:
            form = json.loads(json.dumps(form_of(question)))
            for student in CLASS[:50]:
                own = for_student(question, student)
                shown = prompt_for(form, question.id, student)
                assert shown.startswith(own.prompt)
                for option in own.options:
                    assert f'- `"{option.id}"`: {option.text}' in shown

    @pytest.mark.parametrize(
        "typed",
        [
            "Ünal01",
            "ÜNAL01",
            "U\u0308nal01",
            " ünal 01\n",
            "\u200bünal01\ufeff",
            "ｕ\u0308ｎａｌ０１",
        ],
    )
    def test_how_an_id_is_typed_does_not_matter(self, quiz, typed):
        assert plain_id(typed) == "ünal01"
        draws = quiz["memory"].draws
        assert draws.values_for("memory", typed) == draws.values_for("memory", "ünal01")

    @given(st.text())
    def test_any_id_has_numbers(self, quiz, student):
        draws = quiz["split"].draws
        assert draws.values_for("split", student) in list(draws.admitted_ones)


class TestAClassOfAThousand:
    def test_no_degenerate_draw(self, drawn):
        """Sizes that are equal, or for which a mistake gives the right answer."""
        for question in drawn:
            for student in CLASS:
                own = for_student(question, student)
                assert len(set(own.values.values())) == len(own.values)
                assert all(item.value != own.answer for item in own.wrong)
                texts = [option.text for option in own.options]
                assert len(set(texts)) == len(texts)

    def test_distinct_variants(self, drawn, capsys):
        quizzes = Counter(
            tuple(q.draws.index_for(q.id, student) for q in drawn) for student in CLASS
        )
        with capsys.disabled():
            print()
            for question in drawn:
                found = Counter(question.draws.index_for(question.id, s) for s in CLASS)
                possible = question.draws.admitted.bit_count()
                print(f"{question.id}: {len(found)} of {possible} variants among 1000 students")
            share = sum(count == 1 for count in quizzes.values()) / len(CLASS)
            print(
                f"whole quiz of {len(drawn)}: {len(quizzes)} variants, {share:.0%} of the students "
                "have one to themselves"
            )
        pairs = sum(count * (count - 1) for count in quizzes.values()) / (1000 * 999)
        assert pairs < 0.002  # that a neighbour has the same whole quiz

    def test_every_variant_is_as_likely(self, drawn):
        for question in drawn:
            found = Counter(question.draws.index_for(question.id, s) for s in CLASS)
            possible = question.draws.admitted.bit_count()
            assert len(found) == possible
            expected = len(CLASS) / possible
            chi = sum((count - expected) ** 2 / expected for count in found.values())
            # the mean of chi-squared is possible - 1; five deviations above it
            assert chi < possible - 1 + 5 * (2 * (possible - 1)) ** 0.5

    def test_numbers_that_would_favour_the_first_are_passed_over(self, monkeypatch):
        """2**64 is no multiple of 3: the last number above the largest multiple is not taken."""
        monkeypatch.setattr(Draws, "_stream", lambda *_: iter([2**64 - 1, 5]))
        assert Draws({"a": (7, 8, 9)}, "c", "ps", 0b111).index_for("q", "s") == 2

    def test_questions_are_drawn_apart(self, quiz):
        draws = Draws({"a": tuple(range(10))}, "c", "ps", (1 << 10) - 1)
        same = sum(draws.index_for("one", s) == draws.index_for("two", s) for s in CLASS)
        assert 50 < same < 150


def answers(question, student):
    return repr(guessing.right(for_student(question, student)))


def judge(questions, student, **written):
    nodes = {name: ast.parse(source, mode="eval").body for name, source in written.items()}
    return judge_quiz(questions, nodes.get, student)


class TestWhoseNumbersCount:
    @pytest.fixture
    def question(self, quiz):
        return quiz["memory"]

    def test_the_roster_s(self, question):
        source = answers(question, "s01")
        [result], said = judge([question], "s01", q_memory=source, student_id="'s01'")
        assert (result.outcome, result.score, said) == ("correct", 1.0, ())

    @pytest.mark.parametrize("typed", ["'S01'", "' s01 '", "'ｓ０１'"])
    def test_an_id_typed_in_another_way(self, question, typed):
        source = answers(question, "s01")
        [result], said = judge([question], "s01", q_memory=source, student_id=typed)
        assert (result.outcome, said) == ("correct", ())

    def test_an_id_that_is_a_number(self, question):
        source = answers(question, "20240001")
        [result], said = judge([question], "20240001", q_memory=source, student_id="20240001")
        assert (result.outcome, said) == ("correct", ())

    def test_another_s_id_and_answer(self, question):
        source = answers(question, "s02")
        [result], said = judge([question], "s01", q_memory=source, student_id="'s02'")
        assert (result.outcome, result.score) == ("unreadable", 0.0)
        assert result.message.startswith(
            f"“{source}” goes with the numbers of student_id “s02”, which is not yours. "
            "Your numbers were h = 16 and n = 128."
        )
        assert said == (
            "student_id says “s02”, and this submission is s01's: questions with numbers of one's "
            "own were graded with those of s01",
        )

    def test_right_all_the_same(self, question):
        source = answers(question, "s01")
        [result], said = judge([question], "s01", q_memory=source, student_id="'s02'")
        assert result.outcome == "correct"
        assert len(said) == 1

    @pytest.mark.parametrize("student_id", [{}, {"student_id": "''"}, {"student_id": "f()"}])
    def test_an_empty_id(self, question, student_id):
        source = answers(question, "s01")
        [result], [said] = judge([question], "s01", q_memory=source, **student_id)
        assert result.outcome == "correct"
        assert said.startswith("student_id was left empty, and this submission is s01's: ")
        [result], _ = judge([question], "s01", q_memory="3", **student_id)
        assert result.outcome == "incorrect"

    def test_nothing_is_said_where_nothing_was_answered(self, question):
        assert judge([question], "s01", student_id="'s02'")[1] == ()

    def test_nor_where_no_question_has_numbers_of_ones_own(self, quiz):
        results, said = judge([quiz["axis"]], "s01", q_axis="'cedar'", student_id="'s02'")
        assert (results[0].outcome, said) == ("correct", ())


def test_equal_draws_are_left_out_unless_asked_for(tmp_path):
    assert "h: [2, 4, 8, 16], n: [2, 64" in EVERY_TYPE
    memory = quiz_in(tmp_path / "a")["memory"].draws
    assert {"h": 2, "n": 2} not in list(memory.admitted_ones)
    text = EVERY_TYPE.replace('where: ["n > h"]', 'where: ["n >= h"]\n  equal: true')
    assert {"h": 2, "n": 2} in list(quiz_in(tmp_path / "b", text)["memory"].draws.admitted_ones)


def test_a_template_is_judged_for_its_student(quiz):
    assert judged(quiz["width"], "'oak'", "s01").outcome == "correct"
