"""Every kind of exercise, from the authoring API to a result: those on PyTorch."""

# ruff: noqa: F821 (axes in annotations are no names)

import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from jaxtyping import Float  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from autograder import (  # noqa: E402
    Backward,
    Construct,
    DescribeModule,
    Generator,
    Interval,
    LoadWeights,
    Mode,
    Probe,
    Program,
    Slot,
    Verdict,
    exercise,
)
from tests.unit.trial import failed_checks, trial_of  # noqa: E402

# --- a module ----------------------------------------------------------------------------


class Attention(nn.Module):
    """What right and wrong modules share: `parts` makes Q, K, V of x."""

    scale = None

    def __init__(self, input_dim, dim_k, dim_v=None):
        super().__init__()
        self.build(input_dim, dim_k, dim_v or dim_k)

    def build(self, input_dim, dim_k, dim_v):
        self.W_q = nn.Linear(input_dim, dim_k, bias=False)
        self.W_k = nn.Linear(input_dim, dim_k, bias=False)
        self.W_v = nn.Linear(input_dim, dim_v, bias=False)

    def parts(self, x):
        return self.W_q(x), self.W_k(x), self.W_v(x)

    def forward(self, x, mask=None):
        Q, K, V = self.parts(x)
        scores = Q @ K.mT / (self.scale or math.sqrt(Q.shape[-1]))
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = scores.softmax(-1)
        return weights @ V, weights


def make_self_attention():
    @exercise(points=8)
    class SelfAttention(Attention):
        def forward(
            self, x: Float[Tensor, "batch n d"], mask=None
        ) -> tuple[Float[Tensor, "batch n d_v"], Float[Tensor, "batch n n"]]:
            return super().forward(x, mask)

    def steps(rng, mask=None, sizes=(5, 3, 4)):
        d, d_k, d_v = sizes
        weights = {
            "W_q.weight": rng.normal(size=(d_k, d)).astype(np.float32),
            "W_k.weight": rng.normal(size=(d_k, d)).astype(np.float32),
            "W_v.weight": rng.normal(size=(d_v, d)).astype(np.float32),
        }
        x = torch.tensor(rng.normal(size=(2, 6, d)), dtype=torch.float32, requires_grad=True)
        arguments = {"x": x} if mask is None else {"x": x, "mask": mask}
        return (
            Construct("SelfAttention", "module", sizes),
            LoadWeights("module", weights),
            Mode("module", training=False),
            SelfAttention.call(slot="result", on=Slot("module"), **arguments),
            Backward("result", seed=3, module="module"),
        )

    @SelfAttention.case("three widths", separates=["unscaled", "cut"])
    def three_widths(rng):
        return Program(steps(rng))

    @SelfAttention.case("a causal mask", separates=["unscaled"])
    def causal(rng):
        return Program(steps(rng, np.tril(np.ones((6, 6), dtype=bool))))

    @SelfAttention.case("other widths", kind="robustness", hidden=True)
    def hidden(rng):
        return Program(steps(rng, sizes=(4, 7, 2)))

    @SelfAttention.misconception("Leaves the scale out.", hint="How large are the scores?")
    class unscaled(Attention):
        scale = 1.0

    @SelfAttention.misconception("Cuts the graph.", hint="What does detach do?")
    class cut(Attention):
        def parts(self, x):
            return super().parts(x.detach())

    return SelfAttention


class RawAndTransposed(Attention):
    def build(self, input_dim, dim_k, dim_v):
        self.W_q = nn.Parameter(torch.zeros(input_dim, dim_k))
        self.W_k = nn.Parameter(torch.zeros(input_dim, dim_k))
        self.W_v = nn.Parameter(torch.zeros(input_dim, dim_v))

    def parts(self, x):
        return x @ self.W_q, x @ self.W_k, x @ self.W_v


class Fused(Attention):
    def build(self, input_dim, dim_k, dim_v):
        self.cuts = [dim_k, dim_k, dim_v]
        self.qkv = nn.Linear(input_dim, sum(self.cuts), bias=False)

    def parts(self, x):
        return self.qkv(x).split(self.cuts, dim=-1)


class FusedRaw(Fused):
    def build(self, input_dim, dim_k, dim_v):
        self.cuts = [dim_k, dim_k, dim_v]
        self.qkv = nn.Parameter(torch.zeros(input_dim, sum(self.cuts)))

    def parts(self, x):
        return (x @ self.qkv).split(self.cuts, dim=-1)


class PerRow(Attention):
    """A layer for each feature of Q, K and V, as others have one for each head."""

    def build(self, input_dim, dim_k, dim_v):
        def layers(size):
            return nn.ModuleList(nn.Linear(input_dim, 1, bias=False) for _ in range(size))

        self.W_q, self.W_k, self.W_v = layers(dim_k), layers(dim_k), layers(dim_v)

    def parts(self, x):
        return [
            torch.cat([layer(x) for layer in layers], -1)
            for layers in (self.W_q, self.W_k, self.W_v)
        ]


class WithBuffers(Attention):
    def build(self, *sizes):
        super().build(*sizes)
        self.register_buffer("mask", torch.ones(3))


class TestModule:
    @pytest.fixture
    def trial(self):
        return trial_of(make_self_attention)

    def test_the_reference_in_double_precision_and_a_float32_student(self, trial):
        expected = trial.spec.cases[0].expected
        assert expected[3].value[0].dtype == "float64"
        got = trial.observe(Attention)["three_widths"]
        assert got[3].value[0].dtype == "float32"
        difference = np.abs(expected[3].value[0].data - got[3].value[0].data).max()
        assert 0 < difference < 1e-5
        assert torch.get_default_dtype() == torch.float32

    @pytest.mark.parametrize(
        "student", [Attention, RawAndTransposed, Fused, FusedRaw, PerRow, WithBuffers]
    )
    def test_right(self, trial, student):
        result = trial(student)
        assert result.outcome == "passed", result.feedback
        assert [check.name for check in result.checks] == [
            "runs", "type", "shape", "dtype", "finite", "values", "gradients",
            "arguments untouched",
        ]  # fmt: skip

    def test_results_in_a_list_and_with_a_graph(self, trial):
        class Listed(Attention):
            def forward(self, x, mask=None):
                return [nn.Parameter(part) if False else part for part in super().forward(x, mask)]

        assert trial(Listed).outcome == "passed"

    def test_no_scale(self, trial):
        class Mine(Attention):
            def forward(self, x, mask=None):
                Q, K, V = self.parts(x)
                scores = torch.einsum("bqd,bkd->bqk", Q, K)
                if mask is not None:
                    scores = torch.where(mask, scores, -1e9)
                weights = torch.softmax(scores, dim=2)
                return torch.matmul(weights, V), weights

        result = trial(Mine)
        assert failed_checks(result) == ["values"]
        assert result.misconceptions == ("unscaled",)
        assert "Return value 1: at [" in result.feedback

    def test_a_cut_graph(self, trial):
        class Mine(Attention):
            def forward(self, x, mask=None):
                return super().forward(x.clone().detach(), mask)

        result = trial(Mine)
        assert failed_checks(result) == ["gradients"]
        assert result.misconceptions == ("cut",)
        assert result.feedback.split("\n")[:2] == [
            "SelfAttention: wrong gradients in “three widths” (batch = 2, n = 6, d = 5); "
            "3 of 3 cases fail",
            "  Gradient of x: none arrives; is the graph cut, by detach, item, NumPy or no_grad?",
        ]

    def test_a_wrong_gradient_of_a_parameter(self, trial):
        class Mine(Attention):
            def parts(self, x):
                return self.W_q(x), self.W_k(x).detach(), self.W_v(x)

        result = trial(Mine)
        assert failed_checks(result) == ["gradients"]
        assert "Gradient of x: at [" in result.feedback

    def test_a_frozen_parameter(self, trial):
        class Mine(Attention):
            def build(self, *sizes):
                super().build(*sizes)
                self.W_v.requires_grad_(False)

        result = trial(Mine)
        assert "Gradient of W_v.weight: none arrives" in result.feedback

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                lambda module: delattr(module, "W_v"),
                "Expected a parameter W_v.weight of shape (4, 5), got a module with W_q.weight, "
                "W_k.weight.",
            ),
            (
                lambda module: setattr(module, "W_o", nn.Linear(4, 4)),
                "The module has a parameter W_o.weight of shape (4, 4), expected none beside "
                "W_q.weight, W_k.weight, W_v.weight.",
            ),
            (
                lambda module: setattr(module, "W_q", nn.Linear(6, 3, bias=False)),
                "Parameter W_q.weight has shape (3, 6), expected (3, 5); look at the sizes that "
                "the layer is built with.",
            ),
            (
                lambda module: setattr(module, "W_q", nn.LazyLinear(3, bias=False)),
                "Parameter W_q.weight has no shape before the first call; give the layer its "
                "sizes where the module is built.",
            ),
        ],
    )
    def test_weights_that_do_not_fit(self, trial, change, message):
        class Mine(Attention):
            def build(self, *sizes):
                super().build(*sizes)
                change(self)

        result = trial(Mine)
        assert result.outcome == "failed"
        assert failed_checks(result) == ["type"]
        assert result.feedback.split("\n")[1] == f"  {message}"

    def test_dropout_in_evaluation_mode(self, trial):
        class Mine(Attention):
            always = False

            def parts(self, x):
                on = self.training or self.always
                return [nn.functional.dropout(part, 0.5, training=on) for part in super().parts(x)]

        assert trial(Mine).outcome == "passed"
        Mine.always = True
        assert failed_checks(trial(Mine)) == ["values"]

    def test_no_module_at_all(self, trial):
        result = trial(lambda *sizes: "a module")
        assert result.feedback.split("\n")[1] == (
            "  Expected a torch.nn.Module, got a value of type str."
        )

    def test_float64_weights_inside(self, trial):
        class Mine(Attention):
            def build(self, *sizes):
                super().build(*sizes)
                self.double()

            def forward(self, x, mask=None):
                return super().forward(x.double(), mask)

        result = trial(Mine)
        assert failed_checks(result) == ["dtype"]
        assert "expected dtype float32, as the input has, got float64" in result.feedback

    def test_numpy_results(self, trial):
        class Mine(Attention):
            def forward(self, x, mask=None):
                return [part.detach().numpy() for part in super().forward(x, mask)]

        result = trial(Mine)
        assert failed_checks(result) == ["type"]
        assert "Return value 1: expected a tensor, got an array of shape (2, 6, 4)" in (
            result.feedback
        )

    def test_a_constructor_that_raises(self, trial):
        class Mine(nn.Module):
            def __init__(self, input_dim):
                super().__init__()

        result = trial(Mine)
        assert result.outcome == "error"
        assert "TypeError" in result.feedback

    def test_parts_that_are_not_written(self, trial):
        class SelfAttention(Attention):
            def forward(self, x, mask=None):
                raise NotImplementedError

        result = trial(SelfAttention)
        assert result.outcome == "missing"
        assert result.feedback == "SelfAttention: not written yet."


# --- names and numbers of parameters -----------------------------------------------------


def make_layer():
    @exercise(points=2)
    class Layer(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.inner = nn.Linear(width, 2 * width)

        def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n e"]:
            return self.inner(x)

    @Layer.case("its parameters", kind="robustness")
    def parameters(rng):
        return Program((Construct("Layer", "made", (3,)), DescribeModule("made")))

    return Layer


class TestDescribed:
    @pytest.fixture
    def trial(self):
        return trial_of(make_layer)

    @pytest.mark.parametrize(
        ("layers", "message"),
        [
            ({"inner": (3, 6)}, None),
            ({"outer": (3, 6)}, "Expected a parameter inner.weight; the module has outer.weight, "
             "outer.bias."),
            ({"inner": (3, 6), "more": (1, 1)}, "Expected the parameters inner.weight, "
             "inner.bias, got more.weight too."),
            ({"inner": (6, 3)}, "Parameter inner.weight: expected"),
        ],
    )  # fmt: skip
    def test_names_and_shapes(self, trial, layers, message):
        class Layer(nn.Module):
            def __init__(self, width):
                super().__init__()
                for name, sizes in layers.items():
                    setattr(self, name, nn.Linear(*sizes))

        result = trial(Layer)
        if message is None:
            assert result.outcome == "passed"
        else:
            assert failed_checks(result) == ["values"]
            assert message in result.feedback


# --- gradients that are zero but for rounding --------------------------------------------


def make_with_key_bias():
    @exercise(points=1)
    class KeyBias(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.W_q, self.W_k = nn.Linear(width, 4), nn.Linear(width, 4)

        def forward(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n n"]:
            return (self.W_q(x) @ self.W_k(x).mT).softmax(-1)

    @KeyBias.case("weights given", kind="robustness")
    def given(rng):
        shapes = {"W_q.weight": (4, 3), "W_q.bias": 4, "W_k.weight": (4, 3), "W_k.bias": 4}
        weights = {
            name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()
        }
        call = KeyBias.call(
            slot="made", on=Slot("module"), x=rng.normal(size=(5, 3)).astype(np.float32)
        )
        return Program((
            Construct("KeyBias", "module", (3,)),
            LoadWeights("module", weights),
            call,
            Backward("made", module="module"),
        ))  # fmt: skip

    return KeyBias


def test_a_key_bias_changes_nothing_and_its_gradient_is_rounding():
    trial = trial_of(make_with_key_bias)
    gradient = trial.spec.cases[0].expected[3].value["parameters"]["W_k.bias"].data
    assert np.abs(gradient).max() < 1e-15

    class Mine(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.W_q, self.W_k = nn.Linear(width, 4), nn.Linear(width, 4)

        def forward(self, x):
            scores = torch.einsum("qd,kd->qk", self.W_q(x), self.W_k(x))
            powers = torch.exp(scores - scores.max(-1, keepdim=True).values)
            return powers / powers.sum(-1, keepdim=True)

    assert trial(Mine).outcome == "passed"

    class WithoutKeyBias(Mine):
        def forward(self, x):
            self.W_k.bias.requires_grad_(False)
            return super().forward(x)

    assert trial(WithoutKeyBias).outcome == "passed"  # no gradient is a gradient of zero


# --- a module as an argument -------------------------------------------------------------

MODEL = """
from torch import nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, 3 * width)
        self.norm = nn.LayerNorm(width)
"""


def make_init_projections():
    @exercise(points=3, framework="torch")
    def init_projections(module, gain=1.0):
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                nn.init.xavier_uniform_(layer.weight, gain)
                nn.init.zeros_(layer.bias)
        return module

    @init_projections.check("variances as gain and widths say")
    def variances(view):
        returned, given = view.steps[1:]
        weight = np.asarray(given["inner.weight"], dtype=np.float64)
        gain = view.arguments["gain"]
        ratio = weight.var() / (gain**2 * 2 / sum(weight.shape))
        spread = np.abs(weight).max() / weight.std()
        summary = (Interval("ratio", float(ratio), 0.1), Interval("spread", float(spread), 0.1))
        if not np.array_equal(returned["inner.weight"], given["inner.weight"]):
            return Verdict("the module that was given holds other weights", summary)
        if not np.all(given["norm.weight"] == 1.0):
            return Verdict("a layer that is not linear was changed", summary)
        if not 0.9 < ratio < 1.1:
            return Verdict(f"the variance is {ratio:.2g} times what it should be", summary)
        return Verdict(None, summary)

    @init_projections.case("a model with a norm", separates=["as_std"])
    def model(rng):
        call = init_projections.call(slot="made", module=Probe(MODEL, "Model", (40,)), gain=0.5)
        return Program((call, DescribeModule("made", True), DescribeModule("made.module", True)))

    @init_projections.misconception("Takes gain for the std.", hint="What else is in it?")
    def as_std(module, gain=1.0):
        for layer in module.modules():
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=gain)
                nn.init.zeros_(layer.bias)
        return module

    return init_projections


class TestModuleArgument:
    @pytest.fixture
    def trial(self):
        return trial_of(make_init_projections)

    def test_right_by_hand(self, trial):
        @torch.no_grad()
        def attempt(module, gain=1.0):
            for layer in filter(lambda part: type(part) is nn.Linear, module.modules()):
                bound = gain * math.sqrt(6 / sum(layer.weight.shape))
                layer.weight.uniform_(-bound, bound)
                layer.bias.zero_()
            return module

        result = trial(attempt)
        assert result.outcome == "passed", result.feedback

    def test_wrong(self, trial):
        def attempt(module, gain=1.0):
            module.inner.weight.data = gain * torch.randn(120, 40)
            return module

        result = trial(attempt)
        assert failed_checks(result) == ["variances as gain and widths say"]
        assert result.misconceptions == ("as_std",)

    def test_a_copy(self, trial):
        import copy

        result = trial(lambda module, gain=1.0: trial.exercise(copy.deepcopy(module), gain))
        assert "The module that was given holds other weights." in result.feedback

    def test_nothing_returned(self, trial):
        result = trial(lambda module, gain=1.0: None)
        assert failed_checks(result) == ["type"]
        assert "Expected a value of type Model, got nothing (None)." in result.feedback


# --- a generator, sequences, dtypes ------------------------------------------------------


def make_noisy():
    @exercise(points=1)
    def noisy(x: Float[Tensor, "n"], generator) -> Float[Tensor, "n"]:
        return x + torch.rand(x.shape, generator=generator)

    @noisy.check("one state gives one result")
    def repeats(view):
        same = np.array_equal(view.calls[0].result, view.calls[1].result)
        return Verdict(None if same else "the results differ", ())

    @noisy.case("twice the same state", kind="robustness")
    def twice(rng):
        x = rng.normal(size=5).astype(np.float32)
        return [{"x": x, "generator": Generator(7, "torch")} for _ in range(2)]

    return noisy


def make_stacked():
    @exercise(points=1)
    def stacked(parts: list, dtype) -> Float[Tensor, "h n"]:
        return torch.stack(parts).to(dtype)

    @stacked.case("two rows", kind="robustness")
    def two(rng):
        parts = [torch.tensor(rng.normal(size=3), dtype=torch.float32) for _ in range(2)]
        return {"parts": [part.requires_grad_() for part in parts], "dtype": torch.float32}

    @stacked.case("two rows, backwards", kind="robustness")
    def backwards(rng):
        parts = [torch.tensor(rng.normal(size=3), dtype=torch.float32) for _ in range(2)]
        call = stacked.call(
            slot="made", parts=[part.requires_grad_() for part in parts], dtype=torch.float32
        )
        return Program((call, Backward("made")))

    return stacked


class TestArguments:
    def test_a_generator(self):
        trial = trial_of(make_noisy)
        assert trial(lambda x, generator: x + torch.rand(5, generator=generator)).score == 1
        result = trial(lambda x, generator: x + torch.rand(5))
        assert failed_checks(result) == ["one state gives one result"]
        assert result.misconceptions == ()

    def test_lists_of_tensors_and_a_dtype(self):
        trial = trial_of(make_stacked)
        assert trial(lambda parts, dtype: torch.vstack(parts).type(dtype)).outcome == "passed"
        result = trial(lambda parts, dtype: torch.stack([p.detach() for p in parts]))
        assert "Gradient of parts[0]: none arrives" in result.feedback

    def test_the_list_is_watched(self):
        trial = trial_of(make_stacked)

        def attempt(parts, dtype):
            rows = [part + 0 for part in parts]
            parts.pop()
            return torch.stack(rows)

        result = trial(attempt)
        assert "Expected `parts` to be left as it was" in result.feedback

    def test_a_mask_that_is_changed_in_place(self):
        def attempt(parts, dtype):
            with torch.no_grad():
                parts[0] += 1
                made = torch.stack([parts[0] - 1, parts[1]])
            return made

        result = trial_of(make_stacked)(attempt)
        assert "Expected `parts` to be left as it was" in result.feedback


def make_chunked():
    @exercise(points=1)
    def chunked(Q: Float[Tensor, "n_q d"], K: Float[Tensor, "n_k d"]) -> Float[Tensor, "n_q"]:
        return torch.stack([(Q @ key).exp() for key in K]).sum(0)

    @chunked.check("no score matrix is made")
    def small(view):
        limit = len(view.arguments["Q"]) * len(view.arguments["K"])
        largest = view.calls[0].notes["largest_allocation"]
        return None if largest < limit else f"a tensor of {largest} elements was made"

    @chunked.case("many keys", kind="robustness")
    def many(rng):
        call = chunked.call(Q=rng.normal(size=(4, 2)), K=rng.normal(size=(50, 2)))
        return Program((replace(call, watch=("arguments", "allocation")),))

    return chunked


def test_large_tensors_are_watched():
    trial = trial_of(make_chunked)

    def in_pieces(Q, K):
        return sum((Q @ part.mT).exp().sum(-1) for part in K.split(7))

    assert trial(in_pieces).outcome == "passed"
    result = trial(lambda Q, K: (Q @ K.mT).exp().sum(-1))
    assert failed_checks(result) == ["no score matrix is made"]
    assert "A tensor of 200 elements was made." in result.feedback
