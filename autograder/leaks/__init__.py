"""Does a release hold something that students must not get? Judged on the real files.

    report = scan(course, ["ps1_numpy_attention"], archives=[wheel])

Secrets are read from solutions/ (`secrets`), files are taken apart and out of their disguises
(`places`), and both are compared here. Nothing is run, and PyTorch is not imported, except for
the arrays of hidden cases, which are drawn where `drawn` asks for it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from autograder.leaks.patterns import Tokens, tokens_of
from autograder.leaks.places import Place, leaves, members, places_of, readings
from autograder.leaks.secrets import Known, Secret, secrets_of
from autograder.pack import assignments_of
from autograder.signature import AuthoringError

# Fields of solutions that no part of a release has.
SECRET_FIELDS = {"answer", "explanation", "tolerance", "wrong", "credit", "hidden"}
# nbgrader's marks around what it cuts out.
MARKS = tuple(
    f"### {end} {what}"
    for end in ("BEGIN", "END")
    for what in ("SOLUTION", "HIDDEN TESTS", "MARK SCHEME")
)
_COMMENT = re.compile(r"#[^\n]*")
# What no package of ours holds.
SECRET_FOLDERS = {"solutions", "source", "submitted", "autograded", "feedback", "gradebook.db"}


@dataclass(frozen=True, order=True)
class Leak:
    """Something secret in a file, and where."""

    file: str
    where: str
    what: str
    disguise: str = ""

    def __str__(self) -> str:
        where = f", {self.where}" if self.where else ""
        disguise = f" ({self.disguise})" if self.disguise else ""
        return f"{self.file}{where}: {self.what}{disguise}"


@dataclass(frozen=True)
class Report:
    """The files that were examined, archives' members too, and what was found."""

    files: int
    leaks: tuple[Leak, ...]


def scan(
    course: Path,
    assignments: Sequence[str] = (),
    archives: Iterable[Path] = (),
    *,
    drawn: bool = False,
) -> Report:
    """Examine the releases of a course, by default all, and built archives of the package.

    A set is examined for its own secrets, and for large parts of other sets' unless it
    declares what it gives. drawn: look for the arrays of hidden cases in the key too.
    """
    every = {name: secrets_of(course / "solutions" / name) for name in assignments_of(course)}
    definitions = {name for known in every.values() for name in known.code}
    for known in every.values():
        for name in known.given:
            if name not in definitions:
                raise AuthoringError(
                    f"solutions/{known.assignment}: GIVEN names {name}, which is no exercise of "
                    "this course; correct the name or take it out"
                )
    leaks: set[Leak] = set()
    files = 0
    root = course / "assignments"
    for folder in sorted(root.glob("*")) if not assignments else [root / a for a in assignments]:
        search = _search_for(course, folder.name, every)
        arrays = _hidden_arrays(course, folder.name) if drawn and folder.name in every else {}
        for path in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:
            if path.is_file():
                files += 1
                name = path.relative_to(course).as_posix()
                leaks.update(search.file(name, path.read_bytes()))
                leaks.update(_find_arrays(name, path, arrays))
    search = Search(every.values(), {})
    for archive in archives:
        for name, content in members(archive.name, archive.read_bytes()):
            files += 1
            shown = f"{archive.name}: {name}"
            leaks.update(search.file(shown, content))
            if strangers := SECRET_FOLDERS & set(name.split("/")):
                leaks.add(Leak(shown, "", f"a file of {min(strangers)}/"))
    return Report(files, tuple(sorted(leaks)))


def _search_for(course: Path, assignment: str, every: dict[str, Known]) -> Search:
    own = every.get(assignment)
    if own is None:  # not a set: whatever it is, it holds no secret of any
        return Search((), every)
    others = [known for name, known in every.items() if name != assignment]
    return Search(others, {assignment: own}, course / "source" / assignment)


class Search:
    """Secrets to look for: everything of `own` sets, large parts of the others'."""

    def __init__(
        self, others: Iterable[Known], own: dict[str, Known], source: Path | None = None
    ) -> None:
        self.own = own
        self.index: dict[Tokens, list[tuple[Tokens, Secret]]] = defaultdict(list)
        self.firsts: set[str] = set()
        self.strings: dict[str, Secret] = {}
        others = [known for known in others if known.assignment not in own]
        self.sets = [*own.values(), *others]
        given = _with_needs((name for known in own.values() for name in known.given), self.sets)
        gifts = [known.code[name] for known in self.sets for name in given & known.code.keys()]
        gifts += [_COMMENT.sub("", code) for code in gifts]
        said = [text for known in own.values() for text in known.open_texts]
        openly, prose = _Texts([*said, *gifts]), _Texts(_prose(source) if source else ())
        open_strings = {text for known in own.values() for text in known.open_strings}
        for known in own.values():
            for secret in known.secrets:
                if secret.definition in given and secret.is_reference:
                    continue
                self._add(secret, _still_secret(secret.patterns, openly, prose))
                for text in secret.strings:
                    if text not in open_strings and len(text.split()) > 1:
                        self.strings.setdefault(text, secret)
        for known in others:
            for secret in known.secrets:
                if not (secret.definition in given and secret.is_reference):
                    self._add(secret, _still_secret(secret.strong, openly, prose))

    def _add(self, secret: Secret, patterns: Iterable[Tokens]) -> None:
        for pattern in patterns:
            self.index[pattern[:3]].append((pattern, secret))
            self.firsts.add(pattern[0])

    def file(self, name: str, data: bytes) -> Iterator[Leak]:
        """What a file leaks."""
        for place in places_of(name, data):
            for disguise, text in readings(place.data):
                for secret in self._in_text(text):
                    yield Leak(name, place.where, f"{secret.what}", disguise)
                if "compiled" in disguise:
                    for what in self._in_compiled(text):
                        yield Leak(name, place.where, what, disguise)
                if self.own and (mark := next((m for m in MARKS if m in text), None)):
                    yield Leak(name, place.where, f"the mark “{mark}”", disguise)
            yield from self._in_json(name, place)
            yield from self._in_numbers(name, place)

    def _in_text(self, text: str) -> Iterator[Secret]:
        found: dict[str, Secret] = {}
        # code with a comment on every line is the same code
        for tokens in {tokens_of(text), tokens_of(_COMMENT.sub("", text))}:
            for at, first in enumerate(tokens):
                if first not in self.firsts:
                    continue
                for size in (3, 2, 1):
                    for pattern, secret in self.index.get(tokens[at : at + size], ()):
                        if tokens[at : at + len(pattern)] == pattern:
                            found.setdefault(secret.what, secret)
        yield from found.values()

    def _in_compiled(self, text: str) -> set[str]:
        compiled = {digest: what for known in self.sets for digest, what in known.compiled.items()}
        return {compiled[word] for word in tokens_of(text) if word in compiled}

    def _in_json(self, name: str, place: Place) -> Iterator[Leak]:
        if place.json is None or not self.own:
            return
        texts = set(leaves(place.json))
        for text in texts & self.strings.keys():
            yield Leak(name, place.where, self.strings[text].what)
        # an exercise's own bound travels, so that a self-check judges as the grader does
        allowed = {"tolerance"} if place.exercise else set()
        for field in _fields(place.json) & SECRET_FIELDS - allowed:
            yield Leak(name, place.where, f"the field “{field}”")
        for known in self.own.values():
            hidden = known.hidden.get(place.exercise, set()) - known.public.get(
                place.exercise, set()
            )
            for text in texts & hidden:
                yield Leak(name, place.where, f"the name of {text}, which is hidden")

    def _in_numbers(self, name: str, place: Place) -> Iterator[Leak]:
        if not place.where.startswith("array "):
            return
        parts = place.where.removeprefix("array ").split("/")
        for known in self.own.values():
            hidden = known.hidden.get(parts[0], set()) - known.public.get(parts[0], set())
            for text in hidden & set(parts[1:]):
                yield Leak(name, place.where, f"an array of {text}, which is hidden")
            for number, what in known.numbers.items():
                for kind in ("<f8", "<f4"):
                    wanted = np.array(number, kind).tobytes()
                    at = place.data.find(wanted)
                    if at >= 0 and at % len(wanted) == 0:
                        yield Leak(name, place.where, what)


def _with_needs(given: Iterable[str], sets: Iterable[Known]) -> set[str]:
    """Names of what is given, and of all that it calls: they go together."""
    calls = {name: called for known in sets for name, called in known.needs.items()}
    found: set[str] = set()
    todo = list(given)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += calls.get(name, ())
    return found


class _Texts:
    """Texts as words and signs, to ask whether they hold a pattern."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.words = " ".join(" ".join((*tokens_of(text), "\n")) for text in texts)

    def hold(self, pattern: Tokens) -> bool:
        return f" {' '.join(pattern)} " in f" {self.words} "


def _still_secret(patterns: Sequence[Tokens], openly: _Texts, prose: _Texts) -> list[Tokens]:
    """Without what is public, and what the prose teaches unless that is most of the secret."""
    kept = [pattern for pattern in patterns if not openly.hold(pattern)]
    taught = [pattern for pattern in kept if prose.hold(pattern)]
    if len(patterns) >= 3 and 2 * len(taught) > len(patterns):
        return kept
    return [pattern for pattern in kept if pattern not in taught]


def _fields(value: Any) -> set[str]:
    if isinstance(value, dict):
        return {str(key) for key in value}.union(*(_fields(item) for item in value.values()))
    return set().union(*(_fields(item) for item in value)) if isinstance(value, list) else set()


def _prose(source: Path) -> list[str]:
    """The notebook's own cells: its prose and the code that it shows on purpose."""
    import json

    path = source / f"{source.name}.ipynb"
    if not path.is_file():
        return []
    texts = []
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        about = cell.get("metadata", {}).get("nbgrader", {})
        # what another set gives is exempt because GIVEN says so, not because it stands there
        if not about.get("solution") and not about.get("grade_id", "").startswith("given_"):
            text = cell["source"]
            texts.append(_without_marked("".join(text) if isinstance(text, list) else text))
    return texts


def _without_marked(text: str) -> str:
    kept, inside = [], False
    for line in text.split("\n"):
        inside = (inside or line.strip().startswith("### BEGIN")) and "### END" not in line
        kept += [] if inside else [line]
    return "\n".join(kept)


def _hidden_arrays(course: Path, assignment: str) -> dict[bytes, str]:
    """Bytes of the arrays of hidden cases that the key's seed draws → where they are from."""
    from autograder.observe.protocol import Array
    from autograder.pack import load_pack
    from autograder.selfcheck import SEED

    found: dict[bytes, str] = {}

    def collect(value: Any, what: str) -> None:
        value = value.data if isinstance(value, Array) else value
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and np.unique(value).size > 2:
            found[np.ascontiguousarray(value).tobytes()] = what
        elif isinstance(value, dict):
            for item in value.values():
                collect(item, what)
        elif isinstance(value, list | tuple):
            for item in value:
                collect(item, what)

    for spec in load_pack(course, assignment).draw_all(SEED):
        for case in (case for case in spec.cases if case.hidden):
            what = f"an array of the hidden case {case.name} of {spec.name}"
            collect([dict(call.named) for _, call in case.program.calls], what)
            collect([step.value for step in case.expected], what)
    return found


def _find_arrays(name: str, path: Path, arrays: dict[bytes, str]) -> Iterator[Leak]:
    if arrays:
        data = path.read_bytes()
        for wanted, what in arrays.items():
            if wanted in data:
                yield Leak(name, "", what)
