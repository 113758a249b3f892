"""Texts and numbers from Chinese and European keyboards: read as meant, or refused."""

import math
import unicodedata
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.quiz.answers import NotAnAnswer
from autograder.quiz.typed_text import (
    LONGEST,
    LONGEST_NUMBER,
    decimal,
    power,
    read_number,
    read_text,
)

FULL_WIDTH = str.maketrans({chr(code): chr(code + 0xFEE0) for code in range(0x21, 0x7F)})
INVISIBLE = [
    "\u200b",
    "\u200c",
    "\u200d",
    "\u2060",
    "\ufeff",
    "\u00ad",
    "\u200e",
    "\u202a",
    "\ufe0f",
]


class TestText:
    @pytest.mark.parametrize(
        ("typed", "expected"),
        [
            ("（２，４，７×７）", "(2,4,7*7)"),
            ("【2、4】", "(2,4)"),
            ("［［1，0］；［0.5，0.5］］", "[[1,0];[0.5,0.5]]"),
            ("ｃｅｄａｒ", "cedar"),
            ("ce\u200bdar\ufeff", "cedar"),
            ("a\u3000\u00a0b\n c", "a b c"),
            ("“cedar”", '"cedar"'),
            ("a → x", "a -> x"),
            ("−3 – 2", "-3 - 2"),
            ("2·n⋅d•k・m∙h✕w", "2*n*d*k*m*h*w"),
            ("6÷3", "6/3"),
            ("x²", "x**2"),
            ("x²³", "x**23"),
            ("x⁻¹", "x**(-1)"),
            ("2ⁿ", "2**n"),
            ("2ⁿ⁺¹", "2**(n+1)"),
            ("x²y₁", "x**2y_1"),
            ("dₖ", "d_k"),
            ("√dₖ", "√d_k"),
            ("½ n", "(1/2) n"),
            ("３。５", "3.5"),
            ("٣٤", "34"),
            ("\u00b5", "\u03bc"),  # the micro sign is a mu
            ("Cedar", "Cedar"),
        ],
    )
    def test_is_read(self, typed, expected):
        assert read_text(typed) == expected

    def test_a_power_is_none_after_folding(self):
        """What a bare compatibility folding makes of it is another number."""
        assert unicodedata.normalize("NFKC", "x²") == "x2"
        assert read_text("x²") != read_text("x2")

    @pytest.mark.parametrize("typed", ["2½", "2 ½", "10¾"])
    def test_mixed_numbers_are_refused(self, typed):
        with pytest.raises(NotAnAnswer, match=r"2\.5"):
            read_text(typed)

    def test_a_book_is_refused(self):
        assert read_text("x" * LONGEST)
        with pytest.raises(NotAnAnswer, match="too long"):
            read_text("x" * (LONGEST + 1))

    @given(st.text(alphabet=st.characters(min_codepoint=0x21, max_codepoint=0x7E)))
    def test_full_width_is_read_as_half_width(self, text):
        assert read_text(text.translate(FULL_WIDTH)) == read_text(text) == text

    @given(st.text(max_size=40), st.data())
    def test_invisible_signs_do_not_count(self, text, data):
        at = data.draw(st.integers(0, len(text)))
        mark = data.draw(st.sampled_from(INVISIBLE))
        try:
            expected = read_text(text)
        except NotAnAnswer:
            return
        assert read_text(text[:at] + mark + text[at:]) == expected

    @given(st.text(max_size=80))
    def test_any_text_is_read_or_refused(self, text):
        try:
            once = read_text(text)
        except NotAnAnswer as refusal:
            assert str(refusal)
            return
        assert once == " ".join(once.split())
        assert not any(unicodedata.category(sign) in ("Cf", "Cs", "Cc") for sign in once)


class TestNumbers:
    @pytest.mark.parametrize(
        ("typed", "expected"),
        [
            ("1024", 1024),
            (1024, 1024),
            (0.5, 0.5),
            ("１０２４", 1024),
            ("１．５", 1.5),
            ("1。5", 1.5),
            ("1024。", 1024),
            (" 1.5e3 ", 1500),
            ("1.5E+3", 1500),
            ("−3", -3),
            ("－３", -3),
            ("+ 3", 3),
            (".5", 0.5),
            ("5.", 5),
            ("2^10", 1024),
            ("2**10", 1024),
            ("2¹⁰", 1024),
            ("2^-3", 0.125),
            ("10⁻³", 0.001),
            ("-2^2", -4),
            ("1.5×10³", 1500),
            ("1.5 * 10^3", 1500),
            ("1/9", 1 / 9),
            ("1 ÷ 16", 1 / 16),
            ("½", 0.5),
            ("(1/2)", 0.5),
            ("=12", 12),
            ("≈ 12.5", 12.5),
            ("“12.5”", 12.5),
            ("\ufeff12\u200b.5", 12.5),
            ("1e400", None),
            ("1e-400", 0.0),
            ("0e5", 0),
            ("007", 7),
        ],
    )
    def test_are_read(self, typed, expected):
        if expected is None:
            with pytest.raises(NotAnAnswer, match="too large"):
                read_number(typed)
        else:
            assert read_number(typed) == expected

    @pytest.mark.parametrize(
        ("typed", "sentence"),
        [
            ("1,5", "decimal point and no separators"),
            ("1，5", "decimal point and no separators"),
            ("1、5", "decimal point and no separators"),
            ("1,024", "decimal point and no separators"),
            ("1 024", "decimal point and no separators"),
            ("1\u202f024", "decimal point and no separators"),
            ("1'024", "decimal point and no separators"),
            ("1’024", "decimal point and no separators"),
            ("1.024,5", "decimal point and no separators"),
            ("1_024", "decimal point and no separators"),
            ("inf", "finite"),
            ("-Infinity", "finite"),
            ("∞", "finite"),
            ("ＮａＮ", "finite"),
            (math.inf, "finite"),
            (math.nan, "finite"),
            ("75%", "0.75"),
            ("９％", "0.75"),
            ("9**9**9", "one number"),
            ("9^9^9", "one number"),
            ("9^(9^9)", "one number"),
            ("9^999999", "too large"),
            ("9^9999999999", "too large"),
            ("10^400*10^400*10^400", "too large"),
            ("1e999999999", "too large"),
            ("1e9999999999999999999999", "too large"),
            ("9" * (LONGEST_NUMBER + 1), "too large"),
            (10**400, "too large"),
            ("1/0", "zero"),
            ("0^-1", "zero"),
            ("1.2.3", "one number"),
            ("0x10", "one number"),
            ("12 bytes", "one number"),
            ("--3", "one number"),
            ("1e", "one number"),
            (".", "one number"),
            ("3*", "one number"),
            ("三", "one number"),
            ("__import__('os')", "separators"),
            ("exit()", "one number"),
            ("{1}", "one number"),
            (True, "one number"),
            (None, "one number"),
            ([1], "one number"),
        ],
    )
    def test_are_refused(self, typed, sentence):
        with pytest.raises(NotAnAnswer, match=sentence):
            read_number(typed)

    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_every_float_is_read_back(self, number):
        assert read_number(repr(number)) == number
        assert read_number(repr(number).translate(FULL_WIDTH)) == number

    @given(st.integers(-(10**15), 10**15), st.integers(1, 10**6))
    def test_quotients(self, over, under):
        assert read_number(f"{over}/{under}") == float(Fraction(over, under))

    @given(st.text(alphabet="0123456789.,_ eE+-*/^()²³½％×−infa", max_size=20))
    def test_any_text_is_a_finite_number_or_refused(self, text):
        try:
            assert math.isfinite(read_number(text))
        except NotAnAnswer as refusal:
            assert str(refusal)
        else:
            assert "," not in text and "_" not in text

    @given(st.integers(0, 999), st.integers(0, 999), st.sampled_from(",，、 _'’"))
    def test_no_separator_is_misread(self, thousands, rest, separator):
        with pytest.raises(NotAnAnswer):
            read_number(f"{thousands}{separator}{rest:03}")


def test_digits_are_exact():
    assert decimal("0.1") == Fraction(1, 10)
    assert decimal("-12.50e-1") == Fraction(-5, 4)
    assert power(Fraction(2, 3), -2) == Fraction(9, 4)
    assert power(1, 10**9) == 1
