"""Trees are built by one thread at a time, whatever a garbage collection runs in between."""

import gc
import threading
import time

import pytest

from autograder.source_trees import parse_expression, parse_source


def test_threads_with_a_callback_of_the_garbage_collector():
    """Without the lock, some of these raise SystemError on CPython 3.11."""
    faults = []

    def work():
        try:
            for _ in range(150):
                parse_source("def f(x):\n    return (x + 1, [x, {x: x}])\n" * 40)
        except SystemError as fault:
            faults.append(fault)

    def switch(phase, info):
        time.sleep(0)  # lets another thread run

    gc.callbacks.append(switch)
    try:
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.callbacks.remove(switch)
    assert faults == []


def test_exceptions_pass_through_and_free_the_lock():
    for parse in (parse_source, parse_expression):
        with pytest.raises(SyntaxError):
            parse("x +")
    assert parse_expression("n_q * n_k").op.__class__.__name__ == "Mult"
