"""A Jupyter server over a folder: formgrader for an instructor, JupyterLab for a student."""

from __future__ import annotations

import json
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


FORMGRADER = "nbgrader.server_extensions.formgrader"
EXTENSIONS = (FORMGRADER, "jupyterlab", "nbgrader")


@contextmanager
def serving(course: Path, scratch: Path, extension: str = FORMGRADER) -> Iterator[str]:
    """The address of a server that has been started; it ends with the block.

    extension: of all extensions of this environment only this one is loaded.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"token": TOKEN, "port": port, "port_retries": 0, "allow_root": True,
               "open_browser": False, "root_dir": str(course)}  # fmt: skip
    arguments = [f"--ServerApp.{name}={value}" for name, value in options.items()]
    only = {name: name == extension for name in EXTENSIONS}
    home = scratch / "home"
    settings = home / ".jupyter" / "labconfig" / "page_config.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    # no question about news in front of what is looked at
    news = {"@jupyterlab/apputils-extension:announcements": True}
    settings.write_text(json.dumps({"disabledExtensions": news}), "utf-8")
    environment = without_venv_on_path() | {"HOME": str(home), "JUPYTER_PREFER_ENV_PATH": "0"}
    with (scratch / "server.log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyter_server", *arguments,
             f"--ServerApp.jpserver_extensions={only}", "--LabApp.expose_app_in_browser=True"],
            cwd=course, env=environment, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(30)
