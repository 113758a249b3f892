"""The texts that students and instructors see of an exercise: stub, solution cell, check cell.

Everything is cut from the author's file: signature without annotations, docstring as it
stands, body between nbgrader's solution markers. A class has markers in each method.
"""

from __future__ import annotations

import ast
import copy
import textwrap
from collections.abc import Iterator

from autograder.exercise import Exercise
from autograder.pack import Given, definition_of
from autograder.source_trees import parse_source

BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
# Names that notebooks and modules import at their top.
EVERYWHERE = ("np", "torch", "nn")


def solution_cell(exercise: Exercise, source: str) -> str:
    """The cell of the source notebook: the reference between solution markers."""
    node = definition_of(source, exercise.name)
    return _render(node, source.split("\n"), solution=True)


def stub_cell(exercise: Exercise, source: str) -> str:
    """What a student starts from, letter for letter what nbgrader makes of the solution cell."""
    node = definition_of(source, exercise.name)
    return _render(node, source.split("\n"), solution=False)


def given_cell(given: Given) -> str:
    """An exercise of another set, solved, with what it needs: read and called, not written."""
    parts: list[str] = []
    imports: dict[str, None] = {}
    for exercise, source in given.parts:
        cell = _render(definition_of(source, exercise.name), source.split("\n"), solution=True)
        lines = [line for line in cell.split("\n") if line.strip() not in (BEGIN, END)]
        parts.append("\n".join(lines))
        imports.update(dict.fromkeys(_imports_for(parts[-1], source)))
    heading = f"# Given, from {given.assignment}: nothing is to be written in this cell."
    return "\n\n\n".join(["\n".join([heading, *imports]), *parts])


def _imports_for(cell: str, source: str) -> Iterator[str]:
    """Import lines of a file that a cell cut from it needs, beside those that every set has."""
    used = {part.id for part in ast.walk(parse_source(cell)) if isinstance(part, ast.Name)}
    for node in parse_source(source).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                bound = alias.asname or alias.name.partition(".")[0]
                if bound in used and bound not in EVERYWHERE:
                    one = copy.copy(node)
                    one.names = [alias]
                    yield ast.unparse(one)


def prompt_cell(exercise: Exercise) -> str:
    """The Markdown above a stub."""
    points = f"{exercise.points:g} point" + ("" if exercise.points == 1 else "s")
    return f"### Exercise: `{exercise.name}` ({points})\n\n{exercise.prompt}"


def check_cell(exercise: Exercise) -> str:
    """The locked cell under a stub."""
    return f'check("{exercise.name}")'


def _render(
    node: ast.FunctionDef | ast.ClassDef, lines: list[str], *, solution: bool, indent: str = ""
) -> str:
    if isinstance(node, ast.ClassDef):
        return _render_class(node, lines, solution=solution)
    plain = copy.deepcopy(node.args)
    for argument in [*plain.posonlyargs, *plain.args, *plain.kwonlyargs]:
        argument.annotation = None
    header = f"{indent}def {node.name}({ast.unparse(plain)}):"
    inner = indent + "    "
    docstring, body = _split_body(node, lines)
    parts = [header]
    if docstring:
        parts.append(textwrap.indent(docstring, inner, lambda line: bool(line.strip())))
    if solution:
        parts.append(textwrap.indent(f"{BEGIN}\n{body}\n{END}", inner, lambda x: bool(x.strip())))
    else:
        parts.append(textwrap.indent(STUB, inner))
    return "\n".join(parts)


def _render_class(node: ast.ClassDef, lines: list[str], *, solution: bool) -> str:
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    parts = [f"class {node.name}({bases}):" if bases else f"class {node.name}:"]
    docstring = _docstring_lines(node, lines)
    if docstring:
        parts.append(textwrap.indent(docstring, "    ", lambda line: bool(line.strip())))
    for item in node.body:
        if isinstance(item, ast.FunctionDef):
            parts.append("\n" + _render(item, lines, solution=solution, indent="    "))
    return "\n".join(parts)


def _docstring_lines(node: ast.FunctionDef | ast.ClassDef, lines: list[str]) -> str:
    first = node.body[0]
    if not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)):
        return ""
    return textwrap.dedent("\n".join(lines[first.lineno - 1 : first.end_lineno]))


def _split_body(node: ast.FunctionDef, lines: list[str]) -> tuple[str, str]:
    """(docstring, everything after it with its comments), both without indentation."""
    docstring = _docstring_lines(node, lines)
    start = node.body[0].end_lineno if docstring else node.body[0].lineno - 1
    assert start is not None
    body = textwrap.dedent("\n".join(lines[start : node.end_lineno])).strip("\n")
    return docstring, body


def student_code(source: str, function: str, name: str) -> str:
    """A function or class of an exercise file as a student would have it, called `name`.

    Without decorators, annotations and docstring; with the plain helpers of the file that
    it uses, those that these use, and imports that a released module lacks.
    """
    node = definition_of(source, function)
    helpers: dict[int, str] = {}
    wanted = _names_in(node)
    before = -1
    while len(helpers) > before:
        before = len(helpers)
        for place, item in enumerate(parse_source(source).body):
            if place not in helpers and _bound_by(item) & wanted:
                wanted |= _names_in(item)
                helpers[place] = (
                    _plain(item, item.name)
                    if isinstance(item, ast.FunctionDef | ast.ClassDef)
                    else ast.unparse(item)
                )
    in_order = [helpers[place] for place in sorted(helpers)]
    code = "\n\n\n".join([*in_order, _plain(node, name)])
    imports = dict.fromkeys(_imports_for(code, source))
    return "\n\n\n".join([*(["\n".join(imports)] if imports else []), code])


def _names_in(node: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}


def _bound_by(item: ast.stmt) -> set[str]:
    """Names that a definition or an assignment gives a value; none for other statements."""
    if isinstance(item, ast.FunctionDef | ast.ClassDef):
        return {item.name} if not item.decorator_list else set()
    if isinstance(item, ast.Assign):
        return {part.id for part in item.targets if isinstance(part, ast.Name)}
    return set()


def _plain(node: ast.FunctionDef | ast.ClassDef, name: str) -> str:
    plain = copy.deepcopy(node)
    plain.decorator_list = []
    for part in ast.walk(plain):
        if isinstance(part, ast.FunctionDef):
            part.returns = None
            for argument in [*part.args.posonlyargs, *part.args.args, *part.args.kwonlyargs]:
                argument.annotation = None
        if isinstance(part, ast.Name) and part.id == node.name:
            part.id = name  # a function that calls itself
        if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
            first = part.body[0]
            has_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            if has_docstring and len(part.body) > 1:
                part.body = part.body[1:]
    plain.name = name
    return ast.unparse(plain)
