"""Observing live objects: the same as from another process, and nothing is left behind."""

import random
import threading
import time

import numpy as np
import pytest

from autograder.observe import worker
from autograder.observe.inprocess import observe, random_state_kept
from autograder.observe.session import Refused
from autograder.program import Call, Program


def one(function, *args, **options):
    (found,) = observe({"f": function, **options.pop("names", {})}, Program((Call("f", args),)))
    return found


def test_a_value():
    found = one(np.square, np.arange(3.0))
    assert found.value.data.tolist() == [0, 1, 4]
    assert not found.value.data.flags.writeable  # as what came over the wire


def test_lines_of_live_code():
    names = {"__name__": "live"}
    exec(compile("def f(x):\n    y = x\n    return y / 0\n", "<cell>", "exec"), names)
    (found,) = observe(names, Program((Call("f", (1,)),)))
    assert (found.raised.line, found.raised.cell, found.raised.function) == (3, None, "f")


def test_somebody_s_wish_to_stop():
    def f():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        one(f)


def test_the_namespace_is_not_theirs():
    names = {"f": lambda: 1}
    observe(names, Program((Call("f"),)))
    assert list(names) == ["f"]


def test_a_refusal_is_an_exception_of_the_call():
    def ask(question):
        raise Refused("no")

    names = {}
    exec("def f(): return g()", names)
    (found,) = observe(names, Program((Call("f"),), answered=("g",)), ask)
    assert (found.raised.type_name, found.raised.message) == ("RuntimeError", "no")
    assert "g" not in names


def states():
    return random.getstate(), np.random.get_state()[1].tolist(), np.random.get_state()[2:]


class TestGlobalGenerators:
    """They are left as they were, a normal deviate that is kept for the next call included."""

    @pytest.fixture(autouse=True)
    def some_state(self):
        random.seed(1)
        np.random.seed(2)
        np.random.standard_normal()

    def test_after_one_program(self):
        before = states()
        one(np.random.random)
        assert states() == before

    def test_after_a_block_of_several(self, monkeypatch):
        before, saved = states(), []
        real = worker.random_state
        monkeypatch.setattr(worker, "random_state", lambda: saved.append(1) or real())
        with random_state_kept():
            one(np.random.random)
            with random_state_kept():
                first = one(np.random.random).value
            assert states() != before
            assert one(np.random.random).value == first  # each program has its own seed
        assert states() == before and len(saved) == 1
        one(np.random.random)
        assert states() == before and len(saved) == 2

    def test_after_a_block_that_raises(self):
        before = states()
        with pytest.raises(ZeroDivisionError), random_state_kept():
            one(np.random.random)
            raise ZeroDivisionError
        assert states() == before

    def test_after_blocks_of_two_threads_that_overlap(self):
        before, inside, done = states(), threading.Event(), threading.Event()

        def other():
            with random_state_kept():
                inside.set()
                done.wait()

        thread = threading.Thread(target=other)
        with random_state_kept():
            thread.start()
            inside.wait()
            one(np.random.random)
        one(np.random.random)
        done.set()
        thread.join()
        assert states() == before


def test_several_threads_do_not_disturb_each_other():
    program = Program((Call("f"),), seed=3)

    def f():
        found = []
        for _ in range(20):
            found.append(float(np.random.rand()))
            time.sleep(0)  # let the others have a turn
        return found

    alone = observe({"f": f}, program)[0].value.data.tolist()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(observe({"f": f}, program)[0].value))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [value.data.tolist() for value in found] == [alone] * 8


def test_global_generators_are_put_back():
    before = np.random.get_state()[1].tolist()
    observe({"f": np.random.normal}, Program((Call("f"),)))
    assert np.random.get_state()[1].tolist() == before
