"""The same hostile code through `nbgrader autograde` with our plug-in, and nbgrader's pages."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from autograder.pack import load_pack
from tests.e2e.nbgrader_course import (
    CANARY,
    OWN_TEST,
    OWN_TEXT,
    PS1,
    Written,
    api_of,
    gradebook_of,
    hand_in,
    make_course,
    scores_of,
)
from tests.hostile import notebooks
from tests.hostile.kinds import GOT, Hostile
from tests.hostile.suite import SUITE
from tests.hostile.world import World

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.needs_debian("libseccomp2", library="seccomp"),
]

SEED = "hostile notebooks"
# A notebook takes nbgrader a quarter of a second: of each kind some in `make test`, all in soak.
SOME = [hostile for number, hostile in enumerate(SUITE) if number % 16 == 0]

# What a page may hold only as often as that of an honest student.
ACTIVE = ("script", "iframe", "object", "embed", "form", "base", "meta", "link", "style", "svg")


@dataclass
class Graded:
    """A course in which hostile notebooks were autograded after honest ones."""

    course: Path
    world: World
    handed_in: dict[str, Hostile]
    markup: list[str]
    before: dict
    answer: dict
    harm: list[str]
    kernel: Path


def grade(root: Path, hostiles: list[Hostile]) -> Graded:
    """Autograde honest students, then all hostile ones, in one nbgrader course."""
    course = make_course(root / "a course")
    written = Written(course)
    hand_in(course, "alice", written.notebook(written.right()))
    hand_in(course, "bob", written.notebook({}))
    settings = {"ObserveAndJudge__seed": SEED, "ObserveAndJudge__timeout": 0.5}
    settings["ObserveAndJudge__memory"] = 96
    honest = api_of(course, **settings).autograde(PS1, "*")
    assert honest["success"], honest["error"]
    before = notebooks.dump(course / "gradebook.db")
    with World(root / "world") as world:
        handed_in = notebooks.hand_in_code(world, written, course, SEED, hostiles)
        markup = notebooks.hand_in_markup(written, course)
        answer = api_of(course, **settings).autograde(PS1, "ma*")
        harm = world.harm()
    kernel = root / "kernel-was-started"
    return Graded(course, world, handed_in, markup, before, answer, harm, kernel)


def lay_a_trap(root: Path) -> dict[str, str]:
    """Variables with which every kernel that Jupyter starts leaves a file behind."""
    folder = root / "jupyter" / "kernels" / "python3"
    folder.mkdir(parents=True)
    argv = ["touch", str(root / "kernel-was-started")]
    about = {"argv": argv, "display_name": "Python 3", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(about), "utf-8")
    return {"JUPYTER_DATA_DIR": str(root / "jupyter"), "JUPYTER_PREFER_ENV_PATH": "0"}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    root = tmp_path_factory.mktemp("hostile notebooks")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in lay_a_trap(root).items():
            patch.setenv(name, value)
        yield grade(root, SOME)


def check_scores(graded: Graded) -> None:
    assert graded.answer["success"], graded.answer["error"]
    found = {}
    for student, hostile in graded.handed_in.items():
        scores = scores_of(graded.course, student)
        earned = {f"check_{name}" for name in hostile.earns}
        for cell, score in scores.items():
            if score is None and cell != OWN_TEST:
                found[hostile.title, cell] = score
            if score and cell not in earned:
                found[hostile.title, cell] = score
    assert found == {}


def check_gradebook(graded: Graded) -> None:
    """Whatever differs belongs to one of them, and there is nobody else."""
    after = notebooks.dump(graded.course / "gradebook.db")
    owners = notebooks.owners(after)
    new = {*graded.handed_in, *graded.markup}
    assert set(after["student"]) == {"alice", "bob", *new}
    strangers = [
        place
        for place in notebooks.changed_rows(graded.before, after)
        if owners.get(place) not in new
    ]
    assert strangers == []


def test_none_has_points(graded, capsys):
    check_scores(graded)
    with capsys.disabled():
        print(f"\n{len(graded.handed_in)} hostile notebooks through nbgrader, 0 got points")


def test_the_gradebook_is_as_before_but_for_their_own_rows(graded):
    check_gradebook(graded)


def test_honest_students_keep_their_scores(graded):
    scores = scores_of(graded.course, "alice")
    assert sum(score for score in scores.values() if score) == sum(
        exercise.points for exercise in load_pack(graded.course, PS1).exercises.values()
    ) + len(Written(graded.course).questions)


def test_nobody_was_harmed(graded):
    assert graded.harm == []


def test_no_kernel_was_started(graded):
    assert not graded.kernel.exists()


def test_the_trap_would_have_told(tmp_path):
    """Stock nbclient, in the same surroundings, does start what the trap stands for."""
    program = (
        "from jupyter_client import KernelManager\n"
        "m = KernelManager(kernel_name='python3')\n"
        "m.start_kernel()\nm.provisioner.process.wait()\n"
    )
    environment = {**os.environ, **lay_a_trap(tmp_path)}
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment, check=True, timeout=60,
    )  # fmt: skip
    assert (tmp_path / "kernel-was-started").exists()


def test_nothing_is_open_for_people_but_what_was_written_for_them(graded):
    with gradebook_of(graded.course) as gradebook:
        for student in (*graded.handed_in, *graded.markup):
            book = gradebook.find_submission_notebook(PS1, PS1, student)
            open_cells = {grade.name for grade in book.grades if grade.needs_manual_grade}
            assert open_cells <= {OWN_TEST, OWN_TEXT}, student


@pytest.fixture(scope="module")
def pages(graded):
    """Feedback pages by student: all of the markup, and some of the code. nbgrader is slow."""
    for students in ("bob", "markup*", "mallory*[05]"):
        answer = api_of(graded.course).generate_feedback(PS1, students)
        assert answer["success"], answer["error"]
    return {
        path.parents[1].name: notebooks.text_of(path)
        for path in graded.course.glob(f"feedback/*/{PS1}/{PS1}.html")
    }


class TestFeedback:
    """The pages that go back to students and that instructors look at."""

    def test_they_are_there(self, graded, pages):
        assert pages.keys() > {"bob", *graded.markup}
        assert len(pages) > len(graded.markup) + 5

    def test_none_holds_a_hidden_case(self, graded, pages):
        pack = load_pack(graded.course, PS1)
        cases = [case for exercise in pack.exercises.values() for case in exercise.cases]
        public = {case.title for case in cases if not case.hidden}
        hidden = {case.title for case in cases if case.hidden} - public
        titles = [title for title in hidden if len(title) > 20]  # “more keys” may be anywhere
        assert len(titles) >= 5
        for student, page in pages.items():
            shown = [title for title in (*titles, CANARY) if title in page]
            assert shown == [], student

    def test_none_holds_what_was_not_theirs(self, graded, pages):
        for student, hostile in graded.handed_in.items():
            page = pages.get(student, "")
            assert graded.world.canaries_in(page) == [], hostile.title
            assert f"RuntimeError: {GOT}" not in page, hostile.title

    def test_their_markup_is_text(self, graded, pages):
        plain = self._active(pages["bob"])
        found = {}
        for student, page in pages.items():
            if more := self._active(page) - plain:
                found[student] = sorted(more)[:3]
        assert found == {}

    @staticmethod
    def _active(page: str) -> set[str]:
        """Elements that do something, attributes that run code, and links that do."""
        head, end, body = page.partition("</head>")
        page = re.sub("<style.*?</style>", "", head, flags=re.DOTALL) + end + body
        found = set()
        for element in BeautifulSoup(page, "html.parser").find_all(True):
            if element.name in ACTIVE:
                found.add(str(element)[:300])
            for name, value in element.attrs.items():
                text = "".join(value) if isinstance(value, list) else str(value)
                if name.startswith("on") or name in ("srcdoc", "formaction", "xlink:href"):
                    found.add(f"<{element.name} {name}={text[:100]}>")
                scheme = text.strip().lower()
                if name in ("href", "src") and scheme.startswith(("javascript:", "data:text")):
                    found.add(f"<{element.name} {name}={text[:100]}>")
        return found


def test_attachments_are_shown_or_left_out(graded):
    """Pasting a picture into a cell is what honest students do; some attach something else."""
    course = graded.course
    book = notebooks.with_cells(Written(course), notebooks.with_attachments())
    folder = hand_in(course, "pasted", book).parent
    try:
        for step in ("autograde", "generate_feedback"):
            answer = getattr(api_of(course, ObserveAndJudge__seed=SEED), step)(PS1, "pasted")
            assert answer["success"], answer["error"]
        page = notebooks.text_of(course / "feedback" / "pasted" / PS1 / f"{PS1}.html")
        plain = notebooks.text_of(course / "feedback" / "bob" / PS1 / f"{PS1}.html")
        assert TestFeedback._active(page) <= TestFeedback._active(plain)
    finally:
        shutil.rmtree(folder.parent)


@pytest.mark.soak
def test_all_of_them(tmp_path, monkeypatch, capsys):
    for name, value in lay_a_trap(tmp_path).items():
        monkeypatch.setenv(name, value)
    graded = grade(tmp_path, list(SUITE))
    check_scores(graded)
    check_gradebook(graded)
    assert graded.harm == []
    assert not graded.kernel.exists()
    with capsys.disabled():
        print(f"\n{len(graded.handed_in)} hostile notebooks through nbgrader, 0 got points")


def test_links_in_a_submitted_folder_lead_nowhere(graded):
    """What a link in a student's folder points to is not copied to where it would be shown."""
    course = graded.course
    folder = hand_in(course, "malo", Written(course).notebook({})).parent
    secret = course.parent / "secret.txt"
    secret.write_text("canary-linked-5b1c8e", "utf-8")
    (folder / "figure.png").symlink_to(secret)
    (folder / "folder").symlink_to(course / "solutions")
    try:
        api_of(course, ObserveAndJudge__seed=SEED).autograde(PS1, "malo")
        copied = [
            path.relative_to(course)
            for path in (course / "autograded" / "malo").rglob("*")
            if path.is_file() and "canary-linked" in notebooks.text_of(path)
        ]
        solutions = list((course / "autograded" / "malo").rglob("softmax.py"))
        assert (copied, solutions) == ([], [])
    finally:
        shutil.rmtree(folder.parent)


def strange_folders(course: Path) -> list[str]:
    """Right notebooks with something odd beside them; returns the students."""
    right = Written(course).notebook(Written(course).right())
    students = []

    def student(name: str) -> Path:
        students.append(name)
        return hand_in(course, name, right).parent

    (student("odd-notebook") / "scratch.ipynb").write_text("{broken", "utf-8")
    (student("odd-link") / "x.png").symlink_to("/nonexistent")
    folder = student("odd-circle")
    (folder / "x").symlink_to(folder)
    os.mkfifo(student("odd-pipe") / "pipe")
    (student("odd-key") / "selfcheck.safetensors").mkdir()
    folder = student("odd-modules")
    for name in ("nbgrader_config.py", "numpy.py", "sitecustomize.py", "autograder.py"):
        mark = course.parent / "a module was run"
        (folder / name).write_text(f"open({str(mark)!r}, 'w')", "utf-8")
    return students


def test_odd_things_beside_a_notebook_cost_nothing_and_are_not_run(graded):
    course = graded.course
    students = strange_folders(course)
    try:
        answer = api_of(course, ObserveAndJudge__seed=SEED).autograde(PS1, "odd-*")
        assert answer["success"], answer["error"]
        scores = {name: scores_of(course, name)["check_softmax"] for name in students}
        assert scores == dict.fromkeys(students, 4.0)
        assert not (course.parent / "a module was run").exists()
    finally:
        for name in students:
            shutil.rmtree(course / "submitted" / name)


def test_a_time_that_is_none(graded):
    course = graded.course
    folder = hand_in(course, "untimely", Written(course).notebook({})).parent
    (folder / "timestamp.txt").write_text("before the deadline", "utf-8")
    try:
        answer = api_of(course, ObserveAndJudge__seed=SEED).autograde(PS1, "untimely")
        assert answer["success"], answer["error"]
    finally:
        shutil.rmtree(folder.parent)
