"""A composition whose parts are not right, observed again with parts that are."""

import functools
import textwrap
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autograder.evaluation import evaluate
from autograder.observe.protocol import Array
from autograder.observe.session import Question, Refused, Stopped
from autograder.pack import load_pack
from autograder.references import ALL_SECONDS, MAX_CALLS, Desk, references_of
from autograder.stubs import student_code
from tests.unit.test_evaluation import Fake, submitted

REPOSITORY = Path(__file__).parents[2]
COMPOSED = "self_attention"


@functools.cache
def drawn(seed="following"):
    """(the pack of ps1, its composition and what it needs, drawn)."""
    pack = load_pack(REPOSITORY, "ps1_numpy_attention")
    names = (*pack.exercises[COMPOSED].needs, COMPOSED)
    return pack, tuple(pack.draw(name, seed) for name in names)


def code_of(name, function=None):
    """A reference of ps1, or one of its misconceptions, as a student would have it."""
    return student_code(drawn()[0].sources[name], function or name, name)


def graded(code, sessions=None, parts=None, **changed):
    """name → result; `changed` stands in the place of a reference, None for nothing at all.

    parts: those that are graded too, by default those that are changed.
    """
    pack, specs = drawn()
    cells = {spec.name: code_of(spec.name) for spec in specs} | changed
    lines = ["import numpy as np", "import math", *filter(None, cells.values()), code]
    judged = [spec for spec in specs if spec.name in {COMPOSED, *(parts or changed)}]
    found = evaluate(submitted(*lines), judged, sessions or Fake(), references_of(pack))
    return {result.name: result for result in found}


def composed(code="", **more):
    """The result of the composition."""
    return graded(code, **more)[COMPOSED]


PARTS = drawn()[0].exercises[COMPOSED].needs
OF_PARTS = [
    (part, known.name) for part in PARTS for known in drawn()[0].exercises[part].misconceptions
]
OWN = [known.name for known in drawn()[0].exercises[COMPOSED].misconceptions]
# A change in place harms nobody who uses the result; and two mistakes that undo each other.
HARMLESS = {("scale_scores", "in_place"), ("softmax", "in_place")}
CANCEL = {("transposed_weights", "attends_transposed"), ("transposed", "roles_swapped")}


class TestOneSlipIsNotPaidTwice:
    @pytest.mark.parametrize(("part", "mistake"), OF_PARTS)
    def test_right_given_a_right_part(self, part, mistake):
        found = graded("", **{part: code_of(part, mistake)})
        result = found[COMPOSED]
        assert found[part].outcome != "passed"
        assert (result.outcome, result.score) == ("passed", result.max_score)
        assert result.followed_through is ((part, mistake) not in HARMLESS)
        assert result.misconceptions == ()
        assert {check.outcome for check in result.checks} == {"passed"}
        if result.followed_through:
            assert f"`{part}` cannot be relied on yet" in result.feedback

    @pytest.mark.parametrize(
        ("part", "mistake", "own"),
        # steps of 5 through the mistakes of the parts: each part with each kind of its own
        [(*OF_PARTS[5 * number % len(OF_PARTS)], own) for number, own in enumerate(OWN)],
    )
    def test_both_causes_are_named(self, part, mistake, own):
        if (mistake, own) in CANCEL:
            return  # the two undo each other, and the result is right
        wrong = {part: code_of(part, mistake), COMPOSED: code_of(COMPOSED, own)}
        found = graded("", **wrong)
        assert found[COMPOSED].misconceptions == (own,)
        assert not found[COMPOSED].followed_through
        assert found[part].misconceptions == (mistake,)
        share = drawn()[0].exercises[COMPOSED].misconceptions[OWN.index(own)].credit
        assert found[COMPOSED].score >= share * found[COMPOSED].max_score

    def test_the_words(self):
        wrong = code_of("softmax", "not_normalised")
        assert composed(softmax=wrong).feedback == (
            f"self_attention: right in {len(drawn()[1][-1].cases)} cases.\n"
            "  Your own `softmax` cannot be relied on yet, so its calls were answered with right "
            "results: it costs its own points, and none here."
        )
        result = composed(softmax=wrong, self_attention=code_of(COMPOSED, "not_scaled"))
        assert "Likely cause: Leaves out the scale." in result.feedback
        assert result.feedback.endswith(
            "\n  This remains when calls of `softmax` are answered with right results: yours "
            "needs a repair of its own."
        )
        both = composed(softmax=wrong, project=code_of("project", OF_PARTS[0][1]))
        assert "`project` and `softmax` cannot be relied on yet, so their calls" in both.feedback

    @pytest.mark.parametrize(
        "softmax",
        [
            None,
            "def softmax(scores):\n    raise NotImplementedError()",
            "def softmax(scores):\n    return 1 / 0",
            "def softmax(scores):\n    return softmax_rows(scores)",
            "def softmax(scores:\n    return",
            "softmax = 3",
            "from scipy.special import softmax",
            "import scipy.special\ndef softmax(s):\n    return scipy.special.softmax(s, axis=0)",
        ],
    )
    def test_a_part_that_is_not_there_or_not_allowed(self, softmax):
        found = graded("", softmax=softmax)
        assert found["softmax"].outcome != "passed"
        assert found[COMPOSED].followed_through, found[COMPOSED].feedback

    def test_a_part_that_ends_the_process(self):
        def sessions(**limits):
            made = Fake()()
            run = made.run

            def dying(program, answer=None):
                if answer is None and "self_attention" in made.namespace:
                    raise Stopped("crashed", "Your code crashed.")
                return run(program, answer)

            made.run = dying
            return made

        found = graded("", sessions=sessions, parts=["softmax"])
        assert found["softmax"].outcome == "crashed"
        assert found[COMPOSED].followed_through

    def test_a_whole_notebook_that_is_needed(self):
        """What the slice leaves out is executed in the second pass too."""
        table = "names = {}\nfor name in ('W_q', 'W_k', 'W_v'):\n    names[name] = name"
        body = """
        def self_attention(X, W_q, W_k, W_v):
            given = dict(W_q=W_q, W_k=W_k, W_v=W_v)
            Q, K, V = (project(given[names[n]], X) for n in ("W_q", "W_k", "W_v"))
            weights = softmax(scale_scores(attention_scores(Q, K), len(Q)))
            return attend(V, weights), weights
        """
        wrong = {"softmax": code_of("softmax", "not_normalised"), COMPOSED: None}
        assert composed(f"{table}\n{textwrap.dedent(body)}", **wrong).followed_through

    def test_costs_nothing_where_all_is_right(self):
        sessions = Fake()
        assert composed(sessions=sessions, parts=PARTS).outcome == "passed"
        assert sessions.counts["open"] == 1

    def test_and_nothing_but_a_session_where_the_part_is_not_called(self):
        alone = """
        def self_attention(X, W_q, W_k, W_v):
            return 0 * X, 0 * (X.T @ X)
        """
        sessions = Fake()
        wrong = {"softmax": code_of("softmax", "not_normalised"), COMPOSED: None}
        found = composed(textwrap.dedent(alone), sessions=sessions, **wrong)
        assert found.outcome == "failed"
        assert "It may call `softmax`, not right yet" in found.feedback
        assert sessions.counts["open"] == 2

    def test_without_references_the_hint_stays(self):
        _, specs = drawn()
        specs = specs[-3:]
        code = [code_of(name) for name in (*PARTS, COMPOSED) if name != "softmax"]
        wrong = code_of("softmax", "not_normalised")
        cells = submitted("import numpy as np", *code, wrong)
        result = evaluate(cells, specs, Fake())[-1]
        assert (result.outcome, result.followed_through) == ("failed", False)
        assert "It may call `softmax`, not right yet: repair that first" in result.feedback


CALLS = """
import functools
import numpy as np


class Helper:
    def __init__(self):
        self.own = softmax

    def softmax(self, scores):
        return softmax(scores)


def helper(scores):
    return softmax(scores)


{more}


def self_attention(X, W_q, W_k, W_v):
    Q, K, V = project(W_q, X), project(W_k, X), project(W_v, X)
    scores = scale_scores(attention_scores(Q, K), Q.shape[0])
    weights = {call}
    return attend(V, weights), weights
"""


class TestWaysToCall:
    """Whatever a student calls it by: followed through, or no harm done."""

    @pytest.mark.parametrize(
        "call",
        [
            "softmax(scores=scores)",
            "softmax(s=scores)",
            "softmax(*[scores])",
            "softmax(**{'scores': scores})",
            "helper(scores)",
            "Helper().softmax(scores)",
            "Helper().own(scores)",
            "globals()['softmax'](scores)",
            "functools.partial(softmax, scores)()",
            "(lambda scores: softmax(scores))(scores)",
            "np.stack([softmax(column[:, None])[:, 0] for column in scores.T], axis=1)",
            "softmax(scores.tolist())",
        ],
    )
    def test_followed(self, call):
        # what takes lists is up to the student's own; ours takes what its docstring says
        code = CALLS.format(call=call, more="")
        wrong = {"softmax": "def softmax(s):\n    return s / s.sum()", COMPOSED: None}
        result = composed(code, **wrong)
        assert result.followed_through is ("tolist" not in call)

    @pytest.mark.parametrize(
        ("more", "call"),
        [
            ("sm = softmax", "sm(scores)"),
            ("sm = functools.partial(softmax)", "sm(scores)"),
            ("def f(scores, own=softmax):\n    return own(scores)", "f(scores)"),
            ("def other(s):\n    return s / s.sum()", "other(scores)"),
            ("", "softmax(scores, axis=0)"),
            ("", "softmax(scores, scores)"),
            ("", "softmax()"),
            ("", "softmax(np.random.default_rng(0))"),
            ("", "softmax({'$': 'probe', 'source': 'x = 1', 'name': 'x', 'call': None})"),
            ("", "softmax(lambda: 1)"),
        ],
    )
    def test_no_harm(self, more, call):
        wrong = {"softmax": "def softmax(s):\n    return s / s.sum()", COMPOSED: None}
        found = graded(CALLS.format(call=call, more=more), parts=PARTS, **wrong)
        assert found[COMPOSED].outcome in ("failed", "error")
        assert not found[COMPOSED].followed_through
        assert "It may call `softmax`, not right yet" in found[COMPOSED].feedback
        right = ("project", "attention_scores", "scale_scores", "attend")
        assert {found[name].outcome for name in right} == {"passed"}

    def test_no_harm_where_their_own_is_right(self):
        code = CALLS.format(more="sm = softmax", call="sm(scores)")
        result = composed(code, self_attention=None)
        assert (result.outcome, result.followed_through) == ("passed", False)


# --- a chain of parts, and what stands between ---------------------------------------------

CHAIN = {
    "__init__": 'PACKAGES = ("numpy",)',
    "double": """
        @exercise(points=1, order=1)
        def double(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
            return 2 * x
        @double.case("three", separates=["same"])
        def three(rng): return {"x": rng.normal(size=3)}
        @double.misconception("Leaves it.", hint="Twice?")
        def same(x): return x.copy()
    """,
    "fourfold": """
        @exercise(points=1, order=2, needs=["double"])
        def fourfold(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
            return double(double(x))
        @fourfold.case("three", separates=["once"])
        def three(rng): return {"x": rng.normal(size=3)}
        @fourfold.misconception("Once.", hint="How often?", credit=0.5)
        def once(x): return 2 * x
    """,
    "eightfold": """
        @exercise(points=1, order=3, needs=["fourfold"])
        def eightfold(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
            return fourfold(x) + fourfold(x)
        @eightfold.case("three", separates=["once"])
        def three(rng): return {"x": rng.normal(size=3)}
        @eightfold.misconception("Once.", hint="How often?")
        def once(x): return 4 * x
    """,
}
HEAD = "import numpy as np\nfrom jaxtyping import Float\nfrom autograder import exercise\n"


def load_course(folder, files, head=HEAD):
    where = folder / "solutions" / "ps0_chain"
    where.mkdir(parents=True)
    for name, text in files.items():
        text = text if name == "__init__" else head + textwrap.dedent(text)
        (where / f"{name}.py").write_text(text, "utf-8")
    return load_pack(folder, "ps0_chain")


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    return load_course(tmp_path_factory.mktemp("course"), CHAIN)


class TestChain:
    @pytest.fixture
    def pack(self, chain):
        return chain

    def results(self, pack, *cells):
        specs = pack.draw_all("seed")
        found = evaluate(submitted(*cells), specs, Fake(), references_of(pack))
        return [(result.outcome, result.followed_through) for result in found]

    def test_a_part_that_is_right_but_for_its_own_part(self, pack):
        cells = (
            "def double(x):\n    return x",
            "def fourfold(x):\n    return double(double(x))",
            "def eightfold(x):\n    return fourfold(x) + fourfold(x)",
        )
        assert self.results(pack, *cells) == [("failed", False), ("passed", True), ("passed", True)]

    def test_a_reference_brings_what_it_needs(self, pack):
        """`fourfold` is answered; the student's own `double` is right, and stays their own."""
        cells = ("double", "def eightfold(x):\n    return fourfold(x) + double(double(x))")
        found = self.results(pack, *cells)
        assert found == [("passed", False), ("missing", False), ("passed", True)]

    def test_a_mistake_without_a_name_leaves_the_first_result(self, pack):
        cells = ("def double(x):\n    return x", "def fourfold(x):\n    return double(x) + 1")
        specs = pack.draw_all("seed")[:2]
        plain = evaluate(submitted(*cells), specs, Fake())
        assert evaluate(submitted(*cells), specs, Fake(), references_of(pack)) == plain

    def test_credit_is_never_less_than_before(self, pack):
        cells = ("def double(x):\n    return x", "def fourfold(x):\n    return double(x)")
        result = evaluate(submitted(*cells), pack.draw_all("s")[:2], Fake(), references_of(pack))[1]
        assert (result.outcome, result.misconceptions, result.score) == ("failed", ("once",), 0.5)

    def test_a_part_that_we_could_not_grade_is_left_to_the_student(self, pack):
        ours = Stopped("infrastructure", "Ours.")
        sessions = Fake(run_1=ours, run_2=ours)
        cells = submitted("double", "def fourfold(x):\n    return double(x)")
        found = evaluate(cells, pack.draw_all("s")[:2], sessions, references_of(pack))
        assert [result.outcome for result in found] == ["infrastructure", "failed"]
        assert sessions.counts["open"] == 3


# --- the desk ------------------------------------------------------------------------------


class TestDesk:
    @pytest.fixture
    def case(self):
        return drawn()[1][-1].cases[0]

    @pytest.fixture
    def desk(self):
        pack, _ = drawn()
        made = Desk(references_of(pack), ["softmax", "project"], {"softmax": ("s",)}, Fake())
        yield made
        made.close()

    @staticmethod
    def question(*args, name="softmax", **kwargs):
        return Question(name, args, kwargs)

    @staticmethod
    def array(*shape):
        return Array("float64", shape, np.ones(shape))

    def test_answers_with_the_reference(self, desk, case):
        found = desk.answers(case)(self.question(self.array(2, 3)))
        assert found.data.tolist() == [[0.5] * 3] * 2
        assert desk.asked == {"softmax"}

    def test_nobody_else_is_answered(self, desk, case):
        for name in ("attend", "self_attention", "open", "np", "__builtins__", ""):
            with pytest.raises(Refused, match="is not answered here"):
                desk.answers(case)(self.question(self.array(2, 3), name=name))
        assert desk.refused
        assert not desk.asked

    def test_so_many_calls_and_no_more(self, desk, case):
        answer = desk.answers(case)
        for _ in range(MAX_CALLS):
            answer(self.question(self.array(1, 1)))
        with pytest.raises(Refused, match="64 calls of other exercises are answered in a case"):
            answer(self.question(self.array(1, 1)))
        desk.answers(case)(self.question(self.array(1, 1)))  # of the next case

    def test_arguments_are_no_larger_than_the_case_has(self, desk, case):
        desk.answers(case)(self.question(self.array(64, 64)))
        with pytest.raises(Refused, match="so much larger than the case"):
            desk.answers(case)(self.question(self.array(1000, 1000)))
        with pytest.raises(Refused, match="so much larger than the case"):
            desk.answers(case)(self.question([[self.array(40, 40)] * 10]))
        with pytest.raises(Refused, match="so much larger than the case"):
            desk.answers(case)(self.question(10**9))
        with pytest.raises(Refused, match="so much larger than the case"):
            desk.answers(case)(self.question("x" * 10**5))

    @pytest.mark.parametrize(
        "item",
        [
            {"$": "probe", "source": "raise SystemExit", "name": "x", "call": None},
            {"$": "slot", "name": "x", "item": None},
            {"a": 1.0},
            Array("float64", (10**6, 10**6), None),
            b"bytes",
        ],
    )
    def test_what_is_no_argument(self, desk, case, item):
        for where in (item, [item], [[item]]):
            with pytest.raises(Refused, match="softmax is not answered for a"):
                desk.answers(case)(self.question(where))
            with pytest.raises(Refused, match="softmax is not answered for a"):
                desk.answers(case)(self.question(scores=where))
        assert not desk.asked

    def test_an_exception_of_the_reference(self, desk, case):
        with pytest.raises(Refused, match=r"^softmax raised AttributeError: "):
            desk.answers(case)(self.question(1.0))
        assert not desk.failed

    def test_gradients_where_there_are_none(self, desk, case):
        with pytest.raises(Refused, match="softmax raised Missing"):
            desk.answers(case)(Question("softmax", [self.array(2, 2)], {}, [self.array(2, 2)]))

    @pytest.mark.parametrize("where", ["open", "load", "run"])
    def test_a_fault_of_the_process_is_not_the_students(self, where, case):
        pack, _ = drawn()
        for fault in (Stopped("out_of_memory", "."), RuntimeError("x"), 3):
            if (where, fault) == ("open", 3):
                continue
            desk = Desk(references_of(pack), ["softmax"], {}, Fake(**{where: fault}))
            for _ in range(2):
                with pytest.raises(Refused, match="softmax could not be answered"):
                    desk.answers(case)(self.question(self.array(2, 2)))
            assert desk.failed

    def test_a_clock_of_its_own(self, case):
        pack, _ = drawn()
        desk = Desk(references_of(pack), ["softmax"], {}, Fake(), spent=ALL_SECONDS)
        with pytest.raises(Refused, match="could not be answered"):
            desk.answers(case)(self.question(self.array(2, 2)))
        assert desk.failed

    def test_what_the_process_holds(self, case):
        """Nothing but the parts, what they need, and imports: no case, no check, no seed."""
        pack, _ = drawn()
        sessions = Fake()
        desk = Desk(references_of(pack), ["softmax"], {}, sessions)
        desk.answers(case)(self.question(self.array(2, 2)))
        (sources,) = sessions.sources
        text = "\n".join(sources)
        assert "def softmax(scores):" in text
        for word in ("project", "misconception", "rng", "case", "autograder", "jaxtyping"):
            assert word not in text

    def test_a_class_is_not_answered(self):
        torch_like = replace_class(drawn()[0])
        assert "softmax" not in references_of(torch_like)
        assert "project" in references_of(torch_like)


def replace_class(pack):
    """The pack, with a class in the place of one of its functions."""
    softmax = replace(pack.exercises["softmax"], reference=type("softmax", (), {}))
    return replace(pack, exercises={**pack.exercises, "softmax": softmax})


def test_a_fault_of_the_references_leaves_the_first_result():
    pack, specs = drawn()
    cells = [code_of(spec.name) for spec in specs if spec.name != "softmax"]
    cells = submitted("import numpy as np", *cells, code_of("softmax", "not_normalised"))
    specs = specs[-3:]
    plain = evaluate(cells, specs, Fake())
    for fault in (Stopped("crashed", "."), Stopped("infrastructure", "."), MemoryError()):
        # the first session is the submission's, the second that of the second pass
        sessions = Fake(open_3=fault)
        assert evaluate(cells, specs, sessions, references_of(pack)) == plain
        assert sessions.counts["open"] == 3
