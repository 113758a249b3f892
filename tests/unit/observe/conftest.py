"""Sessions to try things on, and a short way to run a submission in one."""

import numpy as np
import pytest

from autograder.observe.session import Limits
from autograder.program import Call, Program
from autograder.wire import program_to_wire

GOOD = "import numpy as np\ndef double(x):\n    return 2 * np.asarray(x)\n"


class Observe:
    """Load a source into a session and call one of its names."""

    @staticmethod
    def load(session, source, **options):
        statement = {"source": source, "line": 1, "cell": "cell-1", "binds": []}
        return session.load([statement], options)

    @staticmethod
    def call(session, name, *args, answered=(), answer=None):
        program = Program((Call(name, args),), answered=answered)
        return session.run(program_to_wire(program), answer)[0]

    def __call__(self, session, source, name="attempt", *args):
        (failure,) = self.load(session, source)
        assert failure is None
        return self.call(session, name, *args)

    def good(self, session):
        """Whether a right submission is observed right."""
        outcome = self(session, GOOD, "double", np.arange(3.0))
        assert outcome["value"].data.tolist() == [0.0, 2.0, 4.0]


@pytest.fixture(scope="session")
def observe():
    return Observe()


@pytest.fixture(scope="module")
def pool():
    """A pool of one zygote with every layer; skipped where the machine lacks one."""
    from autograder.observe.pool import ZygotePool

    with ZygotePool() as pool:
        if pool.isolation not in ("strong", "strong+"):
            pytest.skip(f"this machine lacks layers of the sandbox: {pool.missing}")
        yield pool


@pytest.fixture
def quick():
    """Limits that a test can wait for."""
    return Limits(wall=0.5, total=3.0, cpu=60, memory=256, output=1 << 16)
