"""What students must not get, read from solutions/ by its syntax: nothing in there is run.

A secret becomes patterns: sequences of words and signs, without white space, quotes and
comments, so that how a text is laid out or quoted does not matter. Code gives its logical
lines and pairs of them, a text gives windows of it, so that a part of a secret is found too.

What the assignment itself teaches openly (docstrings, prompts, public cases, the notebook's
prose) is no secret, unless it holds more than half of one.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import tokenize
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from autograder.leaks.patterns import (
    Tokens,
    code_patterns,
    text_patterns,
    tokens_of,
    windows,
)
from autograder.leaks.places import fingerprint
from autograder.quiz import KINDS, Question, formulas_of, load_quiz
from autograder.quiz.templates import without_formulas
from autograder.signature import AuthoringError

# What is looked for where it is not at home: in the releases of other sets, in the package.
STRONG = 30
TEXT_STRONG = 16  # of a text: words
# Names in a compiled function, with fewer of which it could be anybody's.
NAMES = 4
# Types whose answer alone tells it; the shape (2, 6, 64) may be that of a public case.
ONE_OF_A_KIND = ("ordering", "matching", "expression")
# Words and signs from which such an answer, and a formula, could be nobody else's.
LONG_ANSWER, FORMULA = 7, 6
# Digits from which a number is one of a kind.
DIGITS = 4


_LAYOUT = (tokenize.NL, tokenize.INDENT, tokenize.DEDENT)


@dataclass(frozen=True)
class Secret:
    """One thing that students must not get.

    what: for people, “the reference of softmax”. definition: the name that GIVEN may say.
    names, strings: what is secret as a whole value only, such as a short title.
    """

    assignment: str
    what: str
    definition: str
    patterns: tuple[Tokens, ...] = ()
    strong: tuple[Tokens, ...] = ()
    strings: tuple[str, ...] = ()

    @property
    def is_reference(self) -> bool:
        """Whether it is a reference solution, which a set may give."""
        return self.what.startswith("the reference of ")


@dataclass
class Known:
    """The secrets of one set, and what it says openly.

    hidden, public: names of cases and misconceptions by exercise. given: definitions that the
    set shows on purpose, with the reason. needs: what an exercise calls, which goes with it.
    """

    assignment: str
    secrets: list[Secret] = field(default_factory=list)
    open_texts: list[str] = field(default_factory=list)
    open_strings: set[str] = field(default_factory=set)
    hidden: dict[str, set[str]] = field(default_factory=dict)
    public: dict[str, set[str]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    numbers: dict[float, str] = field(default_factory=dict)
    code: dict[str, str] = field(default_factory=dict)  # of each exercise
    sources: dict[str, str] = field(default_factory=dict)  # of each file

    @cached_property
    def compiled(self) -> dict[str, str]:
        """What the functions of the solutions are known by when compiled → whose they are."""
        found: dict[str, str] = {}
        secret = {each.definition for each in self.secrets}
        for name, source in self.sources.items():
            for code in _codes(compile(source, name, "exec", dont_inherit=True)):
                if code.co_name not in secret:
                    continue
                for digest in _digests(code):
                    found[digest] = f"the code of {code.co_name} in the solution of {name}"
        return found


def secrets_of(folder: Path) -> Known:
    """Everything secret in an assignment's folder of solutions."""
    known = Known(folder.name, given=_given(folder / "__init__.py"))
    for path in sorted(folder.glob("*.py")):
        source = path.read_text("utf-8")
        tree = ast.parse(source, str(path))
        known.open_texts.append(ast.get_docstring(tree) or "")
        if path.stem != "__init__":
            known.sources[path.stem] = source
            _File(known, path.stem, source, tree).read()
    for question in load_quiz(folder):
        _read_question(known, question)
    return known


def _given(path: Path) -> Mapping[str, str]:
    """GIVEN = {"MultiHeadAttention": "ps6 is released after ps3 is closed"}."""
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(t) for t in node.targets] == ["GIVEN"]:
            try:
                found = ast.literal_eval(node.value)
            except ValueError:
                found = None
            if not isinstance(found, dict) or not all(
                isinstance(name, str) and isinstance(reason, str) and reason.strip()
                for name, reason in found.items()
            ):
                raise AuthoringError(
                    f"{path}: GIVEN is a dict of names of definitions and the reason why students "
                    'get each, such as {"MultiHeadAttention": "ps3 is closed by then"}'
                )
            return found
    return {}


class _File:
    """An exercise's file, definition by definition."""

    def __init__(self, known: Known, name: str, source: str, tree: ast.Module) -> None:
        self.known, self.name, self.source, self.tree = known, name, source, tree
        self.lines, self.comments = _read_lines(source)

    def read(self) -> None:
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                self._definition(node)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self.known.open_texts.append(ast.unparse(node))
            elif isinstance(node, ast.Assign) and "def " in (text := _text(node.value)):
                self.known.open_texts.append(text)  # of probes, which the key carries

    def _definition(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        kind, call = _registration(node)
        words = [_text(argument) for argument in call.args] if call else []
        words += [_text(k.value) for k in call.keywords if k.arg == "hint"] if call else []
        hidden = call is not None and _says(call, "hidden")
        whose = f"{node.name} of {self.name}"
        match kind:
            case "exercise":
                self._open_signature(node)
                self._open_checks(call)
                self.known.needs[self.name] = _needs(call)
                self._add(f"the reference of {self.name}", node, whole_body=True)
            case "alternative":
                self._add(f"the alternative {whose}", node, words)
            case "misconception":
                self._name(node.name, hidden)
                self._add(f"the misconception {whose}", node)
                if hidden:
                    self._add(f"the hidden misconception {whose}", None, words, node.name)
                else:
                    self._open(words)
            case "case":
                self._name(node.name, hidden)
                if hidden:
                    self._add(f"the hidden case {whose}", node, words, node.name)
                else:
                    self._open(words)
            case "check":
                self._open(words)
                if call is not None and _says(call, "public"):
                    self._open([self._source_of(node)])
                else:
                    self._add(f"the check {whose}", node)
            case _:
                self._add(f"the helper {whose}", node)

    def _name(self, name: str, hidden: bool) -> None:
        kind = self.known.hidden if hidden else self.known.public
        kind.setdefault(self.name, set()).add(name)

    def _open(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.known.open_texts.append(text)
            self.known.open_strings.add(_plain(text))

    def _open_checks(self, call: ast.Call | None) -> None:
        """The lines of built-in checks."""
        for part in ast.walk(call) if call else ():
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                self._open([part.value])

    def _open_signature(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        """What stands in the stub."""
        for part in ast.walk(node):
            if isinstance(part, ast.FunctionDef | ast.ClassDef):
                self.known.open_texts.append(ast.get_docstring(part) or "")
            if isinstance(part, ast.FunctionDef):
                self.known.open_texts.append(f"def {part.name}({ast.unparse(part.args)}):")

    def _add(
        self,
        what: str,
        node: ast.FunctionDef | ast.ClassDef | None,
        texts: Sequence[str] = (),
        name: str = "",
        whole_body: bool = False,
    ) -> None:
        """A secret made of a definition's code, of texts, and of a name."""
        patterns: list[Tokens] = []
        strong: list[Tokens] = []
        for body in _bodies(node) if node else ():
            lines = self._lines_in(body)
            patterns += code_patterns(lines, whole=whole_body)
            strong += windows([token for line in lines for token in line], STRONG)
            texts = [*texts, *self._comments_in(body)]
        for text in texts:
            patterns += text_patterns(text)
            strong += windows(tokens_of(text), TEXT_STRONG)
        if name:
            patterns.append(("def", name, "("))
        strings = tuple(plain for text in texts if len(plain := _plain(text)) > 2)
        definition = node.name if node else name
        secret = Secret(
            self.known.assignment,
            what,
            definition,
            tuple(dict.fromkeys(patterns)),
            tuple(dict.fromkeys(strong)),
            strings,
        )
        self.known.secrets.append(secret)
        if whole_body and node:
            self.known.code[definition] = self._source_of(node)

    def _source_of(self, node: ast.stmt) -> str:
        return "\n".join(self.source.split("\n")[node.lineno - 1 : node.end_lineno])

    def _lines_in(self, body: Sequence[ast.stmt]) -> list[Tokens]:
        first, last = body[0], body[-1].end_lineno or 0
        found = [line for start, line in self.lines if first.lineno <= start <= last]
        if not found:  # def f(x): return x
            return [tokens_of(ast.unparse(part)) for part in body]
        return found

    def _comments_in(self, body: Sequence[ast.stmt]) -> Iterator[str]:
        first, last = body[0].lineno - 1, body[-1].end_lineno or 0
        return (text for line, text in self.comments if first <= line <= last)


def _read_lines(source: str) -> tuple[list[tuple[int, Tokens]], list[tuple[int, str]]]:
    """(number, words) of each line as Python sees it, and (number, text) of each comment."""
    lines: list[tuple[int, Tokens]] = []
    comments: list[tuple[int, str]] = []
    words: list[str] = []
    start = 0
    for kind, text, (row, _), _, _ in tokenize.generate_tokens(io.StringIO(source).readline):
        if kind == tokenize.COMMENT:
            comments.append((row, text.lstrip("#").strip()))
        elif kind == tokenize.NEWLINE:
            lines.append((start, tokens_of(" ".join(words))))
            words = []
        elif kind not in _LAYOUT:
            start = start if words else row
            words.append(text)
    return lines, comments


def _read_question(known: Known, question: Question) -> None:
    options = (*question.options, *question.right)
    known.open_texts += [question.prompt, *(without_formulas(o.text) for o in options)]
    known.open_strings |= {_plain(option.text) for option in options}
    what = f"the question {question.id}"
    texts = [question.explanation]
    texts += [text for option in options for text in (option.misconception, option.hint)]
    texts += [text for _, *words in question.wrong for text in words]
    said: list[Tokens] = []
    for written in _spellings(question):
        answer = tokens_of(written)
        said += [
            (name, sign, *answer)
            for name in (question.variable, question.id)
            for sign in ("=", ":")
        ]
        said.append(("answer", ":", *answer))
        if len(answer) >= LONG_ANSWER and question.type in ONE_OF_A_KIND:
            said.append(answer)
    if isinstance(question.answer, int | float) and _is_of_a_kind(question.answer):
        known.numbers[float(question.answer)] = f"the answer of {what}"
        said.append(tokens_of(str(question.answer)))
    known.secrets.append(
        Secret(known.assignment, f"the answer of {what}", question.id, tuple(dict.fromkeys(said)))
    )
    for formula in formulas_of(question):
        pattern = tokens_of(formula)
        if len(pattern) >= FORMULA:
            known.secrets.append(
                Secret(known.assignment, f"a formula of {what}", question.id, (pattern,))
            )
    for text in texts:
        known.secrets.append(
            Secret(
                known.assignment,
                f"an explanation or a hint of {what}",
                question.id,
                tuple(text_patterns(text)),
                tuple(windows(tokens_of(text), TEXT_STRONG)),
                (_plain(text),) if text else (),
            )
        )


def _spellings(question: Question) -> list[str]:
    """The answer as quiz.yaml, a notebook, JSON and a student may write it."""
    if question.draws is not None and isinstance(question.answer, tuple):
        return [str(question.answer), str([*question.answer])]
    if question.draws is not None and not question.options:
        return [str(question.answer)]
    written = KINDS[question.type].written(question)
    answer = question.answer
    plain = list(answer) if isinstance(answer, tuple) else answer
    return list(dict.fromkeys([str(answer), str(plain), repr(written), json.dumps(plain)]))


def _is_of_a_kind(number: float) -> bool:
    digits = f"{number:.15g}".partition("e")[0].replace(".", "").strip("-0")
    return len(digits) >= DIGITS


def _bodies(node: ast.FunctionDef | ast.ClassDef) -> Iterator[list[ast.stmt]]:
    """The bodies of a function, or of each method of a class, without docstrings."""
    parts = node.body if isinstance(node, ast.ClassDef) else [node]
    for part in parts:
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            first = part.body[0]
            has_words = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            if body := part.body[1:] if has_words else part.body:
                yield body


def _registration(node: ast.FunctionDef | ast.ClassDef) -> tuple[str, ast.Call | None]:
    """(`exercise`, `case`, `check`, …, the decorator's call); empty for a helper."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call):
            if isinstance(decorator.func, ast.Attribute):
                return decorator.func.attr, decorator
            if isinstance(decorator.func, ast.Name):
                return decorator.func.id, decorator
    return "", None


def _needs(call: ast.Call | None) -> tuple[str, ...]:
    """Names of the exercises that an exercise calls, from its decorator."""
    said = [k.value for k in call.keywords if k.arg == "needs"] if call else []
    parts = [part for value in said for part in ast.walk(value) if isinstance(part, ast.expr)]
    return tuple(text for part in parts if (text := _text(part)))


def _says(call: ast.Call, name: str) -> bool:
    return any(k.arg == name and ast.unparse(k.value) == "True" for k in call.keywords)


def _text(node: ast.expr) -> str:
    value: Any = None
    with contextlib.suppress(ValueError):
        value = ast.literal_eval(node)
    return value if isinstance(value, str) else ""


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    return (inner for inner in code.co_consts if isinstance(inner, types.CodeType))


def _digests(code: types.CodeType) -> Iterator[str]:
    """By which compiled functions are known again, unless they do next to nothing."""
    if len(code.co_names) + len(code.co_varnames) >= NAMES:
        yield fingerprint(code)
    for inner in _codes(code):
        yield from _digests(inner)


def _plain(text: str) -> str:
    return " ".join(text.split())
