"""Gradescope's results.json: one student's, or a zip file with `<student>/results.json` each.

Fields are those of Gradescope's autograder specification. The top-level score counts, so
that rounding is that of the result document; every exercise and question is a test. A text
is text (`output_format`), so that Gradescope escapes it. Where a fault of ours left no
score there is no file: one without any score is not valid, and a 0 would be wrong.
"""

from __future__ import annotations

import io
import zipfile
from typing import Any

import msgspec

from autograder.export import CannotExport, Exported, Options, without_score
from autograder.importing import student_folder
from autograder.result import ResultDocument, SubmissionResult
from autograder.wheels import DATE


def write(document: ResultDocument, options: Options) -> Exported:
    """The file of `options.student`, else all in a zip file."""
    if options.student is not None:
        for result in document.submissions:
            if result.student == options.student:
                if result.score is None:
                    raise CannotExport(
                        f"{result.student} has no score, through a fault of ours; grade again"
                    )
                return Exported(results_json(result))
        raise CannotExport(
            f"there is no student {options.student} in these results; leave --student out for "
            "a zip file of all"
        )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for result in document.submissions:
            if result.score is not None:
                name = f"{student_folder(result.student) or '_'}/results.json"
                archive.writestr(zipfile.ZipInfo(name, DATE), results_json(result))
    waiting = [result.student for result in document.submissions if result.score is None]
    remarks = (without_score(waiting),) if waiting else ()
    return Exported(packed.getvalue(), remarks=remarks)


def results_json(result: SubmissionResult) -> bytes:
    """The results.json of a submission that has a score."""
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
    assert result.score is not None
    plain: dict[str, Any] = {
        "score": round(result.score, 2) + 0.0,
        "execution_time": round(result.seconds, 3),
        "output": "\n".join(result.messages),
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
    assert score is not None
    return {
        "name": name,
        "score": round(score, 2) + 0.0,
        "max_score": max_score,
        "status": "passed" if passed else "failed",
        "output": output,
        "output_format": "text",
        "visibility": "visible",
        "tags": tags,
    }
