"""Submissions that use up time, memory, output and descriptors, or that end the process."""

from tests.hostile.kinds import CRASHED, TIMED_OUT, WRONG, Kind

OUT_OF_MEMORY = r"^out_of_memory: "

resources = Kind("resources", TIMED_OUT)

resources("endless loop", "Never ends.", "while True: pass")
resources(
    "loop that catches all",
    "Never ends, whatever is thrown at it.",
    """
    while True:
        try:
            while True: pass
        except BaseException:
            pass
    """,
)
resources(
    "loop that ignores signals",
    "Ignores every signal that can be ignored.",
    """
    import signal
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True: pass
    """,
)
resources("sleep", "Sleeps.", "import time; time.sleep(1000)")
resources(
    "hang in C",
    "Sleeps in C without letting the interpreter go, so that no Python handler is ever run.",
    "import ctypes; ctypes.PyDLL(None).sleep(1000)",
)
resources("a long number", "Computes 3 to the power of a billion, in C.", "3 ** 10**9")
resources(
    "a regular expression",
    "Backtracks for ever.",
    "import re; re.match('(a*)*b', 'a' * 40)",
)
resources(
    "a sort",
    "Sorts by a key that never comes.",
    "sorted([1, 2], key=lambda item: exec('while True: pass'))",
)
resources(
    "a lock",
    "Waits for itself.",
    "import threading; a = threading.Lock(); a.acquire(); a.acquire()",
)
resources(
    "endless import",
    "Never ends while it is loaded.",
    "wait = [n for n in iter(int, 1)]\n\ndef softmax(scores):\n    return wait",
)
resources(
    "endless result",
    "Returns an object whose length takes for ever.",
    """
    class Slow(list):
        def __len__(self):
            while True: pass
    return Slow([[1.0]])
    """,
    rf"{TIMED_OUT}|{WRONG}",
)
resources(
    "endless words",
    "Raises an exception that never finishes its message.",
    """
    class Slow(Exception):
        def __str__(self):
            while True: pass
    raise Slow
    """,
)
resources(
    "one large array", "Asks for 8 TB.", "import numpy as np; np.ones(1 << 40)", OUT_OF_MEMORY
)
resources(
    "many arrays",
    "Takes memory bit by bit.",
    "x = []\nwhile True: x.append(bytearray(1 << 20))",
    OUT_OF_MEMORY,
)
resources(
    "memory in spite of errors",
    "Takes memory bit by bit, and goes on after each refusal.",
    """
    x, size = [], 1 << 24
    while True:
        try:
            x.append(bytearray(size))
        except MemoryError:
            size = size // 2 or 1
    """,
    rf"{OUT_OF_MEMORY}|{TIMED_OUT}|{CRASHED}",
)
resources("a long text", "Doubles a text.", "x = 'x'\nwhile True: x += x", OUT_OF_MEMORY)
resources(
    "a shared map",
    "Takes memory that counts for nobody.",
    """
    import mmap
    x = []
    while True:
        x.append(mmap.mmap(-1, 1 << 24))
        x[-1].write(b'x' * (1 << 24))
    """,
    r"^(error: .*OSError.*Cannot allocate|out_of_memory: )",
)
resources("recursion", "Calls itself.", "def f(): f()\nf()", r"^error: .*RecursionError")
resources(
    "recursion without a limit",
    "Calls itself until the stack is full.",
    """
    import sys
    sys.setrecursionlimit(10**9)
    class Deep:
        def __getattr__(self, name): return getattr(self, name + 'x')
    repr(Deep().x)
    """,
    rf"{CRASHED}|{OUT_OF_MEMORY}|{TIMED_OUT}",
)
resources(
    "output flood", "Prints without end.", "while True: print('x' * 1000)", rf"{CRASHED}.*printed"
)
resources(
    "flood of errors",
    "Writes to standard error without end.",
    "import sys\nwhile True: sys.stderr.write('x' * 1000)",
    rf"{CRASHED}.*printed",
)
resources(
    "flood from C",
    "Writes to descriptor 2 without end.",
    "import os\nwhile True: os.write(2, b'x' * 9999)",
    rf"{CRASHED}.*printed",
)
resources(
    "flood of warnings",
    "Warns without end.",
    "import warnings; warnings.simplefilter('always')\nwhile True: warnings.warn('x' * 999)",
    rf"{CRASHED}.*printed",
)
resources("exit", "Exits well.", "import os; os._exit(0)", rf"{CRASHED}.*exit code 0")
resources(
    "an exception for exit", "Exits politely.", "raise SystemExit(0)", r"^error: .*SystemExit"
)
resources(
    "exit while loading",
    "Exits before it is called.",
    "import os\nx = os._exit(0)\n\ndef softmax(scores):\n    return x",
    rf"{CRASHED}.*exit code 0",
)
resources(
    "the code of ours", "Exits as if the sandbox had failed.", "import os; os._exit(97)", CRASHED
)
resources(
    "the code of a worker", "Exits as if the worker had failed.", "import os; os._exit(96)", CRASHED
)
resources(
    "the code of memory",
    "Exits as if memory had run out.",
    "import os; os._exit(95)",
    OUT_OF_MEMORY,
)
resources("abort", "Aborts.", "import os; os.abort()", CRASHED)
resources(
    "segmentation fault",
    "Reads address 0.",
    "import ctypes; ctypes.string_at(0)",
    rf"{CRASHED}.*SIGSEGV",
)
resources(
    "illegal instruction",
    "Runs a byte that is no instruction.",
    """
    import ctypes, mmap
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b'\\x0f\\x0b')
    ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
    """,
    CRASHED,
)
resources(
    "closed descriptors",
    "Closes everything and goes on.",
    "import os; os.closerange(0, 64)\nwhile True: pass",
    rf"{CRASHED}.*closed the channel",
)
resources(
    "closed results",
    "Closes the results alone, and returns.",
    "import os; os.close(4)",
    CRASHED,
)
resources(
    "another in its place",
    "Puts a descriptor of its own where the results go.",
    "import os; os.dup2(os.open('/dev/null', os.O_RDONLY), 4)",
    r"^error: .*PermissionError",
)
resources(
    "all descriptors",
    "Takes every descriptor there is.",
    "import os\nwhile True: os.dup(0)",
    r"^error: .*Too many open files",
)
resources("standard input", "Waits for somebody to type.", "input()", r"^error: .*EOFError")
resources(
    "an array of a gigabyte",
    "Returns more than may cross.",
    "import numpy as np; return np.broadcast_to(np.float64(1), (1 << 15, 1 << 12))",
    WRONG,
)
resources(
    "processor time",
    "Ignores the signal that says its processor time is over.",
    "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
)
