"""The benchmarks run and say what they should; how quick anything is is not tested here."""

import json

import pytest

from autograder.quiz import STUDENT_ID
from benchmarks import __main__ as benchmarks
from benchmarks import counterexamples, growth
from benchmarks.graders import ratios

PS1 = "ps1_numpy_attention"


def test_two_submissions_with_ours_only(tmp_path, capsys):
    figures_file = tmp_path / "latest.json"
    arguments = ["--assignment", PS1, "--submissions", "2", "--others", "0", "--workers", "1"]
    arguments.append("--quick")
    assert benchmarks.main([*arguments, "--json", str(figures_file)]) == 0
    figures = json.loads(figures_file.read_text("utf-8"))
    assert figures["submissions"] == 2
    assert figures["ratios"] == []  # there is nothing to compare with
    assert set(figures["graders"]) == {"ours", "recorded"}
    for found in figures["graders"].values():
        assert found["workers"] == 1
        assert found["wrongly_graded"] == []
        assert found["peak_mib"] > 0
    assert {"spawn", "load", "calls", "judge and rest"} <= set(figures["parts"]["each_ms"])
    assert figures["over_floor"] > 0
    printed = capsys.readouterr().out
    for words in (
        "autograder grade --gradebook",
        "per submission",
        "peak memory",
        figures["isolation"],
    ):
        assert words in printed


def _code(path):
    """A notebook without its answers, some of which have numbers of the student's own."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    return json.dumps([c for c in cells if c["id"] != STUDENT_ID and c["id"][:2] != "q_"])


def test_the_class_is_the_same_every_time_and_half_of_it_right(tmp_path):
    from benchmarks.course import make_class

    first, second = (make_class(tmp_path / n, 6, PS1) for n in "12")
    assert list(first.right.values()) == [True, False] * 3
    files = [sorted(made.submitted.rglob("*.ipynb")) for made in (first, second)]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]
    assert len({_code(path) for path in files[0]}) == 6  # not even the right ones are alike


def _grader(title, seconds, wrong=()):
    return {
        "title": title, "submissions": 40, "workers": 1, "seconds": 40 * seconds,
        "seconds_each": seconds, "cpu_each": seconds, "peak_mib": 1.0, "runs": [40 * seconds],
        "wrongly_graded": list(wrong),
    }  # fmt: skip


def _status(monkeypatch, graders, over_floor=2.0, *, save=90.0, repeat=True):
    figures = {
        "assignment": "ps",
        "isolation": "strong",
        "graders": graders,
        "not_installed": ["otter-grader"],
        "ratios": ratios(graders),
        "over_floor": over_floor,
        "most_over_floor": benchmarks.MOST_OVER_FLOOR,
        "saves": {"ps1": {"median_ms": save, "most_ms": 150.0, "all_ms": [save]}},
        "repeated": [
            {
                "submissions": 10,
                "seconds": [3.0, 1.0, 2.0],
                "observed": ["a 10", "nothing", "a 10"],
                "most_seconds": 3.0,
                "kept": repeat,
            }
        ],
        "memory": "PSS",
        "parts": {"once_ms": {}, "each_ms": {}, "floor_ms": 1.0, "judged_ms": 1.5},
        "machine": {},
    }
    monkeypatch.setattr(benchmarks, "run", lambda *_: figures)
    return benchmarks.main([])


def test_a_promise_that_is_not_kept_ends_with_1(monkeypatch, capsys):
    for seconds, status in ((1.49, 1), (1.51, 0)):
        graders = {"ours": _grader("ours", 0.01), "stock": _grader("stock", seconds)}
        assert _status(monkeypatch, graders) == status
        assert ("NOT kept" in capsys.readouterr().out) == (status == 1)
    assert _status(monkeypatch, graders | {"otter": _grader("otter", 1.99)}) == 1
    assert _status(monkeypatch, graders | {"recorded": _grader("recorded", 0.0301)}) == 0
    assert _status(monkeypatch, graders | {"recorded": _grader("recorded", 0.0303)}) == 1
    ours = {"ours": _grader("ours", 0.01)}
    assert _status(monkeypatch, ours, benchmarks.MOST_OVER_FLOOR) == 0
    assert _status(monkeypatch, ours, benchmarks.MOST_OVER_FLOOR + 0.1) == 1


def test_saves_and_repeated_runs_are_promised_too(monkeypatch, capsys):
    ours = {"ours": _grader("ours", 0.01)}
    assert _status(monkeypatch, ours) == 0
    assert _status(monkeypatch, ours, save=150.1) == 1
    assert _status(monkeypatch, ours, repeat=False) == 1


def test_growth_is_told_by_time_and_by_memory():
    small = growth.Grown(100, 20.0, 10.0, 300.0)
    assert growth.faults([small, growth.Grown(1000, 22.9, 99.0, 303.0)]) == []
    assert "1.16 times" in growth.faults([small, growth.Grown(1000, 23.2, 11.0, 300.0)])[0]
    assert "KiB each" in growth.faults([small, growth.Grown(1000, 20.0, 10.0, 330.0)])[0]


def test_wrong_scores_cannot_be_compared(monkeypatch, capsys):
    graders = {"ours": _grader("ours", 0.01, ["student001"]), "stock": _grader("stock", 2.0)}
    assert _status(monkeypatch, graders) == 2
    assert "student001" in capsys.readouterr().err


def test_small_cases_of_a_few_students(capsys):
    assert counterexamples.main(["--sets", "ps1", "--every", "20"]) == 0
    printed = capsys.readouterr().out
    assert "a small failing case for" in printed
    assert "first suspect of the trace" in printed


@pytest.mark.soak
def test_groups_of_a_class_of_200():
    figures = counterexamples.measure_class("ps1", 200)
    assert figures["purity"] >= 0.95


def test_two_submissions_over_dask_and_without(tmp_path, capsys):
    from benchmarks import cluster

    figures_file = tmp_path / "cluster.json"
    arguments = ["--submissions", "2", "--rounds", "1", "--workers", "1"]
    assert cluster.main([*arguments, "--json", str(figures_file)]) in (0, 1)
    figures = json.loads(figures_file.read_text("utf-8"))
    assert figures["equal"] is True
    assert set(figures["times"]) == {"local pool", "Dask"}
    assert set(figures["ratio"]) == {"whole", "grading", "processor"}
    assert "(at most 1.15, " in capsys.readouterr().out


def test_an_overhead_above_what_is_promised_ends_with_1(monkeypatch):
    from benchmarks import cluster

    times = {"whole": [1.0], "grading": [1.0], "processor": [1.0]}
    figures = {
        "assignment": "ps",
        "submissions": 2,
        "workers": 2,
        "times": {"local pool": times, "Dask": times},
        "peak_mib": {"local pool": 1.0, "Dask": 1.0},
        "equal": True,
    }
    for ratio, status in ((1.14, 0), (1.16, 1)):
        ratios = dict.fromkeys(times, ratio)
        monkeypatch.setattr(cluster, "run", lambda *_, r=ratios: {**figures, "ratio": r})
        assert cluster.main([]) == status
    figures["equal"] = False
    assert cluster.main([]) == 2
