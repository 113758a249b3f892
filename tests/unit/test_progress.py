"""How far a long run is: in a terminal, in a log, and for a program."""

import io
import json
from contextlib import nullcontext

import pytest
from rich.console import Console

from autograder.progress import LINE_SECONDS, Progress, Tally
from autograder.run import Run
from tests.unit.class_of_many import document
from tests.unit.courses import NAME, RIGHT, make_course, submit
from tests.unit.test_evaluation import Fake


class Clock:
    """A clock that goes on by as much as it is told to, each time that a result is there."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(kind, stream, results, seconds=1.0, done=0, before=None):
    """What a stage of these results writes."""
    clock = Clock()
    progress = Progress(kind, stream, clock)
    with progress.stage("grading", done + len(results), done) as advance:
        for result in results:
            clock.now += seconds
            advance(result)
            if before is not None:
                before(stream)
    return stream.getvalue()


@pytest.fixture(scope="module")
def results():
    return list(document(40).submissions)


class TestTally:
    def test_rate_and_time_left(self, results):
        tally = Tally("grading", total=100, done=50, start=0.0)
        assert (tally.rate(5.0), tally.left(5.0), tally.words(5.0)) == (None, None, "")
        for name in ("a", "b", "c", "d", "e"):
            tally.add(name)
        # what was done before this run does not make it quicker
        assert (tally.rate(10.0), tally.left(10.0)) == (0.5, 90.0)
        assert tally.words(10.0) == "30.0 a minute, 90 s left"
        assert tally.words(0.5) == "10.0 a second, 4 s left"

    @pytest.mark.parametrize(
        "left, words", [(0.2, "0 s"), (99, "99 s"), (600, "10 min"), (9000, "2 h 30 min")]
    )
    def test_time_left_in_words(self, left, words):
        tally = Tally("grading", total=2, done=1, start=0.0, here=1)
        assert tally.words(left).endswith(f"{words} left")

    def test_outcomes(self, results):
        tally = Tally("grading", total=40, done=0, start=0.0)
        for result in results:
            tally.add(result)
        assert sum(tally.outcomes.values()) == sum(len(one.exercises) for one in results)
        assert tally.outcomes["passed"] == sum(
            exercise.outcome == "passed" for one in results for exercise in one.exercises
        )


class TestLines:
    def test_one_now_and_then(self, results):
        lines = run("auto", io.StringIO(), results, seconds=LINE_SECONDS / 4).splitlines()
        assert len(lines) == 10
        assert lines[0].startswith("grading: 4 of 40; 24.0 a minute, 90 s left; passed ")
        assert lines[-1].startswith("grading: 40 of 40; 24.0 a minute, 0 s left; passed ")

    def test_a_short_run_says_nothing(self, results):
        assert run("lines", io.StringIO(), results, seconds=0.01) == ""

    @pytest.mark.parametrize("kind", ["lines", "json", "bar", "none"])
    def test_nothing_to_do_is_nothing_to_say(self, kind):
        assert run(kind, io.StringIO(), [], done=5) == ""


class TestJson:
    def test_a_line_for_each(self, results):
        events = [json.loads(line) for line in run("json", io.StringIO(), results).splitlines()]
        assert [event["event"] for event in events] == ["start", *["done"] * 40, "end"]
        third = events[3]
        assert third["student"] == results[2].student
        assert (third["done"], third["total"], third["seconds"]) == (3, 40, 3.0)
        assert (third["rate"], third["left"]) == (1.0, 37.0)
        assert (third["score"], third["max_score"]) == (results[2].score, results[2].max_score)
        assert sum(events[-1]["outcomes"].values()) == 40 * len(results[0].exercises)
        assert (events[0]["rate"], events[0]["left"]) == (None, None)

    def test_also_where_it_is_a_terminal(self, results):
        assert json.loads(run("json", Terminal(), results).splitlines()[0])["event"] == "start"

    def test_a_name_for_what_is_written(self):
        lines = run("json", io.StringIO(), ["学生"]).splitlines()
        assert json.loads(lines[1])["student"] == "学生"


def test_a_bar_in_a_terminal(results, monkeypatch):
    monkeypatch.setattr(
        Progress, "_console",
        lambda self: Console(file=self._stream, force_terminal=True, width=150, _environ={}),
    )  # fmt: skip
    shown = run("auto", Terminal(), results)
    assert "grading" in shown
    assert "40/40" in shown
    assert "1.0 a second, 0 s left; passed " in shown
    assert shown.endswith("\x1b[?25h\r\x1b[1A\x1b[2K") or "\x1b[2K" in shown  # and is gone again


def test_through_a_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("autograder.run.observer", lambda *a: nullcontext((Fake(), "strong")))
    course = make_course(tmp_path)
    for student in ("ann", "bob"):
        submit(course, student, RIGHT)
    options = {"progress": "json", "workers": 1, "feedback": tmp_path / "pages"}
    assert Run(course, NAME, **options).execute() == 0
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    told = [(event["stage"], event["event"], event.get("student")) for event in events]
    assert told == [
        *(("grading", *one) for one in [("start", None), ("done", "ann"), ("done", "bob")]),
        ("grading", "end", None),
        *(("feedback", *one) for one in [("start", None), ("done", "ann"), ("done", "bob")]),
        ("feedback", "end", None),
    ]
    assert events[3]["outcomes"] == {"passed": 2}
    assert Run(course, NAME, quiet=True, **options | {"progress": "auto"}).execute() == 0
    assert capsys.readouterr().err == ""
