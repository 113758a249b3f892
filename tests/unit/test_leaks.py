"""The scanner on the real release, and on releases with one secret planted in each way."""

import base64
import bz2
import gzip
import importlib.util
import io
import json
import lzma
import marshal
import re
import shutil
import subprocess
import sys
import tarfile
import textwrap
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from autograder import leaks
from autograder.leaks.patterns import tokens_of, windows
from autograder.leaks.secrets import secrets_of
from autograder.quiz import load_quiz
from autograder.signature import AuthoringError
from tests.unit.courses import NAME, make_course

ROOT = Path(__file__).parents[2]
PS = "ps1_numpy_attention"
SOLUTIONS = ROOT / "solutions" / PS

# kind of secret → (as it might be pasted somewhere, what the scanner has to call it)
SECRETS = {
    "a line of a reference": (
        "    largest = scores.max(axis=0, keepdims=True)",
        "the reference of softmax",
    ),
    "two short lines of one": (
        "exponentials = np.exp( shifted )   # other words\n"
        "return exponentials/exponentials.sum(axis=0,  keepdims=True)",
        "the reference of softmax",
    ),
    "a reference of one line": ("    return K.T @ Q\n", "the reference of attention_scores"),
    "an alternative": (
        "return np.exp(scores - np.logaddexp.reduce(scores, axis=0))",
        "the alternative log_space of softmax",
    ),
    "a misconception": (
        "exponentials = np.exp(scores - scores.max(axis=0))\n"
        "return exponentials / exponentials.sum()",
        "the misconception whole_matrix of softmax",
    ),
    "a hidden case": (
        "scores[:, int(rng.integers(5))] += rng.uniform(850.0, 950.0)",
        "the hidden case far_above of softmax",
    ),
    "its title": (
        "more queries than keys, one query far above the others",
        "the hidden case far_above of softmax",
    ),
    "a comment beside a reference": (
        "a gap beyond float64's range is -inf, and exp(-inf) is 0",
        "the reference of softmax",
    ),
    "the answer of a choice": (
        'q_column_layout = "stone"',
        "the answer of the question column_layout",
    ),
    "the answer as a number": (
        "variance_with_mean: 144",
        "the answer of the question variance_with_mean",
    ),
    "an explanation": (
        "is the share of key 1 in the budget of query 2",
        "an explanation or a hint of the question column_layout",
    ),
    "a hint of the quiz": (
        "Would `weights[2, 1]` have to be 0.75 as well?",
        "an explanation or a hint of the question column_layout",
    ),
}


@pytest.fixture(scope="module")
def search():
    return leaks._search_for(ROOT, PS, {PS: secrets_of(SOLUTIONS)})


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A course of that set and no other."""
    course = tmp_path_factory.mktemp("alone")
    for folder in ("solutions", "source", "assignments"):
        (course / folder).mkdir()
        (course / folder / PS).symlink_to(ROOT / folder / PS)
    return course


def found(search, name, data):
    return {(leak.where, leak.what) for leak in search.file(name, data)}


# --- where a secret may lie ------------------------------------------------------------


def book(*cells, **metadata):
    cells = [
        {"cell_type": "code", "id": "c1", "metadata": {}, "outputs": [], "source": "", **cell}
        for cell in cells
    ]
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4}).encode()


def output(**data):
    return book({"outputs": [{"output_type": "display_data", "metadata": {}, "data": data}]})


def key(document=None, **tensors):
    text = json.dumps({"exercises": [], **(document or {})}, ensure_ascii=False)
    return save({"numbers": np.zeros(3), **tensors}, metadata={"autograder": text})


def as_exercise(**more):
    return {"exercises": [{"name": "softmax", **more}]}


def picture(text):
    """A PNG with a compressed text chunk, as a plot's metadata has."""
    chunk = b"zTXtnote\0\0" + zlib.compress(text.encode())
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0\0\0\x20" + chunk + b"1234").decode()


def zipped(text, name="notes.txt"):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, text)
    return data.getvalue()


NB, PY, KEY = f"{PS}.ipynb", f"{PS}.py", "selfcheck.safetensors"
CHANNELS = {
    "a code cell": (NB, lambda s: book({"source": [f"{line}\n" for line in s.split("\n")]})),
    "a Markdown cell": (NB, lambda s: book({"cell_type": "markdown", "source": s})),
    "printed output": (
        NB,
        lambda s: book({"outputs": [{"output_type": "stream", "name": "stdout", "text": [s]}]}),
    ),
    "a traceback": (
        NB,
        lambda s: book({"outputs": [{"output_type": "error", "traceback": ["---", s]}]}),
    ),
    "HTML output": (NB, lambda s: output(**{"text/html": [f"<pre>\n{s}\n</pre>"]})),
    "a picture": (NB, lambda s: output(**{"image/png": picture(s)})),
    "a widget's state": (NB, lambda s: book(widgets={"state": {"a": {"value": s}}})),
    "a cell's metadata": (NB, lambda s: book({"metadata": {"notes": {"deep": [s]}}})),
    "the notebook's metadata": (NB, lambda s: book(author_notes=s)),
    "an attachment": (
        NB,
        lambda s: book(
            {"attachments": {"a.txt": {"text/plain": base64.b64encode(s.encode()).decode()}}}
        ),
    ),
    "a notebook that is no JSON": (NB, lambda s: b"{" + s.encode()),
    "a string of the key": (KEY, lambda s: key(as_exercise(mistakes=[{"hint": s}]))),
    "something about the set in the key": (KEY, lambda s: key({"title": s})),
    "an array of bytes": (KEY, lambda s: key(x=np.frombuffer(s.encode(), np.uint8))),
    "an array of letters": (
        KEY,
        lambda s: key(x=np.frombuffer(np.array([s], "<U").tobytes(), np.uint32)),
    ),
    "behind the key's arrays": (KEY, lambda s: key() + s.encode()),
    "a comment of the module": (PY, lambda s: "\n".join(f"# {x}" for x in s.split("\n")).encode()),
    "a string of the test file": (f"test_{PS}.py", lambda s: f"x = {s!r}\n".encode()),
    "another file": ("notes/old.txt", lambda s: s.encode()),
}
DISGUISES = {
    "base64": lambda s: base64.b64encode(s.encode()).decode(),
    "base64 from the middle": lambda s: base64.b64encode(f"abc{s}".encode()).decode()[2:],
    "base64 in lines": lambda s: base64.encodebytes(f"{'x' * 90}\n{s}".encode()).decode(),
    "base64 for addresses": lambda s: base64.urlsafe_b64encode(f"?>~{s}".encode()).decode(),
    "base64 twice": lambda s: base64.b64encode(base64.b64encode(s.encode())).decode(),
    "hex": lambda s: s.encode().hex(),
    "hexadecimal escapes": lambda s: "".join(f"\\x{c:02x}" for c in s.encode()),
    "zlib and base64": lambda s: base64.b64encode(zlib.compress(s.encode())).decode(),
    "gzip and base64": lambda s: base64.b64encode(gzip.compress(s.encode(), mtime=0)).decode(),
    "bz2 and hex": lambda s: bz2.compress(s.encode()).hex(),
    "xz and base64": lambda s: base64.b64encode(lzma.compress(s.encode())).decode(),
    "a zip file and base64": lambda s: base64.b64encode(zipped(s)).decode(),
    "backwards": lambda s: s[::-1],
    "base64, backwards": lambda s: base64.b64encode(s.encode()).decode()[::-1],
    "escapes for each letter": lambda s: "".join(f"\\u{ord(c):04x}" for c in s),
    "JSON in a string of JSON": lambda s: json.dumps(json.dumps({"text": s})),
    "numbers of its letters": lambda s: str(list(s.encode())),
    "white space elsewhere": lambda s: re.sub(r"\s+", "\n \t", s),
}
BYTES = {
    "UTF-16": lambda s: s.encode("utf-16"),
    "zlib": lambda s: zlib.compress(s.encode()),
    "gzip": lambda s: gzip.compress(s.encode(), mtime=0),
    "a zip file": zipped,
    "a zip file in a zip file": lambda s: zipped(zipped(s), "inner.zip"),
}


@pytest.mark.parametrize("channel", CHANNELS)
def test_each_kind_of_secret_is_found_in_each_place(search, channel):
    name, plant = CHANNELS[channel]
    for kind, (text, what) in SECRETS.items():
        assert what in {said for _, said in found(search, name, plant(text))}, kind


@pytest.mark.parametrize("disguise", DISGUISES)
def test_each_kind_of_secret_is_found_in_each_disguise(search, disguise):
    for kind, (text, what) in SECRETS.items():
        for data in (
            book({"source": f"x = '{DISGUISES[disguise](text)}'  # …"}),
            book(notes=DISGUISES[disguise](text)),
        ):
            assert what in {said for _, said in found(search, NB, data)}, kind


@pytest.mark.parametrize("form", BYTES)
def test_each_kind_of_secret_is_found_in_packed_files(search, form):
    for kind, (text, what) in SECRETS.items():
        assert what in {said for _, said in found(search, "notes.bin", BYTES[form](text))}, kind


@pytest.mark.parametrize(
    "code",
    [
        "def anything(scores):\n    return np.exp(scores - np.logaddexp.reduce(scores, axis=0))\n",
        "def anything(scores):\n    '''x'''\n"
        "    exponentials = np.exp(scores - scores.max(axis=0))\n"
        "    return exponentials / exponentials.sum()\n",
    ],
)
def test_compiled_code_is_known_again(search, code):
    data = importlib.util.MAGIC_NUMBER + bytes(12) + marshal.dumps(compile(code, "x.py", "exec"))
    assert any("in the solution of softmax" in what for _, what in found(search, "x.pyc", data))
    packed = book(notes=base64.b64encode(zlib.compress(data)).decode())
    assert any("in the solution of softmax" in what for _, what in found(search, NB, packed))


def test_a_compiled_stub_is_none():
    known = secrets_of(SOLUTIONS)
    stub = compile("def softmax(scores):\n    raise NotImplementedError()\n", "x", "exec")
    from autograder.leaks.places import fingerprint

    assert fingerprint(stub.co_consts[0]) not in known.compiled


# --- what has its place in the key only ------------------------------------------------


def test_names_and_fields_that_the_key_must_not_have(search):
    for document, where, what in [
        (as_exercise(cases=[{"name": "far_above"}]), "exercise softmax", "the name of far_above"),
        (as_exercise(credit=0.5), "exercise softmax", "the field “credit”"),
        ({"questions": {"q": {"answer": 1}}}, "what is said of the set", "the field “answer”"),
        ({"questions": {"q": {"explanation": ""}}}, "what is said of the set", "“explanation”"),
    ]:
        assert any(
            place == where and what in said for place, said in found(search, KEY, key(document))
        )
    assert found(search, KEY, key({"exercises": [{"name": "attend", "x": "far_above"}]})) == set()


def test_an_array_under_a_hidden_name(search):
    data = key(**{"softmax/far_above/expected/0": np.ones(3)})
    assert (
        "array softmax/far_above/expected/0",
        "an array of far_above, which is hidden",
    ) in found(search, KEY, data)


def test_a_number_of_the_quiz_among_others():
    known = leaks.Known("ps0", numbers={0.03661: "the answer of the question q"})
    search = leaks.Search((), {"ps0": known})
    for kind in ("<f8", "<f4"):
        data = key(x=np.array([1.0, 0.03661, 2.0], kind))
        assert found(search, KEY, data) == {("array x", "the answer of the question q")}
    assert found(search, KEY, key(x=np.array([1.0, 0.0366, 2.0]))) == set()


def test_arrays_of_hidden_cases(tmp_path):
    """Those that the key's seed draws, wherever in the release they are."""
    course = released(tmp_path)
    arrays = leaks._hidden_arrays(course, NAME)
    assert len(arrays) == 2  # the argument and the result of one case
    assert leaks.scan(course, drawn=True).leaks == ()
    (course / "assignments" / NAME / "more.bin").write_bytes(b"\0" * 8 + next(iter(arrays)))
    (leak,) = leaks.scan(course, drawn=True).leaks
    assert leak.what.startswith("an array of the hidden case")
    assert leaks.scan(course).leaks == ()


def test_marks_of_what_nbgrader_cuts_out(search):
    for mark in ("### BEGIN SOLUTION", "### END HIDDEN TESTS", "### BEGIN MARK SCHEME"):
        assert found(search, NB, book({"source": mark})) == {("cell c1", f"the mark “{mark}”")}


# --- what is no secret -----------------------------------------------------------------


def test_the_release_and_the_package_leak_nothing(tmp_path):
    """All sets, with what a wheel takes up; the built archives have a test of their own."""
    wheel = tmp_path / "package.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in sorted((ROOT / "autograder").rglob("*.py")):
            archive.write(path, path.relative_to(ROOT))
        archive.write(ROOT / "README.md", "README.md")
    report = leaks.scan(ROOT, archives=[wheel], drawn=True)
    assert [str(leak) for leak in report.leaks] == []
    released = sum(path.is_file() for path in (ROOT / "assignments").rglob("*"))
    assert report.files == released + len(zipfile.ZipFile(wheel).namelist())
    assert released >= 4


def test_the_source_notebook_as_a_release_is_all_leaks(search):
    """The same file before nbgrader has cut the solutions out."""
    data = (ROOT / "source" / PS / NB).read_bytes()
    said = {what for _, what in found(search, NB, data)}
    exercises = {path.stem for path in SOLUTIONS.glob("*.py")} - {"__init__"}
    assert {f"the reference of {name}" for name in exercises} <= said
    assert {"the answer of the question column_layout", "the mark “### BEGIN SOLUTION”"} <= said


def test_the_solutions_themselves_are_all_leaks(search):
    for path in SOLUTIONS.glob("*.py"):
        if path.stem != "__init__":
            said = {what for _, what in found(search, "x.py", path.read_bytes())}
            assert f"the reference of {path.stem}" in said
            assert sum(what.startswith("the misconception") for what in said) >= 2
    quiz = {what for _, what in found(search, "quiz.yaml", (SOLUTIONS / "quiz.yaml").read_bytes())}
    for question in load_quiz(SOLUTIONS):
        assert f"an explanation or a hint of the question {question.id}" in quiz


def test_what_a_student_may_read_is_no_leak(search):
    for text in (
        "import numpy as np\nx = np.zeros(3)\nfor i in range(3):\n    x[i] = i",
        "def softmax(scores):\n    # YOUR CODE HERE\n    raise NotImplementedError()",
        "Normalises over the queries instead of the keys.",
        "more keys than queries, everyday scores",
        'q_column_layout = None  # one of the options, in quotes\n- `"stone"`: Token 2 ("slept")',
        "144 and stone and (3, 5)",
    ):
        assert found(search, NB, book({"source": text}, notes=text)) == set(), text


def test_other_sets_are_not_confused_with_large_parts_of_this_one():
    """A release of another set that holds a whole reference of ps1 leaks, one line of it not."""
    every = {PS: secrets_of(SOLUTIONS), "ps0": leaks.Known("ps0")}
    search = leaks._search_for(ROOT, "ps0", every)
    body = (SOLUTIONS / "softmax.py").read_text("utf-8")
    assert found(search, "a.py", b"    largest = scores.max(axis=0, keepdims=True)") == set()
    assert ("", "the reference of softmax") in found(search, "a.py", body.encode())


# --- small courses ---------------------------------------------------------------------


def released(tmp_path):
    """A course with a release that stands in for a built one."""
    course = make_course(tmp_path)
    folder = course / "assignments" / NAME
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / f"{NAME}.ipynb").write_bytes(book({"source": "def double(x):\n    pass"}))
    return course


def solution(course, name="double"):
    return course / "solutions" / NAME / f"{name}.py"


LONG = """
    first = np.asarray(x, dtype=np.float64) * 3.0
    second = np.asarray(x, dtype=np.float64) / 5.0
    third = np.concatenate([first, second, first])
    return third
"""


class TestOpenly:
    def course(self, tmp_path, prose):
        course = released(tmp_path)
        path = solution(course)
        text = path.read_text("utf-8")
        path.write_text(
            re.sub(r"\n    # a comment.*\n    return 2 \* x.*\n", LONG, text, count=1), "utf-8"
        )
        source = course / "source" / NAME
        source.mkdir(parents=True, exist_ok=True)
        for folder in (source, course / "assignments" / NAME):
            (folder / f"{NAME}.ipynb").write_bytes(book({"cell_type": "markdown", "source": prose}))
        return course

    def test_a_line_that_the_prose_teaches_is_no_secret(self, tmp_path):
        prose = LONG.strip().split("\n")[1]
        assert leaks.scan(self.course(tmp_path, prose)).leaks == ()

    def test_most_of_a_reference_in_the_prose_is_a_leak(self, tmp_path):
        (leak,) = leaks.scan(self.course(tmp_path, LONG)).leaks
        assert (leak.where, leak.what) == ("cell c1", "the reference of double")

    def test_unless_the_set_says_that_it_gives_it(self, tmp_path):
        course = self.course(tmp_path, LONG)
        about = course / "solutions" / NAME / "__init__.py"
        text = about.read_text("utf-8")
        about.write_text(f'{text}\nGIVEN = {{"double": "shown in the notebook"}}\n', "utf-8")
        assert leaks.scan(course).leaks == ()

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ('{"triple": "why"}', "GIVEN names triple, which is no exercise"),
            ('{"double": ""}', "GIVEN is a dict of names of definitions and the reason"),
            ("[double]", "GIVEN is a dict"),
        ],
    )
    def test_what_is_given_has_to_be_said_right(self, tmp_path, given, words):
        course = released(tmp_path)
        about = course / "solutions" / NAME / "__init__.py"
        about.write_text(f"{about.read_text('utf-8')}\nGIVEN = {given}\n", "utf-8")
        with pytest.raises(AuthoringError, match=words):
            leaks.scan(course)

    def test_a_gift_of_another_set_is_exempt_in_this_one_only(self, tmp_path):
        course = released(tmp_path)
        path = solution(course)
        path.write_text(
            re.sub(r"\n    return 2 \* x.*\n", LONG, path.read_text("utf-8"), count=1), "utf-8"
        )
        code = leaks.secrets_of(path.parent).code["double"].encode()
        for name, given in (("ps8_gives", 'GIVEN = {"double": "closed"}'), ("ps9_leaks", "")):
            for folder in ("solutions", "assignments"):
                (course / folder / name).mkdir()
            (course / "solutions" / name / "__init__.py").write_text(f'"""A set."""\n{given}\n')
            (course / "assignments" / name / "notes.py").write_bytes(code)
        assert {leak.file for leak in leaks.scan(course).leaks} == {
            "assignments/ps9_leaks/notes.py"
        }

    def test_the_source_of_a_probe_is_public(self, tmp_path):
        course = released(tmp_path)
        (course / "assignments" / NAME / "probe.txt").write_text("def three(x):\n", "utf-8")
        assert [leak.what for leak in leaks.scan(course).leaks] == [
            "the hidden case three of double"
        ]
        path = solution(course)
        probes = '\nPROBES = """\ndef three(x):\n    return x\n"""\n'
        path.write_text(path.read_text("utf-8") + probes, "utf-8")
        assert leaks.scan(course).leaks == ()

    def test_a_stray_file_beside_the_sets_is_examined_for_all(self, tmp_path):
        course = released(tmp_path)
        (course / "assignments" / "old").mkdir()
        (course / "assignments" / "old" / "x.txt").write_text("three other numbers", "utf-8")
        (course / "assignments" / "read.me").write_text("three other numbers", "utf-8")
        report = leaks.scan(course)
        assert report.files == 3


class TestArchives:
    def test_folders_that_no_package_of_ours_has(self, tmp_path):
        course = released(tmp_path)
        wheel = tmp_path / "x-1-py3-none-any.whl"
        wheel.write_bytes(zipped("x = 1", f"solutions/{NAME}/double.py"))
        sdist = tmp_path / "x-1.tar.gz"
        with tarfile.open(sdist, "w:gz") as archive:
            for name in (f"x-1/source/{NAME}/{NAME}.ipynb", "x-1/README.md"):
                member = tarfile.TarInfo(name)
                member.size = 2
                archive.addfile(member, io.BytesIO(b"hi"))
        report = leaks.scan(course, archives=[wheel, sdist])
        assert [str(leak) for leak in report.leaks] == [
            f"x-1-py3-none-any.whl: solutions/{NAME}/double.py: a file of solutions/",
            f"x-1.tar.gz: x-1/source/{NAME}/{NAME}.ipynb: a file of source/",
        ]
        assert report.files == 4

    def test_a_reference_under_another_name(self, alone, tmp_path):
        wheel = tmp_path / "x-1-py3-none-any.whl"
        wheel.write_bytes(zipped((SOLUTIONS / "softmax.py").read_text("utf-8"), "x/data.txt"))
        report = leaks.scan(alone, [PS], [wheel])
        assert "x-1-py3-none-any.whl: x/data.txt: the reference of softmax" in map(
            str, report.leaks
        )


class TestTheCommand:
    def run(self, course, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "autograder.cli", "build", "--check", *arguments],
            cwd=course, capture_output=True, text=True, encoding="utf-8", check=False,
        )  # fmt: skip

    def test_it_says_what_leaks_where_and_ends_with_1(self, tmp_path):
        course = released(tmp_path)
        wheel = tmp_path / "x.whl"
        wheel.write_bytes(zipped("x = 1", "solutions/a.py"))
        done = self.run(course, "--archive", str(wheel))
        assert done.returncode == 1
        assert "leak: x.whl: solutions/a.py: a file of solutions/" in done.stdout

    def test_an_archive_that_is_not_there(self, tmp_path):
        done = self.run(released(tmp_path), "--archive", "nothing.whl")
        assert done.returncode == 2
        assert done.stderr.startswith("autograder: ") and done.stderr.count("\n") == 1


def test_pytorch_is_not_imported(alone):
    code = textwrap.dedent(f"""
        import sys
        from pathlib import Path
        from autograder.leaks import scan
        scan(Path({str(alone)!r}), [{PS!r}])
        print("torch" in sys.modules)
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_words_and_windows():
    assert tokens_of("x = f('a b', \"ü\")  # c_d") == (
        "x",
        "=",
        "f",
        "(",
        "a",
        "b",
        ",",
        "ü",
        ")",
        "#",
        "c_d",
    )
    assert windows("abcdefg", 4) == [tuple("abcd"), tuple("cdef"), tuple("defg")]
    assert windows("abc", 4) == []
