"""The benchmarks run and say what they should; how quick anything is is not tested here."""

import json

from autograder.quiz import STUDENT_ID
from benchmarks import __main__ as benchmarks


def test_two_submissions_with_ours_only(tmp_path, capsys):
    figures_file = tmp_path / "latest.json"
    arguments = ["--submissions", "2", "--stock", "0", "--workers", "1"]
    assert benchmarks.main([*arguments, "--json", str(figures_file)]) == 0
    figures = json.loads(figures_file.read_text("utf-8"))
    assert figures["submissions"] == 2
    assert figures["ratio"] is None  # there is nothing to compare with
    assert set(figures["graders"]) == {"ours"}
    assert figures["graders"]["ours"]["workers"] == 1
    assert figures["graders"]["ours"]["wrongly_graded"] == []
    assert figures["graders"]["ours"]["peak_mib"] > 0
    assert {"spawn", "load", "calls", "judge and rest"} <= set(figures["parts"]["each_ms"])
    printed = capsys.readouterr().out
    for words in ("autograder grade", "per submission", "peak memory", figures["isolation"]):
        assert words in printed


def _code(path):
    """A notebook without its answers, some of which have numbers of the student's own."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return json.dumps([c for c in cells if c["id"] != STUDENT_ID and c["id"][:2] != "q_"])


def test_the_class_is_the_same_every_time_and_half_of_it_right(tmp_path):
    from benchmarks.course import make_class

    first, second = make_class(tmp_path / "1", 4), make_class(tmp_path / "2", 4)
    assert list(first.right.values()) == [True, False, True, False]
    files = [sorted(made.submitted.rglob("*.ipynb")) for made in (first, second)]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
    assert len({_code(path) for path in files[0]}) == 3  # the right ones are equal


def test_a_ratio_below_the_target_ends_with_1(monkeypatch):
    grader = {"submissions": 40, "workers": 1, "seconds": 1.0, "seconds_each": 0.1, "cpu_each": 0.1}
    grader |= {"peak_mib": 1.0, "runs": [1.0], "wrongly_graded": []}
    figures = {
        "assignment": "ps",
        "isolation": "strong",
        "graders": {"ours": grader, "stock": grader},
        "target": benchmarks.TARGET,
        "memory": "PSS",
        "parts": {"once_ms": {}, "each_ms": {}, "floor_ms": 0.0},
        "machine": {},
    }
    for ratio, status in ((29.9, 1), (30.0, 0)):
        monkeypatch.setattr(benchmarks, "run", lambda *_, r=ratio: {**figures, "ratio": r})
        assert benchmarks.main([]) == status
    grader["wrongly_graded"] = ["student001"]
    assert benchmarks.main([]) == 2
