"""Statements of a submission, compiled under its cell's name and executed one by one.

Beside student code, like all that `worker` lists.
"""

from __future__ import annotations
import __future__

import ast
import types
from collections.abc import Mapping, Sequence
from typing import Any

from autograder.observe.stand_ins import install_stand_ins
from autograder.observe.values import describe_exception

# Compiled student code is named with this, so that its frames are found in tracebacks.
MARKER = "submission: "

_LINES = 1000  # so many empty ones are quicker than to renumber a syntax tree

FUTURE_FLAGS = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


def load(
    statements: Sequence[dict[str, Any]], namespace: dict[str, Any], stand_ins: Sequence[str]
) -> list[dict[str, Any] | None]:
    """Execute statements one by one; for each None, or what it raised.

    A statement that fails costs what it would have bound, and nothing else; unless it is
    marked `stops_cell`, as in a kernel, where the rest of its cell is not executed. A
    `from __future__ import …` holds for all that follows, as in a kernel and in a module.
    """
    install_stand_ins(stand_ins)
    outcomes: list[dict[str, Any] | None] = []
    stopped: str | None = None
    flags = 0
    for statement in statements:
        if stopped is not None and statement["cell"] == stopped:
            outcomes.append(None)
            continue
        try:
            code = compiled(statement, flags)
            flags |= code.co_flags & FUTURE_FLAGS
            exec(code, namespace)
            outcomes.append(None)
        except BaseException as error:  # SystemExit too: the next statement still counts
            outcomes.append(describe_exception(error, MARKER))
            stopped = statement["cell"] if statement.get("stops_cell") else None
    return outcomes


def compiled(statement: Mapping[str, Any], flags: int) -> types.CodeType:
    """A statement's code, with the line numbers that it has in the student's cell."""
    # one text, or the parts of one that is longer than a text may be
    source, filename = "".join(statement["source"]), MARKER + statement["cell"]
    line = statement["line"]
    if line <= _LINES:
        above = "\n" * (line - 1)
        code: types.CodeType = compile(above + source, filename, "exec", flags, dont_inherit=True)
        return code
    # for a cell of thousands of statements that would be millions of lines
    tree = compile(source, filename, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    ast.increment_lineno(tree, line - 1)
    code = compile(tree, filename, "exec", flags, dont_inherit=True)
    return code
