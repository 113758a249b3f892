"""Weights into modules of every layout, and gradients back by the reference's names."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from autograder.observe.modules import (  # noqa: E402
    WeightsDoNotFit,
    gradients,
    load_weights,
    parameters,
)
from autograder.observe.values import Unfit  # noqa: E402


def module_of(**parts):
    """A module with these parameters (by shape) and layers."""
    made = nn.Module()
    for name, part in parts.items():
        if isinstance(part, tuple):
            part = nn.Parameter(torch.zeros(part))
        setattr(made, name, part)
    return made


def linear(out, in_, bias=False):
    return nn.Linear(in_, out, bias=bias)


def weights(**shapes):
    return {
        name.replace("__", "."): torch.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        for name, shape in shapes.items()
    }


Q, K = {"W_q__weight": (2, 3)}, {"W_k__weight": (4, 3)}


class TestLoad:
    def test_by_name(self):
        module, given = module_of(W_q=linear(2, 3, bias=True)), weights(**Q, W_q__bias=(2,))
        load_weights(module, given)
        assert torch.equal(module.W_q.weight, given["W_q.weight"])
        assert torch.equal(module.W_q.bias, given["W_q.bias"])

    def test_arrays_of_numpy_and_other_precisions(self):
        module = module_of(W_q=linear(2, 3).double())
        load_weights(module, {"W_q.weight": np.full((2, 3), 0.1, dtype=np.float32)})
        assert module.W_q.weight.dtype == torch.float64
        assert module.W_q.weight[0, 0].item() == pytest.approx(0.1)

    @pytest.mark.parametrize(("shape", "transposed"), [((2, 3), False), ((3, 2), True)])
    def test_a_raw_parameter(self, shape, transposed):
        module, given = module_of(W_q=shape), weights(**Q)
        load_weights(module, given)
        wanted = given["W_q.weight"].T if transposed else given["W_q.weight"]
        assert torch.equal(module.W_q, wanted)

    def test_a_square_raw_parameter_multiplies_from_the_right(self):
        module, given = module_of(W_q=(3, 3)), weights(W_q__weight=(3, 3))
        load_weights(module, given)
        assert torch.equal(module.W_q, given["W_q.weight"].T)

    def test_a_square_layer_is_a_layer(self):
        module, given = module_of(W_q=linear(3, 3)), weights(W_q__weight=(3, 3))
        load_weights(module, given)
        assert torch.equal(module.W_q.weight, given["W_q.weight"])

    def test_a_raw_bias(self):
        module, given = module_of(W_q=(3, 2), W_q_bias=(2,)), weights(**Q, W_q__bias=(2,))
        load_weights(module, given)
        assert torch.equal(module.W_q_bias, given["W_q.bias"])

    @pytest.mark.parametrize("bias", [False, True])
    def test_a_fused_layer(self, bias):
        module = module_of(in_proj=linear(6, 3, bias))
        given = weights(**Q, **K, **({"W_q__bias": (2,), "W_k__bias": (4,)} if bias else {}))
        load_weights(module, given)
        wanted = torch.cat([given["W_q.weight"], given["W_k.weight"]])
        assert torch.equal(module.in_proj.weight, wanted)
        if bias:
            assert torch.equal(
                module.in_proj.bias, torch.cat([given["W_q.bias"], given["W_k.bias"]])
            )

    def test_a_fused_raw_parameter_on_the_right(self):
        module, given = module_of(qk=(3, 6)), weights(**Q, **K)
        load_weights(module, given)
        assert torch.equal(module.qk.T, torch.cat([given["W_q.weight"], given["W_k.weight"]]))

    def test_fused_beside_a_layer_of_its_own(self):
        module = module_of(kv=linear(8, 3), W_q=linear(2, 3))
        load_weights(module, weights(**Q, **K, W_v__weight=(4, 3)))
        assert module.kv.weight[4, 0] == 1

    @pytest.mark.parametrize("outside", [True, False])
    def test_a_layer_for_each_head(self, outside):
        if outside:
            module = module_of(heads=nn.ModuleList(module_of(W_q=linear(1, 3)) for _ in range(11)))
        else:
            module = module_of(W_q=nn.ModuleList(linear(1, 3) for _ in range(11)))
        given = weights(W_q__weight=(11, 3))
        load_weights(module, given)
        rows = torch.cat(list(module.parameters()))
        assert torch.equal(rows, given["W_q.weight"])  # 10 comes after 9, not after 1

    def test_names_without_a_layer(self):
        module = module_of(weight=(3,), gain=())
        load_weights(module, {"weight": torch.ones(3), "gain": torch.tensor(2.0)})
        assert (module.gain.item(), module.weight.sum().item()) == (2, 3)

    def test_buffers_are_nobody_s_business(self):
        module = module_of(W_q=linear(2, 3))
        module.register_buffer("mask", torch.ones(2))
        load_weights(module, weights(**Q))

    @pytest.mark.parametrize(
        ("module", "given", "message"),
        [
            (module_of(), Q, "expected a parameter W_q.weight of shape (2, 3), got a module with "
             "no parameters"),
            (module_of(other=linear(5, 3)), Q, "got a module with other.weight"),
            (module_of(W_q=linear(5, 3)), Q, "parameter W_q.weight has shape (5, 3), expected "
             "(2, 3)"),
            (module_of(W_q=linear(2, 3, bias=True)), Q, "the module has a parameter W_q.bias of "
             "shape (2,), expected none beside W_q.weight"),
            (module_of(a=linear(6, 3), b=linear(6, 3)), {**Q, **K}, "expected a parameter "
             "W_q.weight"),
            (module_of(W_q=nn.ModuleList([linear(1, 3), linear(2, 3)])), Q, "expected a "
             "parameter W_q.weight"),
            (module_of(W_q=nn.ModuleList([linear(1, 1), linear(1, 1)])), Q, "expected a "
             "parameter W_q.weight"),
            (module_of(), {"gamma": (2,)}, "expected a parameter gamma"),
            (module_of(W_q=nn.LazyLinear(2)), Q, "has no shape before the first call"),
        ],
    )  # fmt: skip
    def test_what_does_not_fit(self, module, given, message):
        with pytest.raises(WeightsDoNotFit) as raised:
            load_weights(module, weights(**given))
        assert message in str(raised.value)

    @pytest.mark.parametrize("value", [None, "module", 3, nn.Linear])
    def test_no_module(self, value):
        for call in (lambda: load_weights(value, {}), lambda: parameters(value, True)):
            with pytest.raises(Unfit, match=r"expected a torch\.nn\.Module, got a value of type"):
                call()


class TestGradients:
    @pytest.mark.parametrize(
        "build",
        [
            lambda: module_of(qk=linear(6, 3)),
            lambda: module_of(qk=(3, 6)),
            lambda: module_of(W_q=(3, 2), W_k=(3, 4)),
            lambda: module_of(W_q=nn.ModuleList(linear(1, 3) for _ in range(2)), W_k=linear(4, 3)),
        ],
    )
    def test_they_come_back_by_the_names_and_shapes_of_the_reference(self, build):
        given, x = weights(**Q, **K), torch.rand(5, 3)
        reference = module_of(W_q=linear(2, 3), W_k=linear(4, 3))

        def call(module, x):
            raw = [p if p.shape[-1] == 3 else p.T for p in module.parameters()]
            return x @ torch.cat(raw).T

        found = {}
        for name, module in (("reference", reference), ("other", build())):
            places = load_weights(module, given)
            found[name] = gradients(call(module, x), {}, module, places, 2)["parameters"]
        for name in given:
            assert torch.allclose(found["other"][name], found["reference"][name])
            assert found["other"][name].shape == given[name].shape

    def test_the_cotangent(self):
        x = torch.zeros(2, 3, requires_grad=True)
        found = gradients(2 * x, {"x": x}, None, None, seed=4)["arguments"]["x"]
        wanted = 2 * np.cos(1.7 * np.arange(6) + 4).reshape(2, 3)
        assert np.allclose(found, wanted, atol=1e-6)

    def test_several_results_and_twice(self):
        x = torch.ones(2, requires_grad=True)
        result = (x * 2, x * 3, torch.ones(2, dtype=torch.int64), "text")
        first = gradients(result, {"x": x}, None, None, 0)["arguments"]["x"]
        again = gradients(result, {"x": x}, None, None, 0)["arguments"]["x"]
        assert torch.equal(first, again)
        assert first[0] == pytest.approx(5.0)
        assert x.grad is None  # nothing is left behind

    @pytest.mark.parametrize("result", [None, 3.0, "text", torch.ones(2), [torch.ones(2)]])
    def test_no_graph(self, result):
        x = torch.ones(2, requires_grad=True)
        found = gradients(result, {"x": x, "n": 3, "frozen": torch.ones(1)}, None, None, 0)
        assert found == {"arguments": {"x": None}, "parameters": {}}

    def test_an_argument_that_is_not_used(self):
        x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
        found = gradients(2 * x, {"x": x, "y": y, "list": [y]}, None, None, 0)["arguments"]
        assert found["x"] is not None
        assert found["y"] is found["list[0]"] is None

    def test_without_places_the_names_are_the_module_s(self):
        module = linear(2, 3)
        found = gradients(module(torch.ones(3)), {}, module, None, 0)
        assert list(found["parameters"]) == ["weight"]

    def test_a_parameter_that_is_frozen(self):
        module = linear(2, 3, bias=True)
        module.bias.requires_grad_(False)
        found = gradients(module(torch.ones(3)), {}, module, None, 0)["parameters"]
        assert found["bias"] is None
        assert found["weight"] is not None


class TestParameters:
    def test_shapes_and_values(self):
        module = module_of(W_q=linear(2, 3), gain=())
        assert parameters(module, False) == {"gain": [], "W_q.weight": [2, 3]}
        assert parameters(module, True)["W_q.weight"] is module.W_q.weight
