"""Orders, pairs and formulas that quizzes count as right, found out without quiz.yaml.

Steps are run in every order that there is; layers are called to see what belongs together;
formulas are compared with counts.
"""

import itertools
import math
from fractions import Fraction

import torch
from torch import nn
from torch.nn import functional

from autograder.quiz.formulas import evaluate
from autograder.quiz.ordering import closure, keeps
from tests.pack.quiz_numbers import PS2, PS3, PS4, PS5, PS6, QUESTIONS, reference


def right_orders(question, run):
    """Every order with the right result, all of them tried; `run` raises KeyError without one."""
    before, found = closure(question.constraints), set()
    for order in itertools.permutations(option.id for option in question.options):
        try:
            right = run(order)
        except KeyError:  # a step needs what is not there yet
            right = False
        assert right == keeps(order, before), order
        found |= {order} if right else set()
    return found


def steps_of_attention(order):
    """Whether attention with a mask comes out, its steps done in this order."""
    generator = torch.Generator().manual_seed(0)
    Q, K, V = 2 * torch.randn(3, 4, 8, generator=generator)
    mask = reference(PS2, "causal_mask")(4)
    state = {}

    def scores():
        state["scores"] = Q @ K.T

    def scale():
        state["scores"] = state["scores"] / math.sqrt(8)

    def hide():
        state["scores"] = state["scores"].masked_fill(~mask, -math.inf)

    def softmax():
        state["scores"] = torch.softmax(state["scores"], -1)

    def mix():
        state["output"] = state["scores"] @ V

    done = {"pebble": scores, "marlin": scale, "tulip": hide, "copper": softmax, "badger": mix}
    for name in order:
        done[name]()
    expected = functional.scaled_dot_product_attention(*(x[None] for x in (Q, K, V)), mask)[0]
    return torch.allclose(state["output"], expected, atol=1e-6)


def steps_of_a_chunk(order):
    """Whether the second chunk is taken in rightly, and the division comes after it."""
    scores, values = [1.0, 3.0, 5.0, 4.0], [2.0, 7.0, 1.0, 4.0]
    state = {"maximum": 3.0, "sum": math.exp(-2) + 1, "mixed": 2 * math.exp(-2) + 7}

    def compute():
        state["scores"] = scores[2:]

    def largest():
        state["new maximum"] = max(state["maximum"], *state["scores"])

    def rescale():
        factor = math.exp(state["maximum"] - state["new maximum"])
        state["sum"], state["mixed"] = state["sum"] * factor, state["mixed"] * factor

    def exponentials():
        state["powers"] = [math.exp(score - state["new maximum"]) for score in state["scores"]]

    def add():
        state["sum"] += sum(state["powers"])
        state["mixed"] += sum(p * v for p, v in zip(state["powers"], values[2:], strict=True))

    def divide():
        state["output"] = state["mixed"] / state["sum"]

    done = {
        "nettle": compute, "magnet": largest, "cherry": rescale, "turtle": exponentials,
        "dahlia": add, "falcon": divide,
    }  # fmt: skip
    for name in order:
        done[name]()
    powers = [math.exp(score) for score in scores]
    expected = sum(p * v for p, v in zip(powers, values, strict=True)) / sum(powers)
    return math.isclose(state["output"], expected)


def steps_of_a_block():
    """A runner of orders for one block with pre-norm."""
    torch.manual_seed(0)
    block = reference(PS6, "EncoderBlock")(4, 2, 8, norm_first=True).double().eval()
    for norm in (block.norm1, block.norm2):
        nn.init.normal_(norm.weight)
    x = torch.randn(1, 3, 4, dtype=torch.float64)
    expected = block(x)

    def run(order):
        state = {"now": x}

        def add_input():
            state["now"] = state["halfway"] = state["now"] + x

        def add_halfway():
            state["now"] = state["now"] + state["halfway"]

        def through(layer):
            state["now"] = layer(state["now"])

        done = {
            "myrtle": lambda: through(block.norm1),
            "cedar": lambda: through(lambda tokens: block.attention(tokens)[0]),
            "hazel": add_input,
            "poplar": lambda: through(block.norm2),
            "acacia": lambda: through(lambda t: block.linear2(block.linear1(t).relu())),
            "laurel": add_halfway,
        }
        for name in order:
            done[name]()
        return torch.allclose(state["now"], expected)

    return run


class TestOrders:
    def test_attention_with_a_mask(self):
        assert len(right_orders(QUESTIONS[PS2, "order_of_steps"], steps_of_attention)) == 2

    def test_one_chunk(self):
        assert len(right_orders(QUESTIONS[PS4, "one_chunk"], steps_of_a_chunk)) == 2

    def test_a_block_with_pre_norm(self):
        question = QUESTIONS[PS6, "pre_norm_steps"]
        assert right_orders(question, steps_of_a_block()) == {question.answer}


def matched(assignment, name):
    """Text on the left → text on the right."""
    question = QUESTIONS[assignment, name]
    right = {option.id: option.text for option in question.right}
    return {option.text: right[question.answer[option.id]] for option in question.options}


class TestPairs:
    def test_what_a_mask_of_each_shape_says(self):
        said = {}
        for shape in ((12, 12), (8, 1, 12), (8, 12, 1), (8, 12, 12)):
            numbers = torch.arange(math.prod(shape)).reshape(shape).expand(8, 12, 12)
            # along which axes of (sample, query, key) the rule differs
            differs = [numbers.diff(dim=axis).any().item() for axis in range(3)]
            said[str(tuple(shape))] = {
                (False, True, True): "for all samples alike, which query may see which key",
                (True, False, True): "of every sample, which keys all of its queries may see",
                (True, True, False):
                    "of every sample and every query, whether it may see all keys or none",
                (True, True, True): "of every sample, which query may see which key",
            }[tuple(differs)]  # fmt: skip
        assert matched(PS2, "mask_shapes") == said

    def test_where_positions_enter(self):
        n, d, heads = 5, 8, 2
        tokens, table = torch.zeros(n, d), torch.zeros(heads, 7)
        shape = reference(PS5, "sinusoidal_positions")(n, d).shape
        assert shape == tokens.shape  # added to tokens
        assert reference(PS5, "relative_position_bias")(table, n, n).shape == (heads, n, n)
        q, k = torch.ones(2, n, d, dtype=torch.float64)
        turned = reference(PS5, "rotary")(q) @ reference(PS5, "rotary")(k).T
        assert turned.diagonal(1).std() < 1e-9 < (turned.diagonal(1)[0] - turned[0, 0]).abs()
        assert matched(PS5, "where_positions_enter") == {
            "sinusoidal positions": "they are added to the tokens, before the projections",
            "a relative position bias": "they are added to the scores",
            "rotary positions": "they turn queries and keys, before their product",
        }

    def test_which_tokens_are_seen(self):
        x = torch.randn(1, 100, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        torch.manual_seed(0)
        attention = reference(PS3, "MultiHeadAttention")(4, 2).double()
        causal = torch.ones(100, 100).tril().bool()
        convolution = nn.Conv1d(4, 4, 5, padding=2).double()
        layers = {
            "self-attention without a mask": lambda x: attention(x)[0],
            "self-attention with a causal mask": lambda x: attention(x, mask=causal)[0],
            "a convolution of kernel size 5 (stride 1, centred)": lambda x: convolution(x.mT).mT,
            "layer norm": reference(PS6, "LayerNorm")(4).double(),
        }
        seen = {}
        for text, layer in layers.items():
            tokens = x.clone().requires_grad_()
            layer(tokens)[0, 50, 0].backward()
            (touched,) = tokens.grad[0].any(-1).nonzero(as_tuple=True)
            first, last = touched.min().item(), touched.max().item()
            assert len(touched) == last - first + 1
            seen[text] = f"token {first}" if first == last else f"tokens {first} to {last}"
        assert matched(PS6, "sees_what") == seen


def agrees(assignment, name, compute, points):
    """The formula has the value of `compute` at every point, and no mistake has it at all."""
    question = QUESTIONS[assignment, name]
    for formula in [item.value for item in question.wrong]:
        assert any(evaluate(formula, point) != compute(**point) for point in points), formula
    for point in points:
        assert evaluate(question.answer, point) == compute(**point)


class TestFormulas:
    def test_numbers_that_the_formula_is_given(self):
        def given(d, d_k, d_v, h):
            lists = [[torch.empty(d, width)] * h for width in (d_k, d_k, d_v)]
            return sum(W.numel() for part in lists for W in part) + torch.empty(h * d_v, d).numel()

        points = [dict(zip(("d", "d_k", "d_v", "h"), p, strict=True))
                  for p in ((5, 3, 2, 4), (7, 2, 3, 2), (12, 3, 3, 4))]  # fmt: skip
        agrees(PS3, "formula_weights", given, points)
        assert 2 * 4 * 12 * (3 + 3) == 4 * 12**2  # d_k = d_v = d/h

    def test_the_share_of_pairs(self):
        def share(n, d):
            whole = reference(PS4, "attention_flops")(n, d)
            return Fraction(whole - 4 * 2 * n * d * d, whole)

        points = [{"n": n, "d": d} for n, d in ((196, 512), (3, 5), (4096, 64))]
        agrees(PS4, "quadratic_share", share, points)
        assert round(float(share(196, 512)), 2) == 0.16 and share(1024, 512) == Fraction(1, 2)

    def test_scores_in_windows(self):
        def scores(H, W, m):
            windows = reference(PS5, "window_partition")(torch.zeros(1, H, W, 1), m)
            return windows.shape[0] * windows.shape[1] ** 2

        points = [{"H": 6, "W": 9, "m": 3}, {"H": 8, "W": 12, "m": 4}]
        agrees(PS5, "window_scores", scores, points)

    def test_the_spread_of_a_weight(self):
        def variance(w, p):
            w, p = Fraction(str(w)), Fraction(str(p))
            kept = w / (1 - p)
            assert (1 - p) * kept == w  # the mean
            return p * (0 - w) ** 2 + (1 - p) * (kept - w) ** 2

        agrees(PS6, "spread_of_a_weight", variance, [{"w": 0.5, "p": 0.2}, {"w": 0.3, "p": 0.75}])
        assert variance(0.5, 0.5) == Fraction(1, 4)  # p = 1/2: as large as the weight, squared
