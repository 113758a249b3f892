"""Which files a child may read."""

import sys
from pathlib import Path

import numpy as np
import pytest

from autograder.observe import readable

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

SITE = Path(np.__path__[0]).parent


def test_the_interpreter_without_installed_packages():
    paths = [Path(path) for path in readable.interpreter()]
    assert any(path.name == "json" for path in paths)
    for path in paths:
        assert path.name not in ("site-packages", "dist-packages")
        assert not SITE.is_relative_to(path.resolve())


def test_a_package_with_its_libraries_and_nothing_else():
    allowed, roots = readable.packages(["numpy"])
    assert roots == [str(SITE)]
    names = {Path(path).name for path in allowed}
    assert "numpy" in names
    assert all(name.startswith("numpy") for name in names), names


def test_what_a_package_requires_comes_along():
    pytest.importorskip("matplotlib")
    names = {Path(path).name for path in readable.packages(["matplotlib"])[0]}
    assert {"matplotlib", "mpl_toolkits", "PIL", "numpy", "dateutil"} <= names
    assert not names & {"pytest", "nbgrader", "site-packages"}


def test_an_import_name_may_differ_from_the_distributions():
    pytest.importorskip("PIL")
    assert "PIL" in {Path(path).name for path in readable.packages(["PIL"])[0]}


def test_what_is_not_installed_is_left_out():
    assert readable.packages(["there_is_no_such_package"]) == ([], [])


def test_this_project_is_not_readable_even_when_named():
    allowed, _ = readable.packages(["autograder"])
    readable.refuse_overlap(allowed, [Path(readable.__file__)])


def test_overlaps_are_refused_in_both_directions(tmp_path):
    solutions = tmp_path / "solutions"
    solutions.mkdir()
    beside = tmp_path / "solutions-of-others"
    for allowed in (tmp_path, solutions, solutions / "ps1"):
        with pytest.raises(ValueError, match="keep the course outside"):
            readable.refuse_overlap([str(allowed)], [solutions])
    readable.refuse_overlap([str(beside)], [solutions])
