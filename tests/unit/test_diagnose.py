"""The cause is named when it is known, and nothing is named when nothing fits."""

from dataclasses import replace

import numpy as np
import pytest
from jaxtyping import Float

from autograder import Interval, Program, Verdict, exercise
from autograder.diagnose import Diagnosis, diagnose
from autograder.judge import judge_case
from autograder.likeness import (
    Likeness,
    likeness,
    same_outcome,
    same_value,
    summaries_agree,
)
from autograder.observe.protocol import Array, Opaque, array_from_numpy
from autograder.observe.session import Stopped
from autograder.program import Call, Observed, Raised
from autograder.specification import Case, ExerciseSpec
from tests.unit.trial import trial_of

# ruff: noqa: F821 (axes in annotations are no names)


def make_rows():
    """Four cases, of which one is unusual; mistakes that agree in some of them."""

    @exercise(points=1)
    def scaled(x: Float[np.ndarray, "n"], d: int) -> Float[np.ndarray, "n"]:
        return x / np.sqrt(d)

    @scaled.case("a width of 3", separates=["not_at_all", "by_d"])
    def three(rng):
        return {"x": rng.normal(size=4), "d": 3}

    @scaled.case("a width of 1", kind="robustness")
    def one(rng):
        return {"x": rng.normal(size=4), "d": 1}

    @scaled.case("zeros", kind="robustness")
    def zeros(rng):
        return {"x": np.zeros(3), "d": 5}

    @scaled.case("a width of 4, huge", kind="robustness")
    def huge(rng):
        return {"x": 1e200 * rng.normal(size=4), "d": 4}

    @scaled.misconception("Does not scale.", hint="What was d for?")
    def not_at_all(x, d):
        return x.copy()

    @scaled.misconception("Divides by d.", hint="What is under the root?")
    def by_d(x, d):
        return x / d

    @scaled.misconception("Scales in place.", hint="Whose array is it?")
    def in_place(x, d):
        x /= np.sqrt(d)
        return x

    @scaled.misconception("Transposes what has one axis.", hint="How many axes are there?")
    def raises(x, d):
        raise TypeError("two axes are needed")

    return scaled


def diagnosed(implementation, make=make_rows):
    trial = trial_of(make)
    seen = trial.observe(implementation)
    failing = [
        case.name
        for case in trial.spec.cases
        if judge_case(trial.spec, case, seen[case.name]) is not None
    ]
    return diagnose(trial.spec, seen, failing)


class TestNames:
    def test_one_that_equals_everywhere(self):
        assert diagnosed(lambda x, d: x * 1.0) == Diagnosis(("not_at_all",), 2, 2)
        assert diagnosed(lambda x, d: x * d**-1.0) == Diagnosis(("by_d",), 2, 2)

    def test_equal_values_are_not_enough_when_the_argument_was_changed(self):
        assert diagnosed(lambda x, d: np.divide(x, d**0.5, out=x)).names == ("in_place",)

    def test_a_copy_is_not_what_works_in_place(self):
        def make():
            @exercise(points=1)
            def double(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
                return 2 * x

            @double.case("three", separates=["in_place"])
            def three(rng):
                return {"x": rng.normal(size=3)}

            @double.misconception("Triples in place.", hint="Whose array is it?")
            def in_place(x):
                x *= 3
                return x

            return double

        assert diagnosed(lambda x: 3 * x, make).names == ()
        assert diagnosed(lambda x: np.multiply(x, 3, out=x), make).names == ("in_place",)

    @pytest.mark.parametrize(
        "attempt",
        [
            lambda x, d: x / np.sqrt(d) + 1e-3,
            lambda x, d: x / d**0.25,
            lambda x, d: x / d if d == 3 else 2 * x,
            lambda x, d: np.full_like(x, np.nan),
            lambda x, d: x[:1],
            lambda x, d: None,
            lambda x, d: "text",
        ],
    )
    def test_nothing_when_nothing_fits(self, attempt):
        assert diagnosed(attempt) == Diagnosis()

    def test_a_passed_case_can_contradict(self):
        def attempt(x, d):
            return x / d if d == 3 else x / np.sqrt(d)

        trial = trial_of(make_rows)
        assert diagnosed(attempt).names == ()
        # by_d gives another result where the attempt is right
        seen = trial.observe(attempt)
        assert diagnose(trial.spec, seen, ["three"]).names == ()

    def test_a_stopped_case_is_no_match(self):
        trial = trial_of(make_rows)
        seen = trial.observe(lambda x, d: x + 0)
        seen["three"] = Stopped("timed_out", "Too slow.")
        assert diagnose(trial.spec, seen, ["three", "huge"]) == Diagnosis()

    def test_cases_that_were_not_observed_have_no_say(self):
        trial = trial_of(make_rows)
        seen = {"three": trial.observe(lambda x, d: x + 0)["three"]}
        assert diagnose(trial.spec, seen, ["three"]).names == ("not_at_all",)


class TestMajority:
    """A student's variation may part from ours on unusual inputs."""

    @staticmethod
    def make():
        @exercise(points=1)
        def f(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
            return x

        for kind, count in (("separating", 1), ("robustness", 4)):
            for number in range(count):

                def case(rng, number=number):
                    return {"x": rng.normal(size=number + 2)}

                case.__name__ = f"{kind}_{number}"
                f.case(case.__name__, kind=kind, separates=["double"])(case)

        @f.misconception("Doubles.", hint="Why?")
        def double(x):
            return 2 * x

        @f.misconception("Doubles what is short.", hint="Why?")
        def double_short(x):
            return 2 * x if len(x) < 5 else x + 1

        return f

    @pytest.mark.parametrize(
        ("odd_sizes", "names"),
        [
            ((), (("double",), 5)),
            ((5,), (("double",), 4)),
            ((4, 5), (("double",), 3)),
            ((3, 4, 5), ((), 0)),
            ((2, 3), ((), 0)),
            ((2,), ((), 0)),  # the separating case, and a robustness case of that size
        ],
    )
    def test_of_the_failing_cases(self, odd_sizes, names):
        def attempt(x):
            return 3 * x if len(x) in odd_sizes else x + x

        found = diagnosed(attempt, self.make)
        assert (found.names, found.matching) == names
        assert found.failing == (5 if names[0] else 0)

    def test_half_of_them_is_not_enough(self):
        def attempt(x):  # right for two numbers, doubled for three and four, else tripled
            return x * (1 if len(x) == 2 else 2 if len(x) < 5 else 3)

        def make():
            made = self.make()
            made.misconceptions = [
                replace(made.misconceptions[0], implementation=lambda x: x * (1 + (len(x) > 2)))
            ]
            made.cases.append(replace(made.cases[-1], name="more", function=lambda rng: {
                "x": rng.normal(size=6)
            }))  # fmt: skip
            return made

        found = diagnosed(attempt, make)
        assert found == Diagnosis()
        assert diagnosed(lambda x: attempt(x) if len(x) != 5 else 2 * x, make).matching == 3

    def test_the_better_match_wins(self):
        assert diagnosed(lambda x: x * 2 if len(x) < 5 else x + 1, self.make).names == (
            "double_short",
        )

    def test_the_feedback_says_in_how_many(self):
        result = trial_of(self.make)(lambda x: 3 * x if len(x) == 5 else x + x)
        assert "Your results equal those of this mistake in 4 of the 5 cases that fail." in (
            result.feedback
        )


class TestExceptions:
    def test_the_same_exception_with_the_same_message(self):
        def attempt(x, d):
            raise TypeError("two axes are needed")

        assert diagnosed(attempt).names == ("raises",)

    def test_one_of_the_same_type_alone_is_no_evidence(self):
        def attempt(x, d):
            raise TypeError("something else")

        assert diagnosed(attempt).names == ()

    def test_it_is_when_values_agree_elsewhere(self):
        def make():
            @exercise(points=1)
            def first(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, ""]:
                return x[0]

            @first.case("three", separates=["last"])
            def three(rng):
                return {"x": rng.normal(size=3)}

            @first.case("four", separates=["last"])
            def four(rng):
                return {"x": rng.normal(size=4)}

            @first.misconception("Takes the fourth.", hint="Where does counting start?")
            def last(x):
                return x[3]

            return first

        def attempt(x):
            if len(x) < 4:
                raise IndexError("my own words")
            return x[-1]

        assert diagnosed(attempt, make) == Diagnosis(("last",), 2, 2)

    def test_one_of_the_same_type_is_when_an_exception_is_asked_for(self):
        def make():
            @exercise(points=1)
            def root(x: float) -> float:
                if x < 0:
                    raise ValueError("there is none")
                return x**0.5

            @root.case("a square", separates=["half"])
            def square(rng):
                return {"x": 9.0}

            @root.case("a negative number", separates=["asserts"], raises=ValueError)
            def negative(rng):
                return {"x": -1.0}

            @root.misconception("Halves.", hint="What is the root of 9?")
            def half(x):
                return x / 2

            @root.misconception("Asserts.", hint="Which exception is asked for?")
            def asserts(x):
                assert x >= 0, "there is none"
                return x**0.5

            return root

        def attempt(x):
            assert x >= 0, "my own words"
            return x**0.5

        assert diagnosed(attempt, make) == Diagnosis(("asserts",), 1, 1)

    def test_another_type(self):
        def attempt(x, d):
            raise ValueError("two axes are needed")

        assert diagnosed(attempt).names == ()


class TestStatistics:
    def interval(self, value, width=0.1, name="mean"):
        return Interval(name, value, width)

    def test_intervals(self):
        assert self.interval(1.0).agrees_with(self.interval(1.15))
        assert not self.interval(1.0).agrees_with(self.interval(1.25))
        assert self.interval(1.0, 0.0).agrees_with(self.interval(1.0, 0.0))
        assert not self.interval(np.nan).agrees_with(self.interval(np.nan))
        assert not self.interval(1.0).agrees_with(self.interval(np.inf))

    def test_summaries(self):
        one = [self.interval(1.0), self.interval(2.0, name="std")]
        assert summaries_agree(one, one[::-1])
        assert not summaries_agree(one, one[:1])
        assert not summaries_agree(one, [self.interval(1.0), self.interval(9.0, name="std")])
        assert not summaries_agree(one, [self.interval(1.0), self.interval(2.0, name="other")])

    @staticmethod
    def make(summary):
        def make():
            @exercise(points=1)
            def f(n: int) -> float:
                return 1.0

            @f.check("a line")
            def check(view):
                wrong = abs(float(view.result) - 1.0) > 0.5
                return Verdict("it is off" if wrong else None, summary(float(view.result)))

            @f.case("a case", separates=["two"])
            def case(rng):
                return {"n": 3}

            @f.misconception("Gives two.", hint="Why?")
            def two(n):
                return 2.0

            return f

        return make

    def test_agreement_names(self):
        make = self.make(lambda result: (Interval("mean", result, 0.1),))
        assert diagnosed(lambda n: 2.15, make) == Diagnosis(("two",), 1, 1, statistical=True)
        assert diagnosed(lambda n: 2.5, make) == Diagnosis()

    def test_an_empty_summary_agrees_with_nothing(self):
        make = self.make(lambda result: ())
        assert diagnosed(lambda n: 3.0, make) == Diagnosis()
        assert diagnosed(lambda n: 2.0, make) == Diagnosis(("two",), 1, 1)

    def test_a_check_that_raises_is_left_out(self):
        make = self.make(lambda result: 1 / 0)
        trial = trial_of(lambda: make())
        seen = trial.observe(lambda n: 2.0)
        (case,) = trial.spec.cases
        assert same_outcome(trial.spec, case, seen["case"], case.explanations["two"])


ARRAY = array_from_numpy(np.array([1.0, np.nan]))


class TestSame:
    """Whether two results are the same, whatever they are."""

    @pytest.mark.parametrize(
        "value",
        [
            None, "text", 3, 3.5, True, ARRAY, Opaque("T"), [], ["a", None], [ARRAY, "a"],
            {"a": ARRAY, "b": None}, [{"a": 1}], Array("float64", (9,), None),
        ],
    )  # fmt: skip
    def test_a_value_is_the_same_as_itself(self, value):
        assert same_value(value, value, value)
        assert same_value(value, value, None)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            (None, 0), ("text", "Text"), ("text", None), (3, "3"), (3, 4), (3.0, np.inf),
            (ARRAY, array_from_numpy(np.array([1.0, 2.0]))), (ARRAY, None),
            (ARRAY, array_from_numpy(np.array([[1.0, np.nan]]))), (Opaque("T"), Opaque("S")),
            (["a"], ["a", "a"]), (["a"], ["b"]), ([ARRAY, "a"], [ARRAY, "b"]),
            ([array_from_numpy(np.ones(2)), "a"], [array_from_numpy(np.zeros(2)), "a"]),
            ({"a": 1}, {"a": 2}), ({"a": 1}, {"b": 1}), ({"a": 1}, [1]), (ARRAY, {"a": 1}),
            (Array("float64", (9,), None), array_from_numpy(np.ones(9))),
        ],
    )  # fmt: skip
    def test_others_are_not(self, one, other):
        for left, right in ((one, other), (other, one)):
            for wanted in (None, one, [1, 2]):
                assert not same_value(left, right, wanted)

    def test_forms_do_not_matter(self):
        array = array_from_numpy(np.ones((2, 3)))
        single = array_from_numpy(np.ones((2, 3), np.float32) + np.float32(1e-6))
        lists = array_from_numpy(np.ones((2, 3)), "list")
        assert same_value(array, lists, array)
        assert same_value(single, array, array)
        pair = [array_from_numpy(np.ones(3))] * 2
        assert same_value(array, pair, pair)  # two values, or an array of two rows

    def spec_and_case(self, *expected):
        steps = tuple(Call("f") for _ in expected)
        case = Case("c", "title", Program(steps), tuple(expected))
        return ExerciseSpec("f", 1.0, (case,)), case

    def test_observations_of_other_lengths(self):
        spec, case = self.spec_and_case(Observed(1), Observed(2))
        assert not same_outcome(spec, case, [Observed(1)], [Observed(1), Observed(2)])

    def test_where_the_reference_raised(self):
        raised = Raised("ValueError", (), "why")
        spec, case = self.spec_and_case(Observed(raised=raised))
        pair = [Observed([ARRAY, ARRAY])]
        other = [Observed([ARRAY, array_from_numpy(np.zeros(2))])]
        assert likeness(spec, case, pair, pair) is Likeness.EQUAL
        assert not same_outcome(spec, case, pair, other)
        assert not same_outcome(spec, case, pair, [Observed(raised=raised)])

    def test_how_exceptions_are_alike(self):
        spec, case = self.spec_and_case(Observed(1))
        one = [Observed(raised=Raised("ValueError", (), "why"))]
        two = [Observed(raised=Raised("ValueError", (), "how"))]
        three = [Observed(raised=Raised("TypeError", (), "why"))]
        assert likeness(spec, case, one, one) is Likeness.EQUAL
        assert likeness(spec, case, one, two) is Likeness.SAME_EXCEPTION
        assert likeness(spec, case, one, three) is None

    def test_more_was_observed_than_the_reference_gave(self):
        spec, case = self.spec_and_case(Observed(1))
        longer = [Observed(1), Observed(2)]
        program = Program((Call("f"), Call("f")))
        case = Case("c", "title", program, case.expected)
        assert same_outcome(spec, case, longer, longer)
        assert not same_outcome(spec, case, longer, [Observed(1), Observed(3)])
