"""What a child of PyTorch's zygote can do without having to import or to write anything."""

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)
pytest.importorskip("torch")

from autograder.observe.pool import ZygotePool

X = "x = torch.randn(3, 4, requires_grad=True)\n"
# with torch.compile, PyTorch's compiler is imported, or asked after, by these
WORKS = {
    "a compiled function": "f = torch.compile(lambda x: x + 1)\nassert (f(x) == x + 1).all()",
    "a decorator": "@torch.compile\ndef f(x): return x + 1\nassert (f(x) == x + 1).all()",
    "a decorator with options": (
        "@torch.compile(mode='max-autotune')\ndef f(x): return x + 1\nassert (f(x) == x + 1).all()"
    ),
    "a compiled module": "m = torch.nn.Linear(4, 4)\nm.compile()\nm(x)",
    "an optimizer": (
        "o = torch.optim.AdamW([x])\nbefore = x.detach().clone()\n(x * x).sum().backward()\n"
        "o.step()\no.zero_grad()\nassert (x != before).all() and x.grad is None"
    ),
    "a schedule": (
        "o = torch.optim.SGD([x], lr=0.1)\ns = torch.optim.lr_scheduler.StepLR(o, 1)\n"
        "x.sum().backward()\no.step()\ns.step()\nassert s.get_last_lr()[0] < 0.1"
    ),
    "a jacobian": "assert torch.func.jacrev(lambda x: x.sum(1))(x).shape == (3, 3, 4)",
    "a gradient": "assert (torch.func.grad(lambda x: x.sum())(x) == 1).all()",
    "a checkpoint": (
        "from torch.utils.checkpoint import checkpoint\n"
        "checkpoint(torch.sin, x, use_reentrant=False).sum().backward()\nassert x.grad is not None"
    ),
    "what is not compiled": "@torch._dynamo.disable\ndef f(x): return x\nf(x)",
    "nothing compiles": "assert not torch.compiler.is_compiling()",
    "whether a library is there": (
        "from importlib.util import find_spec\n"
        "assert find_spec('torch') and find_spec('no_such_library') is None"
    ),
}


@pytest.fixture(scope="module")
def torch_pool():
    with ZygotePool("torch", packages=["torch"]) as pool:
        yield pool


@pytest.mark.parametrize("source", WORKS.values(), ids=WORKS)
def test_works(torch_pool, observe, source):
    with torch_pool.session() as session:
        assert observe.load(session, f"import torch\n{X}{source}") == [None]


def test_the_compiler_is_not_there_until_it_is_needed(torch_pool, observe):
    with torch_pool.session() as session:
        outcomes = observe.load(
            session, "import sys, torch\nassert 'torch._inductor' in sys.modules"
        )
        assert outcomes[0]["type"] == "AssertionError"


def test_a_library_that_is_not_installed(torch_pool, observe):
    with torch_pool.session() as session:
        (raised,) = observe.load(session, "import scipy_or_other")
    assert raised["type"] == "ModuleNotFoundError"
    assert "a submission may import the standard library" in raised["message"]
