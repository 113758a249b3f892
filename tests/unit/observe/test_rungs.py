"""The rungs of the ladder: as root and as another user, with bubblewrap and without.

What is claimed has to be what was entered, and the hostile suite has to find nothing open on
any rung that is called strong. test_sandbox tries it on the best rung of this machine.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.unit.observe import hostile

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from autograder.observe import bubblewrap, sandbox
from autograder.observe.pool import ZygotePool
from tests.unit.observe.interpreters import NOBODY, interpreter_in

ROOT = os.geteuid() == 0
OTHER = NOBODY if ROOT else None  # only root can be another; others are unprivileged already
WITHOUT = tuple(layer for layer in sandbox.LAYERS if layer != "bubblewrap")

pytestmark = pytest.mark.needs_debian("libseccomp2", library="seccomp")


@pytest.fixture(scope="module")
def interpreter():
    """In /tmp, which bubblewrap covers, and readable by everybody."""
    with interpreter_in("/tmp") as made:
        yield made


@pytest.fixture(scope="module")
def places():
    """A canary that the modes of files let everybody read, unlike those in pytest's folders."""
    folder = Path(tempfile.mkdtemp(prefix="autograder-canary-", dir="/tmp"))
    folder.chmod(0o755)
    canary = folder / "canary.txt"
    canary.write_text("secret-canary", encoding="utf-8")
    canary.chmod(0o644)
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield {"canary": canary, "port": server.getsockname()[1], "suite": True}
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def namespaces():
    """Whether this machine lets bubblewrap work at all; a container may not."""
    if shutil.which("bwrap") is None:
        return False
    command = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def assert_closed(found):
    print(
        f"{found['tried']} hostile submissions as user {found['user']} on {found['isolation']} "
        f"({', '.join(found['layers'])}): {len(found['through'])} got through"
    )
    assert found["through"] == {}
    assert found["outlives"] is False


class TestNothingGetsThrough:
    @pytest.mark.needs_debian("bubblewrap", binary="bwrap")
    def test_as_another_user_with_bubblewrap(self, interpreter, places, namespaces):
        found = interpreter.run(OTHER, **places)
        assert_closed(found)
        assert found["isolation"] == ("strong+" if namespaces else "strong")
        assert ("bubblewrap" in found["missing"]) is not namespaces

    def test_as_another_user_without_bubblewrap(self, interpreter, places):
        found = interpreter.run(OTHER, layers=WITHOUT, **places)
        assert_closed(found)
        assert found["isolation"] == "strong"
        assert found["layers"] == ["landlock", "rlimits", "seccomp"]
        assert "only root" in found["missing"]["user"]
        assert set(found["children"]) == {found["user"]}

    def test_in_a_container_that_forbids_namespaces(self, interpreter, places):
        """As root, where each child then is a user of its own."""
        found = interpreter.run(forbid_namespaces=True, **places)
        assert_closed(found)
        assert found["isolation"] == "strong"
        assert "bubblewrap" in found["missing"]
        if ROOT:
            assert found["layers"] == ["user", "landlock", "rlimits", "seccomp"]
            one, two = found["children"]
            assert one != two
            assert min(one, two) >= 50_000

    def test_without_bubblewrap_where_this_interpreter_lies(self, places):
        """As root perhaps in a home that only root may enter: then children stay root."""
        with ZygotePool(layers=WITHOUT, words=False) as pool:
            package = Path(sandbox.__file__).parent
            tried, through = hostile.try_all(pool, {**places, "package": package})
            print(f"{tried} on {pool.isolation} ({pool.layers}): {len(through)} got through")
            assert through == {}
            assert pool.isolation == "strong"
            assert ("user" in pool.layers) is not ("user" in pool.missing)


class TestInterpreterInAClosedHome:
    @pytest.fixture
    def closed(self, interpreter):
        interpreter.folder.chmod(0o700)
        yield interpreter
        interpreter.folder.chmod(0o755)

    def test_with_bubblewrap(self, closed, places, namespaces):
        found = closed.run(**{**places, "suite": False})
        assert found["isolation"] == ("strong+" if namespaces else "strong")
        assert found["through"] == {}

    def test_children_of_root_cannot_be_other_users(self, closed, places):
        found = closed.run(**{**places, "suite": False, "layers": WITHOUT})
        assert (found["isolation"], found["through"]) == ("strong", {})
        assert "user" not in found["layers"]
        if ROOT:
            assert found["missing"]["user"].startswith(f"only root may read {closed.folder},")
            assert found["children"] == [0, 0]
        assert found["outlives"] is False


class TestWithoutLandlock:
    """“basic”, where it honestly holds."""

    LAYERS = ("rlimits", "seccomp")

    @pytest.fixture
    def course(self):
        folder = Path(tempfile.mkdtemp(prefix="autograder-course-", dir="/tmp"))
        folder.chmod(0o755)
        (folder / "solution.py").write_text("secret-canary", encoding="utf-8")
        yield folder
        shutil.rmtree(folder)

    def test_neither_bubblewrap_nor_users(self, course):
        with ZygotePool(layers=self.LAYERS) as pool:
            assert pool.isolation == "none"

    @pytest.mark.needs_debian("bubblewrap", binary="bwrap")
    def test_bubblewrap_hides_all_else(self, course, namespaces):
        with ZygotePool(layers=("bubblewrap", *self.LAYERS), secret=[course]) as pool:
            if not namespaces:
                assert pool.isolation == "none"
                return
            assert pool.isolation == "basic"
            for path in (course, course / "solution.py", "/etc/shadow", "/etc/passwd", __file__):
                raised, _ = hostile.run(pool, f"open({str(path)!r}).read()")
                assert raised["type"] == "FileNotFoundError"
            raised, _ = hostile.run(pool, "import os\nraise ValueError(os.listdir('/tmp'))")
            assert Path(bubblewrap.executable()).is_relative_to("/tmp") or raised["message"] == "[]"

    @pytest.mark.skipif(not ROOT, reason="only root can make children other users")
    def test_users_of_their_own_and_a_closed_course(self, interpreter, course, places):
        options = {**places, "suite": False, "course": course, "layers": ("user", *self.LAYERS)}
        course.chmod(0o700)
        assert interpreter.run(**options)["isolation"] == "basic"
        course.chmod(0o755)
        found = interpreter.run(**options)
        assert found["isolation"] == "none"
        assert found["missing"]["secrets"] == (
            f"a submission could read {course}: take it from others with chmod -R go="
        )


@pytest.mark.needs_debian("bubblewrap", binary="bwrap")
def test_what_bubblewrap_alone_stops(places, namespaces):
    """With no filter of system calls: no network, no writing, no strange processes."""
    if not namespaces:
        return
    sources = {
        "connect": f"import socket; socket.create_connection(('127.0.0.1', {places['port']}), 1)",
        "write": "open('/usr/autograder-canary', 'w')",
        "write to the root": "open('/autograder-canary', 'w')",
        "signal the grader": f"import os; os.kill({os.getpid()}, 0)",
    }
    with ZygotePool(layers=("bubblewrap", "rlimits")) as pool:
        assert pool.isolation == "none"
        for name, source in sources.items():
            raised, _ = hostile.run(pool, source)
            assert {"OSError"} & {*raised["bases"], raised["type"]}, name
        # the zygote is process 1 in there, which no signal from inside reaches
        before = pool.pids
        hostile.run(pool, "import os\nos.kill(os.getppid(), 9)\nos.kill(-1, 9)")
        assert hostile.wrong_after(pool) is None
        assert pool.pids == before


def test_the_rung_is_what_was_entered():
    level = sandbox.level
    assert level(sandbox.LAYERS) == "strong+"
    assert level(("bubblewrap", "landlock", "rlimits", "seccomp")) == "strong+"
    assert level(("landlock", "rlimits", "seccomp")) == "strong"
    assert level(("user", "landlock", "rlimits", "seccomp")) == "strong"
    assert level(("bubblewrap", "rlimits", "seccomp")) == "basic"
    assert level(("user", "rlimits", "seccomp")) == "basic"
    for left_out in ("rlimits", "seccomp"):
        assert level(set(sandbox.LAYERS) - {left_out}) == "none"
    assert level(("rlimits", "seccomp")) == "none"
    assert level(("bubblewrap", "landlock")) == "none"
    assert level(()) == "none"
