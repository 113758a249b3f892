"""Authors' formulas and conditions over the draws of a question."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.formulas import evaluate

VALUES = {"d_k": 16, "h": 4, "p": 0.1, "kind": "pre"}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("d_k * h", 64),
        ("4*d_k**2 + 4*d_k", 1088),
        ("d_k / h", 4),
        ("d_k / 3", Fraction(16, 3)),
        ("d_k // 3", 5),
        ("d_k % 3", 1),
        ("-d_k", -16),
        ("3 * p", Fraction(3, 10)),
        ("0.1 + 0.2 == 0.3", True),
        ("sqrt(d_k)", 4),
        ("d_k ** 0.5", 4),
        ("d_k ** -1", Fraction(1, 16)),
        ("sqrt(2)", math.sqrt(2)),
        ("2 ** 0.5", math.sqrt(2)),
        ("sqrt((2 + 6/6)/3)", 1),
        ("log(e)", 1.0),
        ("2 * pi", 2 * math.pi),
        ("max(d_k, h) - min(d_k, h)", 12),
        ("ceil(d_k / 3) + floor(p)", 6),
        ("d_k if d_k > h else h", 16),
        ("d_k != h and d_k % h == 0", True),
        ("not h < d_k or d_k < 2", False),
        ("1 < h < d_k", True),
        ("kind == 'pre'", True),
        ("1024", 1024),
    ],
)
def test_has_the_value(formula, expected):
    value = evaluate(formula, VALUES)
    assert value == expected
    assert type(value) is type(expected)


def test_a_draw_may_have_the_name_of_a_constant():
    assert evaluate("2 * e", {"e": 5}) == 10


@pytest.mark.parametrize(
    ("formula", "sentence"),
    [
        ("n", "there is no n in 'n'"),
        ("d_k +", "is no formula"),
        ("", "is no formula"),
        ("2 d_k", "is no formula"),
        ("d_k / 0", "divides by zero"),
        ("0 ** -1", "divides by zero"),
        ("9**9**9", "too large"),
        ("10**9999", "too large"),
        ("exp(10**5)", "no value"),
        ("sqrt(-1)", "no value"),
        ("(-1) ** 0.5", "no value"),
        ("'a' * 9", "no value"),
        ("d_k << 3", "no value"),
        ("d_k in d_k", "no value"),
        ("min()", "no value"),
        ("d_k.real", "not understood"),
        ("[d_k]", "not understood"),
        ("lambda: 0", "not understood"),
        ("__import__('os')", "no function"),
        ("sqrt(x=2)", "no function"),
        ("-" * 100 + "1", "not understood"),
        ("(" * 10_000 + "1" + ")" * 10_000, "longer than"),
        ("1e999", "too large"),
    ],
)
def test_is_refused_with_a_sentence(formula, sentence):
    with pytest.raises(NotAnAnswer, match=sentence):
        evaluate(formula, VALUES)


@given(st.integers(-99, 99), st.integers(-99, 99), st.sampled_from(["+", "-", "*", "//", "%", "<"]))
def test_agrees_with_python(left, right, sign):
    if right or sign not in ("//", "%"):
        python = {
            "+": left + right,
            "-": left - right,
            "*": left * right,
            "//": left // (right or 1),
            "%": left % (right or 1),
            "<": left < right,
        }[sign]
        assert evaluate(f"a {sign} b", {"a": left, "b": right}) == python
