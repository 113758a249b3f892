"""solutions/<ps>/quiz.yaml into questions; every mistake in it is named with its place and fix."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from autograder.exercise import AuthoringError
from autograder.quiz.judging import is_near
from autograder.quiz.questions import TYPES, Option, Question
from autograder.quiz.reading import plain


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
    read_as = [plain(option.id) for option in options]
    if len(read_as) < 2:
        given.refuse("there are fewer than two options; add one")
    for option, shown in zip(options, read_as, strict=True):
        if read_as.count(shown) > 1:
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
        if is_near(question, value, answer):
            given.refuse(f"the wrong value {value:g} counts as right; narrow the tolerance")
    return question
