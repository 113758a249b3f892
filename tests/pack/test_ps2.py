"""The references of problem set 2 beside independent ones: the library's own, loops, float64."""

import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from autograder.judge import judge  # noqa: E402
from autograder.pack import load_pack  # noqa: E402

COURSE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pack():
    return load_pack(COURSE, "ps2_torch_attention")


@pytest.fixture(scope="module")
def reference(pack):
    return {name: exercise.reference for name, exercise in pack.exercises.items()}


def test_the_set_has_what_was_asked_for(pack):
    assert list(pack.exercises) == [
        "scaled_dot_product_attention",
        "causal_mask",
        "padding_mask",
        "SelfAttention",
        "CrossAttention",
        "init_projections",
    ]
    for exercise in pack.exercises.values():
        assert len(exercise.misconceptions) >= 8
        assert len(exercise.alternatives) >= 4
        assert any(case.hidden for case in exercise.cases)


def tensors(*shapes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randn(shape, generator=generator, dtype=torch.float64, requires_grad=True)
        for shape in shapes
    ]


def masks(n_q, n_k):
    return {
        "none": None,
        "bool": torch.ones(n_q, n_k).tril(n_k - n_q).bool(),
        "zeros and ones": torch.ones(n_q, n_k).tril(n_k - n_q).long(),
        "a row": torch.tensor([1.0] + (n_k - 1) * [0.0]),
    }


class TestScaledDotProductAttention:
    @pytest.mark.parametrize("leading", [(), (2,), (3, 2)])
    @pytest.mark.parametrize("kind", ["none", "bool", "zeros and ones", "a row"])
    def test_equals_the_library_with_its_gradients(self, reference, leading, kind):
        inputs = tensors((*leading, 3, 5), (*leading, 4, 5), (*leading, 4, 2))
        mask = masks(3, 4)[kind]
        output, weights = reference["scaled_dot_product_attention"](*inputs, mask)
        shown = None if mask is None else mask.bool().expand(3, 4)
        wanted = F.scaled_dot_product_attention(*inputs, attn_mask=shown)
        torch.testing.assert_close(output, wanted)
        torch.testing.assert_close(weights @ inputs[2], wanted)
        probe = torch.randn(wanted.shape, dtype=torch.float64)
        ours = torch.autograd.grad((output * probe).sum(), inputs)
        theirs = torch.autograd.grad((wanted * probe).sum(), inputs)
        for left, right in zip(ours, theirs, strict=True):
            torch.testing.assert_close(left, right)

    def test_equals_three_loops(self, reference):
        Q, K, V = (part.detach() for part in tensors((3, 4), (5, 4), (5, 2)))
        mask = torch.tensor([[1, 0, 1, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 0, 1]])
        output, weights = reference["scaled_dot_product_attention"](Q, K, V, mask)
        for i in range(3):
            parts = [math.exp(Q[i] @ K[j] / math.sqrt(4)) * int(mask[i, j]) for j in range(5)]
            shares = torch.tensor(parts, dtype=torch.float64) / sum(parts)
            torch.testing.assert_close(weights[i], shares)
            torch.testing.assert_close(output[i], shares @ V)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_causal_mask_entry_by_entry(reference, n):
    mask = reference["causal_mask"](n)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[j <= i for j in range(n)] for i in range(n)]
    drop = nn.Transformer.generate_square_subsequent_mask(n) == -math.inf
    assert torch.equal(mask, ~drop)


def test_padding_mask_entry_by_entry(reference):
    mask = reference["padding_mask"](torch.tensor([2, 0, 3]), 3)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[[True, True, False]], [[False] * 3], [[True] * 3]]


def with_library(layer, queries, context, mask):
    """One head of the library's, with the weights of a layer whose widths are all equal."""
    width = layer.W_q.in_features
    theirs = nn.MultiheadAttention(width, 1, bias=True, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        parts = (layer.W_q, layer.W_k, layer.W_v)
        theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
        theirs.in_proj_bias.copy_(torch.cat([part.bias for part in parts]))
        theirs.out_proj.weight.copy_(torch.eye(width))
        theirs.out_proj.bias.zero_()
    return theirs(queries, context, context, attn_mask=None if mask is None else ~mask)


@pytest.mark.parametrize("masked", [False, True])
class TestLayersEqualTheLibrary:
    def test_self_attention(self, reference, masked):
        layer = reference["SelfAttention"](4, 4, bias=True).double()
        (x,) = tensors((2, 3, 4))
        mask = reference["causal_mask"](3) if masked else None
        for ours, theirs in zip(layer(x, mask), with_library(layer, x, x, mask), strict=True):
            torch.testing.assert_close(ours, theirs)

    def test_cross_attention(self, reference, masked):
        layer = reference["CrossAttention"](4, 4, 4, bias=True).double()
        x, context = tensors((2, 3, 4), (2, 5, 4))
        mask = torch.tensor([True, False, True, True, False]).expand(3, 5) if masked else None
        wanted = with_library(layer, x, context, mask)
        for ours, theirs in zip(layer(x, context, mask), wanted, strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("gain", [1.0, 0.02])
def test_xavier_statistics(reference, gain):
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(300, 100), nn.LayerNorm(100), nn.Linear(100, 400, bias=False))
    before = dict(model.named_parameters())
    assert reference["init_projections"](model, gain) is model
    after = dict(model.named_parameters())
    assert all(after[name] is before[name] for name in before)
    for layer, fans in ((model[0], 400), (model[2], 500)):
        wanted = gain**2 * 2 / fans
        weight = layer.weight.detach()
        off = weight.var().item() / wanted - 1
        assert abs(off) < 6 * math.sqrt(0.8 / weight.numel())
        assert weight.abs().max().item() <= gain * math.sqrt(6 / fans) * (1 + 1e-6)
    assert not model[0].bias.any()
    assert model[1].weight.eq(1).all() and not model[1].bias.any()


class TestInitProjectionsIsJudgedByStatistics:
    @pytest.mark.parametrize("gain", [1.0, 0.5, 3.0])
    def test_false_alarms_and_names_over_many_seeds(self, pack, gain):
        """Right ones pass and wrong ones are named, whatever is drawn."""
        name = "init_projections"
        exercise = pack.exercises[name]
        spec = pack.draw(name, "many seeds")
        case = next(case for case in spec.cases if case.name == "model")
        right = [exercise.reference, *(known.implementation for known in exercise.alternatives)]
        for seed in range(10):
            program = _seeded(case.program, seed, gain)
            for implementation in right:
                observed = pack.observe(name, implementation, program)
                one = _only(spec, case, program, observed)
                result = judge(one, {case.name: observed})
                assert result.outcome == "passed", (seed, result.feedback)

    def test_each_mistake_is_named_whatever_it_draws(self, pack):
        name = "init_projections"
        spec = pack.draw(name, "names")
        named = total = 0
        for known in pack.exercises[name].misconceptions:
            for seed in range(3):
                observed = {
                    case.name: pack.observe(
                        name, known.implementation, _seeded(case.program, seed, None)
                    )
                    for case in spec.cases
                }
                result = judge(spec, observed)
                assert result.outcome != "passed", (known.name, seed)
                named += result.misconceptions == (known.name,)
                total += 1
        assert named >= 0.95 * total, (named, total)


def _seeded(program, seed, gain):
    from dataclasses import replace

    from autograder.program import Call

    def changed(step):
        if gain is None or not isinstance(step, Call):
            return step
        return (
            replace(step, kwargs={**step.kwargs, "gain": gain})
            if "gain" in step.kwargs
            else (replace(step, args=(step.args[0], gain)))
        )

    return replace(program, seed=seed, steps=tuple(changed(step) for step in program.steps))


def _only(spec, case, program, observed):
    from dataclasses import replace

    return replace(spec, cases=(replace(case, program=program, expected=observed),))


def test_numbers_of_parameters(reference):
    def count(layer):
        return sum(parameter.numel() for parameter in layer.parameters())

    layer = reference["SelfAttention"](512, 64)
    assert count(layer) == 3 * 512 * 64 == 98_304
    output, weights = layer(torch.zeros(2, 6, 512))
    assert (output.shape, weights.shape) == ((2, 6, 64), (2, 6, 6))
    layer = reference["SelfAttention"](64, 128, 160, bias=True)
    assert count(layer) == 2 * (64 * 128 + 128) + 64 * 160 + 160 == 27_040
    assert layer(torch.zeros(4, 10, 64))[0].shape == (4, 10, 160)


def test_wrong_ones_never_pass_by_the_default_tolerance(pack):
    """A missing scale at inputs of 1e-3 moves a result by 1e-6 only; other cases see it."""
    spec = pack.draw("scaled_dot_product_attention", "tiny")
    case = next(case for case in spec.cases if case.name == "tiny")
    unscaled = pack.observe(spec.name, _unscaled, case.program)
    difference = np.abs(unscaled[0].value[1].data - case.expected[0].value[1].data).max()
    assert difference < 1e-5
    observed = {c.name: pack.observe(spec.name, _unscaled, c.program) for c in spec.cases}
    assert judge(spec, observed).misconceptions == ("not_scaled",)


def _unscaled(Q, K, V, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", Q, K)
    if mask is not None:
        scores = torch.where(mask.bool(), scores, -1e30)
    weights = scores.softmax(-1)
    return weights @ V, weights
