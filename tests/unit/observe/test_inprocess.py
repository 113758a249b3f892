"""Observing live objects: the same as from another process, and nothing is left behind."""

import threading
import time

import numpy as np
import pytest

from autograder.observe.inprocess import observe
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
