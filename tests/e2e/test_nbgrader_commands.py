"""The real commands, formgrader in a real server, and nbgrader without the plug-in."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from tests.e2e.jupyter_server import TOKEN, serving, without_venv_on_path
from tests.e2e.nbgrader_course import OWN_TEST, PS1, autograded, scores_of

pytestmark = pytest.mark.e2e


def fresh_clone(source: Path, target: Path, students: tuple[str, ...]) -> Path:
    """What a clone has, and what a few students have handed in."""
    target.mkdir()
    shutil.copy(source / "nbgrader_config.py", target)
    for name in ("solutions", "source", "assignments"):
        shutil.copytree(source / name, target / name)
    for student in students:
        shutil.copytree(source / "submitted" / student, target / "submitted" / student)
    return target


def test_the_command_line_in_a_fresh_clone(nbgrader_class, tmp_path):
    course = fresh_clone(nbgrader_class.course, tmp_path / "clone", ("module", "no-json"))
    module = course / "submitted" / "module" / PS1 / f"{PS1}.ipynb"
    module.unlink()
    for command in ("autograde", "generate_feedback"):
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", command, PS1],
            cwd=course,
            env=without_venv_on_path(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    for student, score in {"module": 4, "no-json": 0}.items():
        assert scores_of(course, student)["check_softmax"] == score
        assert (course / "feedback" / student / PS1 / f"{PS1}.html").is_file()


@pytest.fixture
def server(nbgrader_class, tmp_path):
    """A Jupyter server with formgrader, over a course that was never graded."""
    course = fresh_clone(nbgrader_class.course, tmp_path / "clone", ("right", "wrong"))
    with serving(course, tmp_path) as address:
        yield course, f"{address}/formgrader/api"


def ask(url: str, method: str = "GET", patience: float = 0.0) -> object:
    """The JSON that a request is answered with; patience: seconds to wait for the server."""
    request = urllib.request.Request(
        urllib.parse.quote(url, safe=":/?=&"),
        method=method,
        headers={"Authorization": f"token {TOKEN}"},
    )
    until = time.monotonic() + patience
    while True:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError:
            raise
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def test_formgrader_in_a_jupyter_server(server):
    course, api = server
    assert ask(f"{api}/status", patience=60.0) == {"status": True}
    for student in ("right", "wrong", "right"):
        answer = ask(f"{api}/submission/{PS1}/{student}/autograde", "POST")
        assert answer["success"], answer
    listed = {entry["student"]: entry["score"] for entry in ask(f"{api}/submissions/{PS1}")}
    assert listed["right"] > listed["wrong"] > 0
    [book] = [
        entry
        for entry in ask(f"{api}/submitted_notebooks/{PS1}/{PS1}")
        if entry["student"] == "wrong"
    ]
    grades = ask(f"{api}/grades?submission_id={book['id']}")
    assert {grade["name"]: grade["auto_score"] for grade in grades}["check_softmax"] == 1.0
    about = [autograded(course, name)["metadata"]["autograder"] for name in ("right", "wrong")]
    assert about[0]["seed"] == about[1]["seed"]  # drawn once for the server


def without_pictures(path: Path) -> None:
    """Leave out the cells that draw: they take most of the time, and nothing is graded there."""
    book = json.loads(path.read_text("utf-8"))
    book["cells"] = [cell for cell in book["cells"] if "plt." not in "".join(cell["source"])]
    path.write_text(json.dumps(book), "utf-8")


STOCK = ("right", "plainly-wrong", "warning", "stub")


@pytest.fixture(scope="module")
def stock(nbgrader_class, tmp_path_factory):
    """The course graded by an instructor without the plug-in: every notebook in a kernel."""
    from nbgrader.apps import NbGraderAPI
    from traitlets.config import Config

    root = tmp_path_factory.mktemp("stock")
    course = fresh_clone(nbgrader_class.course, root / "course", STOCK)
    (course / "nbgrader_config.py").unlink()
    for path in course.glob(f"submitted/*/{PS1}/{PS1}.ipynb"):
        without_pictures(path)
    shutil.copy(nbgrader_class.course / "gradebook.db", course)
    config = Config()
    config.CourseDirectory.root = str(course)
    config.CourseDirectory.course_id = "attention"
    answer = NbGraderAPI(config=config).autograde(PS1, "*")
    assert answer["success"], answer["error"]
    return course


@pytest.mark.parametrize("student", STOCK)
def test_without_the_plug_in_scores_are_the_same(stock, nbgrader_class, student):
    """Where public cases decide; and no question gives points, least of all full marks."""
    ours = scores_of(nbgrader_class.course, student)
    expected = {
        name: 0.0 if name.startswith("check_q_") else score
        for name, score in ours.items()
        if name != OWN_TEST
    }
    if student == "plainly-wrong":
        # a right composition over a wrong softmax: nobody answers for that in the student's kernel
        assert expected["check_self_attention"] == 6.0
        expected["check_self_attention"] = 0.0
    found = scores_of(stock, student)
    assert {name: found[name] for name in expected} == expected
