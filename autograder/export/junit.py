"""JUnit XML: a suite for each student, a case for each exercise and question.

Passed is passed; everything else that a student did is a failure whose type is the outcome;
a fault of ours is an error. Scores stand in a suite's properties (`score`, `max_score`,
`score:softmax`), and there is none where there is no score.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

from autograder.export import Exported, Options, points
from autograder.result import ResultDocument, SubmissionResult

# What XML 1.0 cannot hold, not even escaped.
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(document: ResultDocument, options: Options) -> Exported:
    """All students' suites."""
    suites = [_suite(document.assignment, result) for result in document.submissions]
    root = ElementTree.Element("testsuites", name=document.assignment)
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.set("time", f"{sum(result.seconds for result in document.submissions):.3f}")
    root.extend(suites)
    ElementTree.indent(root)
    return Exported(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def _suite(assignment: str, result: SubmissionResult) -> ElementTree.Element:
    suite = ElementTree.Element("testsuite", name=_text(result.student))
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _properties(result):
        ElementTree.SubElement(properties, "property", name=name, value=value)
    counts = {"tests": 0, "failures": 0, "errors": 0}
    for name, outcome, text in _cases(result):
        case = ElementTree.SubElement(suite, "testcase", classname=assignment, name=name)
        case.set("time", "0")  # of an exercise alone it is not known
        counts["tests"] += 1
        if outcome in ("passed", "correct"):
            continue
        tag, count = ("failure", "failures")
        if outcome == "infrastructure":
            tag, count = ("error", "errors")
        counts[count] += 1
        first = text.strip().partition("\n")[0] or outcome
        fault = ElementTree.SubElement(case, tag, type=outcome, message=_text(first))
        fault.text = _text(text)
    for key, number in counts.items():
        suite.set(key, str(number))
    suite.set("skipped", "0")
    suite.set("time", f"{result.seconds:.3f}")
    return suite


def _cases(result: SubmissionResult) -> Iterator[tuple[str, str, str]]:
    """(name, outcome, what was said) of everything that is judged."""
    if result.outcome != "graded":
        yield "submission", result.outcome, "\n".join(result.messages)
    for exercise in result.exercises:
        yield exercise.name, exercise.outcome, exercise.feedback
    for question in result.questions:
        yield f"q_{question.id}", question.outcome, question.message


def _properties(result: SubmissionResult) -> Iterator[tuple[str, str]]:
    scores = [("score", result.score), ("max_score", result.max_score)]
    scores += [(f"score:{each.name}", each.score) for each in result.exercises]
    scores += [(f"score:q_{each.id}", each.score) for each in result.questions]
    for name, score in scores:
        if score is not None:
            yield name, points(score)
    yield "outcome", result.outcome
    yield "isolation", result.isolation


def _text(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
