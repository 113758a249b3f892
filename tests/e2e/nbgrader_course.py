"""A real nbgrader course in a temporary folder, and notebooks as students hand them in."""

from __future__ import annotations

import atexit
import copy
import json
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from autograder import build, stubs
from autograder.pack import load_pack
from autograder.quiz import STUDENT_ID, for_student, guessing, load_quiz

REPOSITORY = Path(__file__).resolve().parents[2]
PS1 = "ps1_numpy_attention"
OWN_TEXT, OWN_TEST = "explain", "own_test"
CANARY = "canary_in_a_hidden_test"
OWN = "OWN_ANSWER_OF_{}"  # until it is known whose


def make_course(root: Path) -> Path:
    """The repository's configuration and first assignment in a folder of its own."""
    return Path(shutil.copytree(_built_course(), root, dirs_exist_ok=True))


@cache
def _built_course() -> Path:
    """Built once in a process, for seconds; what is built does not depend on where it lies."""
    folder = Path(tempfile.mkdtemp(prefix="autograder-course-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    root = folder / "course"
    (root / "source" / PS1).mkdir(parents=True)
    shutil.copy(REPOSITORY / "nbgrader_config.py", root)
    shutil.copytree(
        REPOSITORY / "solutions" / PS1,
        root / "solutions" / PS1,
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    shutil.copy(REPOSITORY / "source" / PS1 / f"{PS1}.ipynb", root / "source" / PS1)
    _add_own_cells(root / "source" / PS1 / f"{PS1}.ipynb")
    build.build(root)
    return root


def _add_own_cells(path: Path) -> None:
    """Graded cells of the instructor's own: a text that people grade, and a test cell."""
    book = json.loads(path.read_text("utf-8"))
    own = {"grade": True, "schema_version": 3, "task": False, "points": 3}
    text = {"grade_id": OWN_TEXT, "solution": True, "locked": False, **own}
    test = {"grade_id": OWN_TEST, "solution": False, "locked": True, **own}
    tests = f"assert True\n### BEGIN HIDDEN TESTS\n{CANARY} = 1\n### END HIDDEN TESTS"
    book["cells"] += [
        _cell("markdown", "own-text", "Explain.", {"nbgrader": text}),
        _cell("code", "own-test", tests, {"nbgrader": test}, outputs=[], execution_count=None),
    ]
    path.write_text(json.dumps(book), "utf-8")


def _cell(cell_type: str, name: str, source: str, metadata: dict, **more: object) -> dict:
    return {"cell_type": cell_type, "id": name, "source": source, "metadata": metadata, **more}


class Written:
    """What a student may hand in of an assignment: texts for its cells, by grade_id."""

    def __init__(self, course: Path, assignment: str = PS1) -> None:
        self.assignment = assignment
        self.pack = load_pack(course, assignment)
        self.questions = load_quiz(self.pack.folder)
        folder = course / "assignments" / assignment
        self.release = json.loads((folder / f"{assignment}.ipynb").read_text("utf-8"))
        self.module_stub = (folder / f"{assignment}.py").read_text("utf-8")

    def right(self) -> dict[str, str]:
        """Every exercise and question right, once `hand_in` knows whose it is."""
        texts = {}
        for name, exercise in self.pack.exercises.items():
            cell = stubs.solution_cell(exercise, self.pack.sources[name])
            lines = [line for line in cell.split("\n") if "### " not in line]
            texts[name] = "\n".join(lines)
        for question in self.questions:
            answer = OWN.format(question.id) if question.draws else repr(guessing.right(question))
            texts[question.variable] = f"{question.variable} = {answer}"
        if any(question.draws for question in self.questions):
            texts[STUDENT_ID] = f'{STUDENT_ID} = "{OWN.format(STUDENT_ID)}"'
        return texts

    def notebook(self, texts: Mapping[str, str]) -> dict:
        """The released notebook with some cells written."""
        book = copy.deepcopy(self.release)
        for cell in book["cells"]:
            if grade_id(cell) in texts:
                cell["source"] = texts[grade_id(cell)]
        return book

    def module(self, texts: Mapping[str, str]) -> str:
        """A module with these definitions and answers."""
        return "\n\n\n".join(["import math\nimport numpy as np", *texts.values()]) + "\n"


def grade_id(cell: Mapping) -> str | None:
    return cell["metadata"].get("nbgrader", {}).get("grade_id")


def cell_of(book: Mapping, name: str) -> dict:
    """The one cell of a notebook that has this grade_id."""
    [found] = [cell for cell in book["cells"] if grade_id(cell) == name]
    return found


def hand_in(
    course: Path, student: str, content: object, assignment: str = PS1, suffix: str = ".ipynb"
) -> Path:
    """Put a file into submitted/. A notebook may be given as its JSON, text or bytes.

    Right answers with the student's own numbers are put in where `Written.right` left them open.
    """
    folder = course / "submitted" / student / assignment
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{assignment}{suffix}"
    if isinstance(content, dict):
        content = json.dumps(content, ensure_ascii=False)
    if isinstance(content, str):
        for question in load_quiz(course / "solutions" / assignment):
            if question.draws:
                own = repr(guessing.right(for_student(question, student)))
                content = content.replace(OWN.format(question.id), own)
        content = content.replace(OWN.format(STUDENT_ID), student)
    path.write_bytes(content if isinstance(content, bytes) else str(content).encode())
    return path


def api_of(course: Path, **settings: object):
    """nbgrader's API as formgrader and scripts use it, with the course's own configuration.

    settings: as `ObserveAndJudge__timeout=0.5`.
    """
    from nbgrader.apps import NbGraderAPI
    from traitlets.config.loader import PyFileConfigLoader

    config = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
    config.CourseDirectory.root = str(course)
    for name, value in settings.items():
        section, option = name.split("__")
        config[section][option] = value
    return NbGraderAPI(config=config)


def gradebook_of(course: Path):
    from nbgrader.api import Gradebook

    return Gradebook(f"sqlite:///{course / 'gradebook.db'}", "attention")


def scores_of(course: Path, student: str, assignment: str = PS1) -> dict[str, float | None]:
    """Automatic scores by check cell, as the gradebook has them."""
    with gradebook_of(course) as gradebook:
        book = gradebook.find_submission_notebook(assignment, assignment, student)
        return {grade.name: grade.auto_score for grade in book.grades}


def open_cells_of(course: Path, student: str, assignment: str = PS1) -> set[str]:
    """Cells that wait for a score given by hand."""
    with gradebook_of(course) as gradebook:
        book = gradebook.find_submission_notebook(assignment, assignment, student)
        return {grade.name for grade in book.grades if grade.needs_manual_grade}


def comments_of(course: Path, student: str, assignment: str = PS1) -> dict[str, str | None]:
    """Comments by solution cell: the one given by hand where there is one."""
    with gradebook_of(course) as gradebook:
        book = gradebook.find_submission_notebook(assignment, assignment, student)
        return {comment.name: comment.comment for comment in book.comments}


def autograded(course: Path, student: str, assignment: str = PS1) -> dict:
    """The notebook that nbgrader shows to graders."""
    path = course / "autograded" / student / assignment / f"{assignment}.ipynb"
    return json.loads(path.read_text("utf-8"))


def feedback_page(course: Path, student: str, assignment: str = PS1) -> str:
    path = course / "feedback" / student / assignment / f"{assignment}.html"
    return path.read_text("utf-8")
