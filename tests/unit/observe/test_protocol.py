"""The codec: what goes in comes out, and no bytes do harm."""

import contextlib
import io
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from autograder.observe import protocol
from autograder.observe.protocol import Array, Opaque, ProtocolError

PLAIN_DTYPES = [name for name in protocol.DTYPES if name != "bfloat16"]


@st.composite
def arrays(draw):
    name = draw(st.sampled_from(PLAIN_DTYPES))
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
    data = draw(hnp.arrays(np.dtype(name), shape))
    framework = draw(st.sampled_from(protocol.FRAMEWORKS))
    return Array(name, shape, data, framework, draw(st.booleans()))


huge_shapes = st.lists(st.integers(0, 2**64 - 1), max_size=protocol.MAX_DIMENSIONS).map(tuple)
described = st.builds(Array, st.sampled_from(protocol.DTYPES), huge_shapes, st.none())
# Surrogates are replaced on purpose, so they do not come back.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
leaves = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | texts
    | st.binary(max_size=40)
    | arrays()
    | described
    | st.builds(Opaque, texts)
)
values = st.recursive(
    leaves,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(texts, inner, max_size=4)
    ),
    max_leaves=12,
)


def same(a, b):
    """Equality with types, NaN equal to itself, arrays by their bytes."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, Array):
        if a != b or (a.data is None) is not (b.data is None):
            return False
        return a.data is None or (
            a.data.shape == b.data.shape and a.data.tobytes() == b.data.tobytes()
        )
    return a == b


@given(values)
def test_what_is_encoded_comes_back(value):
    assert same(protocol.decode(protocol.encode(value)), value)


@given(hnp.arrays(np.float32, hnp.array_shapes(max_dims=3, max_side=4)))
def test_bfloat16_comes_back_widened(data):
    rounded = (data.view("<u4") & 0xFFFF0000).view("<f4")
    back = protocol.decode(protocol.encode(Array("bfloat16", data.shape, rounded, "torch")))
    assert back.dtype == "bfloat16"
    assert back.data.dtype == np.float32
    assert back.data.tobytes() == rounded.tobytes()


def test_big_endian_and_strided_arrays_cross():
    data = np.arange(24, dtype=">f8").reshape(4, 6)[::2, ::-1]
    back = protocol.decode(protocol.encode(protocol.array_from_numpy(data)))
    np.testing.assert_array_equal(back.data, data)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_a_value_or_a_protocol_error(body):
    with contextlib.suppress(ProtocolError):
        protocol.decode(body)


@given(values, st.data())
def test_damaged_messages_are_a_value_or_a_protocol_error(value, data):
    body = bytearray(protocol.encode(value))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    body = body[: data.draw(st.integers(0, len(body)))]
    with contextlib.suppress(ProtocolError):
        protocol.decode(bytes(body))


MAX64 = (2**64 - 1).to_bytes(8, "little")
BOMBS = {
    "bytes without end": bytes([6]) + MAX64,
    "text without end": bytes([5]) + b"\xff" * 4,
    "list without end": bytes([7]) + b"\xff" * 4,
    "map without end": bytes([9]) + b"\xff" * 4,
    "array of 2^64 x 2^64": bytes([10, 11, 0, 2]) + MAX64 + MAX64,
    "array whose size wraps to 0": bytes([10, 11, 0, 2]) + (2**61).to_bytes(8, "little") * 2,
    "empty array with an axis of 2^64": bytes([10, 11, 0, 2]) + bytes(8) + MAX64,
    "seventeen axes": bytes([10, 11, 0, 17]) + bytes(8 * 17),
    "lists in lists": (bytes([7]) + (1).to_bytes(4, "little")) * 40 + bytes([0]),
    "a million nothings": bytes([7]) + (10**6).to_bytes(4, "little") + bytes(10**6),
    "unknown tag": bytes([99]),
    "nothing": b"",
    "a byte too many": bytes([0, 0]),
    "unknown dtype": bytes([10, 15, 0, 0]),
    "unknown framework": bytes([10, 0, 3, 0]),
    "no utf-8": bytes([5, 1, 0, 0, 0, 255]),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_before_memory_is_taken(name):
    tracemalloc.start()
    try:
        with pytest.raises(ProtocolError):
            protocol.decode(BOMBS[name])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20


@given(st.binary(max_size=200))
@settings(max_examples=50)
def test_little_memory_is_taken_for_little_input(body):
    tracemalloc.start()
    try:
        protocol.decode(body)
    except ProtocolError:
        pass
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize(
    "value", [{1, 2}, object(), np.float64(1), [np.ones(2)], type("L", (list,), {})()]
)
def test_other_types_are_refused(value):
    with pytest.raises(TypeError):
        protocol.encode(value)


def test_values_nested_too_deep_are_refused_on_both_sides():
    value = None
    for _ in range(protocol.MAX_DEPTH):
        value = [value]
    assert protocol.decode(protocol.encode(value)) == value
    with pytest.raises(TypeError):
        protocol.encode([value])


def test_long_text_is_cut_and_marked():
    text = protocol.decode(protocol.encode("ü" * protocol.MAX_TEXT))
    assert text.endswith("…")
    assert len(text.encode()) <= protocol.MAX_TEXT


def test_surrogates_do_not_stop_a_message():
    assert protocol.decode(protocol.encode("a\ud800b")) == "a?b"


def test_integers_beyond_64_bits_cross_as_opaque():
    assert protocol.decode(protocol.encode(2**63)) == Opaque("int with more than 64 bits")


class TestFrames:
    """The header is judged before the body is read."""

    def read(self, data, limit=1000):
        stream = io.BytesIO(data)

        def read(count):
            piece = stream.read(count)
            if len(piece) < count:
                raise EOFError
            return piece

        return protocol.read_frame(read, limit)

    @given(st.binary(min_size=16, max_size=16), st.integers(0, 255), st.binary(max_size=100))
    def test_a_frame_comes_back(self, nonce, kind, body):
        assert self.read(protocol.pack_frame(kind, nonce, body)) == (nonce, kind, body)

    def test_a_body_above_the_limit_is_refused_unread(self):
        header = protocol.HEADER.pack(protocol.MAGIC, bytes(16), protocol.RUN, 1001)
        with pytest.raises(ProtocolError, match="1001 bytes is above the limit of 1000"):
            self.read(header)

    def test_the_limit_itself_is_allowed(self):
        assert len(self.read(protocol.pack_frame(1, bytes(16), bytes(1000))).body) == 1000

    @given(st.binary(min_size=29, max_size=60))
    def test_something_else_than_a_header_is_refused(self, data):
        data = b"X" + data[1:]
        with pytest.raises(ProtocolError, match="something other than the worker"):
            self.read(data)

    def test_nonces_differ(self):
        assert len({protocol.fresh_nonce() for _ in range(100)}) == 100
