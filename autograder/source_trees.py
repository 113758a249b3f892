"""Source text to syntax tree, one thread at a time.

CPython 3.11 counts the depth of a tree under construction for the whole interpreter. When a
garbage collection runs Python code in the middle (a finalizer, a callback), another thread that
builds a tree at that moment spoils the count, and both get a SystemError. A class is read and
judged in several threads.
"""

from __future__ import annotations

import ast
import threading

_building = threading.Lock()


def parse_source(source: str) -> ast.Module:
    """`ast.parse`, with its exceptions."""
    with _building:
        return ast.parse(source)


def parse_expression(source: str) -> ast.expr:
    """The tree of one expression; SyntaxError when it is none."""
    with _building:
        return ast.parse(source, mode="eval").body
