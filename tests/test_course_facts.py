"""The facts of the course, each taught somewhere and computed somewhere; numbers of ps2 and ps3.

`tests/course_facts.py` lists the facts. What the notebooks and quizzes of ps1, ps4, ps5 and ps6
state is computed in tests/pack, beside the oracles of the set; that of ps2 and ps3 here. What is
random is computed exactly from moments where that can be done, and otherwise with a bound that
chance leaves less often than once in a million runs.
"""

import ast
import json
import math
from functools import lru_cache
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from autograder.pack import load_pack  # noqa: E402
from autograder.quiz import load_quiz  # noqa: E402
from tests.course_facts import FACTS  # noqa: E402

COURSE = Path(__file__).parents[1]


@lru_cache
def solved(assignment):
    """The reference solutions of a set, as attributes."""
    exercises = load_pack(COURSE, assignment).exercises
    return SimpleNamespace(**{name: item.reference for name, item in exercises.items()})


@lru_cache
def questions(assignment):
    """Questions of a set by their id."""
    return {question.id: question for question in load_quiz(COURSE / "solutions" / assignment)}


def wrong_values(question):
    """Values that a quiz explains, in order of size."""
    return sorted(value for value, _, _ in question.wrong)


def weights_and_biases(module):
    return sum(parameter.numel() for parameter in module.parameters())


# --- every fact is taught and computed ---------------------------------------------------


@lru_cache
def cells(assignment):
    """The text of every cell of a set's notebook by its id, without line breaks."""
    path = COURSE / "source" / assignment / f"{assignment}.ipynb"
    book = json.loads(path.read_text("utf-8"))
    return {cell["id"]: " ".join("".join(cell["source"]).split()) for cell in book["cells"]}


@lru_cache
def functions(file):
    """Names of the tests of a file, with their class where they have one."""
    tree = ast.parse((COURSE / "tests" / file).read_text("utf-8"))
    found = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{item.name}" for item in node.body if hasattr(item, "name")}
    return found


def test_facts_are_told_apart():
    assert len({fact.says for fact in FACTS}) == len(FACTS) >= 38


@pytest.mark.parametrize("fact", FACTS, ids=[fact.says[:50] for fact in FACTS])
def test_a_fact_is_taught_and_computed(fact):
    assert fact.taught and fact.tests
    for assignment, cell, words in fact.taught:
        assert words and words in cells(assignment)[cell], (assignment, cell, words)
    for test in fact.tests:
        file, _, name = test.partition("::")
        assert name.rpartition("::")[2].startswith("test_")
        assert name in functions(file), test


# --- facts of more than one set ----------------------------------------------------------


def test_axis_0_of_a_batch_is_the_batch():
    scores = torch.tensor([0.0, math.log(3)]).expand(3, 1, 2)  # three equal samples
    over_the_batch = torch.softmax(scores, dim=0)
    assert over_the_batch.shape == scores.shape  # nothing complains
    assert over_the_batch[0, 0].tolist() == pytest.approx([1 / 3, 1 / 3])
    assert torch.softmax(scores, dim=-1)[0, 0].tolist() == pytest.approx([1 / 4, 3 / 4])


def test_a_row_with_nothing_visible():
    row, nothing = torch.tensor([2.0, 1.0, 3.0]), torch.zeros(3, dtype=torch.bool)
    filled = {
        fill: torch.softmax(row.masked_fill(~nothing, fill), -1) for fill in (-1e9, -math.inf)
    }
    assert filled[-1e9].tolist() == pytest.approx([1 / 3] * 3)
    assert filled[-math.inf].isnan().all()
    masked_softmax = solved("ps4_numerics_and_memory").masked_softmax
    assert masked_softmax(row, nothing).tolist() == [0, 0, 0]


def test_cross_attention_to_itself_is_self_attention():
    torch.manual_seed(0)
    alone, crossed = solved(PS2).SelfAttention(6, 4), solved(PS2).CrossAttention(6, 6, 4)
    crossed.load_state_dict(alone.state_dict())
    x, context = torch.randn(2, 5, 6), torch.randn(2, 5, 6)
    for one, other in zip(alone(x), crossed(x, x), strict=True):
        torch.testing.assert_close(one, other)
    assert not torch.allclose(crossed(x, context)[0], alone(x)[0])


def test_windows_trade_reach_for_cost():
    pixels, side = 56 * 56, 7
    assert pixels**2 / (pixels * side**2) == pixels / 49 == 64  # times fewer pairs
    divided = [column for column in range(55) if column // side != (column + 1) // side]
    assert len(divided) == 7  # of 55 pairs of neighbours in a row


# --- ps2_torch_attention -----------------------------------------------------------------

PS2 = "ps2_torch_attention"


class TestScoresOfAFreshLayer:
    """Scaled scores of two tokens from N(0, 1): d_in·Var(W) for each side, multiplied."""

    @staticmethod
    def scaled_variance(d_in, variance_of_weights):
        side = d_in * variance_of_weights  # of one entry of a query, or of a key
        return side * side  # d_k products, divided by √d_k

    def test_default_linear_layers_give_a_ninth(self):
        d_in = 256
        bound = nn.Linear(d_in, 5000, bias=False).weight.detach().abs().max().item()
        assert 0.999 / math.sqrt(d_in) < bound <= 1 / math.sqrt(d_in)
        variance = self.scaled_variance(d_in, bound**2 / 3)
        assert variance == pytest.approx(1 / 9, rel=5e-3)
        question = questions(PS2)["default_variance"]
        assert question.answer == pytest.approx(1 / 9, rel=1e-5)
        assert wrong_values(question) == pytest.approx(
            sorted([1, 1 / 3, 64 / 9, 1 / 9 / 64, 64 / 9 / 8]), rel=1e-4
        )

    def test_unit_weights_of_width_256_spread_by_256(self):
        assert math.sqrt(self.scaled_variance(256, 1.0)) == 256
        assert self.scaled_variance(256, 1 / 256) == 1  # weights over √d

    def test_as_measured(self):
        torch.manual_seed(6)
        asking, answering = torch.randn(2, 20_000, 256)
        for W_q, W_k, expected in (
            (nn.Linear(256, 256).weight.detach(), nn.Linear(256, 256).weight.detach(), 1 / 9),
            (torch.randn(256, 256), torch.randn(256, 256), 256**2),
        ):
            scores = ((asking @ W_q.T) * (answering @ W_k.T)).sum(-1) / math.sqrt(256)
            # (2 + 6/256)/20000 of the pairs, and about 4/256² of the two matrices
            assert scores.var().item() == pytest.approx(expected, rel=6 * 0.0129)


class TestXavierWithGain002:
    def test_the_standard_deviation_is_a_tenth_of_it(self):
        rule = math.sqrt(2 / (64 + 128))
        assert round(0.02 * rule, 3) == 0.002
        question = questions(PS2)["xavier_gain"]
        assert question.answer == pytest.approx(0.02 * rule, rel=1e-5)
        bound = 0.02 * math.sqrt(6 / (64 + 128))
        assert wrong_values(question) == pytest.approx(
            sorted([0.02, bound, (0.02 * rule) ** 2, math.sqrt(0.02) * rule, 0.02 / math.sqrt(64)]),
            rel=1e-4,
        )

    def test_weights_are_uniform_to_three_digits(self):
        torch.manual_seed(1)
        layer = solved(PS2).init_projections(solved(PS2).SelfAttention(64, 128), gain=0.02)
        _, weights = layer(torch.randn(50, 10, 64))
        assert {f"{weight:.3f}" for weight in weights.detach().flatten().tolist()} == {"0.100"}

    def test_scores_spread_by_three_ten_thousandths(self):
        side = 64 * 0.02**2 * 2 / (64 + 128)
        assert round(side, 4) == 0.0003


class TestShapesAndParametersOfLayers:
    def test_512_to_64(self):
        layer = solved(PS2).SelfAttention(512, 64)
        output, weights = layer(torch.zeros(2, 6, 512))
        assert (output.shape, weights.shape) == ((2, 6, 64), (2, 6, 6))
        assert weights_and_biases(layer) == 98_304

    def test_wide_values_with_biases(self):
        make = solved(PS2).SelfAttention
        layer = make(64, 128, dim_v=160, bias=True)
        assert layer(torch.zeros(4, 10, 64))[0].shape == (4, 10, 160)
        question = questions(PS2)["parameters"]
        assert weights_and_biases(layer) == question.answer == 27_040
        without = weights_and_biases(make(64, 128, dim_v=160))
        wrong = [
            without,
            weights_and_biases(make(64, 128, bias=True)),
            weights_and_biases(make(64, 160, bias=True)),
            without + 3 * 64,  # a bias as wide as the input
            question.answer * 40,  # once for each token
            question.answer + 160 * 160 + 160,  # an output layer too
        ]
        assert wrong_values(question) == sorted(wrong)

    def test_queries_and_keys_share_a_width_and_values_do_not(self):
        attend = solved(PS2).scaled_dot_product_attention
        assert attend(torch.ones(3, 8), torch.ones(4, 8), torch.ones(4, 5))[0].shape == (3, 5)
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            attend(torch.ones(3, 8), torch.ones(4, 6), torch.ones(4, 5))

    def test_cross_attention_has_a_row_for_each_query(self):
        layer = solved(PS2).CrossAttention(64, 32, 16, dim_v=24)
        output, weights = layer(torch.zeros(2, 10, 64), torch.zeros(2, 7, 32))
        assert (output.shape, weights.shape) == ((2, 10, 24), (2, 10, 7))


def test_a_key_bias_changes_no_output_and_the_others_do():
    torch.manual_seed(0)
    layer = solved(PS2).SelfAttention(6, 4, bias=True).double()
    x = torch.randn(2, 5, 6, dtype=torch.float64)
    before = layer(x)[0].detach()
    moved = {}
    for name in ("W_q", "W_k", "W_v"):
        bias = getattr(layer, name).bias
        with torch.no_grad():
            bias.add_(1.0)
            moved[name] = (layer(x)[0] - before).abs().max().item()
            bias.sub_(1.0)
    assert moved["W_k"] < 1e-12
    assert min(moved["W_q"], moved["W_v"]) > 1e-3
    question = questions(PS2)["idle_bias"]
    right = next(option.text for option in question.options if option.id == question.answer)
    assert right == "That of `W_k`."


class TestMasks:
    def test_a_flat_padding_mask_is_read_as_query_and_key(self):
        """(batch, n) with batch = n: no error, and sample 0 uses the padding of sample i."""
        attend, pad = solved(PS2).scaled_dot_product_attention, solved(PS2).padding_mask
        x = torch.zeros(8, 8, 4)
        lengths = torch.arange(1, 9)
        flat = pad(lengths, 8)[:, 0]
        _, weights = attend(x, x, x, flat)
        for sample in range(8):
            for query in range(8):
                visible = [1 / (query + 1)] * (query + 1) + [0.0] * (7 - query)
                assert weights[sample, query].tolist() == pytest.approx(visible)
        with pytest.raises(RuntimeError, match="must match"):
            attend(torch.zeros(8, 9, 4), torch.zeros(8, 9, 4), x, pad(lengths, 9)[:, 0])

    def test_a_hidden_score_of_zero_wins(self):
        weights = torch.softmax(torch.tensor([-1.0, -1.0, 5.0]) * torch.tensor([1, 1, 0]), -1)
        question = questions(PS2)["hidden_by_zero"]
        assert weights[2].item() == pytest.approx(question.answer, abs=1e-4)
        unmasked = torch.softmax(torch.tensor([-1.0, -1.0, 5.0]), -1)[2].item()
        assert wrong_values(question) == pytest.approx(
            [0.0, weights[0].item(), 1 / 3, unmasked], abs=1e-4
        )


def test_the_pronoun_and_its_animal():
    sentence = "The animal didn't cross the street because it was too tired"
    words = sentence.split()
    assert (len(words), words.index("animal"), words.index("it")) == (11, 1, 7)
    question = questions(PS2)["pronoun_entry"]
    right = next(option.text for option in question.options if option.id == question.answer)
    assert right == "`weights[7, 1]`"


# --- ps3_multi_head ----------------------------------------------------------------------

PS3 = "ps3_multi_head"


def right_option(question):
    """The text of the option that counts as right."""
    return next(option.text for option in question.options if option.id == question.answer)


class TestTwoHeads:
    def test_two_wishes_share_one_softmax(self):
        one_head = torch.softmax(torch.tensor([5.0, 5.0] + 9 * [0.0]), 0)
        each_head = torch.softmax(torch.tensor([5.0] + 10 * [0.0]), 0)
        assert (f"{one_head[0]:.3f}", f"{each_head[0]:.3f}") == ("0.485", "0.937")

    def test_two_wrong_functions_undo_each_other(self):
        x = torch.randn(1, 4, 6)
        heads = x.reshape(1, 2, 4, 3)
        assert torch.equal(heads.reshape(1, 4, 6), x)
        assert not torch.equal(heads, solved(PS3).split_heads(x, 2))


class TestFormulaOfHeads:
    def test_the_output_is_a_sum_over_the_heads(self):
        W_o = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 2.0]])
        heads = torch.tensor([1.0, 2.0, 3.0, 4.0])
        assert (heads @ W_o).tolist() == [4.0, 13.0]
        assert (heads[:2] @ W_o[:2]).tolist() == [1.0, 2.0]
        assert (heads[2:] @ W_o[2:]).tolist() == [3.0, 11.0]

    def test_heads_have_no_order(self):
        generator = torch.Generator().manual_seed(0)
        x, W_o = torch.randn(4, 5, generator=generator), torch.randn(6, 5, generator=generator)
        parts = [[torch.randn(5, 2, generator=generator) for _ in range(3)] for _ in range(3)]
        formula = solved(PS3).multi_head_formula
        turned = torch.cat(W_o.split(2)[::-1])
        again = formula(x, *(part[::-1] for part in parts), turned)
        torch.testing.assert_close(again, formula(x, *parts, W_o))
        only_the_lists = formula(x, *(part[::-1] for part in parts), W_o)
        assert (only_the_lists - formula(x, *parts, W_o)).abs().max() > 0.1

    def test_512_features_in_32_heads(self):
        heads = solved(PS3).split_heads(torch.zeros(1, 1, 512), 32)
        assert heads.shape == (1, 32, 1, 16)
        assert 512 // 32 == 16


class TestShapesOfTheLayer:
    def test_a_key_alone(self):
        layer = solved(PS3).MultiHeadAttention(64, 8)
        output, weights = layer(torch.zeros(4, 10, 64), torch.zeros(4, 7, 64))
        assert (output.shape, weights.shape) == ((4, 10, 64), (4, 8, 10, 7))

    def test_a_mask_without_a_head_axis_meets_the_heads(self):
        masks = torch.rand(8, 5, 5) < 0.5
        met = masks.expand(8, 8, 5, 5)
        for sample in range(8):
            for head in range(8):
                assert torch.equal(met[sample, head], masks[head])
        with pytest.raises(RuntimeError, match="must match"):
            masks[:7].expand(7, 8, 5, 5)
        assert "head i uses the mask of sample i" in right_option(questions(PS3)["silent_mask"])

    def test_rows_after_dropout(self):
        torch.manual_seed(0)
        rows = nn.functional.dropout(torch.full((50_000, 10), 0.1), 0.2).sum(-1)
        assert rows.max() == pytest.approx(1.25)
        # a row is 10 weights of 0.125 with probability 0.8 each: variance 10·0.125²·0.16
        error = math.sqrt(10 * 0.125**2 * 0.16 / 50_000)
        assert rows.mean().item() == pytest.approx(1.0, abs=6 * error)
        assert (rows < 1).any()
        assert "to 1 on average" in right_option(questions(PS3)["dropped_rows"])

    def test_the_librarys_mask_is_the_other_way_round(self):
        layer = nn.MultiheadAttention(4, 1, batch_first=True)
        x, mask = torch.randn(1, 2, 4), torch.tensor([[False, True], [False, False]])
        _, weights = layer(x, x, x, attn_mask=mask)
        assert weights[0, 0].tolist() == [1.0, 0.0]


class TestCostsOfHeads:
    @pytest.mark.parametrize("heads", [1, 8, 32])
    def test_the_number_of_heads_does_not_count(self, heads):
        layer = solved(PS3).MultiHeadAttention(512, heads, bias=False)
        count = weights_and_biases(layer)
        assert count == solved(PS3).count_parameters(512, heads, bias=False) == 1_048_576
        assert count - weights_and_biases(layer.W_o) == 786_432
        assert weights_and_biases(layer.W_o) == 262_144

    def test_the_questions(self):
        d = 512
        question = questions(PS3)["single_head"]
        assert question.answer == 4 * d**2 - 3 * d**2
        assert wrong_values(question) == sorted(
            [0, 3 * d**2, 4 * d**2, 4 * d**2 * 7 // 8, d**2 // 8]
        )

    def test_time(self):
        """Operations of the products, counted by their shapes."""
        n, d, h = 196, 512, 8
        projections = 4 * (2 * n * d * d)
        products = h * (2 * n * (d // h) * n + 2 * n * n * (d // h))
        assert (projections, products) == (8 * n * d**2, 4 * n**2 * d)
        question = questions(PS3)["projections_or_scores"]
        assert question.answer == pytest.approx(projections / products, rel=1e-4)
        assert round(projections / products, 1) == 5.2
        wrong = [
            n / (2 * d),
            2 * d / n / h,
            d / n,
            6 * n * d**2 / products,
            2 * projections / products,
        ]
        assert wrong_values(question) == pytest.approx(wrong, rel=1e-3)
        assert 8 * 1024 * d**2 == 4 * 1024**2 * d  # equal at n = 2·d

    def test_memory(self):
        size = 8 * 8192**2 * torch.finfo(torch.float32).bits // 8
        assert size == 2 * 2**30
        question = questions(PS3)["score_memory"]
        assert question.answer == size / 2**30
        assert wrong_values(question) == pytest.approx(
            [
                size / 8 / 2**30,
                8 * 8192**2 / 2**30,
                size / 2 / 2**30,
                size / 10**9,
                8 * size / 2**30,
            ],
            rel=1e-6,
        )
        assert 8 * 196**2 * 4 == 1_229_312
        assert 8 * 1024**2 * 4 == 32 * 2**20

    def test_a_third_of_a_block(self):
        d = 768  # of GPT-2: attention, and two layers of width 4·d behind it
        attention, behind = 4 * d**2, 2 * d * 4 * d
        assert attention / (attention + behind) == pytest.approx(1 / 3)

    def test_grouped_queries_keep_a_quarter(self):
        assert 8 / 32 == 0.25


class TestOrder:
    def test_equivariant_without_a_mask_and_the_mean_invariant(self):
        torch.manual_seed(0)
        layer = solved(PS3).MultiHeadAttention(12, 3).double().eval()
        x, order = torch.randn(2, 6, 12, dtype=torch.float64), torch.tensor([4, 0, 5, 2, 1, 3])
        output, weights = layer(x)
        shuffled, met = layer(x[:, order])
        torch.testing.assert_close(shuffled, output[:, order])
        torch.testing.assert_close(met, weights[..., order, :][..., order])
        torch.testing.assert_close(shuffled.mean(1), output.mean(1))
        causal = torch.ones(6, 6).tril().bool()
        broken = layer(x[:, order], mask=causal)[0] - layer(x, mask=causal)[0][:, order]
        assert broken.abs().max() > 0.01
        assert "permuted in the same way" in right_option(questions(PS3)["permuted"])
