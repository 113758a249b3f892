"""Arguments that were changed."""

import numpy as np
import pytest

from autograder.observe.watching import snapshot


class TestSnapshot:
    @pytest.mark.parametrize(
        ("argument", "change"),
        [
            (np.zeros(3), lambda a: a.__setitem__(0, 1)),
            (np.zeros(3), lambda a: a.resize(2, refcheck=False)),
            (np.array([[3.0, 1.0]]), lambda a: a.sort()),
            (np.array([True, False]), lambda a: np.logical_not(a, out=a)),
            (np.array([np.nan, 1.0]), lambda a: a.__setitem__(0, 0.0)),
            (np.array([0.0]), lambda a: a.__imul__(-1)),
            ([1, 2], lambda a: a.append(3)),
            ([1, 2], lambda a: a.reverse()),
            ([np.zeros(1)], lambda a: a[0].fill(1)),
            ((np.zeros(1), 2), lambda a: a[0].fill(1)),
            ([[np.zeros(1)]], lambda a: a[0][0].fill(1)),
            ({"a": np.zeros(1)}, lambda a: a["a"].fill(1)),
            ({"a": 1}, lambda a: a.update(a=2)),
            ({"a": 1}, lambda a: a.update(b=2)),
            ({"a": 1}, lambda a: a.update(b=a.pop("a"))),
        ],
    )
    def test_sees(self, argument, change):
        changed = snapshot(argument)
        assert not changed()
        change(argument)
        assert changed()

    @pytest.mark.parametrize(
        "argument", [np.array([np.nan, -0.0]), [1, "a", None], (1,), {"a": [1]}, 3, None, object()]
    )
    def test_nothing_where_nothing_is(self, argument):
        assert not snapshot(argument)()

    def test_views_of_the_argument(self):
        argument = np.zeros((2, 2))
        changed = snapshot(argument)
        argument.T[0] += 1
        assert changed()

    def test_generators_are_there_to_be_used(self):
        rng = np.random.default_rng(0)
        changed = snapshot(rng)
        rng.random()
        assert not changed()


class TestTensors:
    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    @pytest.mark.parametrize(
        "dtype",
        ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "float64", "complex64"],
    )
    @pytest.mark.parametrize("shape", [(), (2, 3)])
    def test_every_dtype(self, torch, dtype, shape):
        argument = torch.zeros(shape, dtype=getattr(torch, dtype))
        changed = snapshot(argument)
        assert not changed()
        argument.add_(1) if dtype != "bool" else argument.logical_not_()
        assert changed()

    def test_nan_is_equal_to_itself(self, torch):
        argument = torch.tensor([float("nan"), 1.0])
        changed = snapshot(argument)
        assert not changed()
        argument[0] = 0.0
        assert changed()

    def test_with_a_graph_and_not_contiguous(self, torch):
        argument = torch.zeros(2, 3, requires_grad=True)
        changed = snapshot(argument)
        with torch.no_grad():
            argument.T[1] += 1
        assert changed()

    def test_a_shape_that_was_changed(self, torch):
        argument = torch.zeros(2, 3)
        changed = snapshot(argument)
        argument.unsqueeze_(0)
        assert changed()


class TestAllocation:
    @pytest.fixture
    def largest(self):
        """A function that tells how large the largest tensor is that another one makes."""
        pytest.importorskip("torch")
        from autograder.observe.watching import largest_allocation

        def measured(function):
            notes = {}
            with largest_allocation(notes):
                function()
            return notes["largest_allocation"]

        return measured

    def test_the_largest_tensor_counts(self, largest):
        import torch

        Q, K = torch.ones(40, 3), torch.ones(50, 3)
        assert largest(lambda: (Q @ K.mT).softmax(-1)) == 2000
        assert largest(lambda: [Q @ chunk.mT for chunk in K.split(10)]) == 400

    def test_a_view_counts_as_its_storage(self, largest):
        import torch

        assert largest(lambda: torch.ones(100)[:3].expand(4, 3)) == 100

    def test_nothing_made(self, largest):
        assert largest(lambda: None) == 0
