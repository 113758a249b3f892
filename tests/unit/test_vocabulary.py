"""Every kind of exercise, from the authoring API to a result: those that need no torch."""

# ruff: noqa: F821 (axes in annotations are no names)

import numpy as np
import pytest
from jaxtyping import Float

from autograder import (
    Call,
    Generator,
    Interval,
    Probe,
    Program,
    ReadAxes,
    Slot,
    Verdict,
    exercise,
)
from autograder.observe.session import Refused
from tests.unit.trial import both_ways, failed_checks, over_the_wire, trial_of

# --- a generator argument ----------------------------------------------------------------


def make_mean_of_draws():
    @exercise(points=3)
    def mean_of_draws(n: int, rng: np.random.Generator) -> float:
        return float(rng.standard_normal(n).mean())

    @mean_of_draws.check("the mean varies as it should")
    def varies(view):
        values = np.array([float(call.result) for call in view.calls])
        repeats = abs(values[0] - values[-1]) < 1e-9
        spread = values[:-1].std() * np.sqrt(view.arguments["n"])
        summary = (
            Interval("repeats", float(repeats), 0.0),
            Interval("spread", float(spread), 0.35),
        )
        if not repeats:
            return Verdict("one state of the generator gave two results", summary)
        if not 0.65 < spread < 1.35:
            return Verdict(f"the spread is {spread:.2g}, expected 1", summary)
        return Verdict(None, summary)

    @mean_of_draws.case("sixty generators", separates=["sums"])
    def sixty(rng):
        first = int(rng.integers(2**31))
        return [{"n": 25, "rng": Generator(seed)} for seed in (*range(first, first + 60), first)]

    @mean_of_draws.misconception("Adds up instead of averaging.", hint="How many were drawn?")
    def sums(n, rng):
        return float(rng.standard_normal(n).sum())

    return mean_of_draws


class TestGenerator:
    @pytest.fixture
    def trial(self):
        return trial_of(make_mean_of_draws)

    def test_other_draws_of_the_right_kind_pass(self, trial):
        assert trial(lambda n, rng: rng.normal(size=(n, 1)).mean()).outcome == "passed"

    def test_statistics_decide_and_the_mistake_is_named(self, trial):
        result = trial(lambda n, rng: np.add.reduce(rng.normal(size=n)[::-1]))
        assert failed_checks(result) == ["the mean varies as it should"]
        assert result.misconceptions == ("sums",)
        assert "Your results agree with those of this mistake." in result.feedback

    def test_another_source_of_randomness_fails(self, trial):
        def attempt(n, rng):
            return np.random.normal(size=n).mean()

        result = trial(attempt)
        assert result.outcome == "failed"
        assert "one state of the generator gave two results" in result.checks[4].message.lower()
        assert result.misconceptions == ()


# --- a callable argument -----------------------------------------------------------------

MODELS = """
import numpy as np

def keeps(x):
    return x - x.mean(axis=0)

def positional(x):
    return x + np.arange(len(x))[:, None]

class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x
"""


def make_is_equivariant():
    @exercise(points=2)
    def is_equivariant(f, x: Float[np.ndarray, "n d"], permutation) -> bool:
        return bool(np.allclose(f(x[permutation]), f(x)[permutation]))

    def arguments(rng, probe):
        return {"f": probe, "x": rng.normal(size=(4, 3)), "permutation": np.array([2, 0, 3, 1])}

    @is_equivariant.case("a centred function", separates=["invariance"])
    def centred(rng):
        return arguments(rng, Probe(MODELS, "keeps"))

    @is_equivariant.case("positions are added", separates=["always"])
    def positions(rng):
        return arguments(rng, Probe(MODELS, "positional"))

    @is_equivariant.case("an object of a class", separates=["invariance"])
    def of_a_class(rng):
        return arguments(rng, Probe(MODELS, "Scaled", (np.array([1.0, 2.0, 3.0]),)))

    @is_equivariant.misconception("Tests invariance.", hint="Which rows belong together?")
    def invariance(f, x, permutation):
        return bool(np.allclose(f(x[permutation]), f(x)))

    @is_equivariant.misconception("Always says yes.", hint="Did you call f?")
    def always(f, x, permutation):
        return True

    return is_equivariant


class TestCallable:
    @pytest.fixture
    def trial(self):
        return trial_of(make_is_equivariant)

    @pytest.mark.parametrize("answer", [bool, np.bool_, np.asarray, int])
    def test_right_in_any_form(self, trial, answer):
        def attempt(f, x, permutation):
            return answer(np.abs(f(x[permutation]) - f(x)[permutation]).max() < 1e-6)

        assert trial(attempt).outcome == "passed"

    def test_wrong(self, trial):
        result = trial(lambda f, x, p: np.allclose(f(x)[p], f(x)))
        assert result.misconceptions == ("invariance",)
        assert "Expected True, got False." in result.feedback

    def test_the_function_itself_is_no_answer(self, trial):
        result = trial(lambda f, x, p: f)
        assert failed_checks(result) == ["type"]
        assert "Expected True or False, got a value of type function." in result.feedback


# --- a matplotlib Axes -------------------------------------------------------------------

OWN_AXES = """
def make():
    from matplotlib import pyplot
    return pyplot.subplots()[1]
"""


def make_heatmap():
    @exercise(points=4, axes_needed=True)
    def heatmap(weights: Float[np.ndarray, "n_q n_k"], queries, keys, ax=None):
        from matplotlib import pyplot

        ax = pyplot.gca() if ax is None else ax
        ax.imshow(weights)
        ax.set_xticks(range(len(keys)), keys)
        ax.set_yticks(range(len(queries)), queries)
        return ax

    def arguments(rng):
        return {
            "weights": rng.dirichlet(np.ones(4), size=3),
            "queries": ["the", "cat", "the"],
            "keys": ["le", "chat", "noir", "le"],
        }

    @heatmap.case("three queries, four keys", separates=["upside_down", "transposed"])
    def alone(rng):
        return Program((heatmap.call(slot="made", **arguments(rng)), ReadAxes("made")))

    @heatmap.case("in an Axes of one's own", kind="robustness")
    def given(rng):
        call = heatmap.call(slot="made", **arguments(rng), ax=Probe(OWN_AXES, "make", ()))
        return Program((call, ReadAxes("made"), ReadAxes("made.ax")))

    @heatmap.misconception("Puts query 0 at the bottom.", hint="Where does reading begin?")
    def upside_down(weights, queries, keys, ax=None):
        from matplotlib import pyplot

        ax = pyplot.gca() if ax is None else ax
        ax.imshow(weights, origin="lower")
        ax.set_xticks(range(len(keys)), keys)
        ax.set_yticks(range(len(queries)), queries)
        return ax

    @heatmap.misconception("Draws the transpose.", hint="What goes across?")
    def transposed(weights, queries, keys, ax=None):
        from matplotlib import pyplot

        ax = pyplot.gca() if ax is None else ax
        ax.imshow(np.transpose(weights))
        ax.set_xticks(range(len(queries)), queries)
        ax.set_yticks(range(len(keys)), keys)
        return ax

    return heatmap


class TestAxes:
    @pytest.fixture
    def trial(self):
        matplotlib = pytest.importorskip("matplotlib")
        matplotlib.use("Agg")
        return trial_of(make_heatmap)

    @staticmethod
    def with_mesh(weights, queries, keys, ax=None, **options):
        from matplotlib import pyplot

        ax = pyplot.subplots()[1] if ax is None else ax
        ax.pcolormesh(np.asarray(weights, np.float32), **options)
        ax.set_xticks(np.arange(len(keys)) + 0.5, labels=keys)
        ax.set_yticks(np.arange(len(queries)) + 0.5, labels=queries)
        ax.set_title("attention")
        return ax

    def test_a_mesh_with_the_first_row_on_top(self, trial):
        def attempt(*args, **kwargs):
            ax = self.with_mesh(*args, **kwargs)
            ax.invert_yaxis()
            return ax

        assert trial(attempt).outcome == "passed"

    def test_a_mesh_as_it_comes_is_upside_down(self, trial):
        result = trial(self.with_mesh)
        assert failed_checks(result) == ["values"]
        assert result.misconceptions == ("upside_down",)

    def test_labels_that_are_swapped(self, trial):
        def attempt(weights, queries, keys, ax=None):
            ax = trial.exercise(weights, queries, keys, ax)
            ax.set_yticklabels(reversed(["un", *queries[1:]]))
            return ax

        result = trial(attempt)
        assert (
            "The labels of the rows, from the top: expected “the”, “cat”, “the”, "
            "got “the”, “cat”, “un”." in result.feedback
        )

    def test_another_axes_than_the_given_one(self, trial):
        def attempt(weights, queries, keys, ax=None):
            from matplotlib import pyplot

            return trial.exercise(weights, queries, keys, pyplot.figure().gca())

        result = trial(attempt)
        assert result.outcome == "failed"
        assert "The picture shows no values" in result.feedback

    @pytest.mark.parametrize(
        ("returned", "words"),
        [
            (None, "Expected a value of type Axes, got nothing (None)."),
            ("ax", "Expected a value of type Axes, got a string."),
            ([1], "Expected a value of type Axes, got a list of numbers of shape (1,)."),
        ],
    )
    def test_no_axes_at_all(self, trial, returned, words):
        result = trial(lambda *args, **kwargs: returned)
        assert failed_checks(result) == ["type"]
        assert words in result.feedback

    def test_figures_do_not_pile_up(self, trial):
        from matplotlib import pyplot

        kept = pyplot.figure()
        trial(self.with_mesh)
        assert pyplot.get_fignums() == [kept.number]
        pyplot.close(kept)


# --- an expected exception ---------------------------------------------------------------


def make_halve():
    @exercise(points=2)
    def halve(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "m"]:
        if len(x) % 2:
            raise ValueError("an odd number of entries cannot be halved")
        return x[: len(x) // 2]

    @halve.case("six numbers", kind="robustness")
    def six(rng):
        return {"x": rng.normal(size=6)}

    @halve.case("five numbers", separates=["rounds_down"], raises=ValueError)
    def five(rng):
        return {"x": rng.normal(size=5)}

    @halve.case("three numbers", kind="robustness", raises=ValueError, hidden=True)
    def three(rng):
        return {"x": rng.normal(size=3)}

    @halve.misconception("Rounds down in silence.", hint="What becomes of the last entry?")
    def rounds_down(x):
        return x[: len(x) // 2]

    return halve


class TestException:
    @pytest.fixture
    def trial(self):
        return trial_of(make_halve)

    @staticmethod
    def raising(error):
        def attempt(x):
            if len(x) % 2:
                raise error
            return x[: len(x) // 2]

        return attempt

    @pytest.mark.parametrize("error", [ValueError, UnicodeError("a subclass"), ValueError(3)])
    def test_itself_or_a_subclass(self, trial, error):
        assert trial(self.raising(error)).outcome == "passed"

    def test_nothing_raised(self, trial):
        result = trial(lambda x: x[: len(x) // 2])
        assert result.misconceptions == ("rounds_down",)
        assert result.feedback.split("\n")[:2] == [
            "halve: no exception in “five numbers” (n = 5); 2 of 3 cases fail",
            "  Expected ValueError to be raised, got an array of shape (2,).",
        ]

    @pytest.mark.parametrize("error", [TypeError("odd"), Exception("odd"), SystemExit(1)])
    def test_another_exception(self, trial, error):
        result = trial(self.raising(error))
        assert failed_checks(result) == ["values"]
        assert "halve: the wrong exception in “five numbers”" in result.feedback
        assert f"your code raised {type(error).__name__}" in result.feedback

    def test_none_where_none_is_expected(self, trial):
        def attempt(x):
            raise ValueError("always")

        result = trial(attempt)
        assert result.outcome == "error"
        assert "an exception in “six numbers”" in result.feedback


# --- a call that the grader answers ------------------------------------------------------


def make_mean_of_squares():
    @exercise(points=2, needs=["square"])
    def mean_of_squares(x: Float[np.ndarray, "n"]) -> float:
        return float(np.mean(np.square(x)))

    @mean_of_squares.case("answered", kind="robustness")
    def answered(rng):
        call = mean_of_squares.call(x=rng.normal(size=4))
        return Program((call,), answered=("square",))

    return mean_of_squares


STUDENT = """
def square(x):
    return x + x  # wrong, but the grader answers

def mean_of_squares(x):
    return {call}.mean()
"""


class TestAnswered:
    @pytest.fixture
    def trial(self):
        return trial_of(make_mean_of_squares)

    @staticmethod
    def student(call):
        names = {}
        exec(STUDENT.format(call=call), names)
        return names

    def judge(self, trial, names, ask):
        from autograder.judge import judge
        from autograder.observe.inprocess import observe

        program = trial.spec.cases[0].program
        return judge(trial.spec, {"answered": observe(names, program, ask)})

    @staticmethod
    def right(question):
        from autograder.observe.protocol import array_from_numpy

        assert question.name == "square"
        (x,) = [*question.args, *question.kwargs.values()]
        return array_from_numpy(x.data**2)

    @pytest.mark.parametrize("call", ["square(x)", "square(x=x)", "square(*[x])"])
    def test_right_given_right_parts(self, trial, call):
        names = self.student(call)
        own = names["square"]
        result = self.judge(trial, names, self.right)
        assert result.outcome == "passed"
        assert names["square"] is own

    def test_wrong_with_their_own_part(self, trial):
        names = self.student("square(x)")
        assert trial(names.pop("mean_of_squares"), ask=self.right, **names).outcome == "failed"

    def test_a_refusal_fails_the_call(self, trial):
        def ask(question):
            raise Refused("64 calls were answered; no more are")

        names = self.student("square(x)")
        result = self.judge(trial, names, ask)
        assert result.outcome == "error"
        assert "RuntimeError: 64 calls were answered; no more are" in result.feedback

    def test_over_the_wire(self, trial):
        from autograder.judge import judge

        names = self.student("square(x)")
        observed = over_the_wire(names, trial.spec.cases[0].program, self.right)
        assert judge(trial.spec, {"answered": observed}).outcome == "passed"

    def test_nobody_answers(self, trial):
        result = self.judge(trial, self.student("square(x)"), None)
        assert "nobody answers for square here" in result.feedback

    def test_calls_of_slots(self):
        program = Program((Call("make", slot="f"), Call(Slot("f"), (3,), slot="g")))

        assert both_ways({"make": lambda: lambda x: x + 1}, program)[1].value == 4
