"""What goes to students, laid out as their public repository: `autograder release`.

    README.md                       how to install, the cell for Colab, the sets
    requirements.txt                what `pip install -r` reads
    attention_autograder-….whl      this package
    .devcontainer/                  the same in Codespaces and VS Code
    <ps>/                           assignments/<ps>, file by file

The folder may be a clone of that repository: only these are written, and nothing is deleted
but what a set's folder held before and older wheels. What is written is examined for secrets
first.
"""

from __future__ import annotations

import ast
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.build import released_files
from autograder.leaks import scan
from autograder.pack import assignments_of
from autograder.wheels import wheel

# Stands in each of these that we have written; without it somebody has made them their own.
_MARK = "autograder release"
_MARKED = ("README.md", "requirements.txt", ".devcontainer/devcontainer.json")
LICENCES = ("LICENSE", "LICENSE-CONTENT")
_IMAGE = "mcr.microsoft.com/devcontainers/python:3.12"
# A URL that goes into a shell's command line in Colab.
_URL = re.compile(r"(https?|ssh|git)://[\w.~:/@%+-]+|[\w.-]+@[\w.-]+:[\w./~-]+")


class CannotRelease(Exception):
    """Nothing was written; the message says why and what to do."""


@dataclass(frozen=True)
class Released:
    """The sets that were released, and those that were not, each with the reason.

    kept: files of the target that somebody else wrote, where ours would have gone.
    """

    sets: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    files: int
    kept: tuple[str, ...] = ()


def release(
    course: Path, assignments: Sequence[str], target: Path, repository: str | None = None
) -> Released:
    """Write the students' repository to `target`.

    Without `assignments`, all sets that give away no other's solution. repository: the URL
    by which students clone it, for Colab. Raises CannotRelease.
    """
    known = assignments_of(course)
    for name in assignments:
        if name not in known:
            raise CannotRelease(f"there is no set {name}; there are: {', '.join(known)}")
    if repository is not None and not _URL.fullmatch(repository):
        raise CannotRelease(f"{repository} is no URL that can be cloned; give one like https://…")
    _refuse_secret_place(course, target)
    left_out = []
    chosen = list(assignments)
    for name in () if assignments else known:
        given = declared(course, name).get("GIVEN") or ()
        if given:
            names = ", ".join(map(str, given))
            why = f"it gives away {names} of an earlier set; name it once that is closed"
            left_out.append((name, why))
        else:
            chosen.append(name)
    package, ours = wheel()
    content: dict[str, bytes] = {package: ours}
    for name in chosen:
        for file in released_files(name):
            content[f"{name}/{file}"] = _released(course, name, file)
    _refuse_leaks(course, chosen, package, ours)
    packages = {str(p) for name in chosen for p in declared(course, name).get("PACKAGES") or ()}
    content["README.md"] = _readme(course, chosen, package, packages, repository).encode()
    content["requirements.txt"] = _requirements(package, packages).encode()
    content[".devcontainer/devcontainer.json"] = _devcontainer()
    for name in LICENCES:
        if (course / name).is_file():
            content[name] = (course / name).read_bytes()
    kept = [name for name in _MARKED if _is_somebody_elses(target / name)]
    for name in kept:
        del content[name]
    _write(target, content, chosen)
    return Released(tuple(chosen), tuple(left_out), len(content), tuple(kept))


def declared(course: Path, assignment: str) -> Mapping[str, Sequence[object]]:
    """What a set's `__init__.py` says of it in constants, without running it."""
    text = (course / "solutions" / assignment / "__init__.py").read_text("utf-8")
    found: dict[str, Sequence[object]] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = tuple(ast.literal_eval(node.value))
    return found


def _is_somebody_elses(path: Path) -> bool:
    return path.exists() and _MARK not in path.read_text("utf-8", "replace")


def _released(course: Path, name: str, file: str) -> bytes:
    path = course / "assignments" / name / file
    if not path.is_file():
        raise CannotRelease(f"there is no {path}; run autograder build {name}")
    return path.read_bytes()


def _refuse_secret_place(course: Path, target: Path) -> None:
    """Files of a release do not belong among those that hold the answers."""
    resolved, root = target.resolve(), course.resolve()
    if resolved == root or any(
        resolved.is_relative_to(root / name) for name in ("solutions", "source", "assignments")
    ):
        raise CannotRelease(f"{target} belongs to the course; name another folder with --to")


def _refuse_leaks(course: Path, chosen: Sequence[str], package: str, ours: bytes) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / package
        path.write_bytes(ours)
        report = scan(course, chosen, [path])
    if report.leaks:
        raise CannotRelease(
            f"{len(report.leaks)} secrets are in what students would get, the first in "
            f"{report.leaks[0]}; run autograder build --check and take them out"
        )


def _write(target: Path, content: Mapping[str, bytes], chosen: Sequence[str]) -> None:
    for name in chosen:  # a file of an earlier version of the set
        for path in sorted((target / name).iterdir()) if (target / name).is_dir() else ():
            if path.is_file() and f"{name}/{path.name}" not in content:
                path.unlink()
    for path in target.glob("attention_autograder-*.whl"):
        if path.name not in content:
            path.unlink()
    for inside, data in content.items():
        path = target / inside
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


# --- texts -----------------------------------------------------------------------------


def _requirements(package: str, packages: set[str]) -> str:
    extra = "[torch]" if "torch" in packages else ""
    lines = [f"./{package}{extra}"]
    lines += sorted(packages - {"numpy", "torch"})
    return f"# Made by `{_MARK}`.\n" + "\n".join(lines) + "\n"


def _readme(
    course: Path,
    chosen: Sequence[str],
    package: str,
    packages: set[str],
    repository: str | None,
) -> str:
    titles = {name: _title(course, name) for name in chosen}
    sets = "\n".join(f"| [`{name}`]({name}/{name}.ipynb) | {titles[name]} |" for name in chosen)
    licences = [name for name in LICENCES if (course / name).is_file()]
    closing = f"\nLicences: {', '.join(f'[{n}]({n})' for n in licences)}.\n" if licences else ""
    return f"""<!-- Made by `{_MARK}`, which writes it anew as long as this line stands. -->
# Problem sets

| set | |
|---|---|
{sets}

## Install

With Python 3.11 or newer, in this folder:

```sh
python -m pip install -r requirements.txt
```

Then open a notebook, or work in the module beside it. Check yourself in the notebook, with
`autograder check` or with `pytest` in the set's folder, and hand in the notebook or the module.

## In Colab

Run this cell first; for another set, change its name in the second line.

```python
{_colab(chosen[0], package, packages, repository)}
```

## In Codespaces or VS Code

Open this repository in a dev container: everything is installed when it starts.
{closing}"""


def _colab(first: str, package: str, packages: set[str], repository: str | None) -> str:
    extra = "[torch]" if "torch" in packages else ""
    if repository is not None:
        return (
            f"!git clone -q --depth 1 {repository} course\n"
            f"%cd course/{first}\n"
            f'%pip install -q "../{package}{extra}"'
        )
    return (
        "from google.colab import files\n"
        f"files.upload()  # choose selfcheck.safetensors of {first}, and {package}\n"
        f'%pip install -q "./{package}{extra}"'
    )


def _title(course: Path, name: str) -> str:
    text = (course / "solutions" / name / "__init__.py").read_text("utf-8")
    return (ast.get_docstring(ast.parse(text)) or name).strip().splitlines()[0].rstrip(".")


def _devcontainer() -> bytes:
    settings = {
        "name": f"Problem sets (made by {_MARK})",
        "image": _IMAGE,
        "postCreateCommand": "python -m pip install -r requirements.txt jupyterlab",
        "customizations": {
            "vscode": {"extensions": ["ms-python.python", "ms-toolsai.jupyter"]},
        },
    }
    return json.dumps(settings, indent=2).encode() + b"\n"
