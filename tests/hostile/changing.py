"""Submissions that write, delete, rename, link and change what is not theirs."""

from tests.hostile.kinds import REFUSED, SYSTEM_CALL, Kind

changing = Kind("changing", REFUSED)

changing("write", "Overwrites a file.", "got(open('@canary@', 'w').write('mine'))")
changing("append", "Appends to a file.", "got(open('@canary@', 'a').write('mine'))")
changing("update", "Opens a file for update.", "got(open('@canary@', 'r+').write('mine'))")
changing("create", "Leaves a file behind.", "got(open('@folder@/new.txt', 'x'))")
changing("delete", "Deletes a file.", "import os; got(os.unlink('@canary@'))")
changing("rename", "Renames a file.", "import os; got(os.rename('@canary@', '@canary@.old'))")
changing(
    "hard link", "Gives it one more name.", "import os; got(os.link('@canary@', '@canary@.2'))"
)
changing("symbolic link", "Links to it.", "import os; got(os.symlink('@canary@', '@canary@.2'))")
changing("mode", "Makes it readable for all.", "import os; got(os.chmod('@canary@', 0o777))")
changing("owner", "Gives it away.", "import os; got(os.chown('@canary@', 12345, 12345))")
changing(
    "times", "Dates it back to before the deadline.", "import os; got(os.utime('@canary@', (0, 0)))"
)
changing("folder", "Makes a folder.", "import os; got(os.mkdir('@folder@/new'))")
changing("remove a folder", "Removes a tree.", "import shutil; got(shutil.rmtree('@folder@'))")
changing("named pipe", "Makes a named pipe.", "import os; got(os.mkfifo('@folder@/pipe'))")
changing(
    "device",
    "Makes a device for the disk.",
    "import os; got(os.mknod('@folder@/disk', 0o60600, 0xFE00))",
)
changing("truncate", "Cuts a file to nothing.", "import os; got(os.truncate('@canary@', 0))")
changing(
    "truncate on opening",
    "Opens for reading, and cuts it to nothing by the way.",
    "import os; got(os.open('@canary@', os.O_RDONLY | os.O_TRUNC))",
)
changing(
    "unnamed file",
    "Fills the disk with a file that has no name.",
    "import os; got(os.open('@folder@', os.O_TMPFILE | os.O_RDWR))",
)
changing(
    "attribute",
    "Hides something in a file's attributes.",
    "import os; got(os.setxattr('@canary@', 'user.mine', b'1'))",
)
changing("folder of its own", "Goes to another folder.", "import os; got(os.chdir('@folder@'))")
changing(
    "its grade",
    "Gives everybody full marks in the gradebook.",
    """
    import sqlite3
    with sqlite3.connect('@gradebook@') as gradebook:
        got(gradebook.execute('update grade set score = 100'))
    """,
    r"^error: .*OperationalError",
)
changing(
    "the solution",
    "Replaces the solution by its own.",
    "got(open('@solutions@/softmax.py', 'w').write('def softmax(scores): return 0'))",
)
changing(
    "NumPy for everybody",
    "Adds a line to NumPy, for all that are graded later.",
    "import numpy; got(open(numpy.__file__, 'a'))",
)
changing(
    "a start-up file",
    "Leaves a .pth file that every later Python runs.",
    "import numpy, os; got(open(os.path.dirname(numpy.__path__[0]) + '/x.pth', 'w'))",
)
changing(
    "shared memory",
    "Leaves a message for the next submission in shared memory.",
    "from multiprocessing import shared_memory as s; got(s.SharedMemory('note', True, 99))",
)
changing(
    "a temporary file",
    "Leaves a message in a temporary file.",
    "import tempfile; got(tempfile.NamedTemporaryFile(delete=False))",
)
changing(
    "the kernel's choice",
    "Asks the kernel to spare it and to kill the grader when memory runs out.",
    "got(open('/proc/self/oom_score_adj', 'w').write('-1000'))",
)
changing(
    "a shared map",
    "Maps a file of the interpreter for writing.",
    """
    import mmap, os
    number = os.open(os.__file__, os.O_RDONLY)
    got(mmap.mmap(number, 0, mmap.MAP_SHARED, mmap.PROT_WRITE))
    """,
)
changing(
    "a lock",
    "Locks a file that others need.",
    "import fcntl, os; got(fcntl.flock(os.open(os.__file__, os.O_RDONLY), fcntl.LOCK_EX))",
)
changing(
    "rename by number",
    "Exchanges two files with renameat2.",
    f"{SYSTEM_CALL}\n\ndef softmax(scores):\n"
    "    system_call(316, -100, b'@canary@', -100, b'@alice@', 2)\n",
    machine="x86_64",
)
