"""What students get: all that they need, and nothing else."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from autograder import publishing
from autograder.build import released_files
from autograder.leaks import Leak, Report
from autograder.publishing import CannotRelease, declared, release

COURSE = Path(__file__).parents[2]
PS = "ps1_numpy_attention"


def files_of(folder):
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("release") / "students"
    return folder, release(COURSE, [PS], folder, "https://example.org/students.git")


def test_the_files(released):
    folder, report = released
    files = files_of(folder)
    [wheel] = [name for name in files if name.endswith(".whl")]
    assert files == {
        "README.md", "requirements.txt", "LICENSE", "LICENSE-CONTENT", wheel,
        ".devcontainer/devcontainer.json", *(f"{PS}/{name}" for name in released_files(PS)),
    }  # fmt: skip
    assert report.files == len(files) and report.sets == (PS,)
    for name in released_files(PS):
        original = COURSE / "assignments" / PS / name
        assert (folder / PS / name).read_bytes() == original.read_bytes()


def test_the_install_line_names_the_wheel_that_is_there(released):
    folder, _ = released
    [wheel] = folder.glob("*.whl")
    requirements = (folder / "requirements.txt").read_text("utf-8").splitlines()[1:]
    assert requirements == [f"./{wheel.name}"]
    with zipfile.ZipFile(wheel) as archive:
        assert not any(re.match("solutions|source|tests", name) for name in archive.namelist())
    text = (folder / "README.md").read_text("utf-8")
    assert "pip install -r requirements.txt" in text
    settings = json.loads((folder / ".devcontainer" / "devcontainer.json").read_bytes())
    assert "requirements.txt" in settings["postCreateCommand"]


def test_the_cell_for_colab_goes_to_the_folder_of_the_set(released):
    folder, _ = released
    [wheel] = folder.glob("*.whl")
    cell = (folder / "README.md").read_text("utf-8").split("```python\n")[1].split("```")[0]
    assert cell.splitlines() == [
        "!git clone -q --depth 1 https://example.org/students.git course",
        f"%cd course/{PS}",
        f'%pip install -q "../{wheel.name}"',
    ]


def test_links_of_the_readme_are_there(released):
    folder, _ = released
    links = re.findall(r"\]\(([^)]+)\)", (folder / "README.md").read_text("utf-8"))
    assert links and all((folder / link).is_file() for link in links)


def test_into_a_repository_that_is_there(released, tmp_path, monkeypatch):
    """What is not ours stays; what an earlier release left in a set's folder goes."""
    monkeypatch.setattr(publishing, "scan", lambda *_: Report(0, ()))
    folder = tmp_path / "students"
    shutil.copytree(released[0], folder)
    (folder / "notes.md").write_text("mine", "utf-8")
    (folder / "README.md").write_text("# My course", "utf-8")
    (folder / PS / "old.py").write_text("x = 1", "utf-8")
    (folder / "attention_autograder-0.0.1-py3-none-any.whl").write_bytes(b"old")
    report = release(COURSE, [PS], folder)
    assert report.kept == ("README.md",)
    assert (folder / "README.md").read_text("utf-8") == "# My course"
    assert files_of(folder) == files_of(released[0]) | {"notes.md"}


def test_what_gives_a_solution_away_is_released_by_name_only(tmp_path, monkeypatch):
    monkeypatch.setattr(publishing, "scan", lambda *_: Report(0, ()))
    report = release(COURSE, (), tmp_path / "students")
    assert "ps6_transformer_block" not in report.sets and len(report.sets) == 5
    [(name, why)] = report.left_out
    assert name == "ps6_transformer_block" and "MultiHeadAttention" in why
    requirements = (tmp_path / "students" / "requirements.txt").read_text("utf-8")
    assert "whl[torch]" in requirements
    named = release(COURSE, ["ps6_transformer_block"], tmp_path / "students")
    assert (named.sets, named.left_out) == (("ps6_transformer_block",), ())
    assert "matplotlib" in (tmp_path / "students" / "requirements.txt").read_text("utf-8")


@pytest.mark.parametrize("place", ["", "solutions/x", "source", f"assignments/{PS}"])
def test_not_among_the_answers(place):
    with pytest.raises(CannotRelease, match="belongs to the course; name another folder"):
        release(COURSE, [PS], COURSE / place)


def test_not_with_a_secret(tmp_path, monkeypatch):
    leak = Leak("x.py", "", "the reference of softmax")
    monkeypatch.setattr(publishing, "scan", lambda *_: Report(1, (leak,)))
    with pytest.raises(CannotRelease, match="1 secrets are in what students would get"):
        release(COURSE, [PS], tmp_path / "students")
    assert not (tmp_path / "students").exists()


@pytest.mark.parametrize("url", ["", "x; rm -rf /", "https://a b", "$(x)", "--upload-pack=x"])
def test_what_is_no_url(tmp_path, url):
    with pytest.raises(CannotRelease, match="no URL that can be cloned"):
        release(COURSE, [PS], tmp_path, url)


def test_an_unknown_set(tmp_path):
    with pytest.raises(CannotRelease, match=r"there is no set ps9; there are: ps1_numpy"):
        release(COURSE, ["ps9"], tmp_path)


def test_what_a_set_says_of_itself():
    assert declared(COURSE, PS)["PACKAGES"] == ("numpy",)


def test_the_dev_container_of_this_repository():
    settings = json.loads((COURSE / ".devcontainer" / "devcontainer.json").read_bytes())
    target = re.search(r"make (\S+)", settings["postCreateCommand"])[1]
    assert f"FULL := {target}" in (COURSE / "Makefile").read_text("utf-8")
