"""Got beside expected: which entries are off, in words, as SVG, and never of a hidden case."""

import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from autograder.observe.protocol import Array
from autograder.picture import LARGEST, PANELS, in_words, number, picture_of, signed, svg
from autograder.program import Call, Observed, Program
from autograder.specification import Case, ExerciseSpec, ValueSpec

AXES = ("n_k", "n_q")


def returned(data):
    data = np.asarray(data)
    return (Observed(value=Array(data.dtype.name, data.shape, data, "numpy")),)


def spec_of(expected, axes=AXES, **about):
    case = Case("one", "a title", Program((Call("f", (np.ones(3),)),)), returned(expected), **about)
    return ExerciseSpec("f", 2.0, (case,), returns=(ValueSpec("array", axes, "numpy"),))


EXPECTED = np.arange(6.0).reshape(3, 2)
GOT = EXPECTED + np.array([[0, 0], [0, 0.5], [0, 0]])


class TestPictureOf:
    def test_what_is_off_is_marked(self):
        picture = picture_of(spec_of(EXPECTED), {"one": returned(GOT)})
        assert picture.wrong.tolist() == [[False, False], [False, True], [False, False]]
        assert (picture.rows, picture.columns) == ("keys (n_k)", "queries (n_q)")
        assert picture.where == "“a title”"

    def test_right_values_have_none(self):
        assert picture_of(spec_of(EXPECTED), {"one": returned(EXPECTED)}) is None

    def test_nor_has_a_hidden_case(self):
        assert picture_of(spec_of(EXPECTED, hidden=True), {"one": returned(GOT)}) is None

    def test_nor_has_another_shape(self):
        assert picture_of(spec_of(EXPECTED), {"one": returned(GOT.T)}) is None

    def test_one_axis_is_a_row(self):
        picture = picture_of(spec_of(EXPECTED[:, 0], ("n_q",)), {"one": returned(np.zeros(3))})
        assert picture.got.shape == (1, 3)
        assert (picture.rows, picture.columns) == ("", "queries (n_q)")

    def test_of_many_axes_the_first_slice_that_is_off(self):
        expected = np.zeros((2, 3, 4, 5))
        got = expected.copy()
        got[1, 2, 3, 4] = 1.0
        picture = picture_of(spec_of(expected, ("b", "h", "n_q", "n_k")), {"one": returned(got)})
        assert picture.where == "“a title”, at b = 1, h = 2"
        assert picture.got.shape == (4, 5)
        assert picture.wrong[3, 4]

    def test_of_a_large_matrix_the_part_around_it(self):
        got = np.zeros((100, 90))
        got[60, 89] = 1.0
        picture = picture_of(spec_of(np.zeros((100, 90))), {"one": returned(got)})
        assert picture.got.shape == (LARGEST, LARGEST)
        assert picture.wrong.sum() == 1
        assert "the part from [54, 78] on" in picture.where
        assert "60: " in in_words(picture, "got")  # rows are counted in the whole

    @given(
        arrays(
            st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.bool_]),
            array_shapes(max_dims=5, max_side=3),
        )
    )
    def test_whatever_was_returned_can_be_drawn(self, got):
        with np.errstate(all="ignore"):
            picture = picture_of(spec_of(np.ones(got.shape), None), {"one": returned(got)})
            for panel, title in PANELS if picture is not None else ():
                ET.fromstring(svg(picture, panel, title))


class TestSvg:
    @pytest.fixture
    def picture(self):
        return picture_of(spec_of(EXPECTED), {"one": returned(GOT)})

    def test_text_carries_everything(self, picture):
        assert in_words(picture, "got") == (
            "What you returned, 3 keys down, 2 queries across. 0: 0, 1; 1: 2, 3.50; 2: 4, 5."
        )
        assert in_words(picture, "difference").endswith("0: right, right; 1: right, +0.50; 2: "
                                                        "right, right.")  # fmt: skip
        drawing = ET.fromstring(svg(picture, "expected", "expected"))
        assert drawing.get("role") == "img"
        assert drawing.get("aria-label") == in_words(picture, "expected")

    def test_axes_are_labelled(self, picture):
        text = "".join(ET.fromstring(svg(picture, "got", "you returned")).itertext())
        assert "queries (n_q) →" in text
        assert "← keys" in text

    def test_only_what_is_off_is_framed(self, picture):
        assert svg(picture, "got", "").count("stroke=") == 1
        assert svg(picture, "expected", "").count("stroke=") == 0

    def test_names_are_escaped(self, picture):
        hostile = replace(picture, rows="</svg><script>", columns="<b>", where="<i>")
        drawn = svg(hostile, "got", "<title>")
        assert re.findall(r"<(?!/?(?:svg|rect|text|title)\b)[^>]*>", drawn) == []


@pytest.mark.parametrize(
    "value, text",
    [(0.0, "0"), (1.0, "1"), (0.0123, "0.01"), (0.00456, "0.005"), (3e-7, "3e−7"), (-2.5, "−2.50"),
     (123456.0, "1e5"), (float("nan"), "NaN"), (float("-inf"), "−∞")],
)  # fmt: skip
def test_numbers_are_short(value, text):
    assert number(value) == text
    assert signed(value) == (text if text[0] in "−N" else f"+{text}")
