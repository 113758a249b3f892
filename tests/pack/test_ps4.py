"""Problem set 4 beside independent oracles, and the numbers that its notebook and quiz state."""

import math
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from autograder.pack import load_pack  # noqa: E402
from autograder.quiz import load_quiz  # noqa: E402

COURSE = Path(__file__).parents[2]
NAME = "ps4_numerics_and_memory"


@pytest.fixture(scope="module")
def pack():
    return load_pack(COURSE, NAME)


@pytest.fixture(scope="module")
def questions(pack):
    return {question.id: question for question in load_quiz(pack.folder)}


@pytest.fixture(scope="module")
def answers(questions):
    return {name: question.answer for name, question in questions.items()}


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
        assert 64 * 32.5**2 == 67_600 == 8 * 8450
        assert step(8450.0, torch.float16) == 8
        assert step(8450.0, torch.bfloat16) == 64
        assert step(67_600.0, torch.float32) == pytest.approx(0.008, abs=2e-4)
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

    def test_costs(self, pack):
        flops = pack.exercises["attention_flops"]
        d = 768
        n = 2 * d
        assert 8 * n * d * d == 4 * n * n * d
        assert flops(n, d) == 16 * n * d * d
        products = 4 * 196**2 * 512
        assert (flops(196, 512) - products) / products == pytest.approx(5.2, abs=0.05)
        assert products / flops(196, 512) == pytest.approx(1 / 6, abs=0.01)

    def test_memory(self, pack):
        size = pack.exercises["score_matrix_bytes"]
        assert size(1, 8, 8192, 8192, 4) == 2 * 2**30
        assert size(1, 1, 32768, 32768, 4) == 4 * 2**30


def exponentials(*exponents):
    return math.fsum(map(math.exp, exponents))


# id: (the answer, what the mistakes give that the quiz explains, in its order)
NUMBERS = {
    # exponentials are 1; the largest logit whose exponential fits, an integer's and a step's end
    "equal_logits": (65504, [int(math.log(65504)), 2**15 - 1, 2**11]),
    "rescaling": (
        2 * math.exp(3 - 5) + exponentials(5 - 5, 4 - 5),
        [
            2 + exponentials(0, -1),
            2 * math.exp(5 - 3) + exponentials(0, -1),
            2 + exponentials(5 - 3, 4 - 3),
            exponentials(0, -1),
        ],
    ),
}


class TestQuiz:
    @pytest.mark.parametrize("name", NUMBERS)
    def test_answers_and_what_mistakes_give(self, questions, name):
        answer, wrong = NUMBERS[name]
        assert questions[name].answer == pytest.approx(answer, rel=1e-3)
        got = [value for value, _, _ in questions[name].wrong]
        assert got == pytest.approx(wrong, rel=1e-3)
        assert all(hint for _, _, hint in questions[name].wrong)

    def test_nan_reaches_the_gradient(self, answers):
        row = torch.zeros(3, requires_grad=True)
        weights = torch.nan_to_num(torch.softmax(row + torch.full((3,), -math.inf), -1))
        weights.sum().backward()
        assert torch.equal(weights, torch.zeros(3)) and row.grad.isnan().all()
        assert answers["gradient_of_nan"] == "raven"

    def test_only_float32_keeps_the_weights(self, answers):
        generator = torch.Generator().manual_seed(0)
        q, k = (25 + 15 * torch.rand(2, 200, 64, generator=generator)).half()
        exact = torch.softmax((q.double() @ k.double().T) / 8, -1)
        scores = {
            "opal": (q @ k.T) / 8,
            "finch": (q / 8) @ k.T,
            "birch": (q.bfloat16() @ k.bfloat16().T) / 8,
            "lotus": (q.float() @ k.float().T) / 8,
        }
        off = {
            name: (torch.softmax(got.double(), -1) - exact).abs().max().item()
            for name, got in scores.items()
        }
        assert math.isnan(off["opal"]) and scores["opal"].isinf().float().mean() > 0.5
        assert off["lotus"] < 0.01 < 0.3 < min(off["finch"], off["birch"])
        assert answers["half_types"] == "lotus"

    def test_a_mask_without_an_axis_for_queries(self, answers):
        scores, mask = torch.zeros(3, 3, 4), torch.rand(3, 4) < 0.5
        assert scores.masked_fill(~mask, -1.0).shape == scores.shape  # batch = n_q: in silence
        with pytest.raises(RuntimeError, match="must match"):
            torch.zeros(4, 3, 4).masked_fill(~torch.ones(4, 4, dtype=torch.bool), -1.0)  # = n_k
        assert answers["silent_broadcast"] == "flint"
