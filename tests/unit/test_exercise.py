"""The authoring API: what a file says, and what is said of a mistake in it."""

# ruff: noqa: F821 (axes in annotations are no names)

import numpy as np
import pytest
from jaxtyping import Bool, Float

from autograder.checks import not_negative, sums_to_one
from autograder.exercise import AuthoringError, exercise
from autograder.observe.protocol import Array
from autograder.program import Call, Program, Slot
from autograder.specification import ValueSpec


def make(reference=None, **options):
    if reference is None:

        def scale(x: Float[np.ndarray, "n_k n_q"], d_k: int, mask=None) -> Float[np.ndarray, "n"]:
            return x / d_k

        reference = scale
    return exercise(points=2, **options)(reference)


class TestAnnotations:
    def test_arguments_and_result(self):
        made = make()
        assert made.parameters == {
            "x": ValueSpec("array", ("n_k", "n_q"), "numpy"),
            "d_k": ValueSpec("int"),
            "mask": ValueSpec(),
        }
        assert made.returns == (ValueSpec("array", ("n",), "numpy"),)
        assert (made.name, made.framework, made.is_class) == ("scale", "numpy", False)

    def test_several_results(self):
        def f(x) -> tuple[Float[np.ndarray, "a"], float]: ...

        assert make(f).returns == (ValueSpec("array", ("a",), "numpy"), ValueSpec("float"))

    def test_optional_arguments(self):
        def f(x, mask: Bool[np.ndarray, "n n"] | None = None) -> bool: ...

        assert make(f).parameters["mask"].axes == ("n", "n")
        assert make(f).returns == (ValueSpec("bool"),)

    def test_nothing_said(self):
        assert make(lambda x: x).returns == (ValueSpec(),)

    def test_a_class_is_described_by_its_forward_method(self):
        class Layer:
            def __init__(self, width): ...

            def forward(self, x: Float[np.ndarray, "n"]) -> int: ...

        made = make(Layer)
        assert list(made.parameters) == ["x"]
        assert (made.is_class, made.framework) == (True, "numpy")

    def test_a_name_that_is_not_imported(self):
        def f(x: "Fluot") -> int: ...

        with pytest.raises(AuthoringError, match="f: name 'Fluot' is not defined"):
            make(f)

    @pytest.mark.parametrize("signature", ["*x", "**x"])
    def test_arguments_without_a_name(self, signature):
        names = {}
        exec(f"def f({signature}): pass", names)
        with pytest.raises(AuthoringError, match="write the arguments out"):
            make(names["f"])

    @pytest.mark.parametrize("points", [0, -1, float("nan"), float("inf")])
    def test_points(self, points):
        with pytest.raises(AuthoringError, match="points are a number above 0"):
            exercise(points=points)(lambda x: x)


class TestCalls:
    def test_in_the_order_of_the_signature(self):
        call = make().call(d_k=4, x=np.ones(2))
        assert call.argument_names == ("x", "d_k")
        assert call.args[1] == 4
        assert call.kwargs == {}

    def test_a_gap_is_filled_by_keywords(self):
        call = make().call(x=np.ones(2), mask=np.ones(2))
        assert call.args == ()
        assert list(call.kwargs) == ["x", "mask"]
        assert list(call.named) == ["x", "mask"]

    def test_what_goes_by_keyword_only(self):
        def f(x, *, eps=1e-5, dim=-1): ...

        call = make(f).call(eps=1.0, x=2)
        assert (call.args, call.kwargs, call.argument_names) == ((2,), {"eps": 1.0}, ("x",))

    def test_names_for_positional_arguments_without_one(self):
        call = Call("f", (1, 2), {"c": 3}, ("a",))
        assert call.named == {"a": 1, "argument 2": 2, "c": 3}

    def test_an_argument_that_there_is_not(self):
        with pytest.raises(AuthoringError, match="scale has no argument called y"):
            make().call(y=3)

    def test_sizes_are_plain_numbers(self):
        call = make().call(x=[np.float64(2)], d_k=np.int64(3))
        assert [type(call.args[0][0]), type(call.args[1])] == [float, int]

    def test_arrays_become_tensors_where_the_exercise_has_tensors(self):
        made = make(lambda x, n: x, framework="torch")
        call = made.call(x=[np.ones(2), (np.ones(1),)], n=np.int64(3))
        first, (second,) = call.args[0]
        assert isinstance(first, Array)
        assert first.framework == second.framework == "torch"
        assert call.args[1] == 3

    def test_of_a_module(self):
        class Layer:
            def forward(self, x): ...

        made = make(Layer)
        assert made.call(on=Slot("made"), x=1, slot="y") == Call(
            Slot("made"), (1,), {}, ("x",), "y"
        )
        with pytest.raises(AuthoringError, match="name the module to call"):
            made.call(x=1)

    def test_the_exercise_is_its_reference(self):
        assert make()(np.ones(1), 2).tolist() == [0.5]


class TestPrograms:
    def test_of_what_a_case_returns(self):
        made = make()
        assert len(made.program({"x": 1, "d_k": 2}).steps) == 1
        assert len(made.program([{"x": 1, "d_k": 2}] * 3).steps) == 3
        own = Program((Call("scale"),))
        assert made.program(own) is own

    @pytest.mark.parametrize("drawn", [None, 3, [], [3], np.ones(2), "text", [{"x": 1}, None]])
    def test_of_something_else(self, drawn):
        with pytest.raises(AuthoringError, match="a case returns a dict of arguments, a list"):
            make().program(drawn)

    def test_of_a_class(self):
        class Layer:
            def forward(self, x): ...

        with pytest.raises(AuthoringError, match="Layer is a class: its cases return a Program"):
            make(Layer).program({"x": 1})


class TestRegistering:
    def test_cases(self):
        made = make()

        @made.case("a title", separates=["wrong"], hidden=True, raises=ValueError)
        def one(rng): ...

        (case,) = made.cases
        assert (case.name, case.title, case.separates) == ("one", "a title", ("wrong",))
        assert (case.hidden, case.kind, case.raises) == (True, "separating", "ValueError")

    def test_a_kind_that_there_is_not(self):
        with pytest.raises(AuthoringError, match="of the kind separating or robustness, not rob"):
            make().case("a title", kind="rob")

    @pytest.mark.parametrize(
        "register",
        [
            lambda made: made.case("title"),
            lambda made: made.check("line"),
            lambda made: made.misconception("sentence", hint="hint"),
            lambda made: made.alternative("title"),
        ],
    )
    def test_two_of_a_name(self, register):
        made = make()

        def twice(x): ...

        assert register(made)(twice) is twice
        with pytest.raises(AuthoringError, match=r"scale: two \w+s are called twice; rename one"):
            register(made)(twice)

    @pytest.mark.parametrize("credit", [-0.1, 1.0, 2.0, float("nan")])
    def test_credit_of_a_misconception(self, credit):
        with pytest.raises(AuthoringError, match="credit"):
            make().misconception("sentence", hint="hint", credit=credit)(lambda x: x)

    def test_checks(self):
        made = make(checks=[sums_to_one(axis=0, line="sums", credit=0.5)])

        @made.check("another line", public=True, credit=0.5)
        def another(view): ...

        assert [check.line for check in made.checks] == ["sums", "another line"]
        assert made.checks[1].public

    @pytest.mark.parametrize("line", ["values", "arguments untouched", "no weight is negative"])
    def test_two_checks_with_one_line(self, line):
        made = make(checks=[not_negative(line="no weight is negative")])
        with pytest.raises(AuthoringError, match="two checks have the line"):
            made.check(line)(lambda view: None)

    @pytest.mark.parametrize("credit", [0.6, -0.1, float("nan")])
    def test_credits_of_checks_are_shares(self, credit):
        made = make(checks=[not_negative(line="first", credit=0.5)])
        with pytest.raises(AuthoringError, match="credits of all checks are shares"):
            made.check("second", credit=credit)(lambda view: None)
