"""Parts answered in PyTorch: gradients, dtypes and masks go through them."""

import pytest

torch = pytest.importorskip("torch")

from autograder.evaluation import evaluate  # noqa: E402
from autograder.observe.answered import answered, gradients_of  # noqa: E402
from autograder.observe.protocol import decode, encode  # noqa: E402
from autograder.observe.values import describe, make_argument  # noqa: E402
from autograder.references import references_of  # noqa: E402
from tests.unit.test_evaluation import Fake, submitted  # noqa: E402
from tests.unit.test_following import load_course  # noqa: E402

HEAD = """
import math
import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from autograder import Backward, Call, Construct, LoadWeights, Mode, Program, Slot, exercise
"""
FILES = {
    "__init__": 'PACKAGES = ("torch",)',
    "attend": """
        @exercise(points=1, order=1)
        def attend(
            Q: Float[Tensor, "n d"], K: Float[Tensor, "n d"], V: Float[Tensor, "n d"], mask=None
        ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n n"]]:
            scores = Q @ K.mT / math.sqrt(Q.shape[-1])
            if mask is not None:
                scores = scores.masked_fill(~mask, -math.inf)
            weights = torch.softmax(scores, dim=-1)
            return weights @ V, weights

        @attend.case("three", separates=["unscaled"])
        def three(rng):
            return {name: rng.normal(size=(3, 4)).astype(np.float32) for name in "QKV"}

        @attend.misconception("No scale.", hint="How large?")
        def unscaled(Q, K, V, mask=None):
            weights = torch.softmax(Q @ K.mT, dim=-1)
            return weights @ V, weights
    """,
    "Attention": """
        @exercise(points=1, order=2, needs=["attend"])
        class Attention(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.W = nn.Linear(d, d)

            def forward(
                self, x: Float[Tensor, "n d"], mask=None
            ) -> tuple[Float[Tensor, "n d"], Float[Tensor, "n n"]]:
                return attend(self.W(x), x, x, mask)

        def steps(rng, mask=None, dtype=torch.float32):
            x = torch.tensor(rng.normal(size=(5, 4)), dtype=dtype, requires_grad=True)
            weights = {
                "W.weight": rng.normal(size=(4, 4)).astype(np.float32),
                "W.bias": rng.normal(size=4).astype(np.float32),
            }
            arguments = {"x": x} if mask is None else {"x": x, "mask": mask}
            return Program((
                Construct("Attention", "module", (4,)),
                LoadWeights("module", weights),
                Mode("module", training=False),
                Call(Slot("module"), tuple(arguments.values()), {}, tuple(arguments), "result"),
                Backward("result", seed=1, module="module"),
            ))

        @Attention.case("no mask", separates=["squared", "cut"])
        def plain(rng):
            return steps(rng)

        @Attention.case("a mask", separates=["squared"])
        def masked(rng):
            return steps(rng, torch.tril(torch.ones(5, 5, dtype=torch.bool)))

        @Attention.misconception("Squares the queries.", hint="What is a query?")
        class squared(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.W = nn.Linear(d, d)

            def forward(self, x, mask=None):
                return attend(self.W(x) ** 2, x, x, mask)

        @Attention.misconception("Cuts the graph.", hint="What does detach do?")
        class cut(nn.Module):
            def __init__(self, d):
                super().__init__()
                self.W = nn.Linear(d, d)

            def forward(self, x, mask=None):
                return attend(self.W(x).detach(), x, x, mask)
    """,
}
WRONG = """
def attend(queries, keys, values, allowed=None):
    weights = torch.softmax(queries @ keys.mT, dim=-1)
    return weights @ values, weights
"""
MODULE = """
class Attention(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.W = nn.Linear(d, d)

    def forward(self, x, mask=None):
        {body}
"""


RIGHT = "return attend(self.W(x), x, x, mask)"


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    return load_course(tmp_path_factory.mktemp("course"), FILES, HEAD)


@pytest.fixture(scope="module")
def specs(pack):
    return pack.draw_all("torch")


@pytest.fixture
def graded(pack, specs):
    def graded(body, part=WRONG):
        cells = ("import torch\nfrom torch import nn", part, MODULE.format(body=body))
        return evaluate(submitted(*cells), specs, Fake(), references_of(pack))

    return graded


class TestAModule:
    @pytest.mark.parametrize("part", [WRONG, "", "def attend(*a):\n    raise NotImplementedError"])
    def test_values_and_gradients_are_right_given_a_right_part(self, graded, part):
        first, second = graded(RIGHT, part)
        assert first.outcome in ("failed", "missing")
        assert (second.outcome, second.followed_through) == ("passed", True), second.feedback
        assert [check.outcome for check in second.checks] == ["passed"] * len(second.checks)

    @pytest.mark.parametrize(
        "body",
        [
            "return attend(Q=self.W(x), K=x, V=x, mask=mask)",
            "return attend(queries=self.W(x), keys=x, values=x, allowed=mask)",
            "return attend(self.W(x), x, values=x, mask=mask)",
            "output, weights = attend(self.W(x), x, x, mask)\n        return output, weights",
            "whole = attend(self.W(x), x, x, mask)\n        assert type(whole) is tuple\n"
            "        return whole[0], whole[1]",
            "output, weights = attend(self.W(x), x, x, mask)\n        return weights @ x, weights",
            "output, weights = attend(self.W(x), x, x, mask)\n        x = x + 1\n"
            "        return output * 1.0, weights.contiguous()",
            "q = self.W(x) + 0\n        whole = attend(q, x, x, mask)\n        q.mul_(0)\n"
            "        return whole",
            "with torch.no_grad():\n            unused = attend(self.W(x), x, x)\n"
            f"        assert not unused[0].requires_grad\n        {RIGHT}",
        ],
    )
    def test_ways_to_call(self, graded, body):
        assert graded(body)[1].followed_through, graded(body)[1].feedback

    @pytest.mark.parametrize(
        ("body", "name"), [("self.W(x) ** 2", "squared"), ("self.W(x).detach()", "cut")]
    )
    def test_its_own_mistake_is_named(self, graded, body, name):
        _, result = graded(f"return attend({body}, x, x, mask)")
        assert (result.outcome, result.misconceptions) == ("failed", (name,)), result.feedback
        assert "This remains when calls of `attend`" in result.feedback

    @pytest.mark.parametrize(
        "body",
        [
            "return attend(self.W, x, x, mask)",
            "return attend([self.W(x)] * 10**4, x, x, mask)",
            "return torch.func.vmap(lambda q: attend(q, x, x)[0])(self.W(x)[:, None])",
            "return attend(self.W(x).to_sparse(), x, x, mask)",
            "return attend(self.W(x), x, x, mask=torch.Generator())",
        ],
    )
    def test_no_harm(self, graded, body):
        result = graded(body)[1]
        assert result.outcome in ("failed", "error")
        assert not result.followed_through
        assert "It may call `attend`" in result.feedback


class TestTheFunction:
    """`answered` beside an honest grader, without a session between them."""

    @staticmethod
    def right(function):
        def ask(question):
            asked = decode(encode(question))
            made = [make_argument(item, {}, False) for item in asked["args"]]
            named = {key: make_argument(item, {}, False) for key, item in asked["kwargs"].items()}
            if asked["cotangents"] is None:
                return decode(encode(describe(_detached(function(*made, **named)))))
            given = [make_argument(item, {}, False) for item in asked["cotangents"]]
            return decode(encode(describe(gradients_of(function)(made, named, given))))

        return answered("part", ask)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
    def test_dtypes_are_kept(self, dtype):
        x = torch.linspace(-1, 1, 6, dtype=dtype).reshape(2, 3).requires_grad_()
        part = self.right(lambda x: torch.tanh(x))
        found = part(x)
        assert found.dtype is dtype
        assert found.requires_grad
        found.sum().backward()
        assert x.grad.dtype is dtype
        torch.testing.assert_close(x.grad, 1 - torch.tanh(x.detach()) ** 2, rtol=2e-2, atol=1e-2)

    def test_gradcheck(self):
        def function(x, items, scale=1.0, *, bias):
            return torch.sin(x) * items[0] * scale + bias, (x > 0), x.sum()

        part = self.right(function)
        x, y, b = (torch.rand(3, dtype=torch.float64, requires_grad=True) for _ in range(3))

        def values(x, y, b):
            product, above, total = part(x, [y, 2], scale=0.5, bias=b)
            assert above.dtype is torch.bool
            assert not above.requires_grad
            return product, total

        assert torch.autograd.gradcheck(values, (x, y, b))

    def test_one_tensor_given_twice(self):
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        self.right(lambda a, b: a * b)(x, x).sum().backward()
        assert x.grad.tolist() == [4.0, 6.0]

    def test_a_result_that_nothing_flows_from(self):
        x = torch.tensor([2.0], requires_grad=True)
        part = self.right(lambda x: (x * 3, x * 5))
        part(x)[1].backward()
        assert x.grad.tolist() == [5.0]
        constant = self.right(lambda x: torch.ones(1))(x)
        (constant * x).sum().backward()

    def test_parameters_and_numbers(self):
        weight = torch.nn.Parameter(torch.ones(2))
        found = self.right(lambda w, n, text, none: w * n)(weight, 3, "text", None)
        found.sum().backward()
        assert weight.grad.tolist() == [3.0, 3.0]

    def test_without_a_gradient_there_is_no_graph(self):
        asked = []
        part = answered("part", lambda question: asked.append(question) or describe(torch.ones(2)))
        assert not part(torch.ones(2)).requires_grad
        with torch.no_grad():
            assert not part(torch.ones(2, requires_grad=True)).requires_grad
        assert [question["cotangents"] for question in asked] == [None, None]

    def test_a_refusal_in_the_backward_pass(self):
        def ask(question):
            if question["cotangents"] is not None:
                raise RuntimeError("no more")
            return describe(torch.ones(2))

        found = answered("part", ask)(torch.ones(2, requires_grad=True))
        with pytest.raises(RuntimeError, match="no more"):
            found.sum().backward()


def _detached(value):
    return tuple(map(_detached, value)) if isinstance(value, tuple) else value.detach()
