"""Nothing secret reaches what students get: canaries in every secret place, looked for after.

The solutions of a copied course are edited so that each secret place holds a canary of its
own; then the copy is built and packed.
"""

from __future__ import annotations

import base64
import json
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.cases import CALLED_AGAIN
from autograder.leaks import scan
from autograder.observe.protocol import Array
from autograder.pack import load_pack
from autograder.selfcheck import KEY_FILE, SEED
from autograder.stubs import BEGIN, END
from tests.e2e.canaries import (
    CREDIT,
    Canaries,
    put_into_exercise,
    put_into_notebook,
    put_into_quiz,
)
from tests.e2e.folders import PS, build_archives, copy_repository, run_well

pytestmark = pytest.mark.e2e

NOTEBOOK, MODULE, TESTS = f"{PS}.ipynb", f"{PS}.py", f"test_{PS}.py"


# --- the built copy --------------------------------------------------------------------


@dataclass(frozen=True)
class Course:
    """A copied repository with canaries; `build` may be called with sabotage."""

    root: Path
    canaries: Canaries

    def build(self, sabotage: str = "") -> None:
        program = f"{sabotage}\nfrom autograder.cli import main\nmain()\n"
        run_well([sys.executable, "-c", program, "build", PS], cwd=self.root)

    @property
    def release(self) -> Path:
        return self.root / "assignments" / PS


def _make_course(root: Path) -> Course:
    copy_repository(root)
    canaries = Canaries()
    solutions = root / "solutions" / PS
    for path in sorted(solutions.glob("*.py")):
        if path.stem != "__init__":
            put_into_exercise(path, canaries)
    put_into_quiz(solutions / "quiz.yaml", canaries)
    put_into_notebook(root / "source" / PS / NOTEBOOK, canaries)
    canaries.numbers[CREDIT] = "credits"
    return Course(root, canaries)


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The solutions and sources with their canaries, before anything is built of them."""
    course = _make_course(tmp_path_factory.mktemp("before") / "course")
    return dict(_files(course.root / "solutions")) | dict(_files(course.root / "source"))


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    made = _make_course(tmp_path_factory.mktemp("leaks") / "course")
    made.build()
    return made


@pytest.fixture(scope="module")
def archives(course: Course, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_archives(course.root, tmp_path_factory.mktemp("archives"))


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix(), path.read_bytes()


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """Names and contents of a wheel or an sdist."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in wheel.namelist():
                yield name, wheel.read(name)
    else:
        with tarfile.open(archive) as sdist:
            for member in sdist:
                content = sdist.extractfile(member)
                yield member.name, content.read() if content is not None else b""


def leaks(canaries: Canaries, files: Iterator[tuple[str, bytes]]) -> list[str]:
    found = [
        f"{name}: {place}"
        for name, data in files
        for place in canaries.seek(name.encode() + b"\n" + data)
    ]
    return sorted(found)


def _key_document(course: Course) -> dict[str, Any]:
    data = (course.release / KEY_FILE).read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    document: dict[str, Any] = json.loads(header["__metadata__"]["autograder"])
    return document


# --- the search itself -----------------------------------------------------------------


@pytest.fixture(scope="module")
def few() -> tuple[Canaries, str, float]:
    canaries = Canaries()
    return canaries, canaries.word("a word"), canaries.number("a number")


@pytest.mark.parametrize(
    "disguise",
    [
        lambda word: word,
        lambda word: json.dumps({"text": json.dumps(["“ü”", f"…{word}"])}),
        lambda word: base64.b64encode(f"{word}tail".encode()).decode(),
        lambda word: base64.b64encode(f"\x89{word}tail".encode("latin-1")).decode(),
        lambda word: base64.b64encode(f"ab{word}t".encode()).decode(),
    ],
    ids=["plain", "json", "base64, at 0", "base64, at 1", "base64, at 2"],
)
def test_a_word_is_found_in_disguise(few, disguise):
    canaries, word, _ = few
    assert canaries.seek(f"before {disguise(word)} after".encode()) == ["a word"]
    assert canaries.seek(f"before {disguise(word[:-4])} after".encode()) == []


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f4", ">f4"])
def test_a_number_is_found_among_others(few, dtype):
    canaries, _, number = few
    assert canaries.seek(np.array([1.5, number, 2.5], dtype=dtype).tobytes()) == ["a number"]
    assert canaries.seek(np.array([1.5, 2.5], dtype=dtype).tobytes()) == []
    assert canaries.seek(json.dumps([number]).encode()) == ["a number"]


def test_every_canary_was_in_the_solutions_or_the_source(course, untouched):
    everywhere = b"\n".join(untouched.values())
    places = [*course.canaries.secret.values(), *course.canaries.numbers.values()]
    assert Counter(course.canaries.seek(everywhere)) == Counter(places)
    assert len(places) > 400  # eight files with a dozen functions each, and the quiz
    for word, place in course.canaries.public.items():
        assert word.encode() in everywhere, place


def test_every_canary_number_of_a_hidden_case_is_drawn(course):
    """The build computes with them: they are in the cases that the key leaves out."""
    drawn = _hidden_arrays(course)
    flat = {float(value) for array in drawn for value in np.ravel(array)}
    for number, place in course.canaries.numbers.items():
        if place.endswith(": drawn"):
            assert number in flat, place


def _hidden_arrays(course: Course) -> list[Any]:
    """Arguments and expected results of all hidden cases, for the seed of the key."""
    found: list[Any] = []

    def collect(value: Any) -> None:
        if isinstance(value, Array):
            found.append(value.data)
        elif isinstance(value, np.ndarray):
            found.append(value)
        elif isinstance(value, dict):
            for item in value.values():
                collect(item)
        elif isinstance(value, (list, tuple)):
            for item in value:
                collect(item)

    for spec in load_pack(course.root, PS).draw_all(SEED):
        for case in spec.cases:
            if case.hidden:
                for _, call in case.program.calls:
                    collect(dict(call.named))
                collect([step.value for step in case.expected])
    return [array for array in found if array is not None and array.dtype.kind == "f"]


SABOTAGE = """
# hidden cases and private misconceptions go into the key too
from autograder.pack import Pack
drawn = Pack.draw
Pack.draw = lambda self, name, seed, **options: drawn(self, name, seed)
from autograder import selfcheck, stubs
selfcheck.MAX_BYTES *= 100
# the module has solutions in place of stubs, and the answers are filled in
stubs.stub_cell = stubs.solution_cell
from autograder.quiz import cells
cells.answer_cell = lambda question: f"{question.variable} = {question.answer!r}"
"""


def test_a_build_that_leaks_is_caught(tmp_path):
    made = _make_course(tmp_path / "course")
    made.build(SABOTAGE)
    found = leaks(made.canaries, _files(made.release))
    for expected in (
        f"{KEY_FILE}: softmax: private sentence",
        f"{KEY_FILE}: softmax: private hint",
        f"{KEY_FILE}: softmax: far_above: title",
        f"{KEY_FILE}: softmax: far_above: drawn",
        f"{KEY_FILE}: project: wide: drawn",
        f"{MODULE}: softmax: softmax: body",
        f"{MODULE}: variance_with_mean: answer",
        f"{NOTEBOOK}: variance_with_mean: answer",
    ):
        assert expected in found
    judged = {(leak.file.rpartition("/")[2], leak.what) for leak in scan(made.root, [PS]).leaks}
    for expected in (  # by the scanner too, which knows of no canary
        (KEY_FILE, "the name of far_above, which is hidden"),
        (MODULE, "the reference of softmax"),
        (MODULE, "the answer of the question variance_with_mean"),
        (NOTEBOOK, "the answer of the question variance_with_mean"),
    ):
        assert expected in judged


@pytest.mark.soak
def test_an_sdist_that_leaks_is_caught(course, tmp_path):
    settings = course.root / "pyproject.toml"
    before = settings.read_text("utf-8")
    try:
        settings.write_text(before.replace('"CHANGELOG.md",', '"solutions",', 1), "utf-8")
        (sdist,) = build_archives(course.root, tmp_path, "sdist").iterdir()
    finally:
        settings.write_text(before, "utf-8")
    found = leaks(course.canaries, _members(sdist))
    assert any(line.endswith("softmax: over_queries: body") for line in found)
    judged = {leak.what for leak in scan(course.root, [PS], [sdist]).leaks}
    assert {"a file of solutions/", "the reference of softmax"} <= judged


# --- what students get -----------------------------------------------------------------


def test_no_canary_is_released(course):
    assert leaks(course.canaries, _files(course.root / "assignments")) == []


def test_no_canary_is_in_the_key(course):
    """The key apart, since its numbers are looked for as bytes; source/ holds the same one."""
    key = (course.release / KEY_FILE).read_bytes()
    assert course.canaries.seek(key) == []
    assert (course.root / "source" / PS / KEY_FILE).read_bytes() == key


def test_no_array_of_a_hidden_case_is_in_the_key(course):
    """Whole arrays, which also covers results computed from canaries."""
    key = (course.release / KEY_FILE).read_bytes()
    arrays = [array for array in _hidden_arrays(course) if np.unique(array).size > 2]
    assert len(arrays) > 20
    for array in arrays:
        for kind in ("<f8", "<f4"):
            with np.errstate(over="ignore"):  # some of them are near the limit of float64
                data = np.ascontiguousarray(array, dtype=kind).tobytes()
            assert data not in key


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_no_canary_is_in_the_archives(course, archives, kind):
    (archive,) = archives.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    members = dict(_members(archive))
    assert any(name.endswith("autograder/judge.py") for name in members)
    assert leaks(course.canaries, iter(members.items())) == []
    outside = [name for name in members if "solutions" in name or "source/" in name]
    assert outside == []


def test_the_scanner_finds_nothing_in_the_release_and_the_archives(course, archives):
    report = scan(course.root, [PS], sorted(archives.iterdir()), drawn=True)
    assert [str(leak) for leak in report.leaks] == []
    assert report.files > 100


def test_the_build_did_use_the_solutions(course):
    """The source notebook, which is secret, holds references and answers with their canaries."""
    source = course.canaries.seek((course.root / "source" / PS / NOTEBOOK).read_bytes())
    assert "softmax: softmax: body" in source
    assert "variance_with_mean: answer" in source
    assert not any(place.startswith(("output", "picture")) for place in source)


def test_credits_do_not_travel(course):
    exercises = _key_document(course)["exercises"]
    words = json.dumps(exercises)
    assert "credit" not in words and repr(CREDIT) not in words
    for exercise in exercises:
        assert {frozenset(known) for known in exercise["mistakes"]} == {
            frozenset({"name", "sentence", "hint"})
        }


def test_the_key_holds_the_public_part_and_no_more(course):
    pack = load_pack(course.root, PS)
    exercises = {entry["name"]: entry for entry in _key_document(course)["exercises"]}
    assert list(exercises) == list(pack.exercises)
    for name, exercise in pack.exercises.items():
        cases = [case.name for case in exercise.cases if not case.hidden]
        titles = [case.title for case in exercise.cases if not case.hidden]
        known = [(m.name, m.sentence, m.hint) for m in exercise.misconceptions if not m.hidden]
        entry = exercises[name]
        # but for the case that every exercise gets, made of a public one
        own = [case for case in entry["cases"] if case["name"] != CALLED_AGAIN]
        assert [case["name"] for case in own] == cases
        assert [case["title"] for case in own] == titles
        assert [(m["name"], m["sentence"], m["hint"]) for m in entry["mistakes"]] == known
        public = {name for name, _, _ in known}
        for case in entry["cases"]:
            assert set(case["separates"]) <= public
            assert {*case["explanations"], *case["harmless"]} <= public
        for case in own:
            assert {*case["explanations"], *case["harmless"]} == public
        assert len(cases) < len(exercise.cases) and len(known) < len(exercise.misconceptions)


def test_what_is_public_is_released(course):
    released = {name: data.decode("utf-8", "replace") for name, data in _files(course.release)}
    assert set(released) == {NOTEBOOK, MODULE, KEY_FILE, TESTS}
    checks = [word for word, place in course.canaries.public.items() if place.endswith(": body")]
    assert len(checks) >= 2 and all(word in released[TESTS] for word in checks)
    for word, place in course.canaries.public.items():
        if word not in checks:
            assert word in released[NOTEBOOK], place
        if word not in checks and not place.startswith("author"):
            assert word in released[MODULE], place
    for exercise in load_pack(course.root, PS).exercises.values():
        first_line = (exercise.reference.__doc__ or "").strip().splitlines()[0]
        assert f"def {exercise.name}(" in released[MODULE] and first_line in released[MODULE]
        for line in exercise.prompt.splitlines():
            assert json.dumps(line, ensure_ascii=False)[1:-1] in released[NOTEBOOK]


def test_nothing_tells_which_option_is_right(course):
    """Each id stands as often as the others, in every file."""
    for name, data in _files(course.release):
        ids = [w for w, place in course.canaries.public.items() if ": option " in place]
        assert len({data.count(word.encode()) for word in ids}) == 1, name


def test_the_notebook_holds_stubs_and_nothing_else_of_nbgrader(course):
    text = (course.release / NOTEBOOK).read_text("utf-8")
    for marker in (BEGIN, END, "BEGIN HIDDEN TESTS", "BEGIN MARK SCHEME", "author_notes"):
        assert marker not in text
    cells = json.loads(text)["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert not any("attachments" in cell for cell in cells)
    by_id = {cell["metadata"].get("nbgrader", {}).get("grade_id"): cell for cell in cells}
    for name in load_pack(course.root, PS).exercises:
        assert "".join(by_id[name]["source"]).endswith("raise NotImplementedError()")
    module = (course.release / MODULE).read_text("utf-8")
    assert BEGIN not in module and module.count("raise NotImplementedError()") == 8
