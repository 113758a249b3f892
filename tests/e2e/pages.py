"""The commands of the documentation: found in its pages, and run in a course of their own.

A fenced block of `sh` is a command. A comment in front of it, `<!-- not run: reason -->`, says why
it is not run here, `<!-- run by make soak -->` that it takes its time, and `<!-- ends with 1:
reason -->` that its exit status may be 1, which says that something fell short. A block with a
title is a file: it is written where its title says.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from tests.e2e.folders import ROOT, copy_repository, environment, run_well

_BLOCK = re.compile(
    r"(?:^[ ]*<!-- (?:not run: (?P<reason>[^\n]*?)|(?P<soak>run by make soak)"
    r"|ends with 1: (?P<short>[^\n]*?)) -->\n)?"
    r"^(?P<indent>[ ]*)```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n"
    r"(?P<text>.*?)^(?P=indent)```$",
    re.DOTALL | re.MULTILINE,
)
_SHELLS = ("sh", "bash", "console", "shell")


@dataclass(frozen=True)
class Block:
    """A fenced block: a command, or a file's content where there is a title.

    reason: why it is not run. soak: it is run by `make soak` only. short: why a line of it may
    end with status 1.
    """

    language: str
    title: str
    text: str
    reason: str
    soak: bool
    short: str
    line: int

    @property
    def is_command(self) -> bool:
        return self.language in _SHELLS


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        indent = len(match["indent"])
        lines = [line[indent:] for line in match["text"].splitlines()]
        number = text.count("\n", 0, match.start("language")) + 1
        content = "\n".join(lines) + "\n"
        title, reason, short = (match[name] or "" for name in ("title", "reason", "short"))
        soak = bool(match["soak"])
        found.append(Block(match["language"], title, content, reason, soak, short, number))
    return found


def all_pages() -> list[Path]:
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def script(page: Path, *, soak: bool = False) -> str:
    """A page's files and commands in their order, as one program for bash."""
    lines = ["set -euo pipefail"]
    for number, block in enumerate(blocks(page)):
        if block.title:
            lines.append(f"cat >'{block.title}' <<'END_{number}'\n{block.text}END_{number}")
        elif block.is_command and not block.reason and (soak or not block.soak):
            lines.append(f'echo "== {page.name}, line {block.line}, after $SECONDS s"')
            may_fall_short = [f"{line} || test $? = 1" for line in block.text.splitlines()]
            lines += may_fall_short if block.short else [block.text]
    return "\n".join(lines)


# Stands in the place of python3: as make calls it, except that the environment which it makes
# is lent the packages of this one, instead of downloading them.
_LENDER = """#!/bin/sh
{python} "$@" || exit
if [ "$1 $2" = "-m venv" ]; then
    for last; do :; done
    exec {python} {lend} "$last"
fi
"""


@dataclass(frozen=True)
class Machine:
    """A computer of a reader: an empty folder, this repository to clone, Python without network."""

    folder: Path
    env: dict[str, str]

    def follow(self, page: Path, cwd: Path, *, soak: bool = False) -> str:
        """Run a page's commands in a folder; what they printed."""
        done = subprocess.run(
            ["bash", "-c", script(page, soak=soak)],
            cwd=cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, f"{page.name}: status {done.returncode}\n{done.stdout[-4000:]}"
        return done.stdout


def make_machine(folder: Path) -> Machine:
    origin = copy_repository(folder / "origin")
    shutil.copy(ROOT / ".gitignore", origin / ".gitignore")
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "Reader"), ("EMAIL", "reader@example.org"))
    }
    home = folder / "home"
    home.mkdir()
    env = environment(**who, HOME=str(home), GIT_CONFIG_GLOBAL="/dev/null", MAKEFLAGS="")
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "The course"]):
        run_well(["git", *command], origin, env)
    lender = folder / "python3"
    lender.write_text(_LENDER.format(python=sys.executable, lend=Path(__file__)), "utf-8")
    lender.chmod(0o755)
    here = folder / "here"
    here.mkdir()
    more = {
        "COURSE": str(origin),
        "PYTHON": str(lender),
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # as pip reads it: no isolation
    }
    return Machine(here, {**env, **more})


def lend(environment_folder: Path) -> None:
    """Give an environment the packages and the commands of this one."""
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = environment_folder / "lib" / python / "site-packages"
    (site / "lent.pth").write_text(sysconfig.get_path("purelib"), "utf-8")
    share = environment_folder / "share"
    share.mkdir(exist_ok=True)
    (share / "jupyter").symlink_to(Path(sysconfig.get_path("data")) / "share" / "jupyter")
    there = environment_folder.resolve() / "bin"
    for path in Path(sysconfig.get_path("scripts")).iterdir():
        target = there / path.name
        if target.exists() or not path.is_file() or not os.access(path, os.X_OK):
            continue
        first, _, rest = path.read_bytes().partition(b"\n")
        if b"python" in first and first.startswith(b"#!"):
            target.write_bytes(f"#!{there / 'python'}\n".encode() + rest)
            target.chmod(target.stat().st_mode | stat.S_IXUSR)


if __name__ == "__main__":
    lend(Path(sys.argv[1]))
