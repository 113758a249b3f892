"""Submissions that change what stands beside them, so that wrong results look right."""

from tests.hostile.kinds import CRASHED, RIGHT, WRONG, Kind

patching = Kind("patching", WRONG)

# How a submission finds the worker's own modules, whatever was done to sys.modules.
FIND = """
import gc, sys

def find(name):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get('__name__') == 'autograder.observe.' + name:
            return frame.f_globals
        frame = frame.f_back
    gc.unfreeze()  # what the zygote has put out of sight
    return next(
        item for item in gc.get_objects()
        if type(item) is dict and item.get('__name__') == 'autograder.observe.' + name
    )
"""


def by_finding(body: str) -> str:
    """Code that runs `body` with `find` at hand, and returns zeros."""
    return f"{FIND}\n\ndef softmax(scores):\n    {body}\n    return 0 * scores"


patching(
    "comparisons of NumPy",
    "Has allclose, isclose and array_equal say yes.",
    """
    import numpy as np
    np.allclose = np.array_equal = np.isclose = lambda *a, **k: True
    np.core = np.linalg.norm = lambda *a, **k: 0.0
    """,
)
patching(
    "arithmetic of NumPy",
    "Has abs and subtract give zeros, as of a difference.",
    """
    import numpy as np
    np.abs = np.absolute = np.subtract = np.max = lambda *a, **k: np.zeros(1)
    """,
)
patching(
    "builtins",
    "Has abs, all, any, isinstance and max say what it likes.",
    """
    import builtins
    builtins.abs = lambda x: 0
    builtins.max = lambda *a, **k: 0
    builtins.all = builtins.any = lambda *a: True
    """,
    rf"{WRONG}|{CRASHED}",
)
patching(
    "isinstance",
    "Has everything be an instance of everything.",
    "import builtins; builtins.isinstance = builtins.issubclass = lambda *a: True",
    rf"{WRONG}|{CRASHED}",
)
patching(
    "type",
    "Has everything be an array.",
    "import builtins, numpy\nbuiltins.type = lambda *a: numpy.ndarray",
    rf"{WRONG}|{CRASHED}",
)
patching(
    "imports",
    "Answers every import with itself.",
    "import builtins, sys\nbuiltins.__import__ = lambda *a, **k: sys",
    rf"{WRONG}|{CRASHED}",
)
patching(
    "what is described",
    "Has the worker describe every result as right.",
    by_finding("find('worker')['describe'] = lambda *a, **k: {'outcome': 'passed', 'score': 4.0}"),
)
patching(
    "what is run",
    "Has the worker run nothing and report that all is well.",
    by_finding("find('worker')['run'] = lambda *a, **k: [{'value': None, 'outcome': 'passed'}]"),
)
patching(
    "what is replied",
    "Has the worker reply with nothing at all.",
    by_finding("find('worker')['_reply'] = lambda *a, **k: None"),
    r"^timed_out: ",
)
patching(
    "what is encoded",
    "Has the protocol encode a verdict in place of each result.",
    by_finding("find('protocol')['encode'] = lambda value: b'\\x05\\x06\\0\\0\\0passed'"),
    CRASHED,
)
patching(
    "what a frame is",
    "Has every frame be of another kind.",
    by_finding("find('protocol')['pack_frame'] = lambda *a: b'passed' * 9"),
    CRASHED,
)
patching(
    "what an argument is",
    "Has every array be one whose softmax it knows: zeros.",
    by_finding(
        "import numpy; find('values')['make_array'] = lambda plain: numpy.zeros(plain.shape)"
    ),
)
patching(
    "the question",
    "Writes into its argument what its answer would be the answer to.",
    "scores[...] = 0; return scores + 1 / scores.shape[0]",
    rf"{WRONG}.*(entries|values)",
)
patching(
    "the exercise",
    "Defines itself anew in the worker's own namespace.",
    """
    import sys
    frame = sys._getframe().f_back
    frame.f_locals.get('scene', scores)
    globals()['softmax'] = 'passed'
    """,
    rf"{WRONG}|^error: ",
)
patching(
    "modules",
    "Replaces the grader's modules, by name.",
    """
    import sys, types
    fake = types.ModuleType('fake')
    fake.judge = fake.evaluate = fake.compare = lambda *a, **k: None
    for name in ('autograder', 'autograder.judge', 'autograder.observe.worker', 'numpy'):
        sys.modules[name] = fake
    """,
    rf"{WRONG}|{CRASHED}",
)
patching(
    "no modules",
    "Empties sys.modules.",
    "import sys; sys.modules.clear()",
    r"^(failed|crashed|timed_out|error): ",
)
patching(
    "tracing",
    "Watches the worker with settrace, and changes its locals on the way.",
    """
    import sys
    def watch(frame, event, argument):
        if 'result' in frame.f_locals:
            frame.f_locals['result'] = 'passed'
        return watch
    sys.settrace(watch)
    """,
)
patching(
    "profiling",
    "Does the same with setprofile.",
    "import sys; sys.setprofile(lambda frame, event, argument: frame.f_locals.clear())",
    rf"{WRONG}|{CRASHED}|^error: ",
)
patching(
    "at exit",
    "Puts off what it does until the process ends.",
    """
    import atexit, os, sys
    atexit.register(os.write, 4, b'passed' * 9)
    sys.exitfunc = lambda: os.write(4, b'passed' * 9)
    """,
)
patching(
    "at collection",
    "Puts off what it does until memory is collected.",
    """
    import gc, os
    class Late:
        def __del__(self): os.write(4, b'passed' * 9)
    gc.callbacks.append(lambda *a: os.write(4, b'passed' * 9))
    a, b = Late(), Late()
    a.other, b.other = b, a
    del a, b
    gc.collect()
    """,
    CRASHED,
)
patching(
    "standard output",
    "Replaces standard output by something that cannot be flushed.",
    """
    import sys
    class Out:
        def write(self, text): return len(text)
        def flush(self): raise SystemExit('passed')
    sys.stdout = sys.stderr = sys.__stdout__ = Out()
    """,
)
patching(
    "closed output",
    "Closes standard output, which the worker flushes before it replies.",
    "import sys; sys.stdout.close()",
    CRASHED,
)
patching(
    "exceptions",
    "Has no exception be one.",
    """
    import builtins
    builtins.Exception = builtins.BaseException = int
    builtins.TypeError = builtins.ValueError = KeyError
    raise RuntimeError('passed')
    """,
    r"^(error|crashed): ",
)
patching(
    "hooks",
    "Has every uncaught exception be a success.",
    """
    import os, sys
    sys.excepthook = sys.unraisablehook = lambda *a: os._exit(0)
    raise RuntimeError('passed')
    """,
    r"^error: .*RuntimeError",
)
patching(
    "constants in code",
    "Changes the worker's code object in place, by ctypes.",
    by_finding(
        "worker = find('worker'); worker['run'].__code__ = (lambda *a, **k: [{'value': 4.0}])"
        ".__code__.replace(co_freevars=worker['run'].__code__.co_freevars)"
    ),
)
patching(
    "small numbers",
    "Changes what 0 is, for everybody in the process.",
    """
    import ctypes
    ctypes.memmove(id(0) + 24, id(1) + 24, 4)
    """,
    r"^(failed|crashed|timed_out|error): ",
)
patching(
    "random numbers",
    "Fixes every generator, so that its answer suits the case.",
    """
    import numpy as np, random
    np.random.seed = np.random.default_rng = random.seed = lambda *a: None
    """,
    rf"{WRONG}|{CRASHED}",
)
patching(
    "a verdict in words",
    "Prints what a grader may look for.",
    """
    print('{"score": 4.0, "outcome": "passed"}')
    print('11 passed in 0.01s')
    return 4.0
    """,
)
patching(
    "a test of its own",
    "Defines names that test runners look for.",
    """
    def softmax(scores):
        return 0 * scores

    def check(name): return 4.0
    def test_softmax(): pass
    __all__ = ['softmax']
    CHECKS = {'softmax': lambda call: None}
    """,
)
patching(
    "right after all",
    "Tampers with whatever it finds, and has it right: the points are its own.",
    """
    import builtins, gc, numpy as np
    def softmax(scores):
        np.allclose = lambda *a, **k: True
        builtins.sorted = None
        e = np.exp(scores - (m := scores.max(axis=0)))
        return e / e.sum(axis=0)
    """,
    RIGHT,
    earns=("softmax",),
)
