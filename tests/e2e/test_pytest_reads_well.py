"""What pytest prints for a student with a misconception: one screen, and it is named.

AUTOGRADER_WRITE_EXPECTED=1 writes what is expected anew; look at the difference.
"""

import os
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.e2e.folders import PS, RELEASE, code_of, environment, run, work_on

pytestmark = pytest.mark.e2e

EXPECTED = Path(__file__).parent / "expected" / "pytest_on_a_misconception.txt"
ROWS, COLUMNS = 24, 80  # of a terminal as small as they come


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("student") / "ps1"
    shutil.copytree(RELEASE, folder)
    (folder / f"{PS}.ipynb").unlink()
    work_on(folder, "module", {"softmax": code_of("softmax", "over_queries")})
    done = run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k",
         "softmax and not jacobian", f"--junitxml={folder / 'junit.xml'}"],
        folder, environment(COLUMNS=str(COLUMNS)),
    )  # fmt: skip
    assert done.returncode == 1
    return done.stdout, ET.parse(folder / "junit.xml").getroot()


def test_the_message(printed):
    text = re.sub(r"in \d+\.\d+s", "in 0.00s", printed[0])
    text = re.sub(r"\d+ of \d+ questions", "0 of 9 questions", text)
    text = re.sub(r"^-+ generated xml file: .*\n", "", text, flags=re.M)
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    if os.environ.get("AUTOGRADER_WRITE_EXPECTED"):
        EXPECTED.parent.mkdir(exist_ok=True)
        EXPECTED.write_text(text, "utf-8")
    assert text == EXPECTED.read_text("utf-8")


def test_it_fits_on_a_screen(printed):
    rows = sum(max(1, -(-len(line) // COLUMNS)) for line in printed[0].splitlines())
    assert rows <= ROWS


def test_no_traceback_of_ours(printed):
    assert "Traceback" not in printed[0]
    assert ".py:" not in printed[0].replace(f"test_{PS}.py::", "")


def test_what_other_programs_are_told(printed):
    """VS Code's test view and the pages of CI systems show the item's name and this message."""
    failed = [case for case in printed[1].iter("testcase") if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["test_softmax[each column sums to 1]"]
    message = failed[0].find("failure").text
    assert "Normalises over the queries instead of the keys." in message
    assert message.startswith("softmax: “each column sums to 1” fails in")
