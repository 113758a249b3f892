"""What wrong results have in common with the right ones, said only where it is so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Bool, Float

from autograder import Program, exercise
from autograder.failing_cases import difference_between
from autograder.judge import judge
from autograder.observe.session import Stopped
from autograder.program import Backward, Construct
from autograder.rescaled import scaled_by_slices
from autograder.samples import Sample
from autograder.specification import Case
from autograder.structure import relation_of
from tests.unit.trial import trial_of

# ruff: noqa: F821 (axes in annotations are no names)


NOISE = np.sin(np.arange(64.0) ** 2).reshape(8, 8)


def make_scaled():
    """Two arrays in, one out; sizes differ, coincide and are 1; no misconceptions."""

    @exercise(points=1)
    def mixed(
        V: Float[np.ndarray, "d_v n_k"], W: Float[np.ndarray, "n_k n_q"], d_k: int
    ) -> Float[np.ndarray, "d_v n_q"]:
        return V @ W / np.sqrt(d_k)

    def draw(rng, d_v, n_k, n_q, d_k, dtype=np.float64):
        V, W = rng.normal(size=(d_v, n_k)), rng.normal(size=(n_k, n_q))
        return {"V": V.astype(dtype), "W": W.astype(dtype), "d_k": d_k}

    @mixed.case("different sizes", kind="robustness")
    def different(rng):
        return draw(rng, 4, 5, 3, 7)

    @mixed.case("other sizes", kind="robustness")
    def others(rng):
        return draw(rng, 3, 2, 6, 10)

    @mixed.case("hidden sizes", kind="robustness", hidden=True)
    def hidden(rng):
        return draw(rng, 2, 7, 4, 5)

    return mixed


def make_square():
    """A square result, and cases that only some mistakes fail in."""

    @exercise(points=1)
    def table(
        x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "m d"], shift=None
    ) -> Float[np.ndarray, "n m"]:
        return x @ y.T + (0.0 if shift is None else shift)

    def draw(rng, n, m, d, size=1.0, dtype=np.float64, **more):
        x, y = size * rng.normal(size=(n, d)), rng.normal(size=(m, d))
        return {"x": x.astype(dtype), "y": y.astype(dtype), **more}

    @table.case("four by four", kind="robustness")
    def square(rng):
        return draw(rng, 4, 4, 3)

    @table.case("five by five", kind="robustness")
    def larger(rng):
        return draw(rng, 5, 5, 2)

    @table.case("three by six", kind="robustness")
    def wide(rng):
        return draw(rng, 3, 6, 4)

    @table.case("large", kind="robustness")
    def large(rng):
        return draw(rng, 2, 7, 3, size=1e4)

    @table.case("float32", kind="robustness")
    def single(rng):
        return draw(rng, 6, 3, 2, dtype=np.float32)

    @table.case("shifted", kind="robustness", hidden=True)
    def shifted(rng):
        return draw(rng, 5, 2, 3, shift=2.5)

    return table


def make_pair():
    @exercise(points=1)
    def halves(
        x: Float[np.ndarray, "n"],
    ) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]]:
        return np.sin(x), np.cos(x)

    @halves.case("five", kind="robustness")
    def five(rng):
        return {"x": rng.normal(size=5)}

    @halves.case("three", kind="robustness")
    def three(rng):
        return {"x": rng.normal(size=3)}

    return halves


def make_mask():
    @exercise(points=1)
    def seen(n: int) -> Bool[np.ndarray, "n n"]:
        return np.tril(np.ones((n, n), dtype=bool))

    for size in (3, 6, 5):

        def case(rng, size=size):
            return {"n": size}

        case.__name__ = f"size_{size}"
        seen.case(case.__name__, kind="robustness")(case)

    return seen


def make_heads():
    @exercise(points=1)
    def split(x: Float[np.ndarray, "b n w"], h: int) -> Float[np.ndarray, "b h n d"]:
        b, n, w = x.shape
        return x.reshape(b, n, h, w // h).swapaxes(1, 2)

    for number, (b, n, h, d) in enumerate(((2, 3, 4, 5), (3, 5, 2, 4), (2, 4, 3, 6))):

        def case(rng, shape=(b, n, h * d), h=h):
            return {"x": rng.normal(size=shape), "h": h}

        case.__name__ = f"case_{number}"
        split.case(case.__name__, kind="robustness")(case)

    return split


def right_mixed(V, W, d_k):
    return V @ W / np.sqrt(d_k)


def right_table(x, y, shift=None):
    return x @ y.T + (0.0 if shift is None else shift)


def right_split(x, h):
    b, n, w = x.shape
    return x.reshape(b, n, h, w // h).swapaxes(1, 2)


def observed(make, attempt):
    """What is said of an attempt, in one line."""
    trial = trial_of(make)
    result = trial(attempt)
    assert result.outcome in ("failed", "error")
    lines = [line for line in result.feedback.split("\n") if line.startswith("  Observation: ")]
    return lines[0].removeprefix("  Observation: ") if lines else None


def off_diagonal(x, y, shift=None):
    made = right_table(x, y, shift)
    np.fill_diagonal(made, 0.0)
    return made


MIXED = [
    (lambda V, W, d_k: np.zeros((len(V), W.shape[1])), "is zero in every entry"),
    (lambda V, W, d_k: np.full((len(V), W.shape[1]), np.nan), "is NaN in every entry"),
    (lambda V, W, d_k: V, "is equal to the argument `V`, unchanged"),
    (lambda V, W, d_k: right_mixed(V, W, d_k).T,
     "is consistent with the transpose of the right one"),
    (lambda V, W, d_k: right_mixed(V, W, d_k).ravel(),
     "has the right numbers in the right order, in another shape"),
    (lambda V, W, d_k: right_mixed(V, W, d_k).T.reshape(len(V), -1),
     "is consistent with a reshape where axes should change places"),
    (lambda V, W, d_k: right_mixed(V, W, d_k)[::-1],
     "is consistent with the right one in reverse order along the axis `d_v`"),
    (lambda V, W, d_k: np.roll(right_mixed(V, W, d_k), 1, 1),
     "is consistent with the right one moved on by one along the axis `n_q`"),
    (lambda V, W, d_k: right_mixed(V, W, d_k)[np.r_[1, 0, 2:len(V)]],
     "is consistent with the right one with its slices in another order along the axis `d_v`"),
    (lambda V, W, d_k: right_mixed(V, W, d_k)[:, np.r_[1, 0, 2:W.shape[1]]],
     "is consistent with the right one with its slices in another order along the axis `n_q`"),
    (lambda V, W, d_k: np.sort(right_mixed(V, W, d_k), axis=None).reshape(len(V), -1),
     "has the right numbers in other places"),
    (lambda V, W, d_k: -right_mixed(V, W, d_k), "is the right one with the sign changed"),
    (lambda V, W, d_k: V @ W, "is consistent with √d_k times the right one"),
    (lambda V, W, d_k: V @ W / d_k, "is consistent with 1/√d_k times the right one"),
    (lambda V, W, d_k: right_mixed(V, W, d_k) * V.shape[1],
     "is consistent with n_k times the right one"),
    (lambda V, W, d_k: right_mixed(V, W, d_k) / W.shape[1],
     "is consistent with 1/n_q times the right one"),
    (lambda V, W, d_k: 2.5 * right_mixed(V, W, d_k), "is 2.5 times the right one, in every entry"),
    (lambda V, W, d_k: V @ W / np.sqrt(V.shape[1]),
     "is the right one up to one factor, another in each case"),
    (lambda V, W, d_k: right_mixed(V, W, d_k) + 3.0,
     "is the right one plus one number, the same in every entry"),
    (lambda V, W, d_k: right_mixed(V, W, d_k) + np.arange(len(V))[:, None] + 1,
     "is the right one plus one number for each slice along the axis `d_v`"),
    (lambda V, W, d_k: right_mixed(V, W, d_k) * (np.arange(W.shape[1]) + 2),
     "is right up to a factor in each slice along the axis `n_q`"),
    (lambda V, W, d_k: np.exp(right_mixed(V, W, d_k)),
     "is consistent with the exponential of the right one"),
    (lambda V, W, d_k: np.square(right_mixed(V, W, d_k)),
     "is consistent with the square of the right one"),
    (lambda V, W, d_k: np.abs(right_mixed(V, W, d_k)),
     "is consistent with the absolute value of the right one"),
    (lambda V, W, d_k: np.maximum(right_mixed(V, W, d_k), 0),
     "is consistent with the right one with 0 in place of negative numbers"),
    (lambda V, W, d_k: np.trunc(right_mixed(V, W, d_k)),
     "is consistent with the right one cut to whole numbers"),
    (lambda V, W, d_k: right_mixed(V, W, d_k).astype(np.float16).astype(np.float64),
     "is right to about three digits"),
    (lambda V, W, d_k: right_mixed(V, W, d_k) * (np.arange(W.shape[1]) < W.shape[1] - 1),
     "is right but for the last slice along the axis `n_q`"),
    (lambda V, W, d_k: right_mixed(V, np.repeat(W[:, :1], W.shape[1], 1), d_k),
     "is right for the first slice along the axis `n_q` only"),
]  # fmt: skip


@pytest.mark.parametrize(("attempt", "says"), MIXED)
def test_of_all_cases(attempt, says):
    said = observed(make_scaled, attempt)
    assert said == f"Your result {says}."


@pytest.mark.parametrize(
    ("make", "attempt", "says"),
    [
        (make_pair, lambda x: (np.cos(x), np.sin(x)),
         "Your pair of results is the right one in the other order."),
        (make_pair, lambda x: (np.sin(x), -np.cos(x)),
         "Return value 2 is the right one with the sign changed."),
        (make_mask, lambda n: ~np.tril(np.ones((n, n), bool)),
         "Your result is true where the right one is false, and false where it is true."),
        (make_mask, lambda n: np.triu(np.ones((n, n), bool)),
         "Your result is consistent with the transpose of the right one."),
        (make_mask, lambda n: np.tril(np.ones((n, n), bool), -1),
         "Your result is right but on the diagonal."),
        (make_mask, lambda n: np.ones((n, n), bool),
         "Your result is right on the diagonal and below it, and wrong above."),
        (make_heads, lambda x, h: right_split(x, h).swapaxes(1, 2),
         "Your result is consistent with the right one with the axes `h` and `n` exchanged."),
        (make_heads, lambda x, h: right_split(x, h)[:, ::-1],
         "Your result is consistent with the right one in reverse order along the axis `h`."),
        (make_heads, lambda x, h: np.roll(right_split(x, h), 1, 0) if len(x) == 3 else
         right_split(x, h)[::-1],
         "Your result is consistent with the right one moved on by one along the axis `b`."),
        (make_heads, lambda x, h: x.reshape(len(x), h, x.shape[1], -1),
         "Your result is consistent with a reshape where axes should change places."),
        # in a hidden case alone: which number is not said
        (make_square, lambda x, y, shift=None: right_table(x, y),
         "Your result is the right one plus one number, the same in every entry."),
        (make_square, lambda x, y, shift=None: right_table(x, y, shift)[::-1]
         if x.dtype == np.float32 else right_table(x, y, shift),
         "Your result is consistent with the right one in reverse order along the axis `n`."),
        (make_square, lambda x, y, shift=None: np.where(abs(x).max() > 99, np.inf, 1)
         * right_table(x, y, shift),
         "Your result holds NaN or infinity where the numbers in the arguments are large, and is "
         "right elsewhere."),
        (make_square, lambda x, y, shift=None: right_table(x, y, shift)
         + (len(x) != len(y)) * abs(x).max() * NOISE[: len(x), : len(y)],
         "Your result is right only where m and n are equal."),
        (make_square, lambda x, y, shift=None: right_table(x, y, shift)
         + (x.dtype == np.float32) * NOISE[: len(x), : len(y)],
         "Your result is wrong where the arguments are float32, and right elsewhere."),
        (make_square, lambda x, y, shift=None: right_table(x, y, shift)
         + (shift is not None) * NOISE[: len(x), : len(y)],
         "Your result is right where `shift` is left out, and wrong where it is given."),
    ],
)  # fmt: skip
def test_of_other_kinds(make, attempt, says):
    said = observed(make, attempt)
    assert said == says


@pytest.mark.parametrize(
    "attempt",
    [
        lambda V, W, d_k: right_mixed(V, W, d_k) + NOISE[: len(V), : W.shape[1]],
        lambda V, W, d_k: V @ W if d_k == 7 else right_mixed(V, W, d_k) + 1,
        lambda V, W, d_k: right_mixed(V, W, d_k).T if d_k == 7 else V @ W,
        lambda V, W, d_k: None,
        lambda V, W, d_k: "text",
        lambda V, W, d_k: [[1.0], [2.0, 3.0]],
        lambda V, W, d_k: 1j * right_mixed(V, W, d_k),
        lambda V, W, d_k: np.zeros((0, 3)),
        lambda V, W, d_k: 1 / 0,
        lambda V, W, d_k: np.array(["a"]),
    ],
)  # fmt: skip
def test_nothing_when_unsure(attempt):
    assert observed(make_scaled, attempt) is None


def test_a_number_of_a_hidden_case_is_never_said():
    def attempt(V, W, d_k):
        return right_mixed(V, W, d_k) * (0.375 if d_k == 5 else 1.0)

    text = trial_of(make_scaled)(attempt).feedback
    assert "hidden case" in text
    assert "0.375" not in text


def test_a_slice_of_zeros_has_no_factor():
    wanted = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]])
    sample = Sample(wanted * [[1.0], [2.0], [3.0]], wanted, 1e-7, {}, ("n", "d"), {})
    with np.errstate(all="ignore"):
        assert scaled_by_slices([sample]) is None  # and no warning of an empty slice


def test_cases_that_only_build_a_module_leave_out_no_argument():
    trial = trial_of(make_mask)
    built = Case("built", "built", Program((Construct("Layer", "module", (10, 4)),)), ())
    assert difference_between(trial.spec, [built], list(trial.spec.cases)) is None


def test_the_whole_feedback():
    assert trial_of(make_scaled)(lambda V, W, d_k: V @ W).feedback.split("\n")[2:] == [
        "  Observation: Your result is consistent with √d_k times the right one.",
        "  Next: see where this factor comes in, or is left out.",
    ]


def test_no_misconception_is_named_and_no_point_given():
    result = trial_of(make_scaled)(lambda V, W, d_k: V @ W)
    assert result.misconceptions == ()
    assert result.score == 0.0


def test_a_stopped_case_says_nothing():
    trial = trial_of(make_scaled)
    seen = trial.observe(lambda V, W, d_k: V @ W)
    names = list(seen)
    assert relation_of(trial.spec, seen, names) is not None
    seen[names[-1]] = Stopped("timed_out", "Too slow.")
    assert relation_of(trial.spec, seen, names) is None


ENTRIES = st.sampled_from([0.0, 1.0, -1.0, 0.5, np.nan, np.inf, -np.inf, 1e300, 1e-300, 7.25])
SHAPES = st.lists(st.integers(0, 4), max_size=4).map(tuple)
DTYPES = st.sampled_from(["float64", "float32", "float16", "int64", "uint8", "bool", "complex64"])


@st.composite
def arrays(draw):
    shape = draw(SHAPES)
    count = int(np.prod(shape, dtype=int))
    entries = draw(st.lists(ENTRIES, min_size=count, max_size=count))
    with np.errstate(all="ignore"):
        return np.array(entries).reshape(shape).astype(draw(DTYPES))


def like_the_right_one(draw_from):
    """Arrays of the right shape with parts of it spoiled."""

    def attempt(V, W, d_k):
        made = right_mixed(V, W, d_k)
        number, factor, place = draw_from
        made = made * factor
        made.flat[place % made.size] = number
        return made

    return attempt


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(
        arrays().map(lambda value: lambda V, W, d_k: value),
        st.lists(arrays(), max_size=3).map(lambda value: lambda V, W, d_k: value),
        st.tuples(ENTRIES, ENTRIES, st.integers(0, 50)).map(like_the_right_one),
        st.permutations(range(6)).map(
            lambda order: lambda V, W, d_k: right_mixed(V, W, d_k)[[o for o in order if o < len(V)]]
        ),
    )
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_never_raises_and_never_passes_what_is_wrong(attempt):
    trial = trial_of(make_scaled)
    seen = trial.observe(attempt)
    result = judge(trial.spec, seen)
    right = trial.observe(right_mixed)
    same = all(
        getattr(seen[name][0].value, "shape", None) == right[name][0].value.shape
        and np.allclose(seen[name][0].value.data, right[name][0].value.data, rtol=1e-9)
        for name in right
    )
    assert (result.outcome == "passed") == same
    relation_of(trial.spec, seen, list(seen))


def make_torch():
    """With gradients: values and gradients are random independently of each other."""
    torch = pytest.importorskip("torch")

    @exercise(points=1)
    def cubes(x: Float[torch.Tensor, "b n"]) -> Float[torch.Tensor, "b n"]:
        return x**3

    for number, shape in enumerate(((2, 3), (4, 1))):

        def case(rng, shape=shape):
            x = torch.tensor(rng.normal(size=shape), dtype=torch.float32, requires_grad=True)
            return Program((cubes.call(slot="result", x=x), Backward("result")))

        case.__name__ = f"case_{number}"
        cubes.case(case.__name__, kind="robustness")(case)

    @cubes.misconception("Squares.", hint="How many factors?")
    def squares(x):
        return x**2

    return cubes


@settings(max_examples=60, deadline=None)
@given(arrays(), ENTRIES, st.sampled_from(["whole", "times", "plus", "graph", "raise"]))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_never_raises_with_tensors(value, number, how):
    torch = pytest.importorskip("torch")

    def attempt(x):
        if how == "raise":
            raise ArithmeticError(number)
        if how == "whole":
            return torch.from_numpy(value) if value.size != 1 else value.item()
        return {"times": x**3 * number, "plus": x**3 + number, "graph": (x**3).detach()}[how]

    result = trial_of(make_torch)(attempt)
    right = (how, number) in (("times", 1.0), ("plus", 0.0))
    assert (result.outcome == "passed") == (right or (how, number) == ("plus", 1e-300))
