"""A student's side: the assignment's folder, the installed wheel, and nothing else of ours.

The wheel is installed into a folder of its own that comes first on PYTHONPATH, and every
program runs in a process of its own, in a folder with a space and Chinese characters.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from autograder import __version__
from autograder.selfcheck import KEY_FILE
from tests.e2e.folders import (
    NBCLIENT,
    PS,
    RELEASE,
    ROOT,
    build_archives,
    code_of,
    environment,
    pack,
    questions,
    right_answers,
    right_code,
    run,
    run_well,
    work_on,
)

pytestmark = pytest.mark.e2e

EXERCISES = tuple(pack().exercises)
QUESTIONS = len(questions())
# One a check of an exercise: quoted lines in the lists of the test file.
ITEMS = len(re.findall(r'^ {8}".*",$', (RELEASE / f"test_{PS}.py").read_text("utf-8"), re.M))
NOT_THERE = "fcntl resource pwd grp termios"  # of the standard library, on Windows
FOR_INSTRUCTORS = "torch nbgrader jaxtyping yaml jinja2 matplotlib nbclient dask"

# The environment of the tests has plug-ins for pytest that a student has not.
OUR_PLUGIN_ALONE = " ".join(
    f"-p no:{point.name}" for point in entry_points(group="pytest11") if point.name != "autograder"
)

# Python imports this at the start of every process, children of a check too.
SITE = """
import os, sys

class Hide:
    names = os.environ.get("HIDDEN_MODULES", "").split()

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in Hide.names:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hide())
for name in os.environ.get("HIDDEN_CALLS", "").split():
    if hasattr(os, name):
        delattr(os, name)
watched = os.environ.get("WATCHED_IMPORTS", "").split()
if watched:
    def note(event, arguments):
        if event == "import" and arguments[0].partition(".")[0] in watched:
            with open(os.environ["IMPORT_LOG"], "a", encoding="utf-8") as log:
                log.write(arguments[0] + "\\n")
    sys.addaudithook(note)
"""

# The limits of a check are a constant, and ten seconds are long to wait for in a test. A
# plug-in for pytest, and a program in place of the command.
SHORT_LIMIT = """
def pytest_configure():
    import dataclasses
    from autograder import student

    student.LIMITS = dataclasses.replace(student.LIMITS, wall=1.0)


if __name__ == "__main__":
    from autograder.cli import main

    pytest_configure()
    main()
"""

# One misconception in each; the layer is right and calls none of them.
WRONG = {
    name: pack().exercises[name].misconceptions[0].name
    for name in ("attention_scores", "softmax", "score_variance", "softmax_jacobian")
}
ALONE = {"self_attention": "split_scale"}
LOOP = "def softmax(scores):\n    while True:\n        pass"


@dataclass(frozen=True)
class Done:
    """How a program ended, and what it said."""

    status: int
    output: str

    def says(self, *sentences: str) -> bool:
        """Whether all of it is there, however the lines were broken."""
        flat = " ".join(self.output.split())
        return all(" ".join(sentence.split()) in flat for sentence in sentences)


@dataclass(frozen=True)
class Machine:
    """A student's machine: how programs are started on it."""

    installed: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    def with_(self, **more: str) -> Machine:
        return Machine(self.installed, {**self.variables, **more})

    @property
    def environment(self) -> dict[str, str]:
        return environment(
            PYTHONPATH=str(self.installed), PYTEST_ADDOPTS=OUR_PLUGIN_ALONE, **self.variables
        )

    def python(self, cwd: Path, *arguments: str | Path) -> Done:
        ended = run([sys.executable, *arguments], cwd, self.environment)
        return Done(ended.returncode, ended.stdout)

    def pytest(self, cwd: Path, *arguments: str) -> Done:
        return self.python(cwd, "-m", "pytest", *arguments)

    def check(self, cwd: Path, *arguments: str | Path, options: tuple[str, ...] = ()) -> Done:
        """The installed command `autograder check`."""
        return self.python(
            cwd, *options, self.installed / "bin" / "autograder", "check", *arguments
        )


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    built = build_archives(ROOT, tmp_path_factory.mktemp("wheel"), "wheel")
    (wheel,) = built.glob("attention_autograder-*.whl")
    installed = tmp_path_factory.mktemp("installed")
    install: list[str | Path] = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps"]
    run_well([*install, "--no-index", "--target", installed, wheel], cwd=installed)
    (installed / "sitecustomize.py").write_text(SITE, "utf-8")
    (installed / "short_limit.py").write_text(SHORT_LIMIT, "utf-8")
    made = Machine(installed)
    where = made.python(installed.parent, "-c", "import autograder; print(autograder.__file__)")
    assert Path(where.output.strip()) == installed / "autograder" / "__init__.py"
    return made


@pytest.fixture
def parent(tmp_path: Path) -> Path:
    made = tmp_path / "my course 注意力"
    made.mkdir()
    return made


def copy_of_release(parent: Path) -> Path:
    folder = parent / PS
    shutil.copytree(RELEASE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture
def folder(parent: Path) -> Path:
    return copy_of_release(parent)


def solve(folder: Path, hands_in: str = "notebook", **code: str) -> None:
    work_on(folder, hands_in, {**right_code(), **code}, right_answers())


def solve_wrongly(folder: Path, hands_in: str = "notebook") -> None:
    changed = {**WRONG, **ALONE}
    solve(folder, hands_in, **{name: code_of(name, known) for name, known in changed.items()})


def sentence_of(exercise: str, misconception: str) -> str:
    known = pack().exercises[exercise].misconceptions
    return next(item.sentence for item in known if item.name == misconception)


def assert_no_traceback(done: Done) -> None:
    for sign in ("Traceback", 'File "', "pytest_plugin", "INTERNALERROR", "site-packages"):
        assert sign not in done.output, done.output


def assert_untouched(done: Done) -> None:
    """Exit status 1, and for each exercise one line that says what to expect of a stub."""
    assert done.status == 1, done.output
    assert_no_traceback(done)
    # pytest prints the sentence alone, `check` the points after it
    lines = [line.removeprefix("○ ").partition("  0 of")[0] for line in done.output.splitlines()]
    for name in EXERCISES:
        assert lines.count(f"{name}: not written yet.") == 1, done.output
    assert done.says("0 of 8 exercises written", f"0 of {QUESTIONS} questions answered")


def assert_solved(done: Done, file: str) -> None:
    """Exit status 0, and a full pass does not promise the grade."""
    assert done.status == 0, done.output
    assert_no_traceback(done)
    written = f"To be graded: {file}, 8 of 8 exercises written: {', '.join(EXERCISES)}."
    assert done.says(
        written, f"{QUESTIONS} of {QUESTIONS} questions answered.", "Grading adds hidden cases"
    )


# --- pytest ----------------------------------------------------------------------------


def test_pytest_on_the_stubs(machine, folder):
    done = machine.pytest(folder)
    assert_untouched(done)
    assert done.says(f"8 failed, {ITEMS - 8} skipped", f"To be graded: {PS}.ipynb")


@pytest.mark.parametrize("hands_in", ["notebook", "module"])
def test_pytest_on_a_solved_copy(machine, folder, hands_in):
    solve(folder, hands_in)
    done = machine.pytest(folder)
    assert_solved(done, f"{PS}.{'ipynb' if hands_in == 'notebook' else 'py'}")
    assert done.says(f"{ITEMS} passed")


def test_pytest_names_misconceptions(machine, folder):
    solve_wrongly(folder)
    done = machine.pytest(folder)
    assert done.status == 1
    assert_no_traceback(done)
    for exercise, known in WRONG.items():
        assert done.says(sentence_of(exercise, known)), done.output
        assert re.search(rf"^FAILED .*::test_{exercise}\[", done.output, re.MULTILINE)
    failing = set(re.findall(r"^FAILED .*::test_(\w+)\[", done.output, re.MULTILINE))
    assert failing == set(WRONG)
    assert not done.says("Grading adds hidden cases")


@pytest.mark.parametrize(
    "options",
    [(), ("--import-mode=importlib", "-p", "no:cacheprovider")],
    ids=["from the parent", "in importlib mode, without a cache"],
)
def test_pytest_on_two_copies_in_one_run(machine, parent, options):
    """Each keeps its own results, although all file names are the same."""
    copy_of_release(parent / "stubs")
    solve(copy_of_release(parent / "solved"))
    done = machine.pytest(parent, "-v", *options)
    assert done.status == 1
    assert_no_traceback(done)
    found = re.findall(
        r"^(stubs|solved)/.*::test_(\w+)\[.*(PASSED|FAILED|SKIPPED)", done.output, re.M
    )
    assert len(found) == 2 * ITEMS
    assert {outcome for copy, _, outcome in found if copy == "solved"} == {"PASSED"}
    assert {outcome for copy, _, outcome in found if copy == "stubs"} == {"FAILED", "SKIPPED"}
    assert done.says("0 of 8 exercises written", "8 of 8 exercises written")
    cached = list(parent.rglob(".pytest_cache"))
    assert bool(cached) == ("no:cacheprovider" not in options)


def test_pytest_in_importlib_mode_inside_and_one_exercise(machine, folder):
    solve(folder, "module", attend="def attend(V, weights):\n    return V")
    done = machine.pytest(folder, "--import-mode=importlib", "-k", "test_softmax and not jacobian")
    assert done.status == 0, done.output
    assert done.says("deselected") and not done.says("failed")


# --- autograder check ------------------------------------------------------------------


def test_check_on_the_stubs(machine, folder):
    assert_untouched(machine.check(folder))


@pytest.mark.parametrize("hands_in", ["notebook", "module"])
def test_check_on_a_solved_copy(machine, folder, hands_in):
    solve(folder, hands_in)
    done = machine.check(folder)
    assert_solved(done, f"{PS}.{'ipynb' if hands_in == 'notebook' else 'py'}")
    assert len(re.findall(r"^✓ ", done.output, re.MULTILINE)) == 8


def test_check_names_misconceptions(machine, folder):
    solve_wrongly(folder, "module")
    done = machine.check(folder)
    assert done.status == 1, done.output
    assert_no_traceback(done)
    for exercise, known in WRONG.items():
        assert done.says(sentence_of(exercise, known)), done.output
    marked = re.findall(r"^([✓✗]) (\w+):", done.output, re.MULTILINE)
    assert {name for mark, name in marked if mark == "✗"} == set(WRONG)
    assert {name for mark, name in marked if mark == "✓"} == set(EXERCISES) - set(WRONG)


def test_check_of_a_file_and_of_one_exercise(machine, parent, folder):
    """A file is checked whatever lies beside it, and from anywhere."""
    solve(folder, "module")
    relative = Path(PS) / f"{PS}.py"
    done = machine.check(parent, relative, "--exercise", "softmax", "-e", "attend")
    assert done.status == 0, done.output
    assert re.findall(r"^✓ (\w+):", done.output, re.MULTILINE) == ["softmax", "attend"]
    assert not done.says("All public cases pass")  # of two exercises only
    assert_untouched(machine.check(parent, folder / f"{PS}.ipynb"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nothing.ipynb"], "there is no nothing.ipynb"),
        (["-e", "sofmax"], f"{PS} has no exercise called sofmax; it has: {', '.join(EXERCISES)}"),
        ([".."], f"no {KEY_FILE} in "),
        (["--nothing"], "No such option: --nothing"),
    ],
    ids=["no such file", "no such exercise", "another folder", "no such option"],
)
def test_check_called_wrongly(machine, folder, arguments, sentence):
    done = machine.check(folder, *arguments)
    assert done.status == 2, done.output
    assert_no_traceback(done)
    assert done.says(sentence)
    assert done.output.startswith("autograder: ") and len(done.output.splitlines()) == 1


# --- both ------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["pytest", "check"])
def test_an_endless_loop_is_stopped(machine, folder, program):
    solve(folder, softmax=LOOP, self_attention=code_of("self_attention", ALONE["self_attention"]))
    start = time.monotonic()
    if program == "pytest":
        done = machine.pytest(folder, "-p", "short_limit")
    else:
        done = machine.python(folder, "-m", "short_limit", "check")
    assert time.monotonic() - start < 30
    assert done.status == 1, done.output
    assert_no_traceback(done)
    assert done.says("look for a loop that never ends") or done.says("too long"), done.output
    assert done.says("8 of 8 exercises written")
    failing = re.findall(r"^(?:✗ |FAILED .*::test_)(\w+)", done.output, re.MULTILINE)
    assert failing == ["softmax"]  # the exercises after it were checked all the same


def _with_version(key: bytes, version: str) -> bytes:
    """The key as another version of the package would have written it."""
    size = int.from_bytes(key[:8], "little")
    header, tensors = json.loads(key[8 : 8 + size]), key[8 + size :]
    document = json.loads(header["__metadata__"]["autograder"])
    document["version"] = version
    header["__metadata__"]["autograder"] = json.dumps(document)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # as the format wants it
    return len(text).to_bytes(8, "little") + text + tensors


@pytest.mark.parametrize("program", ["pytest", "check"])
def test_a_key_of_another_version_says_which_to_install(machine, folder, program):
    key = folder / KEY_FILE
    key.write_bytes(_with_version(key.read_bytes(), "9.8.7"))
    done = machine.pytest(folder, "-x") if program == "pytest" else machine.check(folder)
    assert done.status == (1 if program == "pytest" else 2), done.output
    assert_no_traceback(done)
    assert done.says(
        "made with attention-autograder 9.8.7",
        f"you have {__version__}",
        "pip install attention-autograder==9.8.7",
    )


@pytest.mark.parametrize("program", ["pytest", "check"])
def test_a_missing_key(machine, folder, program):
    (folder / KEY_FILE).unlink()
    done = machine.pytest(folder, "-x") if program == "pytest" else machine.check(folder)
    assert done.status == (1 if program == "pytest" else 2), done.output
    assert_no_traceback(done)
    assert done.says(f"no {KEY_FILE} in ")


@pytest.mark.parametrize("program", ["pytest", "check"])
def test_without_what_other_systems_lack(machine, folder, program):
    """As on Windows: without some modules and calls, and with other default encodings."""
    elsewhere = machine.with_(
        HIDDEN_MODULES=f"{NOT_THERE} {FOR_INSTRUCTORS}",
        HIDDEN_CALLS="fork forkpty pidfd_open killpg",
        PYTHONWARNDEFAULTENCODING="1",
        PYTHONWARNINGS="error::EncodingWarning",
    )
    solve_wrongly(folder, "module")
    options = ("-X", "warn_default_encoding", "-W", "error::EncodingWarning")
    if program == "pytest":
        done = elsewhere.python(folder, *options, "-m", "pytest")
    else:
        done = elsewhere.check(folder, options=options)
    assert done.status == 1, done.output
    assert_no_traceback(done)
    assert done.says(*[sentence_of(*item) for item in WRONG.items()]), done.output
    marked = re.findall(r"^(?:✗ |FAILED .*::test_)(\w+)", done.output, re.MULTILINE)
    assert set(marked) == set(WRONG)


def test_a_check_imports_nothing_of_an_instructor(machine, folder, tmp_path):
    """Neither the command nor the process that runs the student's code."""
    log = tmp_path / "imports.txt"
    watching = machine.with_(WATCHED_IMPORTS=FOR_INSTRUCTORS + " numpy", IMPORT_LOG=str(log))
    solve(folder)
    assert watching.check(folder).status == 0
    imported = {line.partition(".")[0] for line in log.read_text("utf-8").splitlines()}
    assert imported == {"numpy"}


def test_a_check_without_the_test_file(machine, folder):
    """The notebook and the key are all that lies in nbgrader's autograded folder, or on Colab."""
    solve(folder)
    for name in (f"test_{PS}.py", f"{PS}.py"):
        (folder / name).unlink()
    in_terminal = machine.check(folder)
    assert_solved(in_terminal, f"{PS}.ipynb")
    code = "\n\n".join(["import numpy as np", *right_code().values()])
    (folder / "as_in_a_kernel.py").write_text(
        f"{code}\n\nfrom autograder import check\n\nprint('points:', check())\n", "utf-8"
    )
    done = machine.python(folder, "as_in_a_kernel.py")
    assert_no_traceback(done)
    assert done.says("8 of 8 exercises pass", f"points: {pack().max_score}")


# --- the notebook in a kernel ----------------------------------------------------------

WHERE = "import autograder\nprint(autograder.__file__)"


@dataclass(frozen=True)
class Notebook:
    """An executed notebook: what stands under each cell."""

    cells: list[dict[str, Any]]

    def under(self, grade_id: str) -> list[dict[str, Any]]:
        outputs: list[dict[str, Any]] = next(
            cell["outputs"]
            for cell in self.cells
            if cell["metadata"].get("nbgrader", {}).get("grade_id") == grade_id
        )
        return outputs

    def points(self, name: str) -> str:
        """What nbgrader gives for an exercise, as a float is printed."""
        cells = (cell["metadata"].get("nbgrader", {}) for cell in self.cells)
        return repr(float(next(c["points"] for c in cells if c.get("grade_id") == f"check_{name}")))

    def card(self, grade_id: str) -> str:
        """The text of the card that a check shows."""
        shown = [o for o in self.under(grade_id) if o["output_type"] == "display_data"]
        assert len(shown) == 1 and "text/html" in shown[0]["data"]
        return "".join(shown[0]["data"]["text/plain"])

    def value(self, grade_id: str) -> str:
        """What a check returned, as the kernel prints it."""
        (result,) = [o for o in self.under(grade_id) if o["output_type"] == "execute_result"]
        return "".join(result["data"]["text/plain"])

    def outputs(self) -> Iterator[dict[str, Any]]:
        for cell in self.cells:
            yield from cell.get("outputs", ())

    @property
    def printed(self) -> str:
        return "".join("".join(o["text"]) for o in self.outputs() if o["output_type"] == "stream")


@pytest.fixture(scope="module")
def notebooks(machine, tmp_path_factory) -> dict[str, Notebook]:
    """The released notebook, executed with stubs, solved, and with misconceptions."""
    parent = tmp_path_factory.mktemp("kernels") / "my course 注意力"
    paths = {}
    for kind in ("stubs", "solved", "wrong"):
        folder = copy_of_release(parent / kind)
        if kind != "stubs":
            (solve if kind == "solved" else solve_wrongly)(folder)
        path = paths[kind] = folder / f"{PS}.ipynb"
        book = json.loads(path.read_text("utf-8"))
        last = {"cell_type": "code", "id": "where", "metadata": {}, "source": WHERE}
        book["cells"].append({**last, "outputs": [], "execution_count": None})
        path.write_text(json.dumps(book), "utf-8")
    # processes of their own: pytest makes errors of warnings, also of the client's
    command: list[str | Path] = [sys.executable, "-c", NBCLIENT]
    options = ["--inplace", "--allow-errors", "--timeout=100"]
    with ThreadPoolExecutor(len(paths)) as threads:
        ended = threads.map(
            lambda path: run_well(
                [*command, path.name, *options], cwd=path.parent, env=machine.environment
            ),
            paths.values(),
        )
        list(ended)
    return {
        kind: Notebook(json.loads(path.read_text("utf-8"))["cells"]) for kind, path in paths.items()
    }


@pytest.mark.parametrize("kind", ["stubs", "solved", "wrong"])
def test_a_notebook_runs_to_its_end(machine, notebooks, kind):
    """No error anywhere: unwritten stubs raise nothing until they are called."""
    book = notebooks[kind]
    assert [o for o in book.outputs() if o["output_type"] == "error"] == []
    assert str(machine.installed) in book.printed
    # nbgrader takes any of it for a failure of the cell
    for name in EXERCISES:
        assert not any(o.get("name") == "stderr" for o in book.under(f"check_{name}"))


def test_a_notebook_of_stubs(notebooks):
    book = notebooks["stubs"]
    for name in EXERCISES:
        assert book.card(f"check_{name}").startswith(f"○ {name}: not written yet\n")
        assert book.value(f"check_{name}") == "0.0"
    assert "no answer yet" in book.card("check_q_column_layout")
    assert book.value("check_q_column_layout") == "0.0"
    assert "Come back to this cell once you have written `softmax`." in book.printed


def test_a_solved_notebook(notebooks):
    book = notebooks["solved"]
    for name in EXERCISES:
        assert f"✓ {name}: all public cases pass" in book.card(f"check_{name}")
        assert book.value(f"check_{name}") == book.points(name)
    for question in ("column_layout", "variance_with_mean"):
        assert "I read this as" in book.card(f"check_q_{question}")
        assert book.value(f"check_q_{question}") == "0.0"
    assert "Come back to this cell" not in book.printed
    assert "This did not work" not in book.printed


def test_a_notebook_with_misconceptions(notebooks):
    book = notebooks["wrong"]
    for name in EXERCISES:
        if name in WRONG:
            assert sentence_of(name, WRONG[name]) in book.card(f"check_{name}")
            assert book.value(f"check_{name}") == "0.0"  # credits are for grading
        else:
            assert book.value(f"check_{name}") == book.points(name)
