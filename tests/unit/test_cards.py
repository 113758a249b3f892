"""What a card says: the text carries everything, and nothing in the HTML runs."""

import msgspec
import numpy as np
import pytest

from autograder.cards import Card, Progress, card_for
from autograder.picture import Picture
from autograder.result import CheckResult, ExerciseResult

PICTURE = Picture(
    "“a case”", np.ones((2, 2)), np.zeros((2, 2)), np.ones((2, 2), bool), "keys", "queries"
)
PROGRESS = Progress({"softmax": "failed", "project": "passed", "attend": "open"}, 2.0, 9.0)
FAILED = ExerciseResult(
    name="softmax",
    outcome="failed",
    score=0.0,
    max_score=4.0,
    misconceptions=("over_queries",),
    checks=(
        CheckResult(name="runs", outcome="passed"),
        CheckResult(name="sums to 1", outcome="failed", message="no"),
        CheckResult(name="values", outcome="skipped"),
    ),
    feedback="softmax: wrong values in “a case”\n  At [0, 0].\n"
    "  Likely cause: <b>.\n  Next: look there.",
)


class TestText:
    def test_of_a_failed_exercise(self):
        assert repr(card_for(FAILED, PICTURE, PROGRESS)) == (
            "✗ softmax: wrong values in “a case”\n"
            "  At [0, 0].\n"
            "  Likely cause: <b>.\n"
            "  Next: look there.\n"
            "  What holds: runs.\n"
            "  0 of 4 points.\n"
            "  The set: 1 of 3 exercises pass, 2 of 9 points."
        )

    def test_html_says_the_same(self):
        html = card_for(FAILED, PICTURE, PROGRESS)._repr_html_()
        said = ("✗ softmax", "At [0, 0].", "Likely cause", "Look there.", "✓ runs")
        told = ("✗ sums to 1", "0 of 4 points", "1 of 3 exercises pass", "project passed")
        for text in (*said, *told):
            assert text in html
        assert html.count("<svg") == 3


class TestEscaping:
    @pytest.mark.parametrize(
        "evil", ["<script>x</script>", "<img src=x onerror=x>", "<i>", "'\"><"]
    )
    def test_everywhere(self, evil):
        progress = Progress({evil: "open"}, 0.0, 1.0)
        card = Card(evil, [evil, f"  Next: {evil}"], False, points=evil, progress=progress)
        html = card._repr_html_()
        assert evil not in html
        assert "<script" not in html and "<img" not in html

    def test_names_of_checks_and_places(self):
        evil = "<img src=x>"
        marks = (CheckResult(name=evil, outcome="failed", message=""),)
        result = ExerciseResult(
            name="f", outcome="failed", score=0.0, max_score=1.0, checks=marks, feedback=evil
        )
        picture = Picture(evil, PICTURE.got, PICTURE.expected, PICTURE.wrong, evil, evil)
        assert "<img" not in card_for(result, picture)._repr_html_()


def test_a_small_case_and_a_place_have_labels_of_their_own():
    feedback = (
        "softmax: wrong values\n  Smallest case: For x = [1], expected [2], got [<b>].\n"
        "  Likely place: Line 3 of cell 2, `w = e`.\n  Next: Which axis?"
    )
    result = msgspec.structs.replace(FAILED, feedback=feedback)
    card = card_for(result)
    assert "<b>Smallest case</b> For x = [1], expected [2], got [&lt;b&gt;]." in card._repr_html_()
    assert "<b>Likely place</b> Line 3 of cell 2, `w = e`." in card._repr_html_()
    assert "  Smallest case: For x = [1]" in repr(card)
