"""Two mistakes at once: in two exercises, and in one."""

import itertools
import random
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from autograder import stubs
from autograder.evaluation import evaluate
from autograder.grading import DEFAULT_LIMITS, Assignment
from autograder.judge import judge
from autograder.likeness import same_outcome
from autograder.pack import assignments_of
from autograder.pairs import Merger
from autograder.submission import read
from tests.pack.two_mistakes import ENTRIES

COURSE = Path(__file__).parents[2]
SETS = ("ps1_numpy_attention", "ps2_torch_attention", "ps3_multi_head")
ASSIGNMENTS = [name for name in assignments_of(COURSE) if name in SETS]
ENOUGH = 0.8

count = pytest.mark.parametrize(
    "count", [30, pytest.param(200, marks=pytest.mark.soak)], ids=["some", "all"]
)


@pytest.fixture(scope="module")
def drawn():
    return {name: Assignment.draw(COURSE, name, "pairs") for name in ASSIGNMENTS}


def spec_of(assignment, exercise):
    return next(spec for spec in assignment.specs if spec.name == exercise)


def observe(assignment, spec, implementation):
    return {
        case.name: assignment.pack.observe(spec.name, implementation, case.program)
        for case in spec.cases
    }


def is_two_mistakes(assignment, spec, observations):
    """Whether what was observed is wrong, and not what one mistake alone gives."""
    if judge(spec, observations).outcome == "passed":
        return False
    return not any(
        all(
            same_outcome(spec, case, observations[case.name], case.explanations[known.name])
            for case in spec.cases
            if case.explanations
        )
        for known in spec.mistakes
    )


def in_one_exercise(drawn, rng, wanted):
    """(assignment, spec, pair, observations) at random among all pairs; how many were tried."""
    every = [
        (assignment, spec, pair)
        for assignment in drawn.values()
        for spec in assignment.specs
        for pair in itertools.combinations([known.name for known in spec.mistakes], 2)
    ]
    rng.shuffle(every)
    found, merged = [], 0
    for tried, (assignment, spec, pair) in enumerate(every, 1):
        made = assignment.pack.merged(spec.name, *pair)
        if made:
            merged += 1
            observations = observe(assignment, spec, made[0])
            if is_two_mistakes(assignment, spec, observations):
                found.append((spec, pair, observations))
        if len(found) == wanted:
            return found, tried, merged
    return found, len(every), merged


@count
def test_in_one_exercise(drawn, count, capsys):
    """Both are named.

    What has two mistakes is made here by the very merge that explains it, as no other way to
    make it from two misconceptions exists: this tells how well pairs are told apart. Pairs that
    contradict each other (no scale, and a wrong scale) cannot be merged; how many can is printed.
    How students' own code with two mistakes fares, the test below measures.
    """
    found, tried, merged = in_one_exercise(drawn, random.Random("one exercise"), count)
    named, other = 0, []
    for spec, pair, observations in found:
        result = judge(spec, observations)
        named += set(result.misconceptions) == set(pair)
        if set(result.misconceptions) != set(pair):
            other.append(f"  {spec.name}: {pair} named {result.misconceptions}")
    with capsys.disabled():
        print(
            f"\n{tried} pairs in one exercise: {merged} merge, {len(found)} of them are wrong in a "
            f"way of their own; both named: {named} ({named / len(found):.0%})",
            *other,
            sep="\n",
        )
    assert named / len(found) >= ENOUGH


@count
def test_in_two_exercises(drawn, count, tmp_path, capsys):
    """Each exercise names its own, also where one of them calls the other."""
    if sys.platform != "linux":
        pytest.skip("the sandbox exists on Linux only")
    from autograder.observe.pool import ZygotePool

    rng = random.Random("two exercises")
    named, other = 0, []
    for assignment, pairs in two_exercises(drawn, rng, count):
        with ZygotePool(assignment.framework, size=1) as pool:
            for number, chosen in enumerate(pairs):
                folder = tmp_path / f"{assignment.name}{number}"
                submission = hand_in(assignment, chosen, folder)

                def open_session(pool=pool, **own):
                    return pool.session(DEFAULT_LIMITS)

                specs = [spec for spec in assignment.specs if spec.name in chosen]
                results = evaluate(submission, specs, open_session, assignment.references)
                got = {result.name: result.misconceptions for result in results}
                both = all(got[exercise] == (name,) for exercise, name in chosen.items())
                named += both
                if not both:
                    other.append(f"  {chosen} named {got}")
    with capsys.disabled():
        share = f"{named} of {count} ({named / count:.0%})"
        print(f"\npairs in two exercises: both named in {share}", *other, sep="\n")
    assert named / count >= ENOUGH


def two_exercises(drawn, rng, count):
    """(assignment, [{exercise: misconception, …}, …]) with `count` pairs in all."""
    chosen = {name: [] for name in drawn}
    for _ in range(count):
        name = rng.choice(list(drawn))
        specs = [spec for spec in drawn[name].specs if spec.mistakes]
        chosen[name].append(
            {spec.name: rng.choice(spec.mistakes).name for spec in rng.sample(specs, 2)}
        )
    return [(drawn[name], pairs) for name, pairs in chosen.items() if pairs]


def hand_in(assignment, chosen, folder):
    """A module with every exercise right but for the two chosen ones."""
    folder.mkdir()
    pack = assignment.pack
    imports = ["import math", "import numpy as np"]
    imports += ["import torch", "from torch import nn"] if assignment.framework == "torch" else []
    code = [
        stubs.student_code(source, chosen.get(name, name), name)
        for name, source in pack.sources.items()
    ]
    path = folder / f"{pack.name}.py"
    path.write_text("\n".join(imports) + "\n\n\n" + "\n\n\n".join(code) + "\n", "utf-8")
    return read(path)


def test_written_by_hand(drawn, capsys):
    """What nobody merged: code with two mistakes as students write it."""
    assignment = drawn["ps1_numpy_attention"]
    assert len(ENTRIES) >= 24
    named, other = 0, []
    for exercise, names, source in ENTRIES:
        spec = spec_of(assignment, exercise)
        siblings = {n: known.reference for n, known in assignment.pack.exercises.items()}
        namespace = {"np": np, **siblings}
        exec(source, namespace)
        observations = observe(assignment, spec, namespace[exercise])
        result = judge(spec, observations)
        assert result.outcome in ("failed", "error")
        assert is_two_mistakes(assignment, spec, observations), (exercise, names)
        named += set(result.misconceptions) == names
        if set(result.misconceptions) != names:
            other.append(f"  {exercise}: {sorted(names)} named {result.misconceptions}")
    with capsys.disabled():
        share = f"{named} of {len(ENTRIES)} ({named / len(ENTRIES):.0%})"
        print(f"\ntwo mistakes written by hand: both named in {share}", *other, sep="\n")
    assert named / len(ENTRIES) >= ENOUGH


@pytest.mark.parametrize("name", ASSIGNMENTS)
@pytest.mark.parametrize(
    "some",
    [slice(0, None, 8), pytest.param(slice(None), marks=pytest.mark.soak)],
    ids=["8th", "all"],
)
def test_a_normal_form_gives_what_the_code_gives(drawn, name, some):
    """What is merged is not the code itself, but its normal form. In every eighth case, or all."""
    assignment = drawn[name]
    for spec in assignment.specs:
        pack = assignment.pack
        spec = replace(spec, cases=spec.cases[some])
        merger = Merger(pack.sources[spec.name], spec.name, vars(pack.modules[spec.name]))
        exercise = pack.exercises[spec.name]
        originals = {known.name: known.implementation for known in exercise.misconceptions}
        for local, original in {spec.name: exercise.reference, **originals}.items():
            made = merger.alone(local)
            if made is None:  # it has no such form, and no pairs
                continue
            mine, own = observe(assignment, spec, made), observe(assignment, spec, original)
            for case in spec.cases:
                assert same_outcome(spec, case, mine[case.name], own[case.name]), (local, case.name)


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_nothing_right_has_a_pair(drawn, name):
    """No pair gives what a right solution gives, so none could ever be named for one."""
    assignment = drawn[name]
    for spec in assignment.specs:
        for known in assignment.pack.exercises[spec.name].alternatives:
            observations = observe(assignment, spec, known.implementation)
            assert judge(spec, observations).misconceptions == ()
