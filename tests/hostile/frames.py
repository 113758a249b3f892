"""Submissions that speak the protocol themselves: whatever they say, only values count."""

from tests.hostile.kinds import CRASHED, TIMED_OUT, WRONG, Kind

frames = Kind("frames", CRASHED)

# The worker's request, protocol and namespace, found by walking up the stack.
SPEAK = """
import os, struct, sys

def up(name, attribute):
    frame = sys._getframe()
    while frame is not None:
        for names in (frame.f_locals, frame.f_globals):
            if hasattr(names.get(name), attribute):
                return names[name]
        frame = frame.f_back
    raise LookupError(name)

def reply(value, kind=12, nonce=None):
    protocol, request = up('protocol', 'pack_frame'), up('frame', 'nonce')
    body = value if type(value) is bytes else protocol.encode(value)
    write(protocol.pack_frame(kind, nonce or request.nonce, body))

def write(data):
    while data:
        data = data[os.write(4, data):]

def zeros(scores):
    protocol = up('protocol', 'pack_frame')
    return protocol.array_from_numpy(0 * scores)

def header(nonce, kind, length):
    return struct.pack('<4s16sBQ', b'AGP1', nonce, kind, length)
"""


def speaking(body: str) -> str:
    """Code that runs `body` in a call, with the means to speak the protocol."""
    lines = body.strip("\n").split("\n")
    indented = "\n".join(f"    {line}" for line in lines)
    return f"{SPEAK}\n\ndef softmax(scores):\n{indented}\n    return 0 * scores"


def frame(name: str, sentence: str, body: str, ends: str = "", **more: object) -> None:
    """Add one that does `body`."""
    frames(name, sentence, speaking(body), ends, **more)


frame(
    "its own reply",
    "Replies with the right nonce, twice: for the worker and for itself.",
    "reply([{'value': zeros(scores)}])",
)
frame(
    "a verdict",
    "Replies that the exercise has passed.",
    "reply([{'value': None, 'outcome': 'passed', 'score': 4.0, 'passed': True}])\nos._exit(0)",
    rf"{WRONG}|{CRASHED}",
)
frame(
    "no faults",
    "Replies with an empty list of outcomes.",
    "reply([])\nos._exit(0)",
)
frame(
    "the worker's place",
    "Reads the requests from then on itself, and answers all of them with zeros.",
    """
protocol = up('protocol', 'pack_frame')
def read(count):
    data = b''
    while len(data) < count:
        data += os.read(3, count - len(data))
    return data
reply([{'value': zeros(scores)}])
while True:
    asked = protocol.read_frame(read, 1 << 30)
    array = protocol.decode(asked.body)['steps'][0]['kwargs'].get('scores')
    shape = getattr(array, 'shape', scores.shape)
    body = protocol.encode([{'value': protocol.Array('float64', shape, None)}])
    write(protocol.pack_frame(12, asked.nonce, body))
""",
    WRONG,
)
frame(
    "answers in advance",
    "Answers this request and the next ones, which have not come yet.",
    "for _ in range(20):\n    reply([{'value': zeros(scores)}])",
)
frame(
    "an answer recorded earlier",
    "Sends the reply to an earlier call once more.",
    """
nonce = up('frame', 'nonce').nonce
kept = globals().setdefault('kept', [])
kept.append(nonce)
if len(kept) > 1:
    reply([{'value': zeros(scores)}], nonce=kept[0])
    os._exit(0)
""",
)
frame(
    "a nonce of zeros", "Makes the nonce up.", "reply([{'value': zeros(scores)}], nonce=bytes(16))"
)
frame("another kind", "Replies as if it had been asked to load.", "reply([None], kind=11)")
frame("the greeting again", "Greets once more.", "reply(['landlock', 'seccomp'], kind=15)")
frame("a request", "Sends the grader a request to run something.", "reply({'steps': []}, kind=2)")
frame("kind 255", "Sends a kind that nobody knows.", "reply([], kind=255)")
frame(
    "a refusal",
    "Refuses in the worker's name, with words of its own.",
    "reply('softmax: right in 11 cases. Score: 4/4', kind=14)",
)
frame(
    "a question",
    "Asks the grader for the reference's answer.",
    "reply({'name': 'softmax', 'args': [zeros(scores)], 'kwargs': {}}, kind=13)\nos.read(3, 99)\n"
    "reply({'name': 'softmax', 'args': [zeros(scores)], 'kwargs': {}}, kind=13)",
    r"^(failed|crashed|timed_out): ",
)
frame(
    "questions without end",
    "Asks and asks.",
    "while True:\n    reply({'name': 'softmax', 'args': [], 'kwargs': {}}, kind=13)\n"
    "    os.read(3, 999)",
    TIMED_OUT,
)
frame("a strange question", "Asks in a form of its own.", "reply(['softmax'], kind=13)")
frame(
    "2^63 bytes",
    "Announces more than there is memory.",
    "write(header(up('frame', 'nonce').nonce, 12, 1 << 63))",
)
frame(
    "a little too much",
    "Announces more than may come.",
    "write(header(up('frame', 'nonce').nonce, 12, (64 << 20) + 1))",
)
frame(
    "half a message",
    "Announces a megabyte, sends half of it and waits.",
    "write(header(up('frame', 'nonce').nonce, 12, 1 << 20) + bytes(1 << 19))\n"
    "while True:\n    os.read(3, 1)",  # all that was sent ahead, then it waits
    TIMED_OUT,
)
frame(
    "byte by byte",
    "Sends a message so slowly that it never comes to an end.",
    "import time\ndata = header(up('frame', 'nonce').nonce, 12, 99) + bytes(99)\n"
    "for number in data:\n    time.sleep(0.02)\n    os.write(4, bytes([number]))",
    TIMED_OUT,
)
frame("half a header", "Sends half a header and ends.", "write(b'AGP1' + bytes(9))\nos._exit(0)")
frame("no header", "Prints into the channel.", "os.write(4, b'passed' * 99)")
frame(
    "a byte too many",
    "Adds a byte to its message.",
    "reply(up('protocol', 'pack_frame').encode([]) + b'\\0')",
)
frame("an unknown tag", "Sends a value of no known type.", "reply(b'\\x63')")
frame("no value", "Sends a message without a value.", "reply(b'')")
frame(
    "an array of 2^64 x 2^64",
    "Describes an array whose size wraps around to 0.",
    "reply(b'\\x07\\1\\0\\0\\0\\x0a\\x0b\\0\\2' + b'\\xff' * 16)",
)
frame(
    "a shape without data",
    "Describes a right shape, and sends no numbers to compare.",
    "a = up('protocol', 'pack_frame').Array('float64', scores.shape, None)\n"
    "reply([{'value': a}])\nos._exit(0)",
    rf"{WRONG}|{CRASHED}",
)
frame(
    "a list of 2^32 items",
    "Announces four billion items.",
    "reply(b'\\x07\\xff\\xff\\xff\\xff')",
)
frame(
    "lists in lists",
    "Sends a thousand lists in lists.",
    "reply(b'\\x07\\1\\0\\0\\0' * 1000 + b'\\0')",
)
frame(
    "a million nothings",
    "Sends a list of a million values of a byte each.",
    "reply(b'\\x07' + struct.pack('<I', 10**6) + bytes(10**6))",
)
frame("bad text", "Sends text that is none.", "reply(b'\\x07\\1\\0\\0\\0\\5\\1\\0\\0\\0\\xff')")
frame(
    "an outcome that is none",
    "Sends numbers where outcomes are expected.",
    "reply([1, 2, 3])",
)
frame(
    "an exception that is none",
    "Reports an exception without a type.",
    "reply([{'raised': 5}])",
)
frame(
    "an exception that costs nothing",
    "Reports an exception as if the exercise had never been written, with advisory notes.",
    "reply([{'raised': {'type': 'Missing', 'bases': [], 'message': 'passed', 'line': -1},"
    " 'notes': {'largest_allocation': 0}, 'changed': []}])\nos._exit(0)",
    r"^(missing|crashed): ",
)
frame(
    "our fault",
    "Names its own exception as the grader names its faults.",
    "reply([{'raised': {'type': 'infrastructure', 'bases': ['Stopped', 'PackFault'],"
    " 'message': 'The grader failed.'}}])\nos._exit(0)",
    r"^(error|crashed): ",
)
frame(
    "a map of one key",
    "Sends a value twice under one name, the second time another.",
    "protocol = up('protocol', 'pack_frame')\n"
    "good, bad = protocol.encode(zeros(scores)), protocol.encode(None)\n"
    "key = b'\\5\\0\\0\\0value'\n"
    "reply(b'\\x07\\1\\0\\0\\0\\x09\\2\\0\\0\\0' + key + good + key + bad)\nos._exit(0)",
    rf"{WRONG}|{CRASHED}",
)
frame(
    "deaf and loud",
    "Floods the results while it reads nothing.",
    "junk = bytes(1 << 20)\nwhile True:\n    os.write(4, junk)",
)
frames(
    "a reply while loading",
    "Says that all is loaded before anything is, and loads nothing.",
    f"{SPEAK}\n\nloaded = reply([None] * 99, kind=11)\n\n\ndef softmax(scores):\n    return loaded",
)
frames(
    "a reply after the end",
    "Replies, and ends the process before the worker can.",
    speaking("reply([{'value': zeros(scores)}])\nos.kill(os.getpid(), 9)\nos._exit(0)"),
)
