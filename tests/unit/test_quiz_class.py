"""A class of 60 answers a quiz with a question of every type; scores are worked out by hand.

Twelve kinds of students, five of each. Points: axis 1, facts 2, memory 1, ratio 1, split 1,
mask 1, steps 2, roles 3, cost 1, width 1; 14 in all.
"""

import itertools
import json
import random
import statistics

import pytest

from autograder.grading import Assignment, grade_submission
from autograder.quiz import KINDS as TYPES
from autograder.quiz import for_student, guessing
from tests.unit.courses import NAME, make_course
from tests.unit.quizzes import judged, write_quiz


def right(own):
    return repr(guessing.right(own))


KINDS = {
    "right": right,
    "blank": lambda own: "None",
    "empty": lambda own: "'  '",
    # every option of a choice; elsewhere nothing
    "select_all": lambda own: repr(", ".join(option.id for option in own.shown_options)),
}
KINDS["wrong"] = lambda own: {
    "axis": "'amber'",                          # 0
    "facts": "'birch'",                         # 0: 0/2 - 1/2, floor
    "memory": str(own.wrong[0].value) if own.wrong else "",
    "ratio": "3",
    "split": "(2, 6, 4)",
    "mask": "[[0.5, 0.5], [0, 1]]",
    "steps": "'birch, maple, cloud, stone, river'",
    "roles": "'one-fig, two-kiwi, three-date, four-plum'",
    "cost": "'n**2 * d_k'",
    "width": "'elm'",
}[own.id]  # fmt: skip
KINDS["partly"] = lambda own: {
    "axis": "'cedar'",                                       # 1
    "facts": "'cedar, amber, birch'",                        # 2 · (2/2 - 1/2) = 1
    "memory": right(own),                                    # 1
    "ratio": "0.33",                                         # 0
    "split": "(2, 2)",                                       # 0
    "mask": "[[1, 0], [0.5, 0.505]]",                        # 1
    "steps": "'stone, river, cloud, maple, birch'",          # 2 · (1 - 2·1/4) = 1
    "roles": "'one-kiwi, two-fig, three-date, four-plum'",   # 3 · (2 - 1)/(4 - 1) = 1
    "cost": "'n'",                                           # 0
    "width": "'ash'",                                        # 0
}[own.id]  # fmt: skip
KINDS["input_method"] = lambda own: {
    "axis": "'ＣＥＤＡＲ'",
    "facts": "'ｃｅｄａｒ、ａｍｂｅｒ'",
    "memory": repr("".join(chr(ord(d) + 0xFEE0) for d in str(own.answer))),
    "ratio": "'０．３３３'",
    "split": repr(f"（{'，'.join(map(str, own.answer))}）") if own.type == "shape" else "",
    "mask": "'［［1，0］，［0.5，0.5］］'",
    "steps": "'river、stone、cloud、maple、birch'",
    "roles": "'one：kiwi；two：fig；three：plum；four：date'",
    "cost": "'２n²×d_k'",
    "width": "'\\u200boak'",
}[own.id]  # fmt: skip
KINDS["decimal_commas"] = lambda own: {
    "memory": repr(f"{own.answer:,}") if own.id == "memory" else "",   # unreadable
    "ratio": "'0,333'",                                                 # unreadable
    "mask": "'[[1,0; 0,0]; [0,5; 0,5]]'",                               # unreadable
}.get(own.id, right(own))  # fmt: skip
KINDS["malformed"] = lambda own: {
    "axis": "'nonsense'",
    "facts": "'cedar; __import__(\"os\")'",
    "memory": "float('inf')",
    "ratio": "'nan'",
    "split": "'2, 6, h'",
    "mask": "[[1, 0], [0.5]]",
    "steps": "'river, river'",
    "roles": "'one'",
    "cost": "'exp(exp(exp(1000)))'",
    "width": "['oak', 'elm']",
}[own.id]  # fmt: skip
KINDS["injected"] = lambda own: "__import__('os').system('true')"
KINDS["other_s_numbers"] = right  # of the next student, whose id stands in the notebook
KINDS["by_list"] = lambda own: {
    "facts": "{'amber', 'cedar'}",
    "steps": "['river', 'stone', 'cloud', 'maple', 'birch']",
    "roles": "{'one': 'kiwi', 'two': 'fig', 'three': 'plum', 'four': 'date'}",
    "mask": "((1, 0), (0.5, 0.5))",
}.get(own.id, right(own))  # fmt: skip

# By hand: kind → points of axis, facts, memory, ratio, split, mask, steps, roles, cost, width.
TABLE = {
    "right":           (1, 2, 1, 1, 1, 1, 2, 3, 1, 1),
    "blank":           (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "empty":           (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "select_all":      (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "wrong":           (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "partly":          (1, 1, 1, 0, 0, 1, 1, 1, 0, 0),
    "input_method":    (1, 2, 1, 1, 1, 1, 2, 3, 1, 1),
    "decimal_commas":  (1, 2, 0, 0, 1, 0, 2, 3, 1, 1),
    "malformed":       (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "injected":        (0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "other_s_numbers": (1, 2, 0, 1, 0, 1, 2, 3, 1, 1),
    "by_list":         (1, 2, 1, 1, 1, 1, 2, 3, 1, 1),
}  # fmt: skip
OUTCOMES = {
    "right": {"correct"},
    "blank": {"unanswered"},
    "empty": {"unanswered"},
    "malformed": {"unreadable"},
    "injected": {"unreadable"},
    "wrong": {"incorrect"},
}


@pytest.fixture(scope="module")
def assignment(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("class"))
    write_quiz(course / "solutions" / NAME)
    return Assignment.draw(course, NAME, "seed")


@pytest.fixture(scope="module")
def results(assignment, tmp_path_factory):
    """Student → result; every second one handed in a notebook, the others a module."""
    submitted = tmp_path_factory.mktemp("submitted")
    students = [f"{kind}{number}" for kind in KINDS for number in range(5)]
    found = {}
    for number, student in enumerate(students):
        kind = student[:-1]
        whose = other_than(assignment, student) if kind == "other_s_numbers" else student
        lines = [f"student_id = {whose!r}"] + [
            f"{question.variable} = {KINDS[kind](for_student(question, whose))}"
            for question in assignment.questions
        ]
        folder = submitted / student / NAME
        folder.mkdir(parents=True)
        if number % 2:
            (folder / f"{NAME}.py").write_text("\n".join(lines) + "\n", "utf-8")
        else:
            cells = [
                {"cell_type": "code", "metadata": {}, "source": line, "outputs": []}
                for line in lines
            ]
            book = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})
            (folder / f"{NAME}.ipynb").write_text(book, "utf-8")
        found[student] = grade_submission(assignment, student, folder, nothing_runs, "strong")
    return found


def nothing_runs(**_):
    raise AssertionError("an answer was about to be executed")


def other_than(assignment, student):
    """A student whose numbers give other answers."""
    drawn = [q for q in assignment.questions if q.type in ("number", "shape") and q.draws]
    for other in (f"o{number}" for number in itertools.count()):
        if all(for_student(q, other).answer != for_student(q, student).answer for q in drawn):
            return other
    raise AssertionError


def test_the_class_is_whole(results):
    assert len(results) == 60
    assert all(result.outcome == "graded" for result in results.values())


@pytest.mark.parametrize("kind", list(KINDS))
def test_scores_are_those_of_the_table(results, kind):
    for number in range(5):
        result = results[f"{kind}{number}"]
        got = tuple(question.score for question in result.questions)
        assert got == TABLE[kind], [question.message for question in result.questions]
        assert result.score == sum(TABLE[kind])
        assert [question.max_score for question in result.questions] == [
            1,
            2,
            1,
            1,
            1,
            1,
            2,
            3,
            1,
            1,
        ]
        if kind in OUTCOMES:
            assert {question.outcome for question in result.questions} == OUTCOMES[kind]


def test_another_s_numbers_are_said_to_be_another_s(results):
    result = results["other_s_numbers0"]
    outcomes = {question.id: question.outcome for question in result.questions}
    assert (outcomes["memory"], outcomes["split"]) == ("unreadable", "unreadable")
    assert any("student_id says" in message for message in result.messages)


GUESSES = 400


def test_what_a_guesser_earns(assignment, capsys):
    """The share of the points, by type, over many guesses and variants."""
    rng = random.Random(1)
    shares = {}
    for question in assignment.questions:
        for number in range(GUESSES):
            own = for_student(question, f"g{number % 20}")
            result = judged(own, repr(guessing.guess(own, rng)))
            assert result.outcome != "unreadable", result.message
            shares.setdefault(question.type, []).append(result.score / question.points)
    means = {kind: statistics.fmean(found) for kind, found in shares.items()}
    with capsys.disabled():
        print("\nmean share of the points that a guesser earns, by type:")
        for kind, mean in means.items():
            print(f"  {kind}: {mean:.3f}")
    assert set(means) == set(TYPES)
    # exactly 4.5/127, see below: a floor at 0 leaves the lucky ones their points
    assert means["multiple_choice"] == pytest.approx(0.035, abs=0.03)
    assert means["ordering"] < 0.15 and means["matching"] < 0.2
    for kind in ("number", "shape", "matrix", "expression"):
        assert means[kind] < 0.05, kind


@pytest.mark.parametrize(
    ("right", "wrong", "share"),
    [
        # by hand, over the sets that earn something
        (1, 3, 1 / 15),              # the right one alone
        (2, 2, (1 + 2 * 0.5 + 2 * 0.5) / 15),  # both; one of them; both and one wrong one
        (2, 5, (1 + 2 * 0.5 + 5 * 0.5) / 127),
        (3, 5, (1 + 3 * 2 / 3 + 3 * 1 / 3 + 5 * 2 / 3 + 3 * 5 / 3 + 10 / 3) / 255),
    ],
)  # fmt: skip
def test_what_any_set_of_options_earns(right, wrong, share):
    assert guessing.share_of_any_set(right, wrong) == pytest.approx(share)


def test_any_set_of_options_by_judging_each(assignment):
    facts = next(q for q in assignment.questions if q.type == "multiple_choice")
    ids = [option.id for option in facts.options]
    scores = [
        judged(facts, repr(", ".join(part))).score / facts.points
        for size in range(1, len(ids) + 1)
        for part in itertools.combinations(ids, size)
    ]
    exact = guessing.share_of_any_set(len(facts.answer), len(ids) - len(facts.answer))
    assert statistics.fmean(scores) == pytest.approx(exact) == pytest.approx(4.5 / 127)
