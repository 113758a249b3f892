"""Quiz questions: how they are written down, how an answer is read, and what it earns.

Questions and answers stand in `solutions/<ps>/quiz.yaml`. A student assigns an answer to
`q_<id>` in a code cell; it is read from the syntax and never executed.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.exercise import AuthoringError
from autograder.result import QuestionOutcome, QuestionResult
from autograder.wording import clean

TYPES = ("single_choice", "number")


@dataclass(frozen=True)
class Option:
    """One choice: what is shown, and, if it is wrong, the mistake behind it."""

    id: str
    text: str
    misconception: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Question:
    """A question with its answer: secret. `form` is what students may know of it."""

    id: str
    type: str
    points: float
    prompt: str
    answer: Any
    explanation: str
    options: tuple[Option, ...] = ()
    absolute: float = 0.0
    relative: float = 0.0
    wrong: tuple[tuple[float, str, str], ...] = ()

    @property
    def variable(self) -> str:
        """The name that a student assigns the answer to."""
        return f"q_{self.id}"

    @property
    def form(self) -> dict[str, Any]:
        """What the echo cell needs: type and option ids, in the order shown."""
        return {"type": self.type, "options": [option.id for option in self.options]}


class NotAnAnswer(Exception):
    """The answer is not of the question's form; the message says what to write."""


def load_quiz(folder: Path) -> tuple[Question, ...]:
    """The questions of an assignment; none when there is no quiz.yaml."""
    path = folder / "quiz.yaml"
    if not path.exists():
        return ()
    import yaml

    try:
        entries = yaml.safe_load(path.read_text("utf-8")) or []
    except yaml.YAMLError as error:
        raise AuthoringError(f"{path} is not YAML: {error}") from error
    if not isinstance(entries, list):
        raise AuthoringError(f"{path}: a list of questions was expected")
    questions = tuple(_question(path, entry) for entry in entries)
    ids = [question.id for question in questions]
    for name in ids:
        if ids.count(name) > 1:
            raise AuthoringError(f"{path}: two questions are called {name}; rename one")
    return questions


def _question(path: Path, entry: Any) -> Question:
    if not isinstance(entry, Mapping) or "id" not in entry:
        raise AuthoringError(f"{path}: every question is a map with an id")
    name = str(entry["id"])

    def need(key: str) -> Any:
        if key not in entry:
            raise AuthoringError(f"{path}: question {name} has no {key}; add it")
        return entry[key]

    if not name.isidentifier():
        raise AuthoringError(f"{path}: {name!r} cannot be part of a Python name; use snake_case")
    if need("type") not in TYPES:
        raise AuthoringError(
            f"{path}: question {name} has type {entry['type']!r}; there are {', '.join(TYPES)}"
        )
    options = tuple(
        Option(
            str(option["id"]),
            str(option["text"]).strip(),
            str(option.get("misconception", "")).strip(),
            str(option.get("hint", "")).strip(),
        )
        for option in entry.get("options", ())
    )
    answer = need("answer")
    if entry["type"] == "single_choice" and answer not in [option.id for option in options]:
        raise AuthoringError(f"{path}: the answer of {name} is none of its options")
    if entry["type"] == "number" and not isinstance(answer, (int, float)):
        raise AuthoringError(f"{path}: the answer of {name} is not a number")
    tolerance = entry.get("tolerance", {})
    return Question(
        id=name,
        type=entry["type"],
        points=float(need("points")),
        prompt=str(need("prompt")).strip(),
        answer=answer,
        explanation=str(need("explanation")).strip(),
        options=options,
        absolute=float(tolerance.get("absolute", 0.0)),
        relative=float(tolerance.get("relative", 0.0)),
        wrong=tuple(
            (
                float(item["value"]),
                str(item["misconception"]).strip(),
                str(item.get("hint", "")).strip(),
            )
            for item in entry.get("wrong", ())
        ),
    )


# --- reading an answer -----------------------------------------------------------------


def literal(node: ast.expr | None) -> Any:
    """The value of a literal: text, number or None. NotAnAnswer for anything else.

    Only the syntax is looked at: `2**10**9`, calls and names are refused, not computed.
    """
    if node is None:
        return None
    if isinstance(node, ast.Constant):
        if node.value is None or node.value is ...:
            return None
        if isinstance(node.value, (str, int, float)) and not isinstance(node.value, bool):
            return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = literal(node.operand)
        if isinstance(value, (int, float)):
            return -value if isinstance(node.op, ast.USub) else value
    raise NotAnAnswer("write the answer itself, as a number or in quotes, not an expression")


def read_answer(form: Mapping[str, Any], value: Any) -> Any:
    """An answer as it is understood: an option id, a number, or None when left open.

    Raises NotAnAnswer with a sentence when it has not the form of the question.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if form["type"] == "single_choice":
        return _read_choice(form["options"], value)
    return _read_number(value)


def _read_choice(options: Sequence[str], value: Any) -> str:
    if isinstance(value, str):
        wanted = value.strip().casefold()
        for option in options:
            if option.casefold() == wanted:
                return option
    listed = ", ".join(f'"{option}"' for option in options)
    raise NotAnAnswer(f"choose one of {listed}")


def _read_number(value: Any) -> float:
    if isinstance(value, str):
        text = value.strip()
        if "," in text or "_" in text:
            raise NotAnAnswer("write the number with a decimal point and no separators: 1024.5")
        try:
            value = float(text)
        except ValueError:
            raise NotAnAnswer("write one number, for example 12.5") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NotAnAnswer("write one number, for example 12.5")
    try:
        number = float(value)
    except OverflowError:
        raise NotAnAnswer("this number is too large to be meant") from None
    if not math.isfinite(number):
        raise NotAnAnswer("write a finite number")
    return number


# --- judging it ------------------------------------------------------------------------


def judge_answer(question: Question, node: ast.expr | None) -> QuestionResult:
    """What the expression assigned to the question's name earns."""
    try:
        value = read_answer(question.form, literal(node))
    except NotAnAnswer as problem:
        return _result(question, "unreadable", 0.0, f"could not be read: {problem}.")
    if value is None:
        return _result(question, "unanswered", 0.0, "no answer was given.")
    if question.type == "single_choice":
        return _judge_choice(question, value)
    return _judge_number(question, value)


def _judge_choice(question: Question, value: str) -> QuestionResult:
    if value == question.answer:
        return _result(question, "correct", question.points, f"“{value}” is right.")
    chosen = next(option for option in question.options if option.id == value)
    return _result(question, "incorrect", 0.0, _wrong(value, chosen.misconception, chosen.hint))


def _judge_number(question: Question, value: float) -> QuestionResult:
    allowed = max(question.absolute, question.relative * abs(question.answer))
    if abs(value - question.answer) <= allowed:
        return _result(question, "correct", question.points, f"{value:g} is right.")
    for wrong, misconception, hint in question.wrong:
        if math.isclose(value, wrong, rel_tol=max(question.relative, 1e-6)):
            message = _wrong(f"{value:g}", misconception, hint)
            return _result(question, "incorrect", 0.0, message)
    return _result(question, "incorrect", 0.0, _wrong(f"{value:g}", "", ""))


def _wrong(value: str, misconception: str, hint: str) -> str:
    parts = [f"“{clean(value, 60)}” is not right.", misconception, hint]
    return " ".join(part for part in parts if part)


def _result(
    question: Question, outcome: QuestionOutcome, score: float, message: str
) -> QuestionResult:
    # the explanation is for after grading, which is when this is read
    text = message if outcome == "correct" else f"{message} {question.explanation}"
    return QuestionResult(
        id=question.id, outcome=outcome, score=score, max_score=question.points, message=text
    )
