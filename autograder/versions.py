"""What a result depends on beside the submission: it holds for as long as that stays the same.

An exercise depends on its own file and on the references of what it needs, since its expected
values are made with them; not on the cases, checks and points of what it needs. So an author's
change to one exercise leaves the results of all others standing, unless it changes a reference
that they call.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping

import msgspec

from autograder import __version__
from autograder.case_drops import Drops
from autograder.pack import Pack
from autograder.quiz.loading import course_of
from autograder.source_trees import parse_source

_PACKAGES = "the list of packages"


class Basis(msgspec.Struct, frozen=True, array_like=True):
    """What one exercise was graded by, or the quiz (which has no seed, parts and cases).

    file: a digest of its file. parts: digests of what it uses of the set. dropped: its cases
    that were left out.
    """

    package: str
    seed: str
    file: str
    parts: dict[str, str] = {}
    dropped: tuple[str, ...] = ()


def bases_of(pack: Pack, seed: str, drops: Drops) -> dict[str, Basis]:
    """The basis of each exercise of a set, in the set's order."""
    versions = pack.versions()
    references = {name: _reference(source, name) for name, source in pack.sources.items()}
    shared = {_PACKAGES: _digest(",".join(sorted(pack.packages)))} | {
        f"{gift.name}, which the set gives,": _digest(
            *(_reference(source, exercise.name) for exercise, source in gift.parts)
        )
        for gift in pack.given
    }
    return {
        name: Basis(
            package=__version__,
            seed=seed,
            file=versions[name],
            parts={part: references[part] for part in _needed(pack, name)} | shared,
            dropped=tuple(drops.get(name, ())),
        )
        for name in pack.exercises
    }


def quiz_basis(pack: Pack) -> Basis:
    """The basis of the quiz's questions, all together: they are judged in no time."""
    path = pack.folder / "quiz.yaml"
    text = path.read_text("utf-8") if path.is_file() else ""
    return Basis(__version__, "", _digest(text, course_of(pack.folder)) if text else "")


def cause(before: Basis | None, now: Basis, what: str = "the exercise") -> str:
    """Why something was graded again, in words."""
    if before is None:
        return f"{what} is new"
    return "; ".join(_causes(before, now, what)) or "graded again as asked"


def _causes(before: Basis, now: Basis, what: str) -> Iterator[str]:
    if before.file != now.file:
        yield f"{what} changed, {_change(before.file, now.file)}"
    for name in dict.fromkeys((*before.parts, *now.parts)):
        one, other = before.parts.get(name, ""), now.parts.get(name, "")
        if one != other:
            yield f"{name} changed, {_change(one, other)}"
    for name in sorted({*now.dropped} - {*before.dropped}):
        yield f"the case {name} was dropped"
    for name in sorted({*before.dropped} - {*now.dropped}):
        yield f"the case {name} counts again"
    if before.package != now.package:
        yield f"attention-autograder {before.package} → {now.package}"
    if before.seed != now.seed:
        yield f"seed {before.seed} → {now.seed}"


def _change(before: str, now: str) -> str:
    return f"{before[:8] or 'none'} → {now[:8] or 'none'}"


def _needed(pack: Pack, name: str) -> Mapping[str, None]:
    """What an exercise needs, and what that needs."""
    found: dict[str, None] = {}
    for part in pack.exercises[name].needs:
        found |= {**_needed(pack, part), part: None}
    return found


def _reference(source: str, name: str) -> str:
    """A digest of what a file gives to others: all but its cases, checks and mistakes."""
    kept = []
    for node in parse_source(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            if any(ast.unparse(item).startswith(f"{name}.") for item in node.decorator_list):
                continue
            if node.name == name:
                kept.append(ast.dump(ast.Module([*_without_docstring(node.body)], [])))
                if isinstance(node, ast.FunctionDef):
                    kept.append(ast.dump(node.args))
                continue
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            kept.append(ast.dump(node))
    return _digest(*kept)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    says = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if says else body


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
