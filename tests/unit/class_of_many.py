"""Result documents made up for tests of what is read of them, of any size."""

import random

from autograder.result import (
    CheckResult,
    ExerciseResult,
    QuestionResult,
    ResultDocument,
    SubmissionResult,
    Version,
    total,
)

EXERCISES = {"project": 2.0, "softmax": 4.0, "attend": 3.0}
MISTAKES = ("over_queries", "whole_matrix", "twice")
QUESTIONS = ("one", "two")


def exercise(name, most, rng):
    draw = rng.random()
    if draw < 0.6:
        return ExerciseResult(name=name, outcome="passed", score=most, max_score=most)
    checks = (CheckResult(name="values", outcome="failed", message="no"),)
    if draw < 0.8:
        mistake = rng.choice(MISTAKES)
        return ExerciseResult(
            name=name, outcome="failed", score=0.25 * most, max_score=most,
            misconceptions=(mistake,), checks=checks,
            feedback=f"{name}: wrong values in “a case”\n  Likely cause: {mistake}.",
        )  # fmt: skip
    outcome = rng.choice(["error", "missing", "timed_out", "failed"])
    said = f"{name}: an exception\n  Your code raised ValueError: {rng.random()}."
    return ExerciseResult(name=name, outcome=outcome, score=0.0, max_score=most, feedback=said)


def student(name, rng):
    exercises = tuple(exercise(item, most, rng) for item, most in EXERCISES.items())
    questions = tuple(
        QuestionResult(id=item, outcome=outcome, score=float(outcome == "correct"), max_score=1.0)
        for item in QUESTIONS
        for outcome in [rng.choice(["correct", "correct", "incorrect", "unanswered"])]
    )
    return SubmissionResult(
        student=name, file="x.py", sha256="0" * 64, outcome="graded", isolation="strong",
        score=total([*exercises, *questions]), max_score=11.0, seconds=0.1,
        exercises=exercises, questions=questions,
    )  # fmt: skip


def document(count, assignment="ps1", seed=1):
    """A class of `count`, the same for the same seed."""
    rng = random.Random(seed)
    students = tuple(student(f"student{number:04d}", rng) for number in range(count))
    return document_of(students, assignment)


def document_of(students, assignment="ps1"):
    version = Version(package="0", exercises={})
    return ResultDocument(
        assignment=assignment, seed="1", isolation="strong", version=version,
        submissions=tuple(students),
    )  # fmt: skip
