"""A Jupyter server with formgrader over a course, as an instructor starts it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

TOKEN = "e2e"


def without_venv_on_path() -> dict[str, str]:
    """nbgrader calls `alembic` by name; a venv that is not activated has it elsewhere."""
    folder = str(Path(sys.executable).parent)
    path = [item for item in os.environ["PATH"].split(os.pathsep) if item != folder]
    return os.environ | {"PATH": os.pathsep.join(path)}


@contextmanager
def serving(course: Path, scratch: Path) -> Iterator[str]:
    """The address of a server that has been started; it ends with the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"token": TOKEN, "port": port, "port_retries": 0, "allow_root": True,
               "open_browser": False, "root_dir": str(course)}  # fmt: skip
    arguments = [f"--ServerApp.{name}={value}" for name, value in options.items()]
    # of all extensions of this environment only this one
    only = "{'nbgrader.server_extensions.formgrader': True, 'jupyterlab': False, 'nbgrader': False}"
    home = scratch / "home"
    home.mkdir(exist_ok=True)
    environment = without_venv_on_path() | {"HOME": str(home), "JUPYTER_PREFER_ENV_PATH": "0"}
    with (scratch / "server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyter_server", *arguments,
             f"--ServerApp.jpserver_extensions={only}"],
            cwd=course, env=environment, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)
