"""Every command of every page is run, in the order of the page; every link leads somewhere."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import subprocess
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest
import typer

from autograder.cli import app
from tests.e2e.folders import PS, ROOT, environment, run
from tests.e2e.pages import Machine, all_pages, blocks, make_machine, script

pytestmark = pytest.mark.e2e

DOCS = ROOT / "docs"
# Followed here, in this order; docs/authoring.md is followed by tests/e2e/test_authoring.py.
FOLLOWED = ("instructors", "formats", "quiz_interchange", "running", "students")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """(the machine, the course's folder, what the instructor's page printed)."""
    machine = make_machine(tmp_path_factory.mktemp("reader"))
    start = time.monotonic()
    said = machine.follow(DOCS / "instructors.md", machine.folder)
    print(f"instructors.md: a graded class after {time.monotonic() - start:.0f} s, downloads apart")
    return machine, machine.folder / "course", said


def test_the_instructors_page_ends_in_a_graded_class(course):
    _, folder, said = course
    document = json.loads((folder / "results.json").read_bytes())
    assert len(document["submissions"]) == 4
    assert {result["outcome"] for result in document["submissions"]} == {"graded"}
    assert document["isolation"] in ("strong", "strong+")
    assert len(list((folder / "feedback").glob(f"student0?/{PS}/{PS}.html"))) == 4
    assert (folder / f"{PS}-report.html").stat().st_size > 10_000
    with (folder / "scores.csv").open(newline="", encoding="utf-8") as file:
        scores = {row["student"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores == {each["student"]: each["score"] for each in document["submissions"]}
    assert (folder.parent / "students" / "README.md").is_file()
    assert (folder.parent / "gradescope.zip").is_file()
    assert "files of 4 students" in said


@pytest.mark.soak
def test_the_instructors_page_with_nbgrader_and_the_exchange(tmp_path):
    machine = make_machine(tmp_path)
    machine.follow(DOCS / "instructors.md", machine.folder, soak=True)
    assert (machine.folder / "exchange" / "attention" / "outbound" / PS).is_dir()
    pages = list((machine.folder / "course" / "feedback").glob(f"student0?/{PS}/{PS}*.html"))
    assert len(pages) >= 4


def test_the_page_of_formats(course):
    _, folder, _ = course
    active(course).follow(DOCS / "formats.md", folder)
    document = json.loads((folder / "results.json").read_bytes())
    scores = {each["student"]: each["score"] for each in document["submissions"]}
    for kind, key in (
        ("canvas", "SIS Login ID"),
        ("moodle", "Username"),
        ("blackboard", "Username"),
    ):
        with (folder / f"to-{kind}.csv").open(newline="", encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row[key]]
        assert {row[key]: float(list(row.values())[-1]) for row in rows} == scores, kind
    with (folder / "to-brightspace.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["Username"]: float(row[f"{PS} Points Grade"]) for row in rows} == {
        f"#{name}": score for name, score in scores.items()
    }


def test_the_page_on_quizzes_in_other_programs(course):
    _, folder, _ = course
    said = active(course).follow(DOCS / "quiz_interchange.md", folder)
    assert "The file holds the answers" in said


def test_the_page_on_running_the_course(course):
    machine, folder, _ = course
    machine.follow(DOCS / "running.md", folder)
    students = folder.parent / "attention-students"
    listed = run(["git", "ls-files"], students).stdout.split()
    assert {"README.md", "requirements.txt", f"{PS}/{PS}.ipynb"} <= set(listed)
    assert not any(name.startswith(("solutions", "source", "tests")) for name in listed)


def test_the_students_page(course):
    _, folder, _ = course
    said = active(course).follow(DOCS / "students.md", folder.parent / "students" / PS)
    assert "softmax" in said and "Traceback" not in said


def active(course):
    """The machine with the course's environment active."""
    machine, folder, _ = course
    path = f"{folder / '.venv' / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return Machine(machine.folder, {**machine.env, "PATH": path})


# --- what stands in the pages ----------------------------------------------------------


def test_no_command_is_left_out():
    """Each is run by a test, or says why not."""
    followed = {DOCS / f"{name}.md" for name in (*FOLLOWED, "authoring")}
    for page in all_pages():
        for block in blocks(page):
            if block.is_command and page not in followed:
                assert block.reason, f"{page.name}, line {block.line}: run it, or say why not"
            assert not block.reason or len(block.reason) > 10
        fences = re.findall(r"^ *```\w+", page.read_text("utf-8"), re.MULTILINE)
        assert len(fences) == len(blocks(page)), page


def test_a_page_is_a_program():
    for name in FOLLOWED:
        done = subprocess.run(["bash", "-n", "-c", script(DOCS / f"{name}.md")], check=False)
        assert done.returncode == 0, name


def prose(page):
    text = page.read_text("utf-8")
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.DOTALL | re.MULTILINE)


def spoken_of():
    """(page, words) of each command of ours that stands within a sentence or a table."""
    for page in all_pages():
        text = re.sub(
            r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        for code in re.findall(r"`([^`\n]+)`", text):
            words = code.replace("…", "x").split()
            if words[0].removeprefix(".venv/bin/") in ("autograder", "make") and len(words) > 1:
                yield page.name, words


def test_commands_within_a_sentence_have_their_names_and_options():
    commands = typer.main.get_command(app).commands
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    found = list(spoken_of())
    assert len(found) > 20
    for page, (program, name, *rest) in found:
        if program == "make":
            assert name in targets or "=" in name, (page, name)
            continue
        if name.startswith("-"):
            continue
        assert name in commands, (page, name)
        known = {option for each in commands[name].params for option in each.opts}
        known |= {option for each in commands[name].params for option in each.secondary_opts}
        for word in rest:
            if word.startswith("--"):
                assert word.split("=")[0] in known, (page, name, word)


# --- links and the site ----------------------------------------------------------------


def anchors(page: Path):
    for heading in re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE):
        yield re.sub(r"[\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())


def test_links_between_files():
    for page in all_pages():
        text = re.sub(
            r"^ *```.*?^ *```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        for link in re.findall(r"\]\(([^)\s]+)\)", text):
            if link.startswith(("https://", "http://", "mailto:")):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), f"{page.name}: {link}"
            assert not anchor or anchor in anchors(target), f"{page.name}: {link}"


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.names, self.fetched = [], set(), []

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if "id" in found:
            self.names.add(found["id"])
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag in ("script", "img", "iframe") and found.get("src"):
            self.fetched.append(found["src"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon") and found.get("href"):
            self.fetched.append(found["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = run(
        [
            "make",
            "--no-print-directory",  # make test runs this
            "docs",
            f"ARGS=--site-dir {shlex.quote(str(folder))}",
            "-o",
            ".venv/.installed-dev",
        ],
        ROOT,
        environment(MAKEFLAGS=""),
    )
    return folder, done


def test_the_site_is_made_without_a_word(site):
    folder, done = site
    assert (done.returncode, done.stdout) == (0, "")
    for page in DOCS.glob("*.md"):
        assert (folder / f"{page.stem}.html").is_file()


def test_links_of_the_site(site):
    folder, _ = site
    parsed = {}
    for path in folder.rglob("*.html"):
        parsed[path.resolve()] = links = Links()
        links.feed(path.read_text("utf-8"))
    for path, found in parsed.items():
        if path.name == "404.html":
            continue
        for link in [*found.links, *found.fetched]:
            if link in found.fetched:
                assert not link.startswith(("http:", "https:", "//")), f"{path.name} fetches {link}"
            if link.startswith(("http:", "https:", "mailto:")):
                continue
            place, _, anchor = link.partition("#")
            target = (path.parent / place).resolve() if place else path
            target = target / "index.html" if target.is_dir() else target
            assert target.exists(), f"{path.name}: {link}"
            if anchor and target in parsed and not anchor.startswith("__"):
                assert anchor in parsed[target].names, f"{path.name}: {link}"
