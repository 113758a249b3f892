"""Submissions that try the kernel's corners, where most ways out of a sandbox have been found."""

from tests.hostile.kinds import REFUSED, SYSTEM_CALL, Kind

kernel = Kind("kernel", REFUSED)

kernel.by_number("user namespace", "Becomes root of a namespace.", "272, 0x10000000")
kernel.by_number("mount namespace", "Wants mounts of its own.", "272, 0x00020000")
kernel.by_number("another namespace", "Joins one by a descriptor.", "308, 3, 0")
kernel.by_number(
    "mount", "Mounts a file system over /tmp.", "165, b'x', b'/tmp', b'tmpfs', 0, None"
)
kernel.by_number("new mounts", "Mounts by the newer calls.", "430, b'tmpfs', 0")
kernel.by_number("unmount", "Takes /proc away.", "166, b'/proc', 2")
kernel("chroot", "Changes the root.", "import os; got(os.chroot('/'))")
kernel.by_number("pivot_root", "Exchanges the root.", "155, b'/', b'/'")
kernel.by_number("io_uring", "Opens and connects by io_uring.", "425, 8, b'\\0' * 120")
kernel.by_number("keyring", "Leaves a note in the keyring.", "248, b'user', b'n', b'x', 1, -3")
kernel.by_number("keyctl", "Looks for keys of others.", "250, 0, -3, 0")
kernel.by_number("request a key", "Has the kernel start a program.", "249, b'user', b'n', b'x', -3")
kernel.by_number("userfaultfd", "Handles faults itself.", "323, 0")
kernel.by_number("bpf", "Loads a program into the kernel.", "321, 5, b'\\0' * 128, 128")
kernel.by_number("perf", "Watches the processor's counters.", "298, b'\\0' * 128, 0, -1, -1, 0")
kernel.by_number("seccomp", "Lays a filter over the filter.", "317, 1, 0, None")
kernel.by_number("Landlock", "Restricts itself to something else.", "446, 3, 0")
kernel.by_number("personality", "Takes randomness out of addresses.", "135, 0x0040000")
kernel.by_number("segments", "Changes the descriptor table.", "154, 1, b'\\0' * 16, 16")
kernel.by_number("ports", "Asks for the machine's ports.", "173, 0, 1, 1")
kernel.by_number("a module", "Loads a module.", "175, b'x', 1, b''")
kernel.by_number("kexec", "Boots another kernel.", "320, 0, 0, 0, b'', 0")
kernel.by_number("reboot", "Reboots.", "169, 0xFEE1DEAD, 672274793, 0x1234567, None")
kernel.by_number("the clock", "Sets the clock back before the deadline.", "227, 0, b'\\0' * 16")
kernel.by_number("the name", "Renames the machine.", "170, b'mine', 4")
kernel.by_number("swap", "Takes the swap away.", "168, b'/dev/sda'")
kernel.by_number("accounting", "Has the kernel write a file.", "163, b'/tmp/acct'")
kernel.by_number("quota", "Sets a quota.", "179, 0, b'/', 0, None")
kernel.by_number("watching", "Watches what others open.", "300, 0, 0")
kernel.by_number("inotify", "Watches a folder.", "294, 0")
kernel.by_number("shared memory segment", "Makes one for the next.", "29, 0x1234, 4096, 0o1666")
kernel.by_number("message queue", "Makes one for the next.", "240, b'x', 0o102, 0o600, None")
kernel.by_number("semaphores", "Makes some for the next.", "64, 0x1234, 1, 0o1666")
kernel.by_number("vmsplice", "Gives pages to a pipe.", "278, 4, b'\\0' * 16, 1, 0")
kernel.by_number("splice", "Moves data past the process.", "275, 3, None, 4, None, 9, 0")
kernel.by_number("NUMA", "Moves pages of another process.", "279, 1, 0, None, None, None, 0")
kernel.by_number("kcmp", "Compares itself with the grader.", "312, @grader@, 1, 0, 0, 0")
kernel.by_number(
    "a robust list", "Reads a pointer of another.", "274, @grader@, b'\\0' * 8, b'\\0' * 8"
)
kernel.by_number("a pipe's size", "Makes a pipe a megabyte long.", "72, 4, 1031, 1 << 20")
kernel.by_number("no number", "Calls what does not exist.", "9999, 0")
kernel.by_number(
    "half a number", "Hides fork's number in 64 bits.", "(1 << 32) | 57", r"^(error|crashed)"
)
kernel(
    "a program in memory",
    "Puts a program into a file without a name, and runs it.",
    f"{SYSTEM_CALL}\n\ndef softmax(scores):\n"
    "    number = os.memfd_create('x')\n"
    "    os.write(number, b'#!/bin/sh')\n"
    "    system_call(322, number, b'', None, None, 0x1000)\n",
)
kernel(
    "terminal input",
    "Types into the instructor's terminal.",
    "import fcntl; got(fcntl.ioctl(0, 0x5412, b'x'))",
    r"^error: .*(PermissionError|OSError)",
)
