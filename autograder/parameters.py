"""The arguments of definitions and what calls give for them, as syntax."""

from __future__ import annotations

import ast


class NoForm(Exception):
    """A function that has no normal form."""


def all_arguments(arguments: ast.arguments) -> list[ast.arg]:
    """Every argument that has a name of its own, in order."""
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]


def renamed_like(
    arguments: ast.arguments, like: ast.arguments | None
) -> tuple[ast.arguments, dict[str, str]]:
    """Arguments without annotations, under the names that `like` has at their places.

    With what each was called before. NoForm for *arguments and **arguments.
    """
    own = all_arguments(arguments)
    if arguments.vararg or arguments.kwarg:
        raise NoForm
    wanted = own if like is None else all_arguments(like)
    if len(wanted) != len(own):
        wanted = own
    renamed = {mine.arg: other.arg for mine, other in zip(own, wanted, strict=True)}

    def bare(items: list[ast.arg]) -> list[ast.arg]:
        return [ast.arg(arg=renamed[item.arg], annotation=None) for item in items]

    made = ast.arguments(
        posonlyargs=[],
        args=bare([*arguments.posonlyargs, *arguments.args]),
        vararg=None,
        kwonlyargs=bare(arguments.kwonlyargs),
        kw_defaults=arguments.kw_defaults,
        kwarg=None,
        defaults=arguments.defaults,
    )
    return made, renamed


def given_by(arguments: ast.arguments, call: ast.Call) -> dict[str, ast.expr] | None:
    """The value of each argument of a call; None when the call does not show them."""
    if arguments.vararg or arguments.kwarg or any(k.arg is None for k in call.keywords):
        return None
    if any(isinstance(value, ast.Starred) for value in call.args):
        return None
    positional = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    given: dict[str, ast.expr] = {}
    if arguments.defaults:
        given.update(zip(positional[-len(arguments.defaults) :], arguments.defaults, strict=True))
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            given[argument.arg] = default
    if len(call.args) > len(positional):
        return None
    given.update(zip(positional, call.args, strict=False))
    given.update({keyword.arg: keyword.value for keyword in call.keywords if keyword.arg})
    wanted = {argument.arg for argument in all_arguments(arguments)}
    return given if set(given) == wanted else None
