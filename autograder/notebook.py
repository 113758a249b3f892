"""Checking in a notebook, on the live objects of its kernel.

`check("softmax")` shows a card and returns the points of the public cases as a float,
which is also what stock nbgrader reads as the score of a check cell. Nothing is written to
stderr: nbgrader takes any byte there for a failure.
"""

from __future__ import annotations

import contextlib
import html
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from autograder.checks import PackFault
from autograder.judge import infrastructure, judge, missing
from autograder.observe.inprocess import observe
from autograder.result import ExerciseResult
from autograder.selfcheck import KEY_FILE, Key, KeyUnusable, load_key
from autograder.specification import ExerciseSpec

_keys: dict[Path, tuple[float, Key]] = {}


class Card:
    """What a check says, as text and as HTML. All of it is in the text."""

    def __init__(self, title: str, lines: Sequence[str], good: bool) -> None:
        self.title, self.lines, self.good = title, tuple(lines), good

    def __repr__(self) -> str:
        return "\n".join([self.title, *self.lines])

    def _repr_html_(self) -> str:
        # a student's text is in here: everything is escaped
        colour = "#1a7f37" if self.good else "#9a6700"
        body = "".join(
            f"<div style='white-space:pre-wrap'>{html.escape(line)}</div>" for line in self.lines
        )
        return (
            f"<div role='status' style='border-left:4px solid {colour};padding:.4em .8em;"
            f"margin:.2em 0'><strong>{html.escape(self.title)}</strong>{body}</div>"
        )


def check(name: str | None = None) -> float:
    """Check an exercise, or all of them; the points that the public cases give.

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
    results = [check_live(spec, namespace) for spec in specs]
    for result in results:
        _show(card_for(result))
    if name is None:
        _show(_overview(key, results))
    # a builtin float between 0 and the points: nbgrader reads anything else as full marks
    return float(sum(result.score or 0.0 for result in results))


def read_back(question: str, answer: Any = None) -> float:
    """Say how an answer was read. Whether it is right is known after grading: returns 0.0."""
    from autograder.quiz import NotAnAnswer, literal, read_answer

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
        shown = f"“{value}”" if isinstance(value, str) else f"the number {value:.12g}"
        lines = ["Its form is right. Points are given at grading; this cell always shows 0.0."]
        _show(Card(f"q_{question}: I read this as {shown}", lines, True))
    return 0.0


def check_live(spec: ExerciseSpec, namespace: dict[str, Any]) -> ExerciseResult:
    """Judge what stands in a namespace, in this process."""
    if spec.name not in namespace:
        return missing(spec)
    with _silence():
        observations = {case.name: observe(namespace, case.program) for case in spec.cases}
        try:
            return judge(spec, observations)
        except (PackFault, KeyUnusable) as fault:
            return infrastructure(spec, str(fault))


def card_for(result: ExerciseResult) -> Card:
    """The card of one exercise."""
    if result.outcome == "passed":
        title = f"✓ {result.name}: all public cases pass"
        lines = [f"{result.max_score:g} points, if the hidden cases of grading pass too."]
        return Card(title, lines, True)
    if result.outcome == "missing":
        return Card(f"○ {result.name}: not written yet", [], False)
    first, *rest = result.feedback.split("\n")
    return Card(f"✗ {first}", rest, False)


def _overview(key: Key, results: Sequence[ExerciseResult]) -> Card:
    """How many pass, and what of the saved files would be handed in and graded."""
    from autograder.files import Unreadable
    from autograder.student import SelfCheck, chosen_in

    passed = [result.name for result in results if result.outcome == "passed"]
    folder = Path.cwd()
    try:
        chosen = chosen_in(folder, key)
        outcome = SelfCheck(folder, key, chosen, tuple(results), chosen.submission.path)
        lines = list(outcome.closing_lines())
    except Unreadable as problem:
        lines = [f"Nothing would be graded: {problem}."]
    title = f"{len(passed)} of {len(results)} exercises pass"
    lines.append("Grading looks at the file as it is saved: save before you hand in.")
    return Card(title, lines, len(passed) == len(results))


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


def _show(card: Card) -> None:
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        from IPython.display import display

        display(card)  # type: ignore[no-untyped-call]
    else:
        print(card)
