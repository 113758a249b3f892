"""When numbers count as equal: the reasons that the constants have beside them hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from autograder.numerics import (
    TOLERANCES,
    WHOLE_SLACK,
    Bound,
    Tolerance,
    compare,
    error_ratio,
    magnitude_of,
    tolerance_for,
    unit_in_last_place,
)

relaxed = settings(deadline=None)

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
DTYPES = st.sampled_from(
    [np.bool_, np.int8, np.int64, np.uint64, np.float16, np.float32, np.float64]
)
ARRAYS = DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES))
FINITE = hnp.arrays(
    np.float64,
    hnp.array_shapes(max_dims=2, max_side=4),
    elements=st.floats(-1e6, 1e6).map(lambda x: x + 0.0),
)


def equal(got, expected, *dtypes, **options):
    got, expected = np.asarray(got), np.asarray(expected)
    dtypes = dtypes or (got.dtype.name,)
    return compare(got, expected, tolerance_for(dtypes, expected), **options) is None


class TestReasons:
    """What the comments in the module say."""

    @pytest.mark.parametrize("n", [16, 128, 512])
    def test_right_orders_differ_far_less_than_float32_allows(self, n):
        rng = np.random.default_rng(n)
        Q, K, V = (rng.normal(size=(n, 64)).astype(np.float32) for _ in range(3))

        def attention(Q, K, V, scale_first):
            scores = (Q / 8) @ K.T if scale_first else (Q @ K.T) / 8
            powers = np.exp(scores - scores.max(-1, keepdims=True))
            if scale_first:
                return (powers @ V) / powers.sum(-1, keepdims=True)
            return (powers / powers.sum(-1, keepdims=True)) @ V

        exact = attention(*(part.astype(np.float64) for part in (Q, K, V)), scale_first=False)
        tolerance = tolerance_for(["float32"], exact)
        ratios = [error_ratio(attention(Q, K, V, first), exact, tolerance) for first in (0, 1)]
        assert max(ratios) < 0.1
        wrong = attention(Q * 64**0.5 / 65**0.5, K, V, False)  # a scale that is off by 1%
        assert error_ratio(wrong, exact, tolerance) > 10

    def test_a_missing_scale_shows_at_inputs_of_a_thousandth(self):
        rng = np.random.default_rng(0)
        Q, K = 1e-3 * rng.normal(size=(2, 5, 16))

        def weights(scale):
            powers = np.exp(Q @ K.T / scale)
            return powers / powers.sum(-1, keepdims=True)

        moved = np.abs(weights(1.0) - weights(4.0)).max()
        assert 1e-7 < moved < 1e-5
        assert not equal(weights(1.0), weights(4.0))

    @pytest.mark.parametrize(("name", "bits"), [("float16", 10), ("bfloat16", 7)])
    def test_half_types_allow_for_two_roundings(self, name, bits):
        relative, absolute = TOLERANCES[name]
        assert relative == 2 * 2.0**-bits
        assert absolute == 2.0**-bits
        values = np.linspace(-1, 1, 1001)
        step = 2.0**-bits  # at unit size
        rounded = np.round(values / step) * step
        tolerance = tolerance_for([name], values, half=True)
        assert error_ratio(rounded, values, tolerance) < 1

    def test_tolerances_stand_in_order(self):
        relatives = [relative for relative, _ in TOLERANCES.values()]
        assert relatives == sorted(relatives)


class TestToleranceFor:
    def test_the_coarsest_counts(self):
        one = np.ones(2)
        assert tolerance_for(["float64", "float32"], one).relative == 1e-4
        assert tolerance_for(["float64"], one).relative == 1e-9
        assert tolerance_for([], one).relative == 1e-9
        assert tolerance_for(["int64", "bool"], one).relative == 1e-9

    def test_float32_is_the_coarsest_unless_half_is_asked_for(self):
        one = np.ones(2)
        for name in ("float16", "bfloat16"):
            assert tolerance_for([name], one) == tolerance_for(["float32"], one)
            assert tolerance_for([name], one, half=True).relative == TOLERANCES[name][0]

    @pytest.mark.parametrize("scale", [1e-300, 1e-3, 1.0, 1e6, 1e300])
    def test_the_absolute_part_follows_the_largest_value(self, scale):
        found = tolerance_for(["float64"], np.array([0.0, -scale, scale / 2]))
        assert found.absolute == pytest.approx(1e-10 * scale, rel=1e-12)

    @pytest.mark.parametrize(
        "expected", [np.zeros(3), np.zeros(0), np.array([np.nan]), np.array([np.inf, -np.inf])]
    )
    def test_where_no_value_has_a_size_it_is_that_of_one(self, expected):
        assert tolerance_for([], expected).absolute == 1e-10

    def test_what_is_not_finite_has_no_say(self):
        assert tolerance_for([], np.array([np.inf, 2.0, np.nan])).absolute == 2e-10

    def test_one_size_for_several_arrays(self):
        noise = np.array([1e-17, -1e-17])
        size = magnitude_of([noise, np.array([3.0])])
        assert size == 3.0
        alone, together = tolerance_for([], noise), tolerance_for([], noise, magnitude=size)
        assert compare(np.zeros(2), noise, alone) is not None
        assert compare(np.zeros(2), noise, together) is None

    def test_the_size_of_integers_at_their_end(self):
        assert magnitude_of([np.array([-(2**63)])]) == 2.0**63
        assert magnitude_of([np.array([True, False])]) == 1.0
        assert magnitude_of([]) == 0.0


class TestCompare:
    @relaxed
    @given(ARRAYS)
    def test_everything_but_nan_equals_itself(self, array):
        found = compare(array, array, Tolerance(0.0, 0.0))
        nans = int(np.isnan(array).sum()) if array.dtype.kind == "f" else 0
        assert (0 if found is None else found.count) == nans
        assert compare(array, array, Tolerance(0.0, 0.0), nan_equal=True) is None

    @relaxed
    @given(ARRAYS, ARRAYS)
    def test_shapes_are_never_broadcast(self, one, other):
        if one.shape == other.shape:
            return
        for left, right in ((one, other), (other, one)):
            with pytest.raises(ValueError, match="shapes differ"):
                compare(left, right, Tolerance(1.0, 1.0))
            with pytest.raises(ValueError, match="shapes differ"):
                error_ratio(left, right, Tolerance(1.0, 1.0))

    @relaxed
    @given(st.data())
    def test_both_directions_agree_where_the_tolerance_is_absolute(self, data):
        shape = data.draw(hnp.array_shapes(min_dims=0, max_dims=2, max_side=3))
        numbers = st.floats(-10, 10) | st.sampled_from([np.nan, np.inf, -np.inf])
        one, other = (data.draw(hnp.arrays(np.float64, shape, elements=numbers)) for _ in "ab")
        for nan_equal in (False, True):
            there = compare(one, other, Tolerance(0.0, 0.5), nan_equal=nan_equal)
            back = compare(other, one, Tolerance(0.0, 0.5), nan_equal=nan_equal)
            assert (there and there.count) == (back and back.count)

    @relaxed
    @given(FINITE, st.floats(-1, 1), st.integers(-900, 900))
    def test_the_scale_does_not_matter(self, expected, shift, power):
        scale = 2.0**power
        got = expected * (1.0 + shift * 1e-8)
        if not expected.any() or np.abs(expected[expected != 0]).min() < 1e-20:
            return  # subnormal numbers have no digits to lose
        assert equal(got, expected) == equal(got * scale, expected * scale)

    @relaxed
    @given(FINITE)
    def test_a_difference_is_described_by_its_worst_entry(self, expected):
        got = expected.copy()
        got.flat[-1] += 1.0 + abs(got.flat[-1])
        found = compare(got, expected, tolerance_for([], expected))
        worst = tuple(size - 1 for size in expected.shape)
        assert (found.count, found.size, found.worst) == (1, expected.size, worst)
        assert found.got == got[worst]
        assert found.expected == expected[worst]
        assert found.error == pytest.approx(1.0 + abs(expected[worst]))
        assert found.ratio > 1

    @pytest.mark.parametrize("stray", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("other", [0.0, 1.0, 1.7e308, np.nan, np.inf, -np.inf])
    def test_what_is_no_number_equals_nothing_by_accident(self, stray, other):
        same = stray == other  # infinities of one sign
        for left, right in ((stray, other), (other, stray)):
            for tolerance in (Tolerance(0.0, 0.0), Tolerance(1.0, np.inf)):
                found = compare(np.array([0.0, left]), np.array([0.0, right]), tolerance)
                assert (found is None) == same
                if not same:
                    assert found.worst == (1,)
        assert (error_ratio(np.array([stray]), np.array([other]), Tolerance(1, 1)) == np.inf) == (
            not same and not (np.isnan(stray) and np.isnan(other))
        )

    def test_nan_equal_means_equal_patterns(self):
        expected = np.array([np.nan, 1.0, np.nan])
        assert equal([np.nan, 1.0, np.nan], expected, nan_equal=True)
        assert not equal([np.nan, np.nan, np.nan], expected, nan_equal=True)
        assert not equal([1.0, 1.0, np.nan], expected, nan_equal=True)

    def test_a_nan_is_worse_than_any_error(self):
        found = compare(np.array([1e300, np.nan]), np.array([0.0, 0.0]), Tolerance(0, 1))
        assert found.worst == (1,)

    @pytest.mark.parametrize("got", [1.7e308, -1.7e308])
    def test_differences_beyond_float64(self, got):
        assert not equal(np.array([got]), np.array([-got]))
        assert equal(np.array([got]), np.array([got]))

    def test_numbers_without_axes(self):
        assert equal(np.float64(0.1) + 0.2, 0.3)
        found = compare(np.asarray(2.0), np.asarray(1.0), Tolerance(0, 0.1))
        assert (found.worst, found.got, found.expected, found.count) == ((), 2.0, 1.0, 1)

    def test_nothing_equals_nothing(self):
        assert equal(np.zeros((0, 3)), np.zeros((0, 3)))
        assert error_ratio(np.zeros((0, 3)), np.zeros((0, 3)), Tolerance(0, 0)) == 0.0

    def test_complex_numbers(self):
        assert equal(np.array([1 + 1j]), np.array([1 + 1j]))
        assert not equal(np.array([1 + 1j]), np.array([1.0]))


class TestWholeNumbers:
    """Integers are exact, however large; floats may stand for them."""

    def test_a_relative_tolerance_would_pass_off_by_500(self):
        assert not equal(10**12 + 500, 10**12)
        assert not equal(1e12 + 500, 10**12)
        assert equal(1e12, 10**12)

    def test_beyond_what_float64_can_tell_apart(self):
        assert float(2**53 + 1) == float(2**53)
        assert not equal(2**53 + 1, 2**53)
        assert equal(np.uint64(2**63 + 5), np.uint64(2**63 + 5))
        assert not equal(np.uint64(2**63 + 5), np.uint64(2**63))
        assert not equal(np.int64(-1), np.uint64(2**64 - 1))

    @pytest.mark.parametrize("got", [288, 288.0, np.float32(288), np.int16(288), np.uint64(288)])
    def test_any_type_that_holds_it(self, got):
        assert equal(got, 288)

    def test_rounding_is_allowed_and_halves_are_not(self):
        assert equal(7 * (1 + 1e-12), 7)
        assert not equal(7.5, 7)
        assert not equal(np.float32(5000.4), 5000, "float32")
        assert WHOLE_SLACK < 0.5

    def test_truth_values(self):
        assert equal(np.array([True, False]), np.array([True, False]))
        assert equal(np.array([1, 0]), np.array([True, False]))
        assert not equal(np.array([2, 0]), np.array([True, False]))
        found = compare(np.array([True, True]), np.array([True, False]), Tolerance(0, 0))
        assert (found.got, found.expected, found.worst) == (True, False, (1,))

    @relaxed
    @given(hnp.arrays(np.int64, 3), hnp.arrays(np.int64, 3))
    def test_exactly(self, one, other):
        assert equal(one, other) == bool((one == other).all())

    def test_the_largest_error_is_the_worst(self):
        found = compare(np.array([1, 9, 3]), np.array([1, 2, 2]), Tolerance(0, 0))
        assert (found.worst, found.error, found.count) == ((1,), 7.0, 2)


class TestErrorRatio:
    def test_is_one_at_the_tolerance(self):
        assert error_ratio(np.array([1.5]), np.array([1.0]), Tolerance(0, 0.5)) == 1.0

    def test_equal_patterns_of_nan_are_no_error(self):
        array = np.array([np.nan, np.inf, 1.0])
        assert error_ratio(array, array, Tolerance(0, 1)) == 0.0

    def test_agrees_with_compare(self):
        rng = np.random.default_rng(0)
        for scale in (1e-12, 1e-10, 1e-8):
            expected = rng.normal(size=20)
            got = expected + scale * rng.normal(size=20)
            tolerance = tolerance_for([], expected)
            found = compare(got, expected, tolerance)
            ratio = error_ratio(got, expected, tolerance)
            assert (found is None) == (ratio <= 1)
            assert found is None or found.ratio == ratio


class TestReductions:
    """A sum of many terms is off by more, in proportion to the root of their number."""

    @pytest.mark.parametrize("n", [437, 4096, 30_000])
    @pytest.mark.parametrize("positive", [False, True])
    def test_terms_added_one_after_another(self, n, positive):
        rng = np.random.default_rng(n)
        left, right = rng.normal(size=(2, n, 32)).astype(np.float32)
        if positive:
            left, right = np.abs(left), np.abs(right)
        exact = (left.astype(np.float64) * right).sum(axis=0)
        total = np.zeros(32, np.float32)
        for row in left * right:
            total += row
        tolerance = tolerance_for(["float32"], exact, terms=n)
        assert error_ratio(total, exact, Tolerance(0.0, tolerance.absolute)) < 0.2

    def test_short_sums_change_nothing(self):
        one = np.ones(1)
        for dtype in ("float64", "float32"):
            usual = tolerance_for([dtype], one)
            assert tolerance_for([dtype], one, terms=437) == usual
        assert tolerance_for(["float32"], one, terms=10**6).absolute == pytest.approx(
            4.8e-4, rel=0.1
        )
        assert tolerance_for(["float64"], one, terms=10**6).absolute == 1e-10
        half = tolerance_for(["bfloat16"], one, half=True)
        assert tolerance_for(["bfloat16"], one, half=True, terms=10**4) == half


class TestBound:
    def test_in_units_of_the_last_place_of_an_argument(self):
        bound = Bound("two roundings", absolute=1e-3, ulps=2, of="V")
        usual = tolerance_for(["float16"], np.ones(1))
        found = bound.tolerance(usual, "float16", 40.0)  # 2⁻⁵ apart, from 32 to 64
        assert found == Tolerance(0.0, 1e-3 * 40 + 2 * 2.0**-5)

    def test_beside_the_usual_tolerance(self):
        bound = Bound("the mean cancels", absolute=1e-3, beside=True)
        assert bound.tolerance(Tolerance(1e-4, 1e-5), "float32", 1.0) == Tolerance(1e-4, 1.01e-3)

    @pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
    @pytest.mark.parametrize("size", [1.0, 1.5, 1.999, 2.0, 1e-3, 40.0])
    def test_units_are_how_far_numbers_lie_apart(self, dtype, size):
        apart = np.spacing(np.dtype(dtype).type(size))
        assert unit_in_last_place(dtype, size) == float(apart)

    def test_units_of_bfloat16_and_of_nothing(self):
        assert unit_in_last_place("bfloat16", 1.0) == 2.0**-7
        assert unit_in_last_place("int64", 1.0) == 0.0
        assert unit_in_last_place("float32", 0.0) == 0.0

    @pytest.mark.parametrize(
        "given",
        [
            {"reason": " ", "absolute": 1.0},
            {"reason": "none"},
            {"reason": "less than nothing", "absolute": -1.0, "ulps": 2.0},
            {"reason": "anything", "relative": float("inf")},
        ],
    )
    def test_one_without_a_reason_or_a_size(self, given):
        with pytest.raises(ValueError, match="a bound"):
            Bound(**given)
