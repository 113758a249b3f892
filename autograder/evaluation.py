"""One submission, observed and judged: what `check`, pytest, `grade` and nbgrader share.

Every exercise is observed in a session; the sessions differ (a sandboxed child, a spawned
process), the rest does not. What fails for a part that it calls is observed once more with
that part answered, where there are references. Nothing that a submission or a session does
makes `evaluate` raise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from autograder import wording
from autograder.faults.finding import Finder
from autograder.following import FollowThrough, may_be_a_part
from autograder.hints import with_hints, with_lines
from autograder.judge import missing
from autograder.observe.session import Session
from autograder.observing import OpenSession, Pass, not_run
from autograder.references import Reference
from autograder.result import ExerciseResult
from autograder.specification import ExerciseSpec
from autograder.submission import Submission


def evaluate(
    submission: Submission,
    specs: Sequence[ExerciseSpec],
    open_session: OpenSession,
    references: Mapping[str, Reference] | None = None,
    known: Mapping[str, ExerciseResult] | None = None,
    finder: Finder | None = None,
) -> list[ExerciseResult]:
    """The result of every exercise, in the order of `specs`: parts before what needs them.

    references: of the exercises that can be answered. Without them, as on a student's machine,
    there is no follow-through. known: results that stand; these exercises are not observed.
    finder: looks for the fault in what failed, once all scores are settled.
    """
    results: dict[str, ExerciseResult] = dict(known or {})
    todo = [spec for spec in specs if spec.name not in results]
    observable: list[ExerciseSpec] = []
    for spec in todo:
        early = _without_observing(submission, spec)
        if early is None:
            observable.append(spec)
        else:
            results[spec.name] = early
    timed = _sharing_time(open_session)
    follow = FollowThrough(submission, references or {}, timed, open_session)

    def is_followed(spec: ExerciseSpec, found: Mapping[str, ExerciseResult]) -> bool:
        return bool(follow.parts(spec, {**results, **found}))

    sliced = Pass(submission, timed, is_followed=is_followed)
    results.update(sliced.run(observable))
    raised, unpaired = dict(sliced.raised), dict(sliced.unpaired)
    again = [spec for spec in observable if sliced.may_lack_something(spec)]
    if again:
        # something outside the slice was needed: run the cells in order, as a kernel would
        whole = Pass(submission, timed, whole=True, is_followed=is_followed)
        for name, result in whole.run(again).items():
            if _tells_more(result, results[name]):
                results[name] = result
                raised[name] = whole.raised.get(name)
                unpaired.pop(name, None)
                if name in whole.unpaired:
                    unpaired[name] = whole.unpaired[name]
    followed: set[str] = set()
    for spec in todo:
        found = follow(spec, results, whole_too=spec in again)
        if found is not None:
            results[spec.name] = found
            followed.add(spec.name)
        elif spec.name in unpaired and may_be_a_part(results[spec.name]):
            results[spec.name] = unpaired[spec.name]()
    stands = followed | set(known or ())
    found_all = [
        results[spec.name]
        if spec.name in stands
        else with_hints(submission, spec, results, raised.get(spec.name))
        for spec in specs
    ]
    if finder is None:
        return found_all
    names = {spec.name for spec in todo}
    return finder.with_remarks(submission, specs, found_all, names, open_session)


def evaluate_again(
    submission: Submission,
    specs: Sequence[ExerciseSpec],
    open_session: OpenSession,
    references: Mapping[str, Reference],
    earlier: Mapping[str, ExerciseResult],
    names: Set[str],
    finder: Finder | None = None,
) -> list[ExerciseResult]:
    """Like `evaluate`, with the exercises called `names` observed and `earlier` results kept.

    What was not right and calls an exercise that now stands otherwise is observed too: whether
    its parts are right decides what it is given and told. A kept result is the same object.
    """
    results = dict(earlier)
    settled: set[str] = set()
    todo = {spec.name for spec in specs if spec.name in names or spec.name not in earlier}
    while todo:
        known = {name: result for name, result in results.items() if name not in todo}
        found = evaluate(submission, specs, open_session, references, known, finder)
        before, results = results, {result.name: result for result in found}
        turned = {
            name
            for name in todo
            if name not in before or _standing(results[name]) != _standing(before[name])
        }
        settled |= todo
        todo = {
            spec.name
            for spec in specs
            if spec.name not in settled
            and turned & set(spec.needs)
            and (results[spec.name].followed_through or may_be_a_part(results[spec.name]))
        }
    return [results[spec.name] for spec in specs]


def _standing(result: ExerciseResult) -> tuple[bool, bool]:
    """What exercises that call this one depend on."""
    return result.outcome in ("passed", "infrastructure"), result.followed_through


def _sharing_time(open_session: OpenSession) -> OpenSession:
    """Sessions of one submission that go on from the time that those before have spent."""
    last: list[Session] = []

    def opened(**limits: int) -> Session:
        session = open_session(**limits)
        if last and hasattr(session, "spent"):
            session.spent = getattr(last[0], "spent", 0.0)
        last[:] = [session]
        return session

    return opened


def _tells_more(whole: ExerciseResult, sliced: ExerciseResult) -> bool:
    """Whether running all cells told more than the slice did."""
    if whole.outcome not in ("passed", "failed", "error"):
        return False
    if sliced.outcome in ("error", "missing"):
        return True
    return (whole.score or 0.0) > (sliced.score or 0.0)


def _without_observing(submission: Submission, spec: ExerciseSpec) -> ExerciseResult | None:
    """Results that the syntax alone gives: missing, unparsable, forbidden."""
    if not submission.stands(spec.name):
        cell = submission.broken_cell(spec.name)
        if cell is None:
            return _missing(submission, spec)
        return not_run(spec, "a syntax error", wording.one_line(cell.words), "error")
    found = submission.uses(spec.name, spec.forbids)
    if found is not None:
        message = f"it uses `{found}`, which this exercise forbids"
        return not_run(spec, "a forbidden call", message, "forbidden")
    return None


def _missing(submission: Submission, spec: ExerciseSpec) -> ExerciseResult:
    result = missing(spec)
    hidden = submission.hidden_by_stub(spec.name)
    if hidden is None:
        return result
    own, stub = (f"line {item.line} of {item.cell}" for item in hidden)
    line = f"It is defined in {own}, but the empty one in {stub} comes later and counts."
    return with_lines(result, [line])
