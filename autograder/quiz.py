"""Quiz questions: how they are written down, how an answer is read, and what it earns.

Questions and answers stand in `solutions/<ps>/quiz.yaml`. A student assigns an answer to
`q_<id>` in a code cell; it is read from the syntax and never executed.
"""

from __future__ import annotations

import ast
import math
import numbers
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from autograder.exercise import AuthoringError
from autograder.result import QuestionOutcome, QuestionResult
from autograder.wording import one_line

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
    """The questions of an assignment; none when there is no quiz.yaml.

    Raises AuthoringError, naming the file, the question and the fix.
    """
    path = folder / "quiz.yaml"
    if not path.exists():
        return ()
    import yaml

    try:
        entries = yaml.safe_load(path.read_text("utf-8")) or []
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise AuthoringError(f"{path} is not YAML in UTF-8: {error}") from error
    if not isinstance(entries, list):
        raise AuthoringError(f"{path}: write a list of questions, each beginning with `- id:`")
    questions = tuple(_question(path, entry) for entry in entries)
    ids = [question.id for question in questions]
    for name in ids:
        if ids.count(name) > 1:
            raise AuthoringError(f"{path}: two questions are called {name}; rename one")
    return questions


_KEYS = {
    "single_choice": {"id", "type", "points", "prompt", "answer", "explanation", "options"},
    "number": {"id", "type", "points", "prompt", "answer", "explanation", "tolerance", "wrong"},
}
_LARGEST = sys.float_info.max


class _Entry:
    """One map of the file; its mistakes are said with the file and the question."""

    def __init__(self, where: str, entry: Any, keys: set[str]) -> None:
        self.where = where
        if not isinstance(entry, Mapping):
            self.refuse(f"{entry!r} is no map; write {', '.join(sorted(keys))}")
        self.entry: Mapping[Any, Any] = entry
        unknown = [str(key) for key in entry if key not in keys]
        if unknown:
            self.refuse(f"there is no {', '.join(unknown)}; the keys are {', '.join(sorted(keys))}")

    def refuse(self, fault: str) -> NoReturn:
        """Raise an AuthoringError."""
        raise AuthoringError(f"{self.where}: {fault}")

    def text(self, key: str, default: str | None = None) -> str:
        """A text that is not empty, unless it may be left out."""
        value = self.entry.get(key, default)
        if not isinstance(value, str):
            what = "is missing; add it" if value is None else f"is {value!r}; put it in quotes"
            self.refuse(f"{key} {what}")
        if not value.strip() and default is None:
            self.refuse(f"{key} is empty; write it")
        return value.strip()

    def number(self, key: str, default: float | None = None, least: float = -math.inf) -> float:
        """A finite number."""
        value = self.entry.get(key, default)
        if value is None:
            self.refuse(f"{key} is missing; add it")
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self.refuse(f"{key} is {value!r}; write a number")
        if not max(least, -_LARGEST) <= value <= _LARGEST:
            bound = "" if least == -math.inf else f", at least {least:g}"
            self.refuse(f"{key} is {value!r}; write a finite number{bound}")
        return value

    def list_of(self, key: str, keys: set[str]) -> list[_Entry]:
        """The maps of a list, which may be left out."""
        value = self.entry.get(key, [])
        if not isinstance(value, list):
            self.refuse(f"{key} is no list; write each item after a dash")
        return [_Entry(f"{self.where}, {key}", item, keys) for item in value]


def _question(path: Path, entry: Any) -> Question:
    if not isinstance(entry, Mapping) or "id" not in entry:
        raise AuthoringError(f"{path}: every question is a map with an id")
    name, kind = str(entry["id"]), entry.get("type")
    if not re.fullmatch(r"[A-Za-z0-9_]+", name):
        raise AuthoringError(f"{path}: {name!r} cannot be part of a Python name; use snake_case")
    if kind not in TYPES:
        raise AuthoringError(
            f"{path}: question {name} has type {kind!r}; write one of {', '.join(TYPES)}"
        )
    given = _Entry(f"{path}: question {name}", entry, _KEYS[kind])
    common: dict[str, Any] = {
        "id": name,
        "type": kind,
        "points": float(given.number("points", least=0.0)),
        "prompt": given.text("prompt"),
        "explanation": given.text("explanation"),
    }
    return _choice(given, common) if kind == "single_choice" else _number(given, common)


def _choice(given: _Entry, common: Mapping[str, Any]) -> Question:
    answer = given.text("answer")
    options = tuple(
        Option(
            option.text("id"),
            option.text("text"),
            option.text("misconception", ""),
            option.text("hint", ""),
        )
        for option in given.list_of("options", {"id", "text", "misconception", "hint"})
    )
    read_as = [_plain(option.id) for option in options]
    if len(read_as) < 2:
        given.refuse("there are fewer than two options; add one")
    for option, plain in zip(options, read_as, strict=True):
        if read_as.count(plain) > 1:
            given.refuse(f"the option {option.id} is not the only one to be read so; rename it")
    if answer not in [option.id for option in options]:
        given.refuse(f"the answer {answer} is none of its options; name one by its id")
    return Question(**common, answer=answer, options=options)


def _number(given: _Entry, common: Mapping[str, Any]) -> Question:
    answer = given.number("answer")
    where, tolerance = f"{given.where}, tolerance", given.entry.get("tolerance", {})
    allowed = _Entry(where, tolerance, {"absolute", "relative"})
    question = Question(
        **common,
        answer=answer,
        absolute=float(allowed.number("absolute", 0.0, least=0.0)),
        relative=float(allowed.number("relative", 0.0, least=0.0)),
        wrong=tuple(
            (
                float(item.number("value")),
                item.text("misconception"),
                item.text("hint", ""),
            )
            for item in given.list_of("wrong", {"value", "misconception", "hint"})
        ),
    )
    for value, _, _ in question.wrong:
        if _is_near(question, value, answer):
            given.refuse(f"the wrong value {value:g} counts as right; narrow the tolerance")
    return question


# --- reading an answer -----------------------------------------------------------------


def literal(node: ast.expr | None) -> Any:
    """The value of a literal: text, number or None. NotAnAnswer for anything else.

    Only the syntax is looked at: `2**10**9`, calls and names are refused, not computed.
    """
    negative, signed = False, False
    while isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        negative ^= isinstance(node.op, ast.USub)
        signed, node = True, node.operand
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        raise NotAnAnswer(
            "write one answer, without commas and brackets; a number has a decimal point: 1024.5"
        )
    value: Any = node.value if isinstance(node, ast.Constant) else node
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return -value if negative else value
    if not signed and (value is None or value is ...):
        return None
    if not signed and isinstance(value, str):
        return value
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


def _plain(text: str) -> str:
    """How options are told apart: neither case nor space counts."""
    return "".join(text.split()).casefold()


def _read_choice(options: Sequence[str], value: Any) -> str:
    if isinstance(value, str):
        for option in options:
            if _plain(option) == _plain(value):
                return option
    listed = ", ".join(f'"{option}"' for option in options)
    raise NotAnAnswer(f"choose one of {listed}")


def _read_number(value: Any) -> float:
    if isinstance(value, str):
        text = value.strip().replace("−", "-")
        if "," in text or "_" in text:
            raise NotAnAnswer("write the number with a decimal point and no separators: 1024.5")
        try:
            value = float(text)
        except ValueError:
            raise NotAnAnswer("write one number, for example 12.5") from None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
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
    shown = f"{value:.12g}"
    if _is_near(question, value, question.answer):
        return _result(question, "correct", question.points, f"“{shown}” is right.")
    near = [item for item in question.wrong if _is_near(question, value, item[0], least=1e-6)]
    if near:
        _, misconception, hint = min(near, key=lambda item: abs(value - item[0]))
        return _result(question, "incorrect", 0.0, _wrong(shown, misconception, hint))
    return _result(question, "incorrect", 0.0, _wrong(shown, "", ""))


def _is_near(question: Question, value: float, wanted: float, least: float = 0.0) -> bool:
    """Whether a number is another one within the question's tolerance, the edge included."""
    allowed = max(question.absolute, max(question.relative, least) * abs(wanted))
    # 0.3 - 0.2 is above 0.1 by rounding alone
    rounding = 4 * math.ulp(max(abs(value), abs(wanted)))
    return abs(value - wanted) <= allowed + rounding


def _wrong(value: str, misconception: str, hint: str) -> str:
    parts = [f"“{one_line(value, 60)}” is not right.", misconception, hint]
    return " ".join(part for part in parts if part)


def _result(
    question: Question, outcome: QuestionOutcome, score: float, message: str
) -> QuestionResult:
    # the explanation is for after grading, which is when this is read
    text = message if outcome == "correct" else f"{message} {question.explanation}"
    return QuestionResult(
        id=question.id, outcome=outcome, score=score, max_score=question.points, message=text
    )
