"""The gradebook on a real PostgreSQL server: SQLite's rows, copied first, no password told."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from autograder import nbgrader_plugin
from autograder.build import build
from autograder.cli.running import sentence
from autograder.grading import Assignment, grade_submission
from autograder.nbgrader_plugin import NbgraderError, databases, gradebooks
from autograder.run import Run
from tests.e2e.gradebook_rows import rows
from tests.e2e.postgres import PASSWORD, program, server
from tests.unit.courses import NAME, RIGHT, SQUARED, make_course, submit
from tests.unit.test_evaluation import Fake

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.needs_debian("postgresql", binary=program("initdb") or "initdb"),
]


@pytest.fixture(scope="module")
def postgres():
    with server() as running:
        yield running


@pytest.fixture(scope="module", autouse=True)
def one_alembic():
    """nbgrader starts a process for each new database, which always says the same."""
    from nbgrader import api

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "get_alembic_version", functools.cache(api.get_alembic_version))
        yield


def class_of(root: Path, size: int):
    """(the course, results): right, squared, raising and empty ones in turn."""
    course = make_course(root)
    build(course)
    config = "c = get_config()\nc.CourseDirectory.course_id = 'attention'\n"
    (course / "nbgrader_config.py").write_text(config, "utf-8")
    kinds = (RIGHT, SQUARED, "def double(x):\n    return x.nothing\n", "")
    for number in range(size):
        submit(course, f"学生 {number:04}", kinds[number % len(kinds)])
    assignment = Assignment.draw(course, NAME, "postgres")
    results = [
        grade_submission(assignment, folder.name, folder / NAME, Fake(), "strong")
        for folder in sorted((course / "submitted").iterdir())
    ]
    return course, results


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return class_of(tmp_path_factory.mktemp("postgres"), 20)


def compare(postgres, course, results, database):
    sqlite = f"sqlite:///{course / database}.db"
    on_server = postgres.fresh(database)
    lower = [msgspec.structs.replace(one, exercises=tuple(
        msgspec.structs.replace(exercise, outcome="failed", score=0.5, feedback="double: lower")
        for exercise in one.exercises)) for one in results[: len(results) // 5]]  # fmt: skip
    for url in (sqlite, on_server):
        nbgrader_plugin.record(course, NAME, results, url)
        nbgrader_plugin.record(course, NAME, lower, url)  # rows that are there already
    one, other = rows(sqlite), rows(on_server)
    assert one.keys() == other.keys()
    for table in one:
        assert one[table] == other[table], table
    count = sum(map(len, one.values()))
    assert len(one["submitted_assignment"]) == len(results)
    assert len(one["grade"]) == 3 * len(results)
    assert any("0.5" in row for row in one["grade"])
    return count


def test_the_same_rows_as_on_sqlite(postgres, small):
    assert compare(postgres, *small, "equal") > 200


@pytest.mark.soak
def test_the_same_rows_after_500_submissions(postgres, tmp_path):
    course, results = class_of(tmp_path, 500)
    print(f"{compare(postgres, course, results, 'many')} rows, equal on SQLite and PostgreSQL")


class TestBackups:
    def test_before_the_first_write_and_only_of_what_is_there(self, postgres, small, monkeypatch):
        course, results = small
        url = postgres.fresh("to be kept")
        monkeypatch.setattr(gradebooks, "SAME_RUN_SECONDS", 0.0)
        folder = course / ".autograder" / "backups"
        nbgrader_plugin.record(course, NAME, results[:1], url)
        assert not list(folder.glob("to be kept-*.dump"))  # there was nothing to lose
        before = rows(url)
        nbgrader_plugin.record(course, NAME, results[:3], url)
        [backup] = folder.glob("to be kept-*.dump")
        restored = postgres.fresh("restored")
        plain = restored.replace(f"teacher:{databases.quote(PASSWORD, safe='')}", "teacher")
        subprocess.run(
            [program("pg_restore"), "--no-owner", f"--dbname={plain}", str(backup)],
            check=True, env={**os.environ, "PGPASSWORD": PASSWORD},
        )  # fmt: skip
        assert rows(restored) == before != rows(url)

    def test_without_pg_dump_it_is_not_written_to_unless_that_is_asked_for(
        self, postgres, small, monkeypatch
    ):
        course, results = small
        url = postgres.fresh("no client")
        nbgrader_plugin.record(course, NAME, results[:1], url)
        before = rows(url)
        monkeypatch.setattr(gradebooks, "SAME_RUN_SECONDS", 0.0)
        monkeypatch.setattr(databases.shutil, "which", lambda *arguments, **options: None)
        with pytest.raises(NbgraderError, match="make a copy yourself and give --no-backup"):
            nbgrader_plugin.record(course, NAME, results[:3], url)
        assert rows(url) == before
        nbgrader_plugin.record(course, NAME, results[:3], url, backup=False)
        assert rows(url) != before

    def test_one_that_fails_is_said_and_leaves_nothing(self, postgres, small):
        course, _ = small
        target = course / "x.dump"
        with pytest.raises(NbgraderError, match="could not be backed up") as caught:
            databases.dump(databases.driver_url(postgres.url("nowhere")), target)
        assert '"nowhere" does not exist' in str(caught.value)
        assert not target.exists()


class TestFaults:
    def test_a_course_without_a_name(self, postgres, small):
        course, results = small
        config = course / "nbgrader_config.py"
        before = config.read_text("utf-8")
        config.unlink()
        with pytest.raises(NbgraderError, match=r"write c\.CourseDirectory\.course_id = "):
            nbgrader_plugin.record(course, NAME, results[:1], postgres.fresh("nameless"))
        config.write_text(before, "utf-8")

    def run(self, course, url, **options):
        options = {"json_file": course / "out.json", "quiet": True, **options}
        return Run(course=course, assignment=NAME, gradebook=url, **options)

    @pytest.mark.parametrize("kind", ["no server", "no port", "password", "database", "no URL"])
    def test_one_sentence_without_the_password(self, postgres, small, kind):
        url = {
            "no server": postgres.url("x").replace(str(postgres.folder), "/no/such/folder"),
            "no port": "postgresql://teacher:pa%24%24w0rd@127.0.0.1:1/x",
            "password": postgres.url("x", "pa$$w0rd"),
            "database": postgres.url("no such"),
            "no URL": "postgresql:/teacher:pa$$w0rd@host",
        }[kind]
        with pytest.raises(NbgraderError) as caught:
            self.run(small[0], url).grade()
        said = sentence(caught.value)
        assert "\n" not in said
        assert not any(word in said for word in (PASSWORD, "pa$$w0rd", "pa%24%24w0rd", "se%3A"))
        assert "run the same command again" in said or "write sqlite:///gradebook.db" in said
        assert not (small[0] / "out.json").exists()  # said before anything is graded

    def test_a_password_in_the_query_is_none_in_a_message(self):
        url = "postgresql+psycopg://teacher@/x?host=/h&password=pa%24%24w0rd"
        said = databases.without_password("pa$$w0rd, pa%24%24w0rd", url)
        assert said == "***, ***"

    def test_a_server_that_goes_away_takes_no_result_along(self, tmp_path, monkeypatch):
        course, _ = class_of(tmp_path, 2)
        monkeypatch.setattr(nbgrader_plugin, "see_that_gradebook_answers", lambda url: None)
        monkeypatch.setattr("autograder.run.observer", _here)
        gone = "postgresql://teacher:pa%24%24w0rd@127.0.0.1:1/x"
        with pytest.raises(NbgraderError, match="what was graded is kept") as caught:
            self.run(course, gone).grade()
        assert "pa" + "$$w0rd" not in str(caught.value)
        assert b'"score": 4.0' in (course / "out.json").read_bytes()
        monkeypatch.setattr("autograder.run.grade_class", lambda *a: iter(()))
        self.run(course, f"sqlite:///{course}/late.db").grade()  # nothing is graded again
        assert len(rows(f"sqlite:///{course}/late.db")["submitted_assignment"]) == 2


def _here(*arguments):
    from contextlib import nullcontext

    return nullcontext((Fake(), "strong"))


def test_without_the_driver_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(NbgraderError, match=r"pip install 'attention-autograder\[postgresql\]'"):
        databases.see_that_it_answers("postgresql+psycopg://host/x")
