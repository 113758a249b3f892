"""environment.yml, for conda, asks for what pyproject.toml asks for: no more and no less."""

import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]

# Where conda-forge has a package under another name than the Python package index.
PYPI_NAME = {"pytorch-cpu": "torch"}

# The groups of pyproject.toml that a course needs. `dev` and `cluster` are not among them.
EXTRAS = ["torch", "instructor", "postgresql"]
# What these extras ask for of this package itself.
WITHIN = ["grading"]


def by_name(requirements):
    """Each requirement as {name: (versions, marker)}, with the name written in one way."""
    parsed = [Requirement(text) for text in requirements]
    names = [requirement.name.lower().replace("_", "-") for requirement in parsed]
    assert len(set(names)) == len(names), f"named twice in one list: {sorted(names)}"
    return {
        PYPI_NAME.get(name, name): (str(requirement.specifier), str(requirement.marker or ""))
        for name, requirement in zip(names, parsed, strict=True)
    }


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def dependencies():
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["dependencies"]


@pytest.fixture(scope="module")
def from_conda(dependencies):
    return by_name(entry for entry in dependencies if isinstance(entry, str))


@pytest.fixture(scope="module")
def from_pip(dependencies):
    (section,) = [entry["pip"] for entry in dependencies if isinstance(entry, dict)]
    return section


def test_python_is_the_same(from_conda, project):
    assert from_conda["python"] == (project["requires-python"], "")


def test_every_dependency_is_there_with_the_same_versions(from_conda, from_pip, project):
    asked = project["dependencies"] + [
        requirement
        for extra in [*EXTRAS, *WITHIN]
        for requirement in project["optional-dependencies"][extra]
        if not requirement.startswith(project["name"])
    ]
    given = from_conda | by_name(entry for entry in from_pip if not entry.startswith("-e"))
    del given["python"], given["pip"]
    assert given == by_name(asked)


def test_nothing_comes_both_from_conda_and_from_pip(from_conda, from_pip):
    assert not from_conda.keys() & by_name(e for e in from_pip if not e.startswith("-e")).keys()


def test_this_package_comes_last_with_the_same_extras(from_pip):
    editable, _, extras = from_pip[-1].rstrip("]").partition("[")
    assert editable == "-e ."
    assert sorted(extras.split(",")) == sorted(EXTRAS)
