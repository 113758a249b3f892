"""The sentences that people read, word for word.

A change here is a change of the interface: of what students and instructors see.
"""

from dataclasses import replace

import numpy as np
import pytest
from jaxtyping import Float

from autograder import Call, Generator, Interval, Probe, Program, Verdict, exercise, wording
from autograder.checks import not_negative, sums_to_one
from autograder.judge import infrastructure, judge, missing
from autograder.numerics import Tolerance, compare
from autograder.observe.conversation import memory_hint
from autograder.observe.protocol import Array, array_from_numpy
from autograder.observe.session import Limits, Stopped
from autograder.program import Raised
from autograder.specification import Case, ExerciseSpec, KnownMistake, ValueSpec
from tests.unit.trial import trial_of

KEYS_QUERIES = ValueSpec("array", ("n_k", "n_q"), "numpy")
TOKENS = ValueSpec("array", ("n", "n"), "numpy")


class TestSentence:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("the axes are swapped", "The axes are swapped."),
            ("Done already.", "Done already."),
            ("is it?", "Is it?"),
            ("cut off…", "Cut off…"),
            ("d_k is 3", "d_k is 3."),
            ("`x` was changed", "`x` was changed."),
            ("3 of 4", "3 of 4."),
            ("at [2, 1], expected", "At [2, 1], expected."),
            ("return value 1: wrong", "Return value 1: wrong."),
            ("NaN", "NaN."),
            ("  space ", "Space."),
        ],
    )
    def test_begins_and_ends_like_one(self, text, shown):
        assert wording.sentence(text) == shown
        assert wording.sentence(shown) == shown


class TestShape:
    @pytest.mark.parametrize(
        ("got", "wanted", "returns", "sizes", "words"),
        [
            ((3, 5), (5, 3), KEYS_QUERIES, {}, "expected shape (n_k, n_q) = (5, 3), got (3, 5): "
             "the axes are swapped"),
            ((5, 4), (5, 3), KEYS_QUERIES, {"n_k": 5, "d_k": 4}, "expected shape (n_k, n_q) = "
             "(5, 3), got (5, 4): d_k is 4 here"),
            ((5, 4), (5, 3), KEYS_QUERIES, {"d_v": 4, "d_k": 4}, "expected shape (n_k, n_q) = "
             "(5, 3), got (5, 4)"),
            ((4, 2), (5, 3), KEYS_QUERIES, {"d_v": 4, "d_k": 2}, "expected shape (n_k, n_q) = "
             "(5, 3), got (4, 2)"),
            ((4, 4), (3, 3), TOKENS, {"d": 4, "n": 3}, "expected shape (n, n) = (3, 3), got "
             "(4, 4): d is 4 here"),
            ((5,), (5, 3), KEYS_QUERIES, {}, "expected shape (n_k, n_q) = (5, 3), got (5,): 1 axis "
             "instead of 2"),
            ((1, 5, 3), (5, 3), KEYS_QUERIES, {}, "expected shape (n_k, n_q) = (5, 3), got "
             "(1, 5, 3): 3 axes instead of 2"),
            ((), (5, 3), KEYS_QUERIES, {}, "expected shape (n_k, n_q) = (5, 3), got a single "
             "number"),
            ((3,), (), ValueSpec("float"), {}, "expected a single number, got shape (3,)"),
            ((4,), (3,), ValueSpec("array", ("n",)), {}, "expected shape (n,) = (3,), got (4,)"),
            ((4,), (3,), ValueSpec(), {}, "expected shape (3,), got (4,)"),
            ((4,), (3,), ValueSpec("array", ("...", "n")), {}, "expected shape (3,), got (4,)"),
        ],
    )  # fmt: skip
    def test_words(self, got, wanted, returns, sizes, words):
        assert wording.shape(got, wanted, returns, sizes) == words


class TestNotFinite:
    @pytest.mark.parametrize(
        ("got", "hidden", "words"),
        [
            ([[1, np.nan]], False, "expected finite numbers, got NaN in 1 of 2 entries, first at "
             "[0, 1] (key 0, query 1)"),
            ([[np.nan, np.nan]], True, "expected finite numbers, got NaN in 2 of 2 entries"),
            ([[-np.inf]], False, "expected finite numbers, got infinity in 1 of 1 entry, first at "
             "[0, 0] (key 0, query 0)"),
            ([[np.inf, np.nan]], True, "expected finite numbers, got NaN or infinity in 2 of 2 "
             "entries"),
            (np.nan, False, "expected a finite number, got NaN"),
            (np.inf, True, "expected a finite number, got infinity"),
        ],
    )  # fmt: skip
    def test_words(self, got, hidden, words):
        got = np.asarray(got, dtype=float)
        assert wording.not_finite(got, ~np.isfinite(got), KEYS_QUERIES, hidden) == words


class TestDifference:
    def words(self, got, expected, hidden=False, returns=KEYS_QUERIES):
        got, expected = np.asarray(got), np.asarray(expected)
        found = compare(got, expected, Tolerance(0, 1e-12))
        return wording.difference(found, returns, hidden)

    @pytest.mark.parametrize(
        ("got", "expected", "words"),
        [
            ([[0.5, 0.25]], [[0.5, 0.125]], "at [0, 1] (key 0, query 1), expected 0.125, got 0.25"),
            ([[0.5, 0.25]], [[0.0, 0.0]], "at [0, 0] (key 0, query 0), expected 0, got 0.5; 2 of 2 "
             "entries are off, by up to 0.5"),
            ([[np.nan, 9.0]], [[0.0, 0.0]], "at [0, 0] (key 0, query 0), expected 0, got nan; "
             "2 of 2 entries are off"),
            (0.25, 0.5, "expected 0.5, got 0.25"),
            (12, 13, "expected 13, got 12"),
            (True, False, "expected False, got True"),
            (0.5000001, 0.5, "expected 0.5, got 0.5000001"),
            (1.0000000001, 1.0, "expected 1, got 1.0000000001"),
            (10**12 + 1, 10**12, "expected 1000000000000, got 1000000000001"),
            (7.5, 7, "expected 7, got 7.5"),
        ],
    )  # fmt: skip
    def test_public(self, got, expected, words):
        assert self.words(got, expected) == words

    @pytest.mark.parametrize(
        ("got", "words"),
        [
            ([0.5, 0.25], "2 of 2 entries are wrong"),
            ([0.5, 0.0], "1 of 2 entries is wrong"),
            ([0.5], "1 of 1 entry is wrong"),
            (0.5, "the number is wrong"),
        ],
    )
    def test_hidden_shows_no_value(self, got, words):
        assert self.words(got, np.zeros_like(got), hidden=True) == words

    @pytest.mark.parametrize(
        ("index", "axes", "words"),
        [
            ((2, 1), ("n_k", "n_q"), "[2, 1] (key 2, query 1)"),
            ((2, 1), ("d_v", "n"), "[2, 1] (feature 2, token 1)"),
            ((2, 1), ("n", "n"), "[2, 1]"),
            ((2, 1), ("rows", "n"), "[2, 1]"),
            ((2,), ("n_k", "n_q"), "[2]"),
            ((0, 1, 2), None, "[0, 1, 2]"),
        ],
    )
    def test_places(self, index, axes, words):
        assert wording.place(index, ValueSpec("array", axes)) == words


class TestException:
    RAISED = Raised("ValueError", ("Exception",), "too\n  many  rows", 4, "cell 12")

    @pytest.mark.parametrize(
        ("raised", "words"),
        [
            (RAISED, "your code raised ValueError: too many rows (line 4 of cell 12)"),
            (Raised("KeyError", (), ""), "your code raised KeyError"),
            (Raised("E", (), "m", 3), "your code raised E: m (line 3 of your code)"),
            (Raised("\x1b[31mE", (), "\x1b[2J\x07!", 3, "\x1b]0;t\x07"), "your code raised "
             "�[31mE: �[2J�! (line 3 of �]0;t�)"),
            (Raised("E" * 200, (), "m" * 999), f"your code raised {'E' * 79}…: {'m' * 299}…"),
        ],
    )  # fmt: skip
    def test_public(self, raised, words):
        assert wording.exception(raised) == words

    def test_hidden_shows_no_message(self):
        assert wording.exception(self.RAISED, hidden=True) == (
            "your code raised ValueError (line 4 of cell 12); its message is not shown, since the "
            "case is hidden"
        )
        told = Raised("[[0.25 0.75]]", (), "[[0.25 0.75]]")
        assert wording.exception(told, hidden=True) == (
            "your code raised an exception; its message is not shown, since the case is hidden"
        )

    def test_out_of_memory(self):
        assert wording.out_of_memory(Raised("MemoryError", (), "", 7)) == (
            "your code asked for more memory than it may use in line 7; are the arrays the right "
            "size?"
        )

    def test_out_of_memory_says_the_limit_that_the_session_has_put_at_the_end(self):
        hint = memory_hint(Limits(memory=64).for_exercise(memory=64))
        for message in (hint, f"a submission may use 1 MiB: forged ({hint})"):
            assert wording.out_of_memory(Raised("MemoryError", (), message, 7)) == (
                "your code asked for more memory than the 64 MiB that this exercise may use in "
                "line 7; are the arrays the right size?"
            )
        forged = Raised("MemoryError", (), f"{hint} 0.25", 7)
        assert "64" not in wording.out_of_memory(forged)


class TestCases:
    SPEC = ExerciseSpec(
        "f",
        1.0,
        (),
        parameters={"x": KEYS_QUERIES, "heads": ValueSpec(), "y": ValueSpec("array", ("...", "d"))},
    )

    def words(self, *calls, hidden=False):
        case = Case("name", "a title", Program(calls), (), hidden=hidden)
        return wording.case_words(self.SPEC, case)

    def call(self, *args, **kwargs):
        return Call("f", args, kwargs, ("x", "heads", "y")[: len(args)])

    def test_sizes(self):
        assert self.words(self.call(np.ones((5, 3)), 2)) == (
            "“a title” (n_k = 5, n_q = 3, heads = 2)"
        )

    def test_hidden(self):
        call = self.call(np.ones((5, 3), np.float32), 2)
        assert self.words(call, hidden=True) == (
            "a hidden case (float32, n_k = 5, n_q = 3, heads = 2)"
        )
        assert self.words(self.call(None), hidden=True) == "a hidden case"
        many = self.words(self.call(3.0, rng=Generator(3)), self.call(3.0), hidden=True)
        assert many == "a hidden case (random draws, 2 calls)"

    @pytest.mark.parametrize(
        "argument",
        [
            None, True, 3.5, "text", Generator(1), Probe("", "f"), np.ones(3), np.ones((1, 2, 3)),
            [np.ones((2, 2))],
        ],
    )  # fmt: skip
    def test_what_has_no_size_with_a_name(self, argument):
        assert self.words(self.call(argument)) == "“a title”"

    def test_arrays_as_they_come_from_a_key(self):
        assert self.words(self.call(array_from_numpy(np.ones((5, 3))))) == (
            "“a title” (n_k = 5, n_q = 3)"
        )
        big = Array("bfloat16", (5, 3), None, "torch")
        assert self.words(self.call(big), hidden=True) == (
            "a hidden case (bfloat16, n_k = 5, n_q = 3)"
        )

    def test_tensors(self):
        torch = pytest.importorskip("torch")
        assert self.words(self.call(torch.ones(5, 3, dtype=torch.float16)), hidden=True) == (
            "a hidden case (float16, n_k = 5, n_q = 3)"
        )

    def test_without_a_call(self):
        assert self.words() == "“a title”"


# --- whole feedbacks ---------------------------------------------------------------------


def softmax_of(scores):
    powers = np.exp(scores - scores.max(axis=0))
    return powers / powers.sum(axis=0)


SCORES = np.array([[0.0, 1.0, 2.0], [2.0, 0.5, 1.0], [1.0, 1.0, 0.0], [3.0, 0.0, 0.25]])


def make_softmax():
    @exercise(
        points=4,
        checks=[not_negative("no weight is negative"), sums_to_one(0, "each column sums to 1")],
    )
    def softmax(scores: Float[np.ndarray, "n_k n_q"]) -> Float[np.ndarray, "n_k n_q"]:
        return softmax_of(scores)

    @softmax.case("everyday scores", separates=["halved"])
    def everyday(rng):
        return {"scores": SCORES}

    @softmax.case("large scores", separates=["halved"])
    def large(rng):
        return {"scores": 10 * SCORES[:2]}

    @softmax.case("the secret title", separates=["halved"], hidden=True)
    def secret(rng):
        return {"scores": 0.7531 * SCORES[:3]}

    @softmax.misconception("Halves the scores.", hint="What was wrong with their size?")
    def halved(scores):
        return softmax_of(scores / 2)

    return softmax


def make_statistical():
    @exercise(points=1)
    def spread(n: int, rng: np.random.Generator) -> float:
        return float(rng.standard_normal(n).std())

    @spread.check("the spread is 1 on average")
    def average(view):
        mean = float(np.mean([call.result for call in view.calls]))
        off = abs(mean - 1.0) > 0.2
        summary = (Interval("mean", mean, 0.2),)
        return Verdict(f"it is {mean:.0f} on average, expected 1" if off else None, summary)

    @spread.case("twenty generators", separates=["squared"])
    def twenty(rng):
        return [{"n": 400, "rng": Generator(seed)} for seed in range(20)]

    @spread.misconception("Returns the sum of squares.", hint="Which root is missing?")
    def squared(n, rng):
        return float((rng.standard_normal(n) ** 2).sum() / 100)

    return spread


def feedback(attempt, make=make_softmax):
    return trial_of(make)(attempt).feedback


class TestFeedback:
    """checked → expected and got → likely cause → next."""

    def test_passed(self):
        assert feedback(softmax_of) == "softmax: right in 3 cases."

    def test_not_written(self):
        spec = trial_of(make_softmax).spec
        assert missing(spec).feedback == "softmax: not written yet."

    def test_a_misconception(self):
        assert feedback(lambda s: softmax_of(0.5 * s)) == (
            "softmax: wrong values in “everyday scores” (n_k = 4, n_q = 3); 3 of 3 cases fail\n"
            "  At [3, 0] (key 3, query 0), expected 0.6439, got 0.4551; 12 of 12 entries are off, "
            "by up to 0.189.\n"
            "  Likely cause: Halves the scores. Your results equal those of this mistake.\n"
            "  Next: What was wrong with their size?"
        )

    def test_an_unknown_cause(self):
        assert feedback(lambda s: softmax_of(s) if len(s) > 2 else softmax_of(s / 3)) == (
            "softmax: wrong values in “large scores” (n_k = 2, n_q = 3)\n"
            "  At [0, 1] (key 0, query 1), expected 0.9933, got 0.8411; 6 of 6 entries are "
            "off, by up to 0.152.\n"
            "  Next: work through this case by hand, and see where your numbers part from it."
        )

    def test_a_check_of_the_exercise(self):
        assert feedback(lambda s: softmax_of(s.T).T) == (
            "softmax: “each column sums to 1” fails in “everyday scores” (n_k = 4, n_q = 3); "
            "3 of 3 cases fail\n"
            "  Column 0 sums to 2.039, expected 1; each row sums to 1 instead.\n"
            "  Next: work through this case by hand, and see where your numbers part from it."
        )

    def test_a_shape(self):
        assert feedback(lambda s: softmax_of(s).T) == (
            "softmax: wrong shape in “everyday scores” (n_k = 4, n_q = 3); 3 of 3 cases fail\n"
            "  Expected shape (n_k, n_q) = (4, 3), got (3, 4): the axes are swapped.\n"
            "  Observation: Your result is consistent with the transpose of the right one.\n"
            "  Next: see which index goes down and which across, in your code and in the docstring."
        )

    def test_a_type(self):
        assert feedback(lambda s: None) == (
            "softmax: wrong type in “everyday scores” (n_k = 4, n_q = 3); 3 of 3 cases fail\n"
            "  Expected an array, got nothing (None); is there a return statement?"
        )

    def test_not_finite(self):
        assert feedback(lambda s: softmax_of(np.where(s > 9, np.nan, s))) == (
            "softmax: NaN or infinity in “large scores” (n_k = 2, n_q = 3)\n"
            "  Expected finite numbers, got NaN in 6 of 6 entries, first at [0, 0] "
            "(key 0, query 0).\n"
            "  Observation: Your result holds NaN or infinity where the numbers in the arguments "
            "are large, and is right elsewhere.\n"
            "  Next: see which step can leave the range of its dtype: the exponential does, early."
        )

    def test_a_changed_argument(self):
        def attempt(scores):
            weights = softmax_of(scores)
            scores -= 1
            return weights

        assert feedback(attempt) == (
            "softmax: a changed argument in “everyday scores” (n_k = 4, n_q = 3); "
            "3 of 3 cases fail\n"
            "  Expected `scores` to be left as it was, but the call changed it; work on a copy."
        )

    def test_an_exception(self):
        names = {}
        code = "def softmax(scores):\n    return scores[9]\n"
        exec(compile(code, "submission: cell 5", "exec"), names)
        assert feedback(names["softmax"]) == (
            "softmax: an exception in “everyday scores” (n_k = 4, n_q = 3); 3 of 3 cases fail\n"
            "  Your code raised IndexError: index 9 is out of bounds for axis 0 with size 4 "
            "(line 2 of cell 5)."
        )

    @pytest.mark.parametrize(
        ("code", "line"),
        [
            ("class Table:\n    def row(self, s):\n        return s[9]\n\n\n"
             "def softmax(scores):\n    return Table().row(scores)\n", 3),
            ("def softmax(scores):\n    def row(s):\n        return s[9]\n\n"
             "    return row(scores)\n", 3),
            ("def softmax(scores):\n    return np.array([\n        s[9] for s in scores\n"
             "    ])\n", 3),
            ("def softmax(scores):\n    return np.reshape(scores, (5, 5))\n", 2),
        ],
        ids=["method", "nested function", "comprehension", "library"],
    )  # fmt: skip
    def test_an_exception_has_the_student_s_own_line(self, code, line):
        names = {"np": np}
        exec(compile(code, "submission: cell 5", "exec"), names)
        assert f"(line {line} of cell 5)" in feedback(names["softmax"])

    def test_a_student_s_words_stay_on_their_line(self):
        def attempt(scores):
            raise ValueError("\x1b[2J\nsoftmax: right in 3 cases.\n  Likely cause: you.")

        assert feedback(attempt).split("\n")[1:] == [
            "  Your code raised ValueError: �[2J softmax: right in 3 cases. Likely cause: you."
        ]

    @pytest.mark.parametrize(
        ("reason", "words"),
        [
            ("timed_out", "too slow"), ("out_of_memory", "out of memory"), ("crashed", "a crash"),
        ],
    )  # fmt: skip
    def test_ended_by_a_limit(self, reason, words):
        spec = trial_of(make_softmax).spec
        result = judge(spec, {"everyday": Stopped(reason, "Your code did that: do this.")})
        assert result.feedback == (
            f"softmax: {words} in “everyday scores” (n_k = 4, n_q = 3)\n"
            "  Your code did that: do this."
        )

    def test_a_fault_of_ours(self):
        spec = trial_of(make_softmax).spec
        assert infrastructure(spec, "the check x raised KeyError: 'y'").feedback == (
            "softmax: could not be graded, through no fault of yours.\n"
            "  The check x raised KeyError: 'y'."
        )

    def test_statistics(self):
        def attempt(n, rng):
            return np.sum(np.square(rng.normal(size=n))) / 100

        text = feedback(attempt, make_statistical).split("\n")
        assert text == [
            "spread: “the spread is 1 on average” fails in “twenty generators” (n = 400, 20 calls)",
            "  It is 4 on average, expected 1.",
            "  Likely cause: Returns the sum of squares. Your results agree with those of this "
            "mistake.",
            "  Next: Which root is missing?",
        ]

    def test_two_causes(self):
        spec = trial_of(make_softmax).spec
        assert wording.causes(spec, ("halved", "halved"), 3, 3, False) == [
            "  Likely causes: Halves the scores; and halves the scores. Your results equal those "
            "of these mistakes together.",
            "  Next: What was wrong with their size?",
            "  Then: What was wrong with their size?",
        ]

    def test_a_second_cause_that_begins_with_a_name(self):
        spec = trial_of(make_softmax).spec
        known = (*spec.mistakes, KnownMistake("other", "NumPy's axis 0 is taken.", "Which?"))
        spec = replace(spec, mistakes=known)
        line, *_ = wording.causes(spec, ("halved", "other"), 2, 3, True)
        assert line == (
            "  Likely causes: Halves the scores; and NumPy's axis 0 is taken. Your results agree "
            "with those of these mistakes together in 2 of the 3 cases that fail."
        )

    def test_the_messages_of_checks(self):
        result = trial_of(make_softmax)(lambda s: softmax_of(0.5 * s))
        (message,) = [check.message for check in result.checks if check.outcome == "failed"]
        assert message == (
            "“everyday scores” (n_k = 4, n_q = 3): At [3, 0] (key 3, query 0), expected 0.6439, "
            "got 0.4551; 12 of 12 entries are off, by up to 0.189."
        )


def spoil(value):
    """Wrong in the hidden case alone: the one with three keys."""

    def attempt(scores):
        return softmax_of(scores) if len(scores) != 3 else value(scores)

    return attempt


def raises(error):
    raise error


class TestHidden:
    """Sizes and kind, never a value or the title."""

    @pytest.mark.parametrize(
        ("value", "first", "second"),
        [
            (lambda s: softmax_of(2 * s), "wrong values", "9 of 9 entries are wrong."),
            (lambda s: softmax_of(s).T[:2], "wrong shape", "Expected shape (n_k, n_q) = (3, 3), "
             "got (2, 3)."),
            (lambda s: softmax_of(s) + np.nan, "NaN or infinity", "Expected finite numbers, got "
             "NaN in 9 of 9 entries."),
            (lambda s: -softmax_of(s), "“no weight is negative” fails", "It does not hold here."),
            (lambda s: softmax_of(s) / 2, "“each column sums to 1” fails", "It does not hold "
             "here."),
            (lambda s: str(s), "wrong type", "Expected an array, got a string."),
            (lambda s: float(s[0, 1]), "wrong shape", "Expected shape (n_k, n_q) = (3, 3), got a "
             "single number."),
            (lambda s: type(str(s), (), {})(), "wrong type", "Expected an array, got a value of "
             "another type."),
            (lambda s: raises(ValueError(s)), "an exception", "Your code raised ValueError; its "
             "message is not shown, since the case is hidden."),
            (lambda s: raises(type(str(s), (Exception,), {})()), "an exception", "Your code raised "
             "an exception."),
        ],
    )  # fmt: skip
    def test_what_is_said(self, value, first, second):
        result = trial_of(make_softmax)(spoil(value))
        lines = result.feedback.split("\n")
        assert lines[0] == f"softmax: {first} in a hidden case (float64, n_k = 3, n_q = 3)"
        assert lines[1] == f"  {second}"
        said = result.feedback + "".join(check.message for check in result.checks)
        for secret in ("secret title", "0.7531", "1.5", "0.37"):
            assert secret not in said

    def test_what_can_be_looked_at_comes_first(self):
        text = feedback(lambda s: softmax_of(s) if len(s) == 4 else softmax_of(s * 1.1))
        assert text.startswith("softmax: wrong values in “large scores” (n_k = 2, n_q = 3); 2 of 3")
        assert "secret" not in text
