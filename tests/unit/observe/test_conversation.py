"""What a reply has to be, tried with a worker that is a script."""

import pytest

from autograder.observe import protocol
from autograder.observe.conversation import Conversation, ended_with, infrastructure
from autograder.observe.protocol import LOADED, OBSERVED, REFUSED, TRIED
from autograder.observe.session import Limits, Stopped


class Scripted(Conversation):
    """Replies with what `reply` makes of the request's nonce."""

    def __init__(self, reply):
        super().__init__(Limits(), body_limit=1000)
        self.reply = reply
        self.waiting = b""
        self.closed = False

    def _begin(self):
        pass

    def _transfer(self, out, need, deadline):
        if out:
            self.waiting += self.reply(protocol.unpack_header(out[: protocol.HEADER.size], 1000)[0])
        if len(self.waiting) < need:
            raise EOFError
        taken, self.waiting = self.waiting[:need], self.waiting[need:]
        return taken

    def _explain_end(self):
        return ended_with(0)

    def close(self):
        self.closed = True


def frame(kind, value, nonce=None):
    return lambda asked: protocol.pack_frame(kind, nonce or asked, protocol.encode(value))


def stopped_by(reply):
    session = Scripted(reply)
    with pytest.raises(Stopped) as stopped:
        session.run({})
    assert session.closed
    return stopped.value


def test_a_right_reply():
    assert Scripted(frame(OBSERVED, [{"value": 1}])).run({}) == [{"value": 1}]
    assert Scripted(frame(LOADED, [None])).load([{"source": ""}], {}) == [None]


@pytest.mark.parametrize(
    "reply",
    [
        frame(OBSERVED, [], nonce=bytes(16)),
        frame(LOADED, []),
        frame(99, []),
        frame(OBSERVED, None),
        frame(OBSERVED, {}),
        lambda nonce: protocol.pack_frame(OBSERVED, nonce, b"\xff"),
        lambda nonce: protocol.pack_frame(OBSERVED, nonce, bytes(1001)),
        frame(protocol.ASK, "softmax"),
        frame(protocol.ASK, {"name": 1, "args": []}),
        frame(protocol.ASK, {"name": "softmax"}),
        lambda nonce: b"printed by C code, long enough to be a header",
    ],
)
def test_a_wrong_reply_is_a_crash_and_ends_the_process(reply):
    stopped = stopped_by(reply)
    assert stopped.reason == "crashed"
    assert "must not write to file descriptors" in stopped.message


def test_a_reply_to_another_number_of_statements_is_wrong():
    session = Scripted(frame(LOADED, [None, None]))
    with pytest.raises(Stopped):
        session.load([{"source": ""}], {})
    assert session.closed


def test_a_reply_to_another_number_of_trials_is_wrong():
    last = {"seconds": 0.1}
    assert Scripted(frame(TRIED, [None, last])).try_each({"trials": [[]]}) == [None, last]
    for reply in ([last], [None, None, last], []):
        session = Scripted(frame(TRIED, reply))
        with pytest.raises(Stopped):
            session.try_each({"trials": [[]]})
        assert session.closed


def test_a_refusal_of_the_worker_has_its_words():
    assert stopped_by(frame(REFUSED, "a set is not a value")).message == "a set is not a value"
    assert "cannot be compared" in stopped_by(frame(REFUSED, "")).message
    assert "cannot be compared" in stopped_by(frame(REFUSED, [1])).message


def test_silence():
    assert stopped_by(lambda nonce: b"").message == (
        "Your code ended the process (exit code 0): remove calls such as os._exit."
    )


def test_a_program_that_cannot_be_sent_is_a_mistake_of_the_caller():
    session = Scripted(frame(OBSERVED, []))
    with pytest.raises(TypeError):
        session.run({"steps": {1, 2}})
    assert not session.closed


def test_words_for_ends():
    assert "SIGSEGV, segmentation fault" in ended_with(-11).message
    assert "error 0xC0000005" in ended_with(0xC0000005).message
    assert ended_with(-11).reason == ended_with(96).reason == "crashed"
    assert infrastructure("the zygote has died").message == (
        "The grader's own process failed (the zygote has died). This is not the fault of your "
        "code and costs no points: the submission has to be graded again."
    )


def test_what_pytorch_says_without_memory_is_called_that():
    said = "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried"
    raised = {"type": "RuntimeError", "bases": ["Exception"], "message": said}
    (outcome,) = Scripted(frame(OBSERVED, [{"raised": raised}])).run({})
    assert outcome["raised"]["type"] == "MemoryError"
    assert outcome["raised"]["message"].startswith("a submission may use 1024 MiB: look for")
