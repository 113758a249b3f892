"""Two misconceptions at once are looked for last: where right parts leave something to explain."""

import textwrap

import pytest

from autograder import observing
from autograder.judge import judge
from tests.unit.test_equal_answers import Sessions
from tests.unit.test_following import COMPOSED, code_of, composed

WRONG = code_of("softmax", "not_normalised")
# with mistakes of its own, and with no use for the wrong part
ALONE = """
def self_attention(X, W_q, W_k, W_v):
    return 0 * X, 0 * (X.T @ X)
"""


@pytest.fixture
def judgements(monkeypatch):
    """Of the composition: whether pairs were looked for."""
    seen = []

    def noted(spec, observations, *, with_pairs):
        if spec.name == COMPOSED:
            seen.append(with_pairs)
        return judge(spec, observations, with_pairs=with_pairs)

    monkeypatch.setattr(observing, "judge", noted)
    return seen


def test_not_before_its_parts_are_answered(judgements):
    assert composed(sessions=Sessions(), softmax=WRONG).followed_through
    assert judgements == [False, True]  # the second with right parts


def test_after_all_where_nothing_came_of_that(judgements):
    result = composed(
        textwrap.dedent(ALONE), sessions=Sessions(), softmax=WRONG, **{COMPOSED: None}
    )
    assert (result.outcome, result.followed_through) == ("failed", False)
    assert False in judgements
    assert judgements[-1] is True


def test_at_once_where_the_parts_are_right(judgements):
    mistake = code_of(COMPOSED, "not_scaled")
    assert composed(sessions=Sessions(), parts=["softmax"], **{COMPOSED: mistake}).misconceptions
    assert judgements == [True]
