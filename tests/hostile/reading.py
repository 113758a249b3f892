"""Submissions that read what is not theirs. `@name@` is replaced by a path or a number."""

from tests.hostile.kinds import CRASHED, REFUSED, SYSTEM_CALL, Kind

reading = Kind("reading", REFUSED)

reading("the password file", "Reads /etc/shadow.", "got(open('/etc/shadow').read())")
reading("the users", "Reads /etc/passwd.", "got(open('/etc/passwd').read())")
reading("the home folder", "Lists the grader's home.", "import os; got(os.listdir('@home@'))")
reading("a dot file", "Reads the grader's credentials.", "got(open('@home@/.netrc').read())")
reading("the solution", "Opens the solution.", "got(open('@solutions@/softmax.py').read())")
reading("the quiz", "Opens the quiz's answers.", "got(open('@solutions@/quiz.yaml').read())")
reading("the source", "Opens the source notebook.", "got(open('@source@').read())")
reading("the gradebook", "Opens gradebook.db.", "got(open('@gradebook@', 'rb').read())")
reading("another student", "Copies another submission.", "got(open('@alice@').read())")
reading(
    "the key beside",
    "Opens the self-check key where a student has it, to look the results up.",
    "got(open('selfcheck.safetensors', 'rb').read())",
)
reading(
    "the test beside",
    "Opens the test file of the release for its checks.",
    "got(open('@release@/test_@set@.py').read())",
)
reading(
    "the gradebook by SQL",
    "Opens the gradebook read-only, by a URI.",
    """
    import sqlite3
    gradebook = sqlite3.connect('file:@gradebook@?mode=ro', uri=True)
    got(gradebook.execute('select * from grade').fetchall())
    """,
    r"^error: .*OperationalError",
)
reading(
    "the solution as a module",
    "Puts the solutions on the path and imports one.",
    """
    import importlib, sys
    sys.path.insert(0, '@solutions@')
    sys.meta_path[:] = [finder for finder in sys.meta_path if 'Path' in str(finder)]
    sys.modules.pop('attend', None)
    got(importlib.import_module('attend'))
    """,
    r"^error: .*(ModuleNotFoundError|PermissionError)",
)
reading(
    "the solution by runpy",
    "Runs the solution file in its own namespace.",
    "import runpy; got(runpy.run_path('@solutions@/softmax.py'))",
)
reading(
    "the solution by linecache",
    "Asks for its lines by way of the traceback machinery, which swallows errors.",
    """
    import linecache
    lines = linecache.getlines('@solutions@/softmax.py')
    if lines:
        got(lines)
    raise PermissionError('nothing came')
    """,
)
reading(
    "the course by glob",
    "Lists everything below the course.",
    """
    import glob
    names = glob.glob('@course@/**', recursive=True)
    if len(names) > 1:
        got(names)
    raise PermissionError('nothing came')
    """,
)
reading(
    "NumPy's own reading",
    "Reads with np.fromfile, which does not go through open().",
    "import numpy as np; got(np.fromfile('@gradebook@', dtype=np.uint8))",
)
reading(
    "a memory map",
    "Maps the gradebook into memory.",
    "import numpy as np; got(bytes(np.memmap('@gradebook@', dtype=np.uint8, mode='r')[:99]))",
)
reading(
    "the C library",
    "Reads with fopen and fread.",
    """
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    libc.fopen.restype = ctypes.c_void_p
    file = libc.fopen(b'@alice@', b'r')
    if not file:
        raise PermissionError(ctypes.get_errno(), 'fopen')
    got(file)
    """,
)
reading(
    "a folder's handle",
    "Opens / as a mere path and goes down from there.",
    """
    import os
    root = os.open('/', os.O_PATH)
    got(os.read(os.open('@alice@'.lstrip('/'), os.O_RDONLY, dir_fd=root), 99))
    """,
)
reading(
    "around by /proc/self/root",
    "Takes the long way to the same file.",
    "got(open('/proc/self/root@alice@').read())",
)
reading(
    "a file's handle",
    "Opens by handle, which asks for no path.",
    f"{SYSTEM_CALL}\n\ndef softmax(scores):\n    system_call(304, -100, b'x' * 64, 0)\n",
    machine="x86_64",
)
reading(
    "the parent's memory",
    "Opens the memory of the process that it was forked from.",
    "import os; got(open(f'/proc/{os.getppid()}/mem', 'rb'))",
)
reading(
    "the parent's environment",
    "Reads the parent's variables.",
    "import os; got(open(f'/proc/{os.getppid()}/environ').read())",
)
reading(
    "the parent's map",
    "Reads where things lie in the parent's memory.",
    "import os; got(open(f'/proc/{os.getppid()}/maps').read())",
)
reading(
    "the parent's descriptors",
    "Opens a descriptor of the parent's anew.",
    "import os; got(os.open(f'/proc/{os.getppid()}/fd/0', os.O_RDONLY))",
)
reading(
    "the grader's memory",
    "Opens the memory of the grader, by its number.",
    "got(open('/proc/@grader@/mem', 'rb'))",
)
reading(
    "the grader's environment",
    "Reads the grader's variables, tokens and all.",
    "got(open('/proc/@grader@/environ').read())",
)
reading(
    "the grader's folder",
    "Follows the link to where the grader works.",
    "import os; got(os.readlink('/proc/@grader@/cwd'))",
)
reading(
    "every process",
    "Goes through all processes for one that can be read.",
    """
    for number in range(1, 40000):
        for part in ('environ', 'cmdline', 'status'):
            try:
                got(open(f'/proc/{number}/{part}').read())
            except OSError as error:
                pass
    raise PermissionError('nothing came')
    """,
    rf"{REFUSED}|^timed_out: ",
)
reading(
    "its own memory",
    "Reads /proc/self/mem, a way around what a page allows.",
    "got(open('/proc/self/mem', 'rb').read(1))",
)
reading(
    "the memory of another",
    "Reads the parent's memory with process_vm_readv.",
    f"{SYSTEM_CALL}\n\ndef softmax(scores):\n"
    "    system_call(310, os.getppid(), None, 0, None, 0, 0)\n",
    machine="x86_64",
)
reading(
    "descriptors that were left open",
    "Reads from every number, in case something was forgotten.",
    """
    import os
    for number in range(5, 4096):
        try:
            got(number, os.read(number, 99))
        except OSError:
            pass
    raise PermissionError('nothing came')
    """,
)
reading(
    "the requests",
    "Reads ahead on the channel of requests, which is then short of nothing.",
    "import os; os.read(3, 1 << 20)",
    r"^(timed_out|crashed): ",
)
reading(
    "memory beside an array",
    "Reads megabytes around its argument, for what other students left there.",
    """
    import ctypes, re
    start = scores.ctypes.data & ~4095
    for offset in range(0, 1 << 24, 4096):
        page = ctypes.string_at(start + offset, 4096)
        if found := re.search(b'[c]anary-[a-z]+-5b1c8e', page):  # does not find itself
            got(found)
    """,
    rf"{CRASHED}|^failed: ",
)
