"""Nothing right is rejected, nothing wrong accepted, and nothing makes the judge raise."""

# ruff: noqa: F821 (axes in annotations are no names)

import collections
import functools
import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jaxtyping import Float

from autograder import Call, Program, Verdict, exercise
from autograder.checks import PackFault, not_negative, sums_to_one
from autograder.judge import check_names, infrastructure, judge, judge_case, missing
from autograder.observe.protocol import Array, Opaque, array_from_numpy
from autograder.observe.session import Stopped
from autograder.program import Observed, Raised
from tests.unit.observe.test_protocol import values
from tests.unit.trial import failed_checks, trial_of

relaxed = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def softmax_of(scores):
    powers = np.exp(scores - scores.max(axis=0))
    return powers / powers.sum(axis=0)


def make_softmax():
    @exercise(
        points=4,
        checks=[
            not_negative("no weight is negative"),
            sums_to_one(0, "each column sums to 1", credit=0.25),
        ],
    )
    def softmax(scores: Float[np.ndarray, "n_k n_q"]) -> Float[np.ndarray, "n_k n_q"]:
        return softmax_of(scores)

    @softmax.case("more keys than queries", separates=["over_queries"])
    def more_keys(rng):
        return {"scores": rng.normal(size=(5, 3))}

    @softmax.case("far apart", separates=["global_maximum"])
    def far_apart(rng):
        return {"scores": rng.normal(size=(4, 3)) + np.array([0.0, -800.0, -1600.0])}

    @softmax.case("float32", kind="robustness")
    def single(rng):
        return {"scores": rng.normal(size=(2, 4)).astype(np.float32)}

    @softmax.case("a square", separates=["over_queries"], hidden=True)
    def square(rng):
        return {"scores": rng.normal(size=(4, 4))}

    @softmax.misconception("Normalises over the queries.", hint="Which axis?", credit=0.5)
    def over_queries(scores):
        return softmax_of(scores.T).T

    @softmax.misconception("Subtracts one maximum.", hint="What underflows?", credit=0.125)
    def global_maximum(scores):
        powers = np.exp(scores - scores.max())
        return powers / powers.sum(axis=0)

    return softmax


def make_pair():
    @exercise(points=1)
    def attend(
        V: Float[np.ndarray, "d_v n"], scores: Float[np.ndarray, "n n"]
    ) -> tuple[Float[np.ndarray, "d_v n"], Float[np.ndarray, "n n"]]:
        return V @ softmax_of(scores), softmax_of(scores)

    @attend.case("of two shapes", kind="robustness")
    def two_shapes(rng):
        return {"V": rng.normal(size=(2, 4)), "scores": rng.normal(size=(4, 4))}

    @attend.case("of one shape", kind="robustness")
    def one_shape(rng):
        return {"V": rng.normal(size=(3, 3)), "scores": rng.normal(size=(3, 3))}

    return attend


def make_count():
    @exercise(points=1)
    def count(d_model: int, bias: bool) -> int:
        return 4 * d_model**2 + 4 * d_model * bias

    @count.case("512", kind="robustness")
    def large(rng):
        return {"d_model": 512, "bias": True}

    return count


def make_two_numbers():
    @exercise(points=1)
    def moments(x: Float[np.ndarray, "n"]) -> tuple[float, float]:
        return float(x.mean()), float(x.var())

    @moments.case("five numbers", kind="robustness")
    def five(rng):
        return {"x": rng.normal(size=5)}

    return moments


def make_positive():
    @exercise(points=1)
    def positive(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
        return np.abs(x)

    @positive.case("positive numbers", kind="robustness")
    def numbers(rng):
        return {"x": rng.uniform(1, 2, size=5)}

    return positive


softmax_trial = functools.partial(trial_of, make_softmax)


def frozen(array):
    array = array.copy()
    array.flags.writeable = False
    return array


class Sub(np.ndarray):
    pass


FORMS = {
    "an array": lambda a: a,
    "Fortran order": np.asfortranarray,
    "a transposed view": lambda a: a.T.copy().T,
    "strides": lambda a: np.repeat(a, 2, axis=0)[::2],
    "negative strides": lambda a: a[::-1].copy()[::-1],
    "read-only": frozen,
    "a broadcast view": lambda a: np.broadcast_to(a, (1, *a.shape))[0],
    "float32": lambda a: a.astype(np.float32),
    "long double": lambda a: a.astype(np.longdouble),
    "another byte order": lambda a: a.astype(">f8"),
    "lists": lambda a: a.tolist(),
    "tuples": lambda a: tuple(map(tuple, a.tolist())),
    "a list of rows": list,
    "a tuple of rows": lambda a: tuple(a),
    "lists of NumPy numbers": lambda a: [list(row) for row in a],
    "an array of objects": lambda a: a.astype(object),
    "a subclass": lambda a: a.view(Sub),
    "a masked array": np.ma.asarray,
    "a matrix": lambda a: np.asmatrix(a),
}
NUMBERS = {
    "an int": int,
    "a float": float,
    "np.int64": np.int64,
    "np.int32": np.int32,
    "np.uint64": np.uint64,
    "np.float64": np.float64,
    "np.float32": np.float32,
    "a 0-d array": np.asarray,
    "a 0-d float array": lambda n: np.asarray(float(n)),
}
PAIRS = {
    "a tuple": lambda a, b: (a, b),
    "a list": lambda a, b: [a, b],
    "a named tuple": collections.namedtuple("Pair", "output weights"),
    "lists inside": lambda a, b: (a.tolist(), b.tolist()),
    "a list of lists": lambda a, b: [a.tolist(), b.tolist()],
    "one array where the shapes agree": lambda a, b: (
        np.stack([a, b]) if a.shape == b.shape else (a, b)
    ),
    "an array of objects": lambda a, b: as_objects(a, b),
}


def as_objects(*items):
    made = np.empty(len(items), dtype=object)
    for index, item in enumerate(items):
        made[index] = item
    return made


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
class TestRight:
    @pytest.mark.parametrize("form", FORMS)
    def test_an_array(self, form):
        result = softmax_trial()(lambda scores: FORMS[form](softmax_of(scores)))
        assert result.outcome == "passed", result.feedback

    @pytest.mark.parametrize("form", NUMBERS)
    def test_a_whole_number(self, form):
        result = trial_of(make_count)(lambda d, bias: NUMBERS[form](4 * d * d + 4 * d * bias))
        assert result.outcome == "passed", result.feedback

    @pytest.mark.parametrize("form", PAIRS)
    def test_two_arrays(self, form):
        def attempt(V, scores):
            weights = softmax_of(scores)
            return PAIRS[form](V @ weights, weights)

        assert trial_of(make_pair)(attempt).outcome == "passed"

    @pytest.mark.parametrize(
        "form", [tuple, list, np.array, lambda two: [np.asarray(one) for one in two],
                 lambda two: tuple(map(np.float64, two)), lambda two: np.array(two)[:, None][:, 0]]
    )  # fmt: skip
    def test_two_numbers(self, form):
        assert trial_of(make_two_numbers)(lambda x: form([x.mean(), x.var()])).outcome == "passed"

    @pytest.mark.parametrize("attempt", [lambda x: x, lambda x: x[:], lambda x: x.view()])
    def test_the_argument_itself(self, attempt):
        assert trial_of(make_positive)(attempt).outcome == "passed"

    @pytest.mark.parametrize(
        "wrap",
        [
            lambda f: functools.partial(f),
            lambda f: staticmethod(f),
            lambda f: type("Call", (), {"__call__": lambda self, scores: f(scores)})(),
            lambda f: functools.wraps(f)(lambda *args: f(*args)),
            lambda f: lambda renamed: f(renamed),
            np.errstate(all="raise"),
        ],
    )
    def test_what_can_be_called(self, wrap):
        assert softmax_trial()(wrap(softmax_of)).outcome == "passed"

    @pytest.mark.parametrize(
        "attempt",
        [
            lambda s: np.exp(s - np.logaddexp.reduce(s, axis=0)),
            lambda s: (
                np.exp2((s - s.max(0)) * np.log2(np.e))
                / np.exp2((s - s.max(0)) * np.log2(np.e)).sum(0)
            ),
            lambda s: np.stack([softmax_of(column) for column in s.T], axis=-1),
            lambda s: softmax_of(s + 5.0),
            lambda s: softmax_of(np.vstack([s, np.full_like(s[:1], -np.inf)]))[:-1],
        ],
    )
    def test_other_orders_of_operations(self, attempt):
        assert softmax_trial()(attempt).outcome == "passed"

    def test_every_check_passed(self):
        result = softmax_trial()(softmax_of)
        assert [check.name for check in result.checks] == [
            "runs", "type", "shape", "finite", "no weight is negative", "each column sums to 1",
            "values", "arguments untouched",
        ]  # fmt: skip
        assert {check.outcome for check in result.checks} == {"passed"}
        assert (result.score, result.max_score, result.misconceptions) == (4.0, 4.0, ())
        assert result.feedback == "softmax: right in 4 cases."


WRONG = {
    "type": [
        None, "text", b"bytes", {}, {"weights": 1}, set(), object(), int, len, Exception("x"),
        ["a"], [None], [[1.0], [1.0, 2.0]], iter([1.0]), range, np.array(["a"]), np.array([None]),
        np.zeros(3, dtype="datetime64[s]"),
    ],
    "shape": [
        0.25, True, [], [0.25], np.zeros(()), np.zeros((1, 1)), np.zeros((0, 0)), (1.0, 2.0),
        np.zeros((1,) * 16), np.broadcast_to(0.25, (10**6, 10**6)), [[[0.1]]],
    ],
}  # fmt: skip


class TestWrong:
    @pytest.mark.parametrize(
        ("check", "value"),
        [(check, value) for check, several in WRONG.items() for value in several],
        ids=lambda value: type(value).__name__,
    )
    def test_constants(self, check, value):
        result = softmax_trial()(lambda scores: value)
        assert result.outcome == "failed"
        assert failed_checks(result) == [check], result.feedback
        assert result.score == 0

    @pytest.mark.parametrize(
        ("check", "attempt"),
        [
            ("shape", lambda s: softmax_of(s).T if s.shape[0] != s.shape[1] else softmax_of(s)),
            ("shape", lambda s: softmax_of(s)[None]),
            ("shape", lambda s: softmax_of(s)[:, :1]),
            ("shape", lambda s: (softmax_of(s),)),
            ("shape", lambda s: [softmax_of(s)]),
            ("type", lambda s: softmax_of(s).astype(complex)),
            ("type", lambda s: [softmax_of(s), softmax_of(s)[0]]),
            ("type", lambda s: softmax_of(s).astype(str)),
            ("finite", lambda s: softmax_of(s) * np.nan),
            ("finite", lambda s: softmax_of(s) + np.inf),
            ("finite", lambda s: np.where(s == s.max(), np.nan, softmax_of(s))),
            ("no weight is negative", lambda s: -softmax_of(s)),
            ("each column sums to 1", lambda s: 2 * softmax_of(s)),
            ("each column sums to 1", lambda s: np.zeros_like(s)),
            ("values", lambda s: softmax_of(1.001 * s)),
            ("values", lambda s: softmax_of(s[::-1])),
            ("values", lambda s: np.full(s.shape, 1 / len(s))),
            ("values", lambda s: softmax_of(s).round(3)),
            ("each column sums to 1", lambda s: softmax_of(s).astype(np.float16)),
            ("arguments untouched", lambda s: _spoils(s)),
        ],
    )  # fmt: skip
    def test_almost(self, check, attempt):
        result = softmax_trial()(attempt)
        assert result.outcome == "failed"
        assert check in failed_checks(result), result.feedback

    @pytest.mark.parametrize(
        "value", [1050625, 1050623, 1050624.5, "1050624", None, [1050624], np.nan, -1050624, 2**70]
    )
    def test_whole_numbers(self, value):
        assert trial_of(make_count)(lambda d, bias: value).outcome == "failed"

    @pytest.mark.parametrize(
        "form",
        [
            lambda a, b: a,
            lambda a, b: (b, a),
            lambda a, b: (a, b, b),
            lambda a, b: {"output": a, "weights": b},
            lambda a, b: (a, None),
            lambda a, b: iter((a, b)),
            lambda a, b: np.stack([a, a]) if a.shape == b.shape else (a, a),
            lambda a, b: (a, b + 1e-6),
            lambda a, b: (np.nan * a, b),
        ],
    )
    def test_two_arrays(self, form):
        def attempt(V, scores):
            weights = softmax_of(scores)
            return form(V @ weights, weights)

        assert trial_of(make_pair)(attempt).outcome == "failed"

    def test_an_object_that_equals_everything(self):
        class Yes:
            def __eq__(self, other):
                return True

            __array_priority__ = 1e9
            shape, dtype, ndim = (5, 3), np.dtype(float), 2
            __lt__ = __le__ = __gt__ = __ge__ = __eq__
            __hash__ = None

        assert failed_checks(softmax_trial()(lambda scores: Yes())) == ["type"]

    def test_an_array_that_equals_everything(self):
        class Yes(np.ndarray):
            def __eq__(self, other):
                return np.ones(self.shape, bool)

            def __sub__(self, other):
                return np.zeros(self.shape)

            __rsub__ = __sub__

            def __array_function__(self, *args, **kwargs):
                return True

            def __array_ufunc__(self, *args, **kwargs):
                return np.zeros(self.shape)

        result = softmax_trial()(lambda s: np.full(s.shape, 1 / len(s)).view(Yes))
        assert failed_checks(result) == ["values"]

    def test_a_number_that_changes(self):
        class Grows(int):
            calls = itertools.count()

            def __index__(self):
                return next(self.calls)

            __int__ = __float__ = __index__

            def __eq__(self, other):
                return True

            __hash__ = int.__hash__

        assert trial_of(make_count)(lambda d, bias: Grows(7)).outcome == "failed"
        assert trial_of(make_count)(lambda d, bias: Grows(1050624)).outcome == "passed"


def _spoils(scores):
    weights = softmax_of(scores)
    scores[0, 0] = 7.0
    return weights


class TestExceptions:
    def raising(self, error):
        def attempt(scores):
            raise error

        return softmax_trial()(attempt)

    def test_theirs(self):
        result = self.raising(ValueError("no idea"))
        assert (result.outcome, result.score) == ("error", 0)
        assert failed_checks(result) == ["runs"]
        assert [check.outcome for check in result.checks[1:]] == ["skipped"] * 7

    @pytest.mark.parametrize(
        ("error", "outcome"),
        [
            (NotImplementedError(), "missing"), (MemoryError(), "out_of_memory"),
            (SystemExit(0), "error"), (RecursionError("deep"), "error"), (StopIteration(), "error"),
            (AssertionError(), "error"), (GeneratorExit(), "error"),
        ],
    )  # fmt: skip
    def test_kinds(self, error, outcome):
        assert self.raising(error).outcome == outcome

    def test_a_message_that_does_harm(self):
        class Mine(Exception):
            def __str__(self):
                raise SystemExit

        assert "Mine: (its message could not be read)" in self.raising(Mine()).feedback

    def test_a_part_that_is_not_written(self):
        names = {}
        code = (
            "def helper(x):\n    raise NotImplementedError\n"
            "def softmax(scores):\n    return helper(scores)\n"
        )
        exec(compile(code, "submission: cell 2", "exec"), names)
        result = softmax_trial()(names["softmax"])
        assert result.outcome == "error"
        assert "Your code calls `helper`, which is not written yet." in result.feedback

    def test_a_branch_that_is_not_written(self):
        def softmax(scores):
            if scores.dtype == np.float32:
                raise NotImplementedError
            return softmax_of(scores)

        result = softmax_trial()(softmax)
        assert (result.outcome, result.score) == ("missing", 0)
        assert result.feedback.startswith(
            "softmax: not written yet in “float32” (n_k = 2, n_q = 4)"
        )

    def test_an_exception_goes_before_wrong_values(self):
        def attempt(scores):
            return scores["a"] if len(scores) == 4 else scores

        result = softmax_trial()(attempt)
        assert result.outcome == "error"
        assert result.feedback.startswith("softmax: an exception in “far apart”")


def observed_right():
    return softmax_trial().observe(softmax_of)


class TestStopped:
    @pytest.mark.parametrize("reason", ["timed_out", "out_of_memory", "crashed"])
    def test_the_reason_is_the_outcome(self, reason):
        trial = softmax_trial()
        first = trial.spec.cases[0].name
        result = judge(trial.spec, {first: Stopped(reason, "Your code did not end: why?")})
        assert (result.outcome, result.score) == (reason, 0)
        assert [check.outcome for check in result.checks] == ["failed"] + ["skipped"] * 7
        assert result.feedback.endswith("\n  Your code did not end: why?")

    def test_what_passed_before_it_was_reached(self):
        trial = softmax_trial()
        seen = observed_right()
        one, two = (case.name for case in trial.spec.cases[:2])
        result = judge(trial.spec, {one: seen[one], two: Stopped("timed_out", "Too slow.")})
        assert [check.outcome for check in result.checks] == ["failed"] + ["passed"] * 7

    def test_the_cases_before_it_may_say_why(self):
        """One too large for its memory has no explanations; those that were run have."""
        trial = softmax_trial()
        *rest, last = trial.spec.cases
        cases = (*rest, replace(last, explanations={}, kind="robustness"))
        name = trial.spec.mistakes[0].name
        seen = {case.name: case.explanations[name] for case in rest}
        seen[last.name] = Stopped("out_of_memory", "Too large.")
        result = judge(replace(trial.spec, cases=cases), seen)
        assert (result.outcome, result.misconceptions) == ("out_of_memory", (name,))
        right = {case.name: observed_right()[case.name] for case in rest}
        result = judge(replace(trial.spec, cases=cases), {**right, last.name: seen[last.name]})
        assert (result.outcome, result.misconceptions) == ("out_of_memory", ())

    def test_ours_costs_nothing(self):
        trial = softmax_trial()
        seen = {**observed_right(), "square": Stopped("infrastructure", "The zygote died.")}
        result = judge(trial.spec, seen)
        assert (result.outcome, result.score, result.checks) == ("infrastructure", None, ())
        assert result.feedback == (
            "softmax: could not be graded, through no fault of yours.\n  The zygote died."
        )

    def test_ours_wins_over_a_fault_of_theirs(self):
        trial = softmax_trial()
        seen = {**trial.observe(np.square), "square": Stopped("infrastructure", "Ours.")}
        assert judge(trial.spec, seen).score is None


class TestIncomplete:
    """Nobody passes by what was not observed."""

    def test_no_case(self):
        assert judge(softmax_trial().spec, {}).outcome == "infrastructure"
        empty = replace(softmax_trial().spec, cases=())
        assert judge(empty, {}).outcome == "infrastructure"

    def test_some_cases(self):
        seen = observed_right()
        del seen["square"]
        result = judge(softmax_trial().spec, seen)
        assert (result.outcome, result.score) == ("infrastructure", None)

    def test_an_observation_that_ends_early(self):
        trial = softmax_trial()
        seen = dict.fromkeys(observed_right(), ())
        result = judge(trial.spec, seen)
        assert (result.outcome, result.score) == ("crashed", 0)

    def test_cases_that_nobody_knows(self):
        trial = softmax_trial()
        assert judge(trial.spec, {**observed_right(), "other": ()}).outcome == "passed"


class TestSideEffects:
    def test_only_arguments_that_there_are(self):
        trial = softmax_trial()
        case = trial.spec.cases[0]
        (right,) = observed_right()[case.name]
        forged = replace(right, changed=("scores\x1b[2J", "nothing"))
        assert judge_case(trial.spec, case, [forged]) is None
        fault = judge_case(trial.spec, case, [replace(right, changed=("scores",))])
        assert fault.check == "arguments untouched"
        assert fault.message == (
            "expected `scores` to be left as it was, but the call changed it; work on a copy"
        )

    def test_a_reference_that_changes_its_argument(self):
        @exercise(points=1)
        def fill(x):
            x[:] = 1.0
            return x

        @fill.case("in place", kind="robustness")
        def in_place(rng):
            return {"x": rng.normal(size=3)}

        trial = trial_of(lambda: fill)
        assert trial(lambda x: np.add(x * 0, 1, out=x)).outcome == "passed"


class TestScore:
    def test_a_misconception_may_carry_credit(self):
        result = softmax_trial()(lambda s: softmax_of(s.T.copy()).T)
        assert (result.misconceptions, result.score) == (("over_queries",), 2.0)

    def test_a_check_that_holds_everywhere_may_too(self):
        result = softmax_trial()(lambda s: softmax_of(1.5 * s))
        assert (result.misconceptions, result.score) == ((), 1.0)

    def test_not_one_that_fails_after_another(self):
        result = softmax_trial()(lambda s: -softmax_of(s))
        assert failed_checks(result) == ["no weight is negative"]
        assert result.score == 0

    @pytest.mark.parametrize("factor", [np.nan, "shape", "raise"])
    def test_not_one_that_was_not_reached(self, factor):
        def attempt(scores):
            if len(scores) == 5:
                return softmax_of(1.5 * scores)
            if factor == "raise":
                raise ValueError
            return softmax_of(scores)[0] if factor == "shape" else softmax_of(scores) * factor

        assert softmax_trial()(attempt).score == 0

    def test_not_one_that_would_hold_where_it_was_not_reached(self):
        def make():
            @exercise(points=1, checks=[not_negative("no entry is negative", credit=0.5)])
            def double(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
                return 2 * x

            @double.case("a case", kind="robustness")
            def a_case(rng):
                return {"x": rng.uniform(size=3)}

            return double

        assert trial_of(make)(lambda x: 3 * x).score == 0.5
        assert trial_of(make)(lambda x: x + np.inf).score == 0

    @pytest.mark.parametrize(
        ("points", "credits", "score"),
        [
            (1, (1 / 3, 1 / 3, 1 / 3), 1.0),  # not 0.33 three times
            (1, (0.1, 0.2), 0.3),
            (0.135, (0.5, 0.5), 0.135),  # rounding does not give more than there is
            (2.5, (1 / 3,), 0.83),
        ],
    )
    def test_shares_are_added_first_and_rounded_once(self, points, credits, score):
        def make():
            checks = [not_negative(f"line {n}", credit=c) for n, c in enumerate(credits)]

            @exercise(points=points, checks=checks)
            def double(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
                return 2 * x

            @double.case("a case", kind="robustness")
            def a_case(rng):
                return {"x": rng.uniform(size=3)}

            return double

        result = trial_of(make)(lambda x: x * x)
        assert result.outcome == "failed"
        assert result.score == score

    def test_the_larger_share_counts(self):
        def global_maximum(scores):
            powers = np.exp(scores - np.amax(scores))
            return powers / powers.sum(axis=0)

        result = softmax_trial()(global_maximum)
        assert result.misconceptions == ("global_maximum",)
        assert result.score == 0.5  # NaN: what the check earns was not reached

    def test_missing_and_infrastructure(self):
        spec = softmax_trial().spec
        assert (missing(spec).outcome, missing(spec).score) == ("missing", 0.0)
        assert [check.message for check in missing(spec).checks][:2] == ["not written yet", ""]
        assert infrastructure(spec, "why").score is None
        assert check_names(spec)[0] == "runs"


class TestAuthorsChecks:
    def trial(self, function, **options):
        def make():
            @exercise(points=1)
            def double(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
                return 2 * x

            double.check("a line", **options)(function)

            @double.case("shown", kind="robustness")
            def shown(rng):
                return {"x": rng.normal(size=3)}

            @double.case("kept back", kind="robustness", hidden=True)
            def kept_back(rng):
                return {"x": rng.normal(size=4)}

            return double

        return trial_of(make)

    def test_a_sentence(self):
        trial = self.trial(lambda view: f"there are {len(view.result)} entries")
        result = trial(lambda x: 2 * x)
        assert failed_checks(result) == ["a line"]
        assert "There are 3 entries." in result.feedback

    def test_of_a_hidden_case_nothing_is_told(self):
        def only_hidden(view):
            return f"the entries are {view.result}" if len(view.result) == 4 else None

        result = self.trial(only_hidden)(lambda x: 2 * x)
        assert result.feedback == (
            "double: “a line” fails in a hidden case (float64, n = 4)\n"
            "  It does not hold here.\n"
            "  Next: try your code on inputs of this kind and these sizes."
        )

    def test_one_that_raises_is_ours(self):
        trial = self.trial(lambda view: view.nothing)
        with pytest.raises(PackFault, match="raised AttributeError"):
            trial(lambda x: 2 * x)

    def test_it_sees_the_values_it_judges_and_cannot_change_them(self):
        def check(view):
            assert view.expected.tolist() == (2 * view.arguments["x"]).tolist()
            try:
                view.expected[:] = 0
            except ValueError:
                return None
            return "expected values were changed"

        assert self.trial(check)(lambda x: x + x).outcome == "passed"

    def test_a_verdict_takes_the_place_of_values(self):
        trial = self.trial(lambda view: Verdict(None, ()))
        assert trial(lambda x: 3 * x).outcome == "passed"
        assert trial(lambda x: 3 * x[:1]).outcome == "failed"
        assert trial(lambda x: x * np.nan).outcome == "failed"


# --- anything at all ---------------------------------------------------------------------

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5)
DTYPES = st.sampled_from(
    ["bool", "int8", "uint64", "float16", "float32", "float64", "complex64", "U3", "O", "S2"]
)


@st.composite
def perturbed(draw, shape=(5, 3)):
    """The right answer with something done to it, which may be nothing."""
    kind = draw(st.sampled_from(["noise", "entry", "nan", "scale", "dtype", "order", "cut"]))

    def apply(right):
        right = np.array(right)
        where = draw(st.tuples(*(st.integers(0, size - 1) for size in right.shape)))
        if kind == "noise":
            return right + draw(st.sampled_from([0.0, 1e-14, 1e-7, 1e-3])) * np.cos(right * 99)
        if kind == "entry":
            right[where] += draw(st.floats(-1, 1))
        if kind == "nan":
            right[where] = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
        if kind == "scale":
            right = right * draw(st.floats(0.999, 1.001))
        if kind == "dtype":
            right = right.astype(draw(st.sampled_from(["f2", "f4", "f8", "i8", "?", "c16"])))
        if kind == "order":
            right = draw(st.permutations(list(right)))
        if kind == "cut":
            right = right[: draw(st.integers(0, 5))]
        return right

    return apply


def is_right(observed, expected):
    """An opinion of its own on whether a value is right: generous, but never on a wrong one."""
    try:
        got = observed.data if isinstance(observed, Array) else np.array(observed, dtype=object)
        if isinstance(observed, (list, tuple)):
            got = np.array([item.data if isinstance(item, Array) else item for item in observed])
        got = np.asarray(got, dtype=float)
    except (TypeError, ValueError):
        return False
    return got.shape == expected.shape and bool((np.abs(got - expected) < 3e-4).all())


class TestAnything:
    """A submission may return, raise or forge what it likes."""

    def judged(self, outcome):
        trial = softmax_trial()
        seen = observed_right()
        case = trial.spec.cases[0]
        result = judge(trial.spec, {**seen, case.name: outcome})
        assert result.score is not None and 0 <= result.score <= 4
        assert (result.outcome == "passed") == (result.score == 4)
        return result, case.expected[0].value.data

    @relaxed
    @given(values)
    def test_any_value(self, value):
        result, expected = self.judged([Observed(value)])
        if result.outcome == "passed":
            assert is_right(value, expected)

    @relaxed
    @given(perturbed())
    def test_something_like_the_right_value(self, change):
        value = {}

        def attempt(scores):
            value[scores.shape] = change(softmax_of(scores))
            return value[scores.shape]

        trial = softmax_trial()
        case = trial.spec.cases[0]
        from autograder.observe.inprocess import observe

        seen = observe({"softmax": attempt}, case.program)
        result, expected = self.judged(seen)
        if result.outcome == "passed":
            assert is_right(seen[0].value, expected)

    @relaxed
    @given(DTYPES.flatmap(lambda dtype: hnp.arrays(dtype, SHAPES)))
    def test_any_array(self, array):
        result = softmax_trial()(lambda scores: array)
        assert result.outcome == "failed"

    @relaxed
    @given(
        st.builds(
            Raised,
            st.text() | st.sampled_from(["Missing", "Unfit", "MemoryError", "ValueError"]),
            st.lists(st.text(), max_size=3).map(tuple),
            st.text(),
            st.none() | st.integers(),
            st.none() | st.text(),
            st.none() | st.text(),
        )
    )
    def test_any_exception(self, raised):
        result, _ = self.judged([Observed(raised=raised)])
        assert result.outcome in ("error", "missing", "out_of_memory")
        assert result.score == 0
        assert all(line == line.strip("\r\x0b\x0c") for line in result.feedback.split("\n"))
        assert len(result.feedback) < 2000

    @relaxed
    @given(
        st.lists(
            st.builds(
                Observed,
                values,
                st.none(),
                st.lists(st.text(max_size=3) | st.just("scores"), max_size=3).map(tuple),
                st.dictionaries(st.text(max_size=3), values, max_size=2),
            ),
            max_size=3,
        )
    )
    def test_any_observation(self, observed):
        result, expected = self.judged(observed)
        if result.outcome == "passed":
            assert is_right(observed[0].value, expected)
            assert "scores" not in observed[0].changed

    @relaxed
    @given(values, values)
    def test_any_value_for_several(self, one, other):
        trial = trial_of(make_pair)
        for value in (one, [one, other], (one, other, one)):
            seen = {case.name: [Observed(value)] for case in trial.spec.cases}
            assert judge(trial.spec, seen).outcome == "failed"

    @relaxed
    @given(values)
    def test_any_value_for_a_number(self, value):
        result = judge(trial_of(make_count).spec, {"large": [Observed(value)]})
        passed = result.outcome == "passed"
        assert not passed or is_right(value, np.asarray(1050624.0))

    @relaxed
    @given(st.integers(-(2**63), 2**63 - 1))
    def test_any_whole_number(self, value):
        result = judge(trial_of(make_count).spec, {"large": [Observed(value)]})
        assert (result.outcome == "passed") == (value == 1050624)


class TestOtherResults:
    """Of references that return neither arrays nor numbers."""

    def trial(self, reference):
        def make():
            made = exercise(points=1)(reference)

            @made.case("a case", kind="robustness")
            def a_case(rng):
                return Program((Call(made.name),))

            return made

        return trial_of(make)

    def test_text(self):
        def f():
            return "right"

        trial = self.trial(f)
        assert trial(lambda: "right").outcome == "passed"
        assert "Expected “right”, got “wr�ong”." in trial(lambda: "wr\x1bong").feedback
        assert "Expected a string, got the number 3." in trial(lambda: 3).feedback

    def test_nothing(self):
        def f():
            return None

        assert self.trial(f)(lambda: None).outcome == "passed"
        assert failed_checks(self.trial(f)(lambda: 3)) == ["type"]

    def test_a_dictionary(self):
        def f():
            return {"a": np.ones(2), "b": {"c": 3}}

        trial = self.trial(f)
        assert trial(lambda: {"b": {"c": 3.0}, "a": [1.0, 1.0]}).outcome == "passed"
        wrong = trial(lambda: {"a": np.ones(2), "b": {"c": 4}})
        assert "B: c: expected 3, got 4." in wrong.feedback or "b: c: expected 3" in wrong.feedback
        assert trial(lambda: {"a": np.ones(2)}).outcome == "failed"
        assert trial(lambda: [1, 2]).outcome == "failed"

    def test_sequences_in_sequences(self):
        def f():
            return [[np.ones(2), np.ones(3)], [np.zeros(2), "text"]]

        trial = self.trial(f)
        assert trial(f).outcome == "passed"
        wrong = trial(lambda: [[np.ones(2), np.ones(3)], [np.zeros(2) + 1, "text"]])
        assert failed_checks(wrong) == ["values"]
        assert "return value 2: 1: at [0], expected 0, got 1" in wrong.feedback.lower()
        assert trial(lambda: [[np.ones(2), np.ones(3)], [np.zeros(2)]]).outcome == "failed"

    def test_a_list_of_one(self):
        def f():
            return [{"a": 1}]

        assert self.trial(f)(f).outcome == "passed"
        assert self.trial(f)(lambda: [{"a": 2}]).outcome == "failed"

    def test_an_object(self):
        def f():
            return object()

        assert self.trial(f)(lambda: object()).outcome == "passed"
        result = self.trial(f)(lambda: type("\x1b[2J", (), {})())
        assert "Expected a value of type object, got a value of type �[2J." in result.feedback

    def test_an_object_forged(self):
        trial = self.trial(lambda: object())
        seen = {"a_case": [Observed(Opaque("object"))]}
        assert judge(trial.spec, seen).outcome == "passed"

    def test_a_result_too_large_to_be_sent(self):
        @exercise(points=1)
        def ones() -> Float[np.ndarray, "n"]:
            return np.ones(4)

        @ones.case("a case", kind="robustness")
        def a_case(rng):
            return Program((Call("ones"),))

        spec = trial_of(lambda: ones).spec
        result = judge(spec, {"a_case": [Observed(Array("float64", (4,), None))]})
        assert "Expected an array, got one too large to be compared." in result.feedback

    def test_nan_is_expected_of_nobody(self):
        def f():
            return np.array([np.nan, 1.0])

        assert self.trial(f)(f).outcome == "failed"

    def test_infinity_may_be(self):
        def f():
            return np.array([-np.inf, 1.0])

        trial = self.trial(f)
        assert trial(lambda: [-np.inf, 1]).outcome == "passed"
        for wrong in ([np.inf, 1.0], [-1e308, 1.0], [np.nan, 1.0], [-np.inf, np.inf]):
            assert trial(lambda wrong=wrong: wrong).outcome == "failed"

    def test_a_tensor_forged_for_numpy(self):
        trial = softmax_trial()
        case = trial.spec.cases[0]
        right = observed_right()[case.name][0].value
        forged = array_from_numpy(right.data, "torch")
        fault = judge_case(trial.spec, case, [Observed(forged)])
        assert fault.message == "expected a NumPy array, got a tensor of shape (5, 3)"
