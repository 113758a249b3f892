"""A course's solution files as modules, and the order of the exercises that they define."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from pathlib import Path

from autograder.exercise import AuthoringError, Exercise


def run_module(name: str, path: Path, source: str) -> types.ModuleType:
    """The module that an author's file makes; AuthoringError says what is wrong with the file."""
    module = types.ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses and typing look their module up
    try:
        exec(compile(source, str(path), "exec"), vars(module))
    except AuthoringError:
        raise
    except ModuleNotFoundError as error:
        raise AuthoringError(_not_installed(path, error.name or "")) from error
    except Exception as error:
        raise AuthoringError(f"{path} raised {type(error).__name__}: {error}") from error
    return module


def _not_installed(path: Path, package: str) -> str:
    wanted = "'attention-autograder[torch]'" if package == "torch" else package
    return (
        f"{path.parent.name}/{path.name} needs the package {package}, which is not installed; "
        f"install it with pip install {wanted}"
    )


def in_order(exercises: Sequence[Exercise]) -> list[Exercise]:
    """By `order`, then name, with everything that an exercise needs before it."""
    by_name = {exercise.name: exercise for exercise in exercises}
    done: list[Exercise] = []

    def visit(exercise: Exercise, path: tuple[str, ...]) -> None:
        if exercise.name in [item.name for item in done]:
            return
        if exercise.name in path:
            circle = " → ".join([*path[path.index(exercise.name) :], exercise.name])
            raise AuthoringError(
                f"{exercise.name} needs itself ({circle}); take one of them out of `needs`"
            )
        for name in exercise.needs:
            if name not in by_name:
                known = ", ".join(other for other in by_name if other != exercise.name) or "none"
                raise AuthoringError(
                    f"{exercise.name} needs {name}, which this set does not have; it has: {known}"
                )
            visit(by_name[name], (*path, exercise.name))
        done.append(exercise)

    for exercise in sorted(exercises, key=lambda item: (item.order, item.name)):
        visit(exercise, ())
    return done
