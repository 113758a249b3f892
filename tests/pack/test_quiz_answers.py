"""Every number that counts as an answer, and what mistakes give, computed again: for every draw."""

import itertools
import re

import numpy as np
import pytest

from autograder.quiz.parameterised import concrete
from tests.pack.quiz_numbers import COMPUTED, PS1, PS2, PS3, PS4, PS5, PS6, QUESTIONS

WITH_NUMBERS = ("number", "shape", "matrix")
# Computed beside the oracles of their set, or beside the facts of the course.
ELSEWHERE = {
    PS1: {"variance_with_mean"},
    PS2: {"hidden_by_zero", "parameters", "default_variance", "xavier_gain"},
    PS3: {"single_head", "projections_or_scores", "score_memory"},
    PS4: {"equal_logits", "rescaling"},
    PS5: {"sinusoid_entry", "weight_of_a_neighbour"},
    PS6: {"normalised_entry", "variance_beside_eps", "block_parameters", "row_after_permutation"},
}
ids = [f"{name[:3]}-{question}" for name, question in COMPUTED]


def variants(question):
    """Every question that a student may get of one."""
    if question.draws is None:
        return [question]
    return [concrete(question, values) for values in question.draws.admitted_ones]


def plain(value):
    """A number, or an array of numbers, of whatever holds them."""
    if hasattr(value, "detach"):
        return value.detach().double().numpy()
    return np.asarray(value, dtype=float)


def near(got, expected):
    got, expected = plain(got), plain(expected)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-9)


def test_every_number_is_computed():
    elsewhere = {(name, question) for name, those in ELSEWHERE.items() for question in those}
    assert COMPUTED.keys() | elsewhere == {
        key for key, question in QUESTIONS.items() if question.type in WITH_NUMBERS
    }
    assert not COMPUTED.keys() & elsewhere
    assert all(QUESTIONS[key].draws is None for key in elsewhere)


@pytest.mark.parametrize("key", COMPUTED, ids=ids)
def test_the_answer_and_what_mistakes_give(key):
    for question in variants(QUESTIONS[key]):
        answer, wrong = COMPUTED[key](**question.values)
        near(question.answer, answer)
        assert len(question.wrong) == len(wrong)
        for item, expected in zip(question.wrong, wrong, strict=True):
            near(item.value, expected)


@pytest.mark.parametrize("key", COMPUTED, ids=ids)
def test_no_two_mistakes_give_the_same(key):
    """Or the wrong one of them might be named."""
    for question in variants(QUESTIONS[key]):
        for one, other in itertools.combinations(question.wrong, 2):
            first, second = plain(one.value), plain(other.value)
            assert first.shape != second.shape or not np.allclose(first, second), question.values


DRAWN = [key for key, question in QUESTIONS.items() if question.draws is not None]


@pytest.mark.parametrize("key", DRAWN, ids=[f"{name[:3]}-{question}" for name, question in DRAWN])
def test_an_explanation_ends_at_the_answer(key):
    """With a student's own numbers, as they read it."""
    for question in variants(QUESTIONS[key]):
        said = " ".join(question.explanation.split())
        assert not re.search(r"[{}]|\d\.\d{9}", said), said
        if question.type == "number":
            assert f"{question.answer:.6g}" in said or str(question.answer) in said, said
        if question.type == "shape":
            assert str(tuple(question.answer)) in said, said


def test_prompts_say_what_is_asked():
    """Nothing is left of a template, and no two students read the same question by chance."""
    for key in DRAWN:
        prompts = [question.prompt for question in variants(QUESTIONS[key])]
        assert len(set(prompts)) == len(prompts) >= 4, key
        assert not re.search(r"[{}]", prompts[0]), key


def test_the_example_of_a_unit_is_nobodys_answer():
    for key in DRAWN:
        for question in variants(QUESTIONS[key]) if QUESTIONS[key].unit == "bytes" else []:
            (number,) = re.findall(r'"([\d.]+) MiB"', question.prompt)
            assert abs(float(number) * 2**20 - question.answer) > 0.05 * question.answer, key
