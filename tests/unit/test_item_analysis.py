"""Figures on the questions of a quiz, against NumPy, mpmath, and tables worked out by hand."""

import math

import mpmath
import numpy as np
import pytest

from autograder.quiz import Option, Question
from autograder.report.item_analysis import (
    FEWEST_FOR_FLAGS,
    analyse,
    as_text,
    correlation,
    reliability,
)
from autograder.report.quantiles import beta_share, f_quantile
from autograder.result import QuestionResult, SubmissionResult


def question(name, score, *, most=1.0, outcome=None, answer=""):
    usual = "correct" if score == most else "partial" if score else "incorrect"
    return QuestionResult(
        id=name, outcome=outcome or usual, score=score, max_score=most, answer=answer
    )


def student(name, *questions, outcome="graded"):
    return SubmissionResult(
        student=str(name),
        file="x.ipynb",
        sha256="0",
        outcome=outcome,
        isolation="none",
        score=sum(each.score for each in questions) if outcome == "graded" else None,
        max_score=10.0,
        seconds=0.0,
        questions=questions,
    )


def scores(table):
    """A class by its points: a row a student."""
    names = [f"q{place}" for place in range(len(table[0]))]
    return [
        student(row, *(question(name, score) for name, score in zip(names, line, strict=True)))
        for row, line in enumerate(table)
    ]


CHOICE = Question(
    id="kind",
    type="single_choice",
    points=1.0,
    prompt="Which?",
    answer="stone",
    explanation="It is.",
    options=(Option("stone", "A"), Option("river", "B"), Option("cloud", "C")),
)

# Five students, four questions; worked out below.
BY_HAND = [[1, 1, 1, 1], [1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]


class TestByHand:
    def test_facility(self):
        found = analyse(scores(BY_HAND))
        assert [item.facility for item in found.items] == [0.8, 0.6, 0.4, 0.2]
        assert (found.students, found.left_out) == (5, 0)

    def test_alpha(self):
        """Variances 0.2, 0.3, 0.3, 0.2, sum 1; totals 4, 3, 2, 1, 0: 2.5. α = 4/3·(1 − 1/2.5)."""
        assert reliability(np.array(BY_HAND, float)).value == pytest.approx(0.8, abs=1e-12)

    def test_feldts_interval(self):
        """From tables: F(0.975; 4, 12) = 4.1212 and F(0.025; 4, 12) = 1/8.7512."""
        found = reliability(np.array(BY_HAND, float))
        assert found.low == pytest.approx(1 - 0.2 * 4.1212, abs=1e-4)
        assert found.high == pytest.approx(1 - 0.2 / 8.7512, abs=1e-4)

    def test_discrimination_of_the_first(self):
        """Points 1 1 1 1 0 against rests 3 2 1 0 0: r = 1.2 / √(0.8 · 6.8)."""
        item = analyse(scores(BY_HAND)).items[0]
        assert item.discrimination.value == pytest.approx(1.2 / math.sqrt(0.8 * 6.8), abs=1e-12)

    def test_fishers_interval(self):
        """r = 0.5 of 28 students: artanh 0.5 ± 1.95996/5, as in textbooks: 0.156 to 0.736."""
        one = np.zeros(28)
        one[:14] = 1
        rng = np.random.default_rng(3)
        noise = rng.normal(size=28)
        noise -= noise.mean()
        centred = one - 0.5
        noise -= centred * (noise @ centred) / (centred @ centred)
        other = centred / np.linalg.norm(centred) + math.sqrt(3) * noise / np.linalg.norm(noise)
        found = correlation(one, other)
        assert found.value == pytest.approx(0.5, abs=1e-12)
        assert (found.low, found.high) == pytest.approx((0.156, 0.736), abs=1e-3)


class TestAgainstNumpy:
    def test_a_class(self):
        rng = np.random.default_rng(11)
        ability = rng.normal(size=(80, 1))
        table = (ability + rng.normal(size=(80, 7)) > rng.normal(size=7)).astype(float)
        found = analyse(scores(table.tolist()))
        for place, item in enumerate(found.items):
            rest = np.delete(table, place, axis=1).sum(axis=1)
            expected = np.corrcoef(table[:, place], rest)[0, 1]
            assert item.discrimination.value == pytest.approx(expected, abs=1e-12)
            assert item.facility == pytest.approx(table[:, place].mean())
        covariance = np.cov(table, rowvar=False)
        alpha = 7 / 6 * (1 - np.trace(covariance) / covariance.sum())
        assert found.reliability.value == pytest.approx(alpha, abs=1e-12)

    def test_feldts_interval_holds_the_true_alpha_as_often_as_it_says(self):
        """2,000 classes of 40, five questions, correlated by 1/2 in pairs: the true α is 5/6."""
        rng = np.random.default_rng(5)
        held = 0
        for _ in range(2000):
            points = rng.normal(size=(40, 1)) + rng.normal(size=(40, 5))
            found = reliability(points)
            held += found.low <= 5 / 6 <= found.high
        assert 0.935 <= held / 2000 <= 0.965

    @pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (2, 3), (14.5, 130.5), (99.5, 900)])
    @pytest.mark.parametrize("x", [0.0, 0.01, 0.1, 0.3, 0.9, 1.0])
    def test_the_beta_function(self, a, b, x):
        expected = float(mpmath.betainc(a, b, 0, x, regularized=True))
        assert beta_share(x, a, b) == pytest.approx(expected, rel=1e-9, abs=1e-300)

    def test_quantiles_are_where_the_share_is_reached(self):
        for over, under in [(1, 1), (29, 261), (4999, 294_941)]:
            value = f_quantile(0.975, over, under)
            x = over * value / (over * value + under)
            assert beta_share(x, over / 2, under / 2) == pytest.approx(0.975, abs=1e-9)


class TestWhoIsCounted:
    def test_infrastructure_and_what_was_not_read_are_left_out(self):
        given = [
            *scores(BY_HAND),
            student("ours", question("q0", 0.0), outcome="infrastructure"),
            student("no file", outcome="unreadable"),
            student("open", *(question(f"q{n}", 0.0, outcome="unanswered") for n in range(4))),
        ]
        found = analyse(given)
        assert (found.students, found.left_out) == (5, 3)
        assert found.items == analyse(scores(BY_HAND)).items

    def test_another_version_of_the_quiz_is_left_out(self):
        found = analyse([*scores(BY_HAND), student("old", question("q0", 1.0))])
        assert (found.students, found.left_out) == (5, 1)

    def test_the_order_in_a_submission_does_not_count(self):
        one, two, three = scores(BY_HAND)[:3]
        turned = student("turned", *reversed(two.questions))
        assert analyse([one, turned, three]).items == analyse([one, two, three]).items

    @pytest.mark.parametrize("given", [[], scores([[0]])[:0], [student("x", outcome="crashed")]])
    def test_nobody(self, given):
        found = analyse(given)
        assert (found.students, found.items, found.reliability) == (0, (), None)
        assert "0 students answered" in as_text(found)


class TestConstantItems:
    @pytest.mark.parametrize("score", [0.0, 1.0, 0.5])
    def test_have_no_correlation(self, score):
        table = [[score, n % 2, n % 3 == 0] for n in range(40)]
        found = analyse(scores(table))
        assert found.items[0].constant
        assert found.items[0].discrimination is None
        assert "tells no one apart" in found.items[0].flags[0]
        assert found.items[1].discrimination is not None
        assert math.isfinite(found.reliability.value)

    def test_all_are_constant(self):
        found = analyse(scores([[1, 1]] * 40))
        assert found.reliability is None
        assert all(item.discrimination is None for item in found.items)
        assert "not defined" in as_text(found)

    def test_one_question(self):
        found = analyse(scores([[n % 2] for n in range(40)]))
        assert found.reliability is None
        assert found.items[0].discrimination is None

    def test_all_totals_are_the_same(self):
        found = analyse(scores([[n % 2, 1 - n % 2] for n in range(40)]))
        assert found.reliability is None
        assert found.items[0].discrimination.value == pytest.approx(-1.0)

    def test_a_question_without_points(self):
        found = analyse([student(n, question("free", 0.0, most=0.0)) for n in range(5)])
        assert found.items[0].facility == 0.0


def answers(counts, *, more=0):
    """A class that chose so; the second question tells who does well."""
    out = []
    for answer, count in counts.items():
        for n in range(count):
            right = answer == "stone"
            chosen = (
                question("kind", float(right), answer=answer)
                if answer
                else question("kind", 0.0, outcome="unanswered")
            )
            out.append(
                student(f"{answer}{n}", chosen, question("other", float(right ^ (n < more))))
            )
    return out


class TestPicks:
    def test_every_option_has_its_share(self):
        found = analyse(answers({"stone": 6, "river": 3, "": 1}), [CHOICE])
        picks = [(pick.answer, pick.count, pick.right) for pick in found.items[0].picks]
        assert picks == [("stone", 6, True), ("river", 3, False), ("cloud", 0, False)]
        assert found.items[0].picks[1].share == 0.3
        assert found.items[0].unanswered == 0.1

    def test_without_the_questions_answers_are_tallied(self):
        found = analyse(answers({"stone": 6, "river": 3, "": 1}))
        picks = [(pick.answer, pick.count, pick.right) for pick in found.items[0].picks]
        assert picks == [("stone", 6, True), ("river", 3, False)]

    def test_options_of_a_multiple_choice_count_each(self):
        many = Question(
            id="kind",
            type="multiple_choice",
            points=1.0,
            prompt="Which?",
            answer=("amber", "cedar"),
            explanation="Both.",
            options=(Option("amber", "A"), Option("birch", "B"), Option("cedar", "C")),
        )
        given = [
            student(1, question("kind", 1.0, answer="amber, cedar")),
            student(2, question("kind", 0.5, answer="cedar")),
            student(3, question("kind", 0.0, answer="birch, cedar")),
        ]
        picks = [
            (pick.answer, pick.count, pick.right) for pick in analyse(given, [many]).items[0].picks
        ]
        assert picks == [("amber", 1, True), ("birch", 1, False), ("cedar", 3, True)]


class TestFlags:
    def test_none_below_thirty_students(self):
        few = answers({"stone": 5, "river": FEWEST_FOR_FLAGS - 6}, more=99)
        found = analyse(few, [CHOICE])
        assert found.students == FEWEST_FOR_FLAGS - 1
        assert all(item.flags == () for item in found.items)
        assert "too few to call anything a fault" in as_text(found)

    def test_from_thirty_students_on(self):
        enough = answers({"stone": 5, "river": FEWEST_FOR_FLAGS - 5}, more=99)
        flags = analyse(enough, [CHOICE]).items[0].flags
        assert any("do worse here" in flag for flag in flags)
        assert "more students chose river than the right option" in flags
        assert "nobody chose cloud: it distracts no one" in flags

    def test_a_good_question_has_none(self):
        given = answers({"stone": 25, "river": 10, "cloud": 10}, more=2)
        assert analyse(given, [CHOICE]).items[0].flags == ()

    def test_answers_that_nobody_can_read(self):
        given = [
            student(
                n,
                question("kind", 0.0, outcome="unreadable" if n % 3 else None),
                question("b", n % 2),
            )
            for n in range(40)
        ]
        assert any("could not be read" in flag for flag in analyse(given).items[0].flags)


def test_the_text():
    text = as_text(analyse(answers({"stone": 25, "river": 10, "": 1}, more=2), [CHOICE]))
    assert text.splitlines()[0] == "36 students answered; 0 left out"
    assert text.splitlines()[1].startswith("reliability (Cronbach's alpha): 0.")
    assert "chosen: stone (right) 69%, river 28%, cloud 0%" in text
    assert "! nobody chose cloud" in text
