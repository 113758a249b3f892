"""Generated trees: complete, reproducible, and careful with what people wrote."""

import json
import shutil

import nbformat
import pytest

from autograder import build, companions
from autograder.pack import load_pack
from autograder.quiz import load_quiz
from tests.unit.courses import DOUBLE, NAME, make_course


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    course = make_course(tmp_path_factory.mktemp("course"))
    build.build(course)
    return course


@pytest.fixture
def course(built, tmp_path):
    return shutil.copytree(built, tmp_path / "copy")


def release(course, suffix=".ipynb"):
    return (course / "assignments" / NAME / f"{NAME}{suffix}").read_text("utf-8")


class TestRelease:
    def test_four_files(self, course):
        names = {path.name for path in (course / "assignments" / NAME).iterdir()}
        assert names == set(build.released_files(NAME))

    def test_the_notebook_has_stubs_and_no_answers(self, course):
        text = release(course)
        assert "raise NotImplementedError()" in text
        assert "2 * x" not in text
        assert "SOLUTION" not in text
        assert "q_twice = None" in text
        assert "q_twice = 42" not in text
        assert "q_kind = 'linear'" not in text

    def test_the_module_has_the_same_stubs(self, course):
        notebook = json.loads(release(course))
        cells = {c["metadata"].get("nbgrader", {}).get("grade_id"): c for c in notebook["cells"]}
        assert "".join(cells["double"]["source"]) in release(course, ".py")
        assert "".join(cells["q_twice"]["source"]) in release(course, ".py")

    def test_check_cells_carry_the_points_and_are_locked(self, course):
        notebook = json.loads(release(course))
        about = {
            c["metadata"]["nbgrader"]["grade_id"]: c["metadata"]["nbgrader"]
            for c in notebook["cells"]
            if "nbgrader" in c["metadata"]
        }
        assert about["check_double"]["points"] == 2
        assert about["check_double"]["locked"]
        assert about["check_q_twice"]["points"] == 1
        assert about["double"]["solution"]
        assert not about["double"]["grade"]

    def test_the_course_is_left_without_a_gradebook(self, course):
        assert not list(course.rglob("gradebook.db"))


class TestReproducible:
    def test_a_second_build_changes_nothing(self, course):
        assert build.build(course) == []
        assert build.stale(course) == []

    def test_two_builds_agree_byte_for_byte(self, course, tmp_path):
        other = make_course(tmp_path / "other")
        build.build(other)
        for file in build.released_files(NAME):
            ours = (course / "assignments" / NAME / file).read_bytes()
            assert ours == (other / "assignments" / NAME / file).read_bytes(), file

    def test_files_end_with_one_newline_and_have_no_carriage_return(self, course):
        for path in (course / "assignments" / NAME).iterdir():
            if path.suffix != ".safetensors":
                data = path.read_bytes()
                assert data.endswith(b"\n")
                assert not data.endswith(b"\n\n")
                assert b"\r" not in data


class TestStale:
    def test_a_changed_exercise_makes_its_files_stale(self, course):
        path = course / "solutions" / NAME / "double.py"
        path.write_text(DOUBLE.replace("Twice x.", "Two times x."), "utf-8")
        stale = {p.name for p in build.stale(course)}
        assert {f"{NAME}.ipynb", f"{NAME}.py"} <= stale

    def test_a_hand_edited_release_is_stale_and_rebuilt(self, course):
        path = course / "assignments" / NAME / f"{NAME}.py"
        before = path.read_bytes()
        path.write_text("oops", "utf-8")
        assert build.stale(course) == [path]
        assert build.build(course) == [path]
        assert path.read_bytes() == before

    def test_a_stray_file_is_reported_and_removed(self, course):
        stray = course / "source" / NAME / "notes.txt"
        stray.write_text("would be released", "utf-8")
        assert build.stale(course) == [stray]
        build.build(course)
        assert not stray.exists()

    def test_a_missing_key_is_stale(self, course):
        (course / "source" / NAME / "selfcheck.safetensors").unlink()
        assert build.stale(course)


class TestSourceNotebook:
    def notebook(self, course):
        return nbformat.read(course / "source" / NAME / f"{NAME}.ipynb", as_version=4)

    def write(self, course, book):
        nbformat.write(book, course / "source" / NAME / f"{NAME}.ipynb")

    def rebuilt(self, course):
        pack = load_pack(course, NAME)
        path = course / "source" / NAME / f"{NAME}.ipynb"
        return nbformat.reads(
            build.source_notebook(pack, load_quiz(pack.folder), path).decode(), as_version=4
        )

    def test_prose_is_untouched(self, course):
        book = self.notebook(course)
        book.cells.insert(1, nbformat.v4.new_markdown_cell("Mine.  \nTwo spaces.", id="mine"))
        self.write(course, book)
        found = self.rebuilt(course)
        assert found.cells[1].source == "Mine.  \nTwo spaces."
        assert found.cells[1].id == "mine"

    def test_generated_cells_are_restored_where_they_stand(self, course):
        book = self.notebook(course)
        position = next(i for i, c in enumerate(book.cells) if c.id == "double")
        book.cells[position].source = "def double(x): return 'edited by hand'"
        book.cells.append(book.cells.pop(position))  # moved by the author
        self.write(course, book)
        found = self.rebuilt(course)
        assert found.cells[-1].id == "double"
        assert "2 * x" in found.cells[-1].source

    def test_outputs_are_dropped(self, course):
        book = self.notebook(course)
        cell = next(c for c in book.cells if c.cell_type == "code")
        cell.outputs = [nbformat.v4.new_output("stream", text="secret")]
        cell.execution_count = 4
        self.write(course, book)
        assert "secret" not in nbformat.writes(self.rebuilt(course))

    def test_a_question_that_is_gone_leaves_no_cell(self, course):
        quiz = course / "solutions" / NAME / "quiz.yaml"
        entries = quiz.read_text("utf-8").split("- id: kind")[0]
        quiz.write_text(entries, "utf-8")
        ids = {cell.id for cell in self.rebuilt(course).cells}
        assert "q_twice" in ids
        assert not ids & {"q_kind", "question_kind", "check_q_kind"}

    def test_without_a_notebook_one_is_begun(self, tmp_path):
        pack = load_pack(make_course(tmp_path), NAME)
        data = build.source_notebook(pack, load_quiz(pack.folder), tmp_path / "none.ipynb")
        assert b"# Doubling." in data


def test_a_key_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "MAX_BYTES", 100)
    with pytest.raises(build.BuildError, match=r"takes \d+ bytes, above the limit of 100"):
        build.build(make_course(tmp_path))


def test_the_course_s_own_trees_are_up_to_date():
    from pathlib import Path

    assert build.stale(Path(__file__).parents[2]) == []


def test_comments_of_a_module_are_filled_by_paragraphs():
    long = " ".join(["word"] * 19)  # 94 characters
    text = f"{long} and\nsome more.\n\nshort\nlines\n\n- `a`: {long}\n- `b`: short"
    assert companions._commented(text) == [
        f"# {long}",
        "# and some more.",
        "#",
        "# short",
        "# lines",
        "#",
        f"# - `a`: {long[:-5]}",  # of 96 at most
        "#   word",
        "# - `b`: short",
    ]
