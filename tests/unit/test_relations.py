"""Built-in checks that look at several calls, at dropout, gradients and allocations."""

import re

import numpy as np
import pytest

from autograder.checks import (
    PackFault,
    batch_independent,
    dropout_statistics,
    equivariant,
    exact_zeros,
    finite_gradients,
    is_for,
    largest_allocation,
    no_leak,
    run_builtin,
    run_check,
    same_twice,
    sums_to_one,
)
from autograder.invariants import evaluate
from autograder.program import Generator
from autograder.specification import BuiltinCheck, CallView, Case, CaseView

RNG = np.random.default_rng(0)


def view(*calls, steps=()):
    """A view of calls given as (arguments, result, expected)."""
    return CaseView(tuple(CallView(*call) for call in calls), steps)


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def attention(x, mask=None):
    scores = x @ np.swapaxes(x, -1, -2)
    return softmax(scores if mask is None else np.where(mask, scores, -np.inf)) @ x


class TestWeights:
    def test_half_types_have_units_of_their_own(self):
        scores = np.random.default_rng(1).normal(size=(40, 4096)).astype(np.float16)
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        weights = powers / powers.sum(-1, keepdims=True, dtype=np.float16)
        call = CallView({"scores": scores}, weights, None, "float16", {}, ("float16",))
        check = sums_to_one(-1, "line")
        assert run_builtin(check, CaseView((call,))) is None
        off = np.abs(weights.astype(np.float64).sum(-1) - 1).max()
        assert 1e-4 < off < 3 * 2.0**-10  # what is said of it beside the constant
        wide = CallView(
            {"scores": scores.astype(np.float64)}, weights, None, "float16", {}, ("float16",)
        )
        assert "expected 1" in run_builtin(check, CaseView((wide,)))
        lost = CallView(
            {"scores": scores}, weights * np.float16(0.98), None, "float16", {}, ("float16",)
        )
        assert "expected 1" in run_builtin(check, CaseView((lost,)))

    def test_where_nothing_may_be_attended_to(self):
        expected = np.array([[0.5, 0.5], [0.0, 0.0]])
        check = sums_to_one(-1, "line")
        assert run_builtin(check, view(({}, expected, expected))) is None
        found = run_builtin(check, view(({}, np.full((2, 2), 0.5), expected)))
        assert found == "row 1 sums to 1, expected 0: nothing may be attended to there"
        assert run_builtin(check, view(({}, expected * 0, expected))).startswith("row 0 sums to 0,")

    def test_hidden_keys_have_no_weight(self):
        expected = np.array([[0.0, 1.0], [0.5, 0.5]])
        check = exact_zeros("line")
        assert run_builtin(check, view(({}, expected, expected))) is None
        weak = np.array([[4e-44, 1.0], [0.5, 0.5]])  # a mask of −100
        assert run_builtin(check, view(({}, weak, expected))) is None
        leak = np.array([[1e-6, 1.0], [0.5, 0.5]])
        found = run_builtin(check, view(({}, leak, expected)))
        assert found == "1 entry should be 0, and is not: 1e-06 at [0, 0]"
        assert "nan" in run_builtin(check, view(({}, np.full((2, 2), np.nan), expected)))


class TestTwice:
    CHECK = same_twice("line")

    def test_equal_inputs(self):
        x = RNG.normal(size=3)
        calls = [({"x": x}, x, x), ({"x": x + 1}, x + 1, x + 1), ({"x": x.copy()}, x, x)]
        assert run_builtin(self.CHECK, view(*calls)) is None
        calls[2] = ({"x": x.copy()}, x + 1e-3, x)
        assert "the same inputs gave another result" in run_builtin(self.CHECK, view(*calls))

    def test_rounding_is_no_difference(self):
        x = np.ones(3)
        calls = [({"x": x}, x, x), ({"x": x}, x + 1e-12, x)]
        assert run_builtin(self.CHECK, view(*calls)) is None

    def test_other_arguments_are_other_inputs(self):
        for first, second in [
            ({"g": Generator(1)}, {"g": Generator(2)}),
            ({"mask": None}, {"mask": np.ones(2)}),
            ({"parts": (np.ones(2),)}, {"parts": (np.ones(2), np.ones(2))}),
            ({"x": 1}, {"y": 1}),
        ]:
            assert run_builtin(self.CHECK, view((first, 1.0, 1.0), (second, 2.0, 2.0))) is None
        again = view(({"g": Generator(1)}, 1.0, 1.0), ({"g": Generator(1)}, 2.0, 1.0))
        assert run_builtin(self.CHECK, again) is not None


class TestUnaffected:
    def case(self, attend, change):
        """Two calls: the second has other numbers where `change` says."""
        x = np.random.default_rng(2).normal(size=(2, 4, 3))
        other = x.copy()
        other[change] += 1.0
        mask = np.tril(np.ones((4, 4), dtype=bool))
        return view(
            *(
                ({"x": given, "mask": mask}, attend(given), attention(given, mask))
                for given in (x, other)
            )
        )

    def test_the_future(self):
        check = no_leak("line", cases=["a"], changed="changing a later token")
        mask = np.tril(np.ones((4, 4), dtype=bool))
        change = np.s_[:, 3:]
        assert run_builtin(check, self.case(lambda x: attention(x, mask), change)) is None
        found = run_builtin(check, self.case(attention, change))
        assert found.startswith("changing a later token changed the result of query ")
        assert found.endswith("expected it to stay as it was")
        assert "of query 3" not in found  # that one may see it

    def test_other_samples(self):
        check = batch_independent("line", cases=["a"])
        change = np.s_[1:]
        mask = np.tril(np.ones((4, 4), dtype=bool))
        assert run_builtin(check, self.case(lambda x: attention(x, mask), change)) is None
        mixed = run_builtin(check, self.case(lambda x: x - x.mean(axis=0), change))
        assert mixed.startswith(
            "changing another sample of the batch changed the result of sample 0"
        )

    def test_nan_that_leaks(self):
        x = np.ones((2, 2))
        calls = [({"x": x}, x, x), ({"x": x * 2}, np.full((2, 2), np.nan), x)]
        assert "by inf" in run_builtin(no_leak("line", cases=["a"]), view(*calls))

    def test_a_case_in_which_nothing_has_to_stay(self):
        calls = [({}, np.ones(2), np.ones(2)), ({}, np.ones(2), np.zeros(2))]
        with pytest.raises(PackFault, match="nothing that has to stay"):
            run_builtin(no_leak("line", cases=["a"]), view(*calls))


class TestEquivariant:
    def found(self, f, axes=(-2,), order=(2, 0, 1)):
        x = np.random.default_rng(3).normal(size=(3, 4))
        other = x[list(order)]
        check = equivariant("line", argument="x", cases=["a"], axes=axes)
        return run_builtin(check, view(({"x": x}, f(x), f(x)), ({"x": other}, f(other), f(other))))

    def test_holds(self):
        assert self.found(attention) is None
        assert self.found(lambda x: softmax(x @ x.T), axes=(0, 1)) is None

    def test_does_not_hold(self):
        found = self.found(lambda x: x + np.arange(3)[:, None])
        assert found.startswith("with its tokens in another order, the result is not the same")
        assert self.found(lambda x: softmax(x @ x.T)) is not None

    def test_a_case_that_permutes_nothing(self):
        with pytest.raises(PackFault, match="does not hold the first one's argument permuted"):
            self.found(attention, order=(0, 0, 1))


class TestGradients:
    def test_finite(self):
        good = {"arguments": {"x": np.ones(2), "mask": None}, "parameters": {}}
        bad = {"arguments": {"x": np.array([1.0, np.nan])}, "parameters": {}}
        check = finite_gradients("line")
        call = ({}, 1.0, 1.0)
        assert run_builtin(check, view(call, steps=(1.0, good))) is None
        found = run_builtin(check, view(call, steps=(1.0, good, bad)))
        assert found == "the gradient of x is NaN in 1 of 2 entries, expected finite numbers"


class TestAllocation:
    SIZES = {"n_q": ("Q", -2), "n_k": ("K", -2)}  # noqa: RUF012 (constant of the tests)

    @pytest.mark.parametrize(("largest", "wrong"), [(999, False), (1000, True), (None, False)])
    def test_against_an_expression(self, largest, wrong):
        check = largest_allocation("n_q * n_k / chunk", "line", sizes=self.SIZES)
        arguments = {"Q": np.ones((40, 3)), "K": np.ones((50, 3)), "chunk": 2}
        notes = {} if largest is None else {"largest_allocation": largest}
        found = run_builtin(check, CaseView((CallView(arguments, 1, 1, None, notes),)))
        assert (found is not None) == wrong
        if wrong:
            assert found == (
                "the largest tensor that is made holds 1,000 numbers, expected fewer than "
                "n_q * n_k / chunk = 1,000"
            )

    def test_expressions(self):
        assert evaluate("n**2 // 4 + 1 - n", {"n": 10}) == 16
        for wrong in ("m", "f(n)", "'n'", "n if n else n", "n @ n"):
            with pytest.raises(ValueError, match="no size, number or operation"):
                evaluate(wrong, {"n": 3})


class TestCases:
    def test_a_check_can_be_for_some_cases(self):
        case = Case("a", "title", None, ())
        assert is_for(BuiltinCheck("same_twice", "line"), case)
        assert is_for(same_twice("line", cases=["b", "a"]), case)
        assert not is_for(same_twice("line", cases=["b"]), case)


# --- dropout -----------------------------------------------------------------------------


def dropout(weights, p, training, generator):
    if not training or p == 0:
        return weights
    kept = np.random.default_rng(generator.seed).random(weights.shape) >= p
    return weights * kept / (1 - p)


class TestDropout:
    CHECK = dropout_statistics("line", cases=["a"])

    def verdict(self, f, p=0.3, shape=(6, 30, 40), seeds=(1, 2, 1), more=((3, False),), first=0):
        weights = np.random.default_rng(7).random(shape) + 0.1
        drawn = [
            {"weights": weights, "p": p, "training": training, "generator": Generator(first + seed)}
            for seed, training in (*((seed, True) for seed in seeds), *more)
        ]
        return run_check(self.CHECK, view(*((a, f(*a.values()), a["weights"]) for a in drawn)))

    def test_right(self):
        verdict = self.verdict(dropout)
        assert verdict.message is None
        assert verdict.summary
        assert self.verdict(dropout, p=0.0).message is None

    def test_false_alarms(self):
        """At 1e-6 a grading, none of a hundred; the rate itself is `intervals`' business."""
        for first in range(0, 1000, 10):
            verdict = self.verdict(dropout, shape=(4, 9, 11), first=first)
            assert verdict.message is None, (first, verdict.message)

    @pytest.mark.parametrize(
        ("f", "message"),
        [
            (lambda w, p, on, g: dropout(w, p, on, g) * (1 - p if on else 1),
             "entries that are kept come out 1 times as large"),
            (lambda w, p, on, g: dropout(w, 1 - p, on, g), "entries that are kept come out"),
            (lambda w, p, on, g: dropout(w, p, True, g), "when training is False, expected every"),
            (lambda w, p, on, g: w, "entries that are kept come out 1 times as large"),
            (lambda w, p, on, g: dropout(w, p, on, Generator(5)), "two calls dropped the same"),
            (lambda w, p, on, g: dropout(w, p, on, Generator(int(RNG.integers(2**40)))),
             "two generators in the same state gave different results"),
            (lambda w, p, on, g: w * dropout(np.ones(w.shape[1:]), p, on, g),
             "entries that differ in axis 0 alone are dropped together"),
            (lambda w, p, on, g: w * dropout(np.ones((*w.shape[:2], 1)), p, on, g),
             "entries that differ in axis 2 alone are dropped together"),
            (lambda w, p, on, g: w / (1 - p) * (dropout(w, 0.36, True, g) > 0) if on else w,
             r"\d+ of 7200 entries are kept at p = 0.3, expected between"),
        ],
    )  # fmt: skip
    def test_wrong(self, f, message):
        found = self.verdict(f).message
        assert found is not None
        assert re.search(message, found), found

    def test_a_mistake_agrees_with_itself_on_other_draws(self):
        from autograder.likeness import summaries_agree

        def unscaled(weights, p, training, generator):
            return dropout(weights, p, training, generator) * (1 - p if training else 1)

        right, again = (self.verdict(dropout, first=first).summary for first in (0, 50))
        wrong, twice = (self.verdict(unscaled, first=first).summary for first in (0, 50))
        assert summaries_agree(right, again)
        assert summaries_agree(wrong, twice)
        assert not summaries_agree(right, wrong)

    def test_zeros_that_come_in(self):
        arguments = {"weights": np.zeros(3), "p": 0.5, "training": True}
        with pytest.raises(PackFault, match="hand over none"):
            run_check(self.CHECK, view((arguments, np.zeros(3), np.zeros(3))))
