"""Canaries: words and numbers that stand nowhere else, put into every secret place of a course.

The solutions are edited at places that their syntax tree names, so that each secret place
holds a canary of its own; `Canaries.seek` finds them again in any bytes.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import yaml

# In place of every credit; one number for all, since a credit is a share.
CREDIT = 0.2718281


@dataclass
class Canaries:
    """Canary → the place where it was put. Words are ASCII letters and digits.

    Such a word looks the same in Python, in JSON inside JSON, and as a part of a name.
    """

    secret: dict[str, str] = field(default_factory=dict)
    public: dict[str, str] = field(default_factory=dict)
    numbers: dict[float, str] = field(default_factory=dict)

    def word(self, place: str) -> str:
        return self._word(place, self.secret)

    def public_word(self, place: str) -> str:
        return self._word(place, self.public)

    def number(self, place: str, halved: int = 0) -> float:
        """A number that float32 holds exactly, so that one value serves for both types.

        `halved` times, where it must be small.
        """
        value = float(np.float32(7351.2537 + len(self.numbers))) / 2**halved
        self.numbers[value] = place
        return value

    def seek(self, data: bytes) -> list[str]:
        """Places whose canaries stand in `data`, in whatever form."""
        words = [place for word, place in self.secret.items() if _holds(data, word)]
        numbers = [
            place
            for number, place in self.numbers.items()
            if _holds(data, repr(number)) or any(form in data for form in forms_of(number))
        ]
        return words + numbers

    def _word(self, place: str, into: dict[str, str]) -> str:
        made = f"canary{len(into):03d}x{hashlib.sha256(place.encode()).hexdigest()[:10]}"
        into[made] = place
        return made


def forms_of(number: float) -> list[bytes]:
    return [np.asarray(number, dtype=kind).tobytes() for kind in ("<f8", ">f8", "<f4", ">f4")]


def _holds(data: bytes, word: str) -> bool:
    plain = word.encode()
    return plain in data or any(form in data for form in _base64_forms(plain))


def _base64_forms(plain: bytes) -> list[bytes]:
    """Base64 of the word at each of the three places in a longer text where it can begin.

    Characters that its neighbours take part in are cut off.
    """
    forms = []
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + plain)
        first = -(-8 * before // 6)  # rounded up
        forms.append(encoded[first : 8 * (before + len(plain)) // 6])
    return forms


# --- putting them in -------------------------------------------------------------------


class Editor:
    """Insertions into a Python file at places that its syntax tree names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path.read_bytes()
        self.tree = ast.parse(self.data)
        self._starts = [0]
        for line in self.data.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._edits: list[tuple[int, int, str]] = []
        self._appended: list[str] = []

    def at(self, line: int, column: int) -> int:
        return self._starts[line - 1] + column  # columns of the tree count bytes

    def source(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.data.decode(), node) or ""

    def insert(self, offset: int, text: str) -> None:
        self._edits.append((offset, offset, text))

    def replace(self, node: ast.expr, text: str) -> None:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start, end = self.at(node.lineno, node.col_offset), self.end(node)
        self._edits.append((start, end, text))

    def wrap(self, node: ast.expr, before: str, after: str) -> None:
        self.insert(self.at(node.lineno, node.col_offset), before)
        self.insert(self.end(node), after)

    def end(self, node: ast.expr) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.at(node.end_lineno, node.end_col_offset)

    def append(self, code: str) -> None:
        self._appended.append(textwrap.dedent(code))

    def write(self) -> None:
        data = self.data
        for start, end, text in sorted(self._edits, key=lambda edit: edit[:2], reverse=True):
            data = data[:start] + text.encode() + data[end:]
        code = data.decode() + "\n\n" + "\n\n".join(self._appended)
        compile(code, str(self.path), "exec")
        self.path.write_text(code, "utf-8")

    def put_into_body(self, function: ast.FunctionDef, word: str) -> None:
        """A statement with the word in a string, and a comment with it, first in the body."""
        first = next((s for s in function.body if not _is_docstring(s)), None)
        if first is None:  # nothing but a docstring
            last = function.body[-1]
            assert last.end_lineno is not None
            self.insert(self.at(last.end_lineno + 1, 0), f'{" " * last.col_offset}_ = "{word}"\n')
            return
        line = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", ()))])
        if line == function.lineno:  # def f(x): return x
            self.insert(self.at(line, first.col_offset), f'_ = "{word}"; ')
        else:
            indent = " " * first.col_offset
            self.insert(self.at(line, 0), f'{indent}# {word}\n{indent}_ = "{word}"\n')

    def set_keyword(self, call: ast.Call, name: str, value: str) -> None:
        for keyword in call.keywords:
            if keyword.arg == name:
                self.replace(keyword.value, value)
                return
        self.insert_item(call, f"{name}={value}")

    def insert_item(self, node: ast.expr, text: str) -> None:
        """Put one more item in front of a closing bracket."""
        closing = self.end(node) - 1
        comma = "" if self.data[:closing].rstrip().endswith((b",", b"(", b"[")) else ", "
        self.insert(closing, comma + text)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _registration(node: ast.stmt) -> tuple[str, ast.Call] | None:
    """(`exercise`, `case`, `check`, …, the decorator's call) of a registered definition."""
    for decorator in getattr(node, "decorator_list", ()):
        if isinstance(decorator, ast.Call):
            if isinstance(decorator.func, ast.Attribute):
                return decorator.func.attr, decorator
            if isinstance(decorator.func, ast.Name) and decorator.func.id == "exercise":
                return "exercise", decorator
    return None


def _says(call: ast.Call, name: str) -> bool:
    return any(
        k.arg == name and isinstance(k.value, ast.Constant) and k.value.value is True
        for k in call.keywords
    )


def put_into_exercise(path: Path, canaries: Canaries) -> None:
    """Canaries in every secret place of an exercise's file, and some in public ones."""
    name = path.stem
    editor = Editor(path)
    first_case = ""  # a public one that sees a misconception
    for node in editor.tree.body:
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        place = f"{name}: {node.name}"
        kind, call = _registration(node) or ("helper", None)
        if call is not None:
            _put_into_registration(editor, canaries, place, kind, call)
            if kind == "case" and not first_case and not _says(call, "hidden"):
                separates = next((k.value for k in call.keywords if k.arg == "separates"), None)
                if isinstance(separates, ast.List):
                    first_case = node.name
                    own = canaries.word(f"{name}: name of the private misconception")
                    editor.insert_item(separates, f'"{own}"')
                    _add_private_misconception(editor, canaries, name, own)
            if kind == "case" and _says(call, "hidden"):
                for part in ast.walk(node):
                    if isinstance(part, ast.Return) and part.value is not None:
                        number = canaries.number(f"{place}: drawn")
                        editor.wrap(part.value, "_canary_values(", f", {number!r})")
        travels = kind == "check" and call is not None and _says(call, "public")
        word = canaries.public_word if travels else canaries.word
        for function in ast.walk(node):
            if isinstance(function, ast.FunctionDef):
                editor.put_into_body(function, word(f"{place}: body"))
    assert first_case, f"{path} has no public case that separates anything"
    _add_private_check(editor, canaries, name)
    _add_hidden_case(editor, canaries, name, first_case)
    editor.append(f"# {canaries.word(f'{name}: comment')}")
    editor.append(_CANARY_VALUES)
    editor.write()


_CANARY_VALUES = """
def _canary_values(drawn, number):
    if isinstance(drawn, dict):
        return {key: _canary_values(value, number) for key, value in drawn.items()}
    if isinstance(drawn, (list, tuple)):
        return type(drawn)(_canary_values(value, number) for value in drawn)
    if isinstance(drawn, np.ndarray) and drawn.dtype.kind == "f":
        drawn = drawn.copy()
        drawn.flat[0] = number
    return drawn
"""


def _put_into_registration(
    editor: Editor, canaries: Canaries, place: str, kind: str, call: ast.Call
) -> None:
    """The words of a decorator, where they are secret."""
    if kind == "misconception":
        editor.set_keyword(call, "credit", repr(CREDIT))
        if _says(call, "hidden"):
            editor.replace(call.args[0], repr(canaries.word(f"{place}: sentence")))
            editor.set_keyword(call, "hint", repr(canaries.word(f"{place}: hint")))
    elif (
        kind == "alternative"
        or (kind == "case" and _says(call, "hidden"))
        or (kind == "check" and not _says(call, "public"))
    ):
        editor.replace(call.args[0], repr(canaries.word(f"{place}: title")))


def _add_private_misconception(editor: Editor, canaries: Canaries, name: str, own: str) -> None:
    parts = {
        part: canaries.word(f"{name}: private {part}") for part in ("sentence", "hint", "code")
    }
    editor.append(
        f"""
        @{name}.misconception("{parts["sentence"]}", hint="{parts["hint"]}", hidden=True)
        def {own}(*args, **kwargs):
            _ = "{parts["code"]}"
            return None
        """
    )


def _add_private_check(editor: Editor, canaries: Canaries, name: str) -> None:
    parts = {
        part: canaries.word(f"{name}: own check's {part}") for part in ("line", "name", "code")
    }
    editor.append(
        f"""
        @{name}.check("{parts["line"]}", credit={CREDIT!r})
        def {parts["name"]}(view):
            _ = "{parts["code"]}"
        """
    )


def _add_hidden_case(editor: Editor, canaries: Canaries, name: str, like: str) -> None:
    """One more hidden case, for exercises that have none and for its function's name."""
    own = canaries.word(f"{name}: name of the hidden case")
    number = canaries.number(f"{name}: drawn in the added case")
    title = canaries.word(f"{name}: title of the added case")
    editor.append(
        f"""
        @{name}.case("{title}", kind="robustness", hidden=True)
        def {own}(rng):
            return _canary_values({like}(rng), {number!r})
        """
    )


def put_into_quiz(path: Path, canaries: Canaries) -> None:
    """The quiz with other answers, ids and texts; which option is right is secret too."""
    quiz = yaml.safe_load(path.read_text("utf-8"))
    for question in quiz:
        name, kind = question["id"], question["type"]
        question["prompt"] += f"\n{canaries.public_word(f'{name}: prompt')}\n"
        question["explanation"] = canaries.word(f"{name}: explanation")
        for key in ("options", "left", "right"):
            for number, option in enumerate(question.get(key, ())):
                what = f"option {number}" if key == "options" else f"{key} option {number}"
                was_right = option["id"] == question.get("answer")
                if kind == "single_choice":
                    option["id"] = canaries.public_word(f"{name}: {what}")
                option["text"] += " " + canaries.public_word(f"{name}: text of {what}")
                option["misconception"] = canaries.word(f"{name}: misconception of {what}")
                option["hint"] = canaries.word(f"{name}: hint of {what}")
                if was_right:
                    question["answer"] = option["id"]
        plain_number = kind == "number" and "draws" not in question
        if plain_number:
            question["answer"] = canaries.number(f"{name}: answer")
            question.pop("significant", None)
            question["tolerance"] = {  # small enough to tell the distractors apart
                "absolute": canaries.number(f"{name}: absolute tolerance", halved=20),
                "relative": canaries.number(f"{name}: relative tolerance", halved=40),
            }
        elif kind == "number":
            number = canaries.number(f"{name}: formula")
            question["answer"] = f"({question['answer']}) + 0 * {number!r}"
        for number, wrong in enumerate(question.get("wrong", ())):
            if plain_number:
                wrong["value"] = canaries.number(f"{name}: distractor {number}")
            wrong["misconception"] = canaries.word(f"{name}: misconception of distractor {number}")
            wrong["hint"] = canaries.word(f"{name}: hint of distractor {number}")
    path.write_text(yaml.safe_dump(quiz, allow_unicode=True, sort_keys=False), "utf-8")


def put_into_notebook(path: Path, canaries: Canaries) -> None:
    """Outputs left by the author, as text and as a picture, and an author's own test cell."""
    book = json.loads(path.read_text("utf-8"))
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            picture = b"\x89PNG" + canaries.word(f"picture under {cell['id']}").encode()
            cell["execution_count"] = 1
            cell["outputs"] = [
                {
                    "output_type": "stream",
                    "name": "stdout",
                    "text": [canaries.word(f"output under {cell['id']}")],
                },
                {
                    "output_type": "display_data",
                    "data": {"image/png": base64.b64encode(picture).decode()},
                    "metadata": {},
                },
            ]
    shown = f'_ = "{canaries.public_word("author: shown test")}"\n'
    hidden = f'_ = "{canaries.word("author: hidden test")}"\n'
    source = f"{shown}### BEGIN HIDDEN TESTS\n{hidden}### END HIDDEN TESTS"
    about = {"grade": True, "solution": False, "locked": True, "task": False, "points": 1}
    book["cells"].append(
        {
            "cell_type": "code",
            "id": "authors_test",
            "metadata": {"nbgrader": {**about, "grade_id": "authors_test", "schema_version": 3}},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
    )
    book["metadata"]["author_notes"] = canaries.word("author: metadata of the notebook")
    path.write_text(json.dumps(book), "utf-8")
