"""Repair search in the sandbox: planted faults, silence, bounds, hostile variants."""

import re
import sys
import textwrap
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from autograder.faults.agreement import agree
from autograder.faults.failure import Clock, Failure
from autograder.faults.search import find_repairs
from autograder.faults.trials import MAX_DEATHS, GivenUp, Trials, patched, quick
from autograder.grading import DEFAULT_LIMITS
from autograder.judge import judge, judge_case, missing
from autograder.observe.session import Stopped
from autograder.observing import Pass
from autograder.pack import load_pack
from autograder.parsing import Cell, parse
from autograder.submission import Submission

COURSE = Path(__file__).parents[3]
PS1 = "ps1_numpy_attention"
PARTS = """
def project(W, X):
    return W @ X

def attention_scores(Q, K):
    return K.T @ Q

def scale_scores(scores, d_k):
    return scores / np.sqrt(d_k)

def softmax(scores):
    e = np.exp(scores - scores.max(axis=0, keepdims=True))
    return e / e.sum(axis=0, keepdims=True)

def attend(V, weights):
    return V @ weights
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")


@cache
def drawn(name, seed="repairs"):
    return load_pack(COURSE, PS1).draw(name, seed)


@pytest.fixture(scope="module")
def pool():
    from autograder.observe.pool import ZygotePool

    with ZygotePool("numpy") as pool:
        yield pool


def submitted(source):
    """A module with right parts and the source after them."""
    whole = "import math\nimport numpy as np\n" + PARTS + textwrap.dedent(source)
    cells = (Cell("work.py", whole),)
    statements, broken = parse(cells, "module")
    assert not broken
    return Submission(Path("work.py"), "module", "", cells, tuple(statements))


@pytest.fixture
def failing(pool):
    """Makes a Failure of a source."""

    def make(name, source, seconds=60.0, **more):
        spec = drawn(name)
        return Failure(
            submission=submitted(source),
            spec=spec,
            result=missing(spec),
            right=frozenset(load_pack(COURSE, PS1).exercises) - {name},
            small=(),
            open_session=lambda **own: pool.session(replace(DEFAULT_LIMITS, **own)),
            clock=Clock(seconds),
            fresh=lambda: drawn(name, "afresh"),
            **more,
        )

    return make


PLANTED = {
    "another axis": (
        "softmax",
        """
        def softmax(scores):
            e = np.exp(scores - scores.max(axis=0))
            return e / e.sum(axis=1, keepdims=True)  # here
        """,
    ),
    "the same axis in two places": (
        "softmax",
        """
        def softmax(scores):
            m = scores.max(axis=1, keepdims=True)  # here
            e = np.exp(scores - m)
            return e / e.sum(axis=1, keepdims=True)  # here
        """,
    ),
    "one maximum for all": (
        "softmax",
        """
        def softmax(scores):
            e = np.exp(scores - np.max(scores))  # here
            return e / e.sum(axis=0)
        """,
    ),
    "operands swapped": ("project", "def project(W, X): return X @ W  # here"),
    "a transpose too many": ("attend", "def attend(V, weights): return V @ weights.T  # here"),
    "no root": ("scale_scores", "def scale_scores(scores, d_k): return scores / d_k  # here"),
    "in place": (
        "scale_scores",
        """
        def scale_scores(scores, d_k):
            scores /= np.sqrt(d_k)  # here
            return scores
        """,
    ),
    "the wrong name": (
        "self_attention",
        """
        def self_attention(X, W_q, W_k, W_v):
            Q = project(W_q, X)
            K = project(W_k, X)
            V = project(W_k, X)  # here
            A = softmax(scale_scores(attention_scores(Q, K), Q.shape[0]))
            return attend(V, A), A
        """,
    ),
    "a step left out": (
        "self_attention",
        """
        def self_attention(X, W_q, W_k, W_v):
            Q, K, V = project(W_q, X), project(W_k, X), project(W_v, X)
            A = softmax(attention_scores(Q, K))  # here
            return attend(V, A), A
        """,
    ),
    "two slips": (
        "attention_scores",
        """
        def attention_scores(Q, K):
            n_k, n_q = K.shape[0], Q.shape[0]  # here
            S = np.zeros((n_k, n_q))
            for i in range(n_k):
                for j in range(n_q):
                    S[i, j] = K[:, i] @ Q[:, j]
            return S
        """,
    ),
    "in a helper of its own": (
        "softmax",
        """
        def normalised(e):
            return e / e.sum(axis=1)  # here
        def softmax(scores):
            return normalised(np.exp(scores - scores.max(axis=0)))
        """,
    ),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_fault_is_repaired_and_placed(failing, planted):
    name, source = PLANTED[planted]
    failure = failing(name, source)
    repairs = find_repairs(failure)
    place = agree(repairs, failure)
    assert repairs.found, repairs
    assert "# here" in place.source
    whole = failure.submission.cells[0].source.split("\n")
    assert whole[place.line - 1].strip() == place.source
    assert place.cell == "work.py"
    assert place.question.endswith("?") and place.key
    # what repairs is right in cases that the search has not seen
    again = Pass(patched(failure.submission, repairs.found[0].variant), failure.open_session)
    assert again.run([drawn(name, "never seen")])[name].outcome == "passed"


def test_the_question_gives_nothing_away(failing):
    for name, source in PLANTED.values():
        failure = failing(name, source)
        place = agree(find_repairs(failure), failure)
        code = {part.strip() for part in re.findall(r"`([^`]*)`", place.edit)}
        assert place.question
        assert not any(len(part) > 2 and part in place.question for part in code)


def test_those_who_call_their_variables_otherwise_have_the_same_key(failing):
    name, source = PLANTED["the same axis in two places"]
    keys = set()
    for e, m in [("e", "m"), ("ex_2", "biggest"), ("exponentials", "top")]:
        renamed = re.sub(r"\be\b", e, re.sub(r"\bm\b", m, source))
        failure = failing(name, renamed)
        keys.add(agree(find_repairs(failure), failure).key)
    assert keys == {"axis=1 → axis=0 in the weights"}


SILENT = {
    "repaired in either of two steps": (
        "self_attention",
        """
        def self_attention(X, W_q, W_k, W_v):
            Q, K = project(W_k, X), project(W_q, X)
            V = project(W_v, X)
            S = attention_scores(Q, K)
            A = softmax(scale_scores(S, Q.shape[0]))
            return attend(V, A), A
        """,
    ),
    "nothing to start from": ("softmax", "def softmax(scores): return np.zeros((3, 2))"),
    "a constant": ("softmax", "def softmax(scores): return 1.0"),
    "a stub": ("softmax", "def softmax(scores): raise NotImplementedError"),
    "not there": ("softmax", "softmax = 3"),
    "another function": ("attend", "def attend(V, weights): return np.linalg.svd(V)[0]"),
}


@pytest.mark.parametrize("silent", SILENT)
def test_silence_when_unsure(failing, silent):
    failure = failing(*SILENT[silent])
    assert agree(find_repairs(failure), failure) is None


def test_right_code_has_no_remark(failing):
    for name in ("softmax", "self_attention", "attend"):
        source = "def softmax(s):\n    e = np.exp(s - s.max(0))\n    return e / e.sum(0)"
        if name != "softmax":
            source = """
            def self_attention(X, W_q, W_k, W_v):
                Q, K, V = W_q @ X, W_k @ X, W_v @ X
                A = softmax(K.T @ Q / np.sqrt(len(Q)))
                return V @ A, A
            """
        failure = failing(name, source)
        repairs = find_repairs(failure)
        assert not repairs.found and agree(repairs, failure) is None


def test_parts_that_are_right_are_left_alone(failing):
    """A softmax over rows would repair it too, were it not another exercise."""
    failure = failing(
        "self_attention",
        """
        def self_attention(X, W_q, W_k, W_v):
            Q, K, V = project(W_q, X), project(W_k, X), project(W_v, X)
            S = scale_scores(attention_scores(Q, K), len(Q))
            A = softmax(S.T).T
            return attend(V, A), A
        """,
    )
    repairs = find_repairs(failure)
    changed = {position for repair in repairs.found for position, _ in repair.edits}
    names = {failure.submission.statements[position].node.name for position in changed}
    assert names == {"self_attention"}


# --- bounds ------------------------------------------------------------------------------


LOOPING = """
def softmax(scores):
    total, n = 0, 0
    while n < 1:
        n = n + 1
        total = total + np.exp(scores).sum(axis=1)
    return np.exp(scores) / total
"""


def test_the_time_is_kept_whatever_loops(failing):
    """Half of the edits of this loop make it endless."""
    failure = failing("softmax", LOOPING, seconds=1.0)
    find_repairs(failure)
    assert failure.clock.left >= 0
    # every request has at most what was left; one more child may be opened for it
    assert failure.clock.seconds - failure.clock.left <= 1.0
    failure.clock.add(1.0)
    assert find_repairs(failing("softmax", LOOPING, seconds=0.0)).reason == "no time"


def test_a_search_without_time_finds_nothing(failing):
    name, source = PLANTED["another axis"]
    failure = failing(name, source, seconds=0.0)
    repairs = find_repairs(failure)
    assert (repairs.found, repairs.tried) == ([], 0)


HOSTILE = [
    "import os; os._exit(3)",
    "import sys; sys.exit()",
    "import ctypes; ctypes.string_at(0)",
    "bytearray(1 << 40)",
    "print('x' * 50_000_000)",
    "import os; os.write(4, b'rubbish' * 1000)",
    "import os; os.closerange(0, 30)",
    "raise KeyboardInterrupt",
    "import autograder.observe.worker as w; w.run = None",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_variant_that_dies_costs_itself_only(failing, hostile):
    failure = failing("softmax", "def softmax(scores):\n    return scores")
    spec = failure.spec
    trials = Trials(failure.submission, spec, failure.open_session, failure.clock)
    position = trials.positions[-1]
    bad = {position: f"def softmax(scores):\n    {hostile}\n    return scores"}
    good = {position: PARTS[PARTS.index("def softmax") : PARTS.index("def attend")]}
    try:
        outcomes = list(trials.try_all([good, bad, good], spec.cases[0]))
    finally:
        trials.close()
    last = outcomes[2].observed
    assert last is not None and judge_case(spec, spec.cases[0], last) is None
    assert outcomes[0].observed is not None
    worst = outcomes[1].observed
    assert worst is None or judge_case(spec, spec.cases[0], worst) is not None


def test_what_kills_every_child_ends_the_search(failing):
    source = "def softmax(scores):\n    import os\n    os._exit(1)\n    return scores + 1"
    failure = failing("softmax", source)
    repairs = find_repairs(failure)
    assert repairs.reason == "no time" and not repairs.found


def test_only_so_many_children_die(failing):
    failure = failing("softmax", "def softmax(scores):\n    return scores")
    trials = Trials(failure.submission, failure.spec, failure.open_session, failure.clock)
    bad = {trials.positions[-1]: "def softmax(scores):\n    import os; os._exit(1)"}
    with pytest.raises(GivenUp):
        for _ in range(MAX_DEATHS + 2):
            list(trials.try_all([bad], failure.spec.cases[0]))
    trials.close()


def test_no_child_is_no_fault_of_anybody(failing):
    def none(**own):
        raise Stopped("infrastructure", "no child can be made")

    name, source = PLANTED["another axis"]
    failure = replace(failing(name, source), open_session=none)
    assert find_repairs(failure).reason == "no time"


def test_the_expected_values_stay_on_this_side(failing):
    """What is sent holds the arguments of a case and none of its results."""
    from autograder.observe import protocol

    sent = []
    failure = failing(*PLANTED["another axis"])
    opened = failure.open_session

    def spying(**own):
        session = opened(**own)
        plain = session.try_each

        def try_each(request):
            sent.append(protocol.encode(request))
            return plain(request)

        session.try_each = try_each
        return session

    find_repairs(replace(failure, open_session=spying))
    assert len(sent) > 3
    for spec in (failure.spec, failure.fresh()):
        for case in spec.cases:
            for step in case.expected:
                data = getattr(step.value, "data", None)
                if data is not None and data.size > 1:
                    assert not any(data.tobytes() in body for body in sent)


def test_the_result_of_a_search_judges_nothing(failing):
    """The observations of the submission itself are as they were before the search."""
    failure = failing(*PLANTED["another axis"])
    find_repairs(failure)
    observed = Pass(failure.submission, failure.open_session).run([failure.spec])
    assert observed["softmax"].outcome == "failed"


def test_a_quick_case_is_the_case_without_watching():
    spec = drawn("self_attention")
    for case in spec.cases:
        made = quick(case)
        assert made.case.name == case.name
        assert len(made.case.program.steps) <= len(case.program.steps)
        assert not any(getattr(step, "watch", ()) for step in made.case.program.steps)


def test_judged_whole_in_the_end(failing):
    """What is right in its values and changes its argument is no repair."""
    source = """
    def scale_scores(scores, d_k):
        scores *= np.sqrt(d_k)
        return scores
    """
    failure = failing("scale_scores", source)
    for repair in find_repairs(failure).found:
        again = Pass(patched(failure.submission, repair.variant), failure.open_session)
        assert again.run([failure.spec])["scale_scores"].outcome == "passed"
    assert judge(failure.spec, {}).outcome == "infrastructure"
