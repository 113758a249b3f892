"""A class: the seven submissions that every release is tried with, and all the traps."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.nbgrader_course import (
    OWN_TEXT,
    PS1,
    Written,
    api_of,
    cell_of,
    hand_in,
)

SEED = "e2e"
WALL = 0.5  # seconds for a case; softmax takes microseconds
SEVEN = ("right", "wrong", "looping", "warning", "duplicated-test", "stub", "module")


@dataclass
class Class:
    """A course with submissions, and what nbgrader said when it autograded them."""

    course: Path
    written: Written
    answer: dict
    settings: dict


def grade_a_class(course: Path) -> Class:
    """Hand everything in, and autograde it as formgrader does."""
    written = Written(course)
    hand_in_seven(course, written)
    hand_in_traps(course, written)
    # without remarks: what is found in time varies
    settings = {"ObserveAndJudge__seed": SEED, "ObserveAndJudge__timeout": WALL}
    settings["ObserveAndJudge__explain"] = False
    answer = api_of(course, **settings).autograde(PS1, "*")
    return Class(course, written, answer, settings)


def hand_in_seven(course: Path, written: Written) -> None:
    """The submissions that every release is tried with."""
    right = written.right()
    hand_in(course, "right", written.notebook(right))
    hand_in(course, "wrong", written.notebook(right | {"softmax": rows_of(right["softmax"])}))
    loop = "def softmax(scores):\n    while True:\n        pass"
    hand_in(course, "looping", written.notebook(right | {"softmax": loop}))
    hand_in(course, "warning", written.notebook(right | {"softmax": warning(right["softmax"])}))
    nothing = "def softmax(scores):\n    return scores * 0"
    hand_in(course, "plainly-wrong", written.notebook(right | {"softmax": nothing}))
    doubled = written.notebook(right)
    doubled["cells"].append(copy.deepcopy(cell_of(doubled, "check_softmax")) | {"id": "again"})
    hand_in(course, "duplicated-test", doubled)
    hand_in(course, "stub", written.notebook({}))
    hand_in(course, "module", written.module(right), suffix=".py")


def rows_of(softmax: str) -> str:
    """Softmax over the wrong axis."""
    return softmax.replace("axis=0", "axis=1")


def warning(softmax: str) -> str:
    """Softmax that writes to stderr at each call, which is 0 points under stock nbgrader."""
    return (
        "import sys, warnings\n"
        + softmax.replace("def softmax", "def plain_softmax")
        + "\n\ndef softmax(scores):\n"
        "    warnings.warn('watch out')\n    print('careful', file=sys.stderr)\n"
        "    return plain_softmax(scores)"
    )


def hand_in_traps(course: Path, written: Written) -> None:
    """What students do to notebooks, and what gets lost on the way."""
    right = written.right()
    rows = rows_of(right["softmax"])

    twice = written.notebook(right | {"softmax": rows})
    later = copy.deepcopy(cell_of(twice, "softmax")) | {"id": "later", "source": right["softmax"]}
    twice["cells"].append(later)
    hand_in(course, "duplicated-solution", twice)

    renamed = written.notebook(right)
    for name in ("softmax", "check_softmax", "q_column_layout"):
        cell_of(renamed, name)["metadata"]["nbgrader"]["grade_id"] = f"{name}-2"
    hand_in(course, "renamed", renamed)

    deleted = written.notebook(right)
    gone = [cell_of(deleted, n) for n in ("softmax", "check_softmax", "check_attend", OWN_TEXT)]
    deleted["cells"] = [cell for cell in deleted["cells"] if cell not in gone]
    deleted["cells"].append(code_cell("typed-anew", right["softmax"]))
    hand_in(course, "deleted", deleted)

    tampered = written.notebook(right | {"softmax": rows})
    check = cell_of(tampered, "check_softmax")
    check["source"] = "100.0"
    check["metadata"]["nbgrader"] |= {"points": 100, "locked": False}
    check["outputs"] = [
        {"output_type": "execute_result", "execution_count": 1, "metadata": {},
         "data": {"text/plain": "4.0"}}
    ]  # fmt: skip
    cell_of(tampered, "check_attend")["metadata"]["nbgrader"]["solution"] = True
    cell_of(tampered, "attend")["metadata"]["nbgrader"] |= {"schema_version": 99}
    cell_of(tampered, "check_project")["metadata"]["nbgrader"] |= {"schema_version": "x"}
    own = cell_of(tampered, OWN_TEXT)
    own["metadata"]["nbgrader"] = {"grade_id": OWN_TEXT}
    own["source"] = "Because."
    for cell in tampered["cells"]:
        if cell["id"] == "title":
            cell["metadata"]["nbgrader"] = {"grade": True, "points": 50}
    tampered["metadata"] = {"celltoolbar": "x", "kernelspec": {"name": "no-such-kernel"}}
    hand_in(course, "tampered", tampered)

    hand_in(course, "both, module", written.notebook({}))
    hand_in(course, "both, module", written.module(right), suffix=".py")
    (course / "submitted" / "nothing" / PS1).mkdir(parents=True)
    hand_in(course, "no-json", "def softmax(scores): ...")
    hand_in(course, "no-json, module", b"\xff\xfe\x00")
    hand_in(course, "no-json, module", written.module(right), suffix=".py")
    hand_in(course, "empty-file", "")
    hand_in(course, "other-name", written.notebook(right)).rename(
        course / "submitted" / "other-name" / PS1 / "Untitled.ipynb"
    )
    worksheets = [{"cells": [{"cell_type": "code", "language": "python", "collapsed": False,
                              "metadata": {}, "outputs": [], "input": text}
                             for text in ["import numpy as np", *right.values()]],
                   "metadata": {}}]  # fmt: skip
    old = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": worksheets}
    hand_in(course, "nbformat-3", old)
    hand_in(course, "王 小明 Ünal", written.notebook(right | {"softmax": rows}))

    script = "</pre><script>alert(1)</script> $$ [x](javascript:alert(2)) <img src=x> $$"
    raising = f"def softmax(scores):\n    raise ValueError({script!r})"
    hand_in(course, "html", written.notebook(right | {"softmax": raising}))
    delimiters = written.notebook(right)
    delimiters["cells"].append(code_cell("mine", "### BEGIN HIDDEN TESTS"))
    hand_in(course, "delimiters", delimiters)
    (hand_in(course, "dangling-link", written.notebook(right)).parent / "notes").symlink_to("gone")
    hand_in(course, "late", written.notebook(right))
    (course / "submitted" / "late" / PS1 / "timestamp.txt").write_text("2030-01-02 00:00:00 UTC")


def code_cell(name: str, source: str) -> dict:
    """A cell of the student's own."""
    cell = {"cell_type": "code", "id": name, "metadata": {}, "source": source}
    return cell | {"outputs": [], "execution_count": None}
