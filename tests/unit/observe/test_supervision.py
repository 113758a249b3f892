"""When a zygote fails, it is replaced, no submission pays for it, and nothing is left behind."""

import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from autograder.evaluation import evaluate
from autograder.grading import Assignment
from autograder.observe import supervisor
from autograder.observe.pool import ZygotePool
from autograder.observe.session import Limits, Stopped
from autograder.observe.supervisor import Supervisor, ZygoteDied
from tests.unit.courses import NAME, RIGHT, make_course, submit
from tests.unit.observe.processes import is_gone, pid_of, wait_until

LOOP = "def attempt():\n    while True: pass\n"

pytestmark = pytest.mark.needs_debian("libseccomp2", library="seccomp")


@pytest.fixture
def pool():
    """A zygote of one's own, to be killed."""
    with ZygotePool() as pool:
        yield pool


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(supervisor, "REPLY_SECONDS", 0.3)


def kill(pool, number=signal.SIGKILL):
    os.kill(pool.pids[0], number)


def starve(pool):
    """Leave the zygote no memory beyond what it has."""
    resource.prlimit(pool.pids[0], resource.RLIMIT_AS, (1 << 20, 1 << 20))


class TestKilled:
    def test_while_a_submission_runs(self, pool, observe):
        with pool.session() as session:
            observe.load(session, LOOP)
            threading.Timer(0.2, kill, (pool,)).start()
            with pytest.raises(Stopped) as stopped:
                observe.call(session, "attempt")
        assert stopped.value.reason == "infrastructure"
        assert "costs no points" in stopped.value.message
        with pool.session() as again:
            observe.good(again)

    def test_between_submissions(self, pool, observe):
        before = pool.isolation
        for _ in range(2):
            kill(pool)
            with pool.session() as session:
                observe.good(session)
                assert set(session.layers()) >= set(pool.layers)
        assert pool.isolation == before

    def test_with_what_is_around_it(self, pool, observe):
        """bubblewrap's own process, where there is one."""
        pool._zygotes[0]._process.kill()
        wait_until(lambda: is_gone(pool.pids[0]))
        with pool.session() as session:
            observe.good(session)

    def test_its_children_die_with_it(self, pool):
        with pool.session() as session:
            session.layers()
            child = pid_of(session)
            assert not is_gone(child)
            kill(pool)
            wait_until(lambda: is_gone(child))

    def test_a_replacement_with_less_around_it_is_not_used(self, pool, observe):
        """Nothing goes on with less than was recorded."""
        if not pool._wrap:
            pool.layers = ("bubblewrap", *pool.layers)  # as if it had been there before
        pool._wrap = []
        kill(pool)
        with pool.session() as session, pytest.raises(Stopped) as stopped:
            observe.good(session)
        assert stopped.value.reason == "infrastructure"
        assert "the sandbox had layers" in stopped.value.message


class TestWedged:
    """A stopped process is alive and answers nothing: every wait for it is bounded."""

    def test_before_a_submission(self, pool, observe, impatient):
        kill(pool, signal.SIGSTOP)
        with pool.session() as session:
            observe.good(session)

    def test_when_a_submission_ends(self, pool, observe, impatient):
        source = "import os\ndef attempt(): os._exit(3)\n"
        with pool.session() as session:
            observe.load(session, source)
            kill(pool, signal.SIGSTOP)
            started = time.monotonic()
            with pytest.raises(Stopped) as stopped:
                observe.call(session, "attempt")
            assert time.monotonic() - started < 3
        assert stopped.value.reason == "infrastructure"
        assert "did not answer within 0.3 s" in stopped.value.message
        with pool.session() as session:
            observe.good(session)

    def test_a_running_submission_does_not_notice(self, pool, observe):
        with pool.session() as session:
            session.layers()
            kill(pool, signal.SIGSTOP)
            observe.good(session)

    def test_a_loop_is_stopped_all_the_same(self, pool, observe, quick):
        with pool.session(quick) as session:
            observe.load(session, LOOP)
            child = pid_of(session)
            kill(pool, signal.SIGSTOP)
            with pytest.raises(Stopped, match="never ends"):
                observe.call(session, "attempt")
            wait_until(lambda: is_gone(child))

    def test_closing(self, observe):
        with ZygotePool() as pool:
            kill(pool, signal.SIGSTOP)
            started = time.monotonic()
        assert time.monotonic() - started < 2
        assert is_gone(pool.pids[0])

    def test_while_it_starts(self, monkeypatch):
        monkeypatch.setattr(supervisor, "START_SECONDS", 0.2)
        started = time.monotonic()
        with pytest.raises(ZygoteDied, match=r"did not answer within 0\.2 s"):
            ZygotePool("torch")  # takes longer to import, wherever it is installed
        assert time.monotonic() - started < 5


class TestOutOfMemory:
    def test_the_submission_in_flight_is_not_at_fault(self, pool, observe):
        starve(pool)
        with pool.session() as session, pytest.raises(Stopped) as stopped:
            observe.good(session)
        assert stopped.value.reason == "infrastructure"
        with pool.session() as session:
            observe.good(session)

    def test_it_ends_of_it(self, pool, observe):
        """Where it can no longer take a message, it ends and is replaced at once."""
        resource.prlimit(pool.pids[0], resource.RLIMIT_NOFILE, (4, 4))
        with pool.session() as session:
            observe.good(session)


class TestEvaluation:
    """What a class sees of it: nothing, and at worst a score left open."""

    @pytest.fixture
    def assignment(self, tmp_path):
        course = make_course(tmp_path)
        return Assignment.draw(course, NAME, "a"), submit(course, "one", RIGHT)

    def grade(self, pool, assignment, harm, times):
        drawn, folder = assignment
        left = [times]

        def open_session():
            session = pool.session(Limits(wall=5.0))
            reply_to = session.reply_to

            def harmed(program):
                if left[0] > 0:
                    left[0] -= 1
                    harm(pool)
                return reply_to(program)

            session.reply_to = harmed
            return session

        (result,) = evaluate(drawn.choose(folder).submission, drawn.specs, open_session)
        return result

    def killed(self, pool):
        kill(pool)
        wait_until(lambda: is_gone(pool.pids[0]))

    def test_once_is_made_good(self, pool, assignment):
        result = self.grade(pool, assignment, self.killed, 1)
        assert (result.outcome, result.score) == ("passed", 2.0)

    def test_twice_leaves_the_score_open(self, pool, assignment):
        result = self.grade(pool, assignment, self.killed, 2)
        assert (result.outcome, result.score) == ("infrastructure", None)
        assert self.grade(pool, assignment, self.killed, 0).outcome == "passed"


class TestStart:
    def test_a_child_that_cannot_enter_is_not_the_students_fault(self, pool, observe):
        """Fails closed: here at a limit that cannot be set."""
        with pool.session(Limits(cpu=-5)) as session, pytest.raises(Stopped) as stopped:
            observe.good(session)
        assert stopped.value.reason == "infrastructure"
        assert "the sandbox could not be entered" in stopped.value.message
        assert "a negative limit would be none" in stopped.value.message
        with pool.session() as session:
            observe.good(session)

    def test_what_it_cannot_import_is_said(self):
        config = {"path": [], "folder": os.path.dirname(supervisor.__file__)}
        zygote = Supervisor({**config, "framework": "numpy"})
        try:
            with pytest.raises(ZygoteDied, match="No module named 'numpy'"):
                zygote.wait_until_ready()
        finally:
            zygote.stop()

    def test_what_is_around_it_is_quoted_when_it_fails(self):
        wrap = ["/bin/sh", "-c", "echo 'no namespaces here' >&2; exit 1"]
        zygote = Supervisor({}, wrap)
        try:
            with pytest.raises(ZygoteDied, match=r"has died \(no namespaces here\)"):
                zygote.wait_until_ready()
        finally:
            zygote.stop()

    def test_what_cannot_be_executed(self):
        with pytest.raises(FileNotFoundError):
            supervisor.launch(["/nonexistent"])

    def test_an_unknown_framework_is_a_mistake_of_the_caller(self):
        with pytest.raises(ValueError, match="use 'numpy' or 'torch'"):
            ZygotePool("jax")

    def test_it_outlives_the_thread_that_started_it(self, observe):
        """It dies with its parent, which for the kernel is a thread."""
        pools = []
        thread = threading.Thread(target=lambda: pools.append(ZygotePool()))
        thread.start()
        thread.join()
        with pools[0] as pool, pool.session() as session:
            before = pool.pids
            time.sleep(0.1)
            observe.good(session)
            assert pool.pids == before
            assert not is_gone(before[0])


@pytest.mark.parametrize("stopped", [False, True])
def test_it_ends_with_the_grader(stopped):
    """Killed, it cannot say good-bye; a stopped zygote could not hear it."""
    code = textwrap.dedent(
        f"""
        import os, signal
        from autograder.observe.pool import ZygotePool
        from tests.unit.observe.processes import pid_of
        pool = ZygotePool()
        session = pool.session()
        session.layers()
        print(pool.pids[0], pool._zygotes[0]._process.pid, pid_of(session), flush=True)
        if {stopped}:
            os.kill(pool.pids[0], signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )
    grader = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    pids = grader.stdout.decode().split()
    assert len(pids) == 3, grader.stderr
    wait_until(lambda: all(is_gone(pid) for pid in pids))
