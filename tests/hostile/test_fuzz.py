"""Random input for whatever reads what a stranger wrote: no traceback, no hang, no points.

A few seconds each in `make test`, ten minutes together in `make soak`.
"""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from autograder import submission
from autograder.grading import Assignment
from autograder.judge import judge
from autograder.observe import protocol
from autograder.observe.conversation import Conversation, ended_with
from autograder.observe.protocol import ProtocolError, decode, encode
from autograder.observe.session import Limits, Stopped
from autograder.quiz import judge_answer
from autograder.submission import Unreadable
from autograder.wire import observed_from_wire, observed_to_wire
from autograder.wording import clean
from tests.hostile import fuzzing
from tests.hostile.fuzzing import fuzz
from tests.hostile.world import REPOSITORY, SET

# Five targets: two minutes each, ten together.
budget = pytest.mark.parametrize(
    "seconds", [1.5, pytest.param(120.0, marks=pytest.mark.soak)], ids=["short", "long"]
)


@pytest.fixture(scope="module")
def assignment():
    return Assignment.draw(REPOSITORY, SET, "fuzz")


@pytest.fixture(scope="module")
def observations(assignment):
    """What right submissions send, in plain form, case by case."""
    return [
        [observed_to_wire(step) for step in case.expected]
        for spec in assignment.specs
        for case in spec.cases
    ]


def tell(capsys, seconds: float, number: int, what: str) -> None:
    if seconds > 10:
        with capsys.disabled():
            print(f"\n{number} {what} in {seconds:.0f} s: no traceback, no hang")


@budget
def test_messages(observations, seconds, capsys):
    """A body is a value or a ProtocolError, and needs no more memory than it has bytes."""
    bodies = [encode(observed) for observed in observations]

    def attempt(rng: random.Random) -> None:
        with suppress(ProtocolError):
            decode(fuzzing.damaged(rng.choice(bodies), rng, (b"\x07\xff\xff\xff\xff", b"\x0a")))

    tell(capsys, seconds, fuzz(seconds, attempt), "messages")


class Scripted(Conversation):
    """A worker that says what it likes."""

    def __init__(self, rng: random.Random, body: bytes) -> None:
        super().__init__(Limits(), body_limit=1 << 20)
        self.rng, self.body = rng, body
        self.waiting = b""

    def _begin(self) -> None:
        pass

    def _transfer(self, out: bytes, need: int, deadline: float) -> bytes:
        if out:
            nonce = protocol.unpack_header(out[: protocol.HEADER.size], 1 << 30)[0]
            self.waiting += self._said(nonce)
        if len(self.waiting) < need:
            raise EOFError
        taken, self.waiting = self.waiting[:need], self.waiting[need:]
        return taken

    def _said(self, nonce: bytes) -> bytes:
        rng = self.rng
        kinds = (protocol.LOADED, protocol.OBSERVED, protocol.ASK, protocol.REFUSED, 15, 0, 255)
        said = b""
        for _ in range(rng.choice((0, 1, 1, 1, 3))):
            body = self.body if rng.random() < 0.5 else fuzzing.damaged(self.body, rng)
            if rng.random() < 0.2:
                body = encode(fuzzing.value(rng, {"name": "softmax", "args": []}))
            said += protocol.pack_frame(rng.choice(kinds), nonce, body)
        return fuzzing.damaged(said, rng) if rng.random() < 0.3 else said

    def _explain_end(self) -> Stopped:
        return ended_with(self.rng.choice((0, 1, 95, 96, 97, -9, -11, -31, 255)))

    def close(self) -> None:
        pass


@budget
def test_conversations(observations, seconds, capsys):
    """A session gives outcomes or has a reason, whatever frames come."""
    bodies = [encode(observed) for observed in observations]

    def attempt(rng: random.Random) -> None:
        session = Scripted(rng, rng.choice(bodies))
        with suppress(Stopped, ProtocolError):
            session.load([{"source": "", "line": 1, "cell": "x", "binds": []}], {})
            for _ in range(3):
                observed_from_wire(session.run({"steps": []}, lambda name, args: 1.0))

    tell(capsys, seconds, fuzz(seconds, attempt), "conversations")


@budget
# reported: see test_a_nan_that_signals… in test_trusted_side
def test_judgements(assignment, seconds, capsys):
    """Whatever was observed is judged: never our fault, never points for what is not right."""

    def attempt(rng: random.Random) -> None:
        spec = rng.choice(assignment.specs)
        observations, wrong = {}, False
        for case in spec.cases:
            observations[case.name] = case.expected
            if rng.random() < 0.3:
                plain = [fuzzing.outcome(rng, observed_to_wire(step)) for step in case.expected]
                plain = plain[: rng.choice((0, 1, 99, 99, 99))]
                try:
                    observations[case.name] = observed_from_wire(decode(encode(plain)))
                except (ProtocolError, TypeError):
                    observations[case.name] = Stopped("crashed", "disturbed")
                wrong = wrong or is_wrong(observations[case.name], case.expected)
        result = judge(spec, observations)
        assert result.outcome != "infrastructure", result.feedback
        assert not (wrong and result.outcome == "passed"), (spec.name, observations)
        texts = [result.feedback, *(check.message for check in result.checks)]
        assert all(text == clean(text, 10**9) for text in texts)
        assert sum(map(len, texts)) < 20_000

    tell(capsys, seconds, fuzz(seconds, attempt), "judgements")


def is_wrong(observed, expected) -> bool:
    """Whether it certainly is: an array of another shape, or NaN where a number is expected."""
    if isinstance(observed, Stopped) or len(observed) < len(expected):
        return True
    for got, wanted in zip(observed, expected, strict=False):
        if wanted.raised is None and got.raised is not None:
            return True
        right = getattr(wanted.value, "data", None)
        if right is None:
            continue
        data = getattr(got.value, "data", None)
        if data is None:
            return right.size > 1
        if data.shape != right.shape or (data.dtype.kind == "f" and np.isnan(data).any()):
            return True
    return False


class Submissions:
    """Reads submissions in every way that the grader does."""

    def __init__(self, assignment: Assignment, folder: Path) -> None:
        self.assignment, self.folder = assignment, folder
        release = REPOSITORY / "assignments" / SET
        self.book = json.loads((release / f"{SET}.ipynb").read_text("utf-8"))
        self.module = (release / f"{SET}.py").read_text("utf-8")

    def read(self, suffix: str, data: bytes) -> None:
        path = self.folder / f"{SET}{suffix}"
        path.write_bytes(data)
        try:
            chosen = self.assignment.choose(self.folder).submission
        except Unreadable as problem:
            assert str(problem) == clean(str(problem), 2000)
            return
        finally:
            path.unlink()
        for spec in self.assignment.specs:
            positions = chosen.slice_for([spec.name])
            chosen.written(spec.name)
            chosen.uses(positions, ["numpy.exp", *spec.forbids])
            encode([chosen.statements[position].to_wire() for position in positions])
        for question in self.assignment.questions:
            judge_answer(question, chosen.answer(question.variable))


@budget
def test_notebooks(assignment, tmp_path, seconds, capsys):
    submissions = Submissions(assignment, tmp_path)

    def attempt(rng: random.Random) -> None:
        submissions.read(".ipynb", fuzzing.notebook(rng, submissions.book))

    tell(capsys, seconds, fuzz(seconds, attempt), "notebooks")


@budget
def test_modules(assignment, tmp_path, seconds, capsys):
    submissions = Submissions(assignment, tmp_path)

    def attempt(rng: random.Random) -> None:
        text = fuzzing.source(rng, submissions.module)
        data = text.encode(rng.choice(("utf-8", "utf-16", "latin-1")), "replace")
        submissions.read(".py", fuzzing.damaged(data, rng) if rng.random() < 0.2 else data)

    tell(capsys, seconds, fuzz(seconds, attempt), "modules")


@pytest.mark.e2e
def test_notebooks_for_nbgrader(assignment, tmp_path):
    """What goes to autograded/ is a valid notebook with every cell of the release in it."""
    import nbformat

    from autograder.nbgrader_plugin import cells, nodes, reading

    submissions = Submissions(assignment, tmp_path)
    release = nodes.loads(json.dumps(submissions.book))
    wanted = [name for cell in release.cells if (name := nodes.grade_id_of(cell))]
    path = tmp_path / f"{SET}.ipynb"

    def attempt(rng: random.Random) -> None:
        path.write_bytes(fuzzing.notebook(rng, submissions.book))
        reading.made_by_us(path)
        try:
            book = reading.read_notebook(path)
        except Unreadable:
            return
        with suppress(Unreadable):
            written = cells.written_in(submission.read(path))
            made = json.loads(nodes.dumps(cells.restored(book, release, written)))
            nbformat.validate(made)
            found = [c["metadata"].get("nbgrader", {}).get("grade_id") for c in made["cells"]]
            assert [name for name in found if name] == wanted

    fuzz(3.0, attempt)


@pytest.mark.e2e
@pytest.mark.needs_debian("libseccomp2", library="seccomp")
def test_a_child_that_writes_anything(observations):
    """Random bytes and damaged replies from a real child, on one zygote."""
    from autograder.observe.pool import ZygotePool
    from autograder.program import Call, Program
    from autograder.wire import program_to_wire
    from tests.hostile.frames import SPEAK

    bodies = [encode(observed) for observed in observations]
    program = program_to_wire(Program((Call("attack", (np.zeros(3),)),)))

    def attempt(rng: random.Random) -> None:
        data = fuzzing.damaged(rng.choice(bodies), rng)[:20_000]
        last = rng.choice(("", "os._exit(0)"))
        code = f"{SPEAK}\ndef attack(x):\n    reply({data!r})\n    {last}\n"
        with pool.session(Limits(wall=2.0, total=4.0)) as session:
            session.load([{"source": code, "line": 1, "cell": "x", "binds": []}], {})
            with suppress(Stopped, ProtocolError):
                for _ in range(2):
                    observed_from_wire(session.run(program))

    with ZygotePool() as pool:
        zygote = pool.pids[0]
        assert fuzz(3.0, attempt) >= 20
        assert pool.pids[0] == zygote
