"""Programs and observations in their plain form, there and back."""

import collections

import numpy as np
import pytest
from hypothesis import given, settings

from autograder.observe import protocol
from autograder.observe.protocol import Array, ProtocolError, array_from_numpy
from autograder.program import (
    Backward,
    Call,
    Construct,
    DescribeModule,
    Generator,
    LoadWeights,
    Mode,
    Observed,
    Probe,
    Program,
    Raised,
    ReadAxes,
    Slot,
)
from autograder.wire import (
    in_double,
    observed_from_wire,
    observed_to_wire,
    program_from_wire,
    program_to_wire,
    raised_from_wire,
    to_wire,
)
from tests.unit.observe.test_protocol import same, values

SINGLE = array_from_numpy(np.ones((2, 3), dtype=np.float32))

PROGRAM = Program(
    steps=(
        Construct("C", "made", (3, "a"), {"bias": True}),
        LoadWeights("made", {"W.weight": SINGLE}),
        Mode("made", False),
        Call(
            Slot("made"),
            (SINGLE, [1, (2.5, None)], Generator(7, "torch")),
            {"f": Probe("def f(x): pass", "f", (SINGLE, 2)), "s": Slot("made.x", 1)},
            ("x", "y", "rng"),
            slot="result",
            watch=("arguments", "allocation"),
        ),
        Backward("result", 3, "made", 0),
        DescribeModule("made", True),
        ReadAxes("result"),
    ),
    answered=("softmax",),
    seed=5,
    double=True,
)


class TestPrograms:
    def test_there_and_back(self):
        wire = program_to_wire(PROGRAM)
        arrived = protocol.decode(protocol.encode(wire))
        assert program_from_wire(arrived) == PROGRAM
        assert same(program_to_wire(program_from_wire(arrived)), wire)

    def test_an_unknown_step(self):
        with pytest.raises(ValueError, match="no step is called 'rob'"):
            program_from_wire({"steps": [{"do": "rob"}], "answered": [], "seed": 0, "double": 0})

    def test_a_dtype_there_and_back(self):
        torch = pytest.importorskip("torch")
        program = Program((Call("f", (torch.float16,)),))
        wire = program_to_wire(program)
        assert same(program_to_wire(program_from_wire(wire)), wire)

    def test_tensors_become_arrays(self):
        torch = pytest.importorskip("torch")
        found = to_wire(torch.ones(2, dtype=torch.bfloat16, requires_grad=True))
        assert (found.dtype, found.framework, found.requires_grad) == ("bfloat16", "torch", True)
        assert found.data.tolist() == [1, 1]
        assert to_wire(torch.ones(2, 3).T).data.shape == (3, 2)


class TestArguments:
    @pytest.mark.parametrize(
        ("value", "plain"),
        [
            (np.int64(3), 3), (np.float32(0.5), 0.5), (np.bool_(True), True),
            (collections.namedtuple("Pair", "a b")(1, 2), (1, 2)),
        ],
    )  # fmt: skip
    def test_made_plain(self, value, plain):
        assert same(to_wire(value), plain)

    @pytest.mark.parametrize(
        "value",
        [
            {1, 2}, object(), 1j, b"x", 2**63, lambda: 0, {1: 2}, {"$": "slot"},
            np.array(["text"]), np.array([None]), range(3),
        ],
    )  # fmt: skip
    def test_what_the_vocabulary_does_not_have(self, value):
        with pytest.raises(TypeError):
            to_wire(value)

    def test_the_message_says_what_there_is(self):
        with pytest.raises(TypeError, match="use arrays, numbers, strings, None, lists, Generator"):
            to_wire({1, 2})


class TestDouble:
    def widened(self, value):
        (step,) = in_double(Program((Call("f", (value,), {"k": value}),))).steps
        assert same(to_wire(step.kwargs["k"]), to_wire(step.args[0]))
        return step.args[0]

    @pytest.mark.parametrize("name", ["float16", "float32", "float64"])
    def test_floating_arrays(self, name):
        found = self.widened(np.full(2, 0.1, dtype=name))
        assert found.dtype == "float64"
        assert found.data.tolist() == np.full(2, 0.1, dtype=name).astype(float).tolist()

    def test_half_precision_of_torch(self):
        narrow = Array("bfloat16", (1,), np.float32([0.5]), "torch", True)
        found = self.widened(narrow)
        assert (found.dtype, found.framework, found.requires_grad) == ("float64", "torch", True)

    @pytest.mark.parametrize("value", [3, 0.5, None, "a", True, Generator(1), Slot("a")])
    def test_the_rest_stays(self, value):
        assert self.widened(value) == value

    def test_integers_stay(self):
        assert self.widened(np.arange(3)).dtype == "int64"

    def test_inside(self):
        narrow = np.ones(1, dtype=np.float32)
        (first,), second = self.widened([[narrow], 1])
        assert (first.dtype, second) == ("float64", 1)
        assert self.widened({"a": narrow})["a"].dtype == "float64"
        assert self.widened(Probe("", "f", (narrow,))).call[0].dtype == "float64"

    def test_the_program_says_so(self):
        widened = in_double(Program((LoadWeights("m", {"w": SINGLE}), Mode("m", True)), seed=4))
        assert widened.double
        assert widened.seed == 4
        assert widened.steps[0].weights["w"].dtype == "float64"

    def test_the_original_is_left_alone(self):
        given = np.ones(1, dtype=np.float32)
        self.widened(given)
        assert given.dtype == np.float32


class TestObservations:
    @pytest.mark.parametrize(
        "observed",
        [
            Observed(),
            Observed(SINGLE, changed=("x",), notes={"largest_allocation": 3}),
            Observed(raised=Raised("E", ("A", "B"), "why", 3, "cell 1", "f")),
            Observed(raised=Raised("E", (), "")),
        ],
    )
    def test_there_and_back(self, observed):
        wire = protocol.decode(protocol.encode([observed_to_wire(observed)]))
        assert observed_from_wire(wire) == (observed,)

    @pytest.mark.parametrize(
        "wire",
        [
            None, 3, "text", {"value": 1}, [3], ["text"], [None], [[]],
            [{"raised": 3}], [{"raised": "E"}], [{"raised": {}}],
            [{"raised": {"type": "E", "bases": 3, "message": ""}}],
            [{"raised": {"type": "E", "bases": [3], "message": ""}}],
            [{"raised": {"type": SINGLE, "bases": [], "message": ""}}],
            [{"raised": {"type": "E", "bases": [], "message": None}}],
            [{"changed": 3}], [{"changed": "abc"}], [{"changed": [1]}], [{"notes": 3}],
        ],
    )  # fmt: skip
    def test_what_no_worker_says(self, wire):
        with pytest.raises(ProtocolError):
            observed_from_wire(wire)

    @pytest.mark.parametrize(
        ("line", "cell"), [("3", 4), (True, None), (0, None), (-1, []), (None, {})]
    )
    def test_places_that_are_none(self, line, cell):
        wire = {"type": "E", "bases": [], "message": "", "line": line, "cell": cell, "function": 3}
        assert raised_from_wire(wire) == Raised("E", (), "")

    @settings(deadline=None)
    @given(values)
    def test_any_value_is_an_observation_or_a_protocol_error(self, value):
        for wire in (value, [value], [{"value": value, "raised": value}], [{"raised": value}]):
            try:
                found = observed_from_wire(wire)
            except ProtocolError:
                continue
            assert all(isinstance(step, Observed) for step in found)
