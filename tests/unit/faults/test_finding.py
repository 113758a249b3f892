"""The search after the judging: what it says, what it costs, and what it leaves as it was."""

import shutil
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest

from autograder.evaluation import evaluate
from autograder.faults import finding
from autograder.faults.alike import without_own_names
from autograder.faults.by_hand import input_words
from autograder.faults.finding import Finder, explained_live
from autograder.faults.small_inputs import is_fair, small_inputs
from autograder.judge import judge_case
from autograder.observe.inprocess import observe
from autograder.observe.session import Stopped
from autograder.pack import load_pack
from autograder.selfcheck import load_key
from autograder.student import check_folder
from tests.unit.test_evaluation import Fake, submitted

COURSE = Path(__file__).parents[3]
PS1 = "ps1_numpy_attention"

IMPORT = "import numpy as np"
RIGHT = """
def softmax(scores):
    e = np.exp(scores - scores.max(axis=0))
    return e / e.sum(axis=0)
"""
OVER_QUERIES = """
def softmax(scores):
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
"""
POWERS = RIGHT.replace("np.exp(", "2.0 ** (")
RAISES = "def softmax(scores):\n    return numpy.exp(scores)"


class Sessions(Fake):
    """Those of the other tests, with whatever limits."""

    def __call__(self, **own):
        return super().__call__()


@cache
def drawn():
    pack = load_pack(COURSE, PS1)
    return pack, {spec.name: spec for spec in pack.draw_all("finding")}


def graded(source, *, finder=True, sessions=None, name="softmax", others=()):
    pack, specs = drawn()
    chosen = [specs[other] for other in (*others, name)]
    cells = submitted(IMPORT, source)
    made = Finder(pack) if finder is True else finder
    return evaluate(cells, chosen, sessions or Sessions(), finder=made or None)[-1]


def test_an_unnamed_mistake_gets_its_small_case():
    result = graded(POWERS)
    assert not result.misconceptions
    assert result.remark.input == "scores = [[0], [1]]"
    assert result.remark.got == "[[0.3333], [0.6667]]"
    assert "  Smallest case: For scores = [[0], [1]], expected" in result.feedback


def test_a_named_one_gets_the_case_and_no_place():
    result = graded(OVER_QUERIES)
    assert result.misconceptions == ("over_queries",)
    assert result.remark.size == 2
    assert result.remark.line is None
    assert not result.remark.cluster


def test_a_named_one_that_no_small_input_shows_costs_no_session(monkeypatch):
    monkeypatch.setattr(Finder, "_searched", lambda *asked: None)  # of the misconception's own code
    with_it, without = Sessions(), Sessions()
    result = graded(OVER_QUERIES, sessions=with_it)
    assert result.misconceptions == ("over_queries",) and not result.remark
    graded(OVER_QUERIES, sessions=without, finder=False)
    assert with_it.counts == without.counts


def test_it_changes_nothing_of_the_judging():
    for source in (RIGHT, OVER_QUERIES, POWERS, RAISES):
        with_it, without = graded(source), graded(source, finder=False)
        plain = msgspec.structs.replace(with_it, remark=msgspec.UNSET, feedback=without.feedback)
        assert plain == without


def test_nothing_is_run_when_everything_passes():
    counts = []
    for finder in (True, False):
        sessions = Sessions()
        assert graded(RIGHT, finder=finder, sessions=sessions).outcome == "passed"
        counts.append(sessions.counts)
    assert counts[0] == counts[1]


def test_an_error_that_no_number_shows_is_left_alone():
    result = graded(RAISES)
    assert result.outcome == "error"
    assert not result.remark


def test_what_calls_a_wrong_part_waits():
    source = POWERS + (
        "def self_attention(X, W_q, W_k, W_v):\n"
        "    weights = softmax((W_k @ X).T @ (W_q @ X) / len(W_k) ** 0.5)\n"
        "    return W_v @ X @ weights, weights\n"
    )
    result = graded(source, name="self_attention", others=["softmax"])
    assert result.outcome == "failed"
    assert not result.remark


@pytest.mark.parametrize("fault", [
    Stopped("crashed", "gone"), Stopped("infrastructure", "ours"), RuntimeError("a bug"),
])  # fmt: skip
def test_a_session_that_fails_leaves_the_result(fault):
    # the first session judges, the second is the search's
    for kind in ("open_2", "load_2"):
        result = graded(POWERS, sessions=Sessions(**{kind: fault}))
        assert result.outcome == "failed"
        assert not result.remark


def test_a_bug_of_ours_leaves_the_result(monkeypatch):
    def broken(*args):
        raise ZeroDivisionError

    monkeypatch.setattr(finding, "small_inputs", broken)
    assert not graded(POWERS).remark
    monkeypatch.setattr(Finder, "remark", broken)
    assert graded(POWERS).outcome == "failed"


def test_no_time_no_remark():
    assert not graded(POWERS, finder=Finder(drawn()[0], seconds=0.0)).remark


def test_live_objects_of_a_notebook():
    _, specs = drawn()
    spec = specs["softmax"]
    small = load_key(COURSE / "assignments" / PS1).small("softmax")
    namespace = {"softmax": lambda scores: scores / scores.sum()}
    result = graded(POWERS, finder=False)
    found = explained_live(spec, result, small, lambda program: observe(namespace, program))
    assert found.remark.size <= 2
    assert "Smallest case" in found.feedback


class TestKey:
    """The small inputs that are released: fair, public, and the same as in grading."""

    def test_they_are_those_of_the_pack(self):
        pack, _ = drawn()
        key = load_key(COURSE / "assignments" / PS1)
        spec = pack.draw("softmax", "selfcheck", public_only=True)
        ours = [case for case in small_inputs(pack, spec) if is_fair(pack, spec, case)]
        stored = key.small("softmax")
        assert [input_words(c.program) for c in ours] == [input_words(c.program) for c in stored]
        for one, other in zip(ours, stored, strict=True):
            wanted, got = one.expected[-1].value, other.expected[-1].value
            assert (wanted.dtype, wanted.shape) == (got.dtype, got.shape)
            assert np.allclose(wanted.data, got.data)

    @pytest.mark.parametrize("assignment", [PS1])
    def test_right_code_passes_on_all_of_them(self, assignment):
        pack, _ = drawn()
        key = load_key(COURSE / "assignments" / assignment)
        for spec in key.specs:
            reference = pack.exercises[spec.name].reference
            for case in key.small(spec.name):
                observed = pack.observe(spec.name, reference, case.program)
                assert judge_case(spec, case, observed) is None

    def test_an_exercise_without_any(self):
        assert load_key(COURSE / "assignments" / PS1).small("score_variance") == ()


ATTENTION = """
def self_attention(X, W_q, W_k, W_v):
    {q}, {k}, {v} = W_q @ X, W_k @ X, W_v @ X
    scores = {scores}
    scaled = scores / np.sqrt({q}.shape[0])
    {w} = {weights}
    output = {output}
    return output, {w}
"""
STEPS = {
    "scores": "{k}.T @ {q}",
    "weights": "np.exp(scaled - scaled.max(0)) / np.exp(scaled - scaled.max(0)).sum(0)",
    "output": "{v} @ {w}",
}
NAMES = [dict(zip("qkvw", names, strict=True)) for names in ("QKVA", "qkvw", "abcd")]
PLANTED = [
    ({"output": "{v} @ {w}.T"}, 8),
    ({"output": "{k} @ {w}"}, 7),
    ({"scores": "({k} * {k}).T @ {q}"}, 5),
    ({"weights": "1 / (1 + np.exp(-scaled))"}, 4),
]


def test_mistakes_that_are_alike_are_put_together():
    """A class of 24 with four planted mistakes without a name, their variables called anyhow."""
    pack, specs = drawn()
    spec = specs["self_attention"]
    cases = tuple(replace(case, explanations={}, pairs={}) for case in spec.cases)
    bare = replace(spec, mistakes=(), cases=cases, needs=())
    finder = Finder(pack)
    groups = {}
    for kind, (change, count) in enumerate(PLANTED):
        for number in range(count):
            names = NAMES[number % len(NAMES)]
            steps = {name: text.format(**names) for name, text in {**STEPS, **change}.items()}
            cells = submitted(IMPORT, ATTENTION.format(**steps, **names))
            (result,) = evaluate(cells, [bare], Sessions(), finder=finder)
            assert result.outcome == "failed"
            assert result.remark.cluster
            groups.setdefault(result.remark.cluster, []).append(kind)
    assert sum(map(len, groups.values())) == 24
    pure = sum(max(Counter(kinds).values()) for kinds in groups.values())
    assert pure == 24
    assert sorted(map(len, groups.values())) == [4, 5, 7, 8]


@pytest.mark.parametrize(("name", "key", "common"), [
    ("e", "e → weights in the output", "a → weights in the output"),
    ("w_2", "w_2 + w_2.T → x in the weights", "a + a.T → x in the weights"),
    ("axis", "np.sum(x, axis) → axis.T", "np.sum(x, a) → a.T"),
    ("T", "K.T → K in the scores", "K.T → K in the scores"),
])  # fmt: skip
def test_a_group_has_no_names_of_one_student(name, key, common):
    cells = submitted(f"def softmax(x):\n    {name} = x\n    return {name}")
    assert without_own_names(key, cells, "softmax") == common


def test_the_self_check_of_a_folder_and_its_flag(tmp_path):
    """Stored small inputs in a plain process; the flag leaves the search out."""
    for path in (COURSE / "assignments" / PS1).iterdir():
        if path.suffix in (".safetensors", ".py"):
            shutil.copy(path, tmp_path)
    work = tmp_path / f"{PS1}.py"
    work.write_text(f"{IMPORT}\n{POWERS}", encoding="utf-8")
    found = check_folder(tmp_path, ["softmax"]).result("softmax")
    assert found.remark.size <= 2
    plain = check_folder(tmp_path, ["softmax"], explain=False).result("softmax")
    assert not plain.remark
    assert "Smallest case" in found.feedback
    assert "Smallest case" not in plain.feedback
    assert (found.outcome, found.score, found.checks) == (plain.outcome, plain.score, plain.checks)
