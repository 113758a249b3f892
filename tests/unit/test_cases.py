"""What authors draw with, the bounds that they state, and how both travel."""

# ruff: noqa: F821 (axes in annotations are no names)

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jaxtyping import Float, Int  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from autograder import (  # noqa: E402
    Backward,
    Bound,
    Construct,
    DescribeModule,
    LoadWeights,
    Mode,
    exercise,
)
from autograder.cases import (  # noqa: E402
    called_again,
    changed_at,
    different_sizes,
    linear_weights,
    module_program,
    normal_tensor,
    visible_mask,
    with_gradients,
)
from autograder.checks import largest_allocation, no_leak  # noqa: E402
from autograder.exercise import AuthoringError  # noqa: E402
from autograder.judge import judge  # noqa: E402
from autograder.key_writing import make_key  # noqa: E402
from autograder.program import Call, Program  # noqa: E402
from autograder.selfcheck import load_key  # noqa: E402
from tests.unit.trial import Trial, failed_checks, trial_of  # noqa: E402


@pytest.fixture
def rng():
    return np.random.default_rng(0)


class TestInputs:
    def test_different_sizes(self, rng):
        for _ in range(50):
            sizes = different_sizes(rng, 4, low=2, high=5)
            assert sorted(sizes) == [2, 3, 4, 5]
            assert all(type(size) is int for size in sizes)
        with pytest.raises(AuthoringError, match="no 5 different sizes from 2 to 5"):
            different_sizes(rng, 5, low=2, high=5)

    def test_tensors(self, rng):
        made = normal_tensor(rng, 200, 30, size=1e3, dtype="bfloat16", grad=True)
        assert (made.dtype, made.shape, made.requires_grad) == (torch.bfloat16, (200, 30), True)
        assert made.float().std().item() == pytest.approx(1e3, rel=0.05)

    @pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
    def test_masks(self, rng, share):
        mask = visible_mask(rng, 3, 4, 5, share=share, empty_rows=[(0, 2), (1,)])
        seen = mask.sum(axis=-1)
        assert mask.dtype == bool
        assert (seen[0, 2], seen[1].sum()) == (0, 0)
        rest = np.delete(seen[0], 2).tolist() + seen[2].tolist()
        assert min(rest) >= 1
        assert max(rest) <= 4
        assert visible_mask(rng, 2, 1).all()

    def test_weights(self, rng):
        made = linear_weights(rng, {"W_q": (200, 100), "W_o": (3, 200)})
        assert {name: values.shape for name, values in made.items()} == {
            "W_q.weight": (200, 100), "W_q.bias": (200,), "W_o.weight": (3, 200), "W_o.bias": (3,),
        }  # fmt: skip
        assert made["W_q.weight"].dtype == np.float32
        assert made["W_q.weight"].std() == pytest.approx(0.1, rel=0.05)
        assert list(linear_weights(rng, {"W": (2, 2)}, bias=False)) == ["W.weight"]

    @pytest.mark.parametrize("values", [np.zeros((3, 4), np.float32), torch.zeros(3, 4)])
    def test_other_numbers_in_one_place(self, rng, values):
        changed = changed_at(rng, values, np.s_[1:, :2])
        assert changed.dtype == values.dtype
        assert (np.asarray(values) == 0).all()
        moved = np.asarray(changed) != 0
        assert moved[1:, :2].all()
        assert moved.sum() == 4


def make_scaled():
    @exercise(points=1)
    class Scaled(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
            return x * self.weight

    @Scaled.case("one", separates=["twice"])
    def one(rng):
        calls = [{"x": normal_tensor(rng, 2, 3, grad=True)}]
        weights = {"weight": rng.normal(size=3).astype(np.float32)}
        return module_program(Scaled, {"width": 3}, weights, *calls, gradients=True, describe=True)

    @Scaled.misconception("Twice.", hint="How often?")
    class twice(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(width))

        def forward(self, x):
            return 2 * x * self.weight

    return Scaled


class TestPrograms:
    def test_of_a_module(self):
        trial = trial_of(make_scaled)
        steps = trial.spec.cases[0].program.steps
        assert [type(step) for step in steps] == [
            Construct, DescribeModule, LoadWeights, Mode, Call, Backward,
        ]  # fmt: skip
        assert trial(trial.exercise.reference).outcome == "passed"
        assert trial(trial.exercise.misconceptions[0].implementation).misconceptions == ("twice",)

    def test_gradients_without_a_call(self):
        made = trial_of(make_scaled).exercise
        with pytest.raises(AuthoringError, match="gradients are of a call"):
            module_program(made, (3,), None, gradients=True)

    def test_of_a_function(self, rng):
        @exercise(points=1)
        def double(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
            return 2 * x

        program = with_gradients(double, seed=4, x=normal_tensor(rng, 3, grad=True))
        assert program.steps[1] == Backward("result", seed=4)
        assert program.steps[0].slot == "result"


class Remembers(nn.Module):
    """Keeps the result of its first call for all inputs of that shape."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.known = {}

    def forward(self, x):
        return self.known.setdefault(tuple(x.shape), x * self.weight)


class Counts(Remembers):
    """Adds a little more in each call."""

    def forward(self, x):
        self.calls = getattr(self, "calls", 0) + 1
        return x * self.weight + self.calls - 1


class TestCalledAgain:
    @pytest.fixture
    def trial(self):
        """The exercise with the case that `pack` adds when it reads files."""
        made = make_scaled()
        drawn = Trial(made).spec.cases
        made.cases.append(called_again(made, drawn))
        return Trial(made)

    def test_the_module_is_built_once(self, trial):
        steps = [type(step) for step in trial.spec.cases[-1].program.steps]
        assert steps == [Construct, LoadWeights, Mode, Call, Call, Call]
        assert trial(trial.exercise.reference).outcome == "passed"

    @pytest.mark.parametrize(
        ("student", "words"),
        [
            (Remembers, "in call 3 of 3, with other inputs: at ["),
            (Counts, "in call 2 of 3, with the same inputs again: at ["),
        ],
    )
    def test_state_is_seen(self, trial, student, words):
        result = trial(student)
        assert failed_checks(result) == ["values"]
        assert words in result.feedback.replace("In call", "in call")

    def test_sizes_that_are_drawn_come_out_alike(self):
        @exercise(points=1, framework="torch")
        def same(x):
            return x

        @same.case("any length", separates=["x"])
        def any_length(rng):
            return {"x": rng.normal(size=rng.integers(1, 4))}

        added = called_again(same, Trial(same).spec.cases)
        for seed in range(20):
            program = added.function(np.random.default_rng(seed))
            shapes = {call.args[0].shape for _, call in program.calls}
            assert len(shapes) == 1

    def test_not_where_it_would_say_nothing(self):
        @exercise(points=1, framework="torch")
        def same(x):
            return x

        @same.case("kept back", hidden=True, separates=["x"])
        def kept_back(rng):
            return {"x": 1}

        assert called_again(same, Trial(same).spec.cases) is None


# --- bounds ------------------------------------------------------------------------------


def make_half():
    @exercise(
        points=1,
        half_precision=True,
        tolerance=Bound("two roundings on the way out", absolute=1e-3, ulps=2, of="V"),
    )
    def mixed(V: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        return (V.double() / 3).to(V.dtype)

    @mixed.case("bfloat16", kind="robustness")
    def bfloat16(rng):
        return {"V": normal_tensor(rng, 3, 4, size=30, dtype="bfloat16")}

    @mixed.case("float16", kind="robustness", tolerance=Bound("exactly rounded", ulps=1, of="V"))
    def float16(rng):
        return {"V": normal_tensor(rng, 3, 4, size=30, dtype="float16")}

    return mixed


def make_rounding(half_precision):
    @exercise(points=1, half_precision=half_precision)
    def third(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
        return x / 3

    @third.case("float16", kind="robustness")
    def float16(rng):
        return {"x": normal_tensor(rng, 50, dtype="float16")}

    @third.case("float32", kind="robustness")
    def float32(rng):
        return {"x": normal_tensor(rng, 50)}

    return third


class TestBounds:
    def test_half_types_count_where_the_exercise_says_so(self):
        def rounded(x):
            return x / 3

        assert trial_of(lambda: make_rounding(True))(rounded).outcome == "passed"
        assert failed_checks(trial_of(lambda: make_rounding(False))(rounded)) == ["values"]

    def test_and_where_an_input_is_of_one(self):
        result = trial_of(lambda: make_rounding(True))(lambda x: (x.half() / 3).to(x.dtype))
        assert "“float32”" in result.feedback

    def test_an_author_s_own(self):
        trial = trial_of(make_half)
        assert trial(lambda V: V / 3).outcome == "passed"
        assert failed_checks(trial(lambda V: V / 3.1)) == ["values"]

        def coarse(V):  # within the exercise's bound, not within the case's
            return (V.double() / 3 + (0.06 if V.dtype == torch.float16 else 0.1)).to(V.dtype)

        assert "“float16”" in trial(coarse).feedback

    def test_an_argument_that_there_is_not(self):
        with pytest.raises(AuthoringError, match="of the size of W, which is no argument"):
            exercise(points=1, tolerance=Bound("r", absolute=1.0, of="W"))(lambda x: x)
        made = exercise(points=1)(lambda x: x)
        with pytest.raises(AuthoringError, match="of the size of W, which is no argument"):
            made.case("title", tolerance=Bound("r", absolute=1.0, of="W"))


class TestTravelling:
    """Bounds, checks for some cases and what is watched are in the self-check key."""

    def test_of_bounds(self, tmp_path):
        spec = trial_of(make_half).spec
        (tmp_path / "selfcheck.safetensors").write_bytes(make_key("ps0", "Title", [spec], {}))
        read = load_key(tmp_path).spec("mixed")
        assert (read.half_precision, read.tolerance) == (True, spec.tolerance)
        assert [case.tolerance for case in read.cases] == [case.tolerance for case in spec.cases]
        seen = trial_of(make_half).observe(lambda V: V / 3)
        assert judge(read, seen).outcome == "passed"

    def test_of_checks_and_what_is_watched(self, tmp_path):
        @exercise(
            points=1,
            forbids=["torch.cumsum"],
            checks=[
                no_leak("nothing leaks", cases=["twice"], what="token", axis=0),
                largest_allocation("n * n", "small", sizes={"n": ("x", 0)}, cases=["watched"]),
            ],
        )
        def running(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:
            return torch.stack([x[: i + 1].sum() for i in range(len(x))])

        @running.case("the last token changes", kind="robustness")
        def twice(rng):
            x = normal_tensor(rng, 6)
            return [{"x": x}, {"x": changed_at(rng, x, np.s_[5:])}]

        @running.case("many", kind="robustness", watch=["allocation"])
        def watched(rng):
            return {"x": normal_tensor(rng, 20)}

        trial = Trial(running)
        (tmp_path / "selfcheck.safetensors").write_bytes(make_key("ps0", "T", [trial.spec], {}))
        read = load_key(tmp_path).spec("running")
        for spec in (trial.spec, read):
            assert [case.program.operators for case in spec.cases] == [True, False]
            assert spec.cases[0].program.forbidden == {"cumsum": "torch.cumsum"}
            assert [check.cases for check in spec.checks] == [("twice",), ("watched",)]
            found = {
                outcome: judge(spec, trial.observe(attempt))
                for outcome, attempt in {
                    "right": running.reference,
                    "leaks": lambda x: (
                        torch.stack([x.sum() - x[i + 1 :].sum() for i in range(len(x))])
                        + 1e-3 * x[-1]
                    ),
                    "large": lambda x: (x.expand(len(x), -1).tril()).sum(-1),
                    "forbidden": lambda x: getattr(x, "cum" + "sum")(0),
                }.items()
            }
            assert found["right"].outcome == "passed"
            assert failed_checks(found["leaks"])[0] == "nothing leaks"
            assert failed_checks(found["large"]) == ["small"]
            assert found["forbidden"].outcome == "forbidden"

    def test_a_watch_that_there_is_not(self):
        made = exercise(points=1)(lambda x: x)
        with pytest.raises(AuthoringError, match="a case can watch allocation, not"):
            made.case("title", watch=["everything"])


# --- the fine print on types -------------------------------------------------------------


def make_index():
    @exercise(points=1)
    def index(n: int) -> Int[Tensor, "n"]:
        return torch.arange(n)

    @index.case("four", kind="robustness")
    def four(rng):
        return {"n": 4}

    return index


def make_count():
    @exercise(points=1, framework="torch")
    def count(n: int) -> int:
        return n * n

    @count.case("a large number", kind="robustness")
    def large(rng):
        return {"n": 100_000}

    return count


class TestTypes:
    """Whole answers may be of any integral type, 0-d or whole floats, in PyTorch too."""

    @pytest.mark.parametrize(
        "attempt",
        [
            lambda n: n * n,
            lambda n: np.int64(n * n),
            lambda n: np.float64(n * n),
            lambda n: float(n * n),
            lambda n: np.asarray(n * n),
            lambda n: np.asarray(n * n, dtype=np.uint64),
            lambda n: torch.tensor(n * n),
            lambda n: torch.tensor(n * n, dtype=torch.float64, requires_grad=True),
        ],
    )
    def test_numbers(self, attempt):
        assert trial_of(make_count)(attempt).outcome == "passed"

    @pytest.mark.parametrize(
        "attempt",
        [
            lambda n: n * n + 1,
            lambda n: n * n + 0.5,
            lambda n: torch.tensor(float(n * n), dtype=torch.float32) + 1024,
            lambda n: torch.tensor([n * n]),
            lambda n: str(n * n),
            lambda n: float("nan"),
            lambda n: None,
        ],
    )
    def test_other_numbers(self, attempt):
        assert trial_of(make_count)(attempt).outcome != "passed"

    @pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8, torch.float32])
    def test_arrays_of_whole_numbers(self, dtype):
        assert trial_of(make_index)(lambda n: torch.arange(n).to(dtype)).outcome == "passed"

    def test_arrays_of_others(self):
        trial = trial_of(make_index)
        assert failed_checks(trial(lambda n: torch.arange(n) + 0.01)) == ["values"]
        assert failed_checks(trial(lambda n: torch.arange(n)[None])) == ["shape"]
        assert failed_checks(trial(lambda n: torch.arange(n).numpy())) == ["type"]

    def test_masks_are_bool(self):
        @exercise(points=1, framework="torch")
        def mask(n):
            return torch.ones(n, n, dtype=torch.bool).tril()

        @mask.case("four", kind="robustness")
        def four(rng):
            return {"n": 4}

        trial = Trial(mask)
        assert trial(lambda n: torch.ones(n, n).tril() > 0).outcome == "passed"
        for dtype in (torch.int64, torch.float32, torch.uint8):
            result = trial(lambda n, dtype=dtype: torch.ones(n, n, dtype=dtype).tril())
            assert failed_checks(result) == ["dtype"]

    def test_without_a_floating_input_any_float_dtype_is_right(self):
        @exercise(points=1, framework="torch")
        def thirds(n):
            return torch.arange(n) / 3

        @thirds.case("four", kind="robustness")
        def four(rng):
            return {"n": 4}

        trial = Trial(thirds)
        assert trial(lambda n: torch.arange(n) / 3).outcome == "passed"
        assert trial(lambda n: torch.arange(n, dtype=torch.float64) / 3).outcome == "passed"
        assert failed_checks(trial(lambda n: torch.arange(n) // 3)) == ["dtype"]

    @pytest.mark.parametrize("stray", [float("nan"), float("inf"), -float("inf")])
    def test_what_is_no_number_equals_nothing(self, stray):
        @exercise(points=1, framework="torch")
        def same(x):
            return x

        @same.case("one", kind="robustness")
        def one(rng):
            return Program((same.call(x=normal_tensor(rng, 3)),))

        trial = Trial(same)
        assert failed_checks(trial(lambda x: x * stray)) == ["finite"]
        assert failed_checks(trial(lambda x: x.index_fill(0, torch.tensor([1]), stray))) == [
            "finite"
        ]
