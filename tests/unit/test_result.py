"""The result document: written and read, with no number in it that JSON does not have."""

import json
import math

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.result import (
    SCHEMA,
    CheckResult,
    ExerciseResult,
    QuestionResult,
    ResultDocument,
    SubmissionResult,
    Version,
    decode,
    encode,
    total,
)

EXERCISE = ExerciseResult(
    name="softmax",
    outcome="failed",
    score=1.5,
    max_score=4.0,
    misconceptions=("over_queries",),
    checks=(CheckResult(name="runs", outcome="passed"),),
    feedback="two\nlines — ß",
)
OURS = ExerciseResult(name="attend", outcome="infrastructure", score=None, max_score=2.0)
QUESTION = QuestionResult(id="variance", outcome="correct", score=1.0, max_score=1.0)


def document(**changes):
    fields = {
        "student": "s 01 你好",
        "file": "ps1.ipynb",
        "sha256": "0" * 64,
        "outcome": "graded",
        "isolation": "strong",
        "score": 2.5,
        "max_score": 7.0,
        "seconds": 0.25,
        "exercises": (EXERCISE, OURS),
        "questions": (QUESTION,),
        "messages": ("a message",),
    }
    submission = SubmissionResult(**{**fields, **changes})
    return ResultDocument(
        assignment="ps1",
        seed="7",
        isolation="strong",
        version=Version(package="0.1.0", exercises={"softmax": "abc"}),
        submissions=(submission,),
    )


def test_there_and_back():
    assert decode(encode(document())) == document()


def test_the_keys_and_their_order():
    plain = json.loads(encode(document()))
    assert list(plain) == ["schema", "assignment", "seed", "isolation", "version", "submissions"]
    assert plain["schema"] == SCHEMA == 1
    (submission,) = plain["submissions"]
    assert list(submission) == [
        "student", "file", "sha256", "outcome", "isolation", "score", "max_score", "seconds",
        "exercises", "questions", "messages",
    ]  # fmt: skip
    assert list(submission["exercises"][0]) == [
        "name", "outcome", "score", "max_score", "followed_through", "misconceptions", "checks",
        "feedback",
    ]  # fmt: skip
    assert list(submission["questions"][0]) == [
        "id", "outcome", "score", "max_score", "message", "answer",
    ]  # fmt: skip


def test_a_score_that_is_not_known_is_null():
    (submission,) = json.loads(encode(document(score=None, outcome="infrastructure")))[
        "submissions"
    ]
    assert submission["score"] is None
    assert submission["exercises"][1]["score"] is None


def test_there_is_no_nan_in_it():
    def refuse(name):
        raise AssertionError(name)

    for value in (math.nan, math.inf):
        json.loads(encode(document(seconds=value)), parse_constant=refuse)


def test_text_is_utf8_and_ends_with_a_line():
    data = encode(document())
    assert data.endswith(b"}\n")
    assert "ß" in data.decode("utf-8")


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b'{"schema": 1}', b"\xff"])
def test_what_is_no_document(data):
    with pytest.raises((msgspec.ValidationError, msgspec.DecodeError)):
        decode(data)


def test_results_by_name():
    submission = document().submissions[0]
    assert submission.exercise("attend") is submission.exercises[1]
    with pytest.raises(KeyError):
        submission.exercise("nothing")


class TestTotal:
    def test_an_unknown_score_makes_the_sum_unknown(self):
        assert total([EXERCISE, QUESTION]) == 2.5
        assert total([EXERCISE, OURS, QUESTION]) is None
        assert total([]) == 0.0

    def test_it_is_rounded_once(self):
        tenths = [
            QuestionResult(id=str(i), outcome="partial", score=0.1, max_score=1.0)
            for i in range(10)
        ]
        assert total(tenths) == 1.0
        thirds = [
            QuestionResult(id=str(i), outcome="partial", score=1 / 3, max_score=1.0)
            for i in range(3)
        ]
        assert total(thirds) == 1.0

    @settings(deadline=None)
    @given(st.lists(st.floats(0, 100)), st.randoms())
    def test_the_order_does_not_matter(self, scores, random):
        results = [
            QuestionResult(id="q", outcome="partial", score=score, max_score=100.0)
            for score in scores
        ]
        before = total(results)
        random.shuffle(results)
        assert total(results) == before
