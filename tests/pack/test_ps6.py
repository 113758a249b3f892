"""Problem set 6 beside independent oracles, and the numbers that its notebook and quiz state."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402

from autograder.intervals import FALSE_ALARMS, count_range  # noqa: E402
from autograder.judge import judge, judge_case  # noqa: E402
from autograder.pack import load_pack  # noqa: E402
from autograder.quiz import load_quiz  # noqa: E402
from autograder.selfcheck import load_key  # noqa: E402

COURSE = Path(__file__).parents[2]
NAME = "ps6_transformer_block"
SENTENCE = "The animal didn't cross the street because it was too tired"


@pytest.fixture(scope="module")
def pack():
    return load_pack(COURSE, NAME)


@pytest.fixture(scope="module")
def reference(pack):
    return {name: exercise.reference for name, exercise in pack.exercises.items()}


@pytest.fixture(scope="module")
def questions(pack):
    return {question.id: question for question in load_quiz(pack.folder)}


def normal(*shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def right_option(question):
    return next(option.text for option in question.options if option.id == question.answer)


def wrong_values(question):
    return [value for value, _, _ in question.wrong]


def test_the_set_has_what_was_asked_for(pack):
    assert list(pack.exercises) == [
        "LayerNorm",
        "attention_dropout",
        "EncoderBlock",
        "is_permutation_equivariant",
        "receptive_field",
        "attention_heatmap",
    ]
    assert [gift.name for gift in pack.given] == ["MultiHeadAttention"]
    for exercise in pack.exercises.values():
        assert len(exercise.misconceptions) >= 7
        assert len(exercise.alternatives) >= 2
        assert any(case.hidden for case in exercise.cases)


def test_a_self_check_names_every_public_misconception(pack):
    for spec in load_key(COURSE / "assignments" / NAME).specs:
        for known in pack.exercises[spec.name].misconceptions:
            if not known.hidden:
                observed = {
                    case.name: pack.observe(spec.name, known.implementation, case.program)
                    for case in spec.cases
                }
                assert judge(spec, observed).misconceptions == (known.name,)


class TestLayerNorm:
    @pytest.mark.parametrize("shape", [(6,), (5, 6), (2, 3, 6), (2, 3, 4, 6)])
    @pytest.mark.parametrize("eps", [1e-5, 0.5])
    def test_the_library(self, reference, shape, eps):
        ours, theirs = reference["LayerNorm"](6, eps=eps), nn.LayerNorm(6, eps=eps)
        ours, theirs = ours.double(), theirs.double()
        with torch.no_grad():
            theirs.weight.copy_(normal(6, seed=1))
            theirs.bias.copy_(normal(6, seed=2))
        ours.load_state_dict(theirs.state_dict())
        x, cotangent = (3 + 2 * normal(*shape)).requires_grad_(), normal(*shape, seed=3)
        torch.testing.assert_close(ours(x), theirs(x))
        for parts in ((ours.weight, theirs.weight), (ours.bias, theirs.bias), (x, x)):
            gradients = [
                torch.autograd.grad((layer(x) * cotangent).sum(), part)[0]
                for layer, part in zip((ours, theirs), parts, strict=True)
            ]
            torch.testing.assert_close(*gradients)

    def test_at_the_start(self, reference):
        layer = reference["LayerNorm"](7)
        state = layer.state_dict()
        assert {name: tuple(value.shape) for name, value in state.items()} == {
            "weight": (7,),
            "bias": (7,),
        }
        torch.testing.assert_close(state, nn.LayerNorm(7).state_dict())

    @pytest.mark.parametrize("seed", range(5))
    def test_a_mean_of_a_thousand(self, reference, seed):
        """Beside the usual tolerance, 8·eps·|mean|/σ is allowed; the reference needs less."""
        x = (1000 + normal(20, 64, seed=seed)).float()
        exact = functional.layer_norm(x.double(), (64,))
        off = (reference["LayerNorm"](64)(x).double() - exact).abs().max().item()
        sigma = x.double().std(-1, correction=0).min().item()
        assert off <= 4 * torch.finfo(torch.float32).eps * 1000 / sigma


class TestDropout:
    def test_as_the_library_s(self, reference):
        """Values kept, their share, and rows: the same distribution, in two samples each."""
        torch.manual_seed(0)
        p, weights = 0.2, torch.full((20_000, 10), 0.1)
        ours = reference["attention_dropout"](weights, p, True)
        theirs = functional.dropout(weights, p)
        values = [sorted(set(drawn.flatten().tolist())) for drawn in (ours, theirs)]
        assert values[0] == values[1] == pytest.approx([0.0, 0.125])
        assert int((ours > 0).sum()) in count_range(200_000, 1 - p)
        counts = [
            np.bincount((drawn > 0).sum(-1).numpy(), minlength=11) / 20_000
            for drawn in (ours, theirs)
        ]
        for kept in range(11):
            share = math.comb(10, kept) * (1 - p) ** kept * p ** (10 - kept)
            for found in counts:
                assert found[kept] == pytest.approx(share, abs=6 * math.sqrt(share / 20_000))

    def test_the_generator_is_the_only_source(self, reference):
        weights = torch.softmax(normal(4, 5), dim=-1)
        drawn = []
        for state in (1, 2):
            torch.manual_seed(state)
            own = torch.Generator().manual_seed(7)
            drawn.append(reference["attention_dropout"](weights, 0.5, True, own))
        assert torch.equal(*drawn)
        torch.manual_seed(3)
        untouched = torch.rand(1)
        torch.manual_seed(3)
        reference["attention_dropout"](weights, 0.5, True, torch.Generator())
        assert torch.equal(torch.rand(1), untouched)

    def test_evaluation(self, reference):
        weights = torch.softmax(normal(4, 5), dim=-1)
        assert torch.equal(reference["attention_dropout"](weights, 0.9, False), weights)


def block_and_layer(reference, norm_first, dropout=0.0):
    """Our block and PyTorch's layer with the same weights, in float64 and evaluation mode."""
    torch.manual_seed(1)
    ours = reference["EncoderBlock"](6, 3, 8, dropout=dropout, norm_first=norm_first)
    theirs = nn.TransformerEncoderLayer(
        6, 3, 8, dropout=dropout, norm_first=norm_first, batch_first=True, dtype=torch.float64
    )
    ours = ours.double().eval()
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.normal_()
        projections = [getattr(ours.attention, name) for name in ("W_q", "W_k", "W_v")]
        theirs.self_attn.in_proj_weight.copy_(torch.cat([layer.weight for layer in projections]))
        theirs.self_attn.in_proj_bias.copy_(torch.cat([layer.bias for layer in projections]))
    theirs.self_attn.out_proj.load_state_dict(ours.attention.W_o.state_dict())
    for name in ("linear1", "linear2", "norm1", "norm2"):
        getattr(theirs, name).load_state_dict(getattr(ours, name).state_dict())
    return ours, theirs.eval()


class TestBlock:
    @pytest.mark.parametrize("norm_first", [True, False])
    @pytest.mark.parametrize("mask", [None, (5, 5), (2, 1, 5), (2, 5, 5), (2, 3, 5, 5)])
    def test_the_library(self, reference, norm_first, mask):
        ours, theirs = block_and_layer(reference, norm_first, dropout=0.5)
        x = normal(2, 5, 6).requires_grad_()
        visible = hidden = None
        if mask is not None:
            visible = torch.rand(mask, generator=torch.Generator().manual_seed(2)) < 0.5
            visible[..., 3] = True  # each query sees a key
            full = visible[:, None] if visible.dim() == 3 else visible
            # theirs wants samples and heads in one axis, and true where it may not attend
            hidden = ~full.expand(2, 3, 5, 5).reshape(6, 5, 5)
        output, expected = ours(x, visible), theirs(x, src_mask=hidden)
        torch.testing.assert_close(output, expected)
        cotangent = normal(2, 5, 6, seed=3)
        for found, wanted in (
            (x, x),
            (ours.norm1.weight, theirs.norm1.weight),
            (ours.linear1.weight, theirs.linear1.weight),
            (ours.attention.W_o.weight, theirs.self_attn.out_proj.weight),
        ):
            gradients = [
                torch.autograd.grad((made * cotangent).sum(), part, retain_graph=True)[0]
                for made, part in ((output, found), (expected, wanted))
            ]
            torch.testing.assert_close(*gradients)

    @pytest.mark.parametrize("norm_first", [True, False])
    def test_dropout_in_training_is_as_strong_as_the_library_s(self, reference, norm_first):
        """The spread that dropout makes, entry by entry; a place more or less is far outside."""
        ours, theirs = block_and_layer(reference, norm_first, dropout=0.3)
        x = normal(1, 4, 6).expand(8000, 4, 6)
        torch.manual_seed(4)
        with torch.no_grad():
            spreads = [layer.train()(x).var(0) for layer in (ours, theirs)]
        assert (spreads[0] / spreads[1]).mean().item() == pytest.approx(1.0, abs=0.02)

    def test_heads_have_to_divide(self, reference):
        with pytest.raises(ValueError, match="does not divide"):
            reference["EncoderBlock"](7, 2, 5)

    @pytest.mark.parametrize("times", [1, 2])
    def test_chance_rejects_fewer_than_one_in_four_million(self, times):
        """Of the 384 entries in each of four training cases, whose share is looked at."""
        kept = 0.6**times
        chance = 5.5 * math.sqrt(kept * (1 - kept) / 384)
        low, high = 384 * (kept - chance), 384 * (kept + chance)
        inside = count_range(384, kept, statistics=4, rate=FALSE_ALARMS)
        assert low <= inside.low and inside.high <= high

    def test_three_dropouts_are_told_apart(self, pack):
        """Each public training case names the misconception that it is for."""
        spec = pack.draw("EncoderBlock", "a seed", public_only=True)
        known = {m.name: m.implementation for m in pack.exercises["EncoderBlock"].misconceptions}
        for case, name in (
            ("after_attention", "no_dropout_after_sublayers"),
            ("after_network", "no_dropout_after_sublayers"),
            ("after_relu", "no_dropout_after_relu"),
        ):
            drawn = next(one for one in spec.cases if one.name == case)
            observed = pack.observe("EncoderBlock", known[name], drawn.program)
            fault = judge_case(spec, drawn, observed)
            assert fault is not None and fault.check.startswith("in training, dropout acts on what")


# Of library modules, whether they are permutation equivariant.
FUNCTIONS = {
    "attention": (True, lambda layer, x: layer(x[None], x[None], x[None])[0][0]),
    "causal attention": (
        False,
        lambda layer, x: layer(
            x[None], x[None], x[None], attn_mask=~torch.ones(4, 4).tril().bool()
        )[0][0],
    ),
    "layer norm": (True, lambda layer, x: nn.LayerNorm(8, dtype=torch.float64)(x)),
    "convolution": (False, lambda layer, x: functional.avg_pool1d(x.T, 3, 1, 1).T),
    "softmax over tokens": (True, lambda layer, x: torch.softmax(x, dim=0)),
    "mean for every token": (True, lambda layer, x: x.mean(0).expand(4, -1)),
    "positions added": (False, lambda layer, x: x + torch.arange(4.0)[:, None]),
}


class TestEquivariance:
    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_every_permutation(self, reference, name):
        torch.manual_seed(0)
        layer = nn.MultiheadAttention(8, 2, batch_first=True, dtype=torch.float64).eval()
        equivariant, f = FUNCTIONS[name]
        x = normal(4, 8)
        answers = {
            order: bool(
                reference["is_permutation_equivariant"](
                    lambda tokens: f(layer, tokens), x, torch.tensor(order)
                )
            )
            for order in itertools.permutations(range(4))
        }
        assert answers.pop((0, 1, 2, 3))  # nothing is reordered
        # under one permutation (the reversal) a convolution with a symmetric kernel is too
        answers.pop((3, 2, 1, 0))
        assert set(answers.values()) == {equivariant}

    def test_our_block_is_and_its_mean_is_invariant(self, reference):
        torch.manual_seed(0)
        blocks = nn.Sequential(*[reference["EncoderBlock"](8, 2, 16) for _ in range(3)])
        blocks = blocks.double().eval()
        x, order = normal(5, 8), torch.tensor([4, 0, 3, 1, 2])
        assert reference["is_permutation_equivariant"](lambda t: blocks(t[None])[0], x, order)
        before, after = (blocks(t[None])[0].mean(0) for t in (x, x[order]))
        torch.testing.assert_close(before, after)

    def test_with_a_causal_mask_neither(self, reference):
        torch.manual_seed(0)
        block = reference["EncoderBlock"](8, 2, 16).double().eval()
        x, order = normal(5, 8), torch.tensor([4, 0, 3, 1, 2])
        mask = torch.ones(5, 5).tril().bool()

        def f(tokens):
            return block(tokens[None], mask)[0]

        assert not reference["is_permutation_equivariant"](f, x, order)
        assert (f(x).mean(0) - f(x[order]).mean(0)).abs().max() > 1e-3


@pytest.mark.parametrize("num_layers", [0, 1, 2, 5])
@pytest.mark.parametrize("kernel_size", [1, 2, 3, 7])
def test_receptive_field_by_the_gradient_of_a_stack(reference, num_layers, kernel_size):
    x = torch.zeros(1, 1, 40, requires_grad=True)
    y = x
    for _ in range(num_layers):
        y = nn.Conv1d(1, 1, kernel_size)(y)
    (gradient,) = torch.autograd.grad(y[0, 0, 0], x)
    seen = int((gradient != 0).sum())
    assert reference["receptive_field"](num_layers, kernel_size) == seen


class TestHeatmap:
    def test_cells_and_labels(self, reference):
        import matplotlib.pyplot as plt

        weights = torch.softmax(normal(3, 4), -1).requires_grad_()
        _, ax = plt.subplots()
        made = reference["attention_heatmap"](weights, ["a", "b", "a"], list("wxyz"), ax=ax)
        assert made is ax
        np.testing.assert_allclose(ax.images[0].get_array(), weights.detach())
        assert ax.yaxis_inverted()  # query 0 at the top
        assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b", "a"]
        assert [label.get_text() for label in ax.get_xticklabels()] == list("wxyz")
        plt.close("all")


# --- what is said ------------------------------------------------------------------------


class TestNumbersOfNorms:
    def test_a_token_by_hand(self):
        token = torch.tensor([2.0, 4.0, 4.0, 6.0])
        assert token.var(correction=0) == 2
        assert token.var().item() == pytest.approx(8 / 3)
        for scale in (1, 100):
            normed = functional.layer_norm(scale * token, (4,))
            assert normed.tolist() == pytest.approx([-math.sqrt(2), 0, 0, math.sqrt(2)], abs=1e-4)

    def test_squares_near_a_million(self):
        """Float32 numbers there are 1/16 apart, so that the variance has no other digits."""
        million = torch.tensor(999_000.0)
        assert torch.nextafter(million, 2 * million) - million == 0.0625
        generator = torch.Generator().manual_seed(0)
        x = 1000 + torch.randn(64, generator=generator)
        assert x.double().var(correction=0).item() == pytest.approx(1.0862, abs=1e-4)
        by_squares = (x.square().mean() - x.mean().square()).item()
        assert by_squares % 0.0625 == 0
        assert abs(by_squares - 1.0862) > 0.02

    def test_normalised_entry(self, questions):
        token = np.array([1.0, 3.0, 5.0, 7.0])
        off = token - token.mean()
        question = questions["normalised_entry"]
        assert question.answer == pytest.approx(off[3] / token.std(), abs=1e-3)
        assert wrong_values(question) == pytest.approx(
            [
                off[3] / token.std(ddof=1),
                off[3] / token.var(),
                7 / math.sqrt((token**2).mean()),
                off[3],
            ],
            abs=1e-3,
        )

    def test_variance_beside_eps(self, questions):
        v = eps = 1e-5
        question = questions["variance_beside_eps"]
        assert question.answer == pytest.approx(v / (v + eps))
        outside = v / (math.sqrt(v) + eps) ** 2
        found = [1.0, outside, math.sqrt(v / (v + eps)), (v + eps) / v]
        assert wrong_values(question) == pytest.approx(found, abs=1e-4)
        token = torch.tensor([1.0, -1.0], dtype=torch.float64) * math.sqrt(v)
        normed = functional.layer_norm(token, (2,), eps=eps)
        assert normed.var(correction=0).item() == pytest.approx(question.answer)

    def test_a_shift_and_two_norms(self, questions):
        x = normal(3, 64)
        still = {
            "Layer norm": functional.layer_norm(x + 5, (64,)) - functional.layer_norm(x, (64,)),
            "RMSNorm": functional.rms_norm(x + 5, (64,)) - functional.rms_norm(x, (64,)),
        }
        unmoved = [name for name, moved in still.items() if moved.abs().max() < 1e-9]
        assert right_option(questions["shifted_token"]) == f"{unmoved[0]} alone"
        assert unmoved == ["Layer norm"]


class TestNumbersOfDropout:
    def test_rows_made_to_sum_to_one(self, questions):
        """Weights of 0.9 and 0.1 with p = 1/2, all four draws counted."""
        weights = np.array([0.9, 0.1])
        with_division, without = np.zeros(2), np.zeros(2)
        for kept in itertools.product((0, 1), repeat=2):
            drawn = weights * kept / 0.5
            without += drawn / 4
            with_division += drawn / (drawn.sum() or 1.0) / 4
        assert without == pytest.approx(weights)
        assert with_division == pytest.approx([0.475, 0.275])
        assert "no longer its weight" in right_option(questions["rows_made_to_sum_to_one"])


class TestNumbersOfTheBlock:
    def test_zeros(self):
        token = torch.tensor([[3.0, 1.0]])
        normed = functional.layer_norm(functional.layer_norm(token, (2,)), (2,))
        assert normed.tolist()[0] == pytest.approx([1.0, -1.0], abs=1e-4)

    def test_block_parameters(self, reference, questions):
        d, inside, heads = 768, 3072, 12
        block = reference["EncoderBlock"](d, heads, inside)
        count = sum(parameter.numel() for parameter in block.parameters())
        library = nn.TransformerEncoderLayer(d, heads, inside)
        assert count == sum(parameter.numel() for parameter in library.parameters())
        question = questions["block_parameters"]
        assert question.answer == count
        attention, network = 4 * (d * d + d), 2 * d * inside + inside + d
        assert (attention, network, 2 * 2 * d) == (2_362_368, 4_722_432, 3_072)
        wrong = [
            4 * d * d + 2 * d * inside,
            count - 4 * d,
            count - 2 * d,
            count - (d * d + d),
            count + (heads - 1) * attention,
        ]
        assert wrong_values(question) == wrong
        assert 12 * count == pytest.approx(85e6, rel=0.01)
        assert network / count == pytest.approx(2 / 3, abs=0.01)

    def test_norms_on_the_path(self, reference, questions):
        """With sublayers that give zeros, an input is left alone, or has gone through norms."""
        assert right_option(questions["norms_on_the_path"]) == "post-norm {=2 * L}, pre-norm 0"
        seen = {}
        for norm_first in (True, False):
            blocks = [reference["EncoderBlock"](4, 2, 4, norm_first=norm_first) for _ in range(12)]
            stack = nn.Sequential(*blocks).double().eval()
            passed = []
            for block in blocks:
                nn.init.zeros_(block.attention.W_o.weight)
                nn.init.zeros_(block.attention.W_o.bias)
                nn.init.zeros_(block.linear2.weight)
                nn.init.zeros_(block.linear2.bias)
                for norm in (block.norm1, block.norm2):
                    norm.register_forward_hook(lambda *made, passed=passed: passed.append(made[2]))
            x = normal(1, 3, 4)
            output = stack(x)
            seen[norm_first] = (torch.equal(output, x), output is passed[-1], len(passed))
        assert seen[True] == (True, False, 24)
        assert seen[False] == (False, True, 24)

    def test_without_a_relu_it_is_one_layer(self, questions):
        first, second = nn.Linear(4, 16).double(), nn.Linear(16, 4).double()
        matrix = second.weight @ first.weight
        bias = second.weight @ first.bias + second.bias
        x = normal(5, 4)
        torch.testing.assert_close(second(first(x)), functional.linear(x, matrix, bias))
        assert matrix.shape == (4, 4)
        assert "a single `nn.Linear(d, d)`" in right_option(questions["without_relu"])
        assert first.weight.numel() + second.weight.numel() == 8 * matrix.numel()

    def test_a_stack_as_the_notebook_draws_it(self, reference):
        found = {}
        for norm_first in (True, False):
            torch.manual_seed(0)
            start = tokens = torch.randn(1, 16, 64)
            for depth in range(1, 25):
                block = reference["EncoderBlock"](64, 4, 256, norm_first=norm_first).eval()
                for layer in block.modules():
                    if isinstance(layer, nn.Linear):
                        nn.init.xavier_uniform_(layer.weight)
                        nn.init.zeros_(layer.bias)
                with torch.no_grad():
                    tokens = block(tokens)
                both = torch.stack([start.flatten(), tokens.flatten()])
                variance = tokens.var(-1, correction=0).mean().item()
                found[norm_first, depth] = variance, torch.corrcoef(both)[0, 1].item()
        assert all(found[False, depth][0] == pytest.approx(1, abs=1e-3) for depth in range(1, 25))
        assert found[True, 12][0] > 5 and found[True, 24][0] > 10
        assert abs(found[False, 12][1]) < 0.1  # nothing of the input is left
        assert found[True, 12][1] > 0.2 and found[True, 24][1] > 0.15


class TestNumbersOfOrderAndReach:
    def test_three_functions(self):
        x, order = torch.tensor([1.0, 2.0, 6.0]), torch.tensor([2, 0, 1])
        less, running = x - x.mean(), x.cumsum(0)
        assert (x[order] - x.mean()).tolist() == less[order].tolist() == [3, -2, -1]
        assert (x[order].cumsum(0).tolist(), running[order].tolist()) == ([6, 7, 9], [9, 1, 3])
        assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1

    def test_row_after_permutation(self, questions):
        permutation = torch.tensor([2, 0, 3, 1])
        rows = torch.arange(4)
        question = questions["row_after_permutation"]
        assert rows[permutation][1] == question.answer
        inverse = torch.argsort(permutation)
        assert wrong_values(question) == [1, inverse[1], permutation[0]]

    def test_dog_bites_man(self, reference, questions):
        torch.manual_seed(0)
        dog, bites, man = normal(3, 8)
        sentences = [torch.stack([dog, bites, man]), torch.stack([man, bites, dog])]
        causal = torch.ones(3, 3).tril().bool()
        block = [reference["EncoderBlock"](8, 4, 16).double().eval() for _ in range(12)]
        layer = block[0].attention
        models = {
            "A layer of self-attention with many heads": lambda x: layer(x)[0],
            "A stack of twelve encoder blocks without a mask": nn.Sequential(*block),
            "A layer of self-attention with a causal mask": lambda x: layer(x, mask=causal)[0],
        }
        different = [
            name
            for name, model in models.items()
            if not torch.allclose(*[model(x[None]).mean(1) for x in sentences], atol=1e-9)
        ]
        assert different == [right_option(questions["tells_the_order"])]
        texts = [option.text for option in questions["tells_the_order"].options]
        assert texts == [*models, "None of them"]

    def test_vgg(self, reference):
        assert reference["receptive_field"](2, 3) == reference["receptive_field"](1, 5) == 5

    def test_shifted_image(self, questions):
        image = normal(1, 1, 12, 12)
        kernel = normal(1, 1, 3, 3, seed=1)

        def convolve(picture):
            return functional.conv2d(picture, kernel, padding=1)

        def shift(picture):
            return functional.pad(picture, (3, 0))[..., :-3]

        off = (convolve(shift(image)) - shift(convolve(image))).abs()[0, 0]
        assert off[:, 3:-1].max() < 1e-12  # away from the borders
        assert off.max() > 0.1
        text = right_option(questions["shifted_image"])
        assert text == "It moves by 3 pixels, except near the borders."

    def test_soft_look_up(self):
        weights = torch.softmax(16 * torch.tensor([0.0, 1.0, 0.0]), 0)
        assert f"{weights @ torch.tensor([10.0, 20.0, 60.0]):.3f}" == "20.000"


class TestNumbersOfPictures:
    def test_the_pronoun_and_its_animal(self):
        words = SENTENCE.split()
        assert (words.index("animal"), words.index("it")) == (1, 7)
        scores = 1.5 * torch.eye(11)
        scores[7, 1], scores[7, 5] = 4.0, 2.5
        weights = torch.softmax(scores, -1)
        assert weights[7].argsort(descending=True)[:3].tolist() == [1, 5, 7]
        assert f"{weights[7, 1]:.0%}" == "69%"
        assert f"{weights[0, 1]:.0%}" == "7%"
        # where 7% stands on a logarithmic scale from the least weight to the largest
        low, mid, high = (math.log(w) for w in (weights.min(), weights[0, 1], weights.max()))
        assert (mid - low) / (high - low) == pytest.approx(0.42, abs=0.01)

    def test_a_bright_cell_says_what_is_in_the_mixture(self, questions):
        """A value may be large with a small weight, and the output then resembles that one."""
        weights = torch.tensor([0.7, 0.3])
        values = torch.tensor([[1.0, 0.0], [0.0, 10.0]])
        output = weights @ values
        alike = functional.cosine_similarity(output[None], values)
        assert alike.argmax() == 1
        assert "the largest weight in the mixture" in right_option(questions["bright_cell"])
