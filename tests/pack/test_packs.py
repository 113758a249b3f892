"""Every pack of the course, walked whole: references, alternatives, misconceptions, cases."""

from pathlib import Path

import pytest

from autograder.judge import judge
from autograder.pack import assignments_of, load_pack
from autograder.selfcheck import load_key
from autograder.validate import validate_pack

COURSE = Path(__file__).parents[2]
ASSIGNMENTS = assignments_of(COURSE)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
@pytest.mark.parametrize(
    "seed",
    ["first", *(pytest.param(seed, marks=pytest.mark.soak) for seed in ("second", "third"))],
)
def test_a_pack_is_well(assignment, seed):
    report = validate_pack(COURSE, assignment, seed)
    assert report.complaints == report.remarks == ()
    assert report.well


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_right_solutions_are_never_rejected(assignment):
    """Twenty seeds here; a thousand in `make soak`."""
    accept_under_seeds(assignment, 20)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_self_checks_accept_right_solutions(assignment):
    """By what the key holds, without the checks and cases that stay with the instructor."""
    pack = load_pack(COURSE, assignment)
    for spec in load_key(COURSE / "assignments" / assignment).specs:
        exercise = pack.exercises[spec.name]
        for right in (exercise.reference, *(a.implementation for a in exercise.alternatives)):
            observed = {
                case.name: pack.observe(spec.name, right, case.program) for case in spec.cases
            }
            result = judge(spec, observed)
            assert result.outcome == "passed", result.feedback


@pytest.mark.soak
@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_right_solutions_are_never_rejected_in_a_thousand_runs(assignment):
    accept_under_seeds(assignment, 1000)


def accept_under_seeds(assignment, count):
    pack = load_pack(COURSE, assignment)
    for seed in range(count):
        for spec in pack.draw_all(f"seed {seed}"):
            right = pack.exercises[spec.name].reference
            observed = {
                case.name: pack.observe(spec.name, right, case.program) for case in spec.cases
            }
            result = judge(spec, observed)
            assert result.outcome == "passed", (seed, result.feedback)


def test_ps1_has_what_was_asked_for():
    pack = load_pack(COURSE, "ps1_numpy_attention")
    assert list(pack.exercises) == [
        "project",
        "attention_scores",
        "scale_scores",
        "softmax",
        "attend",
        "self_attention",
        "score_variance",
        "softmax_jacobian",
    ]
    for exercise in pack.exercises.values():
        assert len(exercise.misconceptions) >= 4
        assert len(exercise.alternatives) >= 2
        assert len(exercise.cases) < 5 or any(case.hidden for case in exercise.cases)
