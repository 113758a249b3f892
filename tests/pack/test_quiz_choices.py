"""Options that quizzes count as right, and those that they count as wrong: each tried out."""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from tests.pack.quiz_numbers import PS1, PS3, PS4, PS5, PS6, QUESTIONS, reference, size_of


def options(assignment, name):
    """Option id → text."""
    return {option.id: option.text for option in QUESTIONS[assignment, name].options}


def right_option(assignment, name):
    question = QUESTIONS[assignment, name]
    return options(assignment, name)[question.answer]


def judged(assignment, name, verdicts):
    """Text of an option → whether it is right, of all options."""
    right = set(QUESTIONS[assignment, name].answer)
    assert verdicts == {text: key in right for key, text in options(assignment, name).items()}


class TestChoicesOfPs1:
    def test_which_widths_fit(self):
        """(d_out, d_in) of W_k and of W_v beside a W_q of (4, 6)."""
        layer = reference(PS1, "self_attention")
        shapes = {
            "`W_k` (3, 6) and `W_v` (4, 6)": ((3, 6), (4, 6)),
            "`W_k` (4, 6) and `W_v` (4, 3)": ((4, 6), (4, 3)),
            "`W_k` (6, 4) and `W_v` (6, 4)": ((6, 4), (6, 4)),
            "`W_k` (4, 6) and `W_v` (3, 6)": ((4, 6), (3, 6)),
        }
        assert shapes.keys() == set(options(PS1, "fitting_widths").values())
        for text, (key, value) in shapes.items():
            arguments = np.ones((6, 5)), np.ones((4, 6)), np.ones(key), np.ones(value)
            if text == right_option(PS1, "fitting_widths"):
                assert layer(*arguments)[0].shape == (3, 5)
            else:
                with pytest.raises(ValueError, match="matmul"):
                    layer(*arguments)

    def test_which_columns_are_lost(self):
        scores = np.array([[10.0, -600.0, -900.0], [8.0, -602.0, -902.0]])
        powers = np.exp(scores - scores.max())
        with np.errstate(invalid="ignore"):
            weights = powers / powers.sum(axis=0)
        assert np.isnan(weights).any(axis=0).tolist() == [False, False, True]
        np.testing.assert_allclose(weights[:, :2], reference(PS1, "softmax")(scores)[:, :2])
        assert round(math.log10(math.exp(-610))) == -265
        assert math.exp(-745) > 0 == math.exp(-746)
        assert right_option(PS1, "which_columns") == "column 2 alone"

    def test_what_a_sure_query_still_teaches(self):
        """The output moved by each matrix in turn, where the softmax is saturated."""
        layer, rng = reference(PS1, "self_attention"), np.random.default_rng(0)
        X = rng.normal(size=(4, 4))
        W = [1e3 * rng.normal(size=(4, 4)), 1e3 * rng.normal(size=(4, 4)), rng.normal(size=(3, 4))]
        output, weights = layer(X, *W)
        assert set(weights.flatten().tolist()) == {0.0, 1.0}
        moved = []
        for i in range(3):
            nudged = [part + 1e-3 * (i == k) for k, part in enumerate(W)]
            moved.append(bool(np.abs(layer(X, *nudged)[0] - output).max() > 0))
        assert moved == [False, False, True]
        assert right_option(PS1, "sure_queries") == "`W_v`, and no other"

    def test_which_changes_do_no_harm(self):
        softmax = reference(PS1, "softmax")
        scores = 10 * np.random.default_rng(0).normal(size=(5, 3))
        assert (scores > 10).any()
        changed = {
            "subtract from every column its mean": scores - scores.mean(0),
            "subtract from every row its largest entry": scores - scores.max(1, keepdims=True),
            "add 100 to every entry": scores + 100,
            "divide every column by its largest entry": scores / scores.max(0),
            "multiply every entry by 2": 2 * scores,
            "subtract from every column its first entry": scores - scores[0],
            "replace every entry above 10 by 10, so that nothing overflows": scores.clip(max=10),
            "put every column through a softmax beforehand": softmax(scores),
        }
        same = {text: np.allclose(softmax(s), softmax(scores)) for text, s in changed.items()}
        judged(PS1, "harmless_shifts", same)
        assert np.ptp(softmax(softmax(np.array([[1.0], [0.0], [0.0], [0.0]])))) < 0.1


class TestChoicesOfLaterSets:
    def test_a_feature_of_concatenated_heads_is_of_one_head(self):
        """And one of the output is of all of them."""
        torch.manual_seed(0)
        layer = reference(PS3, "MultiHeadAttention")(6, 3)
        heads = torch.randn(1, 3, 4, 2, requires_grad=True)
        for through, expected in ((lambda x: x, 1), (layer.W_o, 3)):
            output = through(reference(PS3, "concat_heads")(heads))
            (slope,) = torch.autograd.grad(output[0, 0, 0], heads)
            assert slope.abs().sum((0, 2, 3)).count_nonzero() == expected
        assert right_option(PS3, "output_layer").startswith("Combine in one feature of the output")

    def test_a_row_far_below_the_largest_score(self):
        scores = torch.tensor([[0.0, 1.0], [-103.0, -102.0], [-205.0, -204.0]])
        powers = torch.exp(scores - scores.max())
        weights = powers / powers.sum(-1, keepdim=True)
        assert weights.isnan().any(-1).tolist() == [False, False, True]
        assert math.exp(-104) > 0 and torch.tensor(-104.0).exp() == 0  # it ends there in float32
        right = right_option(PS4, "why_own_maximum")
        assert "so far below the largest one that all its exponentials become 0" in right


# --- several choices ------------------------------------------------------------------------------


class TestSeveral:
    def test_more_heads(self):
        layers = {h: reference(PS3, "MultiHeadAttention")(512, h) for h in (8, 16)}
        x = torch.zeros(1, 6, 512)
        seen = {}
        for h, layer in layers.items():
            split = reference(PS3, "split_heads")(x, h)
            width = split.shape[-1]
            output, weights = layer(x)
            with FlopCounterMode(display=False) as flops:
                split @ split.mT
            assert flops.get_total_flops() == 2 * 6**2 * 512
            seen[h] = {
                "the number of parameters": size_of(layer),
                "how wide one head is": width,
                "the shape of `W_o.weight`": layer.W_o.weight.shape,
                "how many flops the products of queries and keys take": flops.get_total_flops(),
                "the shape of the output": output.shape,
                "how many keys one head shows to a query": weights[0, 0, 0].numel(),
                "how much memory the scores take": weights.nbytes,
                "the number that scores are divided by": math.sqrt(width),
            }
        judged(PS3, "more_heads", {text: seen[8][text] != seen[16][text] for text in seen[8]})
        assert (seen[8]["how wide one head is"], seen[16]["how wide one head is"]) == (64, 32)

    def test_what_hides_safely(self):
        generator = torch.Generator().manual_seed(0)
        scores = (2000 * torch.rand(200, 8, generator=generator) - 1000).half()
        scores[0] = torch.tensor([-1000, 1000, -1000, 1000, -999, 0, 1, 2]).half()
        hidden = torch.rand(200, 8, generator=generator) < 0.5
        hidden[:, 0] = False
        hidden[0] = torch.tensor([0, 1, 0, 1, 0, 1, 1, 1]).bool()
        expected = torch.softmax(scores.double().masked_fill(hidden, -math.inf), -1)
        verdicts = {}
        for text in options(PS4, "hides_safely").values():
            names = {"torch": torch, "math": math, "scores": scores, "hidden": hidden}
            try:
                got = eval(text.strip("`"), names)
            except RuntimeError as error:
                assert "overflow" in str(error)  # -1e9 as a float16
                verdicts[text] = False
                continue
            close = torch.allclose(got.double(), expected, atol=1e-3)
            verdicts[text] = close and not got[hidden].any()
        judged(PS4, "hides_safely", verdicts)
        ends = torch.exp(torch.tensor([11.0, 12.0]).half()).isinf()
        assert ends.tolist() == [False, True]

    def test_an_image_moved_by_one_pixel(self):
        generator = torch.Generator().manual_seed(0)
        image = torch.randn(1, 24, 4, generator=generator, dtype=torch.float64)  # one row of pixels
        moved = image.roll(1, dims=1)
        kernel = torch.randn(4, 4, 3, generator=generator, dtype=torch.float64)
        patch = torch.randn(4, 16, generator=generator, dtype=torch.float64)
        dense = torch.randn(96, 96, generator=generator, dtype=torch.float64)

        def fixed(x):
            parts = [x.reshape(6, 4, 4)] * 3
            return functional.scaled_dot_product_attention(*parts).reshape(x.shape)

        layers = {
            "a convolution with stride 1": lambda x: functional.conv1d(x.mT, kernel, padding=1).mT,
            "a convolution with stride 2":
                lambda x: functional.conv1d(x.mT, kernel, padding=1, stride=2).mT,
            "attention inside of fixed windows, pixels as tokens": fixed,
            "attention in a sliding window, pixels as tokens":
                lambda x: reference(PS5, "local_attention")(x, x, x, 2),
            "cutting into patches of 4 x 4 and projecting each":
                lambda x: x.reshape(1, 6, 16) @ patch.T,
            "max pooling over blocks of 2 x 2": lambda x: functional.max_pool1d(x.mT, 2).mT,
            "a linear layer from all pixels at once to all pixels of the output":
                lambda x: (x.reshape(1, 96) @ dense).reshape(1, 24, 4),
        }  # fmt: skip
        verdicts = {}
        for text, layer in layers.items():
            before, after = layer(image), layer(moved)
            inside = slice(4, before.shape[1] - 4) if before.shape[1] > 12 else slice(1, None)
            rolled = before.roll(1, dims=1)
            verdicts[text] = torch.allclose(after[:, inside], rolled[:, inside])
        judged(PS5, "who_is_equivariant", verdicts)


class TestSeveralOfPs6:
    def test_which_are_equivariant(self):
        equivariant = reference(PS6, "is_permutation_equivariant")
        torch.manual_seed(0)
        block = reference(PS6, "EncoderBlock")(8, 2, 16).double().eval()
        attend, mask = block.attention, torch.ones(5, 5).tril().bool()
        x, order = torch.randn(5, 8, dtype=torch.float64), torch.tensor([3, 0, 4, 1, 2])
        table, kernel = torch.randn(1, 9).double(), torch.randn(8, 8, 3).double()
        bias = reference(PS5, "relative_position_bias")(table, 5, 5)[0]
        functions = {
            "layer norm": block.norm1,
            "the mean over the tokens": lambda x: x.mean(0, keepdim=True),
            "`linear1`, ReLU and `linear2`, applied to each token":
                lambda x: block.linear2(block.linear1(x).relu()),
            "self-attention with a causal mask": lambda x: attend(x[None], mask=mask)[0][0],
            "self-attention without a mask": lambda x: attend(x[None])[0][0],
            "adding sinusoidal positions":
                lambda x: x + reference(PS5, "sinusoidal_positions")(5, 8),
            "a convolution of kernel size 3 along the tokens":
                lambda x: functional.conv1d(x.T, kernel, padding=1).T,
            "self-attention with a bias for each distance between query and key":
                lambda x: torch.softmax(x @ x.T / math.sqrt(8) + bias, -1) @ x,
            "sorting the tokens by their first feature": lambda x: x[x[:, 0].argsort()],
        }  # fmt: skip
        verdicts = {
            text: f(x).shape[0] == 5 and equivariant(f, x, order) for text, f in functions.items()
        }
        judged(PS6, "equivariant_ones", verdicts)
        for name in ("the mean over the tokens", "sorting the tokens by their first feature"):
            assert torch.allclose(functions[name](x[order]), functions[name](x)), name  # invariant
