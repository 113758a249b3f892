"""What `validate` complains of, each in a pack that is weak in just that."""

import json
import re

import pytest

from autograder.exercise import AuthoringError
from autograder.pack import CourseNotFound
from autograder.report.terminal import print_validations
from autograder.validate import to_json, validate, validate_pack
from tests.unit import courses

SQUARED_AGAIN = """
@double.misconception("Takes the second power.", hint="What is twice three?")
def second_power(x):
    return x**2
"""
CASE = """
@double.case("more numbers"{options})
def more(rng):
    return {{"x": rng.normal(size=4)}}
"""

QUIZ = """
- id: half
  type: multiple_choice
  points: 1
  prompt: Which are even?
  options: [{id: oak, text: "2"}, {id: elm, text: "4"}, {id: ash, text: "3"}, {id: fir, text: "5"}]
  answer: [oak, elm]
  explanation: Two divides them.
- id: third
  type: multiple_choice
  points: 1
  prompt: Which are odd?
  options:
    - {id: oak, text: "3"}
    - {id: elm, text: "5"}
    - {id: ash, text: "2"}
    - {id: fir, text: "4"}
    - {id: bay, text: "6"}
    - {id: yew, text: "8"}
  answer: [oak, elm]
  explanation: Two does not divide them.
"""


def report_of(folder, **changed):
    """The report of the one exercise, whose file is changed: text → other text, or added to."""
    source = courses.DOUBLE
    added = changed.pop("added", "")
    for old, new in changed.pop("replaced", {}).items():
        assert old in source
        source = source.replace(old, new)
    course = courses.make_course(folder)
    (course / "solutions" / courses.NAME / "double.py").write_text(source + added, "utf-8")
    return validate_pack(course, courses.NAME, "1")


def test_a_pack_that_is_well(tmp_path):
    report = report_of(tmp_path)
    assert report.well
    (exercise,) = report.exercises
    assert (exercise.misconceptions, exercise.named, exercise.alternatives_passed) == (2, 2, 1)
    assert exercise.matrix["five"] == exercise.matrix["three"] == ("squared", "left_alone")
    assert exercise.separation > 100


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        (
            {"added": SQUARED_AGAIN},
            "double: squared and second_power give equal results: they are one",
        ),
        (
            {"added": SQUARED_AGAIN},
            "double: the misconception second_power is caught but named as squared",
        ),
        (
            {"replaced": {"return x.copy()": "return x + x"}},
            "double: no case sees the misconception left_alone; add one that does",
        ),
        (
            {"replaced": {"return x.copy()": "return 2 * x * (1 + 1e-8)"}},
            r"double: left_alone stands only \S+ times further off than the furthest right variant",
        ),
        (
            {"replaced": {"return x.copy()": "raise NotImplementedError"}},
            "double: the misconception left_alone is not written yet",
        ),
        (
            {"replaced": {"return x + x": "return x + x + 1"}},
            r"double: the alternative added is rejected: double: wrong values in",
        ),
        (
            {"replaced": {"return x + x": "raise NotImplementedError"}},
            "double: the alternative added is not written yet",
        ),
        (
            {"replaced": {'"squared", "left_alone"]': '"squared", "cubed"]'}},
            "double: the case five separates cubed, which is no misconception here",
        ),
        (
            {"replaced": {"rng.normal(size=5)": "np.zeros(5)"}},
            "double: the case five does not see squared, left_alone; draw other inputs",
        ),
        (
            {"added": CASE.format(options="")},
            'double: the case more separates nothing; say what it separates, or make it '
            'kind="robustness"',
        ),
        ({"added": CASE.format(options=', kind="robustness"')}, None),
        (
            {"replaced": {"rng.normal(size=5)": "np.full(5, 2.0)", ', separates=["squared", '
                          '"left_alone"]': ', separates=["left_alone"]'}},
            "double: no public case sees the public misconception squared; add one, or make it",
        ),
    ],
)  # fmt: skip
def test_weaknesses(tmp_path, changed, complaint):
    report = report_of(tmp_path, **changed)
    assert report.well == (complaint is None)
    if complaint is not None:
        assert any(re.match(complaint, found) for found in report.complaints), report.complaints


def test_targets_and_order(tmp_path):
    course = courses.make_course(tmp_path)
    (alone,) = validate(course, [f"{courses.NAME}/double"], "1")
    (whole,) = validate(course, (), "1")
    assert alone == whole
    with pytest.raises(AuthoringError, match="has no exercise called tripled; it has: double"):
        validate(course, [f"{courses.NAME}/tripled"])
    with pytest.raises(CourseNotFound, match="no assignment called ps9"):
        validate(course, ["ps9"])


def test_a_multiple_choice_that_pays_guessers_is_remarked_on(tmp_path, capsys):
    """Which does not make the pack weak: an author may have reasons."""
    course = courses.make_course(tmp_path)
    (course / "solutions" / courses.NAME / "quiz.yaml").write_text(QUIZ, "utf-8")
    (report,) = validate(course, [courses.NAME], "1")
    assert report.well
    assert report.remarks == (
        "the question half: choosing at random earns 0.20 of its points, with 2 right options of "
        "4; add wrong options",
    )
    print_validations([report])
    assert "- remark: the question half: choosing at random" in capsys.readouterr().out


def test_reports_for_programs(tmp_path):
    plain = json.loads(to_json([report_of(tmp_path)]))
    assert [item["assignment"] for item in plain] == [courses.NAME]
    assert plain[0]["well"] is True and plain[0]["schema"] == 1
    assert plain[0]["exercises"][0]["names"] == ["squared", "left_alone"]
