"""The references of problem set 3 beside independent ones: the library's layer, loops, float64."""

import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from autograder.judge import judge_case  # noqa: E402
from autograder.pack import load_pack  # noqa: E402

COURSE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pack():
    return load_pack(COURSE, "ps3_multi_head")


@pytest.fixture(scope="module")
def reference(pack):
    return {name: exercise.reference for name, exercise in pack.exercises.items()}


@pytest.fixture
def generator():
    return torch.Generator().manual_seed(7)


def drawn(generator, *shape):
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def test_the_set_has_what_was_asked_for(pack):
    assert list(pack.exercises) == [
        "split_heads",
        "concat_heads",
        "multi_head_formula",
        "MultiHeadAttention",
        "count_parameters",
    ]
    for exercise in pack.exercises.values():
        assert len(exercise.misconceptions) >= 8
        assert len(exercise.alternatives) >= 4
        assert any(case.hidden for case in exercise.cases)


class TestHeads:
    def test_split_by_the_docstring(self, reference, generator):
        x = drawn(generator, 2, 3, 20)
        heads = reference["split_heads"](x, 4)
        assert heads.shape == (2, 4, 3, 5)
        for b, i, t in np.ndindex(2, 4, 3):
            assert torch.equal(heads[b, i, t], x[b, t, 5 * i : 5 * (i + 1)])

    def test_concat_is_the_way_back(self, reference, generator):
        x = drawn(generator, 2, 3, 20)
        for num_heads in (1, 2, 4, 5, 20):
            heads = reference["split_heads"](x, num_heads)
            assert torch.equal(reference["concat_heads"](heads), x)


class TestFormula:
    def test_three_loops(self, reference, generator):
        n, d, h, d_k, d_v = 4, 5, 3, 2, 6
        x, W_o = drawn(generator, n, d), drawn(generator, h * d_v, d)
        W_q, W_k = ([drawn(generator, d, d_k) for _ in range(h)] for _ in range(2))
        W_v = [drawn(generator, d, d_v) for _ in range(h)]
        expected = torch.zeros(n, d, dtype=torch.float64)
        for i in range(h):
            for t in range(n):
                scores = [(x[t] @ W_q[i]) @ (x[s] @ W_k[i]) / math.sqrt(d_k) for s in range(n)]
                powers = [math.exp(score) for score in scores]
                head = sum(p / sum(powers) * (x[s] @ W_v[i]) for s, p in enumerate(powers))
                expected[t] += head @ W_o[i * d_v : (i + 1) * d_v]
        found = reference["multi_head_formula"](x, W_q, W_k, W_v, W_o)
        torch.testing.assert_close(found, expected)

    def test_the_layer_computes_the_formula(self, reference, generator):
        layer = reference["MultiHeadAttention"](6, 3, bias=False).double().eval()
        x = drawn(generator, 4, 6)
        parts = [list(W.weight.T.split(2, dim=1)) for W in (layer.W_q, layer.W_k, layer.W_v)]
        expected = reference["multi_head_formula"](x, *parts, layer.W_o.weight.T)
        torch.testing.assert_close(layer(x[None])[0][0], expected)


def same_as_the_library(reference, d_model, num_heads, bias):
    """Our layer and PyTorch's with the same weights, in float64 and evaluation mode."""
    ours = reference["MultiHeadAttention"](d_model, num_heads, bias=bias).double().eval()
    theirs = nn.MultiheadAttention(d_model, num_heads, bias=bias, batch_first=True)
    theirs = theirs.double().eval()
    with torch.no_grad():
        layers = (ours.W_q, ours.W_k, ours.W_v)
        theirs.in_proj_weight.copy_(torch.cat([layer.weight for layer in layers]))
        theirs.out_proj.weight.copy_(ours.W_o.weight)
        if bias:
            for layer in (*layers, ours.W_o):
                layer.bias.normal_()  # the library begins with zeros
            theirs.in_proj_bias.copy_(torch.cat([layer.bias for layer in layers]))
            theirs.out_proj.bias.copy_(ours.W_o.bias)
    return ours, theirs


class TestLayer:
    @pytest.mark.parametrize("bias", [True, False])
    @pytest.mark.parametrize(
        ("num_heads", "shape"),
        [
            (2, None),
            (2, (5, 7)),
            (3, (2, 1, 7)),
            (6, (2, 5, 7)),
            (2, (2, 5, 7)),  # as many samples as heads
            (3, (2, 3, 5, 7)),
        ],
    )
    def test_the_library(self, reference, generator, num_heads, shape, bias):
        ours, theirs = same_as_the_library(reference, 6, num_heads, bias)
        query = drawn(generator, 2, 5, 6).requires_grad_()
        key, value = drawn(generator, 2, 7, 6), drawn(generator, 2, 7, 6)
        mask = hidden = None
        if shape is not None:
            mask = torch.rand(shape, generator=generator) < 0.5
            mask[..., 3] = True  # each query sees a key
            full = mask[:, None] if mask.dim() == 3 else mask
            # theirs wants samples and heads in one axis, and true where it may not attend
            hidden = ~full.expand(2, num_heads, 5, 7).reshape(2 * num_heads, 5, 7)
        output, weights = ours(query, key, value, mask)
        expected = theirs(query, key, value, attn_mask=hidden, average_attn_weights=False)
        torch.testing.assert_close(output, expected[0])
        torch.testing.assert_close(weights, expected[1])
        cotangent = drawn(generator, *output.shape)
        found = torch.autograd.grad(output, (query, ours.W_v.weight), cotangent)
        gradients = torch.autograd.grad(expected[0], (query, theirs.in_proj_weight), cotangent)
        torch.testing.assert_close(found[0], gradients[0])
        torch.testing.assert_close(found[1], gradients[1][12:])
        if mask is not None:
            again = ours(query, key, value, mask.long())
            torch.testing.assert_close(again, (output, weights))

    def test_key_and_value_by_default(self, reference, generator):
        ours, _ = same_as_the_library(reference, 6, 2, True)
        query, key = drawn(generator, 2, 5, 6), drawn(generator, 2, 7, 6)
        torch.testing.assert_close(ours(query), ours(query, query, query))
        torch.testing.assert_close(ours(query, key), ours(query, key, key))

    @pytest.mark.parametrize(("d_model", "num_heads"), [(10, 4), (4, 8), (7, 2)])
    def test_heads_that_do_not_fit(self, reference, d_model, num_heads):
        with pytest.raises(ValueError, match=f"num_heads = {num_heads} does not divide"):
            reference["MultiHeadAttention"](d_model, num_heads)

    def test_dropout_acts_on_the_weights(self, reference, generator):
        torch.manual_seed(0)
        layer = reference["MultiHeadAttention"](6, 2, dropout=0.3).double()
        x = drawn(generator, 1, 4, 6)
        in_training = [layer(x) for _ in range(1000)]
        output, weights = layer.eval()(x)
        for _, before in in_training[:10]:
            torch.testing.assert_close(before, weights)
        outputs = torch.stack([made for made, _ in in_training])
        error = outputs.std(dim=0) / math.sqrt(len(outputs))
        assert (outputs.mean(dim=0) - output).abs().max() < 5 * error.max()
        assert error.min() > 0


class TestCount:
    @pytest.mark.parametrize("bias", [True, False])
    @pytest.mark.parametrize(("d_model", "num_heads"), [(8, 1), (8, 2), (8, 4), (12, 3), (512, 8)])
    def test_the_layers_hold_as_many(self, reference, d_model, num_heads, bias):
        count = reference["count_parameters"](d_model, num_heads, bias)
        theirs = nn.MultiheadAttention(d_model, num_heads, bias=bias)
        ours = reference["MultiHeadAttention"](d_model, num_heads, bias=bias)
        for layer in (theirs, ours):
            assert count == sum(parameter.numel() for parameter in layer.parameters())


# --- what is said ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def layer_spec(pack):
    return pack.draw("MultiHeadAttention", "a seed")


def fault_of(pack, spec, name, implementation):
    case = next(case for case in spec.cases if case.name == name)
    return judge_case(spec, case, pack.observe(spec.name, implementation, case.program))


class TestSilentMasks:
    """Three kinds of mistakes that most public suites let through."""

    @pytest.mark.parametrize(
        "name", ["mask_changed", "mask_without_head_axis", "mask_of_first_sample"]
    )
    def test_seen_by_a_public_case(self, pack, layer_spec, name):
        known = {m.name: m for m in pack.exercises["MultiHeadAttention"].misconceptions}
        wrong = known[name].implementation
        assert any(
            fault_of(pack, layer_spec, case.name, wrong)
            for case in layer_spec.cases
            if not case.hidden
        )

    def test_nothing_raises_where_the_batch_is_as_large_as_the_heads(self, pack, layer_spec):
        known = {m.name: m for m in pack.exercises["MultiHeadAttention"].misconceptions}
        for name in ("mask_without_head_axis", "mask_of_first_sample", "mask_repeated_in_turn"):
            wrong = known[name].implementation
            fault = fault_of(pack, layer_spec, "mask_for_each_sample", wrong)
            assert fault.check == "hidden keys get no weight"


class TestDropoutIsRead:
    """The check that reads the dropped weights off the output, on layers of other writing."""

    @pytest.mark.parametrize("shared", ["heads", "samples"])
    def test_one_draw_for_several_is_right(self, pack, layer_spec, shared):
        base = pack.exercises["MultiHeadAttention"].reference

        class Shared(base):
            def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
                super().__init__(d_model, num_heads, bias, 0.0)
                self.p = dropout
                self.dropout.register_forward_hook(self.draw)

            def draw(self, module, inputs, weights):
                one = weights[:1, :1] if shared == "heads" else weights[:1]
                return weights * nn.functional.dropout(torch.ones_like(one), self.p, self.training)

        assert fault_of(pack, layer_spec, "training", Shared) is None

    def test_the_probability_to_keep(self, pack, layer_spec):
        base = pack.exercises["MultiHeadAttention"].reference

        class Kept(base):
            def __init__(self, d_model, num_heads, bias=True, dropout=0.0):
                super().__init__(d_model, num_heads, bias, 1 - dropout if dropout else 0.0)

        fault = fault_of(pack, layer_spec, "training", Kept)
        assert "were multiplied by 2.5, expected 1/(1 - 0.4)" in fault.message
