"""The release is the same folder, whoever makes it: build, the API, the command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from autograder.build import released_files
from autograder.nbgrader_plugin import NbgraderError, generate_release
from tests.e2e.nbgrader_course import CANARY, PS1, Written, api_of, cell_of

pytestmark = pytest.mark.e2e


@pytest.fixture
def course(nbgrader_class, tmp_path):
    """The course as its author has it: nothing handed in here, though it is graded."""
    root = tmp_path / "course"
    root.mkdir()
    for name in ("solutions", "source", "assignments"):
        shutil.copytree(nbgrader_class.course / name, root / name)
    for name in ("nbgrader_config.py", "gradebook.db"):
        shutil.copy(nbgrader_class.course / name, root)
    return root


def released(course: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (course / "assignments" / PS1).iterdir()}


def test_generate_through_the_api_keeps_all_four_files(course):
    """What formgrader's Generate does: it empties the folder first."""
    before = released(course)
    assert sorted(before) == sorted(released_files(PS1))
    answer = api_of(course).generate_assignment(PS1)
    assert answer["success"], answer["error"]
    assert released(course) == before


def test_generate_release_writes_the_same_and_no_gradebook(course):
    before = released(course)
    shutil.rmtree(course / "assignments")
    (course / "gradebook.db").unlink()
    generate_release(course, PS1)
    assert released(course) == before
    assert not (course / "gradebook.db").exists()


def test_nothing_secret_is_released(course):
    book = Written(course).release
    assert cell_of(book, "q_column_layout")["source"] == [
        "q_column_layout = None  # one of the options, in quotes"
    ]
    assert "NotImplementedError" in "".join(cell_of(book, "softmax")["source"])
    assert not any(CANARY in str(cell["source"]) for cell in book["cells"])


def test_other_assignments_of_the_course_are_left_to_nbgrader(course):
    text = (course / "source" / PS1 / f"{PS1}.ipynb").read_text("utf-8")
    (course / "source" / "essay").mkdir()
    (course / "source" / "essay" / "essay.ipynb").write_text(text, "utf-8")
    answer = api_of(course).generate_assignment("essay")
    assert answer["success"], answer["error"]
    assert [path.name for path in (course / "assignments" / "essay").iterdir()] == ["essay.ipynb"]


def test_a_fault_is_one_sentence(course):
    with pytest.raises(NbgraderError, match=r"no source/ps9/ps9.ipynb in .*autograder build"):
        generate_release(course, "ps9")
    source = course / "source" / PS1 / f"{PS1}.ipynb"
    source.write_text(source.read_text("utf-8").replace("### END SOLUTION", "#"), "utf-8")
    with pytest.raises(NbgraderError, match=r"could not be released: RuntimeError: .*solution"):
        generate_release(course, PS1)
