"""What is counted of the course, and that README does not promise more."""

import re
from pathlib import Path

from autograder.pack import assignments_of
from benchmarks import counts

COURSE = Path(__file__).parents[2]


def test_all_sets_and_what_they_are_together(capsys):
    assert counts.main([]) == 0
    rows = {
        words[0]: list(map(int, words[1:]))
        for line in capsys.readouterr().out.splitlines()
        if (words := line.split()) and words[-1].isdigit()
    }
    assert list(rows) == [*assignments_of(COURSE), "all"]
    every = rows.pop("all")
    assert [sum(column) for column in zip(*rows.values(), strict=True)][:-1] == every[:-1]
    assert every[-1] == len(counts.FACTS)


def test_what_was_promised_and_what_readme_says():
    found = counts.total([counts.count(name) for name in assignments_of(COURSE)])
    assert found.exercises == 42
    assert found.misconceptions >= 190 and found.alternatives >= 90
    text = " ".join((COURSE / "README.md").read_text("utf-8").split())
    said = re.search(
        r"In all: (\d+) exercises, (\d+) questions, more than (\d+) cases, (\d+) misconceptions "
        r"and (\d+) alternatives, and (\d+) facts",
        text,
    )
    exercises, questions, cases, misconceptions, alternatives, facts = map(int, said.groups())
    assert (exercises, questions, facts) == (found.exercises, found.questions, found.facts)
    for stated, real in (
        (cases, found.cases),
        (misconceptions, found.misconceptions),
        (alternatives, found.alternatives),
    ):
        assert 0.9 * real <= stated < real
