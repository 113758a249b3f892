"""Reading a submission by its syntax: which file counts, which statements, which answers.

Nothing of a student's is executed here. A notebook's stored outputs are never decoded, a
cell that does not parse costs itself only, and of what parses only the backward slice of
the exercise names is kept: imports, definitions, and the assignments that they mention.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from autograder.files import Handed, ReadFile, Unreadable, hand_in, read_file
from autograder.parsing import BrokenCell, Cell, Statement, parse
from autograder.syntax import (
    Imported,
    Node,
    assigned,
    definitions,
    imported_names,
    is_future_import,
    is_main_guard,
    is_star_import,
    is_stub,
    may_be_kept,
)
from autograder.wording import one_line

_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True)
class Submission:
    """A file as read. `made_from` is set on notebooks that we made of a module."""

    path: Path
    kind: str
    sha256: str
    cells: tuple[Cell, ...] = field(repr=False)
    statements: tuple[Statement, ...] = field(repr=False)
    broken: tuple[BrokenCell, ...] = ()
    made_from: str | None = None

    @cached_property
    def bound(self) -> frozenset[str]:
        """Every name that some top-level statement binds."""
        return frozenset(self._binding)

    @cached_property
    def _binding(self) -> dict[str, list[int]]:
        """Name → positions of the statements that bind it."""
        found: dict[str, list[int]] = {}
        for position, statement in enumerate(self.statements):
            for name in statement.binds:
                found.setdefault(name, []).append(position)
        return found

    @cached_property
    def _kept_for(self) -> dict[str, list[int]]:
        """Name → positions of the statements that are kept when it is wanted."""
        found: dict[str, list[int]] = {}
        for position, statement in enumerate(self.statements):
            if may_be_kept(statement.node):
                for name in statement.binds | statement.changes:
                    found.setdefault(name, []).append(position)
        return found

    def definition(self, name: str) -> Node | None:
        """The last top-level def or class of that name (also inside `if` and `try`)."""
        for position in reversed(self._binding.get(name, ())):
            nodes = definitions(self.statements[position].node, name)
            if nodes:
                return nodes[-1]
        return None

    def stands(self, name: str) -> bool:
        """Whether what binds the name last is more than the stub."""
        positions = self._binding.get(name)
        return positions is not None and not self._is_stub_at(positions[-1], name)

    def broken_cell(self, name: str) -> BrokenCell | None:
        """The last cell that does not parse and seems to define the name."""
        return next((cell for cell in reversed(self.broken) if name in cell.defines), None)

    def written(self, name: str) -> bool:
        """Whether there is more than the stub, be it in a cell that does not parse."""
        return self.stands(name) or self.broken_cell(name) is not None

    def hidden_by_stub(self, name: str) -> tuple[Statement, Statement] | None:
        """(the last definition, the stub after it) where the stub is what counts."""
        positions = self._binding.get(name, [])
        real = [i for i in positions if not self._is_stub_at(i, name)]
        if not real or real[-1] == positions[-1]:
            return None
        return self.statements[real[-1]], self.statements[positions[-1]]

    def _is_stub_at(self, position: int, name: str) -> bool:
        """`softmax = partial(…)` and a def in one branch of an `if` are no stubs."""
        nodes = definitions(self.statements[position].node, name)
        return bool(nodes) and all(is_stub(node) for node in nodes)

    def slice_for(self, names: Iterable[str], without: Iterable[str] = ()) -> tuple[int, ...]:
        """Positions of the statements that the names depend on, in order.

        without: names that somebody else binds, so that nothing is kept for their sake.
        """
        kept, unbound = self._slice(names, frozenset(without))
        if unbound:  # somebody else must bind them
            kept |= {i for i, s in enumerate(self.statements) if is_star_import(s.node)}
        if kept:  # they hold for all that follows
            kept |= {i for i, s in enumerate(self.statements) if is_future_import(s.node)}
        return tuple(sorted(kept))

    def _slice(self, names: Iterable[str], without: frozenset[str]) -> tuple[set[int], set[str]]:
        """(positions of the statements to keep, names that none of them binds)."""
        kept: set[int] = set()
        todo = list(names)
        wanted = {*todo, *without}
        while todo:
            for position in self._kept_for.get(todo.pop(), ()):
                if position not in kept:
                    kept.add(position)
                    todo += self.statements[position].reads - wanted
                    wanted |= self.statements[position].reads
        known = {name for position in kept for name in self.statements[position].binds}
        return kept, wanted - known - without - _BUILTINS

    def left_out_for(self, names: Iterable[str]) -> bool:
        """Whether a statement outside the slice may have a say in what the names are.

        Loops that fill a table, calls such as `table.append(1)` and `setattr(A, "f", f)`.
        """
        kept = set(self.slice_for(names))
        imported = {
            name for position in kept for name in imported_names(self.statements[position].node)
        }
        used = {name for i in kept for name in self.statements[i].binds | self.statements[i].reads}
        used |= set(names)
        used -= imported | _BUILTINS
        return any(
            used & (statement.binds | statement.changes | statement.calls_on)
            for position, statement in enumerate(self.statements)
            if position not in kept and not is_main_guard(statement.node)
        )

    def answer(self, name: str) -> ast.expr | None:
        """The expression last assigned to a quiz name, or None.

        Where only a cell that does not parse assigns it, the bare name: no answer either,
        but not an open one.
        """
        found: ast.expr | None = None
        for position in self._binding.get(name, ()):
            node = self.statements[position].node
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    found = assigned(target, node.value, name) or found
            elif isinstance(node, ast.AnnAssign):
                found = node.value
        if found is None and self.broken_cell(name) is not None:
            return ast.Name(name)
        return found

    def uses(self, name: str, forbidden: Sequence[str], without: Iterable[str] = ()) -> str | None:
        """The first forbidden dotted name that an exercise uses, by import resolution.

        without: exercises whose code is left aside, although this one may call them.
        """
        if not forbidden:
            return None
        known = Imported()
        nodes: list[ast.AST] = []
        for position in self.slice_for([name], without):
            statement = self.statements[position]
            inside = list(ast.walk(statement.node))
            nodes += inside
            known.follow(statement, inside)
        for dotted in [known.aliases.get(name), *map(known.dotted, nodes)]:
            for item in forbidden:
                if dotted is not None and (dotted == item or dotted.startswith(item + ".")):
                    return item
        return next((item for item in forbidden if known.may_be_starred(item, nodes)), None)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a student should know of the file as a whole: it is empty, or cells are left out."""
        if not any(cell.source.strip() for cell in self.cells):
            return (f"{self.path.name} holds no code: all exercises count as missing",)
        what = "that cell" if self.kind == "notebook" else "that part"
        shown = [f"{one_line(cell.words)}: {what} was left out" for cell in self.broken[:3]]
        if len(self.broken) > 3:
            shown.append(f"{len(self.broken) - 3} more like that were left out too")
        return tuple(shown)


def read(path: Path) -> Submission:
    """Read a notebook or a module; Unreadable when it cannot be graded."""
    return _parsed(read_file(path))


def _parsed(file: ReadFile) -> Submission:
    statements, broken = parse(file.cells, file.kind)
    return Submission(
        path=file.path,
        kind=file.kind,
        sha256=file.sha256,
        cells=file.cells,
        statements=tuple(statements),
        broken=tuple(broken),
        made_from=file.made_from,
    )


# --- which file counts -----------------------------------------------------------------


@dataclass(frozen=True)
class Chosen:
    """The file that counts, and what its student should be told about the choice."""

    submission: Submission
    about_choice: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple[str, ...]:
        """Sentences for the student: about the choice, then about the file."""
        return self.about_choice + self.submission.remarks


def choose(
    folder: Path, assignment: str, exercises: Iterable[str], answers: Iterable[str]
) -> Chosen:
    """The file of a student's folder that is graded, by content and never by time.

    Both present: the one that was worked on; the notebook when both were. Unreadable when
    there is none, or when what counts cannot be read.
    """
    return choose_from(hand_in(folder, assignment), assignment, exercises, answers)


def choose_from(
    handed: Handed, assignment: str, exercises: Iterable[str], answers: Iterable[str]
) -> Chosen:
    """The same of files that were read before, perhaps on another machine."""
    exercises, answers = tuple(exercises), tuple(answers)
    problems = [file for file in handed.files if isinstance(file, Unreadable)]
    found = [
        _parsed(file)
        for file in handed.files
        if isinstance(file, ReadFile) and file.made_from is None
    ]
    touched = [item for item in found if is_touched(item, exercises, answers)]
    if problems and not touched:
        raise problems[0]  # the other file is as it was released: this one was worked on
    if not found:
        raise Unreadable(handed.nothing)
    chosen = (touched or found)[0]
    messages = [str(problem) for problem in problems]
    if problems:
        messages.append(f"{chosen.path.name} was graded instead")
    if len(touched) == 2:
        messages.append(
            f"both {assignment}.ipynb and {assignment}.py were worked on: the notebook was "
            "graded; delete it from the submission to have the module graded"
        )
    return Chosen(chosen, tuple(messages))


def is_touched(submission: Submission, exercises: Iterable[str], answers: Iterable[str]) -> bool:
    """Whether an exercise was written or a question answered."""
    if any(submission.written(name) for name in exercises):
        return True
    given = (submission.answer(name) for name in answers)
    return any(node is not None and not _is_open(node) for node in given)


def _is_open(node: ast.expr) -> bool:
    """Whether an answer is as it was released, or as good as that."""
    if not isinstance(node, ast.Constant):
        return False
    text = node.value
    return text is None or text is ... or (isinstance(text, str) and not text.strip())
