"""What a reference's signature says of arguments and results."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any, Union, get_args, get_origin

from autograder.specification import ValueSpec


class AuthoringError(Exception):
    """A mistake in an exercise file; the message names the exercise and the fix."""


def read_signature(reference: Callable[..., Any]) -> inspect.Signature:
    """That of a function, or of a class's forward method without `self`."""
    function = reference
    if inspect.isclass(reference):
        function = getattr(reference, "forward", reference.__init__)
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError as error:
        raise AuthoringError(
            f"{reference.__name__}: {error} in an annotation; import it in this file"
        ) from error
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise AuthoringError(
                f"{reference.__name__}: cases name each argument, so that {parameter} cannot be "
                "one; write the arguments out"
            )
    return signature.replace(parameters=parameters)


def return_specs(annotation: Any) -> tuple[ValueSpec, ...]:
    """What an annotation says of a result: one specification for each value."""
    if get_origin(annotation) is tuple:
        return tuple(value_spec(part) for part in get_args(annotation))
    return (value_spec(annotation),)


def value_spec(annotation: Any) -> ValueSpec:
    """Read a jaxtyping annotation (by its attributes, so that none is imported here)."""
    if get_origin(annotation) in (Union, types.UnionType):  # an optional argument
        parts = [part for part in get_args(annotation) if part is not type(None)]
        return value_spec(parts[0])
    if annotation is int or annotation is float or annotation is bool:
        return ValueSpec(kind=annotation.__name__)
    axes = getattr(annotation, "dim_str", None)
    array_type = getattr(annotation, "array_type", None)
    if axes is None or array_type is None:
        return ValueSpec()
    framework = "torch" if array_type.__module__.split(".")[0] == "torch" else "numpy"
    return ValueSpec("array", tuple(axes.split()), framework)
