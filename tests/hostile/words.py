"""Submissions whose words are the attack: on a terminal, a page, a log or a reader."""

from tests.hostile.kinds import RIGHT, Kind

words = Kind("words", r"^error: ")

EVIL = "\\x1b[2J\\x1b]0;mine\\x07\\x9b31m</pre><script>alert(1)</script>\\0\\r\\n=cmd|x\\u202e"

words("escape sequences", "Raises what clears a terminal.", f"raise ValueError('{EVIL}')")
words(
    "escape sequences in a name",
    "Raises an exception whose type is called like that.",
    f"raise type('{EVIL}'.replace(chr(0), ''), (Exception,), {{}})('x')",
)
words("a megabyte", "Raises ten of them.", "raise ValueError('x' * 10_000_000)")
words("lines", "Raises ten thousand lines.", "raise ValueError('x\\n' * 10_000)")
words(
    "words of ours",
    "Raises a message that looks like a right result.",
    "raise ValueError('no.\\n\\nsoftmax: right in 11 cases.\\nScore: 4 / 4 (Isolation: strong)')",
)
words(
    "a message that raises",
    "Raises from its message.",
    """
    class Mine(Exception):
        def __str__(self): raise SystemExit
        __repr__ = __str__
    raise Mine
    """,
)
words(
    "a message that is no text",
    "Has a number for a message.",
    """
    class Mine(Exception):
        def __str__(self): return 5
    raise Mine
    """,
)
words(
    "a message of another class",
    "Has a message whose methods are its own.",
    """
    class Text(str):
        def __getitem__(self, key): return self * 1000
        def encode(self, *a): raise SystemExit
    class Mine(Exception):
        def __str__(self): return Text('x' * 1000)
    raise Mine
    """,
)
words(
    "an exception of another class",
    "Says that its class is another, and has no traceback.",
    """
    class Mine(Exception):
        __class__ = property(lambda self: int)
        __traceback__ = property(lambda self: self)
        args = property(lambda self: 1 / 0)
    raise Mine
    """,
)
words(
    "a metaclass of exceptions",
    "Has a type whose name and bases raise.",
    """
    class Meta(type):
        __name__ = property(lambda cls: 1 / 0)
        __mro__ = property(lambda cls: 1 / 0)
        __qualname__ = property(lambda cls: 1 / 0)
    class Mine(Exception, metaclass=Meta): pass
    raise Mine('x')
    """,
)
words(
    "causes in a circle",
    "Raises an exception that is its own cause.",
    """
    a, b = ValueError('a'), ValueError('b')
    a.__cause__, b.__cause__ = b, a
    raise a
    """,
)
words(
    "a deep group",
    "Raises groups in groups.",
    """
    group = ValueError('x')
    for _ in range(5000):
        group = ExceptionGroup('x', [group])
    raise group
    """,
)
words("an interruption", "Raises what Ctrl-C does.", "raise KeyboardInterrupt")
words("an end of a generator", "Raises what generators do.", "raise GeneratorExit")
words("base of all", "Raises the base of all exceptions.", "raise BaseException('x')")
words(
    "a false place",
    "Raises a syntax error that names a file of the grader.",
    """
    raise SyntaxError('x', ('/etc/shadow', 2**40, -1, '\\x1b[2J'))
    """,
)
words(
    "a false file",
    "Runs code that says it stands in a file of the course.",
    "exec(compile('1/0', '@solutions@/softmax.py', 'exec'))",
    r"^error: .*ZeroDivisionError",
)
words(
    "a false cell",
    "Runs code that says it stands in a cell with a name of its own.",
    f"exec(compile('1/0', 'submission: {EVIL}'.replace(chr(0), ''), 'exec'))",
    r"^error: .*ZeroDivisionError",
)
words(
    "our own error",
    "Raises what the grader raises when the fault is its own.",
    "raise type('Stopped', (Exception,), {'reason': 'infrastructure'})('infrastructure')",
)
words(
    "not written",
    "Raises what a stub does, after it has run.",
    "raise NotImplementedError('passed')",
    r"^missing: ",
)
words(
    "a missing name",
    "Names what is not there, so that everything is run once more.",
    "nothing_of_that_name",
    r"^error: .*NameError",
)
words(
    "prints",
    "Prints what clears a terminal, and is right.",
    f"""
    import numpy as np
    def softmax(scores):
        print('{EVIL}')
        e = np.exp(scores - scores.max(axis=0))
        return e / e.sum(axis=0)
    """,
    RIGHT,
    earns=("softmax",),
)
words(
    "bytes that are no text",
    "Writes bytes of no encoding to standard output, and is right.",
    """
    import numpy as np, os
    def softmax(scores):
        os.write(1, bytes(range(128, 256)) + b'no end')
        e = np.exp(scores - scores.max(axis=0))
        return e / e.sum(axis=0)
    """,
    RIGHT,
    earns=("softmax",),
)
