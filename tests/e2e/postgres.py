"""A PostgreSQL server of a test's own: in a temporary folder, on a Unix socket, gone afterwards."""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

USER, PASSWORD = "teacher", "se:cret/pass@word"


def program(name: str) -> str | None:
    """Debian keeps the server's programs out of PATH."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return found[-1] if found else shutil.which(name)


class Server:
    """A running server. Databases are made as they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def url(self, database: str, password: str = PASSWORD) -> str:
        """As a user writes it for --gradebook."""
        return f"postgresql://{USER}:{quote(password, safe='')}@/{database}?host={self.folder}"

    def fresh(self, database: str) -> str:
        """The URL of an empty database."""
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{database}"')
        return self.url(database)


@contextmanager
def server() -> Iterator[Server]:
    """Made, started and stopped. pg_ctl waits until it is up, and until it is down."""
    folder = Path(
        tempfile.mkdtemp(prefix="pg-", dir="/tmp")
    )  # short: a socket's path has 107 bytes
    user = None
    if os.getuid() == 0:  # which the server refuses to run as
        known = {entry.pw_name for entry in pwd.getpwall()}
        user = "postgres" if "postgres" in known else "nobody"
        shutil.chown(folder, user)

    def run(name: str, *arguments: str) -> None:
        where = program(name)
        assert where is not None
        # to a file: the server that pg_ctl leaves behind would keep a pipe open
        with (folder / "log").open("ab") as log:
            done = subprocess.run(
                [where, *arguments], user=user, cwd=folder, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            )  # fmt: skip
        assert done.returncode == 0, (folder / "log").read_text("utf-8", "replace")

    data, password = str(folder / "data"), folder / "password"
    try:
        password.write_text(PASSWORD, "utf-8")
        password.chmod(0o644)
        run("initdb", "-D", data, "-U", USER, f"--pwfile={password}", "--auth=scram-sha-256",
            "--no-sync", "--encoding=UTF8", "--locale=C")  # fmt: skip
        options = f"-k {folder} -c listen_addresses= -c fsync=off -c full_page_writes=off"
        run("pg_ctl", "-D", data, "-w", "-l", str(folder / "data" / "server.log"),
            "-o", options, "start")  # fmt: skip
        try:
            yield Server(folder)
        finally:
            run("pg_ctl", "-D", data, "-w", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
