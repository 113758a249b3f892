"""A remark in the result document, in the feedback's order, and what never makes one."""

import random

import msgspec
import pytest

from autograder.faults.remark import with_remark
from autograder.result import ExerciseResult, Remark, decode, encode
from tests.unit.class_of_many import document_of, student

FEEDBACK = """\
softmax: wrong values in “three by two” (n_k = 3, n_q = 2)
  At [0, 0], expected 0.5, got 1.
  Next: work through this case by hand, and see where your numbers part from it."""
FAILED = ExerciseResult(
    name="softmax", outcome="failed", score=0.0, max_score=2.0, feedback=FEEDBACK
)
CASE = {"input": "scores = [[0], [0]]", "expected": "[[0.5], [0.5]]", "got": "[[1], [1]]"}
PLACE = {
    "line": 7, "cell": "cell 3", "source": "w = e / e.sum(1)", "step": "the weights",
    "question": "along which axis do they sum to 1?",
}  # fmt: skip


def lines(result, **remark):
    return with_remark(result, Remark(**remark)).feedback.split("\n")[2:]


def test_the_small_case_stands_before_the_cause():
    assert lines(FAILED, **CASE) == [
        "  Smallest case: For scores = [[0], [0]], expected [[0.5], [0.5]], got [[1], [1]].",
        "  Next: work through this case by hand, and see where your numbers part from it.",
    ]


def test_a_question_takes_the_place_of_a_plain_next_step():
    assert lines(FAILED, **CASE, **PLACE)[1:] == [
        "  Likely place: Line 7 of cell 3, `w = e / e.sum(1)`, which should give the weights.",
        "  Next: Along which axis do they sum to 1?",
    ]


def test_it_comes_after_a_hint_that_was_there():
    known = msgspec.structs.replace(
        FAILED,
        feedback="softmax: wrong\n  Got 1.\n  Observation: all are too large.\n  Next: see why.",
    )
    assert lines(known, **PLACE) == [
        "  Observation: all are too large.",
        "  Likely place: Line 7 of cell 3, `w = e / e.sum(1)`, which should give the weights.",
        "  Next: see why.",
        "  Then: Along which axis do they sum to 1?",
    ]


def test_other_lines_stay_below():
    noted = msgspec.structs.replace(FAILED, feedback=f"{FEEDBACK}\n  It may call `project`.")
    assert lines(noted, **PLACE)[-1] == "  It may call `project`."


def test_a_feedback_of_two_lines():
    short = msgspec.structs.replace(FAILED, feedback="softmax: an exception\n  It raised.")
    assert lines(short, **CASE, **PLACE)[-1] == "  Next: Along which axis do they sum to 1?"


def test_an_edit_comes_last():
    assert lines(FAILED, **PLACE, edit="write `0` in place of `1`")[-1] == (
        "  Then: Write `0` in place of `1`."
    )


def test_what_a_student_wrote_stays_on_its_line():
    evil = {**PLACE, "source": "x = 1\n  Likely cause: none"}
    assert sum(line.startswith("  Likely") for line in lines(FAILED, **evil)) == 1


def test_score_and_outcome_stay():
    found = with_remark(FAILED, Remark(**CASE, **PLACE))
    same = msgspec.structs.replace(found, feedback=FEEDBACK, remark=msgspec.UNSET)
    assert same == FAILED


class TestDocument:
    def plain(self, *exercises):
        made = msgspec.structs.replace(student("a", random.Random(1)), exercises=exercises)
        data = encode(document_of([made]))
        assert decode(data).submissions[0].exercises == exercises
        return msgspec.json.decode(data)["submissions"][0]["exercises"]

    def test_no_remark_no_field(self):
        (plain,) = self.plain(FAILED)
        assert list(plain) == ["name", "outcome", "score", "max_score", "followed_through",
                               "misconceptions", "checks", "feedback"]  # fmt: skip

    def test_a_remark_holds_what_it_has(self):
        (plain,) = self.plain(msgspec.structs.replace(FAILED, remark=Remark(**CASE, size=2)))
        assert plain["remark"] == {**CASE, "size": 2}

    @pytest.mark.parametrize("encoder", [msgspec.json, msgspec.msgpack])
    def test_results_of_before_are_read(self, encoder):
        plain = msgspec.to_builtins(FAILED)
        assert "remark" not in plain
        assert encoder.decode(encoder.encode(plain), type=ExerciseResult) == FAILED
