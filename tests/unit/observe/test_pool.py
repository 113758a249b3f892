"""The trusted side: answers, several at a time, and nothing left behind."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from autograder.observe.pool import ZygotePool
from autograder.observe.protocol import Array, Prepared
from autograder.observe.session import Limits, Refused, Stopped
from autograder.program import Call, Program
from autograder.wire import program_to_wire
from tests.unit.observe.processes import children_of, wait_until

ASKS = "def attempt(x):\n    return softmax(x) + 1\n"


class TestAnswers:
    """A call that the grader answers in place of the student's own function."""

    def test_the_answer_reaches_the_student(self, pool, observe):
        asked = []

        def answer(question):
            asked.append((question.name, question.args[0].data.tolist()))
            return Array("float64", (2,), np.array([0.25, 0.75]))

        with pool.session() as session:
            observe.load(session, ASKS)
            outcome = observe.call(
                session, "attempt", np.zeros(2), answered=("softmax",), answer=answer
            )
        assert asked == [("softmax", [0.0, 0.0])]
        assert outcome["value"].data.tolist() == [1.25, 1.75]

    def test_a_refusal_fails_the_students_call(self, pool, observe):
        def answer(question):
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
        def answer(question):
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
                observe.call(session, "attempt", answered=("softmax",), answer=lambda question: 1)
        assert stopped.value.reason == "timed_out"


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
            (zygote,) = pool.pids

            def counts():
                wait_until(lambda: not children_of(zygote))
                # that of a process that hides its memory, only root may look at
                seen = (os.getpid(), zygote) if os.geteuid() == 0 else (os.getpid(),)
                return [len(os.listdir(f"/proc/{pid}/fd")) for pid in seen]

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


def test_programs_sent_ahead_are_answered_in_order_and_end_with_the_child(pool):
    """What was sent ahead of a crash is not lost on the grader: it knows which one it was."""
    source = "import os\ndef add(x):\n    if x == 3:\n        os._exit(7)\n    return x + 1"
    programs = [
        Prepared(program_to_wire(Program((Call("add", (number,)),)))) for number in (1, 2, 3, 4)
    ]
    with pool.session(Limits(wall=20.0)) as session:
        loaded = session.load([{"source": source, "line": 1, "cell": "c", "binds": ["add"]}], {})
        assert loaded == [None]
        session.ahead(programs)
        assert session.run(programs[0])[0]["value"] == 2
        assert session.run(programs[1])[0]["value"] == 3
        for program in programs[2:]:
            with pytest.raises(Stopped, match="exit code 7") as caught:
                session.run(program)
            assert caught.value.reason == "crashed"


def test_another_program_than_the_one_sent_ahead_is_a_mistake_of_ours(pool):
    programs = [Prepared(program_to_wire(Program((Call("abs", (n,)),)))) for n in (1, 2)]
    with pool.session(Limits()) as session:
        session.load([], {})
        session.ahead(programs)
        with pytest.raises(RuntimeError, match="sent ahead"):
            session.run(programs[1])


def test_memory_is_gathered_in_huge_pages_where_the_kernel_can():
    code = """
import mmap, sys
from autograder.observe import kernel
kept = mmap.mmap(-1, 16 << 20, flags=mmap.MAP_PRIVATE)
kept.write(b"x" * (16 << 20))
gathered = kernel.gather_pages()
huge = sum(
    int(line.split()[1]) for line in open("/proc/self/smaps_rollup") if "AnonHuge" in line
)
assert huge >= gathered * 1024, (huge, gathered)
assert kept[:4] == b"xxxx" and kept[-4:] == b"xxxx"
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


class TestTaught:
    """Programs that the zygotes hold: sessions send their numbers."""

    @pytest.fixture
    def programs(self):
        return [
            Prepared(program_to_wire(Program((Call("double", (np.arange(size),)),))))
            for size in (3, 4)
        ]

    @staticmethod
    def results(pool, observe, programs):
        """What each gives, and how many bytes it was sent as."""
        with pool.session() as session:
            observe.load(session, "def double(x):\n    return 2 * x")
            sent = [len(session._body_of(program)) for program in programs]
            session.ahead(programs)
            found = [session.run(program)[0]["value"].data.tolist() for program in programs]
        return found, sent

    WANTED: ClassVar = [[0, 2, 4], [0, 2, 4, 6]]

    def test_they_are_not_sent(self, pool, observe, programs):
        found, sent = self.results(pool, observe, programs)
        assert (found, min(sent) > 100) == (self.WANTED, True)
        pool.teach(programs)
        found, sent = self.results(pool, observe, programs)
        assert (found, max(sent) < 16) == (self.WANTED, True)

    def test_one_after_the_other_without_sending_ahead(self, pool, observe, programs):
        pool.teach(programs)
        with pool.session() as session:
            observe.load(session, "def double(x):\n    return 2 * x")
            replies = [session.reply_to(program) for program in reversed(programs)]
            found = [session.read(reply)[0]["value"].data.tolist() for reply in replies]
        assert found == self.WANTED[::-1]

    def test_others_are_sent_whole(self, pool, observe, programs):
        pool.teach(programs[:1])
        assert self.results(pool, observe, programs)[0] == self.WANTED
        pool.teach(programs[1:])  # which are all that is held then
        found, sent = self.results(pool, observe, programs)
        assert (found, sent[0] > 100, sent[1] < 16) == (self.WANTED, True, True)

    def test_what_a_submission_does_to_them_is_its_own_loss(self, pool, observe, programs):
        pool.teach(programs)
        spoils = (
            "import gc\n"
            "for held in gc.get_objects():\n"
            "    if type(held) is dict and 'steps' in held:\n"
            "        held['steps'].clear()\n"
            "def double(x):\n    return 2 * x"
        )
        with pool.session() as session:
            observe.load(session, spoils)
            session.run(programs[0])
        assert self.results(pool, observe, programs)[0] == self.WANTED

    def test_a_zygote_that_takes_the_place_of_one_that_died(self, observe, programs):
        with ZygotePool() as pool:
            pool.teach(programs)
            (died,) = pool.pids
            os.kill(died, 9)
            assert self.results(pool, observe, programs)[0] == self.WANTED
            found, sent = self.results(pool, observe, programs)
            assert pool.pids != [died]
            assert (found, max(sent) < 16) == (self.WANTED, True)

    def test_one_that_dies_while_it_is_taught(self, observe, programs):
        with ZygotePool() as pool:
            os.kill(pool.pids[0], 9)
            pool.teach(programs)
            assert self.results(pool, observe, programs)[0] == self.WANTED
