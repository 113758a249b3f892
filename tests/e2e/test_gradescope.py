"""The autograder for Gradescope, run as Gradescope runs it: in a folder laid out like /autograder.

What a test cannot have is the network: the packages that this one stands on are lent to the
environment that setup.sh makes, in place of their downloads.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import sys
import sysconfig
import zipfile

import jsonschema
import pytest

from autograder.cli import app
from autograder.export import CannotExport, Options, export_course
from autograder.wheels import package_files, wheel
from tests.e2e.folders import (
    PS,
    ROOT,
    STUDENT,
    code_of,
    environment,
    right_answers,
    right_code,
    run,
    run_well,
    work_on,
)
from tests.unit.test_export_graders import GRADESCOPE

pytestmark = pytest.mark.e2e


class Container:
    """/autograder, and what Gradescope does in it."""

    def __init__(self, root, archive):
        self.root = root
        self.source = root / "source"
        self.env = environment(
            AUTOGRADER_ROOT=str(root), AUTOGRADER_NO_APT="1", PYTHON=sys.executable,
            PIP_NO_INDEX="1", PIP_NO_DEPS="1", HOME=str(root),
        )  # fmt: skip
        for name in ("source", "submission", "results"):
            (root / name).mkdir(parents=True)
        with zipfile.ZipFile(archive) as packed:
            for info in packed.infolist():
                path = packed.extract(info, self.source)
                os.chmod(path, stat.S_IMODE(info.external_attr >> 16))
        shutil.copy(self.source / "run_autograder", root / "run_autograder")

    def build(self):
        said = run_well(["bash", self.source / "setup.sh"], self.root, self.env)
        python = f"python{sys.version_info.major}.{sys.version_info.minor}"
        lent = self.root / "venv" / "lib" / python / "site-packages" / "lent.pth"
        lent.write_text(sysconfig.get_path("purelib"), "utf-8")
        return said

    def grade(self, **settings):
        """(exit status, results.json or None, what was printed) of one submission."""
        results = self.root / "results" / "results.json"
        results.unlink(missing_ok=True)
        done = run([self.root / "run_autograder"], self.root, {**self.env, **settings})
        if not results.exists():
            return done.returncode, None, done.stdout
        found = json.loads(results.read_bytes())
        jsonschema.validate(found, GRADESCOPE)
        return done.returncode, found, done.stdout

    def submit(self):
        """An empty submission."""
        folder = self.root / "submission"
        shutil.rmtree(folder)
        folder.mkdir()
        users = [{"email": "someone@example.org", "sid": STUDENT, "name": "Some One", "id": 1}]
        metadata = json.dumps({"id": 7, "users": users})
        (self.root / "submission_metadata.json").write_text(metadata, "utf-8")
        return folder


@pytest.fixture(scope="module")
def container(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gradescope")
    archive = folder / "autograder.zip"
    command = [
        "export",
        "gradescope-autograder",
        PS,
        "--output",
        str(archive),
        "--course",
        str(ROOT),
    ]
    assert not app(command, standalone_mode=False)
    made = Container(folder / "autograder", archive)
    made.said = made.build()
    return made


def test_what_is_in_the_zip_file(container):
    names = {p.relative_to(container.source).as_posix() for p in container.source.rglob("*")}
    assert {"setup.sh", "run_autograder", "autograder.json", f"solutions/{PS}/quiz.yaml"} <= names
    assert not any(name.startswith("solutions/ps2") for name in names)
    assert os.access(container.source / "setup.sh", os.X_OK)
    settings = json.loads((container.source / "autograder.json").read_bytes())
    assert settings == {"assignment": PS, "allow_unsandboxed": False}


def test_a_right_submission(container):
    folder = container.submit()
    work_on(folder, "notebook", right_code(), right_answers())
    status, found, said = container.grade()
    assert status == 0, said
    points = sum(test["max_score"] for test in found["tests"])
    assert found["score"] == points == found["extra_data"]["max_score"]
    assert all(test["status"] == "passed" for test in found["tests"])
    assert found["extra_data"]["isolation"] in ("strong", "strong+")
    assert "isolation: strong" in said


def test_a_wrong_one_under_another_name_in_a_folder(container):
    folder = container.submit() / "my work"
    folder.mkdir()
    code = {**right_code(), "softmax": code_of("softmax", "over_queries")}
    work_on(folder, "module", code, right_answers())
    (folder / f"{PS}.ipynb").unlink(missing_ok=True)
    for path in folder.glob("test_*"):
        path.unlink()
    (folder / f"{PS}.py").rename(folder / "homework.py")
    status, found, said = container.grade()
    assert status == 0, said
    assert "homework.py is the only file" in said
    [wrong] = [test for test in found["tests"] if test["status"] == "failed"]
    assert (wrong["name"], wrong["tags"][0]) == ("softmax", "failed")
    assert "over_queries" in wrong["tags"]
    assert "Normalises over the queries" in wrong["output"]
    assert found["score"] < found["extra_data"]["max_score"]


def test_nothing_to_grade(container):
    (container.submit() / "notes.txt").write_text("sorry", "utf-8")
    status, found, _ = container.grade()
    assert (status, found["score"]) == (0, 0.0)
    assert found["output"]


def test_without_isolation_nothing_is_graded_and_nobody_gets_a_zero(container):
    """As in a container whose kernel has neither Landlock nor seccomp."""
    folder = container.submit()
    work_on(folder, "module", right_code())
    site = container.root / "without"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import autograder.observe.pool as pool\n"
        "class Bare(pool.ZygotePool):\n"
        "    isolation = 'none'\n"
        "    missing = {'landlock': 'not in this kernel'}\n"
        "pool.ZygotePool = Bare\n",
        "utf-8",
    )
    status, found, said = container.grade(PYTHONPATH=str(site))
    assert (status, found) == (1, None)
    assert "only to the level 'none' (landlock: not in this kernel)" in said


class TestTheZipFile:
    def test_a_set_that_gives_an_exercise_of_another_brings_it_along(self):
        import io

        name = "ps6_transformer_block"
        exported = export_course(
            "gradescope-autograder", ROOT, name, Options(allow_unsandboxed=True)
        )
        with zipfile.ZipFile(io.BytesIO(exported.data)) as archive:
            names = set(archive.namelist())
            settings = json.loads(archive.read("autograder.json"))
        assert {"needs-torch", "solutions/ps3_multi_head/MultiHeadAttention.py"} <= names
        assert settings["allow_unsandboxed"] is True
        assert any("could then read the solutions" in remark for remark in exported.remarks)

    def test_an_unknown_set(self):
        with pytest.raises(CannotExport, match="there is no set ps9"):
            export_course("gradescope-autograder", ROOT, "ps9")

    def test_the_wheel_is_this_package(self, tmp_path):
        name, data = wheel()
        assert name.startswith("attention_autograder-") and name.endswith("-py3-none-any.whl")
        (tmp_path / name).write_bytes(data)
        with zipfile.ZipFile(tmp_path / name) as archive:
            assert archive.testzip() is None
            inside = archive.namelist()
            assert inside == list(dict.fromkeys(inside))
            assert {path for path, _ in package_files()} < set(inside)
        assert wheel() == (name, data)
        assert not any(path.startswith(("solutions", "tests")) for path in inside)
