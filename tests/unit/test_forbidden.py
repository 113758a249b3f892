"""What an exercise forbids shows when it is called, in whatever way it is reached."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jaxtyping import Float  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from autograder import exercise  # noqa: E402
from autograder.exercise import AuthoringError  # noqa: E402
from autograder.forbidden import LIBRARY_ATTENTION, LIBRARY_SOFTMAX, watched_for  # noqa: E402
from autograder.observe.watching import forbidden_calls  # noqa: E402
from tests.unit.trial import Trial, failed_checks, trial_of  # noqa: E402

X = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0))
FOUR = X.reshape(2, 5, 2, 4)


def seen(function, forbids=LIBRARY_ATTENTION, operators=True):
    """What is noted while a function runs."""
    notes = {}
    with forbidden_calls(watched_for(forbids), operators, notes):
        function()
    return notes.get("forbidden")


def flexible():
    from torch.nn.attention.flex_attention import flex_attention

    with pytest.warns(UserWarning, match="flex_attention"):
        flex_attention(FOUR, FOUR, FOUR)


class TestAttention:
    @pytest.mark.parametrize("operators", [False, True])
    @pytest.mark.parametrize(
        "call",
        [
            lambda: F.scaled_dot_product_attention(X, X, X),
            lambda: getattr(F, "scaled_" + "dot_product_attention")(FOUR, FOUR, FOUR),
            lambda: torch._C._nn.scaled_dot_product_attention(X, X, X),
            lambda: torch.ops.aten.scaled_dot_product_attention(X, X, X),
            lambda: torch._scaled_dot_product_attention_math(FOUR, FOUR, FOUR),
            lambda: torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(FOUR, FOUR, FOUR),
            lambda: torch.vmap(F.scaled_dot_product_attention)(FOUR, FOUR, FOUR),
        ],
    )
    def test_scaled_dot_product(self, call, operators):
        told = "torch.nn.functional.scaled_dot_product_attention"
        assert seen(call, operators=operators) == told

    @pytest.mark.parametrize("training", [False, True])
    @pytest.mark.parametrize("operators", [False, True])
    def test_modules_with_and_without_their_fast_path(self, training, operators):
        told = "torch.nn.functional.multi_head_attention_forward"
        layers = [
            nn.TransformerEncoderLayer(8, 2, batch_first=True),
            nn.TransformerDecoderLayer(8, 2, batch_first=True),
        ]
        attention = nn.MultiheadAttention(8, 2, batch_first=True).train(training)
        with torch.set_grad_enabled(training):
            assert seen(lambda: attention(X, X, X), operators=operators) == told
            encoder, decoder = (layer.train(training) for layer in layers)
            assert seen(lambda: encoder(X), operators=operators) == told
            assert seen(lambda: decoder(X, X), operators=operators) == told

    @pytest.mark.soak  # PyTorch imports its compiler for it, which takes ten seconds
    def test_flexible(self):
        assert seen(flexible, operators=False) == "torch.nn.attention"

    def test_graphs_that_were_compiled_before(self):
        with pytest.warns(DeprecationWarning, match="is deprecated"):
            traced = torch.jit.trace(lambda x: F.scaled_dot_product_attention(x, x, x), FOUR)
        told = "torch.nn.functional.scaled_dot_product_attention"
        assert seen(lambda: traced(FOUR)) == told

    def test_every_forward_operator_of_this_pytorch(self):
        """A newer PyTorch may have more; then they belong into the list."""
        every = {
            name.split("::")[1].split(".")[0] for name in torch._C._dispatch_get_all_op_names()
        }
        attention = {name for name in every if "attention" in name and "backward" not in name}
        softmax = {name for name in every if name.endswith("softmax") and "sparse" not in name}
        assert attention <= set(watched_for(LIBRARY_ATTENTION))
        assert softmax <= set(watched_for(LIBRARY_SOFTMAX))

    @pytest.mark.parametrize(
        "call",
        [
            lambda: torch.softmax(X @ X.mT / math.sqrt(8), -1) @ X,
            lambda: nn.Softmax(-1)(X),
            lambda: X.logsumexp(-1),
            lambda: nn.Linear(8, 3)(X),
            lambda: F.cross_entropy(X[0], torch.zeros(5, dtype=torch.int64)),
        ],
    )
    def test_what_is_allowed(self, call):
        assert seen(call) is None


class TestSoftmax:
    @pytest.mark.parametrize(
        "call",
        [
            lambda: torch.softmax(X, -1),
            lambda: X.softmax(-1),
            lambda: F.softmax(X, -1),
            lambda: nn.Softmax(-1)(X),
            lambda: nn.Softmax2d()(FOUR),
            lambda: torch.special.softmax(X, -1),
            lambda: torch.ops.aten.softmax.int(X, -1),
            lambda: torch._C._VariableFunctions.softmax(X, -1),
            lambda: torch.Tensor.softmax(X, -1),
            lambda: torch._softmax(X, -1, False),
            lambda: torch._safe_softmax(X, -1),
            lambda: torch.vmap(lambda row: row.softmax(-1))(X),
            lambda: torch.distributions.Categorical(logits=X).probs,
        ],
    )
    def test_is_seen_without_operators(self, call):
        assert seen(call, LIBRARY_SOFTMAX, operators=False) == "torch.softmax"

    @pytest.mark.parametrize(
        ("call", "told"),
        [
            (lambda: torch.log_softmax(X, -1).exp(), "torch.log_softmax"),
            (lambda: nn.LogSoftmax(-1)(X), "torch.log_softmax"),
            (lambda: nn.Softmin(-1)(X), "torch.nn.functional.softmin"),
            (lambda: F.gumbel_softmax(X), "torch.nn.functional.gumbel_softmax"),
        ],
    )
    def test_its_kin(self, call, told):
        assert seen(call, LIBRARY_SOFTMAX, operators=False) == told

    def test_inside_other_functions(self):
        target = torch.zeros(5, dtype=torch.int64)
        call = lambda: F.cross_entropy(X[0], target, reduction="none")  # noqa: E731
        assert seen(call, LIBRARY_SOFTMAX) == "torch.log_softmax"
        assert seen(call, LIBRARY_SOFTMAX, operators=False) is None

    def test_its_gradient_is_no_call(self):
        x = X.clone().requires_grad_()
        result = x.softmax(-1)
        assert seen(lambda: result.sum().backward(), LIBRARY_SOFTMAX) is None

    def test_logsumexp_is_allowed(self):
        assert seen(lambda: (X - X.logsumexp(-1, keepdim=True)).exp(), LIBRARY_SOFTMAX) is None


class TestOtherNames:
    def test_functions_of_torch(self):
        assert seen(lambda: torch.einsum("bnd->bn", X), ["torch.einsum"], False) == "torch.einsum"
        square = torch.eye(3)
        assert seen(lambda: torch.linalg.inv(square), ["torch.linalg.inv"]) == "torch.linalg.inv"
        assert seen(lambda: X.cumsum(0), ["torch.Tensor.cumsum"]) == "torch.Tensor.cumsum"

    def test_functions_methods_and_modules_of_others(self):
        array = np.ones((3, 3))
        norm = np.linalg.norm
        assert seen(lambda: norm(array), ["numpy.linalg.norm"]) == "numpy.linalg.norm"
        assert seen(lambda: array.dot(array), ["numpy.ndarray.dot"]) == "numpy.ndarray.dot"
        assert seen(lambda: norm(array), ["numpy.linalg"]) == "numpy.linalg"
        assert seen(lambda: array.sum(), ["numpy.linalg", "numpy.ndarray.dot"]) is None
        assert seen(lambda: array.sum(), ["nowhere.to.be.found"]) is None


def make_attend():
    @exercise(points=2, forbids=LIBRARY_ATTENTION)
    def attend(
        Q: Float[Tensor, "n_q d"], K: Float[Tensor, "n_k d"], V: Float[Tensor, "n_k d_v"]
    ) -> Float[Tensor, "n_q d_v"]:
        return (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(-1) @ V

    def draw(rng):
        return {name: rng.normal(size=(4, 3)) for name in ("Q", "K", "V")}

    @attend.case("one", kind="robustness")
    def one(rng):
        return draw(rng)

    @attend.case("two", kind="robustness", hidden=True)
    def two(rng):
        return draw(rng)

    return attend


class TestJudging:
    def test_an_alias(self):
        result = trial_of(make_attend)(getattr(F, "_".join(["scaled", "dot_product", "attention"])))
        assert (result.outcome, result.score) == ("forbidden", 0.0)
        assert failed_checks(result) == ["runs"]
        assert result.feedback.splitlines()[:2] == [
            "attend: a forbidden call in “one” (n_q = 4, d = 3, n_k = 4, d_v = 3); "
            "2 of 2 cases fail",
            "  It calls `torch.nn.functional.scaled_dot_product_attention` when it runs, which "
            "this exercise forbids.",
        ]

    def test_whatever_comes_of_it(self):
        def attempt(Q, K, V):
            F.scaled_dot_product_attention(Q, K, V)
            raise RuntimeError

        assert trial_of(make_attend)(attempt).outcome == "forbidden"

    def test_the_right_way(self):
        trial = trial_of(make_attend)
        assert trial(trial.exercise.reference).outcome == "passed"

    def test_one_case_looks_at_operators(self):
        cases = trial_of(make_attend).spec.cases
        assert [case.program.operators for case in cases] == [True, False]

    def test_a_reference_that_calls_it(self):
        @exercise(points=1, forbids=LIBRARY_SOFTMAX, framework="torch")
        def stable(x):
            return x.softmax(-1)

        @stable.case("one", kind="robustness")
        def one(rng):
            return {"x": rng.normal(size=3)}

        with pytest.raises(AuthoringError, match=r"the reference calls torch\.softmax, which the"):
            Trial(stable)

    @pytest.mark.parametrize("note", [3, "something else", None, {"torch.softmax": 1}])
    def test_a_note_of_something_else_is_none(self, note):
        from dataclasses import replace

        from autograder.judge import judge

        trial = trial_of(make_attend)
        observations = {
            name: [replace(step, notes={"forbidden": note}) for step in steps]
            for name, steps in trial.observe(trial.exercise.reference).items()
        }
        assert judge(trial.spec, observations).outcome == "passed"
