"""Gradescope's results.json: one student's, or a zip file with `<student>/results.json` each.

Fields are those of Gradescope's autograder specification. The top-level score counts, so
that rounding is that of the result document; every exercise and question is a test. A text
is text (`output_format`), so that Gradescope escapes it. Where a fault of ours left no
score there is none at the top and none at the exercise: Gradescope then asks for another run.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

import msgspec

from autograder.export import CannotExport, Exported, Options
from autograder.importing import student_folder
from autograder.result import ResultDocument, SubmissionResult

# Zip files with equal contents are equal bytes.
_DATE = (1980, 1, 1, 0, 0, 0)


def write(document: ResultDocument, options: Options) -> Exported:
    """The file of `options.student`, else all in a zip file."""
    if options.student is not None:
        for result in document.submissions:
            if result.student == options.student:
                return Exported(results_json(result))
        raise CannotExport(
            f"there is no student {options.student} in these results; leave --student out for "
            "a zip file of all"
        )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for result in document.submissions:
            name = f"{student_folder(result.student) or '_'}/results.json"
            archive.writestr(zipfile.ZipInfo(name, _DATE), results_json(result))
    return Exported(packed.getvalue())


def results_json(result: SubmissionResult) -> bytes:
    """One student's results.json."""
    tests: list[dict[str, Any]] = [
        _test(
            exercise.name,
            exercise.score,
            exercise.max_score,
            exercise.feedback,
            passed=exercise.outcome == "passed",
            tags=[exercise.outcome, *exercise.misconceptions],
        )
        for exercise in result.exercises
    ]
    tests += [
        _test(
            f"question: {question.id}",
            question.score,
            question.max_score,
            question.message,
            passed=question.outcome == "correct",
            tags=[question.outcome],
        )
        for question in result.questions
    ]
    for number, test in enumerate(tests, 1):
        test["number"] = str(number)
    output = "\n".join(result.messages)
    plain: dict[str, Any] = {
        "execution_time": round(result.seconds, 3),
        "output": output,
        "output_format": "text",
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {
            "outcome": result.outcome,
            "isolation": result.isolation,
            "file": result.file,
            "sha256": result.sha256,
            "max_score": result.max_score,
        },
    }
    if result.score is not None:
        plain = {"score": round(result.score, 2) + 0.0, **plain}
    else:
        for test in tests:  # or Gradescope would add up those of the others
            test.pop("score", None)
        plain["output"] = (
            f"{output}\nThis could not be graded, through a fault of ours, and costs no points: "
            "please tell your instructor, who can run the autograder again."
        ).lstrip()
    return msgspec.json.format(msgspec.json.encode(plain), indent=2) + b"\n"


def _test(
    name: str,
    score: float | None,
    max_score: float,
    output: str,
    *,
    passed: bool,
    tags: list[str],
) -> dict[str, Any]:
    test: dict[str, Any] = {
        "name": name,
        "max_score": max_score,
        "status": "passed" if passed else "failed",
        "output": output,
        "output_format": "text",
        "visibility": "visible",
        "tags": tags,
    }
    if score is not None:
        test["score"] = round(score, 2) + 0.0
    return test
