"""The trusted side: limits, answers, failures of the zygote, and nothing left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from autograder.observe import supervisor
from autograder.observe.pool import ZygotePool
from autograder.observe.protocol import Array
from autograder.observe.session import Limits, Refused, Stopped

ASKS = "def attempt(x):\n    return softmax(x) + 1\n"
LOOP = "def attempt():\n    while True: pass\n"


def zygote_pid(pool):
    return pool._zygotes[0]._process.pid


def wait_until(condition, seconds=5.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def is_gone(pid):
    """Whether a process has ended, be it reaped yet or not."""
    try:
        stat = Path("/proc", str(pid), "stat").read_text(encoding="utf-8")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def children_of(pid):
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path("/proc", entry, "stat").read_text(encoding="utf-8")
            except OSError:
                continue
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry))
    return found


class TestAnswers:
    """A call that the grader answers in place of the student's own function."""

    def test_the_answer_reaches_the_student(self, pool, observe):
        asked = []

        def answer(name, args):
            asked.append((name, args[0].data.tolist()))
            return Array("float64", (2,), np.array([0.25, 0.75]))

        with pool.session() as session:
            observe.load(session, ASKS)
            outcome = observe.call(
                session, "attempt", np.zeros(2), answered=("softmax",), answer=answer
            )
        assert asked == [("softmax", [0.0, 0.0])]
        assert outcome["value"].data.tolist() == [1.25, 1.75]

    def test_a_refusal_fails_the_students_call(self, pool, observe):
        def answer(name, args):
            raise Refused("64 calls are enough")

        with pool.session() as session:
            observe.load(session, ASKS)
            outcome = observe.call(
                session, "attempt", np.zeros(2), answered=("softmax",), answer=answer
            )
            assert outcome["raised"]["message"] == "64 calls are enough"
            observe.good(session)

    def test_without_an_answer_every_call_is_refused(self, pool, observe):
        with pool.session() as session:
            observe.load(session, ASKS)
            outcome = observe.call(session, "attempt", np.zeros(2), answered=("softmax",))
        assert "nobody answers for softmax" in outcome["raised"]["message"]

    def test_the_graders_time_is_not_the_students(self, pool, observe):
        def answer(name, args):
            time.sleep(0.6)
            return 1.0

        with pool.session(Limits(wall=0.5, total=0.5)) as session:
            observe.load(session, ASKS)
            outcome = observe.call(session, "attempt", 1.0, answered=("softmax",), answer=answer)
        assert outcome["value"] == 2.0

    def test_asking_for_ever_is_stopped(self, pool, observe, quick):
        source = "def attempt():\n    while True: softmax(1)\n"
        with pool.session(quick) as session:
            observe.load(session, source)
            with pytest.raises(Stopped) as stopped:
                observe.call(session, "attempt", answered=("softmax",), answer=lambda n, a: 1)
        assert stopped.value.reason == "timed_out"


class TestLimits:
    def test_the_total_is_over_all_requests(self, pool, observe):
        source = "import time\ndef attempt(): time.sleep(0.25)\n"
        with pool.session(Limits(wall=5, total=0.6)) as session:
            observe.load(session, source)
            observe.call(session, "attempt")
            observe.call(session, "attempt")
            with pytest.raises(Stopped) as stopped:
                observe.call(session, "attempt")
        assert stopped.value.message == (
            "Your code used up the 0.6 s that a whole submission has: "
            "look for a loop that is longer than it needs to be."
        )

    def test_a_stopped_session_stays_stopped_with_the_same_words(self, pool, observe, quick):
        with pool.session(quick) as session:
            observe.load(session, LOOP)
            with pytest.raises(Stopped) as first:
                observe.call(session, "attempt")
            with pytest.raises(Stopped) as second:
                observe.call(session, "attempt")
        assert second.value is first.value
        assert first.value.message == (
            "Your code gave no answer within 0.5 s, the limit for one request: "
            "look for a loop that never ends."
        )

    def test_what_was_printed_before_a_flood_is_kept(self, pool, observe):
        source = "def attempt():\n    print('first words')\n    while True: print('x' * 99)\n"
        with pool.session(Limits(output=5000)) as session:
            with pytest.raises(Stopped) as stopped:
                observe(session, source)
            assert session.log.startswith("first words\nxxx")
            assert len(session.log) == 5000
        assert stopped.value.message == (
            "Your code printed more than the 5000 bytes that a submission may print: "
            "remove the print from the loop."
        )

    def test_the_log_of_a_killed_loop_is_kept(self, pool, observe, quick):
        source = "def attempt():\n    print('before ü')\n    while True: pass\n"
        with pool.session(quick) as session:
            with pytest.raises(Stopped):
                observe(session, source)
            assert session.log == "before ü\n"

    def test_the_log_holds_the_end_of_a_line_and_survives_bad_bytes(self, pool, observe):
        source = (
            "import os\ndef attempt():\n    os.write(1, b'\\xff')\n    print('no end', end='')\n"
        )
        with pool.session() as session:
            observe(session, source)
        assert session.log == "\ufffdno end"

    def test_a_result_above_the_limit_is_not_read(self, observe):
        source = "import numpy\ndef attempt(): return numpy.ones(1 << 16)\n"
        with ZygotePool(body_limit=1 << 16) as pool, pool.session() as session:
            with pytest.raises(Stopped) as stopped:
                observe(session, source)
            assert session.log == ""
        assert stopped.value.reason == "crashed"
        assert "above the limit of 65536" in stopped.value.message

    def test_memory_error_is_an_exception_and_the_child_lives(self, pool, observe, quick):
        with pool.session(quick) as session:
            outcome = observe(session, "def attempt(): return bytearray(1 << 34)\n")
            assert outcome["raised"]["type"] == "MemoryError"
            observe.good(session)


class TestExplanation:
    """What an end means when more than one cause is possible."""

    def explain(self, status, cpu=0.0, resident=0, printed=b""):
        from autograder.observe.child import explain
        from autograder.observe.supervisor import Ended

        return explain(Ended(status, cpu, resident), Limits(memory=100), printed, 0).reason

    def test_reasons(self):
        assert self.explain(3 << 8) == "crashed"
        assert self.explain(0) == "crashed"
        assert self.explain(97 << 8) == "crashed"
        assert self.explain(95 << 8) == "out_of_memory"
        assert self.explain(signal.SIGSEGV) == "crashed"
        assert self.explain(signal.SIGSEGV, resident=99 << 20) == "out_of_memory"
        assert self.explain(signal.SIGABRT, printed=b"std::bad_alloc") == "out_of_memory"
        assert self.explain(signal.SIGKILL) == "out_of_memory"
        assert self.explain(signal.SIGKILL, cpu=60.5) == "timed_out"
        assert self.explain(signal.SIGXCPU) == "timed_out"


class TestZygote:
    """When it fails, no submission pays for it."""

    def test_killed_while_a_submission_runs(self, observe):
        with ZygotePool() as pool, pool.session() as session:
            observe.load(session, LOOP)
            threading.Timer(0.2, os.kill, (zygote_pid(pool), signal.SIGKILL)).start()
            with pytest.raises(Stopped) as stopped:
                observe.call(session, "attempt")
            assert stopped.value.reason == "infrastructure"
            assert "costs no points" in stopped.value.message
            with pool.session() as again:
                observe.good(again)

    def test_killed_between_submissions(self, observe):
        with ZygotePool() as pool:
            for _ in range(2):
                os.kill(zygote_pid(pool), signal.SIGKILL)
                with pool.session() as session:
                    observe.good(session)

    def test_stopped_dead_it_is_replaced(self, observe, monkeypatch):
        monkeypatch.setattr(supervisor, "REPLY_SECONDS", 0.3)
        with ZygotePool() as pool:
            os.kill(zygote_pid(pool), signal.SIGSTOP)
            with pool.session() as session:
                observe.good(session)

    def test_the_child_dies_with_it(self, observe):
        with ZygotePool() as pool, pool.session() as session:
            session.layers()
            zygote = zygote_pid(pool)
            (child,) = set(children_of(zygote)) & {session._pid}
            os.kill(zygote, signal.SIGKILL)
            wait_until(lambda: is_gone(child))

    def test_a_child_that_cannot_enter_is_not_the_students_fault(self, observe):
        """Fails closed: here at a limit that cannot be set."""
        with ZygotePool() as pool:
            with pool.session(Limits(cpu=-5)) as session, pytest.raises(Stopped) as stopped:
                observe.good(session)
            assert stopped.value.reason == "infrastructure"
            assert "the sandbox could not be entered" in stopped.value.message
            with pool.session() as session:
                observe.good(session)

    def test_what_it_cannot_import_is_said(self):
        from autograder.observe.supervisor import Supervisor, ZygoteDied

        zygote = Supervisor({"path": [], "folder": "/nonexistent", "framework": "numpy"})
        try:
            with pytest.raises(ZygoteDied, match="No module named 'numpy'"):
                zygote.wait_until_ready()
        finally:
            zygote.stop()

    def test_an_unknown_framework_is_a_mistake_of_the_caller(self):
        with pytest.raises(ValueError, match="use 'numpy' or 'torch'"):
            ZygotePool("jax")

    def test_it_ends_with_the_grader(self):
        code = textwrap.dedent(
            """
            import os, signal
            from autograder.observe.pool import ZygotePool
            pool = ZygotePool()
            session = pool.session()
            session.layers()
            print(pool._zygotes[0]._process.pid, session._pid, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
            """
        )
        grader = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        pids = grader.stdout.decode().split()
        assert len(pids) == 2, grader.stderr
        wait_until(lambda: all(is_gone(pid) for pid in pids))


class TestPool:
    def test_secrets_must_not_be_readable(self, tmp_path):
        inside = Path(np.__path__[0]) / "linalg"
        with pytest.raises(ValueError, match="would be able to read"):
            ZygotePool(secret=[inside])
        with pytest.raises(ValueError, match="would be able to read"):
            ZygotePool(secret=[Path(np.__path__[0]).parent])
        link = tmp_path / "solutions"
        link.symlink_to(inside)
        with pytest.raises(ValueError, match="would be able to read"):
            ZygotePool(secret=[link])

    def test_a_closed_pool_gives_no_session(self):
        pool = ZygotePool()
        pool.close()
        pool.close()
        with pytest.raises(RuntimeError, match="closed"):
            pool.session()

    def test_one_submission_does_not_see_another(self, pool, observe):
        with pool.session() as first, pool.session() as second:
            observe.load(first, "import numpy\nnumpy.pi = 3\nspoilt = True\n")
            source = "import numpy\ndef attempt(): return [numpy.pi > 3.1, 'spoilt' in globals()]"
            assert observe(second, source)["value"].data.tolist() == [True, False]

    def test_several_threads(self, observe):
        failures = []

        def work():
            try:
                for _ in range(10):
                    with pool.session() as session:
                        observe.good(session)
            except BaseException as error:
                failures.append(error)

        with ZygotePool(size=2) as pool:
            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert [zygote.busy for zygote in pool._zygotes] == [0, 0]
        assert failures == []

    def test_nothing_is_left_after_200_sessions(self, observe):
        with ZygotePool() as pool:
            zygote = zygote_pid(pool)

            def counts():
                wait_until(lambda: not children_of(zygote))
                return [len(os.listdir(f"/proc/{pid}/fd")) for pid in (os.getpid(), zygote)]

            before = counts()
            for number in range(200):
                session = pool.session(Limits(wall=0.05))
                if number % 3 == 0:
                    session.layers()
                if number % 20 == 0:
                    with pytest.raises(Stopped):
                        observe(session, "import os\ndef attempt(): os._exit(1)\n")
                session.close()
                session.close()
            assert counts() == before
            # the endings that nobody asked for are not kept either
            with pool.session() as session:
                observe.good(session)
            assert len(pool._zygotes[0]._ended) + len(pool._zygotes[0]._forgotten) <= 2
        assert not os.path.exists(f"/proc/{zygote}")
