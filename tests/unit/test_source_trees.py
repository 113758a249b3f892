"""Trees are built by one thread at a time, whatever a garbage collection runs in between."""

import gc
import threading
import time
from pathlib import Path

import pytest

from autograder import source_trees
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


# They run in one thread, before a class is graded or not at all.
ALONE = {"source_trees.py", "publishing.py", "quiz/loading.py", "leaks/secrets.py"}


def test_whatever_runs_in_several_threads_builds_trees_here():
    package = Path(source_trees.__file__).parent
    others = {
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "ast.parse(" in path.read_text("utf-8")
    }
    assert others == ALONE


def test_exceptions_pass_through_and_free_the_lock():
    for parse in (parse_source, parse_expression):
        with pytest.raises(SyntaxError):
            parse("x +")
    assert parse_expression("n_q * n_k").op.__class__.__name__ == "Mult"
