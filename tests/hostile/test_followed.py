"""What submissions do to the process that answers for their parts, and what they get from it.

That they earn nothing is tried with all others. Here it is seen that each of them really came as
far as it says, in the second pass, whose result is not shown.
"""

from __future__ import annotations

import sys

import pytest

if sys.platform != "linux":
    pytest.skip("the sandbox exists on Linux only", allow_module_level=True)

from autograder import following
from autograder.observe.session import Refused
from autograder.references import Desk
from tests.hostile.arena import arena
from tests.hostile.oracles import NOT_QUESTIONS, oracles

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.needs_debian("libseccomp2", library="seccomp"),
]

OWN = "self_attention is not answered here"
NO_MAP = "softmax is not answered for a dict"
LARGE = "is not answered for arguments so much larger than the case"
MORE = "64 calls of other exercises are answered in a case"

ASKED = "answered softmax"
NOBODY = "is not answered here"

# What is seen of each in the second pass: parts of lines, in this order, others between them.
SEEN: dict[str, tuple[str, ...]] = {
    "the exercise itself": (ASKED, OWN, "ended error"),
    "the exercise itself, well put": (ASKED, OWN, "ended error"),
    "an exercise that is not needed": (ASKED, f"softmax_jacobian {NOBODY}"),
    "a name of Python": (f"open {NOBODY}", f"eval {NOBODY}", f"gradients_of_softmax {NOBODY}"),
    "code as an argument": (NO_MAP,) * 6,
    "what another step has kept": (ASKED, NO_MAP),
    "a generator by its seed": (ASKED, NO_MAP),
    "gradients where there are none": (ASKED, "softmax raised Missing"),
    "the source in an exception": (ASKED, "softmax raised AttributeError", "GOT THROUGH"),
    "everything that is answered, shown": (ASKED, ASKED, "GOT THROUGH"),
    "answers kept for other exercises": (*(ASKED,) * 64, "ended failed"),
    "answers written down": (ASKED, "ended failed"),
    "right only with the answers": (ASKED, "ended failed"),
    "a huge array": (ASKED, LARGE, "ended error"),
    "a huge array, forged": (ASKED, "not answered for a Array", LARGE),
    "a huge number": (ASKED, LARGE, "ended error"),
    "a huge result": (ASKED, "answered project", "answered project", "ended"),
    "many parts": (LARGE, LARGE, "ended timed_out"),
    "calls without an end": (*(ASKED,) * 64, MORE, MORE, "ended timed_out"),
    "large calls without an end": (LARGE, LARGE, "ended timed_out"),
    "objects that are no arrays": ("for a Array", "for a function", "for a type", "ended failed"),
    "a list that holds itself": (ASKED, "softmax ", "ended error"),
    "a question with another nonce": (ASKED, "wrong nonce"),
    "a question after the reply": (ASKED, "ended crashed"),
    "two questions at a time": (*(ASKED,) * 3, "ended failed"),
    "questions that nobody reads the answers of": (ASKED, ASKED, "ended"),
    "an answer to itself": (ASKED, "ended crashed"),
    "names of any length": (f"… {NOBODY}", "no argument called", "ended failed"),
    "questions in the first pass": (ASKED, ASKED),
    "questions for another exercise": (),
} | {f"a question that is {words}": (ASKED, "ended crashed") for words in NOT_QUESTIONS}


@pytest.fixture(scope="module")
def ring(tmp_path_factory):
    with arena(tmp_path_factory.mktemp("hostile") / "world") as made:
        yield made


@pytest.fixture
def seen(monkeypatch):
    """What was asked and how the second passes ended, in lines."""
    lines = []

    class Seen(Desk):
        def answers(self, case):
            answer = super().answers(case)

            def told(question):
                try:
                    found = answer(question)
                except Refused as refused:
                    lines.append(str(refused))
                    raise
                lines.append(f"answered {question.name}")
                return found

            return told

    class Pass(following.Pass):
        def run(self, specs):
            found = super().run(specs)
            lines.extend(f"ended {r.outcome}: {r.feedback}" for r in found.values())
            return found

    monkeypatch.setattr(following, "Desk", Seen)
    monkeypatch.setattr(following, "Pass", Pass)
    return lines


@pytest.mark.parametrize("hostile", oracles.members, ids=lambda hostile: hostile.name)
def test_comes_as_far_as_it_says(hostile, ring, seen):
    through, otherwise = ring.fight(hostile)
    assert not through
    assert not otherwise
    left = iter(seen)
    missing = [part for part in SEEN[hostile.name] if not any(part in line for line in left)]
    assert missing == [], [line[:300] for line in seen if ASKED not in line][-20:]
