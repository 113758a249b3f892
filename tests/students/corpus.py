"""Implementations written as students write them, and how they become what is handed in.

A file `<ps>/<exercise>.py` lists ENTRIES of one exercise: right ones, unusual but right, and wrong
ones with one mistake each. They were written from the task and from the mistakes that people are
known to make, without a look at the pack's own misconceptions. The sets of names that describe an
entry's mistake were added after the first measurement, by the sentence of each misconception.

Every third entry is handed in as a notebook, the others as modules. `# %%` in a source begins a
new cell. What an entry calls and does not define is taken from `<ps>/companions.py`.
"""

import ast
import importlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """What one student wrote for one exercise.

    kind: the mistake's kind, such as "C1", or "own"; empty when right. names: of misconceptions
    that describe this mistake rightly. fault: texts of the lines that are wrong, or that lack
    what is missing: where one would put the finger. Each was written down from reading the code.
    """

    kind: str
    title: str
    source: str
    names: frozenset[str]
    fault: tuple[str, ...] = ()

    @property
    def right(self):
        return not self.kind

    def is_wrong_at(self, line):
        """Whether the text of a line is that of one of the wrong ones."""
        return any(text in line for text in self.fault)

    def described_by(self, misconceptions):
        """Whether something is named, and nothing but what the student did."""
        return bool(misconceptions) and self.names.issuperset(misconceptions)


def right(title, source):
    return Entry("", title, source, frozenset())


def wrong(kind, title, source, *names, fault):
    fault = (fault,) if isinstance(fault, str) else fault
    return Entry(kind, title, source, frozenset(names), fault)


@dataclass(frozen=True)
class Student:
    """An entry with its place: the position decides in which form it is handed in."""

    ps: str
    exercise: str
    position: int
    entry: Entry

    def __str__(self):
        return f"{self.ps}/{self.exercise}/{self.position}: {self.entry.title}"

    @property
    def held_out(self):
        """Entries at even positions were not looked at when misconceptions were added."""
        return self.position % 2 == 0

    @property
    def in_a_notebook(self):
        return self.position % 3 == 1

    def hand_in(self, folder, assignment):
        """Write the file that this student hands in, and return its path."""
        cells = [self._companions.header, *self._missing(), *self._own_cells]
        if self.in_a_notebook:
            path = folder / f"{assignment}.ipynb"
            nbformat.write(_notebook(self.exercise, cells), path)
        else:
            path = folder / f"{assignment}.py"
            path.write_text("\n\n".join([*cells, self._companions.main]), encoding="utf-8")
        return path

    @cached_property
    def _companions(self):
        return importlib.import_module(f"tests.students.{self.ps}.companions")

    @property
    def _own_cells(self):
        return [part.strip("\n") for part in self.entry.source.split("# %%\n") if part.strip()]

    def _missing(self):
        """Right definitions of the other exercises, but not of what the entry defines itself."""
        own = {
            name
            for node in ast.parse(self.entry.source).body
            for name in (
                [node.name]
                if isinstance(node, (ast.FunctionDef, ast.ClassDef))
                else [leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name)]
            )
        }
        return [
            source.strip("\n")
            for name, source in self._companions.RIGHT.items()
            if name != self.exercise and name not in own
        ]


def students_of(ps):
    """All students of a set, in the order of the files' names."""
    found = []
    for path in sorted((HERE / ps).glob("*.py")):
        if path.stem != "companions":
            entries = importlib.import_module(f"tests.students.{ps}.{path.stem}").ENTRIES
            found += [Student(ps, path.stem, i, entry) for i, entry in enumerate(entries)]
    return found


def _notebook(exercise, sources):
    """A notebook as it looks after an evening's work: text, magics, prints and a plot around."""
    new = nbformat.v4
    cells = [
        new.new_markdown_cell("# Homework\n\nName: ____\n\n$$\\mathrm{softmax}(x)_i = \\ldots$$"),
        new.new_code_cell("%matplotlib inline\n!pip install -q matplotlib"),
        *map(new.new_code_cell, sources),
        new.new_markdown_cell(f"### trying out `{exercise}`"),
        new.new_code_cell(f"print({exercise})\n%timeit -n1 -r1 pass"),
        new.new_code_cell("import matplotlib.pyplot as plt\nplt.plot([1, 2, 3]); plt.show()"),
        new.new_code_cell(f"{exercise}?"),
    ]
    for count, cell in enumerate(cells):
        cell["id"] = f"cell-{count}"
        if cell["cell_type"] == "code":
            cell["execution_count"] = count
    return new.new_notebook(cells=cells)
