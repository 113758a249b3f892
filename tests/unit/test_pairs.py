"""Two misconceptions in one: merging their trees, and naming both."""

import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from autograder.diagnose import diagnose
from autograder.judge import judge, judge_case
from autograder.pack import load_pack
from autograder.pairs import Merger, pairs_of

REFERENCE = """
def f(x, d):
    top = x.max(axis=0, keepdims=True)
    e = np.exp((x - top) / np.sqrt(d))
    return e / e.sum(axis=0, keepdims=True)
"""


def merger(*definitions, **names):
    source = "\n\n".join(textwrap.dedent(code) for code in definitions)
    namespace = {"np": np, **names}
    exec(source, namespace)
    return Merger(source, "f", namespace)


def merged(reference, one, other, *helpers):
    """The first implementation that has both mistakes."""
    made = merger(reference, one.replace("def f", "def one"), other.replace("def f", "def two"),
                  *helpers).implementations("one", "two")  # fmt: skip
    return made[0] if made else None


X = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, 4.0]])


class TestMerging:
    @pytest.mark.parametrize(
        ("one", "other", "both"),
        [
            # changes in different places
            ("def f(x, d):\n e = np.exp(x - x.max(axis=0))\n return e / e.sum(axis=0)",
             "def f(x, d):\n e = np.exp((x - x.max(axis=0)) / np.sqrt(d))\n return e",
             lambda x, d: np.exp(x - x.max(axis=0))),
            # in another style: one expression, other names, a library function
            ("def f(x, d):\n s = np.divide(x - np.max(x, axis=0), d)\n"
             " return np.exp(s) / np.exp(s).sum(axis=0)",
             "def f(scores, width):\n s = (scores - scores.max(axis=0)) / width ** 0.5\n"
             " return np.exp(s) / np.sum(np.exp(s))",
             lambda x, d: np.exp((x - x.max(0)) / d) / np.exp((x - x.max(0)) / d).sum()),
            # one wraps what the other changes inside
            ("def f(x, d):\n e = np.exp((x - x.max(axis=0)) / np.sqrt(d))\n"
             " return (e / e.sum(axis=0)).T",
             "def f(x, d):\n e = np.exp((x - x.max(axis=0)) / d)\n return e / e.sum(axis=0)",
             lambda x, d: (np.exp((x - x.max(0)) / d) / np.exp((x - x.max(0)) / d).sum(0)).T),
        ],
    )  # fmt: skip
    def test_both_mistakes(self, one, other, both):
        found = merged(REFERENCE, one, other)
        np.testing.assert_allclose(found(X, 3), both(X, 3))

    def test_what_contradicts_each_other_has_no_pair(self):
        one = "def f(x, d):\n return x * d"
        other = "def f(x, d):\n return x - d"
        assert merged("def f(x, d):\n return x / d", one, other) is None

    def test_the_same_mistake_twice_is_none(self):
        one = "def f(x, d):\n return x * d"
        assert merged("def f(x, d):\n return x / d", one, one) is None

    def test_an_argument_changed_in_place_stays_changed(self):
        one = (
            "def f(x, d):\n x -= x.max(axis=0)\n e = np.exp(x / np.sqrt(d))\n"
            " return e / e.sum(axis=0)"
        )
        other = "def f(x, d):\n e = np.exp((x - x.max(axis=0)) / d)\n return e / e.sum(axis=0)"
        found = merged(REFERENCE, one, other)
        given = X.copy()
        made = found(given, 3)
        np.testing.assert_array_equal(given, X - X.max(axis=0))
        e = np.exp((X - X.max(axis=0)) / 3)
        np.testing.assert_allclose(made, e / e.sum(axis=0))

    def test_conditions_and_errors(self):
        reference = (
            "def f(x, d=None):\n if x.ndim != 2:\n  raise ValueError('two axes')\n"
            " if d is not None:\n  x = x / d\n return x.sum(axis=0)"
        )
        one = reference.replace("axis=0", "axis=1")
        other = reference.replace("x / d", "x * d")
        found = merged(reference, one, other)
        np.testing.assert_allclose(found(X), X.sum(axis=1))
        np.testing.assert_allclose(found(X, 3), (X * 3).sum(axis=1))
        with pytest.raises(ValueError, match="two axes"):
            found(X[0])

    def test_only_the_branch_that_is_taken_is_computed(self):
        reference = (
            "def f(x, d):\n y = x[d] if d else x\n z = x[d].sum() if d else 0\n return y + z + 1"
        )
        found = merged(
            reference, reference.replace("+ 1", "+ 2"), reference.replace("x[d].sum", "x[d].max")
        )
        np.testing.assert_allclose(found(X, 0), X + 2)
        np.testing.assert_allclose(found(X, 1), X[1] + X[1].max() + 2)

    def test_random_numbers_are_drawn_once_for_each_time_they_are_written(self):
        reference = (
            "def f(n, rng):\n a = rng.normal(size=n)\n b = rng.normal(size=n)\n"
            " c = a * b\n return c.mean(), c.std()"
        )
        found = merged(
            reference,
            reference.replace("c.mean()", "c.sum()"),
            reference.replace("c.std()", "c.var()"),
        )
        a, b = np.random.default_rng(0).normal(size=(2, 5))
        np.testing.assert_allclose(
            found(5, np.random.default_rng(0)), ((a * b).sum(), (a * b).var())
        )

    def test_helpers_are_followed(self):
        helper = "def parts(x, d):\n scaled = x / d\n return scaled, scaled.sum(axis=0)"
        reference = "def f(x, d):\n s = x / d\n return s / s.sum(axis=0)"
        one = "def f(x, d):\n s, total = parts(x, d)\n return s * total"
        other = "def f(x, d):\n s = x * d\n return s / s.sum(axis=0)"
        found = merged(reference, one, other, helper)
        np.testing.assert_allclose(found(X, 3), (X * 3) * (X * 3).sum(axis=0))

    def test_a_misconception_may_call_the_reference(self):
        reference = "def f(x, d):\n out = []\n for row in x:\n  out.append(row / d)\n return out"
        one = "def f(x, d):\n return [row + 1 for row in f(x, d)]"
        found = merger(reference, one.replace("def f", "def one")).alone("one")
        np.testing.assert_allclose(found(X, 2), X / 2 + 1)

    def test_loops_stay_loops(self):
        reference = (
            "def f(x, d):\n out = np.zeros(len(x))\n for i in range(len(x)):\n"
            "  out[i] = x[i].sum()\n return out / d"
        )
        one = reference.replace("range(len(x))", "range(len(x) - 1)")
        other = reference.replace("out / d", "out * d")
        np.testing.assert_allclose(merged(reference, one, other)(X, 3), [X[0].sum() * 3, 0])

    def test_classes_by_their_methods(self):
        reference = """
            class f:
                def __init__(self, d):
                    super().__init__()
                    self.d = d
                    self.scale = d ** -0.5

                def forward(self, x):
                    return self.scale * x.sum(axis=0)
        """
        found = merger(
            reference,
            reference.replace("class f", "class one").replace("** -0.5", "** -1"),
            reference.replace("class f", "class two").replace("axis=0", "axis=1"),
        ).implementations("one", "two")[0]
        assert found.__name__ == "f"
        np.testing.assert_allclose(found(4).forward(X), X.sum(axis=1) / 4)

    def test_subclasses_of_the_reference(self):
        reference = """
            class f:
                def scale(self, x):
                    return x / 2

                def forward(self, x):
                    return self.scale(x).sum(axis=0)
        """
        one = "class one(f):\n def scale(self, x):\n  return x * 2"
        two = "class two(f):\n def forward(self, x):\n  return self.scale(x).sum(axis=1)"
        found = merger(reference, one, two).implementations("one", "two")[0]
        np.testing.assert_allclose(found().forward(X), (2 * X).sum(axis=1))

    @pytest.mark.parametrize(
        "odd",
        [
            "def f(*args):\n return args[0]",
            "def f(x, d):\n if (n := len(x)) > 1:\n  return n\n return d",
            "def f(x, d):\n yield x",
            "def f(x, d):\n async def g():\n  pass\n return g",
            "def f(x, d):\n global y\n y = x\n return y",
            "def f(x, d):\n try:\n  return x / d\n except ZeroDivisionError:\n  return x",
            "def f(x, d):\n while d > 1:\n  d -= 1\n return x",
            "def f(x, d):\n pass",
            "def f(x, d):\n del d\n return x",
            "def f(x, d):\n x.T[0] = 1\n y = x.T\n y += 1\n return y",
            "f = 3",
        ],
    )  # fmt: skip
    def test_odd_code_never_raises(self, odd):
        one = "def one(x, d):\n return x * d"
        source = f"{odd}\n\n{one}\n\n{odd.replace('def f', 'def two')}"
        Merger(source, "f", {"np": np}).implementations("one", "two")

    def test_names_that_are_nowhere_defined(self):
        assert merger(REFERENCE).implementations("one", "two") == ()

    def test_in_threads_each_merge_is_made_once(self):
        one = REFERENCE.replace("def f", "def one").replace("np.sqrt(d)", "d")
        two = REFERENCE.replace("def f", "def two").replace("e / e.sum", "e * e.sum")
        made = merger(REFERENCE, one, two)
        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda _: made.implementations("one", "two"), range(16)))
        assert found[0]
        assert all(one is found[0] for one in found)


def test_pairs_of_common_misconceptions_come_first():
    assert pairs_of(["a", "b", "c"]) == (("a", "b"), ("a", "c"), ("b", "c"))
    many = pairs_of([str(number) for number in range(60)])
    assert len(many) == 60 * 59 // 2
    assert {name for pair in many[:300] for name in pair} == {str(n) for n in range(25)}


FILE = '''
"""Weights."""
import numpy as np
from jaxtyping import Float
from autograder import exercise

@exercise(points=4)
def f(x: Float[np.ndarray, "n m"], d: int) -> Float[np.ndarray, "n m"]:
    e = np.exp((x - x.max(axis=0)) / np.sqrt(d))
    return e / e.sum(axis=0)

@f.case("one", separates=["by_d", "over_m", "unshifted", "raising"])
def one(rng):
    return {"x": rng.normal(size=(3, 4)), "d": 5}

@f.case("two", separates=["by_d", "over_m", "raising"])
def two(rng):
    return {"x": rng.normal(size=(4, 2)), "d": 3}

@f.case("large", kind="robustness", hidden=True)
def large(rng):
    return {"x": 3000 * rng.normal(size=(4, 3)), "d": 2}

@f.misconception("Divides by d.", hint="What is under the root?", credit=0.5)
def by_d(x, d):
    e = np.exp((x - x.max(axis=0)) / d)
    return e / e.sum(axis=0)

@f.misconception("Normalises over m.", hint="Which axis?", credit=0.25)
def over_m(x, d):
    e = np.exp((x - x.max(axis=0)) / np.sqrt(d))
    return e / e.sum(axis=1, keepdims=True)

@f.misconception("Does not shift.", hint="What overflows?", hidden=True)
def unshifted(x, d):
    e = np.exp(x / np.sqrt(d))
    return e / e.sum(axis=0)

@f.misconception("Raises.", hint="Why?")
def raising(x, d):
    raise KeyError("d")
'''


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course") / "solutions" / "ps0"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text('"""A set."""\n', "utf-8")
    (folder / "f.py").write_text(FILE, "utf-8")
    return load_pack(folder.parents[1], "ps0")


def result_of(pack, attempt, **options):
    spec = pack.draw("f", "pairs", **options)
    seen = {case.name: pack.observe("f", attempt, case.program) for case in spec.cases}
    return judge(spec, seen), spec, seen


def by_d_over_m(x, d):
    x = x / d
    e = np.exp(x - x.max(0))
    return e / e.sum(1)[:, None]


class TestNaming:
    def test_two_together(self, pack):
        result, _, _ = result_of(pack, by_d_over_m)
        assert result.misconceptions == ("by_d", "over_m")
        assert result.score == 0.0  # the credit of one is not earned by two
        assert result.feedback.split("\n")[-3:] == [
            "  Likely causes: Divides by d; and normalises over m. Your results equal those of "
            "these mistakes together.",
            "  Next: What is under the root?",
            "  Then: Which axis?",
        ]

    def test_one_alone_is_one(self, pack):
        def attempt(x, d):
            return np.exp((x - x.max(0)) / d) / np.exp((x - x.max(0)) / d).sum(0)

        result, _, _ = result_of(pack, attempt)
        assert result.misconceptions == ("by_d",)
        assert result.score == 2.0

    def test_every_case_has_to_match(self, pack):
        def attempt(x, d):
            made = by_d_over_m(x, d)
            return made if d > 2 else made * 1.01

        result, spec, seen = result_of(pack, attempt)
        assert result.misconceptions == ()
        failing = [c.name for c in spec.cases if judge_case(spec, c, seen[c.name]) is not None]
        assert diagnose(spec, seen, failing).names == ()

    def test_an_exact_pair_comes_before_one_that_explains_most(self, pack):
        def attempt(x, d):  # over_m in the ordinary cases, and overflowing in the large one
            e = np.exp(x / np.sqrt(d))
            return e / e.sum(axis=1, keepdims=True)

        assert result_of(pack, attempt)[0].misconceptions == ("over_m", "unshifted")

    def test_a_hidden_one_is_kept_back_where_hidden_ones_are(self, pack):
        def attempt(x, d):
            e = np.exp(x / d)
            return e / e.sum(axis=0)

        assert result_of(pack, attempt)[0].misconceptions == ("by_d", "unshifted")
        _, spec, _ = result_of(pack, attempt, public_only=True)
        assert all("unshifted" not in pair for case in spec.cases for pair in case.pairs)

    def test_right_code_and_unknown_mistakes_have_none(self, pack):
        assert result_of(pack, pack.exercises["f"].reference)[0].outcome == "passed"
        assert result_of(pack, lambda x, d: x - d)[0].misconceptions == ()

    def test_nothing_is_merged_while_single_ones_explain(self, pack, monkeypatch):
        monkeypatch.setattr(type(pack), "merged", lambda *a: pytest.fail("not needed"))
        by_d = next(m for m in pack.exercises["f"].misconceptions if m.name == "by_d")
        assert result_of(pack, by_d.implementation)[0].misconceptions == ("by_d",)
        assert result_of(pack, pack.exercises["f"].reference)[0].outcome == "passed"

    def test_most_pairs_are_ruled_out_after_one_case(self, pack, monkeypatch):
        runs = []
        observe = type(pack).observe
        spec = pack.draw("f", "few")
        seen = {c.name: pack.observe("f", lambda x, d: x - d, c.program) for c in spec.cases}
        monkeypatch.setattr(type(pack), "observe", lambda *a: runs.append(a) or observe(*a))
        judge(spec, seen)
        first = len(runs)
        assert first <= len(spec.mistakes) * 3 + len(spec.cases[0].pairs)
        judge(spec, seen)
        assert len(runs) == first  # and none is run again for the next student


def test_the_normal_form_of_one_definition_gives_the_same():
    made = merger(REFERENCE)
    np.testing.assert_allclose(made.alone("f")(X, 3), made.namespace["f"](X, 3))
    assert made.alone("nowhere") is None
