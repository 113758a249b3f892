"""The corpus through the whole path: read from a file, observed in the sandbox, judged."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

from autograder.evaluation import evaluate
from autograder.grading import DEFAULT_LIMITS, Assignment
from autograder.submission import read
from tests.students.corpus import students_of

COURSE = Path(__file__).parents[2]
ASSIGNMENTS = {
    "ps1": "ps1_numpy_attention",
    "ps2": "ps2_torch_attention",
    "ps3": "ps3_multi_head",
}


def grade_all(folder, seed="students"):
    """Student → the result of the exercise that this student wrote.

    Judging takes longer than observing and is Python's own work: a process for each set.
    """
    with ProcessPoolExecutor(2, get_context("spawn")) as processes:
        jobs = {ps: processes.submit(grade_set, ps, folder, seed) for ps in ASSIGNMENTS}
        return {
            student: result
            for ps, job in jobs.items()
            for student, result in zip(students_of(ps), job.result(), strict=True)
        }


def grade_set(ps, folder, seed):
    """The results of a set's students, in their order."""
    from autograder.observe.pool import ZygotePool

    assignment = Assignment.draw(COURSE, ASSIGNMENTS[ps], seed)
    specs = {spec.name: spec for spec in assignment.specs}

    def one(numbered):
        number, student = numbered
        place = folder / ps / str(number)
        place.mkdir(parents=True)
        submission = read(student.hand_in(place, assignment.name))
        return evaluate(submission, [specs[student.exercise]], open_session)[0]

    def open_session(**own):
        return pool.session(replace(DEFAULT_LIMITS, **own))

    with ZygotePool(assignment.framework, size=2) as pool, ThreadPoolExecutor(2) as threads:
        return list(threads.map(one, enumerate(students_of(ps))))
