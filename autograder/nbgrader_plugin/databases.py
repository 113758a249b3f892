"""Gradebooks on a server (PostgreSQL): their URLs, whether they answer, copies of them.

A URL may hold a password. It is passed on to the driver and to pg_dump's environment, and is in
no message: whatever is said about a server goes through `without_password`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from autograder.nbgrader_plugin import NbgraderError

# Seconds until a server that does not answer is given up, where the URL says nothing else.
CONNECT_SECONDS = 10
DUMP_SECONDS = 600
_PREFIXES = ("postgresql://", "postgres://")


def driver_url(db_url: str) -> str:
    """The URL with our driver, psycopg, where it names none; others are returned as they are."""
    for prefix in _PREFIXES:
        if db_url.startswith(prefix):
            return f"postgresql+psycopg://{db_url.removeprefix(prefix)}"
    return db_url


def parsed(db_url: str) -> Any:
    """SQLAlchemy's URL. NbgraderError when it is none: SQLAlchemy's own would repeat it."""
    from sqlalchemy.engine import make_url

    try:
        return make_url(db_url)
    except Exception:
        raise NbgraderError(
            "the gradebook's URL cannot be read; write sqlite:///gradebook.db or "
            "postgresql://user@host/database"
        ) from None


def is_on_a_server(db_url: str) -> bool:
    """Whether it is PostgreSQL's."""
    return str(parsed(db_url).get_backend_name()) == "postgresql"


def expect_course_id(db_url: str, course_id: str) -> None:
    """NbgraderError for a course without a name: nbgrader makes no row for it.

    SQLite lets its assignments point to nothing all the same, PostgreSQL does not.
    """
    if not course_id and is_on_a_server(db_url):
        raise NbgraderError(
            "a gradebook on PostgreSQL needs a course with a name; write "
            'c.CourseDirectory.course_id = "attention", or another name, into nbgrader_config.py, '
            "and run the same command again"
        )


def without_password(text: str, db_url: str) -> str:
    """The text without the password that the URL holds, however it is written there."""
    url = parsed(db_url)
    for secret in (url.password, url.query.get("password")):
        if secret:
            found = str(secret)
            for written in (found, quote(found, safe=""), quote(found), quote_plus(found)):
                text = text.replace(written, "***")
    return text


def see_that_it_answers(db_url: str) -> bool:
    """Connect once; whether there is a gradebook in the database. NbgraderError if nothing answers.

    Better before a class is graded than after.
    """
    if not is_on_a_server(db_url):
        return True
    from sqlalchemy import create_engine, inspect
    from sqlalchemy.exc import SQLAlchemyError

    url = parsed(db_url)
    if "connect_timeout" not in url.query:
        url = url.update_query_dict({"connect_timeout": str(CONNECT_SECONDS)})
    try:
        engine = create_engine(url)
        try:
            return bool(inspect(engine).get_table_names())
        finally:
            engine.dispose()
    except ModuleNotFoundError as missing:
        raise NbgraderError(
            f"a gradebook on PostgreSQL needs the package {missing.name}; install it with "
            "pip install 'attention-autograder[postgresql]'"
        ) from missing
    except SQLAlchemyError as fault:
        reason = " ".join(str(getattr(fault, "orig", None) or fault).split())
        raise NbgraderError(
            f"the gradebook's database does not let us in ({without_password(reason, db_url)}); "
            "start it or correct --gradebook, and run the same command again: what was graded is "
            "kept"
        ) from None


def dump(db_url: str, target: Path) -> None:
    """Copy a database with pg_dump, to be read by pg_restore. NbgraderError when it cannot be."""
    program = shutil.which("pg_dump")
    if program is None:
        raise NbgraderError(
            "the gradebook cannot be backed up before it is written to, as there is no pg_dump; "
            "install PostgreSQL's client programs, or make a copy yourself and give --no-backup "
            "(c.ObserveAndJudge.backup = False for nbgrader's commands)"
        )
    url = parsed(db_url)
    query = {key: value for key, value in url.query.items() if key != "password"}
    password = url.password or url.query.get("password")
    plain = url.set(drivername="postgresql", password=None, query=query)
    own = {} if password is None else {"PGPASSWORD": str(password)}
    command = [program, "--format=custom", "--no-password", f"--file={target}"]
    command.append(f"--dbname={plain.render_as_string(hide_password=False)}")
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **own},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=DUMP_SECONDS,
        )
        reason = "" if done.returncode == 0 else done.stderr or f"exit status {done.returncode}"
    except (OSError, subprocess.TimeoutExpired) as fault:
        reason = str(fault)
    if reason:
        target.unlink(missing_ok=True)
        said = without_password(" ".join(reason.split()), db_url)
        raise NbgraderError(
            f"the gradebook could not be backed up before it is written to ({said}); correct that, "
            "or make a copy yourself and give --no-backup"
        )
