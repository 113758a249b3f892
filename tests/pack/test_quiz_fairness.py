"""Nothing but knowing leads to the right answer: not length, not place, not the name of an option.

And what the course promises of its quizzes: how many questions, of which types, each explained.
"""

import random
import re
from collections import Counter, defaultdict
from statistics import fmean

import pytest

from autograder.pack import assignments_of
from autograder.quiz import load_quiz
from autograder.quiz.guessing import guess, share_of_any_set
from tests.pack.quiz_numbers import COURSE
from tests.unit.quizzes import judged

SETS = {name: load_quiz(COURSE / "solutions" / name) for name in assignments_of(COURSE)}
ALL = [(name, question) for name, questions in SETS.items() for question in questions]
SINGLE = [question for _, question in ALL if question.type == "single_choice"]
TYPES = {
    "single_choice", "multiple_choice", "number", "shape", "matrix", "ordering", "matching",
    "expression",
}  # fmt: skip

each = pytest.mark.parametrize(
    ("name", "question"), ALL, ids=[f"{name[:3]}-{question.id}" for name, question in ALL]
)


def shown(question):
    """Its options in the order in which students see them, spaces as on a page."""
    return [(option.id, " ".join(option.text.split())) for option in question.shown_options]


# --- how much there is -----------------------------------------------------------------------


def test_how_many_questions_there_are():
    assert min(map(len, SETS.values())) >= 8
    assert len(ALL) >= 60
    assert sum(question.draws is not None for _, question in ALL) >= 20


def test_every_type_is_there_and_every_set_is_mixed():
    assert {question.type for _, question in ALL} == TYPES
    for name, questions in SETS.items():
        found = Counter(question.type for question in questions)
        assert len(found) >= 5, name
        assert max(found.values()) <= 0.6 * len(questions), name
        assert sum(question.draws is not None for question in questions) >= 3, name


# --- every question teaches ------------------------------------------------------------------


@each
def test_it_explains_itself_and_every_mistake(name, question):
    assert len(question.explanation.split()) >= 12
    notes = [(item.misconception, item.hint) for item in question.wrong]
    if question.type in ("single_choice", "multiple_choice"):
        right = {question.answer} if isinstance(question.answer, str) else set(question.answer)
        notes += [(o.misconception, o.hint) for o in question.options if o.id not in right]
        assert all(not o.misconception and not o.hint for o in question.options if o.id in right)
    assert len(notes) >= 2
    for misconception, hint in notes:
        assert misconception.endswith((".", "?")) and hint.endswith((".", "?")), misconception


@each
def test_its_mistakes_are_told_apart(name, question):
    notes = [o.misconception for o in question.options if o.misconception]
    notes += [item.misconception for item in question.wrong]
    assert len(set(notes)) == len(notes)


# --- no way around knowing -------------------------------------------------------------------


def test_the_right_option_is_not_the_longest_nor_the_shortest():
    """No more often than a guess among the options would be right."""
    by_chance = sum(1 / len(question.options) for question in SINGLE)
    longest = shortest = 0
    for question in SINGLE:
        lengths = {key: len(text) for key, text in shown(question)}
        own = lengths.pop(question.answer)
        longest += own > max(lengths.values())
        shortest += own < min(lengths.values())
    assert max(longest, shortest) <= by_chance, (longest, shortest)


def test_no_right_option_stands_out_by_its_length():
    for question in SINGLE:
        lengths = {key: len(text) for key, text in shown(question)}
        own = lengths.pop(question.answer)
        assert own <= 1.8 * max(lengths.values()), question.id


def test_places_of_right_options_are_spread():
    places = Counter()
    for question in SINGLE:
        keys = [key for key, _ in shown(question)]
        places[keys.index(question.answer)] += 1
    assert all(0.1 < places[place] / len(SINGLE) < 0.4 for place in range(4)), places


def test_how_many_are_right_of_several_varies():
    counts = {
        len(question.answer) / len(question.options)
        for _, question in ALL
        if question.type == "multiple_choice"
    }
    assert len(counts) >= 3


def test_guessing_earns_next_to_nothing_of_several(capsys):
    """What a random set of options earns on average, exactly; of other types by 200 guesses."""
    shares = {}
    for _, question in ALL:
        if question.type == "multiple_choice":
            right = len(question.answer)
            shares[question.id] = share_of_any_set(right, len(question.options) - right)
    rng, others = random.Random(1), defaultdict(list)
    for _, question in ALL:
        if question.type in ("single_choice", "ordering", "matching"):
            others[question.type] += [
                judged(question, repr(guess(question, rng)), f"g{number}").score / question.points
                for number in range(200)
            ]
    with capsys.disabled():
        print("\nmean share of the points of the course's questions that a guesser earns, by type:")
        each = ", ".join(f"{name} {share:.3f}" for name, share in shares.items())
        print(f"  multiple_choice: {fmean(shares.values()):.3f} ({each})")
        for kind, found in others.items():
            print(f"  {kind}: {fmean(found):.3f}")
    assert max(shares.values()) < 0.065
    assert fmean(shares.values()) < 0.055


@each
def test_ids_of_options_say_nothing(name, question):
    """A plain word each, which neither the question nor any option uses."""
    options = [*question.options, *question.right]
    words = " ".join([question.prompt, *(option.text for option in options)]).casefold()
    for option in options:
        assert re.fullmatch(r"[a-z]{3,8}", option.id), option.id
        assert not re.search(rf"\b{option.id}\b", words), option.id
        assert option.id not in ("right", "wrong", "true", "false", "yes", "all", "none", "both")


def test_an_id_is_not_always_right():
    """Whoever has seen one quiz learns nothing about the next from a name that comes again."""
    right, wrong = set(), set()
    for question in SINGLE:
        right.add(question.answer)
        wrong |= {option.id for option in question.options} - {question.answer}
    again = Counter(question.answer for question in SINGLE)
    assert all(count == 1 or key in wrong for key, count in again.items())
