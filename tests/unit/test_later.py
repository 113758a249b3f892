"""A package that is imported when it is used, and is then itself."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.later import GRAMMAR, postpone

SOURCE = """
print("imported")
LETTERS = "abc"
def is_valid(kind, text):
    return kind == "letters" and set(text) <= set(LETTERS)
"""


@pytest.fixture
def slow(tmp_path, monkeypatch):
    (tmp_path / "slow_package").mkdir()
    (tmp_path / "slow_package" / "__init__.py").write_text(SOURCE, "utf-8")
    (tmp_path / "slow_package" / "part.py").write_text("HERE = True", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "slow_package", raising=False)
    postpone("slow_package", "is_valid")
    yield
    for name in ("slow_package", "slow_package.part"):
        sys.modules.pop(name, None)


def test_it_is_imported_at_the_first_call(slow, capsys):
    from slow_package import is_valid

    assert capsys.readouterr().out == ""
    assert is_valid("letters", "cab") and not is_valid("letters", text="x")
    assert capsys.readouterr().out == "imported\n"
    import slow_package

    assert slow_package.LETTERS == "abc" and slow_package.is_valid is not is_valid


def test_or_when_something_else_of_it_is_read(slow, capsys):
    import slow_package

    assert not hasattr(slow_package, "__all__") and importlib.util.find_spec("slow_package")
    assert capsys.readouterr().out == ""
    assert slow_package.LETTERS == "abc"
    assert capsys.readouterr().out == "imported\n"
    with pytest.raises(AttributeError, match="nothing"):
        _ = slow_package.nothing


def test_a_part_of_it_can_be_imported(slow):
    from slow_package.part import HERE

    assert HERE


def test_what_is_not_installed_stays_so():
    postpone("no_such_package_anywhere", "is_valid")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_package_anywhere")


def test_what_is_imported_already_stays_as_it_is():
    postpone("json", "loads")
    assert sys.modules["json"].loads("1") == 1 and importlib.import_module("json").dumps(1) == "1"


def test_nbformat_comes_without_the_grammar():
    """And still says that it knows the format, by a function that the package has."""
    code = (
        "import autograder.nbgrader_plugin, nbformat, jsonschema, sys\n"
        "checkers = jsonschema.Draft202012Validator.FORMAT_CHECKER.checkers\n"
        "print('iri' in checkers, 'nbformat' in sys.modules, 'lark' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8"
    )
    assert done.stdout.split() == ["True", "True", "False"]
    folder = Path(importlib.util.find_spec(GRAMMAR).origin).parent
    assert any("def is_valid_syntax(" in path.read_text("utf-8") for path in folder.glob("*.py"))
