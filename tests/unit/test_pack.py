"""Packs on disk: found, loaded in order, drawn, and what is said of a mistake in one."""

import textwrap

import numpy as np
import pytest

from autograder.exercise import AuthoringError
from autograder.pack import (
    CourseNotFound,
    assignments_of,
    case_generator,
    definition_of,
    find_course,
    load_pack,
)
from tests.unit.observe.test_protocol import same

HEAD = "import numpy as np\nfrom autograder import Generator, Program, exercise\n\n\n"

HALF = '''
"""Halve every number.

Two lines of prose.
"""
{head}
@exercise(points=2, order=1)
def half(x):
    """The docstring."""
    return x / 2


@half.case("shown", separates=["third", "secret"])
def shown(rng):
    return {{"x": rng.normal(size=4)}}


@half.case("kept back", separates=["secret", "mistyped"], hidden=True)
def kept_back(rng):
    return {{"x": rng.normal(size=5)}}


@half.misconception("Divides by three.", hint="Into how many parts?", credit=0.25)
def third(x):
    return x / 3


@half.misconception("Kept back.", hint="Which one?", hidden=True)
def secret(x):
    return x
'''


def function(name, body, order=0, needs=(), tail=""):
    """An exercise's file with one case."""
    return (
        f'"""Prompt."""\n{HEAD}'
        f"@exercise(points=1, order={order}, needs={list(needs)})\n"
        f"def {name}(x):\n    return {body}\n\n\n"
        f'@{name}.case("a case", kind="robustness")\n'
        f'def a_case(rng):\n    return {{"x": rng.normal(size=3)}}\n{tail}'
    )


@pytest.fixture
def course(tmp_path):
    """A function that writes a set of files and gives the course's folder."""

    def write(
        name="ps0", about='"""A title.\n\nMore."""\nPACKAGES = ("numpy", "scipy")\n', **files
    ):
        folder = tmp_path / "solutions" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text(about, "utf-8")
        for stem, source in files.items():
            text = textwrap.dedent(source).lstrip()
            (folder / f"{stem}.py").write_text(text, "utf-8")
        return tmp_path

    return write


@pytest.fixture
def half(course):
    return load_pack(course(half=HALF.format(head=HEAD)), "ps0")


class TestFinding:
    def test_the_nearest_folder_above(self, course):
        root = course()
        inside = root / "a" / "b"
        inside.mkdir(parents=True)
        assert find_course(inside) == root
        (inside / "solutions").mkdir()
        assert find_course(inside) == inside

    def test_none(self, tmp_path):
        with pytest.raises(CourseNotFound, match="go there or give --course"):
            find_course(tmp_path)

    def test_assignments(self, course):
        root = course("ps2")
        course("ps1")
        (root / "solutions" / "notes").mkdir()
        assert assignments_of(root) == ["ps1", "ps2"]

    def test_one_that_is_not_there(self, course):
        with pytest.raises(CourseNotFound, match=r"no assignment called ps9 in .*; there are: ps0"):
            load_pack(course(), "ps9")

    def test_a_course_that_is_none(self, tmp_path):
        assert assignments_of(tmp_path) == []
        with pytest.raises(CourseNotFound, match="there are: none"):
            load_pack(tmp_path, "ps1")


class TestLoading:
    def test_what_the_files_say(self, half):
        assert (half.title, half.packages, half.max_score) == ("A title.", ("numpy", "scipy"), 2)
        assert half.exercises["half"].prompt == "Halve every number.\n\nTwo lines of prose."

    def test_versions_change_with_the_source(self, course, half):
        before = half.versions()["half"]
        changed = load_pack(course(half=HALF.format(head=HEAD) + "\n# a remark\n"), "ps0")
        assert half.versions() == {"half": before}
        assert changed.versions()["half"] != before

    def test_order_and_needs(self, course):
        root = course(
            a=function("a", "b(x) + 1", order=1, needs=["b"]),
            b=function("b", "c(x) * 2", order=3, needs=["c"]),
            c=function("c", "x - 1", order=2),
            d=function("d", "x", order=1),
        )
        pack = load_pack(root, "ps0")
        assert list(pack.exercises) == ["c", "b", "a", "d"]
        assert pack.exercises["a"](np.ones(1)).tolist() == [1]

    def test_siblings_are_plain_functions(self, course):
        pack = load_pack(
            course(a=function("a", "b.__class__.__name__, x"), b=function("b", "x")), "ps0"
        )
        assert pack.exercises["a"](1) == ("function", 1)

    def test_a_reference_that_calls_itself(self, course):
        body = "x if len(x) < 2 else np.concatenate([x[:1], tail(x[1:])])"
        pack = load_pack(course(tail=function("tail", body)), "ps0")
        assert pack.exercises["tail"](np.arange(3)).tolist() == [0, 1, 2]

    @pytest.mark.parametrize(
        ("needs", "message"),
        [
            ({"a": ["b"], "b": ["a"]}, r"a needs itself \(a → b → a\); take one of them out"),
            ({"a": ["a"]}, r"a needs itself \(a → a\)"),
            ({"a": ["b"], "b": ["c"], "c": ["b"]}, r"b needs itself \(b → c → b\)"),
            ({"a": ["z"], "b": []}, "a needs z, which this set does not have; it has: b"),
            ({"a": ["z"]}, "a needs z, which this set does not have; it has: none"),
        ],
    )
    def test_needs_that_cannot_be(self, course, needs, message):
        files = {name: function(name, "x", needs=wanted) for name, wanted in needs.items()}
        with pytest.raises(AuthoringError, match=message):
            load_pack(course(**files), "ps0")

    @pytest.mark.parametrize(
        ("source", "message"),
        [
            ("def other(x): pass", r"other.py does not define an exercise called other; decorate "
             r"`other` with @exercise\(points=…\)"),
            ("x = 1", "does not define an exercise called other"),
            ("import nowhere_at_all", "other.py needs the package nowhere_at_all, which is not"),
            ("def other(:", "other.py raised SyntaxError"),
            (f"{HEAD}@exercise(points=0)\ndef other(x): pass", "other: points are a number above"),
        ],
    )  # fmt: skip
    def test_a_file_that_is_no_exercise(self, course, source, message):
        with pytest.raises(AuthoringError, match=message):
            load_pack(course(other=source), "ps0")

    def test_no_exercise_yet(self, course):
        pack = load_pack(course(), "ps0")
        assert (pack.exercises, pack.max_score, pack.draw_all("1")) == ({}, 0, [])

    def test_a_set_without_a_title(self, course):
        assert load_pack(course(about=""), "ps0").title == "ps0"

    def test_definitions(self):
        source = "import x\ndef f(): pass\nclass C: pass\n"
        assert definition_of(source, "f").lineno == 2
        assert definition_of(source, "C").lineno == 3
        with pytest.raises(AuthoringError, match="no def or class called g"):
            definition_of(source, "g")


def inputs(spec):
    return [case.program.steps[0].args for case in spec.cases]


class TestDrawing:
    def test_the_same_seed_gives_the_same_cases(self, half):
        assert all(map(same_arrays, inputs(half.draw("half", "1")), inputs(half.draw("half", "1"))))

    def test_other_seeds_and_other_cases_give_others(self, half):
        one, other = half.draw("half", "1"), half.draw("half", "2")
        drawn = [args[0][0] for spec in (one, other) for args in inputs(spec)]
        assert len(set(drawn)) == 6  # two cases, and the one that is called again

    def test_the_generator_of_a_case_depends_on_every_name(self):
        names = [("1", "ps", "f", "a"), ("2", "ps", "f", "a"), ("1", "qs", "f", "a"),
                 ("1", "ps", "g", "a"), ("1", "ps", "f", "b")]  # fmt: skip
        assert len({case_generator(*each).random() for each in names}) == 5
        assert case_generator(*names[0]).random() == case_generator(*names[0]).random()

    def test_expected_values_are_the_reference_s(self, half):
        for case in half.draw("half", "1").cases:
            assert np.array_equal(case.expected[0].value.data, case.program.steps[0].args[0] / 2)

    def test_double_precision(self, course):
        tail = '\n\n@single.case("float32", kind="robustness")\ndef f32(rng):\n' \
               '    return {"x": np.float32([0.1])}\n'  # fmt: skip
        spec = load_pack(course(single=function("single", "x / 3", tail=tail)), "ps0").draw(
            "single", "1"
        )
        assert spec.cases[1].expected[0].value.dtype == "float64"
        assert spec.cases[1].program.steps[0].args[0].dtype == np.float32

    def test_misconceptions_are_run_when_they_are_asked_for(self, half):
        case = half.draw("half", "1").cases[0]
        (found,) = case.explanations["third"]
        assert np.allclose(found.value.data, case.program.steps[0].args[0] / 3)
        assert case.explanations["third"][0] is found

    def test_public_only(self, half):
        spec = half.draw("half", "1", public_only=True)
        case, again = spec.cases
        assert (case.name, again.name) == ("shown", "called_again")
        assert [known.name for known in spec.mistakes] == ["third"]
        assert list(case.explanations) == ["third"]
        assert case.separates == ("third",)

    def test_a_check_names_no_hidden_case(self, course):
        tail = """

@half.check("for both", cases=["shown", "kept_back"])
def for_both(view):
    return None


@half.check("for a hidden one", cases=["kept_back"])
def for_a_hidden_one(view):
    return None
"""
        half = load_pack(course(half=HALF.format(head=HEAD) + tail), "ps0")
        assert [check.cases for check in half.draw("half", "1").checks] == [
            ("shown", "kept_back"), ("kept_back",),
        ]  # fmt: skip
        [check] = half.draw("half", "1", public_only=True).checks
        assert (check.name, check.cases) == ("for_both", ("shown",))

    def test_all(self, half):
        spec = half.draw("half", "1")
        assert [case.separates for case in spec.cases] == [
            ("third", "secret"), ("secret", "mistyped"), (),
        ]  # fmt: skip
        assert spec.mistake("third").credit == 0.25
        with pytest.raises(KeyError):
            spec.mistake("nothing")

    def test_public_cases_are_the_same_with_and_without_the_hidden(self, half):
        assert same_arrays(
            inputs(half.draw("half", "1"))[0], inputs(half.draw("half", "1", public_only=True))[0]
        )

    def test_every_exercise_is_called_again(self, half):
        again = half.draw("half", "1").cases[-1]
        (first,), (same,), (other,) = (call.args for _, call in again.program.calls)
        assert np.array_equal(first, same)
        assert first.shape == other.shape
        assert not np.array_equal(first, other)
        assert (again.hidden, again.kind, dict(again.explanations)) == (False, "robustness", {})

    @pytest.mark.parametrize(
        "tail",
        [
            '@one.case("two", kind="robustness")\ndef two(rng):\n    return [{"x": 1}, {"x": 2}]\n',
            '@one.case("mine", kind="robustness")\ndef called_again(rng):\n    return {"x": 1}\n',
            "one.called_again = False\n",
        ],
    )
    def test_unless_it_is_already_or_the_author_does_not_want_it(self, course, tail):
        added = function(
            "one", "x", tail=f'\n\n@one.case("s")\ndef s(rng): return {{"x": 1}}\n{tail}'
        )
        spec = load_pack(course(one=added), "ps0").draw("one", "1")
        assert [case.title for case in spec.cases if "called again" in case.title] == []

    @pytest.mark.parametrize(
        ("case", "message"),
        [
            ("return {'y': 1}", "odd: the case strange: odd has no argument called y"),
            ("return None", "odd: the case strange: odd: a case returns a dict of arguments"),
            ("return 1 / 0", "odd: the case strange raised ZeroDivisionError: division by zero"),
            ("return {'x': {1, 2}}", "odd: the case strange raised TypeError: a case cannot hand "
             "over a set"),
            ("return {'x': 'text'}", "odd: the case strange: the reference raised TypeError: .*; "
             "repair it, or give the case raises=TypeError if solutions have to"),
            ("return Program(())", "odd: the case strange has no steps"),
        ],
    )  # fmt: skip
    def test_a_case_that_cannot_be_drawn(self, course, case, message):
        tail = f'\n\n@odd.case("strange", kind="robustness")\ndef strange(rng):\n    {case}\n'
        pack = load_pack(course(odd=function("odd", "x / 2", tail=tail)), "ps0")
        with pytest.raises(AuthoringError, match=message):
            pack.draw("odd", "1")

    def raising(self, course, error):
        tail = (
            f'\n\n@odd.case("too long", kind="robustness", raises={error})\n'
            'def long(rng):\n    return {"x": rng.normal(size=9)}\n'
        )
        body = "x if len(x) < 9 else np.linalg.inv(x)"  # raises LinAlgError, a ValueError
        return load_pack(course(odd=function("odd", body, tail=tail)), "ps0")

    def test_an_exception_that_is_asked_for(self, course):
        spec = self.raising(course, "np.linalg.LinAlgError").draw("odd", "1")
        assert spec.cases[1].expected[0].raised.type_name == "LinAlgError"

    @pytest.mark.parametrize("error", ["KeyError", "ValueError"])
    def test_another_exception_than_was_asked_for(self, course, error):
        message = f"the reference should raise {error} and raised LinAlgError"
        with pytest.raises(AuthoringError, match=message):
            self.raising(course, error).draw("odd", "1")

    def test_no_exception_where_one_is_asked_for(self, course):
        tail = '\n\n@odd.case("c", raises=ValueError)\ndef c(rng):\n    return {"x": 1}\n'
        pack = load_pack(course(odd=function("odd", "x", tail=tail)), "ps0")
        with pytest.raises(AuthoringError, match="should raise ValueError and raised nothing"):
            pack.draw("odd", "1")


def same_arrays(one, other):
    return same(list(map(np.ndarray.tolist, one)), list(map(np.ndarray.tolist, other)))
