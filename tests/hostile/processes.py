"""Submissions that start processes, and that signal or trace others."""

from tests.hostile.kinds import CRASHED, REFUSED, SYSTEM_CALL, WRONG, Kind

processes = Kind("processes", REFUSED)

processes("fork", "Forks.", "import os; got(os.fork())")
processes(
    "fork bomb",
    "Forks without end, whatever happens.",
    """
    import os
    children = 0
    for _ in range(1000):
        try:
            children += os.fork() > 0
        except OSError:
            pass
    if children:
        got(children)
    raise PermissionError('none came')
    """,
)
processes(
    "vfork",
    "Forks by the C library's other name.",
    """
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.vfork() == -1:
        raise PermissionError(ctypes.get_errno(), 'vfork')
    got()
    """,
)
processes.by_number("clone", "Clones by number.", "56, 17, 0, 0, 0, 0")
processes.by_number(
    "clone3", "Clones by the newer number.", "435, b'\\0' * 88, 88", r"^error: .*(OSError|Perm)"
)
processes(
    "daemon",
    "Forks twice and starts a session, to live on after the grading.",
    """
    import os
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                open('@folder@/new.txt', 'a').write('still here')
    got()
    """,
)
processes("session", "Leaves the grader's session.", "import os; got(os.setsid())")
processes(
    "thread",
    "Starts a thread that goes on when the call returns.",
    "import threading; got(threading.Thread(target=print).start())",
    r"^error: .*RuntimeError.*thread",
)
processes(
    "pool of threads",
    "Works in parallel.",
    """
    from concurrent.futures import ThreadPoolExecutor
    got(ThreadPoolExecutor(4).submit(print, 1).result())
    """,
    r"^error: .*RuntimeError.*thread",
)
processes("exec", "Becomes another program.", "import os; got(os.execv('/bin/sh', ['sh']))")
processes("shell", "Runs a shell.", "import os; got() if os.system('true') == 0 else os.fork()")
processes("subprocess", "Runs a command.", "import subprocess; got(subprocess.run(['true']))")
processes("posix_spawn", "Spawns.", "import os; got(os.posix_spawn('/bin/true', ['true'], {}))")
processes(
    "multiprocessing",
    "Has another process do the work.",
    "import multiprocessing as m; got(m.get_context('fork').Process(target=print).start())",
)
processes("kill the parent", "Kills the zygote.", "import os; got(os.kill(os.getppid(), 9))")
processes("stop the parent", "Stops the zygote.", "import os; got(os.kill(os.getppid(), 19))")
processes("kill the grader", "Kills the grader.", "import os; got(os.kill(@grader@, 9))")
processes(
    "kill a stranger", "Kills somebody of its user.", "import os; got(os.kill(@sentinel@, 9))"
)
processes("kill everybody", "Kills all it can.", "import os; got(os.kill(-1, 9))")
processes("kill the group", "Kills its process group.", "import os; got(os.killpg(0, 9))")
processes.by_number("tgkill", "Kills by thread.", "234, @sentinel@, @sentinel@, 9")
processes.by_number("tkill", "Kills by thread alone.", "200, @sentinel@, 9")
processes.by_number("rt_sigqueueinfo", "Queues a signal.", "129, @sentinel@, 9, b'\\0' * 128")
processes(
    "pidfd",
    "Kills by a descriptor of the process.",
    """
    import os, signal
    got(signal.pidfd_send_signal(os.pidfd_open(@sentinel@), 9))
    """,
)
processes.by_number("pidfd_send_signal", "Kills by a descriptor it has.", "424, 4, 9, None, 0")
processes.by_number("pidfd_getfd", "Takes a descriptor of another.", "438, 4, 0, 0")
processes(
    "F_SETOWN",
    "Has a pipe signal somebody when there is something to read or room to write.",
    """
    import ctypes, os
    libc = ctypes.CDLL(None)
    done = []
    for number in range(5):
        done.append(libc.fcntl(number, 8, @sentinel@))
        done.append(libc.fcntl(number, 10, 9))
        done.append(libc.fcntl(number, 4, 0o20000 | 0o4000))
    print('something to read')
    if max(done) >= 0:
        got(done)
    """,
    WRONG,
)
processes(
    "F_SETOWN for the parent",
    "Does the same to the zygote, by its process group.",
    """
    import fcntl, os
    fcntl.fcntl(1, fcntl.F_SETOWN, -os.getpgid(os.getppid()))
    fcntl.fcntl(1, fcntl.F_SETFL, os.O_ASYNC)
    got()
    """,
)
processes(
    "FIOSETOWN",
    "Sets the owner of a pipe by an ioctl.",
    "import fcntl; got(fcntl.ioctl(1, 0x8901, (@sentinel@).to_bytes(4, 'little')))",
)
processes(
    "FIOASYNC",
    "Asks for signals by an ioctl.",
    "import fcntl; got(fcntl.ioctl(1, 0x5452, b'\\1\\0\\0\\0'))",
)
processes(
    "a timer",
    "Has a timer signal it, so that a loop is never found waiting.",
    "import signal; got(signal.setitimer(signal.ITIMER_REAL, 0.1))",
    r"^error: .*(itimer_error|PermissionError)",
)
processes(
    "ptrace",
    "Attaches to the zygote as a debugger.",
    f"{SYSTEM_CALL}\n\ndef softmax(scores):\n    system_call(101, 16, os.getppid(), 0, 0)\n",
    machine="x86_64",
)
processes(
    "write into another",
    "Writes into the grader's memory.",
    f"{SYSTEM_CALL}\n\ndef softmax(scores):\n    system_call(311, @grader@, None, 0, None, 0, 0)\n",
    machine="x86_64",
)
processes(
    "outlive the parent",
    "Asks not to be killed when the zygote dies.",
    """
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(1, 0, 0, 0, 0) == 0:
        got()
    raise PermissionError(ctypes.get_errno(), 'prctl')
    """,
)
processes(
    "dumpable",
    "Makes itself dumpable again, so that /proc opens up.",
    """
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(4, 1, 0, 0, 0) == 0:
        got()
    raise PermissionError(ctypes.get_errno(), 'prctl')
    """,
)
processes(
    "limits",
    "Lifts its limits.",
    "import resource; got(resource.setrlimit(resource.RLIMIT_AS, (-1, -1)))",
    r"^error: .*(ValueError|PermissionError)",
)
processes(
    "limits of the parent",
    "Sets the zygote's limits to nothing.",
    "import os, resource; got(resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (0, 0)))",
)
processes("user", "Becomes root.", "import os; got(os.setresuid(0, 0, 0))")
processes("group", "Joins other groups.", "import os; got(os.setgroups([0]))")
processes("priority", "Pushes in.", "import os; got(os.nice(-5))")
processes(
    "a processor", "Takes one processor alone.", "import os; got(os.sched_setaffinity(0, [0]))"
)
processes(
    "real time",
    "Asks never to be interrupted.",
    "import os; got(os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99)))",
)
processes(
    "fork by another table",
    "Calls fork by its number for x32, which a careless filter does not list.",
    f"{SYSTEM_CALL}\n\ndef softmax(scores):\n    system_call(0x40000000 | 57)\n",
    rf"{CRASHED}.*SIGSYS",
    machine="x86_64",
)
processes(
    "fork by 32 bits",
    "Calls fork by the gate of 32-bit programs, in machine code of its own.",
    """
    import ctypes, mmap
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex('b802000000cd80c3'))  # mov eax, 2; int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    got(ctypes.CFUNCTYPE(ctypes.c_int)(address)())
    """,
    CRASHED,
    machine="x86_64",
)
