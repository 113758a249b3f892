"""Return values in every right form, read by what is expected."""

import numpy as np
import pytest
from hypothesis import given, settings

from autograder.observe.protocol import Array, Opaque, array_from_numpy
from autograder.observe.values import describe
from autograder.program import Call, DescribeModule, Generator, Observed, Program, Raised
from autograder.results_view import (
    Part,
    Unreadable,
    argument_view,
    case_view,
    clean,
    expected_count,
    kind_words,
    one_line,
    part_of,
    parts_of,
    plain,
    step_view,
    words_for,
)
from autograder.specification import Case
from tests.unit.observe.test_protocol import values


class TestPartOf:
    @pytest.mark.parametrize(
        ("value", "framework"),
        [
            (np.ones((2, 3)), "numpy"), ([[1, 1, 1], [1, 1, 1]], "list"),
            (((1, 1, 1), (1, 1, 1)), "list"), ([np.ones(3), np.ones(3)], "list"),
            ([[np.ones(()), 1.0, True], np.ones(3)], "list"), (np.ones((3, 2)).T, "numpy"),
        ],
    )  # fmt: skip
    def test_an_array_in_many_forms(self, value, framework):
        found = part_of(describe(value))
        assert (found.shape, found.framework) == ((2, 3), framework)
        assert found.data.tolist() == [[1, 1, 1]] * 2

    @pytest.mark.parametrize("value", [3, 3.0, np.float32(3), np.asarray(3), np.int64(3)])
    def test_a_number_in_many_forms(self, value):
        found = part_of(describe(value))
        assert (found.shape, found.data.item()) == ((), 3)

    def test_an_empty_list_is_an_array_of_nothing(self):
        assert part_of([]).shape == (0,)

    def test_a_signalling_nan_among_single_numbers(self):
        """Whose conversion NumPy warns of: the warning would reach the instructor's terminal."""
        signalling = np.array(0x7F800001, dtype=np.uint32).view(np.float32)
        items = [array_from_numpy(signalling), array_from_numpy(np.array(1.0))]
        assert np.isnan(part_of(items).data[0])

    @pytest.mark.parametrize(
        "value",
        [
            None, "text", {}, {"a": 1}, ["a"], [1, None], [[1], [1, 2]], b"x", Opaque("T"),
            [Opaque("T")], [array_from_numpy(np.ones(2)), 1.0],
            [array_from_numpy(np.ones(2), "torch")] * 2, [Array("float64", (2,), None)] * 2,
        ],
    )  # fmt: skip
    def test_what_is_none(self, value):
        assert isinstance(part_of(value), Unreadable)

    def test_only_the_shape_is_known(self):
        assert part_of(Array("float64", (9, 9), None)) == Part(None, "float64", (9, 9), "numpy")

    @settings(deadline=None)
    @given(values)
    def test_any_value_is_the_one_or_the_other(self, value):
        found = part_of(value)
        if isinstance(found, Part) and found.data is not None:
            assert found.data.shape == found.shape
            assert found.data.dtype.kind in "biufc"
        words_for(value)
        kind_words(value)
        step_view(value)
        for count in range(4):
            parts = parts_of(value, count)
            assert parts is None or len(parts) == count


class TestPartsOf:
    @pytest.mark.parametrize(
        "value", [(1.0, 2.0), [1.0, 2.0], np.array([1.0, 2.0]), [np.asarray(1.0), np.float32(2)]]
    )
    def test_two_numbers(self, value):
        parts = parts_of(describe(value), 2)
        assert [part_of(part).data.item() for part in parts] == [1, 2]

    @pytest.mark.parametrize("value", [np.zeros((2, 3, 4)), [np.zeros((3, 4))] * 2])
    def test_two_arrays(self, value):
        assert [part_of(part).shape for part in parts_of(describe(value), 2)] == [(3, 4)] * 2

    @pytest.mark.parametrize(
        "value", [None, 1.0, np.zeros(3), np.zeros(()), (1,), (1, 2, 3), {"a": 1, "b": 2}, "ab"]
    )
    def test_not_two(self, value):
        assert parts_of(describe(value), 2) is None

    def test_count(self):
        assert [expected_count(v) for v in (None, 3, [1, 2], (1, 2, 3), "ab")] == [1, 1, 2, 3, 1]


class TestWords:
    @pytest.mark.parametrize(
        ("value", "words"),
        [
            (None, "nothing (None)"),
            (True, "the truth value True"),
            (3, "the number 3"),
            (10**15 + 1, "the number 1000000000000001"),
            (0.1 + 0.2, "the number 0.3"),
            ("secret", "a string"),
            ([], "an empty list"),
            (["a", "b"], "a sequence of 2 values"),
            ({"a": 1}, "a dictionary"),
            (Opaque("Axes"), "a value of type Axes"),
            (Opaque("a\x1b[2Jb\nc" + "x" * 99), "a value of type a�[2Jb c" + "x" * 51 + "…"),
            (array_from_numpy(np.ones((2, 3))), "an array of shape (2, 3)"),
            (array_from_numpy(np.ones(2), "torch"), "a tensor of shape (2,)"),
            (array_from_numpy(np.ones(2), "list"), "a list of numbers of shape (2,)"),
            (Array("int8", (1,) * 40, None), f"an array of shape ({'1, ' * 16}…)"),
            (b"x", "a value of type bytes"),
        ],
    )
    def test_in_a_message(self, value, words):
        assert words_for(value) == words

    @pytest.mark.parametrize(
        ("value", "words"),
        [(3.25, "a number"), (True, "a truth value"), (None, "nothing (None)"),
         (Opaque("0.25 0.75"), "a value of another type"),
         (Opaque("Axes"), "a value of type Axes")],
    )  # fmt: skip
    def test_where_nothing_may_be_told(self, value, words):
        assert kind_words(value) == words


class TestClean:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("plain — ß ∑ 你好", "plain — ß ∑ 你好"),
            ("red \x1b[31m", "red �[31m"),
            ("back\x08\x00\x7f", "back���"),
            ("\u202eright to left", "�right to left"),
            ("two\nlines", "two\nlines"),
            ("\ud800", "�"),
        ],
    )
    def test_control_characters(self, text, shown):
        assert clean(text) == shown

    def test_length(self):
        assert clean("x" * 1000) == "x" * 299 + "…"
        assert clean("x" * 300) == "x" * 300
        assert clean("xxxxx", 4) == "xxx…"

    def test_one_line(self):
        assert one_line(" a\tb \r\n\n  Likely cause: none\u2028c ") == "a b Likely cause: none c"


class TestViews:
    def test_arguments(self):
        given_array = np.ones(2)
        found = argument_view([given_array, (array_from_numpy(np.zeros(1)),), 3, Generator(4)])
        assert found[0].tolist() == [1, 1]
        assert found[1][0].tolist() == [0]
        assert found[2:] == (3, Generator(4))
        with pytest.raises(ValueError, match="read-only"):
            found[0][0] = 2
        assert given_array.flags.writeable

    def test_tensors_are_arrays_too(self):
        torch = pytest.importorskip("torch")
        assert argument_view(torch.ones(2, requires_grad=True)).tolist() == [1, 1]

    def test_plain(self):
        assert plain("text") is None
        assert plain([1.0, 2.0], 2)[1].item() == 2
        assert plain(1.0, 2) is None
        assert plain(["a", 1.0], 2)[0] is None

    def case(self, observed, expected, steps=None):
        program = Program(steps or tuple(Call("f", (1,)) for _ in expected))
        return case_view(Case("c", "c", program, tuple(expected)), observed)

    def test_calls_and_steps(self):
        array = array_from_numpy(np.arange(2.0))
        expected = [Observed(array, notes={"largest_allocation": 7}), Observed({"w": array})]
        steps = (Call("f", (1, 2), {}, ("x",)), DescribeModule("m", True))
        view = self.case(expected, expected, steps)
        assert view.arguments == {"x": 1, "argument 2": 2}
        assert view.result.tolist() == view.expected.tolist() == [0, 1]
        assert view.calls[0].dtype == "float64"
        assert view.calls[0].notes == {"largest_allocation": 7}
        assert view.steps[1]["w"].tolist() == [0, 1]
        for sealed in (view.result, view.expected, view.steps[1]["w"]):
            with pytest.raises(ValueError, match="read-only"):
                sealed += 1

    @pytest.mark.parametrize(
        "observed",
        [
            [],
            [Observed(raised=Raised("E", (), ""))],
            [Observed("text")],
            [Observed(None)],
            [Observed([1.0])],
        ],
    )
    def test_no_view_where_something_is_unreadable(self, observed):
        pair = [array_from_numpy(np.ones(1))] * 2
        assert self.case(observed, [Observed(pair)]) is None

    def test_more_was_observed_than_expected(self):
        number = Observed(1.0)
        view = self.case([number] * 3, [number], (Call("f"),) * 3)
        assert len(view.calls) == 1

    def test_no_call_no_view(self):
        assert self.case([Observed({})], [Observed({})], (DescribeModule("m"),)) is None

    def test_an_object_that_the_reference_returns_too(self):
        view = self.case([Observed(Opaque("Axes"))], [Observed(Opaque("Axes"))])
        assert view.result is None
