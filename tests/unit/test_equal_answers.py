"""What equal answers are given: the result that they had before, and nothing else has it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder import observing
from autograder.equal_answers import EqualAnswers, Judged
from autograder.evaluation import evaluate
from autograder.judge import infrastructure, judge
from autograder.observe import protocol, worker
from autograder.observe.inprocess import observe
from autograder.observe.session import Stopped
from autograder.program import Call, Program
from autograder.specification import Case, ExerciseSpec
from tests.unit.test_evaluation import Fake, FakeSession, submitted

X = np.array([1.0, 2.0, 3.0])


def double(points=2.0):
    """A fresh exercise: what is remembered of another is not its own."""
    cases = []
    for number, argument in enumerate((X, -X), 1):
        program = Program((Call("double", (argument,), {}, ("x",)),))
        expected = observe({"double": lambda x: 2 * x}, program)
        cases.append(Case(f"case_{number}", f"case {number}", program, expected))
    return ExerciseSpec(name="double", points=points, cases=tuple(cases))


class Sessions(Fake):
    """Whose replies come as bytes. garbled: the number of a reply that is nonsense."""

    def __init__(self, garbled=None, **faults):
        super().__init__(**faults)
        self.garbled = garbled

    def __call__(self):
        super().__call__()
        return BytesSession(self)


class BytesSession(FakeSession):
    def reply_to(self, program):
        outcomes = self.run(program)
        if self.owner.counts["run"] == self.owner.garbled:
            return b"\xff\xff"
        return protocol.encode(outcomes)

    def read(self, reply):
        try:
            return protocol.decode(reply)
        except protocol.ProtocolError:
            raise Stopped("crashed", "nonsense") from None


@pytest.fixture
def judgements(monkeypatch):
    """The exercises that were really judged."""
    seen = []

    def counted(spec, observations, *, with_pairs):
        seen.append(spec.name)
        return judge(spec, observations, with_pairs=with_pairs)

    monkeypatch.setattr(observing, "judge", counted)
    return seen


def graded(spec, *cells, sessions=None):
    (result,) = evaluate(submitted(*cells), [spec], sessions or Sessions())
    return result


TWICE = "def double(x):\n    return x + x"
WRONG = "def double(x):\n    return 3 * x"


class TestAClass:
    def test_equal_answers_are_judged_once(self, judgements):
        spec = double()
        first, second = graded(spec, "double"), graded(spec, TWICE)
        assert first == second
        assert first.outcome == "passed"
        assert judgements == ["double"]

    def test_each_is_run(self):
        spec, sessions = double(), Sessions()
        for _ in range(3):
            graded(spec, "double", sessions=sessions)
        assert sessions.counts["run"] == 6

    def test_wrong_ones_too(self, judgements):
        spec = double()
        assert graded(spec, WRONG) == graded(spec, WRONG)
        assert graded(spec, WRONG).outcome == "failed"
        # what fails is run once more with all cells in order, which is judged as the first was
        assert judgements == ["double"]

    def test_another_answer_is_judged_for_itself(self, judgements):
        spec = double()
        assert graded(spec, "double").outcome == "passed"
        assert graded(spec, WRONG).outcome == "failed"
        nearly = "def double(x):\n    return 2 * x if x[0] > 0 else 2 * x + 1e-3"
        assert graded(spec, nearly).outcome == "failed"
        assert len(judgements) == 3

    def test_another_run_knows_nothing_of_it(self, judgements):
        graded(double(), "double")
        graded(double(), "double")
        assert len(judgements) == 2

    def test_exceptions_keep_their_own_lines(self):
        spec = double()
        first = graded(spec, "def double(x):\n    return x.nonsense")
        second = graded(spec, "def double(x):\n\n    return x.nonsense")
        assert "line 2" in first.feedback
        assert "line 3" in second.feedback


class TestWhatIsNotRemembered:
    def test_a_session_that_ended(self, judgements):
        spec = double()
        loops = Stopped("timed_out", "too slow")
        assert graded(spec, "double", sessions=Sessions(run_2=loops)).outcome == "timed_out"
        assert graded(spec, "double").outcome == "passed"
        assert graded(spec, "double", sessions=Sessions(run_2=loops)).outcome == "timed_out"

    @pytest.mark.parametrize("number", [1, 2])
    def test_a_reply_that_cannot_be_read(self, number):
        spec = double()
        for _ in range(2):
            found = graded(spec, "double", sessions=Sessions(garbled=number))
            assert found.outcome == "crashed"
        assert len(spec.equal_answers) == 0
        assert graded(spec, "double").outcome == "passed"

    def test_a_fault_of_ours(self, monkeypatch):
        spec = double()

        def broken(spec, observations, *, with_pairs):
            raise ZeroDivisionError

        with monkeypatch.context() as patch:
            patch.setattr(observing, "judge", broken)
            assert graded(spec, "double").outcome == "infrastructure"
        assert graded(spec, "double").outcome == "passed"


class TestEqualAnswers:
    RESULT = Judged(infrastructure(double(), "ours"), None)

    @given(st.lists(st.binary(max_size=9), max_size=4), st.lists(st.binary(max_size=9), max_size=4))
    def test_only_equal_replies_are_equal(self, replies, others):
        known = EqualAnswers()
        key, _ = known.get(replies)
        assert (known.get(others)[0] == key) == (replies == others)

    def test_the_least_asked_for_is_forgotten(self):
        known = EqualAnswers(most=2)
        spec = double()
        judged = Judged(judge(spec, {c.name: c.expected for c in spec.cases}), None)
        keys = {}
        for reply in (b"a", b"b"):
            keys[reply], _ = known.get([reply])
            known.keep(keys[reply], judged)
        assert known.get([b"a"])[1] is judged  # asked for again, so it stays
        known.keep(known.get([b"c"])[0], judged)
        assert len(known) == 2
        assert known.get([b"a"])[1] is judged
        assert known.get([b"b"])[1] is None

    @given(st.integers(-3, 3), st.integers(-3, 3))
    def test_the_results_are_those_of_the_judge(self, factor, offset):
        spec = double()
        code = f"def double(x):\n    return {factor} * x + {offset}"
        first, again = graded(spec, code), graded(spec, code)
        namespace = {}
        exec(code, namespace)
        observed = {c.name: observe(namespace, c.program) for c in spec.cases}
        assert first == again
        assert (first.outcome == "passed") == (judge(spec, observed).outcome == "passed")


def test_the_worker_s_replies_are_equal_for_equal_results():
    spec = double()
    replies = [
        protocol.encode(worker.run(spec.cases[0].wire, {"double": function}))
        for function in (lambda x: 2 * x, lambda x: x + x)
    ]
    assert replies[0] == replies[1]
