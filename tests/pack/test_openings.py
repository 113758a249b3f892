"""How every notebook of the course opens, and that README says the same of its time."""

import json
import re
from pathlib import Path

import pytest

from autograder.pack import assignments_of, load_pack

COURSE = Path(__file__).parents[2]
SPELLED = {"numpy": "NumPy", "torch": "PyTorch", "matplotlib": "Matplotlib"}

pytestmark = pytest.mark.parametrize("name", assignments_of(COURSE))


def opening(name):
    """The text of the title and of what stands between it and the first code."""
    text = (COURSE / "assignments" / name / f"{name}.ipynb").read_text("utf-8")
    cells = json.loads(text)["cells"]
    first = next(i for i, cell in enumerate(cells) if cell["cell_type"] == "code")
    return "".join(cells[0]["source"]), "\n\n".join("".join(c["source"]) for c in cells[1:first])


def minutes(title):
    return [int(row) for row in re.findall(r"^\|.*\| (\d+) \|$", title, re.MULTILINE)]


def test_what_it_teaches_and_how_long_it_takes(name):
    title, _ = opening(name)
    assert title.startswith(f"# Problem set {name[2]}: ")
    for exercise in load_pack(COURSE, name).exercises:
        assert f"`{exercise}`" in title
    assert len(minutes(title)) >= 5
    readme = (COURSE / "README.md").read_text("utf-8")
    (stated,) = re.findall(rf"^\| `{name}` \|.*\| (\d+) min \|$", readme, re.MULTILINE)
    assert int(stated) == sum(minutes(title))


def test_which_layout_it_uses(name):
    _, text = opening(name)
    assert ("**Columns are tokens.**" if name.startswith("ps1") else "**Rows are tokens.**") in text


def test_what_may_be_imported(name):
    _, text = opening(name)
    packages = next(part for part in text.split("\n\n") if part.startswith("**Packages.**"))
    allowed, _, rest = packages.partition("Matplotlib draws")
    declared = load_pack(COURSE, name).packages
    assert {name for name, word in SPELLED.items() if word in allowed} == set(declared)
    assert "Python's standard library" in allowed
    assert ("matplotlib" in declared) or rest, "pictures need a package that solutions may not use"


def test_what_is_forbidden(name):
    """What an exercise forbids is named in the opening, by the last part of its name at least."""
    _, text = opening(name)
    for exercise in load_pack(COURSE, name).exercises.values():
        if exercise.forbids:
            assert "forbidden" in text
        for dotted in exercise.forbids:
            word = dotted.rpartition(".")[2].removeprefix("log_").removeprefix("Log")
            family = "Transformer" if word.startswith("Transformer") else word
            for stem in ("softmax", "softmin"):
                family = stem if stem in family.lower() else family
            assert family in text, f"{exercise.name} forbids {dotted}"
