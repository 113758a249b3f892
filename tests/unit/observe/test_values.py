"""Results are described by what they are, whatever they say they are."""

import collections
import enum
import itertools
import math

import numpy as np
import pytest

from autograder.observe import protocol, values
from autograder.observe.protocol import Array, Opaque, array_from_numpy
from autograder.observe.values import Budget, describe, describe_exception, make_argument
from tests.unit.observe.test_protocol import same


def crossed(value, budget=None):
    """What arrives of a result; it must be what was described, too."""
    described = describe(value, budget)
    arrived = protocol.decode(protocol.encode(described))
    assert same(described, arrived)
    return arrived


class Evil:
    """Does harm in every method that a describer could call."""

    def _harm(self, *args, **kwargs):
        raise AssertionError("a method of the submission was called")

    __eq__ = __ne__ = __lt__ = __bool__ = __len__ = __iter__ = __getitem__ = _harm
    __array__ = __float__ = __int__ = __index__ = __str__ = __repr__ = __hash__ = _harm
    __array_function__ = __array_ufunc__ = __getattr__ = __pos__ = __add__ = _harm


class TestPlain:
    @pytest.mark.parametrize(
        "value", [None, True, False, 0, -(2**63), 2**63 - 1, 0.5, -0.0, math.inf, "", "ß…"]
    )
    def test_themselves(self, value):
        assert same(crossed(value), value)

    def test_nan(self):
        assert math.isnan(crossed(math.nan))

    @pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**400])
    def test_integers_that_are_too_long(self, value):
        assert crossed(value) == Opaque("int with more than 64 bits")

    def test_texts_are_cut_and_made_whole(self):
        assert crossed("x" * 10_000) == "x" * values.MAX_MESSAGE
        assert crossed("a\ud800b") == "a?b"

    @pytest.mark.parametrize(
        ("value", "name"),
        [
            (1j, "complex"), (b"bytes", "bytes"), ({1, 2}, "set"), (range(3), "range"),
            (map(abs, [1]), "map"), (itertools.count(), "count"), (Exception, "type"),
            (collections.OrderedDict(a=1), "OrderedDict"), ({1: 2}, "dict"),
            (len, "builtin_function_or_method"), (object(), "object"),
        ],
    )  # fmt: skip
    def test_the_rest_is_the_name_of_a_type(self, value, name):
        assert crossed(value) == Opaque(name)


class TestSubclasses:
    """Read as what they are underneath; nothing that they override is called."""

    def test_numbers_and_texts(self):
        class Int(Evil, int):
            pass

        class Float(Evil, float):
            pass

        class Text(Evil, str):
            pass

        assert same(crossed(Int(3)), 3)
        assert same(crossed(Float(-0.0)), -0.0)
        assert same(crossed(Text("text")), "text")
        assert same(crossed(enum.IntEnum("Kind", "a b").b), 2)
        assert crossed(Int(2**64)) == Opaque("int with more than 64 bits")

    def test_sequences(self):
        class List(Evil, list):
            pass

        class Tuple(Evil, tuple):
            pass

        assert crossed(List([1, 2])).data.tolist() == [1, 2]
        assert crossed([List([1, 2]), Tuple((3, 4))]).data.tolist() == [[1, 2], [3, 4]]
        assert same(crossed(Tuple((1, "a"))), [1, "a"])

    def test_a_list_that_says_it_is_endless(self):
        class Endless(list):
            def __iter__(self):
                return itertools.count()

            def __len__(self):
                return 2**40

        assert crossed(Endless([1.0])).data.tolist() == [1.0]

    def test_a_named_tuple(self):
        pair = collections.namedtuple("Pair", "a b")(np.ones(2), 3)
        found = crossed(pair)
        assert found[0].data.tolist() == [1, 1]
        assert found[1] == 3

    def test_an_ndarray(self):
        class Array_(np.ndarray):
            __array_priority__ = 1e9

            def __array_finalize__(self, other):
                pass

            def _harm(self, *args, **kwargs):
                raise AssertionError("a method of the submission was called")

            __eq__ = __array__ = __array_function__ = __array_ufunc__ = __getitem__ = _harm
            copy = astype = tobytes = view = tolist = _harm

        assert crossed(np.ones((2, 3)).view(Array_)).data.tolist() == [[1] * 3] * 2

    def test_a_scalar_of_numpy(self):
        class Mine(np.float64):
            def __array__(self, *args, **kwargs):
                return np.zeros(3)

            def __float__(self):
                return 7.0

        found = crossed(Mine(2.5))
        assert (found.shape, found.data.item()) == ((), 2.5)
        assert crossed([Mine(2.5), 1.0])[0].data.item() == 2.5

    def test_matrices_and_masked_arrays(self):
        with pytest.warns(PendingDeprecationWarning):
            matrix = np.matrix([[1, 2]])
        assert crossed(matrix).shape == (1, 2)
        assert crossed(np.ma.masked_array([1.0, 2.0], [True, False])).data.tolist() == [1, 2]


class TestHostile:
    def test_an_object_that_does_harm_in_every_method(self):
        assert crossed(Evil()) == Opaque("Evil")
        assert same(crossed([Evil(), 1]), [Opaque("Evil"), 1])

    def test_an_object_that_says_it_is_an_array(self):
        class Liar:
            __class__ = np.ndarray
            shape, dtype = (2,), np.dtype(float)

            def __array__(self, *args, **kwargs):
                return np.ones(2)

        assert crossed(Liar()) == Opaque("Liar")

    def test_a_class_property_that_raises(self):
        class Raises:
            @property
            def __class__(self):
                raise SystemExit

        assert crossed(Raises()) == Opaque("Raises")

    def test_a_metaclass_that_hides_the_name(self):
        class Meta(type):
            @property
            def __name__(cls):
                raise KeyboardInterrupt

            @property
            def __mro__(cls):
                raise KeyboardInterrupt

        class Hidden(Exception, metaclass=Meta):
            pass

        assert crossed(Hidden()) == Opaque("Hidden")
        assert describe_exception(Hidden(), "submission: ")["type"] == "Hidden"

    def test_names_are_cut(self):
        assert len(crossed(type("x" * 5000, (), {})()).type_name) == 200

    def test_lists_that_hold_themselves(self):
        knot = [1.0]
        knot.append(knot)
        crossed(knot)
        knot = {}
        knot["self"] = knot
        crossed(knot)

    def test_lists_that_grow_exponentially(self):
        tower = [1.0]
        for _ in range(12):
            tower = [tower] * 1000
        assert isinstance(crossed(tower), (list, Opaque))
        tower = ["x"]
        for _ in range(6):
            tower = [tower] * 300
        assert isinstance(crossed(tower), (list, Opaque))

    def test_an_array_of_objects_that_holds_itself(self):
        knot = np.empty(2, dtype=object)
        knot[:] = [knot, 1.0]
        crossed(knot)

    def test_deep_nesting(self):
        deep = "bottom"
        for _ in range(1000):
            deep = [deep]
        found = crossed(deep)
        while isinstance(found, list):
            (found,) = found
        assert found == Opaque("something nested too deeply")


class TestArrays:
    @pytest.mark.parametrize("name", [n for n in protocol.DTYPES if n != "bfloat16"])
    def test_every_dtype(self, name):
        found = crossed(np.ones((2, 0, 3), dtype=name))
        assert (found.dtype, found.shape, found.framework) == (name, (2, 0, 3), "numpy")

    @pytest.mark.parametrize("order", [">f8", "<f4", ">i2"])
    def test_byte_orders(self, order):
        assert crossed(np.array([1, 2], dtype=order)).data.tolist() == [1, 2]

    @pytest.mark.parametrize("long", [np.longdouble, np.clongdouble])
    def test_long_doubles_are_rounded(self, long):
        found = crossed(np.array([1, 2], dtype=long))
        assert found.dtype in ("float64", "complex128")
        assert found.data.tolist() == [1, 2]
        assert crossed(np.longdouble("1e4000")).data.item() in (math.inf, 1e4000)

    @pytest.mark.parametrize("dtype", ["U3", "S2", "datetime64[s]", "V4", [("a", int)]])
    def test_what_is_no_number(self, dtype):
        assert isinstance(crossed(np.zeros(2, dtype=dtype)), Opaque)

    def test_memory_layouts(self):
        array = np.arange(6.0).reshape(2, 3)
        frozen = array.copy()
        frozen.flags.writeable = False
        for same_array in (np.asfortranarray(array), array[::-1][::-1], frozen, array.T.copy().T):
            assert crossed(same_array).data.tolist() == array.tolist()

    def test_it_is_a_copy(self):
        array = np.zeros(2)
        described = describe(array)
        array += 1
        assert described.data.tolist() == [0, 0]

    def test_too_many_axes(self):
        assert crossed(np.ones((1,) * 16)).shape == (1,) * 16
        assert crossed(np.ones((1,) * 17)) == Opaque("NumPy array with 17 axes")

    def test_a_view_that_is_broadcast_is_as_large_as_it_looks(self):
        huge = np.broadcast_to(np.float64(1), (10**6, 10**6))
        found = crossed(huge)
        assert (found.shape, found.data) == ((10**6, 10**6), None)

    def test_objects_in_an_array(self):
        pair = np.empty(2, dtype=object)
        pair[:] = [np.ones((2, 2)), np.ones(3)]
        assert [part.shape for part in crossed(pair)] == [(2, 2), (3,)]
        assert crossed(np.array([[0.5, 1], [2, 3]], dtype=object)).data.tolist() == [
            [0.5, 1],
            [2, 3],
        ]


class TestLists:
    def test_numbers_cross_as_one_array(self):
        found = crossed([[1, 2.5], (True, np.float32(4))])
        assert (found.framework, found.shape, found.dtype) == ("list", (2, 2), "float64")

    def test_a_tuple_on_top_is_several_values(self):
        assert same(crossed((1.0, 2.0)), [1.0, 2.0])
        assert crossed([(1.0, 2.0)]).shape == (1, 2)

    @pytest.mark.parametrize("ragged", [[[1, 2], [3]], [1, [2]], [[1], []]])
    def test_ragged_lists(self, ragged):
        assert isinstance(crossed(ragged), list)

    def test_an_empty_list(self):
        assert crossed([]) == []

    def test_numbers_that_are_too_long_for_an_array(self):
        assert same(crossed([1, 2**70]), [1, Opaque("int with more than 64 bits")])

    def test_a_dictionary(self):
        found = crossed({"a": [1, 2], "b": {"c": "d"}})
        assert found["a"].shape == (2,)
        assert found["b"] == {"c": "d"}


class TestBudget:
    def test_arrays_share_it(self):
        budget = Budget(16 * 1000)
        assert crossed(np.zeros(1500), budget).data is not None
        assert crossed(np.zeros(1500), budget).data is None  # 12,000 of 15,000 bytes are gone
        assert crossed(np.zeros(300), budget).data is not None

    def test_what_fits_leaves_room_for_the_rest_of_the_message(self):
        budget = Budget()
        found = [describe(np.zeros(2**20), budget) for _ in range(10)]
        assert len(protocol.encode(found)) < protocol.DEFAULT_BODY_LIMIT

    def test_long_lists_are_named(self):
        words = ["word"] * (values.MAX_PARTS + 1)
        assert crossed(words) == Opaque(f"list of {len(words)} items")
        budget = Budget()
        found = [describe(["word"] * 9000, budget) for _ in range(3)]
        assert [type(item) for item in found] == [list, list, Opaque]

    def test_texts_count(self):
        budget = Budget(10_000)
        found = crossed(["x" * 1000] * 5, budget)
        assert found == ["x" * 1000] * 2 + [Opaque("str")] * 3


class TestArguments:
    def made(self, plain, double=False, **slots):
        return make_argument(plain, slots, double)

    def test_a_fresh_array_that_may_be_written_to(self):
        given = np.zeros(3)
        given.flags.writeable = False
        made = self.made(array_from_numpy(given))
        made += 1
        assert given.tolist() == [0, 0, 0]
        assert made.dtype.isnative

    def test_an_array_without_data(self):
        with pytest.raises(TypeError):
            self.made(Array("float64", (3,), None))

    def test_slots(self):
        plain = {"$": "slot", "name": "kept", "item": None}
        assert self.made(plain, kept=[1, 2]) == [1, 2]
        assert self.made({**plain, "item": 1}, kept=[1, 2]) == 2

    def test_generators_repeat(self):
        plain = {"$": "generator", "seed": 3, "framework": "numpy"}
        assert self.made(plain).random() == self.made(plain).random()

    def test_probes(self):
        plain = {"$": "probe", "source": "def f(x): return x + 1", "name": "f", "call": None}
        assert self.made(plain)(1) == 2
        assert self.made({**plain, "call": [41]}) == 42

    def test_dictionaries_and_sequences(self):
        made = self.made({"a": [1, (2, None)], "b": array_from_numpy(np.ones(1))})
        assert made["a"] == [1, (2, None)]
        assert made["b"].tolist() == [1]


class TestExceptions:
    def described(self, code, **names):
        try:
            exec(compile(code, "submission: cell 3", "exec"), names)
        except BaseException as error:
            return describe_exception(error, "submission: ")
        raise AssertionError("nothing was raised")

    def test_the_last_line_of_theirs(self):
        found = self.described("import math\n\ndef f():\n    math.factorial(-1)\nf()")
        assert (found["type"], found["line"], found["cell"]) == ("ValueError", 4, "cell 3")
        assert found["function"] == "f"
        assert found["bases"] == ["Exception", "BaseException"]

    def test_methods_have_qualified_names(self):
        code = "class A:\n  def f(self):\n    raise KeyError('k')\nA().f()"
        assert self.described(code)["function"] == "A.f"

    def test_a_syntax_error_in_their_code(self):
        try:
            compile("x = (\n", "submission: cell 1", "exec")
        except SyntaxError as error:
            found = describe_exception(error, "submission: ")
        assert (found["line"], found["cell"]) == (1, "cell 1")
        assert found["message"] == "'(' was never closed"

    def test_a_syntax_error_that_lies(self):
        found = self.described(
            "class Mine(SyntaxError):\n"
            "  msg = filename = property(lambda self: 1 / 0)\n"
            "raise Mine('x')"
        )
        assert (found["type"], found["message"], found["line"]) == ("Mine", "x", 3)
        assert self.described("raise SyntaxError('mine')")["message"] == "mine"

    @pytest.mark.parametrize(
        "body",
        [
            "raise KeyboardInterrupt", "return 3", "return 1 / 0", "import sys; sys.exit()",
            "return self.__str__()",
        ],
    )  # fmt: skip
    def test_a_message_that_does_harm(self, body):
        code = f"class Mine(Exception):\n  def __str__(self): {body}\nraise Mine"
        found = self.described(code)
        assert found["message"] == "(its message could not be read)"

    def test_a_message_of_a_type_of_its_own(self):
        class Text(Evil, str):
            pass

        code = "class Mine(Exception):\n  def __str__(self): return text\nraise Mine"
        assert self.described(code, text=Text("hello"))["message"] == "hello"

    def test_a_traceback_of_its_own(self):
        code = (
            "class Mine(Exception):\n"
            "  __traceback__ = property(lambda self: 1 / 0, lambda self, value: None)\n"
            "raise Mine"
        )
        assert self.described(code)["line"] == 3

    def test_long_messages_are_cut(self):
        assert len(self.described("raise ValueError('x' * 10**6)")["message"]) == 2000

    def test_frames_of_a_notebook(self):
        names = {"__name__": "a notebook"}
        try:
            exec(compile("def f():\n  return 1 / 0\nf()", "<cell>", "exec"), names)
        except ZeroDivisionError as error:
            found = describe_exception(error, "submission: ", "a notebook")
        assert (found["line"], found["cell"], found["function"]) == (2, None, "f")

    @pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
    def test_what_is_no_exception_proper(self, error):
        assert describe_exception(error, "submission: ")["type"] == type(error).__name__
