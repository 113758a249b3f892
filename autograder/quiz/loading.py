"""solutions/<ps>/quiz.yaml into questions; every mistake in it is named with its place and fix."""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from autograder.exercise import AuthoringError
from autograder.quiz.entries import Entry, read_list
from autograder.quiz.faults import Fault
from autograder.quiz.kinds import KINDS, Kind
from autograder.quiz.parameterised import computed, concrete
from autograder.quiz.questions import Question
from autograder.quiz.templates import NoTemplate, filled, names_in
from autograder.quiz.variants import MOST, Draws

COMMON = frozenset({"id", "type", "points", "prompt", "answer", "explanation"})
DRAWING = frozenset({"draws", "where", "equal"})
# Options' texts are computed beforehand for each combination: they travel, formulas do not.
MOST_TEXTS = 256


def load_quiz(folder: Path) -> tuple[Question, ...]:
    """The questions of an assignment; none when there is no quiz.yaml.

    Raises AuthoringError, naming the file, the line, the question and the fix.
    """
    path = folder / "quiz.yaml"
    if not path.exists():
        return ()
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise AuthoringError(f"{path} is not YAML in UTF-8: {error}") from error
    return _questions(path, text, course_of(folder))


@lru_cache(maxsize=32)
def _questions(path: Path, text: str, course: str) -> tuple[Question, ...]:
    questions: list[Question] = []
    for node in read_list(path, text):
        question = _question(path, node, course)
        if question.id in [other.id for other in questions]:
            line = node.start_mark.line + 1
            raise AuthoringError(
                f"{path}, line {line}: two questions are called {question.id}; rename one"
            )
        questions.append(question)
    return tuple(questions)


def course_of(folder: Path) -> str:
    """COURSE of the set's `__init__.py`, a text that variants depend on: another term, others."""
    path = folder / "__init__.py"
    tree = ast.parse(path.read_text("utf-8")) if path.is_file() else ast.Module([], [])
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["COURSE"]:
            value = node.value.value if isinstance(node.value, ast.Constant) else None
            if not isinstance(value, str):
                raise AuthoringError(
                    f'{path}, line {node.lineno}: COURSE is a text, such as "attention, autumn"'
                )
            return value
    return ""


def _question(path: Path, node: Any, course: str) -> Question:
    found = Entry(path, "", node, None)
    if "id" not in found.nodes:
        found.refuse("every question is a map with an id")
    name, kind = str(found.value("id")), found.value("type")
    if not re.fullmatch(r"[A-Za-z0-9_]+", name):
        found.refuse_key("id", f"{name!r} cannot be part of a Python name; use snake_case")
    if not isinstance(kind, str) or kind not in KINDS:
        found.refuse_key(
            "type", f"question {name} has type {kind!r}; write one of {', '.join(KINDS)}"
        )
    made = KINDS[kind]
    keys = COMMON | made.FIELDS | (DRAWING if made.DRAWN else set())
    entry = Entry(path, f"question {name}", node, keys)
    question = Question(
        id=name,
        type=kind,
        points=float(entry.number("points", least=0.0)),
        prompt=entry.text("prompt"),
        answer=None,
        explanation=entry.text("explanation"),
        draws=_draws(entry, course, path.parent.name),
    )
    question = made.load(entry, question)
    if question.draws is not None:
        return _drawn(entry, made, question)
    for key in ("where", "equal"):
        if entry.has(key):
            entry.refuse_key(key, f"{key} stands without draws; add them or take it out")
    try:
        made.check(question)
    except Fault as fault:
        entry.refuse(str(fault))
    return question


def _draws(entry: Entry, course: str, assignment: str) -> Draws | None:
    if not entry.has("draws"):
        return None
    choices: dict[str, tuple[Any, ...]] = {}
    for name, values in entry.map_of("draws").items():
        if not (name.isascii() and name.isidentifier()):
            entry.refuse_key("draws", f"the draw {name!r} is no name; write one such as d_k")
        if not isinstance(values, list) or not values:
            entry.refuse_key("draws", f"{name} is {values!r}; write its choices as [16, 32]")
        for value in values:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                entry.refuse_key("draws", f"{name} holds {value!r}; write numbers")
            if values.count(value) > 1:
                entry.refuse_key("draws", f"{name} holds {value!r} twice; take one out")
        choices[name] = tuple(values)
    draws = Draws(choices, course, assignment)
    if draws.size > MOST:
        entry.refuse_key(
            "draws", f"there are {draws.size} combinations, more than {MOST}; write fewer choices"
        )
    return draws


def _drawn(entry: Entry, kind: Kind, question: Question) -> Question:
    """The template with the combinations that may be drawn: every one of them is tried."""
    draws = question.draws
    assert draws is not None
    _check_prompt(entry, question, draws)
    equal = entry.value("equal", False)
    if not isinstance(equal, bool):
        entry.refuse_key("equal", f"equal is {equal!r}; write true or false")
    where = entry.texts("where") if entry.has("where") else ()
    admitted = 0
    for index, values in enumerate(draws.combinations):
        if not equal and len(set(values.values())) < len(values):
            continue
        try:
            if not all(computed(condition, values) for condition in where):
                continue
            kind.check(concrete(question, values))
        except Fault as fault:
            if fault.by_draw:
                continue
            shown = ", ".join(f"{name} = {value}" for name, value in values.items())
            entry.refuse(f"with {shown}: {fault}; correct it, or leave the draw out by `where`")
        admitted |= 1 << index
    count = admitted.bit_count()
    if count < 2:
        entry.refuse_key("draws", f"{count} combinations are left to draw; write more choices")
    if question.options and count > MOST_TEXTS:
        entry.refuse_key(
            "draws", f"{count} combinations are left, more than {MOST_TEXTS}; write fewer choices"
        )
    return replace(question, draws=replace(draws, admitted=admitted))


def _check_prompt(entry: Entry, question: Question, draws: Draws) -> None:
    """Students see every number that their answer depends on, and no formula."""
    try:
        filled(question.prompt, dict.fromkeys(draws.choices, 0))
    except NoTemplate as problem:
        entry.refuse_key("prompt", f"prompt: {problem}")
    shown = set(names_in(question.prompt))
    for name in draws.choices:
        if name not in shown:
            entry.refuse_key("prompt", f"the prompt does not show {{{name}}}; students need it")
