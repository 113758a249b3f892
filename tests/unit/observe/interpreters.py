"""An interpreter of our own making, in a folder whose modes a test can choose.

The tests may run as root from a home that only root may enter, or from anywhere else. This
makes a Python with NumPy and the sandbox's tools beside it, out of hard links where the file
system allows them, that another user can execute: on a fresh machine, too.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import contextmanager
from pathlib import Path

from autograder.observe import bubblewrap, readable

NOBODY = 65534
# Of the standard library, what nobody here needs and what has a folder of packages in it.
_LEFT_OUT = shutil.ignore_patterns(
    "site-packages", "dist-packages", "test", "idlelib", "config-*", "ensurepip"
)


@contextmanager
def interpreter_in(parent=None):
    """An interpreter in a fresh folder under `parent`, by default that of temporary files."""
    # not pytest's own folders, which only their owner may enter
    folder = Path(tempfile.mkdtemp(prefix="autograder-python-", dir=parent))
    try:
        folder.chmod(0o755)
        yield Interpreter(folder)
    finally:
        shutil.rmtree(folder)


class Interpreter:
    """A copy of this interpreter, of NumPy, the sandbox's tools and autograder.observe."""

    def __init__(self, folder):
        self.folder = folder
        stdlib = Path(sysconfig.get_path("stdlib"))
        program = Path(bubblewrap.executable())
        self.program = folder / "bin" / program.name
        self.program.parent.mkdir()
        _link(program, self.program)
        self.libraries = folder / "lib"
        _copy(stdlib, self.libraries / f"python{sysconfig.get_python_version()}")
        for library in (Path(sys.base_prefix) / "lib").glob("libpython*.so*"):
            _link(library, self.libraries / library.name)
        self.packages = folder / "packages"
        for entry in readable.packages(["numpy", "pyseccomp", "py_landlock"])[0]:
            _copy(Path(entry), self.packages / Path(entry).name)
        self.package = folder / "autograder" / "observe"
        _copy(Path(readable.__file__).parent, self.package)
        self.script = folder / "hostile.py"
        _link(Path(__file__).with_name("hostile.py"), self.script)

    def run(self, user=None, **options):
        """What hostile.py found, executed as another user if one is given."""
        options = {"package": str(self.package), **options}
        environment = {
            "PYTHONPATH": str(self.packages),
            "LD_LIBRARY_PATH": str(self.libraries),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": "/usr/bin:/bin",
            "HOME": "/",
        }
        other = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        done = subprocess.run(
            [self.program, self.script, json.dumps(options, default=str)],
            env=environment,
            cwd="/",
            capture_output=True,
            check=False,
            timeout=60,
            **other,
        )
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)


def _copy(source, target):
    target.parent.mkdir(exist_ok=True, parents=True)
    if source.is_dir():
        shutil.copytree(
            source, target, copy_function=_link, ignore=_LEFT_OUT, ignore_dangling_symlinks=True
        )
    else:
        _link(source, target)


def _link(source, target):
    """A hard link costs nothing; another file system, or another owner, wants a copy."""
    try:
        os.link(os.path.realpath(source), target)
    except OSError:
        shutil.copy2(source, target)  # with its time, by which Python knows its own caches
    if os.stat(target).st_mode & 0o004 == 0:  # written under a strict umask
        os.unlink(target)
        shutil.copy2(source, target)
        os.chmod(target, 0o755)
