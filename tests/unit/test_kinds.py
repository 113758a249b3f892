"""The kinds of mistakes are graded as `python -m benchmarks.kinds` says they are."""

import json
import sys
from dataclasses import replace

import pytest

from autograder.pack import load_pack
from autograder.result import ExerciseResult
from benchmarks.kinds import __main__ as kinds
from benchmarks.kinds import catalogue, grading
from benchmarks.kinds.catalogue import PARTS, SETS, entries
from benchmarks.kinds.grading import COURSE, Graded, grade

ENOUGH_NAMED = 0.9
# What the public suites let through, and some from each of three sets.
SAMPLE = {"M15", "M25", "M26", "C1", "F1", "F5", "M14", "P8", "S1"}
SAMPLE |= {"V04", "V10", "V20", "V25", "V49", "V68"}


def named(graded):
    wrong = [item for item in graded if not item.entry.right]
    return sum(item.named for item in wrong) / len(wrong)


def mistaken(graded):
    return [
        f"{item.entry.path}\n{item.result.feedback}" for item in graded if not item.as_it_should
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox exists on Linux only")
class TestVerdicts:
    @pytest.mark.e2e
    def test_of_a_sample(self):
        graded = grade([entry for entry in entries() if entry.kind in SAMPLE], kinds.SEED)
        assert {item.entry.kind for item in graded} == SAMPLE
        assert not mistaken(graded), "\n\n".join(mistaken(graded))
        assert named(graded) == 1

    @pytest.mark.soak
    def test_of_all(self, tmp_path, capsys):
        file = tmp_path / "kinds.json"
        assert kinds.main(["--json", str(file)]) == 0
        found = json.loads(file.read_text("utf-8"))
        with capsys.disabled():
            print(found["totals"])
        assert f"{found['totals']}." in (COURSE / "docs/comparison.md").read_text("utf-8")
        wrong = [item for item in found["entries"] if not item["right"]]
        assert sum(item["named"] for item in wrong) / len(wrong) >= ENOUGH_NAMED


class TestEntries:
    def test_there_are_as_many_as_the_page_says(self):
        found = entries()
        assert sum(not entry.right for entry in found) == 55
        assert sum(entry.right for entry in found) == 16
        assert {entry.kind[0] for entry in found if not entry.right} == set(PARTS)

    def test_accepted_names_are_those_of_the_pack(self):
        packs = {name: load_pack(COURSE, name) for name in SETS.values()}
        for entry in entries():
            known = packs[entry.assignment].exercises[entry.exercise].misconceptions
            assert entry.names <= {m.name for m in known}, entry.path
            assert bool(entry.names) != entry.right, entry.path

    @pytest.mark.parametrize(
        ("name", "source", "message"),
        [
            ("C12.py", "import numpy\n", "let the first line say"),
            ("C12.py", "# ps7/causal_mask: hides nothing.\n", "let the first line say"),
            ("no_scale.py", "# ps2/causal_mask: hides nothing.\n", "name it after its kind"),
            ("Z1.py", "# ps2/causal_mask: hides nothing.\n", "name it after its kind"),
            ("C12.py", "# ps1/causal_mask: hides nothing.\n", "no exercise causal_mask"),
        ],
    )
    def test_unusable_files_are_refused_in_a_sentence(
        self, monkeypatch, tmp_path, capsys, name, source, message
    ):
        path = tmp_path / "wrong" / name
        path.parent.mkdir()
        path.write_text(source, "utf-8")
        monkeypatch.setattr(catalogue, "HERE", tmp_path)
        monkeypatch.setattr(kinds, "grade", lambda entries, seed, _: grading._draw(entries, seed))
        assert kinds.main([]) == 2
        printed = capsys.readouterr().err
        assert f"benchmarks.kinds: {path}: " in printed
        assert message in printed


def result(outcome, *misconceptions):
    return ExerciseResult(
        name="e", outcome=outcome, score=0.0, max_score=1.0, misconceptions=misconceptions
    )


class TestTable:
    WRONG = next(entry for entry in entries() if entry.kind == "C1")
    RIGHT = next(entry for entry in entries() if entry.right)
    CAUGHT = Graded(WRONG, result("failed", "not_scaled"), ("Leaves out the scale.",), "strong")
    ACCEPTED = Graded(RIGHT, result("passed"), (), "strong")

    @pytest.mark.parametrize(
        ("item", "status", "line"),
        [
            (CAUGHT, 0, "1 of 1 caught, 1 of 1 named, 0 of 0 right rejected."),
            (ACCEPTED, 0, "0 of 0 caught, 0 of 0 named, 0 of 1 right rejected."),
            (
                replace(CAUGHT, result=result("error", "not_scaled", "by_d_k")),
                0,
                "named as something else: C1.py",
            ),
            (replace(CAUGHT, result=result("failed"), sentences=()), 0, "caught, but not named"),
            (replace(CAUGHT, result=result("passed")), 1, "not caught: C1.py"),
            (replace(CAUGHT, result=result("missing")), 1, "not caught: C1.py"),
            (replace(ACCEPTED, result=result("failed")), 1, "rejected: V02.py"),
            (replace(ACCEPTED, result=result("missing")), 1, "1 of 1 right rejected."),
            (replace(CAUGHT, result=result("infrastructure")), 2, "not graded: C1.py"),
            (replace(ACCEPTED, result=result("infrastructure")), 2, "not graded: V02.py"),
        ],
    )
    def test_says_what_was_found(self, monkeypatch, capsys, item, status, line):
        monkeypatch.setattr(kinds, "grade", lambda *_: [item])
        assert kinds.main([]) == status
        printed = " ".join(capsys.readouterr().out.split())
        assert line in printed
        assert "Isolation: strong." in printed
