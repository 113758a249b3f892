"""Inert stand-ins for packages that a submission imports and an exercise does not need."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any


class Inert:
    """Stands in for a plotting or notebook library: whatever is done to it does nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Whatever is called gives one more stand-in."""
        return self

    def __getitem__(self, key: Any) -> Any:
        return self

    def __setitem__(self, key: Any, value: Any) -> None:
        return None

    def __iter__(self) -> Any:
        return iter((self, self))  # `figure, axes = plt.subplots()`

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *details: Any) -> None:
        return None


class _InertModule(types.ModuleType):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__path__ = []  # so that modules inside it are looked for
        self.__all__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Inert()


class _StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of the named packages and of everything inside them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if any(fullname == name or fullname.startswith(name + ".") for name in self.names):
            return importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        return _InertModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        return None


def install_stand_ins(names: Sequence[str]) -> None:
    """Make the named packages inert, here and for all that is imported later.

    Modules of ours are taken out of sys.modules too: a submission that imports
    `autograder` gets the stand-in. (This process keeps working: it has its references.)
    """
    if not names:
        return
    for loaded in list(sys.modules):
        if any(loaded == name or loaded.startswith(name + ".") for name in names):
            del sys.modules[loaded]
    sys.meta_path.insert(0, _StandInFinder(names))
