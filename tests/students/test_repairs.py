"""Repair search over the corpus: what repairs is right afresh, what is right has no remark."""

import sys

import pytest

from benchmarks import faults
from tests.students.grading import ASSIGNMENTS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")

REPAIRED, RIGHT_PLACE = 0.60, 0.95


def test_a_few_of_the_first_set(capsys):
    figures = faults.measure(["ps1"], every=60, fresh=200)
    faults.show(figures)
    assert "held out" in capsys.readouterr().out
    assert sum(one.repaired for one in figures.found) >= 1
    assert not any(one.failed_afresh for one in figures.found)
    assert figures.right and not figures.remarked


@pytest.mark.soak
def test_the_whole_corpus(capsys):
    figures = faults.measure(list(ASSIGNMENTS), fresh=200)
    with capsys.disabled():
        faults.show(figures)
    assert not figures.remarked
    assert not [one.work.title for one in figures.found if one.failed_afresh]
    for group in (faults.HELD_OUT, faults.LOOKED_AT):
        some = figures.of(group)
        said = [one.said for one in some if one.said is not None]
        assert sum(one.repaired for one in some) / len(some) >= REPAIRED
        assert sum(said) / len(said) >= RIGHT_PLACE
