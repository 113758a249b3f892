"""When a test may be skipped, and how it says what is missing.

A test that needs a Debian package is marked, and is skipped where the package is not there:

    @pytest.mark.needs_debian("bubblewrap", binary="bwrap")
    @pytest.mark.needs_debian("libseccomp2", library="seccomp")

A test that learns what it needs while it runs takes the fixture `needs_debian` and calls it with
the same arguments. With AUTOGRADER_FORBID_SKIPS=1, as in .ci/run, every skip is a failure.
"""

import ctypes.util
import os
import shutil
import signal

import pytest

from autograder.later import postpone

# Before anything imports PyTorch: its threads would wait for each other, spinning, on the cores
# of the other test process. Commands of ours set it for themselves.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# A shell that starts the tests in the background has them ignore Ctrl-C, and with them the
# commands that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
postpone()  # many tests import nbformat
FORBID_SKIPS = os.environ.get("AUTOGRADER_FORBID_SKIPS") == "1"


def skip_without(package, *, binary=None, library=None):
    """Skip the running test unless the package's binary or shared library is there."""
    if library is not None:
        there = ctypes.util.find_library(library) is not None
    else:
        there = shutil.which(binary or package) is not None
    if not there:
        pytest.skip(f"needs the Debian package {package} (apt-get install {package})")


@pytest.fixture(scope="session")
def needs_debian():
    return skip_without


def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs_debian"):
        skip_without(*mark.args, **mark.kwargs)


def fail_if_skipped(report):
    """Turn a skip into a failure where skips are forbidden; an expected failure is no skip."""
    if FORBID_SKIPS and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{reason}\nAUTOGRADER_FORBID_SKIPS=1 makes this skip a failure."
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport():
    return fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report():
    return fail_if_skipped((yield))
