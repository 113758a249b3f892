"""Submissions that use the parts which are answered for them as an oracle, or as a bomb.

Each has no part of `self_attention`, so that all of them are answered when it is observed the
second time; in the first pass they are not there, and that result stands when nothing comes of
the second. What is seen there is found out by `test_followed`.
"""

from __future__ import annotations

import textwrap

from tests.hostile.frames import SPEAK
from tests.hostile.kinds import Kind

# The first pass: what it calls is not there.
FIRST = r"^error: "
# As above; the second pass is ended by the clock, which is set to little for these.
BY_THE_CLOCK = r"^error: |timed_out"
oracles = Kind("oracles", FIRST, attacks="self_attention")

_HEAD = """
import numpy as np

def ask(name='softmax', args=(), kwargs=(), cotangents=None):
    # as the worker does, and not through `softmax`: with whatever may be thought of
    protocol, request = up('protocol', 'pack_frame'), up('frame', 'nonce')
    question = {'name': name, 'args': list(args), 'kwargs': dict(kwargs), 'cotangents': cotangents}
    write(protocol.pack_frame(13, request.nonce, protocol.encode(question)))
    return protocol.decode(protocol.read_frame(read, 1 << 30).body)

def read(count):
    data = b''
    while len(data) < count:
        data += os.read(3, count - len(data))
    return data

def array(*shape):
    return up('protocol', 'pack_frame').array_from_numpy(np.ones(shape))
"""
_ZEROS = "    return 0 * (W_v @ X), 0 * (X.T @ X)\n"


def oracle(name: str, sentence: str, body: str, ends: str = "", **more: object) -> None:
    """Add one whose `self_attention` calls its own `softmax`, does `body`, and returns zeros."""
    lines = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    code = (
        f"{SPEAK}\n{_HEAD}\n\ndef self_attention(X, W_q, W_k, W_v):\n    softmax(np.eye(2))\n"
        f"{lines}\n{_ZEROS}"
    )
    oracles(name, sentence, code, ends, **more)


# --- what it wants to know -----------------------------------------------------------------

oracle(
    "the exercise itself",
    "Asks for the result of the exercise that is judged.",
    "return ask('self_attention', [array(2, 2)] * 4)['value']",
)
oracle(
    "the exercise itself, well put",
    "Asks for it with arguments as they have to be.",
    """
    protocol = up('protocol', 'pack_frame')
    given = [protocol.array_from_numpy(item) for item in (X, W_q, W_k, W_v)]
    found = ask('self_attention', given)['value']
    return found[0].data, found[1].data
    """,
)
oracle(
    "an exercise that is not needed",
    "Asks for an exercise of the set that this one does not call.",
    "return ask('softmax_jacobian', [array(3)])['value'].data",
)
oracle(
    "a name of Python",
    "Asks for functions that every namespace has.",
    """
    for name in ('open', 'eval', '__import__', '__builtins__', 'np', 'gradients_of_softmax'):
        found = ask(name, ['1'])
        if 'value' in found:
            return found['value']
    """,
)
oracle(
    "code as an argument",
    "Hands over source in the form in which cases hand over probes.",
    """
    source = 'import os\\nx = lambda *a: os.listdir("/")'
    probe = {'$': 'probe', 'source': source, 'name': 'x', 'call': ()}
    for where in ([probe], [[probe]], [array(2, 2), (probe,)]):
        found = ask('softmax', where)
        found = found if 'value' in found else ask('softmax', [], {'scores': probe})
        if 'value' in found:
            return found['value']
    """,
)
oracle(
    "what another step has kept",
    "Hands over a reference to a result that the answering process might have kept.",
    "return ask('softmax', [{'$': 'slot', 'name': 'result', 'item': None}])['value']",
)
oracle(
    "a generator by its seed",
    "Hands over a generator with a seed of its own.",
    "return ask('softmax', [{'$': 'generator', 'seed': 1, 'framework': 'numpy'}])['value']",
)
oracle(
    "gradients where there are none",
    "Asks for the gradients of a part that works on plain arrays.",
    "return ask('softmax', [array(2, 2)], cotangents=[array(2, 2)])['value']",
)
oracle(
    "the source in an exception",
    "Has a part raise, so that the message of the exception tells where it comes from.",
    """
    try:
        softmax('x')
    except BaseException as error:
        raise RuntimeError("GOT THROUGH %r" % (error,)) from None
    """,
)
oracle(
    "everything that is answered, shown",
    "Raises with what it was answered in the message.",
    "raise RuntimeError('GOT THROUGH %r' % (softmax(np.eye(2)),))",
)
oracles(
    "answers kept for other exercises",
    "Keeps what it is answered, and has it ready when the part itself is called.",
    """
    import numpy as np
    kept = {}

    def softmax(scores):
        return kept.get(scores.shape, 0 * scores)

    own = softmax

    def self_attention(X, W_q, W_k, W_v):
        for rows in range(1, 9):
            for columns in range(1, 9):
                kept[rows, columns] = softmax(np.zeros((rows, columns)))
        return 0 * (W_v @ X), 0 * (X.T @ X)
    """,
    r"^failed: ",
)
oracles(
    "answers written down",
    "Writes what it is answered to where the next process might find it.",
    """
    import os, numpy as np

    def softmax(scores):
        for place in ('/tmp/kept', '/dev/shm/kept', 'kept'):
            if os.path.exists(place):
                return np.load(place)
        return 0 * scores

    def self_attention(X, W_q, W_k, W_v):
        found = softmax(X.T @ X)
        for place in ('/tmp/kept', '/dev/shm/kept', 'kept'):
            try:
                np.save(open(place, 'wb'), found)
            except OSError:
                pass
        return 0 * (W_v @ X), 0 * (X.T @ X)
    """,
    r"^failed: ",
)
oracles(
    "right only with the answers",
    "Is wrong by itself in the first pass, and lets the answered part stand for a wrong result.",
    """
    import numpy as np

    def softmax(scores):
        return 0 * scores

    def self_attention(X, W_q, W_k, W_v):
        weights = softmax(X.T @ X)
        return W_v @ X @ weights, weights
    """,
    r"^failed: ",
)

# --- what it throws ------------------------------------------------------------------------

oracle(
    "a huge array",
    "Hands over far more than any case has.",
    "softmax(np.zeros((500, 500)))",
)
oracle(
    "a huge array, forged",
    "Says that an array is large without sending it, then sends one.",
    """
    protocol = up('protocol', 'pack_frame')
    ask('softmax', [protocol.Array('float64', (1 << 40, 1 << 40), None)])
    ask('softmax', [array(500, 500)])
    """,
)
oracle(
    "a huge number",
    "Hands over numbers from which a part might make an array.",
    "scale_scores(np.eye(2), 10 ** 15)\nscale_scores(np.eye(2), 10 ** 30)",
)
oracle(
    "a huge result",
    "Hands over long vectors, whose product is a large matrix, as often as it may.",
    """
    for _ in range(64):
        project(np.ones((2000, 1)), np.ones((1, 2000)))
    """,
)
oracle(
    "many parts",
    "Hands over a list of very many things, as often as it can.",
    """
    for _ in range(200):
        ask('softmax', [[None] * 40_000])
    """,
    BY_THE_CLOCK,
)
oracle(
    "calls without an end",
    "Calls a part for ever and catches every refusal.",
    """
    while True:
        try:
            softmax(np.eye(2))
        except RuntimeError:
            pass
    """,
    BY_THE_CLOCK,
)
oracle(
    "large calls without an end",
    "The same with arrays of some megabytes.",
    """
    large = np.ones((1000, 1000))
    while True:
        try:
            softmax(large)
        except RuntimeError:
            pass
    """,
    BY_THE_CLOCK,
)
oracle(
    "objects that are no arrays",
    "Hands over objects of its own with all methods that arrays have.",
    """
    class Odd(np.ndarray):
        def __array_finalize__(self, other): raise SystemExit
        def __len__(self): return 10 ** 9
        def tobytes(self): return b''

    class Array:
        def __array__(self, *a, **k): return np.zeros((5000, 5000))
        def __iter__(self): return iter(lambda: self, None)

    for item in (Array(), lambda: 1, Array, print, open, iter([]), type, {1: 2}, b'x', ...):
        try:
            softmax(item)
        except RuntimeError:
            pass
    """,
)
oracle(
    "a list that holds itself",
    "Hands over lists without an end.",
    "a = []\na.append(a)\nsoftmax(a)",
)

# --- what it says to the grader ------------------------------------------------------------

NOT_QUESTIONS = {
    "a text": "'softmax'",
    "a list": "['softmax', [1.0]]",
    "a map without a name": "{'args': [], 'kwargs': {}, 'cotangents': None}",
    "a name that is a number": "{'name': 1, 'args': [], 'kwargs': {}, 'cotangents': None}",
    "arguments that are a map": "{'name': 'softmax', 'args': {}, 'kwargs': {}}",
    "keywords that are a list": "{'name': 'softmax', 'args': [], 'kwargs': []}",
    "cotangents that are a text": "{'name': 'x', 'args': [], 'kwargs': {}, 'cotangents': 'x'}",
    "no protocol": "b'\\xff' * 40",
    "nothing": "b''",
}
for words, plain in NOT_QUESTIONS.items():
    oracle(
        f"a question that is {words}", "Asks in a form that no worker has.", f"reply({plain}, 13)"
    )
oracle(
    "a question with another nonce",
    "Asks with a nonce of its own.",
    "reply({'name': 'softmax', 'args': [], 'kwargs': {}, 'cotangents': None}, 13, b'0' * 16)",
)
oracle(
    "a question after the reply",
    "Replies for the worker, and asks once more.",
    """
    reply([{'value': (zeros(X), zeros(X))}])
    reply({'name': 'softmax', 'args': [array(2, 2)], 'kwargs': {}, 'cotangents': None}, 13)
    """,
)
oracle(
    "two questions at a time",
    "Asks twice before it reads an answer.",
    """
    for _ in range(2):
        reply({'name': 'softmax', 'args': [array(2, 2)], 'kwargs': {}, 'cotangents': None}, 13)
    """,
)
oracle(
    "questions that nobody reads the answers of",
    "Asks on and never reads, until the pipe to it is full.",
    """
    question = {'name': 'softmax', 'args': [array(60, 60)], 'kwargs': {}, 'cotangents': None}
    while True:
        reply(question, 13)
    """,
)
oracle(
    "an answer to itself",
    "Sends the grader what the grader sends.",
    "reply({'value': 1.0}, 3)",
)
oracle(
    "names of any length",
    "Asks for names as long as a text may be, with line ends and colours in them.",
    """
    for name in ('x' * 60_000, 'softmax\\n', '\\x1b[31m', 'softmax\\0', '', ' '):
        ask(name, [array(2, 2)])
        ask('softmax', [], {name: array(2, 2)})
    """,
)
oracle(
    "questions in the first pass",
    "Asks where nobody answers.",
    """
    return ask('softmax', [array(2, 2)])['value']
    """,
)
oracles(
    "questions for another exercise",
    "Asks from an exercise that needs no other.",
    f"{SPEAK}\n{_HEAD}\n\ndef softmax(scores):\n    return ask('softmax', [scores])['value']\n",
    r"^(error|failed|crashed): ",
    attacks="softmax",
)
