"""Observation and expectation in, result out. Nothing of the student's runs here.

Each case is judged in a fixed order: it runs → it returns something of the right type →
exact shape → dtype → finite → invariants → values → gradients → side effects. The first
that fails explains the rest, so later ones are not reported for that case.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from autograder import wording
from autograder.checks import Check, is_for, run_check
from autograder.comparison import judge_values
from autograder.diagnose import Diagnosis, diagnose
from autograder.exercise import Exercise
from autograder.form import Fault, Step, judge_form
from autograder.likeness import CaseOutcome as CaseOutcome
from autograder.observe.session import Stopped
from autograder.program import Backward, Call, Observed, Raised
from autograder.relations import equal_arguments
from autograder.result import CheckOutcome, CheckResult, ExerciseOutcome, ExerciseResult
from autograder.results_view import argument_views, case_view
from autograder.specification import (
    DTYPE,
    FINITE,
    GRADIENTS,
    RUNS,
    SHAPE,
    TYPE,
    UNTOUCHED,
    VALUES,
    Case,
    CaseView,
    ExerciseSpec,
    Verdict,
)
from autograder.structure import relation_of

# An exception says more than wrong values in another case; a limit says more than both. What
# calls something forbidden is not looked at further.
_GRAVITY: dict[ExerciseOutcome, int] = {
    "infrastructure": 0,
    "forbidden": 1,
    "missing": 2,
    "timed_out": 3,
    "out_of_memory": 3,
    "crashed": 3,
    "error": 4,
    "failed": 5,
}


def check_names(spec: ExerciseSpec) -> tuple[str, ...]:
    """The checks of an exercise in the order in which they are judged."""
    own = tuple(check.line for check in spec.checks)
    gradients = any(
        isinstance(step, Backward) for case in spec.cases for step in case.program.steps
    )
    dtype = (DTYPE,) if spec.framework == "torch" else ()
    middle = (GRADIENTS,) if gradients else ()
    return (RUNS, TYPE, SHAPE, *dtype, FINITE, *own, VALUES, *middle, UNTOUCHED)


def judge(
    spec: ExerciseSpec, observations: Mapping[str, CaseOutcome], *, with_pairs: bool = True
) -> ExerciseResult:
    """The result of one exercise.

    with_pairs: whether two misconceptions together may be the cause, which takes long to find.
    Cases after the one that ended the session need not be observed; to pass, all must be.
    Raises nothing on any observation, since what a submission returned can be anything. A
    check of the author's that raises is a PackFault.
    """
    faults: dict[str, Fault] = {}
    for case in spec.cases:
        if case.name in observations:
            fault = judge_case(spec, case, observations[case.name])
            if fault is not None:
                faults[case.name] = fault
    if not faults:
        unseen = [case.name for case in spec.cases if case.name not in observations]
        if unseen or not spec.cases:
            return infrastructure(spec, f"{len(unseen)} cases were not observed")
        return _passed(spec)
    # what a student can look at comes first
    first = min(
        (case for case in spec.cases if case.name in faults),
        key=lambda case: (_GRAVITY.get(faults[case.name].outcome, 9), case.hidden),
    )
    fault = faults[first.name]
    if fault.outcome == "infrastructure":
        return infrastructure(spec, fault.message)
    if all(one.outcome == "missing" for one in faults.values()) and len(faults) == len(spec.cases):
        return missing(spec)
    found = Diagnosis()
    if fault.outcome not in ("missing", "forbidden"):
        # a limit too: the cases before it may say why it was met
        found = diagnose(spec, observations, tuple(faults), with_pairs=with_pairs)
    seen = [case for case in spec.cases if case.name in observations]
    lines = wording.failed(spec, first, fault.headline, fault.message, len(faults), len(seen))
    lines += (
        wording.causes(
            spec, found.names, found.matching, found.failing, statistical=found.statistical
        )
        or _observation(spec, observations, faults)
        or wording.next_step(first, fault.check, fault.outcome)
    )
    return ExerciseResult(
        name=spec.name,
        outcome=fault.outcome,
        score=_score(spec, faults, found, observations),
        max_score=spec.points,
        misconceptions=found.names,
        checks=_check_results(spec, faults, seen),
        feedback="\n".join(lines),
    )


def _observation(
    spec: ExerciseSpec, observations: Mapping[str, CaseOutcome], faults: Mapping[str, Fault]
) -> list[str]:
    """How wrong values are related to the right ones, in words; none where they are not wrong."""
    for fault in faults.values():
        said = fault.check in (TYPE, DTYPE, UNTOUCHED, GRADIENTS)
        if said or fault.outcome not in ("failed", "error"):
            return []
    found = relation_of(spec, observations, tuple(faults))
    return [] if found is None else wording.observation(found[0], found[1].says, found[1].look)


# --- one case ----------------------------------------------------------------------------


def judge_case(spec: ExerciseSpec, case: Case, observed: CaseOutcome) -> Fault | None:
    """The first fault of one case, or None."""
    if isinstance(observed, Stopped):
        return Fault(RUNS, observed.message, observed.reason)
    fault = _judge_calls_made(spec, observed)
    if fault is not None:
        return fault
    for index, expected in enumerate(case.expected):
        if index >= len(observed):
            return Fault(RUNS, "the observation ended before the last step", "crashed")
        fault = _judge_step(Step(spec, case, index), observed[index], expected)
        if fault is not None:
            return _in_call(case, index, fault)
    fault, is_statistical = _judge_invariants(spec, case, observed)
    if fault is not None:
        return fault
    if not is_statistical:
        for index in _calls_first(case):
            if case.expected[index].raised is None:
                step = Step(spec, case, index)
                fault = judge_values(step, observed[index], case.expected[index])
                if fault is not None:
                    return _in_call(case, index, fault)
    return _judge_side_effects(case, observed)


def _judge_calls_made(spec: ExerciseSpec, observed: Sequence[Observed]) -> Fault | None:
    """Something forbidden that was called, whatever came of it (advisory)."""
    for step in observed:
        found = step.notes.get("forbidden")
        if isinstance(found, str) and found in spec.forbids:
            return Fault(RUNS, wording.forbidden_at_run_time(found), "forbidden")
    return None


def _calls_first(case: Case) -> list[int]:
    """Positions of the steps: gradients are looked at when all values are right."""
    steps = case.program.steps
    return sorted(range(len(case.expected)), key=lambda i: isinstance(steps[i], Backward))


def _in_call(case: Case, index: int, fault: Fault) -> Fault:
    """The same, saying in which call where it is not the first."""
    calls = [position for position, _ in case.program.calls]
    if index not in calls[1:]:
        return fault
    views = [argument_views(case, position) for position in calls[: calls.index(index) + 1]]
    again = any(equal_arguments(view, views[-1]) for view in views[:-1])
    which = wording.later_call(len(views), len(calls), again)
    return replace(fault, message=f"{which}{fault.message}")


def _judge_step(step: Step, observed: Observed, expected: Observed) -> Fault | None:
    done = step.case.program.steps[step.index]
    if expected.raised is not None:
        return _judge_exception(step, observed, expected.raised)
    if observed.raised is not None:
        if observed.raised.is_a("Unfit") and not isinstance(done, Call):
            return Fault(TYPE, wording.one_line(observed.raised.message))
        return _fault_of_exception(step, observed.raised)
    if isinstance(done, Call):
        return judge_form(step, observed.value, expected.value)
    return None  # gradients and descriptions are compared with the values


def _judge_exception(step: Step, observed: Observed, wanted: Raised) -> Fault | None:
    if observed.raised is None:
        message = f"expected {wanted.type_name} to be raised, got {step.words(observed.value)}"
        return Fault(VALUES, message, heading="no exception")
    if observed.raised.is_a(wanted.type_name):
        return None
    fault = _fault_of_exception(step, observed.raised)
    if fault.outcome != "error":
        return fault
    got = wording.exception(observed.raised, step.hidden)
    message = f"expected {wanted.type_name} to be raised; {got}"
    return Fault(VALUES, message, heading="the wrong exception")


def _fault_of_exception(step: Step, raised: Raised) -> Fault:
    name = step.spec.name
    if raised.type_name == "Missing":
        return Fault(RUNS, wording.NOT_WRITTEN, "missing")
    if raised.is_a("NotImplementedError"):
        inside = raised.function
        if inside is None or name in inside.split("."):
            return Fault(RUNS, wording.exception(raised, step.hidden), "missing")
        called = wording.one_line(inside, 80)
        return Fault(RUNS, f"your code calls `{called}`, which is {wording.NOT_WRITTEN}", "error")
    if raised.is_a("MemoryError"):
        return Fault(RUNS, wording.out_of_memory(raised), "out_of_memory")
    return Fault(RUNS, wording.exception(raised, step.hidden), "error")


def _judge_invariants(
    spec: ExerciseSpec, case: Case, observed: Sequence[Observed]
) -> tuple[Fault | None, bool]:
    """(the first fault, whether the values of this case are random and not compared)."""
    view = case_view(case, observed) if spec.checks else None
    if view is None:
        return None, False
    is_statistical = False
    for check in spec.checks:
        if not is_for(check, case):
            continue
        message, verdict = _run_check(check, view)
        is_statistical |= verdict
        if message:
            shown = "it does not hold here" if case.hidden else message
            return Fault(check.line, shown), is_statistical
    return None, is_statistical


def _run_check(check: Check, view: CaseView) -> tuple[str | None, bool]:
    """(what is wrong, whether it is the check's to judge random values)."""
    found = run_check(check, view)
    return (found.message, True) if isinstance(found, Verdict) else (found, False)


def _judge_side_effects(case: Case, observed: Sequence[Observed]) -> Fault | None:
    for index, expected in enumerate(case.expected):
        step = case.program.steps[index]
        known = step.named if isinstance(step, Call) else {}
        changed = [
            name for name in known
            if name in observed[index].changed and name not in expected.changed
        ]  # fmt: skip
        if changed:
            names = " and ".join(f"`{name}`" for name in changed[:3])
            message = f"expected {names} to be left as it was, but the call changed it"
            return Fault(UNTOUCHED, f"{message}; work on a copy")
    return None


# --- results -----------------------------------------------------------------------------


def _passed(spec: ExerciseSpec) -> ExerciseResult:
    return ExerciseResult(
        name=spec.name,
        outcome="passed",
        score=spec.points,
        max_score=spec.points,
        checks=tuple(CheckResult(name=name, outcome="passed") for name in check_names(spec)),
        feedback=wording.passed(spec, len(spec.cases)),
    )


def missing(spec: ExerciseSpec) -> ExerciseResult:
    """The result of an exercise that was left as the stub was, or is not there."""
    skipped = tuple(CheckResult(name=name, outcome="skipped") for name in check_names(spec)[1:])
    first = CheckResult(name=RUNS, outcome="failed", message=wording.NOT_WRITTEN)
    return ExerciseResult(
        name=spec.name,
        outcome="missing",
        score=0.0,
        max_score=spec.points,
        checks=(first, *skipped),
        feedback=wording.missing(spec),
    )


def infrastructure(spec: ExerciseSpec | Exercise, message: str) -> ExerciseResult:
    """The result of an exercise that we could not grade, which costs no point."""
    return ExerciseResult(
        name=spec.name,
        outcome="infrastructure",
        score=None,
        max_score=spec.points,
        feedback=wording.infrastructure(spec, message),
    )


def _check_results(
    spec: ExerciseSpec, faults: Mapping[str, Fault], seen: Sequence[Case]
) -> tuple[CheckResult, ...]:
    """One entry a check: failed with the first message; skipped where no case reached it."""
    names = check_names(spec)
    reached = max(names.index(fault.check) for fault in faults.values())
    if len(faults) < len(seen):  # a case that passed reached them all
        reached = len(names)
    results = []
    for position, name in enumerate(names):
        failing = [case for case in seen if case.name in faults and faults[case.name].check == name]
        if failing:
            case = min(failing, key=lambda case: case.hidden)
            text = wording.sentence(faults[case.name].message)
            message = f"{wording.case_words(spec, case)}: {text}"
            results.append(CheckResult(name=name, outcome="failed", message=message))
        else:
            outcome: CheckOutcome = "skipped" if position > reached else "passed"
            results.append(CheckResult(name=name, outcome=outcome))
    return tuple(results)


def _score(
    spec: ExerciseSpec,
    faults: Mapping[str, Fault],
    found: Diagnosis,
    observations: Mapping[str, CaseOutcome],
) -> float:
    """Nothing, unless the one misconception found or the checks that hold carry credit."""
    # two mistakes earn nothing by themselves: what is still right, checks with credit say
    share = spec.mistake(found.names[0]).credit if len(found.names) == 1 else 0.0
    if not {fault.check for fault in faults.values()} & {RUNS, TYPE, SHAPE, DTYPE, FINITE}:
        share = max(share, _earned(spec, faults, observations))
    return min(round(spec.points * min(share, 1.0), 2), spec.points)


def _earned(
    spec: ExerciseSpec, faults: Mapping[str, Fault], observations: Mapping[str, CaseOutcome]
) -> float:
    """The credit of the checks that hold in every case, also after another fault."""
    views: list[tuple[Case, CaseView]] = []
    for case in spec.cases:
        observed = observations.get(case.name)
        if case.name in faults and observed is not None and not isinstance(observed, Stopped):
            view = case_view(case, observed)
            views += [] if view is None else [(case, view)]
    return math.fsum(
        check.credit
        for check in spec.checks
        if check.credit
        and not any(is_for(check, case) and _run_check(check, view)[0] for case, view in views)
    )
