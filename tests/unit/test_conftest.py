"""Tests that need what is not there are skipped with a reason, and in .ci/run they fail."""

from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

SUITE = """
import pytest

@pytest.mark.needs_debian("no-such-package", binary="no-such-binary")
def test_binary(): ...

@pytest.mark.needs_debian("libnothing1", library="nothing-of-the-kind")
def test_library(): ...

def test_fixture(needs_debian):
    needs_debian("no-such-package")

@pytest.mark.needs_debian("dash", binary="sh")
def test_there(): ...

@pytest.mark.xfail
def test_expected_failure():
    raise ValueError
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Run a suite under this project's conftest, in a process of its own."""
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makeini("[pytest]\nmarkers = needs_debian: as in pyproject.toml\n")

    def run(suite, *, forbid_skips):
        monkeypatch.setenv("AUTOGRADER_FORBID_SKIPS", "1" if forbid_skips else "0")
        pytester.makepyfile(suite)
        return pytester.runpytest_subprocess("-ra")

    return run


def test_a_missing_package_skips_with_its_name(run):
    result = run(SUITE, forbid_skips=False)
    result.assert_outcomes(passed=1, skipped=3, xfailed=1)
    result.stdout.fnmatch_lines(
        ["SKIPPED*needs the Debian package libnothing1 (apt-get install libnothing1)"]
    )


def test_a_forbidden_skip_fails_with_the_same_reason(run):
    result = run(SUITE, forbid_skips=True)
    # What fails before the test's own body counts as an error with pytest: the two marks do.
    result.assert_outcomes(passed=1, failed=1, errors=2, xfailed=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*needs the Debian package libnothing1*"])


def test_a_forbidden_skip_of_a_whole_module_fails_too(run):
    result = run("import pytest\npytest.importorskip('no_such_module')", forbid_skips=True)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*could not import 'no_such_module'*"])
