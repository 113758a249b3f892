"""The class that both graders are given: the same notebooks, the same for the same seed."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder import demo, stubs
from autograder.pack import Pack, load_pack
from autograder.quiz import Question, for_student, guessing, load_quiz

ROOT = Path(__file__).parents[1]
PS = "ps3_multi_head"
SEED = 1


@dataclass(frozen=True)
class Class:
    """Folders in nbgrader's layout, and which of the students are right."""

    assignment: str
    submitted: Path
    right: Mapping[str, bool]
    exercise_points: float  # of the release, without the quiz

    @property
    def size(self) -> int:
        return len(self.right)


def make_class(folder: Path, count: int, assignment: str = PS) -> Class:
    """`count` notebooks made from the release: every second one with one misconception.

    Those that are right are written as the reference is or in another right way, exercise by
    exercise, so that not even they are all alike.
    """
    pack = load_pack(ROOT, assignment)
    release = ROOT / "assignments" / assignment
    students = _students(pack, load_quiz(pack.folder), count)
    for student in students:
        demo.hand_in(student, pack, release, folder / student.name / assignment)
    right = {student.name: student.kind == "right" for student in students}
    return Class(assignment, folder, right, _points(release / f"{assignment}.ipynb"))


def _points(notebook: Path) -> float:
    cells = json.loads(notebook.read_text("utf-8"))["cells"]
    about = [cell["metadata"].get("nbgrader", {}) for cell in cells]
    return sum(
        float(cell["points"])
        for cell in about
        if cell.get("grade") and not cell["grade_id"].startswith("check_q_")
    )


def _students(pack: Pack, questions: Sequence[Question], count: int) -> list[demo.Student]:
    rng = random.Random(SEED)
    made = []
    for number in range(count):
        code = {name: _right(pack, name, rng) for name in pack.exercises}
        kind = "one" if number % 2 else "right"
        if kind == "one":
            name = rng.choice(list(pack.exercises))
            # a public one, since stock nbgrader sees nothing but the public cases
            known = [m.name for m in pack.exercises[name].misconceptions if not m.hidden]
            code[name] = _code(pack.sources[name], rng.choice(known), name)
        student = f"student{number:04d}"
        answers = {each.id: guessing.right(for_student(each, student)) for each in questions}
        made.append(demo.Student(student, kind, code, answers, "notebook"))
    return made


def _right(pack: Pack, name: str, rng: random.Random) -> str:
    ways = [name, *(other.name for other in pack.exercises[name].alternatives)]
    return _code(pack.sources[name], rng.choice(ways), name)


@functools.cache
def _code(source: str, function: str, exercise: str) -> str:
    """What a student hands in: the same few texts for hundreds of them."""
    return stubs.student_code(source, function, exercise)
