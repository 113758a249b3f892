"""What a package of others imports and hardly ever uses, imported when it is used."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from typing import Any

# Parses its grammar of internationalised addresses while it is imported, which takes longer than
# all the rest of nbgrader together. jsonschema imports it, and with it nbformat, nbconvert and
# nbgrader; it is called for values of the format "iri", which no notebook has.
GRAMMAR = "rfc3987_syntax"
_CALLED = "is_valid_syntax"


def postpone(package: str = GRAMMAR, function: str = _CALLED) -> None:
    """Let a package be imported at the first call of `function`, or when anything else is read.

    Nothing is done where it is imported already, or not installed.
    """
    if package in sys.modules or (spec := find_spec(package)) is None:
        return
    stand_in = module_from_spec(spec)

    def real() -> Any:
        if sys.modules.get(package) is stand_in:
            del sys.modules[package]
        return import_module(package)

    def called(*arguments: Any, **named: Any) -> Any:
        return getattr(real(), function)(*arguments, **named)

    def other(name: str) -> Any:
        if name.startswith("__"):  # asked by Python's own machinery
            raise AttributeError(name)
        return getattr(real(), name)

    vars(stand_in).update({function: called, "__getattr__": other})
    sys.modules[package] = stand_in
