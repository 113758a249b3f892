"""Submissions that return something which is not what it says it is."""

from tests.hostile.kinds import CRASHED, WRONG, Kind

objects = Kind("objects", WRONG)

# Wrong numbers in whatever dress are wrong, and what cannot be compared is no array.
ANY = r"^(failed|error): "


def returning(made: str, before: str = "") -> str:
    """Code whose exercise returns an expression."""
    return f"import numpy as np\n{before}\n\ndef softmax(scores):\n    return {made}"


objects("nothing", "Returns None.", returning("None"))
objects("true", "Returns True.", returning("True"))
objects("full marks", "Returns the points.", returning("4.0"))
objects(
    "always equal",
    "Equals everything.",
    """
    class Equal:
        def __eq__(self, other): return True
        __ne__ = __lt__ = __gt__ = lambda self, other: False
        def __hash__(self): return 0
        def __float__(self): return 1.0
        def __sub__(self, other): return 0
        __rsub__ = __abs__ = lambda self, *other: 0

    def softmax(scores):
        return Equal()
    """,
)
objects(
    "always equal inside an array",
    "Fills an array of objects with what equals everything.",
    """
    import numpy as np
    class Equal(float):
        def __eq__(self, other): return True
        def __sub__(self, other): return 0.0
        def __abs__(self): return 0.0

    def softmax(scores):
        return np.full(scores.shape, Equal(), dtype=object)
    """,
)
objects(
    "a subclass with methods of its own",
    "Overrides everything by which an array is looked at.",
    """
    import numpy as np
    class Mine(np.ndarray):
        shape = property(lambda self: (5, 3))
        dtype = property(lambda self: np.dtype('float64'))
        def __eq__(self, other): return np.ones(np.shape(other), bool)
        def __sub__(self, other): return np.zeros(np.shape(other))
        __rsub__ = __sub__
        def __array__(self, *a, **k): raise SystemExit
        def __array_ufunc__(self, *a, **k): return np.True_
        def __array_function__(self, *a, **k): return True
        def __array_finalize__(self, other): pass
        def __array_wrap__(self, *a, **k): return True
        def __reduce__(self): return print, ('passed',)
        def tobytes(self, *a): return b''
        def astype(self, *a, **k): return self
        def copy(self, *a, **k): return self
        def tolist(self): return []

    def softmax(scores):
        return np.zeros(scores.shape).view(Mine)
    """,
)
objects(
    "a subclass that raises at a touch",
    "Raises whatever is done to it.",
    """
    import numpy as np
    class Mine(np.ndarray):
        def __array_finalize__(self, other): 1 / 0

    def softmax(scores):
        a = np.zeros(scores.shape)
        try:
            return a.view(Mine)
        except ZeroDivisionError:
            return a
    """,
)
objects(
    "another class by its own word",
    "Says that its class is ndarray.",
    """
    import numpy as np
    class Mine:
        __class__ = property(lambda self: np.ndarray)
        shape, dtype, ndim, size = (5, 3), np.dtype(float), 2, 15
        def __array__(self, *a, **k): return np.ones((5, 3)) / 5

    def softmax(scores):
        return Mine()
    """,
)
objects(
    "arrays to order",
    "Gives another array each time that it is asked.",
    """
    import numpy as np
    class Mine:
        tries = 0
        def __array__(self, *a, **k):
            Mine.tries += 1
            return np.full((5, 3), Mine.tries / 5)

    def softmax(scores):
        return Mine()
    """,
)
objects(
    "an array interface",
    "Says that its numbers lie at address 16.",
    """
    import numpy as np
    class Mine:
        __array_interface__ = {'shape': (5, 3), 'typestr': '<f8', 'data': (16, False), 'version': 3}

    def softmax(scores):
        return Mine()
    """,
    rf"{WRONG}|{CRASHED}",
)
objects(
    "an array at address 16",
    "Has NumPy make an array there itself.",
    """
    import numpy as np
    class Mine:
        __array_interface__ = {'shape': (5, 3), 'typestr': '<f8', 'data': (16, False), 'version': 3}

    def softmax(scores):
        return np.asarray(Mine())
    """,
    CRASHED,
)
objects(
    "a metaclass",
    "Has a class that everything is an instance of.",
    """
    class Meta(type):
        def __instancecheck__(cls, other): return True
        def __subclasscheck__(cls, other): return True
        __name__ = property(lambda cls: 'ndarray')
        __mro__ = property(lambda cls: 1 / 0)
    class Mine(metaclass=Meta): pass

    def softmax(scores):
        return Mine()
    """,
)
objects(
    "endless length",
    "Has a length that no memory holds.",
    """
    class Mine(list):
        def __len__(self): return 1 << 62
        def __iter__(self): return iter(int, 1)
        def __getitem__(self, key): return self

    def softmax(scores):
        return Mine([[0.0]])
    """,
)
objects("a generator", "Returns a generator without end.", returning("iter(int, 1)"))
objects(
    "hidden in a pickle",
    "Runs a command when it is unpickled.",
    """
    import os
    class Mine:
        def __reduce__(self): return os.system, ('touch @folder@/new.txt',)
        __reduce_ex__ = lambda self, version: self.__reduce__()

    def softmax(scores):
        return [Mine()] * 3
    """,
)
objects(
    "NaN everywhere", "Returns NaN, which no comparison finds larger.", returning("scores * np.nan")
)
objects(
    "infinity", "Returns infinity, minus which infinity is NaN.", returning("scores * 0 + np.inf")
)
objects(
    "NaN of many kinds",
    "Returns NaN with every payload.",
    returning("np.full(scores.shape, 0x7FF8DEADBEEF0001, np.uint64).view(np.float64)"),
)
objects(
    "NaN that signals",
    "Returns NaN of the kind that raises a flag when it is converted.",
    returning("np.full(scores.shape, 0x7F800001, np.uint32).view(np.float32)"),
)
objects(
    "NaN as a complex number",
    "Hides NaN in the imaginary part.",
    returning("scores * 0 + 1j * np.nan"),
)
objects(
    "right in its real part",
    "Returns the right weights, plus something imaginary.",
    returning(
        "right(scores) + 5j",
        "def right(s):\n    e = np.exp(s - s.max(axis=0))\n    return e / e.sum(axis=0)\n",
    ),
)
objects(
    "no entries",
    "Returns an array without entries, all of which are right.",
    returning("np.zeros((0, 0))"),
)
objects("a single number", "Returns what broadcasts to everything.", returning("np.float64(0.2)"))
objects(
    "one column", "Returns what broadcasts to the rest.", returning("scores[:, :1] * 0 + 0.2"), ANY
)
objects(
    "a huge virtual array",
    "Returns 10^15 entries in eight bytes.",
    returning("np.broadcast_to(np.float64(0.2), (1 << 25, 1 << 25))"),
)
objects(
    "memory beside",
    "Returns a view far beyond its argument.",
    returning("np.lib.stride_tricks.as_strided(scores, scores.shape, (1 << 30, 8))"),
    rf"{CRASHED}|{WRONG}",
)
objects("an array of objects", "Returns objects.", returning("np.array([object()] * 3)"))
objects(
    "an array of itself",
    "Returns an array that holds itself.",
    returning("own", "own = np.empty((), object)\nown[()] = own"),
    ANY,
)
objects("text", "Returns numbers as text.", returning("scores.astype(str)"))
objects("bytes", "Returns bytes.", returning("scores.tobytes()"))
objects("a structure", "Returns records.", returning("np.zeros(scores.shape, 'f8,f8')"))
objects("dates", "Returns dates.", returning("scores.astype('M8[s]')"), ANY)
objects("truth values", "Returns truth values.", returning("scores == scores"))
objects(
    "whole numbers", "Returns 2^64 - 1.", returning("np.full(scores.shape, -1).astype(np.uint64)")
)
objects(
    "long doubles", "Returns numbers of 80 bits.", returning("scores.astype(np.longdouble) * 0")
)
objects(
    "half precision",
    "Returns so few digits that much is equal.",
    returning("np.full(scores.shape, 0.2, np.float16)"),
)
objects("a masked array", "Masks every entry out.", returning("np.ma.masked_all(scores.shape)"))
objects("a matrix", "Returns a matrix.", returning("np.matrix(scores) * 0"))
objects(
    "a list of itself",
    "Returns a list that holds itself.",
    returning("own", "own = []\nown.append(own)"),
)
objects(
    "a deep list",
    "Returns lists in lists in lists.",
    """
    def softmax(scores):
        deep = []
        for _ in range(100_000):
            deep = [deep]
        return deep
    """,
)
objects("a wide list", "Returns a million nothings.", returning("[None] * 1_000_000"))
objects(
    "a wide list of numbers",
    "Returns millions of numbers.",
    returning("[0.0] * 4_500_000"),
    rf"{WRONG}|^(timed_out|out_of_memory): ",
)
objects(
    "a wide dictionary", "Returns a dictionary.", returning("{str(i): i for i in range(100_000)}")
)
objects("long keys", "Returns a dictionary of long keys.", returning("{'x' * 10_000_000: 1}"))
objects("a long text", "Returns 50 MB of text.", returning("'x' * 50_000_000"))
objects(
    "a large number", "Returns a number of a hundred thousand digits.", returning("10 ** 100_000")
)
objects(
    "numbers with methods of their own",
    "Returns a list of floats that equal everything.",
    """
    class Mine(float):
        def __eq__(self, other): return True
        def __float__(self): return 1 / 0
        def __pos__(self): return self
        __hash__ = None

    def softmax(scores):
        return [[Mine(0.2)] * scores.shape[1]] * scores.shape[0]
    """,
)
objects(
    "a text with methods of its own",
    "Returns a text that cannot be encoded.",
    """
    class Mine(str):
        def encode(self, *a): raise SystemExit
        def __getitem__(self, key): return self
        def __len__(self): return 0

    def softmax(scores):
        return Mine('\\ud800passed')
    """,
)
objects("the exercise itself", "Returns a function.", returning("softmax"))
objects("a module", "Returns a module.", returning("np"))
objects(
    "what is already known",
    "Returns a value of the protocol's own class, made by hand.",
    """
    import sys
    def softmax(scores):
        frame = sys._getframe()
        while 'protocol' not in frame.f_globals:
            frame = frame.f_back
        return frame.f_globals['protocol'].Array('float64', scores.shape, None)
    """,
)
objects(
    "another result later",
    "Keeps its result and changes it when it is collected.",
    """
    import gc, numpy as np
    def softmax(scores):
        result = np.zeros(scores.shape)
        gc.callbacks.append(lambda *a: result.fill(0.2))
        return result
    """,
)
