"""What a student wrote for one exercise, as it stands and as nobody's in particular."""

from __future__ import annotations

import ast
import re

from autograder.source_trees import parse_source
from autograder.submission import Submission
from autograder.wording import clean

LONGEST = 6000  # characters of code that a page shows
_EINSUM = re.compile(r"[a-z., ]+->[a-z., ]*")


def written_for(submission: Submission, name: str) -> str:
    """The source of the definition that counts; empty when there is none."""
    binding = [item for item in submission.statements if name in item.binds]
    defining = [item for item in binding if getattr(item.node, "name", None) == name]
    chosen = defining or binding
    return clean(chosen[-1].source.strip("\n"), LONGEST) if chosen else ""


def anonymous(source: str, name: str) -> str:
    """A definition without comments, docstrings and texts, which may say whose it is.

    Names of variables stay. Empty when it cannot be parsed.
    """
    try:
        text = ast.unparse(_Anonymous().visit(parse_source(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    return clean(text, LONGEST) if name in text else ""


class _Anonymous(ast.NodeTransformer):
    """Drops texts that stand alone, and puts “…” for those that are used."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        alone = isinstance(node.value, ast.Constant) and isinstance(node.value.value, (str, bytes))
        return None if alone else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        # what einsum is told is code; other texts are a person's
        is_text = isinstance(node.value, (str, bytes))
        return ast.Constant("…") if is_text and not _EINSUM.fullmatch(str(node.value)) else node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        if getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node
