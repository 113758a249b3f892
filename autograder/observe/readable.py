"""Which files a sandboxed child may read: the interpreter, and packages one by one.

Landlock cannot subtract, so nothing is allowed that contains more than it should: no whole
site-packages, and no folder in which something of the course or of this project lies.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

# Beside the package itself (its folder, a single file, bundled libraries), never these.
_NOT_THE_LIBRARY = {"site-packages", "dist-packages", "__pycache__"}


def interpreter() -> list[str]:
    """The standard library, and the shared libraries that its modules may load late."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    # an installation from source keeps its site-packages inside
    paths = [entry for entry in sorted(stdlib.iterdir()) if entry.name not in _NOT_THE_LIBRARY]
    paths += sorted((Path(sys.base_prefix) / "lib").glob("*.so*"))
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    folders = [Path(root) / multiarch for root in ("/lib", "/usr/lib") if multiarch]
    if not any(folder.is_dir() for folder in folders):
        folders = [Path("/lib"), Path("/usr/lib")]  # systems that keep all in one place
    paths += [*folders, Path("/lib64"), Path("/usr/lib64")]
    paths += [Path(p) for p in ("/etc/ld.so.cache", "/dev/null", "/dev/urandom")]
    return [str(path) for path in paths if path.exists()]


def packages(names: Iterable[str]) -> tuple[list[str], list[str]]:
    """(what to allow, what to add to sys.path) for packages and all that they require.

    A package that is not installed is left out: its import fails in the child too.
    """
    allowed: dict[str, None] = {}
    roots: dict[str, None] = {}
    waiting = [dist for name in names for dist in _distributions(name)]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        waiting += _requirements(distribution)
        root = Path(str(distribution.locate_file("")))
        roots[str(root)] = None
        allowed.update((path, None) for path in _entries(distribution, root))
    return list(allowed), list(roots)


def _distributions(package: str) -> list[str]:
    """What has to be installed for `import package`; most are called like the package."""
    try:
        importlib.metadata.distribution(package)
    except importlib.metadata.PackageNotFoundError:
        return importlib.metadata.packages_distributions().get(package, [])  # slow: reads all
    return [package]


def _requirements(distribution: importlib.metadata.Distribution) -> list[str]:
    """Names of what is required; what is not installed here is skipped by the caller."""
    found = []
    for line in distribution.requires or []:
        name = re.match(r"[\w.-]+", line)
        if name is not None and "extra ==" not in line:
            found.append(name.group())
    return found


def _entries(distribution: importlib.metadata.Distribution, root: Path) -> list[str]:
    """The top-level files and folders of a distribution."""
    tops = {file.parts[0] for file in distribution.files or []}
    # scripts lie outside (".."); a .pth file may name the folder of an editable project
    tops = {top for top in tops if top != ".." and not top.endswith(".pth")}
    if not distribution.files:  # as Debian installs it, without a list of files
        tops = set((distribution.read_text("top_level.txt") or "").split())
    return [str(root / top) for top in sorted(tops - _NOT_THE_LIBRARY) if (root / top).exists()]


def refuse_overlap(readable: Sequence[str], secret: Iterable[Path]) -> None:
    """ValueError when an allowed path contains something secret, or lies inside of it."""
    secrets = [os.path.realpath(path) for path in secret]
    for path in readable:
        real = os.path.realpath(path)
        for hidden in secrets:
            if os.path.commonpath([real, hidden]) in (real, hidden):
                raise ValueError(
                    f"student code would be able to read {hidden}, because {path} is allowed: "
                    "keep the course outside of the installed packages"
                )
