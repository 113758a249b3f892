"""The built-in checks, and checks of authors' that go wrong."""

import numpy as np
import pytest

from autograder.checks import (
    SUM_TOLERANCE,
    PackFault,
    not_negative,
    run_builtin,
    run_custom,
    sums_to_one,
)
from autograder.specification import BuiltinCheck, CallView, CaseView, CustomCheck, Verdict

COLUMNS = np.array([[0.25, 0.5], [0.75, 0.5]])


def call(result):
    return CaseView((CallView({}, result, None),))


class TestSumsToOne:
    def test_holds(self):
        assert run_builtin(sums_to_one(0, "line"), call(COLUMNS)) is None
        assert run_builtin(sums_to_one(-2, "line"), call(COLUMNS)) is None
        assert run_builtin(sums_to_one(1, "line", result=1), call((None, COLUMNS.T))) is None

    @pytest.mark.parametrize(
        ("values", "axis", "message"),
        [
            (COLUMNS * 2, 0, "column 0 sums to 2, expected 1"),
            (COLUMNS, 1, "row 0 sums to 0.75, expected 1; each column sums to 1 instead"),
            (COLUMNS.T, 0, "column 0 sums to 0.75, expected 1; each row sums to 1 instead"),
            (COLUMNS.T, -2, "column 0 sums to 0.75, expected 1; each row sums to 1 instead"),
            (COLUMNS, -1, "row 0 sums to 0.75, expected 1; each column sums to 1 instead"),
            (np.ones(3), 0, "the entries sum to 3, expected 1"),
            (np.full((2, 1, 2), [0.5, 0.7]), -1, "slice 0, 0 sums to 1.2, expected 1"),
            (np.array([[1.0, np.nan]]), 0, "column 1 sums to nan, expected 1"),
            (np.array([[0, 2], [0, 3]]), 0, "column 1 sums to 5, expected 1"),
            (np.array([[1.0002]]), 1, "row 0 sums to 1.0002, expected 1"),
            (np.array([[1.00012]]), 1, "row 0 sums to 1.00012, expected 1"),
        ],
    )  # fmt: skip
    def test_does_not_hold(self, values, axis, message):
        assert run_builtin(sums_to_one(axis, "line"), call(values)) == message

    def test_rounding_in_float32_is_no_fault_and_a_lost_key_is_one(self):
        scores = np.random.default_rng(0).normal(size=(4096, 3)).astype(np.float32)
        weights = np.exp(scores) / np.exp(scores).sum(axis=0)
        assert run_builtin(sums_to_one(0, "line"), call(weights)) is None
        assert np.abs(weights.sum(0) - 1).max() < SUM_TOLERANCE / 10
        assert run_builtin(sums_to_one(0, "line"), call(weights[:-1])) is not None

    @pytest.mark.parametrize("shape", [(0, 0), (3, 0)])
    def test_nothing_to_sum(self, shape):
        assert run_builtin(sums_to_one(0, "line"), call(np.zeros(shape))) is None


class TestNotNegative:
    @pytest.mark.parametrize("values", [COLUMNS, np.zeros(2), np.zeros((0, 2)), np.array(True)])
    def test_holds(self, values):
        assert run_builtin(not_negative("line"), call(values)) is None

    @pytest.mark.parametrize(
        ("values", "lowest"), [([-1e-9, 3], "-1e-09"), ([-2, -5], "-5"), ([np.nan, -1], "-1")]
    )
    def test_does_not_hold(self, values, lowest):
        found = run_builtin(not_negative("line"), call(np.array(values)))
        assert found == f"the smallest entry is {lowest}, expected none below 0"

    def test_a_nan_is_not_above_zero(self):
        assert "nan" in run_builtin(not_negative("line"), call(np.array([np.nan])))


class TestFaults:
    """Whatever goes wrong in a check is the pack's fault, and nothing escapes."""

    @pytest.mark.parametrize(
        "check",
        [
            BuiltinCheck("not_known", "line"),
            BuiltinCheck("not_negative", "line", {"axis": 3}),
            sums_to_one(axis=5, line="line"),
            sums_to_one(axis=0, line="line", result=7),
        ],
    )
    def test_a_built_in_check_that_cannot_be_run(self, check):
        with pytest.raises(PackFault):
            run_builtin(check, call((COLUMNS,)))

    def custom(self, function):
        return run_custom(CustomCheck("mine", "line", function), call(COLUMNS))

    @pytest.mark.parametrize("found", [None, "a sentence", Verdict(None, ())])
    def test_what_an_author_s_check_may_return(self, found):
        assert self.custom(lambda view: found) is found

    @pytest.mark.parametrize("found", [True, False, 3, np.bool_(True), ["text"]])
    def test_what_it_may_not(self, found):
        with pytest.raises(PackFault, match=r"the check mine returned \w+, not None, a sentence"):
            self.custom(lambda view: found)

    def test_one_that_raises(self):
        with pytest.raises(PackFault, match="the check mine raised KeyError: 'x'") as raised:
            self.custom(lambda view: view.arguments["x"])
        assert raised.value.check == "mine"

    def test_numbers_that_overflow_are_no_noise(self):
        assert self.custom(lambda view: str(np.float64(1e300) * np.float64(1e300))) == "inf"
