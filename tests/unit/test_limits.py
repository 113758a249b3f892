"""Limits of an exercise: how they are said, that they hold, and that the rest is graded."""

import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from jaxtyping import Float

from autograder import ExerciseLimits, exercise
from autograder.evaluation import evaluate
from autograder.grading import DEFAULT_LIMITS, Assignment, grade_submission
from autograder.key_writing import make_key
from autograder.observe.session import Limits
from autograder.observe.spawned import SpawnedSession
from autograder.parsing import Cell, parse
from autograder.selfcheck import KEY_FILE, load_key
from autograder.signature import AuthoringError
from autograder.submission import Submission
from tests.unit.trial import pack_of

Vector = Float[np.ndarray, "n"]
RUN = Limits(wall=10.0, total=60.0, cpu=30, memory=256, output=1 << 16)


def named(name, **options):
    """An exercise that doubles its argument."""

    def double(x: Vector) -> Vector:
        return 2 * x

    double.__name__ = name
    made = exercise(points=2, **options)(double)
    made.case("ones", kind="robustness")(one_case)
    return made


def one_case(rng):
    return {"x": np.ones(3)}


class TestSayingThem:
    def test_all_of_them_together_or_the_two_by_themselves(self):
        made = named("double", seconds=2.5, limits=ExerciseLimits(cpu=3, output=100, files=20))
        assert made.limits == ExerciseLimits(seconds=2.5, cpu=3, output=100, files=20)
        assert named("double", memory=64).limits == ExerciseLimits(memory=64)
        assert named("double").limits == ExerciseLimits()

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"seconds": 0}, "seconds is a number above 0, not 0"),
            ({"seconds": math.inf}, "seconds is a number above 0, not inf"),
            ({"limits": ExerciseLimits(cpu=0)}, "cpu is 1 at least, not 0"),
            ({"limits": ExerciseLimits(cpu=1.5)}, "cpu is a whole number, not 1.5"),
            ({"limits": ExerciseLimits(cpu=True)}, "cpu is a whole number, not True"),
            ({"memory": "1 GB"}, "memory is a whole number, not '1 GB'"),
            ({"memory": 8}, "memory is 16 at least, not 8"),
            ({"limits": ExerciseLimits(output=-1)}, "output is a whole number, not -1"),
            ({"limits": ExerciseLimits(files=5)}, "files is 16 at least, not 5"),
            ({"limits": ExerciseLimits(processes=1)}, "processes can only be 0"),
            ({"memory": 64, "limits": ExerciseLimits(memory=64)}, "memory is given twice"),
        ],
    )
    def test_what_cannot_be_kept_is_refused(self, options, words):
        with pytest.raises(AuthoringError, match=f"double: .*{words}"):
            named("double", **options)

    def test_no_processes_can_be_said(self):
        assert named("double", limits=ExerciseLimits(processes=0)).limits.processes == 0

    def test_they_travel_with_the_key(self, tmp_path):
        exercises = [
            named("plain"),
            named("own", memory=64, limits=ExerciseLimits(cpu=3, output=100, files=20)),
        ]
        specs = pack_of(*exercises).draw_all("seed", public_only=True)
        (tmp_path / KEY_FILE).write_bytes(make_key("ps0_trial", "Trials", specs, {}))
        assert [spec.limits for spec in load_key(tmp_path).specs] == [
            made.limits for made in exercises
        ]


def graded(open_session, exercises, **bodies):
    """Results by name, for bodies of functions of `x`; those not named are right."""
    specs = pack_of(*exercises).draw_all("seed")
    sources = [
        f"import os, time\ndef {spec.name}(x):\n    {bodies.get(spec.name, 'return 2 * x')}\n"
        for spec in specs
    ]
    cells = tuple(Cell(f"cell {number}", source) for number, source in enumerate(sources, 1))
    found, broken = parse(cells, "notebook")
    name = Path("ps0_trial.ipynb")
    submission = Submission(name, "notebook", "", cells, tuple(found), tuple(broken))
    return {result.name: result for result in evaluate(submission, specs, open_session)}


BUSY = "end = time.process_time() + {}\n    while time.process_time() < end: pass\n    return 2 * x"
OPEN_20 = "kept = [os.dup(0) for _ in range(20)]\n    return 2 * x"

# (limits of the exercise, what it does, its outcome, what it is told)
REACHED = [
    (
        ExerciseLimits(seconds=0.4),
        "while True: pass",
        "timed_out",
        "Your code gave no answer within 0.4 s, the limit for one request",
    ),
    (
        ExerciseLimits(cpu=1),
        BUSY.format(8),
        "timed_out",
        "Your code used more than the 1 s of processor time that this exercise has",
    ),
    (
        ExerciseLimits(memory=64),
        "return bytes(65 << 20)",
        "out_of_memory",
        "more memory than the 64 MiB that this exercise may use in line 3",
    ),
    (
        ExerciseLimits(output=100),
        "print('x' * 101)\n    return 2 * x",
        "crashed",
        "Your code printed more than the 100 bytes that this exercise may print",
    ),
    (
        ExerciseLimits(files=16),
        OPEN_20,
        "error",
        "this exercise may have 16 files open",
    ),
]
IDS = ["seconds", "cpu", "memory", "output", "files"]


class Opened:
    """Sessions that remember with which limits they were opened."""

    def __init__(self, make):
        self.make, self.limits = make, []

    def __call__(self, **own):
        self.limits.append(RUN.for_exercise(**own))
        return self.make(self.limits[-1])


@pytest.fixture(scope="module")
def pool():
    if sys.platform != "linux":
        pytest.skip("the sandbox exists on Linux only")
    from autograder.observe.pool import ZygotePool

    with ZygotePool() as pool:
        yield pool


class TestKeepingThem:
    @pytest.mark.parametrize(("own", "body", "outcome", "words"), REACHED, ids=IDS)
    def test_in_the_sandbox(self, pool, own, body, outcome, words):
        exercises = [named("before"), named("limited", limits=own), named("after")]
        found = graded(Opened(pool.session), exercises, limited=body)
        assert {name: result.outcome for name, result in found.items()} == {
            "before": "passed",
            "limited": outcome,
            "after": "passed",
        }
        assert words in found["limited"].feedback

    @pytest.mark.parametrize(("own", "body", "outcome", "words"), REACHED, ids=IDS)
    @pytest.mark.skipif(sys.platform != "linux", reason="other systems keep some of them only")
    def test_in_a_spawned_process(self, own, body, outcome, words):
        # what is printed has a pipe of its own: more than it holds comes before the result
        body = body.replace("101", "(1 << 21), flush=True")
        exercises = [named("before"), named("limited", limits=own)]
        found = graded(Opened(SpawnedSession), exercises, limited=body)
        assert (found["before"].outcome, found["limited"].outcome) == ("passed", outcome)
        assert words in found["limited"].feedback

    @pytest.mark.parametrize(
        ("own", "body"),
        [
            (ExerciseLimits(memory=512), "kept = bytes(300 << 20)\n    return 2 * x"),
            (ExerciseLimits(output=1 << 18), "print('x' * (1 << 17))\n    return 2 * x"),
            (ExerciseLimits(files=100), OPEN_20.replace("20", "70")),
        ],
        ids=["memory", "output", "files"],
    )
    def test_an_exercise_may_have_more_than_the_run_gives(self, pool, own, body):
        exercises = [named("limited", limits=own), named("other")]
        found = graded(Opened(pool.session), exercises, limited=body, other=body)
        assert found["limited"].outcome == "passed"
        assert found["other"].outcome != "passed"
        assert "a submission may" in found["other"].feedback

    def test_what_adds_up_is_for_one_exercise(self, pool):
        """Two exercises that print 80 bytes each keep to 100 bytes each."""
        own = ExerciseLimits(output=100)
        prints = "print('x' * 79)\n    return 2 * x"
        exercises = [named("one", limits=own), named("other", limits=own)]
        found = graded(Opened(pool.session), exercises, one=prints, other=prints)
        assert [result.outcome for result in found.values()] == ["passed", "passed"]

    def test_equal_limits_share_a_process_and_equal_ones_of_the_run_too(self, pool):
        opened = Opened(pool.session)
        small = ExerciseLimits(memory=64)
        exercises = [
            named("a"),
            named("b", limits=small),
            named("c", seconds=3.0),
            named("d", limits=small),
            named("e", limits=ExerciseLimits(memory=64, files=32)),
        ]
        found = graded(opened, exercises)
        assert [result.outcome for result in found.values()] == ["passed"] * 5
        assert [(limits.memory, limits.files) for limits in opened.limits] == [
            (256, 64),
            (64, 64),
            (64, 32),
        ]

    def test_the_result_says_where_and_what_was_still_graded(self, pool, tmp_path):
        exercises = [named("first"), named("limited", limits=ExerciseLimits(output=10))]
        pack = pack_of(*exercises)
        (tmp_path / "ps0_trial.py").write_text(
            "def first(x): return 2 * x\ndef limited(x): print('x' * 99); return 2 * x\n", "utf-8"
        )
        drawn = Assignment(pack, "seed", ())
        result = grade_submission(drawn, "s01", tmp_path, Opened(pool.session), "strong")
        assert result.score == 2.0
        assert result.messages == (
            "ended before their time: limited (crashed); the other exercise was graded",
        )


def test_nbgraders_configuration_sets_those_of_the_run():
    grading = pytest.importorskip("autograder.nbgrader_plugin.grading")
    made = grading.ObserveAndJudge(cpu=7, total=9.0, output=100, files=20)
    assert made.settings.limits == replace(DEFAULT_LIMITS, cpu=7, total=9.0, output=100, files=20)
