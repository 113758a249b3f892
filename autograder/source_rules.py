"""What an author's source must keep to: words that give nothing away, checks that can travel."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Iterator

from autograder.exercise import Exercise
from autograder.source_trees import parse_source
from autograder.specification import CustomCheck

ALLOWED_IN_PUBLIC_CHECKS = {"numpy", "np", "torch", "math", "Interval", "Verdict"}


def broken_rules(exercise: Exercise) -> Iterator[str]:
    """A sentence for each rule that the exercise's source does not keep."""
    expressions = _expressions(inspect.getsource(exercise.reference))
    for known in exercise.misconceptions:
        for text in (known.hint, known.sentence):
            squeezed = "".join(text.split())
            given = next((e for e in expressions if e in squeezed), None)
            if given is not None:
                yield (
                    f"the words of {known.name} contain {given!r}, an expression of the "
                    "reference; say it without code"
                )
        if not known.hint.strip():
            yield f"{known.name} has no hint; ask a question that leads on"
        if not known.sentence.strip():
            yield f"{known.name} has no sentence; say what the student believes"
    for check in exercise.checks:
        if isinstance(check, CustomCheck) and check.public:
            stray = _stray_names(check)
            if stray:
                yield (
                    f"the public check {check.name} uses {', '.join(stray)}; it travels "
                    "alone and may use numpy or torch only"
                )


def _expressions(source: str) -> list[str]:
    """Operations and calls of a reference, without white space, long enough to mean something."""
    found: set[str] = set()
    for node in ast.walk(parse_source(textwrap.dedent(source))):
        if isinstance(node, (ast.BinOp, ast.Call, ast.Subscript)):
            text = "".join(ast.unparse(node).split())
            if len(text) >= 3:
                found.add(text)
    return sorted(found, key=len, reverse=True)


def _stray_names(check: CustomCheck) -> list[str]:
    """Global names of a public check that would not be there in a student's folder."""
    function = check.function
    code = [function.__code__]
    names: set[str] = set()
    while code:
        one = code.pop()
        code += [constant for constant in one.co_consts if inspect.iscode(constant)]
        names |= {name for name in one.co_names if name in function.__globals__}
    return sorted(names - set(dir(builtins)) - ALLOWED_IN_PUBLIC_CHECKS)
