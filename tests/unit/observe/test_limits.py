"""Every limit of a submission: it holds, and its message names it and a next step."""

import signal
import subprocess
import sys

import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from autograder.observe.pool import ZygotePool
from autograder.observe.session import Limits, Stopped
from tests.unit.observe.processes import is_gone, pid_of, wait_until

LOOP = "def attempt():\n    while True: pass\n"


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

    def test_open_files(self, pool, observe):
        source = "import os\ndef attempt():\n    while True: os.dup(0)\n"
        with pool.session(Limits(files=20)) as session:
            raised = observe(session, source)["raised"]
            count = "import os\ndef attempt():\n    return [os.dup(0) for _ in range(14)][-1]\n"
            with pool.session(Limits(files=20)) as another:
                assert observe(another, count)["value"] == 18
        assert raised["message"] == (
            "[Errno 24] Too many open files (a submission may have 20 files open: close each one, "
            "as `with open(…)` does)"
        )

    def test_memory(self, pool, observe):
        with pool.session(Limits(memory=100)) as session:
            raised = observe(session, "def attempt(): return bytes(101 << 20)\n")["raised"]
            assert len(observe(session, "def attempt(): return str(len(bytes(50 << 20)))")) > 0
        assert raised["type"] == "MemoryError"
        assert raised["message"] == (
            "a submission may use 100 MiB: look for an array that grows in a loop or has an axis "
            "too many"
        )

    @pytest.mark.parametrize(
        "source",
        [
            "import os; os.fork()",
            "import subprocess; subprocess.run(['true'])",
            "import os; os.system('true')",
            "import threading; threading.Thread(target=print).start()",
            "from concurrent.futures import ThreadPoolExecutor as T; T().submit(print)",
        ],
    )
    def test_processes(self, source, pool, observe):
        with pool.session() as session:
            raised = observe(session, f"def attempt():\n    {source}\n")["raised"]
            observe.good(session)
        assert raised["message"].endswith(
            "a submission may start no processes or threads beside its own: do the work in this one"
        )

    def test_more_processes_cannot_be_given(self, pool):
        with pytest.raises(ValueError, match="leave them at 0"):
            pool.session(Limits(processes=1))

    @pytest.mark.parametrize(
        ("source", "words"),
        [
            ("open('/tmp/x', 'w')", "may not write, make or delete files"),
            ("import os; os.mkdir('/tmp/x')", "may not write, make or delete files"),
            ("import os; os.remove('/tmp/x')", "may not write, make or delete files"),
            ("import socket; socket.create_connection(('::1', 1))", "may not use the network"),
            ("import os; os.kill(1, 9)", "may not send signals"),
        ],
    )
    def test_what_is_not_a_number_has_words_too(self, source, words, pool, observe):
        with pool.session() as session:
            raised = observe(session, f"def attempt():\n    {source}\n")["raised"]
        assert raised["type"] == "PermissionError"
        assert words in raised["message"]

    def test_standard_output_can_still_be_opened_by_its_number(self, pool, observe):
        source = "import os\ndef attempt():\n    os.fdopen(os.dup(1), 'w').write('printed')\n"
        with pool.session() as session:
            assert "raised" not in observe(session, source)
        assert session.log == "printed"

    def test_less_than_was_promised_is_not_the_students_fault(self, observe):
        """Under a limit of the shell's, for instance."""
        code = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
from autograder.observe.pool import ZygotePool
from autograder.observe.supervisor import ZygoteDied
try:
    ZygotePool()
except ZygoteDied as fault:
    print(fault)
"""
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8"
        )
        if done.stdout:  # where the interpreter itself takes more than 1 GiB of addresses
            assert "the grader itself may have no more than AS 2147483648 (ulimit)" in done.stdout


class TestCertainDeath:
    """Whatever it is doing, a process is gone once its session says that it was stopped."""

    @pytest.mark.parametrize(
        "source",
        [
            "import signal\n    for n in range(1, 65):\n        if n not in (9, 19, 32, 33):\n"
            "            signal.signal(n, signal.SIG_IGN)\n    while True: pass",
            "import ctypes; ctypes.PyDLL(None).sleep(1000)",
            "import os; os.read(3, 1)",
            "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
        ],
    )
    def test_by_the_clock(self, source, pool, observe, quick):
        with pool.session(quick) as session:
            observe.load(session, f"def attempt():\n    {source}\n")
            pid = pid_of(session)
            with pytest.raises(Stopped, match=r"within 0\.5 s"):
                observe.call(session, "attempt")
            wait_until(lambda: is_gone(pid), 1.0)


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
        # something killed it that took little: the machine, or an administrator
        assert self.explain(signal.SIGKILL, resident=20 << 20) == "infrastructure"
        assert self.explain(signal.SIGKILL, resident=60 << 20) == "out_of_memory"
        assert self.explain(signal.SIGKILL, cpu=60.5) == "timed_out"
        assert self.explain(signal.SIGXCPU) == "timed_out"
