"""Checking in a notebook, on the live objects of its kernel.

`check("softmax")` shows a card and returns the points of the public cases as a float,
which is also what stock nbgrader reads as the score of a check cell. Nothing is written to
stderr: nbgrader takes any byte there for a failure.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from autograder.cards import Card, Progress, Prompt, card_for
from autograder.checks import PackFault
from autograder.faults.finding import explained_live
from autograder.judge import infrastructure, judge, missing
from autograder.observe.inprocess import observe
from autograder.picture import Picture, picture_of
from autograder.program import Observed
from autograder.result import ExerciseResult
from autograder.selfcheck import KEY_FILE, Key, KeyUnusable, load_key
from autograder.specification import Case, ExerciseSpec
from autograder.wording import one_line

_keys: dict[Path, tuple[float, Key]] = {}
# What was checked last of each exercise: the object, and what came of it.
_checked: dict[tuple[Path, str], tuple[object, ExerciseResult]] = {}


def check(name: str | None = None, *, explain: bool = True) -> float:
    """Check an exercise, or all of them; the points that the public cases give.

    explain: look for a small input on which the code is wrong, too.
    Shows what is wrong and why. The code checked is what this kernel has: run your cell
    first. Grading looks at the saved notebook, and adds hidden cases.
    """
    try:
        key = _key()
    except KeyUnusable as problem:
        _show(Card("This notebook cannot be checked", [str(problem)], False))
        return 0.0
    if name is not None and name not in [spec.name for spec in key.specs]:
        known = ", ".join(spec.name for spec in key.specs)
        _show(Card(f"There is no exercise called {name}", [f"There are: {known}."], False))
        return 0.0
    specs = [key.spec(name)] if name is not None else list(key.specs)
    namespace = _user_namespace()
    looked_at = [look(spec, namespace, key.small(spec.name) if explain else ()) for spec in specs]
    results = [result for result, _ in looked_at]
    for spec, result in zip(specs, results, strict=True):
        _checked[Path.cwd(), spec.name] = (namespace.get(spec.name), result)
    progress = _progress(key, namespace)
    for result, picture in looked_at:
        _show(card_for(result, picture, progress if name is not None else None))
    if name is None:
        _show(_overview(key, results, progress))
    # a builtin float between 0 and the points: nbgrader reads anything else as full marks
    return float(sum(result.score or 0.0 for result in results))


def read_back(question: str, answer: Any = None) -> float:
    """Say how an answer was read. Whether it is right is known after grading: returns 0.0."""
    from autograder.quiz import STUDENT_ID, NotAnAnswer, literal, read_answer, words_for

    try:
        form = _key().questions[question]
        written = _written(f"q_{question}")
        value = read_answer(form, answer if written is None else literal(written))
    except KeyUnusable as problem:
        _show(Card("This answer cannot be read back", [str(problem)], False))
        return 0.0
    except KeyError:
        _show(Card(f"There is no question called {question}", [], False))
        return 0.0
    except NotAnAnswer as problem:
        _show(Card(f"q_{question} cannot be read yet", [f"{problem}."], False))
        return 0.0
    if value is None:
        _show(Card(f"q_{question}: no answer yet", ["It would count as unanswered."], False))
    else:
        lines = ["Its form is right. Points are given at grading; this cell always shows 0.0."]
        if "draws" in form:
            lines.append(_whose_numbers(_user_namespace().get(STUDENT_ID)))
        _show(Card(f"q_{question}: I read this as {words_for(form, value)}", lines, True))
    return 0.0


def show_question(question: str, student_id: object = "") -> None:
    """Show a question with the numbers that a student id draws, as grading draws them."""
    from autograder.quiz import plain_id, prompt_for

    try:
        form = _key().questions[question]
    except KeyUnusable as problem:
        _show(Card("This question cannot be shown", [str(problem)], False))
        return
    except KeyError:
        _show(Card(f"There is no question called {question}", [], False))
        return
    student = "" if student_id is None or student_id is ... else str(student_id)
    if not plain_id(student):
        lines = [_whose_numbers(student)]
        _show(Card(f"q_{question} has numbers of your own", lines, False))
        return
    note = f"The numbers of student id “{one_line(student, 40)}”."
    user = os.environ.get("JUPYTERHUB_USER", "")
    if user and plain_id(user) != plain_id(student):
        note += f" You are logged in as {one_line(user, 40)}: is the id yours?"
    _show(Prompt(prompt_for(form, question, student), note))


def _whose_numbers(student: object) -> str:
    from autograder.quiz import STUDENT_ID, plain_id

    name = "" if student is None or student is ... else str(student)
    if not plain_id(name):
        return (
            f'Your student id is empty: write it into the cell `{STUDENT_ID} = ""` above, run that '
            "cell, then this one."
        )
    return f"It is judged with the numbers of your student id, here “{one_line(name, 40)}”."


def check_live(spec: ExerciseSpec, namespace: dict[str, Any]) -> ExerciseResult:
    """Judge what stands in a namespace, in this process."""
    return look(spec, namespace)[0]


def look(
    spec: ExerciseSpec, namespace: dict[str, Any], small: Sequence[Case] = ()
) -> tuple[ExerciseResult, Picture | None]:
    """The result, and what was returned beside what was expected where values are wrong.

    small: inputs of which the smallest that fails is shown.
    """
    if spec.name not in namespace:
        return missing(spec), None
    with _silence():
        observations: Mapping[str, Sequence[Observed]] = {
            case.name: observe(namespace, case.program) for case in spec.cases
        }
        try:
            result = judge(spec, observations)
        except (PackFault, KeyUnusable) as fault:
            return infrastructure(spec, str(fault)), None
        # what raises in one case may return something in another, where it can be seen
        drawn = result.outcome in ("failed", "error")
        picture = picture_of(spec, observations) if drawn else None
        return explained_live(spec, result, small, partial(observe, namespace)), picture


def _progress(key: Key, namespace: Mapping[str, Any]) -> Progress:
    """What is known of the set: what was checked, as long as it has not been defined anew."""
    states, points = {}, 0.0
    for spec in key.specs:
        what, result = _checked.get((Path.cwd(), spec.name), (None, None))
        states[spec.name] = "open"
        if result is not None and what is namespace.get(spec.name) and result.outcome != "missing":
            states[spec.name] = "passed" if result.outcome == "passed" else "failed"
            points += result.score or 0.0
    return Progress(states, points, sum(spec.points for spec in key.specs))


def _overview(key: Key, results: Sequence[ExerciseResult], progress: Progress) -> Card:
    """How many pass, and what of the saved files would be handed in and graded."""
    from autograder.files import Unreadable
    from autograder.student import SelfCheck, chosen_in

    passed = [result.name for result in results if result.outcome == "passed"]
    folder = Path.cwd()
    try:
        chosen = chosen_in(folder, key)
        outcome = SelfCheck(folder, key, chosen, tuple(results), chosen.submission.path)
        lines = list(outcome.closing_lines(prompts=False))
    except Unreadable as problem:
        lines = [f"Nothing would be graded: {problem}."]
    title = f"{len(passed)} of {len(results)} exercises pass"
    lines.append("Grading looks at the file as it is saved: save before you hand in.")
    return Card(title, lines, len(passed) == len(results), progress=progress)


def _key() -> Key:
    """The key beside the notebook, read again when it has changed."""
    folder = Path.cwd()
    path = folder / KEY_FILE
    stamp = path.stat().st_mtime if path.is_file() else 0.0
    if folder not in _keys or _keys[folder][0] != stamp:
        _keys[folder] = (stamp, load_key(folder))
    return _keys[folder][1]


def _user_namespace() -> dict[str, Any]:
    """The names of the notebook; of the main module where there is no IPython."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None:
        return dict(shell.user_ns)
    return dict(vars(sys.modules["__main__"]))


def _written(name: str) -> Any:
    """The expression that the kernel last saw assigned to `name`: grading reads the syntax."""
    from autograder.parsing import Cell, parse
    from autograder.submission import Submission

    inputs = _user_namespace().get("In", ())
    for source in reversed([text for text in inputs if isinstance(text, str)]):
        if name in source:
            cells = (Cell("this cell", source),)
            statements, _ = parse(cells, "notebook")
            seen = Submission(Path("In"), "notebook", "", cells, tuple(statements))
            if name in seen.bound:
                return seen.answer(name)
    return None


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """A student's prints and warnings, once for every case, are not shown."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def _show(card: Card | Prompt) -> None:
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        from IPython.display import display

        display(card)  # type: ignore[no-untyped-call]
    else:
        print(card)
