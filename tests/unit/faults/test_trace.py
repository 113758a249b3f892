"""Where a trace parts from the milestones: the right line on wrong code, silence when unsure."""

import textwrap
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.faults.failure import Clock, Failure
from autograder.faults.milestones import compare_traces
from autograder.faults.trace import (
    MOST_RECORDS,
    Record,
    distinct,
    parting,
    read_trace,
    same_numbers,
)
from autograder.judge import missing
from autograder.observe import protocol, worker
from autograder.observe.tracing import MAX_NUMBERS, MAX_RECORDS
from autograder.pack import load_pack
from autograder.parsing import Cell, parse
from autograder.program import Call, Program
from autograder.submission import Submission
from autograder.wire import observed_from_wire, program_to_wire
from tests.unit.observe.test_protocol import values as any_value

COURSE = Path(__file__).parents[3]
PS1, PS2 = "ps1_numpy_attention", "ps2_torch_attention"
IMPORTS = {PS1: "import numpy as np\n", PS2: "import math\nimport torch\n"}


@cache
def drawn(assignment, name):
    pack = load_pack(COURSE, assignment)
    return pack, pack.draw(name, "traces", public_only=True)


class Loaded:
    """A source in a worker's hands, over the wire: a submission, and what runs programs on it."""

    def __init__(self, source):
        cells = (Cell("cell 3", textwrap.dedent(source)),)
        statements, broken = parse(cells, "module")
        assert not broken
        self.submission = Submission(Path("work.py"), "module", "", cells, tuple(statements))
        self.namespace = {"__name__": "submission"}
        failures = worker.load([s.to_wire() for s in statements], self.namespace, ())
        assert failures == [None] * len(statements)

    def __call__(self, program):
        wire = protocol.decode(protocol.encode(program_to_wire(program)))
        reply = protocol.encode(worker.run(wire, self.namespace))
        return observed_from_wire(protocol.decode(reply))


def traced(assignment, name, source):
    pack, spec = drawn(assignment, name)
    loaded = Loaded(IMPORTS[assignment] + textwrap.dedent(source))
    failure = Failure(
        submission=loaded.submission,
        spec=spec,
        result=missing(spec),
        right=frozenset(spec.needs),
        small=(),
        open_session=None,
        clock=Clock(60.0),
    )
    return compare_traces(pack, failure, loaded)


ATTENTION = """
def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = {scores}
    scaled = {scaled}
    if mask is not None:
        scaled = scaled.masked_fill(mask == 0, float("-inf"))
    weights = {weights}
    output = {output}
    return output, weights
"""
RIGHT = {
    "scores": "Q @ K.transpose(-2, -1)",
    "scaled": "scores / Q.shape[-1] ** 0.5",
    "weights": "scaled.softmax(-1)",
    "output": "weights @ V",
}


def attention(**changed):
    return ATTENTION.format(**{**RIGHT, **changed})


# (assignment, exercise, source, the line, the step)
WRONG = [
    (PS2, "scaled_dot_product_attention", attention(weights="scaled.softmax(-2)"),
     "weights = scaled.softmax(-2)", "the weights"),
    (PS2, "scaled_dot_product_attention", attention(output="weights @ (V * V)"),
     "output = weights @ (V * V)", "the output"),
    (PS2, "scaled_dot_product_attention", attention(weights="scaled.sigmoid()"),
     "weights = scaled.sigmoid()", "the weights"),
    (PS2, "scaled_dot_product_attention", attention(scaled="scores / Q.shape[-1]"),
     "scaled = scores / Q.shape[-1]", "the scores"),
    (PS2, "causal_mask", """
        def causal_mask(n):
            return torch.ones(n, n).tril(-1).bool()
        """, "return torch.ones(n, n).tril(-1).bool()", "the result"),
    (PS1, "softmax_jacobian", """
        def softmax_jacobian(p):
            return np.outer(p, p) - np.diag(p)
        """, "return np.outer(p, p) - np.diag(p)", "the result"),
    (PS1, "scale_scores", """
        def scale_scores(scores, d_k):
            return scores / d_k
        """, "return scores / d_k", "the result"),
    (PS1, "self_attention", """
        def self_attention(X, W_q, W_k, W_v):
            Q, K, V = W_q @ X, W_k @ X, W_v @ X
            S = K.T @ Q
            S = S / np.sqrt(Q.shape[0])
            A = np.exp(S - S.max(0)) / np.exp(S - S.max(0)).sum(0)
            return K @ A, A
        """, "return K @ A, A", "the output"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("assignment", "name", "source", "line", "step"),
    WRONG,
    ids=[f"{case[1]}-{at}" for at, case in enumerate(WRONG)],
)
def test_the_first_wrong_line_is_told(assignment, name, source, line, step):
    found = traced(assignment, name, source)
    assert found.place is not None
    assert (found.place.source, found.place.step) == (line, step)
    assert found.place.cell == "cell 3"
    assert found.suspects[0] == ("cell 3", found.place.line)


UNSURE = {
    "right": (PS2, "scaled_dot_product_attention", attention()),
    "a number of its own may be wrong": (PS1, "scale_scores", """
        def scale_scores(scores, d_k):
            divisor = d_k ** 1 / 2
            return scores / divisor
        """),
    "the input under another name": (PS1, "self_attention", """
        def self_attention(X, W_q, W_k, W_v):
            Q, K, V = W_q @ X, W_k @ X, X
            S = (K.T @ Q) / np.sqrt(Q.shape[0])
            A = np.exp(S - S.max(0)) / np.exp(S - S.max(0)).sum(0)
            return V @ A, A
        """),
    "one milestone under two names": (PS1, "self_attention", """
        def self_attention(X, W_q, W_k, W_v):
            Q = W_q @ X
            K = W_k @ X
            V = W_k @ X
            S = (K.T @ Q) / np.sqrt(Q.shape[0])
            A = np.exp(S - S.max(0)) / np.exp(S - S.max(0)).sum(0)
            return V @ A, A
        """),
    "something unknown before": (PS1, "softmax", """
        def softmax(scores):
            e = np.exp(scores)
            return e / e.sum(axis=1, keepdims=True)
        """),
    "it raises": (PS1, "softmax", """
        def softmax(scores):
            shifted = scores - scores.max(axis=0)
            return np.linalg.inv(shifted)
        """),
}  # fmt: skip


@pytest.mark.parametrize("why", list(UNSURE))
def test_silence_when_unsure(why):
    assert traced(*UNSURE[why]).place is None


def test_a_forged_trace_points_at_no_line_that_is_not_theirs():
    pack, spec = drawn(PS1, "softmax_jacobian")
    loaded = Loaded("import numpy as np\ndef softmax_jacobian(p):\n    return np.outer(p, p)\n")
    failure = Failure(loaded.submission, spec, missing(spec), frozenset(), (), None, Clock(60.0))

    def forged(program):
        made = loaded(program)
        for step in made:
            for record in step.notes["trace"]:
                record["line"] = 999
        return made

    found = compare_traces(pack, failure, forged)
    assert found.place is None
    assert not found.suspects


class TestReading:
    @given(any_value)
    def test_anything_may_be_reported(self, value):
        for notes in ({"trace": value}, {"trace": [value]}, {"trace": [{"cell": value}]}):
            assert all(isinstance(record, Record) for record in read_trace(notes))

    @settings(max_examples=50)
    @given(
        st.lists(any_value, max_size=4),
        st.dictionaries(st.sampled_from(["cell", "line", "function", "name", "value"]), any_value),
    )
    def test_fields_of_any_kind(self, others, record):
        assert len(read_trace({"trace": [*others, record]})) <= len(others) + 1

    def test_no_more_than_can_be_meant(self):
        record = {"cell": "", "line": 1, "function": "f", "name": "x",
                  "value": protocol.array_from_numpy(np.ones(2))}  # fmt: skip
        assert len(read_trace({"trace": [record] * 1000})) == MOST_RECORDS

    def test_a_signalling_nan_is_read_in_silence(self):
        """Whose conversion NumPy warns of: the warning would reach the instructor's terminal."""
        signalling = np.array([0x7F800001, 0x3F800000], dtype=np.uint32).view(np.float32)
        record = {"cell": "", "line": 1, "function": "f", "name": "x",
                  "value": protocol.array_from_numpy(signalling)}  # fmt: skip
        (read,) = read_trace({"trace": [record]})
        assert np.isnan(read.values[0]) and read.values[1] == 1.0


class TestMatching:
    @given(st.permutations(range(3)), st.integers(0, 100))
    def test_the_order_of_axes_does_not_matter(self, axes, seed):
        values = np.random.default_rng(seed).normal(size=(2, 3, 4))
        assert same_numbers(values.transpose(axes), values)
        assert same_numbers(values, values.transpose(axes))

    def test_nor_do_merged_axes_and_single_ones(self):
        values = np.random.default_rng(0).normal(size=(2, 3, 4))
        assert same_numbers(values.reshape(6, 4), values)
        assert same_numbers(values[:, None], values)

    def test_other_numbers_or_another_order_do(self):
        values = np.arange(6.0).reshape(2, 3)
        assert not same_numbers(values + 0.1, values)
        assert not same_numbers(values[::-1], values)
        assert not same_numbers(values[:, :2], values)

    def test_infinities_and_nan_are_no_trouble(self):
        masked = np.array([[1.0, -np.inf], [2.0, 3.0]])
        assert same_numbers(masked.T, masked)
        assert not same_numbers(np.full((2, 2), np.nan), masked)

    def test_constant_arrays_tell_nothing(self):
        assert distinct([Record("", 1, "f", "x", np.ones((2, 2)))], []) == []

    def test_no_trace_no_parting(self):
        assert parting([], [], []) is None


class TestTracer:
    def records(self, source, *args):
        loaded = Loaded(source)
        program = Program((Call("f", args, argument_names=("x",)),), trace=True)
        return read_trace(loaded(program)[0].notes)

    def test_assignments_and_returns_with_their_lines(self):
        records = self.records(
            "def f(x):\n    y = x + 1\n    y *= 2\n    return y - 1\n", np.ones(2)
        )
        told = [(r.line, r.name, r.values.tolist()) for r in records]
        assert told == [(2, "y", [2, 2]), (3, "y", [4, 4]), (4, "", [3, 3])]

    def test_helpers_too_and_nothing_of_libraries(self):
        source = """
            import numpy as np
            def g(z):
                return z * 2
            def f(x):
                return g(np.tile(x, 2))
            """
        assert [r.function for r in self.records(source, np.ones(2))] == ["g", "f"]

    def test_loops_are_bounded(self):
        source = "def f(x):\n    for i in range(10_000):\n        x = x + 1\n    return x\n"
        records = self.records(source, np.zeros(2))
        assert 0 < len(records) <= MAX_RECORDS

    def test_large_arrays_are_left_out(self):
        source = (
            f"import numpy as np\ndef f(x):\n    y = np.ones({MAX_NUMBERS + 1})\n    return x\n"
        )
        assert [r.name for r in self.records(source, np.zeros(2))] == [""]

    def test_an_exception_leaves_what_was_made(self):
        records = self.records("def f(x):\n    y = x + 1\n    return y[5]\n", np.zeros(2))
        assert [r.name for r in records] == ["y"]

    def test_a_subclass_cannot_say_what_it_is(self):
        source = """
            import numpy as np
            class Liar(np.ndarray):
                size = property(lambda self: 1 / 0)
                def tobytes(self, *args):
                    raise SystemExit
            def f(x):
                y = (x + 1).view(Liar)
                return 1
            """
        assert [r.values.tolist() for r in self.records(source, np.zeros(2))] == [[1, 1]]

    def test_nothing_is_traced_unless_asked(self):
        loaded = Loaded("def f(x):\n    return x + 1\n")
        program = Program((Call("f", (np.ones(2),), argument_names=("x",)),))
        assert "trace" not in loaded(program)[0].notes


class TestHostile:
    """Code that plays with what watches it: no more than its own trace is lost."""

    def test_tracing_switched_off(self):
        source = "import sys\ndef f(x):\n    y = x + 1\n    sys.settrace(None)\n    return y\n"
        records = TestTracer().records(source, np.zeros(2))
        assert len(records) <= 1

    def test_the_worker_s_own_functions_replaced(self):
        source = """
            import sys
            def f(x):
                ours = sys.modules["autograder.observe.tracing"]
                kept, ours._Frame.follow = ours._Frame.follow, None
                try:
                    return x + 1
                finally:
                    ours._Frame.follow = kept
            """
        TestTracer().records(source, np.zeros(2))  # nothing is raised here

    def test_a_tracer_that_was_there_comes_back(self):
        import sys

        def own(frame, event, argument):
            return None

        before = sys.gettrace()
        sys.settrace(own)
        try:
            TestTracer().records("def f(x):\n    return x\n", np.zeros(2))
            assert sys.gettrace() is own
        finally:
            sys.settrace(before)
