"""Submissions that search the process for what they are not told: there is nothing to find."""

from tests.hostile.kinds import CRASHED, WRONG, Kind

searching = Kind("searching", WRONG)

searching(
    "an expected array",
    "Looks through all objects for an array of the right shape whose columns sum to 1.",
    """
    import gc, numpy as np
    gc.unfreeze()  # what the zygote has put out of sight
    for item in gc.get_objects():
        for found in (item, *(item.values() if type(item) is dict else ())):
            if type(found) is np.ndarray and found.shape == scores.shape and found is not scores:
                if found.dtype.kind == 'f' and np.allclose(found.sum(axis=0), 1):
                    return found
    """,
)
searching(
    "an expected array, by its references",
    "Follows references from everything that can be reached.",
    """
    import gc, numpy as np
    if len(softmax.__dict__) > 0:
        return 0 * scores
    softmax.tried = True  # once is enough
    gc.unfreeze()
    seen, todo = set(), [globals(), *gc.get_objects()]
    while todo and len(seen) < 300_000:
        item = todo.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        todo += gc.get_referents(item)
        if type(item) is np.ndarray and item.shape == scores.shape and item is not scores:
            if item.dtype.kind == 'f' and np.allclose(item.sum(axis=0), 1):
                return item
    """,
    rf"{WRONG}|^(timed_out|out_of_memory): ",
)
searching(
    "frames",
    "Looks for what the caller's callers call expected, reference, seed or solution.",
    """
    import sys
    frame, found = sys._getframe().f_back, []
    while frame is not None:
        for name, value in (*frame.f_locals.items(), *frame.f_globals.items()):
            if any(word in name.lower() for word in ('expect', 'solution', 'reference', 'secret')):
                found.append((name, value))
        frame = frame.f_back
    if found:
        got(found)
    """,
)
searching(
    "modules",
    "Looks for a module of the grader that has the solution, or could load it.",
    """
    import gc, sys
    gc.unfreeze()
    names = {m.__name__ for m in gc.get_objects() if type(m) is type(sys)} | set(sys.modules)
    inside = [n for n in names if n.startswith('autograder')]
    secret = ('judge', 'pack', 'grading', 'pool', 'run', 'quiz', 'evaluation')
    if [n for n in inside if n.split('.')[-1] in secret]:
        got(inside)
    if [n for n in names if 'solution' in n]:
        got(names)
    """,
)
searching(
    "names of ours",
    "Imports the judge.",
    "from autograder.judge import judge; return judge(scores)",
    r"^(failed|error): ",
)
searching(
    "files of ours",
    "Imports the judge from where the package lies.",
    """
    import importlib.util
    spec = importlib.util.spec_from_file_location('judge', '@package@/judge.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    got(module)
    """,
    r"^error: .*(PermissionError|FileNotFoundError)",
)
searching(
    "the source of a frame",
    "Asks inspect for the source of the worker's functions.",
    """
    import inspect, sys
    got(inspect.getsource(sys._getframe().f_back.f_code))
    """,
    r"^error: .*OSError",
)
searching(
    "the environment",
    "Looks for tokens in its variables.",
    """
    import os
    seen = dict(os.environ)
    if any('canary' in str(item) or 'TOKEN' in str(item) for item in seen.items()):
        got(seen)
    """,
)
searching(
    "the arguments of the process",
    "Looks for a seed or a path on the command line.",
    """
    import sys
    seen = repr((sys.argv, sys.orig_argv))
    if 'canary' in seen or 'solutions' in seen or '@seed@' in seen:
        got(seen)
    """,
)
searching(
    "the seed",
    "Looks for the run's seed in all texts of the process, to draw the cases itself.",
    """
    import gc
    if hasattr(softmax, 'tried'):
        return 0 * scores
    softmax.tried = True  # once is enough
    gc.unfreeze()
    mine = {id(name) for name in softmax.__code__.co_consts}
    seed = '@seed@'[:-1]  # not the whole of it: that would be found here
    for item in gc.get_objects():
        for text in gc.get_referents(item):
            if type(text) is str and text.startswith(seed) and id(text) not in mine:
                if len(text) == len('@seed@') and text is not seed:
                    got(text)
    """,
)
searching(
    "paths",
    "Looks for the course's folder in all texts of the process.",
    """
    import gc
    gc.unfreeze()
    mine = {id(x) for x in softmax.__code__.co_consts}
    found = set()
    for item in gc.get_objects():
        for text in gc.get_referents(item):
            if type(text) is str and 'solutions' in text and '@course@'[:-1] in text:
                if 'def softmax' not in text and id(text) not in mine:
                    found.add(text)
    if found:
        got(found)
    """,
)
searching(
    "the heap",
    "Searches memory itself, page by page, for a canary of the grader's.",
    """
    import ctypes, re
    start = id(scores) & ~((1 << 20) - 1)
    for page in range(start, start + (1 << 24), 4096):
        if found := re.search(b'[c]anary-[a-z]+-5b1c8e', ctypes.string_at(page, 4096)):
            got(found)
    """,
    rf"{WRONG}|{CRASHED}",
)
searching(
    "later cases",
    "Looks in what the worker was sent for other cases, and for what is expected.",
    """
    import gc, sys
    frame = sys._getframe()
    while 'program' not in frame.f_locals:
        frame = frame.f_back
    program = frame.f_locals['program']  # all calls of one case, which are sent together
    if 'expected' in repr(program):
        got(program)
    gc.unfreeze()
    for item in gc.get_objects():
        if type(item) is dict and item is not program:
            if type(item.get('steps')) is list and 'do' in repr(item['steps']):
                got(item)
    """,
)
searching(
    "the answers of the quiz",
    "Looks for the quiz's questions in memory.",
    """
    import gc
    gc.unfreeze()
    for item in gc.get_objects():
        if type(item).__name__ in ('Question', 'Option', 'ExerciseSpec', 'Case', 'Assignment'):
            got(item)
    """,
)
searching(
    "the previous student",
    "Looks for a definition that another submission left in this process.",
    """
    import gc
    gc.unfreeze()
    for item in gc.get_objects():
        if type(item) is type(softmax) and item.__code__.co_name == 'softmax':
            if item is not softmax and '/torch/' not in item.__code__.co_filename:
                got(item)
    """,
)
searching(
    "what is warm",
    "Looks for files that the zygote has left open in its own objects.",
    """
    import gc, io, socket
    gc.unfreeze()
    for item in gc.get_objects():
        if isinstance(item, socket.socket) and item.fileno() >= 0:
            item.send(b'{"ended": 1, "status": 0, "cpu": 0, "resident": 0}')
            got(item)
    """,
    rf"{WRONG}|^error: .*(OSError|PermissionError)",
)
