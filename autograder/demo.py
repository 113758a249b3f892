"""A synthetic class, graded for real: what an instructor sees after the first assignment.

Students are made from the pack: each exercise right, one of its misconceptions, left as
the stub, looping or raising. Half hand in the notebook, half the module. The class stands
in a course of its own, so that it can be explored with nbgrader and thrown away.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder import stubs
from autograder.pack import CourseNotFound, Pack, load_pack
from autograder.quiz import STUDENT_ID, Question, for_student, guessing, load_quiz
from autograder.report.quality import measured
from autograder.report.writing import write_report
from autograder.run import Run

MARKER = ".autograder-demo"
# Seconds for one case: one of the students loops for ever, and a busy machine is slow.
TIMEOUT = 4.0

# A class of four already has the four that are most common, one of 20 has every kind.
KINDS = (
    *("right", "one", "two", "missing", "one", "right", "one", "two"),
    *("right", "one", "two", "looping", "one", "right", "one", "two"),
    *("right", "two", "one", "raising", "one", "right", "two", "right"),
    *("missing", "two", "one", "right"),
)


class DemoFolderTaken(Exception):
    """The folder holds something that is not a demo; the message says what to do."""


@dataclass(frozen=True)
class Student:
    """One synthetic student: code for each exercise, an answer for each question.

    hands_in: "notebook" or "module". mistakes: exercise → the misconception that its code has.
    """

    name: str
    kind: str
    code: Mapping[str, str]
    answers: Mapping[str, object]
    hands_in: str
    mistakes: Mapping[str, str] = field(default_factory=dict)


def make_class(
    pack: Pack, questions: Sequence[Question], count: int, seed: int = 1
) -> list[Student]:
    """`count` students, the same for the same seed."""
    rng = random.Random(seed)
    return [_student(pack, questions, number, rng) for number in range(1, count + 1)]


def _student(pack: Pack, questions: Sequence[Question], number: int, rng: random.Random) -> Student:
    kind = KINDS[(number - 1) % len(KINDS)]
    names = list(pack.exercises)
    code = {name: stubs.student_code(source, name, name) for name, source in pack.sources.items()}
    mistakes = {}
    for name in rng.sample(names, {"one": 1, "two": 2}.get(kind, 0)):
        known = [mistake.name for mistake in pack.exercises[name].misconceptions]
        # as in a real class, a few mistakes are common and many are rare
        shares = [1 / rank**2 for rank in range(1, len(known) + 1)]
        mistakes[name] = rng.choices(known, shares)[0]
        code[name] = stubs.student_code(pack.sources[name], mistakes[name], name)
    if kind == "missing":
        for name in names[len(names) // 2 :]:
            code[name] = stubs.stub_cell(pack.exercises[name], pack.sources[name])
    if kind in ("looping", "raising"):
        name = rng.choice(names)
        body = "while True:\n        pass" if kind == "looping" else "raise ValueError('what now?')"
        code[name] = f"def {name}(*arguments):\n    {body}"
    student = f"student{number:02d}"
    answers = {each.id: _answer(for_student(each, student), rng) for each in questions}
    hands_in = "notebook" if number % 2 else "module"
    return Student(student, kind, code, answers, hands_in, mistakes)


def _answer(question: Question, rng: random.Random) -> object:
    """Right more often than not; else a known mistake, a guess, or nothing."""
    draw = rng.random()
    if draw < 0.6:
        return guessing.right(question)
    if draw < 0.7:
        return None
    return guessing.guess(question, rng) if draw < 0.75 else guessing.mistaken(question, rng)


def hand_in(student: Student, pack: Pack, release: Path, folder: Path) -> None:
    """Write a student's submission: their code in the released notebook or module."""
    folder.mkdir(parents=True)
    if student.hands_in == "notebook":
        book = json.loads((release / f"{pack.name}.ipynb").read_text("utf-8"))
        for cell in book["cells"]:
            grade_id = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
            if grade_id in student.code:
                cell["source"] = student.code[grade_id].splitlines(keepends=True)
            elif grade_id.startswith("q_") and grade_id[2:] in student.answers:
                cell["source"] = [f"{grade_id} = {student.answers[grade_id[2:]]!r}"]
            elif grade_id == STUDENT_ID:
                cell["source"] = [f"{STUDENT_ID} = {student.name!r}"]
        text = json.dumps(book, ensure_ascii=False, indent=1) + "\n"
        (folder / f"{pack.name}.ipynb").write_text(text, "utf-8")
        return
    text = (release / f"{pack.name}.py").read_text("utf-8")
    for name, code in student.code.items():
        text = text.replace(stubs.stub_cell(pack.exercises[name], pack.sources[name]), code)
    lines = [f"{STUDENT_ID} = {student.name!r}"]
    lines += [f"q_{name} = {answer!r}" for name, answer in student.answers.items()]
    (folder / f"{pack.name}.py").write_text(text + "\n" + "\n".join(lines) + "\n", "utf-8")


def make_course(course: Path, assignment: str, folder: Path) -> None:
    """A course of its own in `folder`, with copies of what it needs; emptied before."""
    if folder.exists() and any(folder.iterdir()) and not (folder / MARKER).exists():
        raise DemoFolderTaken(
            f"{folder} is not empty and was not made by this command; choose another --folder"
        )
    parts = [f"{part}/{assignment}" for part in ("solutions", "source", "assignments")]
    for part in parts:
        if not (course / part).is_dir():
            raise CourseNotFound(f"there is no {part} in {course}; run autograder build first")
    # the solution of a gift lies in another set
    parts += {f"solutions/{gift.assignment}" for gift in load_pack(course, assignment).given}
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    (folder / MARKER).write_text("Made by `autograder demo`, which empties it.\n", "utf-8")
    for part in parts:
        shutil.copytree(course / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(course / "nbgrader_config.py", folder / "nbgrader_config.py")


def run_demo(course: Path, assignment: str, folder: Path, students: int) -> int:
    """Make the class, grade it, and say where everything is; the exit status of the run."""
    folder = folder.resolve()
    make_course(course, assignment, folder)
    pack = load_pack(folder, assignment)
    for student in make_class(pack, load_quiz(pack.folder), students):
        where = folder / "submitted" / student.name / assignment
        hand_in(student, pack, folder / "assignments" / assignment, where)
    print(f"Made a class of {students} in {folder / 'submitted'}; grading it …")
    run = Run(
        course=folder,
        assignment=assignment,
        json_file=folder / "result.json",
        timeout=TIMEOUT,
        gradebook=f"sqlite:///{folder / 'gradebook.db'}",
        feedback=folder / "feedback",
        resume=False,
        allow_unsandboxed=True,  # all of this code is ours
    )
    status = run.execute()
    first = next(
        iter(sorted((folder / "feedback").rglob(f"{assignment}.html"))), folder / "feedback"
    )
    print("Measuring the problem set itself, for the class report …")
    quality = measured(course, assignment)
    page = folder / "report.html"
    write_report(folder, assignment, folder / "result.json", page, quality=quality)
    print(f"Report:    {page}")
    print(f"Results:   {folder / 'result.json'}")
    print(
        f"Gradebook: {folder / 'gradebook.db'} (cd {folder.name}; nbgrader's formgrader shows it)"
    )
    print(f"Feedback:  {first} and one page for each student")
    return status
