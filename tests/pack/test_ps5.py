"""Problem set 5 beside independent oracles: loops in float64, PyTorch's own functions, formulas."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from autograder.pack import load_pack  # noqa: E402
from autograder.quiz import load_quiz  # noqa: E402

COURSE = Path(__file__).parents[2]
PACK = load_pack(COURSE, "ps5_positions_and_sparsity")


def reference(name):
    return PACK.exercises[name].reference


def draw(*shape, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def near(got, expected):
    torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-12)


def test_what_the_set_has():
    assert list(PACK.exercises) == [
        "sinusoidal_positions",
        "relative_position_bias",
        "rotary",
        "sliding_window_mask",
        "local_attention",
        "window_partition",
        "window_merge",
        "relative_position_index",
        "patchify",
        "graph_attention",
    ]
    for exercise in PACK.exercises.values():
        assert len(exercise.misconceptions) >= 6
        assert len(exercise.alternatives) >= 2
        assert any(case.hidden for case in exercise.cases)


# --- positions ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d_model"), [(1, 2), (7, 6), (40, 8)])
def test_sinusoids_by_a_loop(n, d_model):
    expected = torch.zeros(n, d_model)
    for p, i in itertools.product(range(n), range(d_model // 2)):
        angle = p / 10000 ** (2 * i / d_model)
        expected[p, 2 * i], expected[p, 2 * i + 1] = math.sin(angle), math.cos(angle)
    torch.testing.assert_close(reference("sinusoidal_positions")(n, d_model), expected)


def test_a_step_of_sinusoids_is_a_rotation_of_every_pair():
    """PE(p + k) is one linear map of PE(p), whatever p is: what the paper chose them for."""
    table = reference("sinusoidal_positions")(30, 8).double()
    inner = table @ table.T
    for distance in range(5):
        along = inner.diagonal(distance)
        torch.testing.assert_close(along, along[:1].expand_as(along), rtol=0, atol=1e-5)


@pytest.mark.parametrize(("h", "m", "n_q", "n_k"), [(3, 2, 7, 5), (2, 4, 3, 3), (1, 0, 2, 4)])
def test_bias_by_a_loop(h, m, n_q, n_k):
    table = draw(h, 2 * m + 1)
    bias = reference("relative_position_bias")(table, n_q, n_k)
    assert bias.shape == (h, n_q, n_k)
    for head, q, k in itertools.product(range(h), range(n_q), range(n_k)):
        assert bias[head, q, k] == table[head, m + max(-m, min(m, k - q))]


@pytest.mark.parametrize("shape", [(5, 4), (3, 6, 8), (2, 3, 4, 2)])
@pytest.mark.parametrize("base", [10000.0, 50.0])
def test_rotary_by_matrices(shape, base):
    x = draw(*shape)
    n, d = shape[-2:]
    rotated = reference("rotary")(x, base)
    for p in range(n):
        blocks = []
        for i in range(d // 2):
            t = p * base ** (-2 * i / d)
            turn = [[math.cos(t), -math.sin(t)], [math.sin(t), math.cos(t)]]
            blocks.append(torch.tensor(turn, dtype=torch.float64))
        near(rotated[..., p, :], x[..., p, :] @ torch.block_diag(*blocks).T)


def test_rotary_scores_depend_on_distance_alone():
    q, k = draw(8, seed=1), draw(8, seed=2)
    rotary = reference("rotary")
    scores = rotary(q.expand(12, 8)) @ rotary(k.expand(12, 8)).T
    for distance in range(-6, 7):
        along = scores.diagonal(distance)
        near(along, along[:1].expand_as(along))
    near(rotary(q.expand(12, 8)).norm(dim=-1), q.norm().expand(12))


# --- windows of a sequence ---------------------------------------------------------------


@pytest.mark.parametrize(("n", "window"), [(1, 0), (6, 0), (6, 2), (5, 9)])
def test_the_mask_by_a_loop(n, window):
    mask = reference("sliding_window_mask")(n, window)
    assert mask.dtype == torch.bool
    expected = [[abs(i - j) <= window for j in range(n)] for i in range(n)]
    assert mask.tolist() == expected


@pytest.mark.parametrize(("n", "window"), [(1, 0), (7, 0), (9, 2), (6, 5), (5, 11)])
def test_local_attention_is_dense_attention_with_the_mask(n, window):
    Q, K, V = draw(2, n, 3, seed=1), draw(2, n, 3, seed=2), draw(2, n, 4, seed=3)
    mask = reference("sliding_window_mask")(n, window)
    expected = functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
    near(reference("local_attention")(Q, K, V, window), expected)


def test_local_attention_with_scores_that_overflow_an_exponential():
    Q, K, V = 40 * draw(1, 8, 4), 40 * draw(1, 8, 4, seed=1), draw(1, 8, 2, seed=2)
    mask = reference("sliding_window_mask")(8, 2)
    expected = functional.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
    near(reference("local_attention")(Q, K, V, 2), expected)


# --- windows and patches of images -------------------------------------------------------


@pytest.mark.parametrize(("shape", "w"), [((3, 4, 6, 5), 2), ((2, 9, 3, 4), 3), ((1, 5, 5, 1), 5)])
def test_windows_by_slices_and_back(shape, w):
    x = draw(*shape)
    _, H, W, C = shape
    windows = reference("window_partition")(x, w)
    corners = itertools.product(x, range(0, H, w), range(0, W, w))
    for window, (image, top, left) in zip(windows, corners, strict=True):
        assert torch.equal(window, image[top : top + w, left : left + w].reshape(w * w, C))
    assert torch.equal(reference("window_merge")(windows, w, H, W), x)


@pytest.mark.parametrize("w", [1, 2, 3, 7])
def test_the_index_of_relative_positions(w):
    index = reference("relative_position_index")(w)
    places = list(itertools.product(range(w), range(w)))
    for (i, (y, x)), (j, (v, u)) in itertools.product(enumerate(places), enumerate(places)):
        assert index[i, j] == (y - v + w - 1) * (2 * w - 1) + x - u + w - 1
    assert set(index.flatten().tolist()) == set(range((2 * w - 1) ** 2))
    # each pair and its reverse lie opposite each other in the table
    assert torch.equal(index + index.T, torch.full_like(index, (2 * w - 1) ** 2 - 1))


@pytest.mark.parametrize(("shape", "p"), [((5, 3, 4, 6), 2), ((1, 2, 9, 3), 3), ((2, 1, 4, 4), 4)])
def test_patches_are_those_of_unfold(shape, p):
    images = draw(*shape)
    expected = functional.unfold(images, p, stride=p).mT
    assert torch.equal(reference("patchify")(images, p), expected)


def test_a_projection_of_patches_is_a_convolution():
    images, kernel = draw(2, 3, 4, 6), draw(5, 3, 2, 2, seed=1)
    projected = reference("patchify")(images, 2) @ kernel.flatten(1).T
    convolved = functional.conv2d(images, kernel, stride=2)
    near(projected, convolved.flatten(2).mT)


# --- graphs ------------------------------------------------------------------------------


@pytest.mark.parametrize("slope", [0.0, 0.2, 0.7])
def test_graph_attention_by_a_loop(slope):
    n, d, d_out = 6, 3, 4
    H, W, a = draw(n, d), draw(d, d_out, seed=1), draw(2 * d_out, seed=2)
    adjacency = draw(n, n, seed=3) > 0
    adjacency[1] = False  # an isolated node
    output, weights = reference("graph_attention")(H, adjacency, W, a, slope)
    for i in range(n):
        exponentials = torch.zeros(n, dtype=torch.float64)
        for j in range(n):
            if i == j or adjacency[i, j]:
                s = float(a @ torch.cat((H[i] @ W, H[j] @ W)))
                exponentials[j] = math.exp(s if s > 0 else slope * s)
        near(weights[i], exponentials / exponentials.sum())
        near(output[i], sum(weights[i, j] * (H[j] @ W) for j in range(n)))


# --- gradients ---------------------------------------------------------------------------


def test_gradients_by_finite_differences():
    def leaf(*shape, seed=0):
        return draw(*shape, seed=seed).requires_grad_()

    assert torch.autograd.gradcheck(reference("rotary"), (leaf(2, 3, 4),))
    parts = [leaf(1, 5, 2, seed=seed) for seed in range(3)]
    local = reference("local_attention")
    assert torch.autograd.gradcheck(lambda Q, K, V: local(Q, K, V, 1), parts)
    adjacency = draw(4, 4, seed=7) > 0
    graph = reference("graph_attention")
    parts = (leaf(4, 3), leaf(3, 2, seed=1), leaf(4, seed=2))
    assert torch.autograd.gradcheck(lambda H, W, a: graph(H, adjacency, W, a), parts)


# --- the quiz ----------------------------------------------------------------------------

QUIZ = {question.id: question for question in load_quiz(PACK.folder)}


def sinusoid(p=3, i=1, d=10, base=10000, wave=math.sin):
    return wave(p / base ** (2 * i / d))


def visible(n, left, right):
    return sum(-left <= key - query <= right for key in range(n) for query in range(n))


def softmax_of_two(itself, other):
    return math.exp(other) / (math.exp(itself) + math.exp(other))


def index_of(w, i, j, sign=1, stride=None, shift=None):
    stride, shift = stride or 2 * w - 1, w - 1 if shift is None else shift
    dy, dx = sign * (i // w - j // w), sign * (i % w - j % w)
    return (dy + shift) * stride + dx + shift


# Of the questions with fixed numbers: the answer, then the wrong values in the order of quiz.yaml.
NUMBERS = {
    "sinusoid_entry": (
        sinusoid(),
        [
            sinusoid(i=2),
            sinusoid(i=0.5),
            sinusoid(wave=math.cos),
            sinusoid(p=4),
            sinusoid(i=0),
            sinusoid(base=1000),
            sinusoid(i=-1),
        ],
    ),
    "weight_of_a_neighbour": (
        softmax_of_two(2, -5 * 0.2),
        [
            softmax_of_two(2, -5),
            softmax_of_two(2, 0),
            softmax_of_two(2, -5 * 0.01),
            softmax_of_two(-5 * 0.2, 2),
            1,
        ],
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_answers_and_what_mistakes_give(name):
    question, (answer, wrong) = QUIZ[name], NUMBERS[name]
    assert question.answer == pytest.approx(answer, rel=1e-5)
    assert [value for value, _, _ in question.wrong] == pytest.approx(wrong, rel=1e-5)
    assert all(hint for _, _, hint in question.wrong)


def attention(x):
    generator = torch.Generator().manual_seed(0)
    Q, K, V = x @ torch.randn(3, x.shape[-1], x.shape[-1], generator=generator).double()
    return functional.scaled_dot_product_attention(Q, K, V)


def test_shuffled_tokens():
    x, order = draw(8, 4), torch.randperm(8, generator=torch.Generator().manual_seed(0))
    near(attention(x[order]), attention(x)[order])
    near(attention(x[order]).mean(0), attention(x).mean(0))
    assert not torch.allclose(attention(x[order]), attention(x))
    assert QUIZ["shuffled_tokens"].answer == "birch"


def rotated_attention(x, projections, start, rotated):
    """Attention of tokens at the positions from `start` on; rotated: which of Q, K, V are."""
    parts = dict(zip("QKV", x @ projections, strict=True))
    for name in rotated:
        before = parts[name].new_zeros(start, x.shape[-1])
        parts[name] = reference("rotary")(torch.cat((before, parts[name])))[start:]
    return functional.scaled_dot_product_attention(*(parts[name][None] for name in "QKV"))


def test_what_is_rotated():
    x, projections = draw(6, 4), draw(3, 4, 4, seed=1)
    moves = {
        rotated: (
            rotated_attention(x, projections, 5, rotated)
            - rotated_attention(x, projections, 0, rotated)
        ).abs().max()
        for rotated in ("QK", "QKV", "Q")
    }  # fmt: skip
    assert moves["QK"] < 1e-12 < 0.01 < min(moves["QKV"], moves["Q"])
    rotary = reference("rotary")
    before = [rotary(torch.cat((x.new_zeros(start, 4), x)))[start:] for start in (0, 5)]
    one, other = (
        functional.scaled_dot_product_attention(*(part @ projections)[:, None]) for part in before
    )
    assert (one - other).abs().max() > 0.01  # rotated before the projections
    assert QUIZ["what_is_rotated"].answer == "fjord"


def test_two_layouts():
    """Pairs of halves are pairs of neighbours with the features reordered: equal scores."""
    mistakes = {m.name: m.implementation for m in PACK.exercises["rotary"].misconceptions}
    x, y = draw(9, 8), draw(9, 8, seed=1)
    order = torch.arange(8).reshape(2, 4).T.flatten()  # 0, 4, 1, 5, …
    near(mistakes["halves"](x)[:, order], reference("rotary")(x[:, order]))
    scores = mistakes["halves"](x) @ mistakes["halves"](y).T
    near(scores, reference("rotary")(x[:, order]) @ reference("rotary")(y[:, order]).T)
    # the mixture of both depends on absolute positions
    constant = mistakes["mixed_layouts"](x[:1].expand(9, 8))
    along = (constant @ constant.T).diagonal(1)
    assert along.max() - along.min() > 0.01
    assert QUIZ["two_layouts"].answer == "jade"


def test_first_window():
    image = torch.arange(16.0).reshape(1, 4, 4, 1)
    first = reference("window_partition")(image, 2)[:2].flatten().int().tolist()
    assert first == [0, 1, 4, 5, 2, 3, 6, 7]
    options = {option.id: option.text for option in QUIZ["first_window"].options}
    assert options[QUIZ["first_window"].answer] == "0, 1, 4, 5 and 2, 3, 6, 7"


def test_who_is_equivariant():
    x = draw(1, 24, 4)
    moved = x.roll(1, dims=1)

    def sliding(x):
        return reference("local_attention")(x, x, x, 2)

    def fixed(x):
        return functional.scaled_dot_product_attention(*[x.reshape(6, 4, 4)] * 3).reshape(x.shape)

    near(sliding(moved)[:, 4:-3], sliding(x)[:, 3:-4])
    assert not torch.allclose(fixed(moved)[:, 4:-3], fixed(x)[:, 3:-4])


# --- what the notebook states in its prose --------------------------------------------------


def test_numbers_in_the_notebook():
    assert 8 * 5 - 2 * 3 == visible(8, 2, 2) == 34
    assert 56 * 56 == 3136
    assert 9.8e6 < (56 * 56) ** 2 < 1e7  # almost ten million pairs
    assert 224 * 224 == 50176
    assert (224 // 16) ** 2 == 196
    assert 3 * 16 * 16 == 768
    assert [2 ** (-8 * head / 4) for head in (1, 2, 3, 4)] == [1 / 4, 1 / 16, 1 / 64, 1 / 256]
    assert index_of(2, 0, 1) == 3
    assert index_of(2, 0, 1, sign=-1) == 5


def test_all_nodes_rank_the_others_alike():
    H, W, a = draw(6, 4), draw(4, 3, seed=1), draw(6, seed=2)
    _, weights = reference("graph_attention")(H, torch.ones(6, 6, dtype=torch.bool), W, a)
    assert len({tuple(row) for row in weights.argsort(1).tolist()}) == 1
