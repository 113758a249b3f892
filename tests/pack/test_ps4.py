"""Problem set 4 beside independent oracles, and the numbers that its notebook and quiz state."""

import math
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from autograder.pack import load_pack
from autograder.quiz import load_quiz

COURSE = Path(__file__).parents[2]
NAME = "ps4_numerics_and_memory"


@pytest.fixture(scope="module")
def pack():
    return load_pack(COURSE, NAME)


@pytest.fixture(scope="module")
def answers(pack):
    return {question.id: question.answer for question in load_quiz(pack.folder)}


def normal(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def test_the_set_has_what_was_asked_for(pack):
    assert list(pack.exercises) == [
        "stable_softmax",
        "masked_softmax",
        "pad_batch",
        "chunked_attention",
        "mixed_precision_attention",
        "attention_flops",
        "score_matrix_bytes",
    ]
    for exercise in pack.exercises.values():
        assert len(exercise.misconceptions) >= 4
        assert len(exercise.alternatives) >= 2
        assert any(case.hidden for case in exercise.cases)


class TestOracles:
    @pytest.mark.parametrize("dim", [0, 1, -1])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
    def test_stable_softmax(self, pack, dim, dtype):
        x = (normal(3, 4, 5) * torch.tensor(5e3)).to(dtype)
        expected = torch.softmax(x.double(), dim)
        result = pack.exercises["stable_softmax"](x, dim=dim)
        assert result.dtype == dtype
        assert torch.allclose(result.double(), expected, atol=2 * torch.finfo(dtype).eps, rtol=0)

    def test_masked_softmax_is_softmax_of_what_is_visible(self, pack):
        scores = normal(2, 5).requires_grad_()
        mask = torch.tensor([[True, False, True, True, False], [False] * 5])
        weights = pack.exercises["masked_softmax"](scores, mask)
        assert torch.equal(weights[0, [1, 4]], torch.zeros(2, dtype=torch.float64))
        assert torch.allclose(weights[0, [0, 2, 3]], torch.softmax(scores[0, [0, 2, 3]], -1))
        assert torch.equal(weights[1], torch.zeros(5, dtype=torch.float64))
        (gradient,) = torch.autograd.grad((weights * normal(2, 5, seed=1)).sum(), scores)
        assert torch.isfinite(gradient).all()
        assert torch.equal(gradient[1], torch.zeros(5, dtype=torch.float64))

    def test_pad_batch(self, pack):
        sequences = [normal(n, 3, seed=n) for n in (2, 5, 1)]
        padded, mask = pack.exercises["pad_batch"](sequences)
        assert padded.shape == (3, 5, 3)
        assert mask.sum(-1).tolist() == [2, 5, 1]
        assert torch.equal(padded[mask], torch.cat(sequences))
        assert padded[~mask].abs().sum() == 0

    @pytest.mark.parametrize("chunk_size", [1, 3, 7, 50])
    def test_chunked_attention(self, pack, chunk_size):
        Q, K, V = normal(2, 3, 4, 5), normal(2, 3, 7, 5, seed=1), normal(2, 3, 7, 6, seed=2)
        expected = functional.scaled_dot_product_attention(Q, K, V)
        result = pack.exercises["chunked_attention"](Q, K, V, chunk_size)
        assert torch.allclose(result, expected, atol=1e-12)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_mixed_precision_attention(self, pack, dtype):
        for case in pack.draw("mixed_precision_attention", "oracle").cases:
            for _, call in case.program.calls:
                Q, K, V = call.args
                exact = functional.scaled_dot_product_attention(Q.double(), K.double(), V.double())
                result = pack.exercises["mixed_precision_attention"](Q, K, V)
                top = V.abs().max().item()
                ulp = torch.finfo(V.dtype).eps * 2.0 ** math.floor(math.log2(top))
                assert result.dtype == Q.dtype
                assert (result.double() - exact).abs().max().item() <= 2 * ulp + 1e-3 * top

    def test_attention_flops_counted_by_the_library(self, pack):
        from torch.utils.flop_counter import FlopCounterMode

        n, d = 7, 12
        x, weights = normal(n, d), [normal(d, d, seed=seed) for seed in range(4)]
        with FlopCounterMode(display=False) as counter:
            q, k, v = (x @ weight for weight in weights[:3])
            ((q @ k.T).softmax(-1) @ v) @ weights[3]
        assert pack.exercises["attention_flops"](n, d) == counter.get_total_flops()

    def test_score_matrix_bytes(self, pack):
        scores = torch.empty(2, 3, 5, 7, dtype=torch.float16)
        assert pack.exercises["score_matrix_bytes"](2, 3, 5, 7, 2) == scores.nbytes


class TestNumbers:
    """What the notebook and the quiz state."""

    def test_half_types(self):
        assert torch.finfo(torch.float16).max == 65504
        assert math.log(65504) == pytest.approx(11.09, abs=0.005)
        assert math.log(torch.finfo(torch.float32).max) == pytest.approx(88.72, abs=0.005)
        assert torch.tensor(-1e9).to(torch.float16).item() == -math.inf
        assert torch.ones(70_000, dtype=torch.float16).sum().item() == math.inf

    def test_where_exp_underflows_in_float32(self):
        assert torch.exp(torch.tensor(-103.0)) > 0
        assert torch.exp(torch.tensor(-104.0)) == 0

    def test_steps_between_neighbours(self):
        def step(number, dtype):
            near = torch.tensor(number, dtype=dtype)
            return (torch.nextafter(near, torch.tensor(math.inf, dtype=dtype)) - near).item()

        assert step(9000.0, torch.float16) == 8
        assert step(9000.0, torch.bfloat16) == 64
        assert step(7200.0, torch.float16) == 4
        assert step(7200.0, torch.bfloat16) == 32
        assert step(57600.0, torch.float32) == pytest.approx(0.004, abs=2e-4)
        assert math.exp(8) == pytest.approx(2981, abs=1)
        assert math.exp(4) == pytest.approx(55, abs=0.5)

    def test_equal_logits(self, answers):
        ones = torch.ones(answers["equal_logits"], dtype=torch.float16)
        assert ones.sum().isfinite()

    def test_an_empty_row(self, answers):
        assert answers["empty_row"] == "heron"  # the mean of all values
        weights = torch.softmax(torch.full((4,), -1e9), -1)
        assert torch.equal(weights, torch.full((4,), 0.25))

    def test_rescaling(self, answers):
        total = 2 * math.exp(3 - 5) + math.exp(0) + math.exp(-1)
        assert answers["rescaling"] == pytest.approx(total, abs=1e-3)

    def test_costs(self, pack, answers):
        flops = pack.exercises["attention_flops"]
        d = 768
        n = answers["projections_share"]
        assert 8 * n * d * d == 4 * n * n * d
        assert flops(n, d) == 16 * n * d * d
        products = 4 * 196**2 * 512
        assert (flops(196, 512) - products) / products == pytest.approx(5.2, abs=0.05)
        assert products / flops(196, 512) == pytest.approx(1 / 6, abs=0.01)

    def test_memory(self, pack, answers):
        size = pack.exercises["score_matrix_bytes"]
        assert size(1, 8, 8192, 8192, 4) == 2 * 2**30
        assert size(4, 16, 4096, 4096, 2) == answers["scores_in_bytes"] * 2**30
        assert size(1, 1, 32768, 32768, 4) == 4 * 2**30
        assert answers["chunk_memory"] == 1024
