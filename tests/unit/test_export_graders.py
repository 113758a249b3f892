"""Gradescope's results.json by a schema made from its documentation; JUnit XML by junitparser."""

from __future__ import annotations

import io
import json
import zipfile

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, TestCase, TestSuite

from autograder.export import CannotExport, Options, export
from autograder.result import ExerciseResult
from tests.unit.test_export import NAMES, OURS, PS, document, submission

VISIBILITY = {"enum": ["hidden", "after_due_date", "after_published", "visible"]}
FORMAT = {"enum": ["text", "html", "simple_format", "md", "ansi"]}
SCORED = {"required": ["tests"], "properties": {"tests": {"items": {"required": ["score"]}}}}
# https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
GRADESCOPE = {
    "type": "object",
    "anyOf": [{"required": ["score"]}, SCORED],
    "additionalProperties": False,
    "properties": {
        "score": {"type": "number"},
        "execution_time": {"type": "number"},
        "output": {"type": "string"},
        "output_format": FORMAT,
        "test_output_format": FORMAT,
        "test_name_format": FORMAT,
        "visibility": VISIBILITY,
        "stdout_visibility": VISIBILITY,
        "extra_data": {"type": "object"},
        "leaderboard": {"type": "array"},
        "tests": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "score": {"type": "number"},
                    "max_score": {"type": "number"},
                    "status": {"enum": ["passed", "failed"]},
                    "name": {"type": "string"},
                    "name_format": FORMAT,
                    "number": {"type": "string"},
                    "output": {"type": "string"},
                    "output_format": FORMAT,
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "visibility": VISIBILITY,
                    "extra_data": {"type": "object"},
                },
            },
        },
    },
}


def gradescope(result):
    """What Gradescope would read, valid by its documentation."""
    exported = export("gradescope", document(result), Options(student=result.student))
    found = json.loads(exported.data, parse_constant=lambda text: pytest.fail(text))
    jsonschema.validate(found, GRADESCOPE)
    return found


class TestGradescope:
    def test_scores(self):
        found = gradescope(submission("s01", messages=("late", "twice")))
        assert (found["score"], found["output"]) == (3.5, "late\ntwice")
        assert [(t["number"], t["name"], t["score"], t["max_score"]) for t in found["tests"]] == [
            ("1", "softmax", 2.0, 2.0),
            ("2", "attend", 0.33, 2.0),
            ("3", "question: why", 1.0, 1.0),
        ]
        assert [test["status"] for test in found["tests"]] == ["passed", "failed", "passed"]
        assert found["tests"][1]["tags"] == ["failed", "a", "b"]

    def test_a_fault_of_ours_gives_no_file(self):
        """Without a score it would not be valid, and with 0 not right."""
        with pytest.raises(CannotExport, match="ours has no score"):
            export("gradescope", document(OURS), Options(student="ours"))

    def test_a_text_stays_a_text(self):
        text = '<img src=x onerror="alert(1)"> **bold** \x1b[31m'
        exercise = ExerciseResult(
            name="softmax", outcome="failed", score=0.0, max_score=2.0, feedback=text
        )
        found = gradescope(submission("s", exercises=(exercise,), messages=(text,)))
        assert found["tests"][0]["output"] == found["output"] == text
        assert found["tests"][0]["output_format"] == found["output_format"] == "text"

    def test_all_in_a_zip_file(self):
        names = [name for name in NAMES if "\ud800" not in name]
        exported = export("gradescope", document(*map(submission, names[:9]), OURS))
        data = exported.data
        assert "1 without a score" in exported.remarks[0] and exported.left_out == ()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert archive.testzip() is None
            paths = archive.namelist()
            for path in paths:
                jsonschema.validate(json.loads(archive.read(path)), GRADESCOPE)
        assert len(set(paths)) == len(paths) == 9
        assert all(path.count("/") == 1 and ".." not in path for path in paths)
        assert data == export("gradescope", document(*map(submission, names[:9]), OURS)).data

    def test_a_student_who_is_not_there(self):
        with pytest.raises(CannotExport, match="no student x in these results; leave --student"):
            export("gradescope", document(OURS), Options(student="x"))


def suites(*results):
    """What JUnit's readers see: suite → (suite, its cases by name, its properties)."""
    xml = JUnitXml.fromstring(export("junit", document(*results)).data)
    found = {}
    for suite in xml:
        assert isinstance(suite, TestSuite)
        cases = {case.name: case for case in suite if isinstance(case, TestCase)}
        found[suite.name] = suite, cases, {p.name: p.value for p in suite.properties()}
    return xml, found


class TestJunit:
    def test_scores_and_outcomes(self):
        xml, found = suites(submission("s01"), OURS)
        assert (xml.tests, xml.failures, xml.errors) == (7, 1, 2)
        suite, cases, properties = found["s01"]
        assert (suite.tests, suite.failures, suite.errors) == (3, 1, 0)
        assert cases["softmax"].is_passed and cases["q_why"].is_passed
        [failure] = cases["attend"].result
        assert isinstance(failure, Failure) and failure.type == "failed"
        assert (properties["score"], properties["score:attend"]) == ("3.5", "0.33")

    def test_a_fault_of_ours_is_an_error_without_a_score(self):
        _, found = suites(OURS)
        _, cases, properties = found["ours"]
        assert isinstance(cases["softmax"].result[0], Error)
        assert isinstance(cases["submission"].result[0], Error)
        assert "score" not in properties and "score:softmax" not in properties
        assert properties["score:attend"] == "2"

    def test_what_was_said(self):
        text = '✗ softmax: “each column sums to 1” fails\n  expected <1> & got "2"\x00\x1b'
        exercise = ExerciseResult(
            name="softmax", outcome="failed", score=0.0, max_score=2.0, feedback=text
        )
        _, found = suites(submission("s", exercises=(exercise,)))
        [failure] = found["s"][1]["softmax"].result
        assert failure.message == "✗ softmax: “each column sums to 1” fails"
        assert failure.text == text.replace("\x00", "\ufffd").replace("\x1b", "\ufffd")

    @pytest.mark.parametrize("name", NAMES)
    def test_every_name_comes_back(self, name):
        _, found = suites(submission(name))
        [there] = found
        assert there == name.replace("\0", "\ufffd").replace("\ud800", "\ufffd")

    @given(st.text())
    def test_any_text_is_xml(self, text):
        exercise = ExerciseResult(
            name="e", outcome="error", score=0.0, max_score=2.0, feedback=text
        )
        _, found = suites(submission("s", exercises=(exercise,), messages=(text,)))
        assert set(found["s"][1]) == {"e", "q_why"}

    def test_unreadable(self):
        result = submission(
            "s", outcome="unreadable", score=0.0, exercises=(), questions=(), messages=("no file",)
        )
        _, found = suites(result)
        assert found["s"][1]["submission"].result[0].message == "no file"

    def test_the_assignment_is_the_class_of_a_case(self):
        _, found = suites(submission("s"))
        assert {case.classname for case in found["s"][1].values()} == {PS}
