"""pytest as a student's self-check: readable items, no traceback of ours, any folder.

A released test file calls `assert_check`; each folder is observed once a run. The file is
imported under a name of its own, so that two copies of an assignment, or a path with any
characters, do not meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

FIRST_LINE = '"""Self-check of '
_checked: dict[Path, Any] = {}
_told: set[Path] = set()
_options = {"explain": True}


def assert_check(test_file: str, exercise: str, check: str) -> None:
    """Fail with the judge's words when the check fails; skip when it was not reached."""
    __tracebackhide__ = True
    folder = Path(test_file).resolve().parent
    outcome = _outcome(folder)
    if isinstance(outcome, str):
        if folder in _told:  # once says it
            pytest.skip("not checked: see the first item of this folder")
        _told.add(folder)
        pytest.fail(outcome, pytrace=False)
    result = outcome.result(exercise)
    found = next((item for item in result.checks if item.name == check), None)
    if found is None or found.outcome == "skipped":
        pytest.skip("not reached: see the first failing check of this exercise")
    if found.outcome == "failed":
        first = next(item for item in result.checks if item.outcome == "failed")
        message = result.feedback if found is first else f"{exercise}: {check}, {found.message}"
        pytest.fail(message, pytrace=False)


def _outcome(folder: Path) -> Any:
    """The self-check of a folder, or the sentence that says why there is none."""
    if folder not in _checked:
        from autograder.files import Unreadable
        from autograder.selfcheck import KeyUnusable
        from autograder.student import check_folder

        try:
            _checked[folder] = check_folder(folder, explain=_options["explain"])
        except (KeyUnusable, Unreadable) as problem:
            _checked[folder] = str(problem)
    return _checked[folder]


class SelfCheckModule(pytest.Module):
    """A released test file, imported by path under a unique name."""

    def _getobj(self) -> Any:
        from autograder.selfcheck import load_module

        return load_module(self.path)


def pytest_pycollect_makemodule(module_path: Path, parent: Any) -> pytest.Module | None:
    """Take over released test files only."""
    try:
        with module_path.open(encoding="utf-8") as file:
            ours = file.readline().startswith(FIRST_LINE)
    except (OSError, UnicodeDecodeError):
        return None
    if not ours:
        return None
    module: pytest.Module = SelfCheckModule.from_parent(parent, path=module_path)
    return module


def pytest_addoption(parser: Any) -> None:
    """An option to leave the search for a small failing input out."""
    parser.getgroup("attention-autograder").addoption(
        "--autograder-no-explain",
        action="store_true",
        help="self-checks do not look for a small failing input and the likely line",
    )


def pytest_configure(config: Any) -> None:
    """Remember what was asked for: items know only their file."""
    _options["explain"] = not config.getoption("--autograder-no-explain", False)


def pytest_sessionstart() -> None:
    """A session observes afresh, also when several run in one process."""
    _checked.clear()
    _told.clear()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What would be handed in, and that hidden cases remain."""
    for folder, outcome in _checked.items():
        if isinstance(outcome, str):
            continue
        root = terminalreporter.config.rootpath
        inside = folder != root and folder.is_relative_to(root)
        name = folder.relative_to(root) if inside else folder.name  # two copies have two names
        terminalreporter.section(f"self-check of {name}")
        for line in summary_lines(outcome):
            terminalreporter.write_line(line)


def summary_lines(outcome: Any) -> Sequence[str]:
    """The closing lines, shared with `autograder check`."""
    lines: Sequence[str] = [outcome.progress.words, *outcome.closing_lines(prompts=False)]
    return lines
