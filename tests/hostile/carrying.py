"""Submissions that carry something from one exercise, case or student to the next."""

from tests.hostile.kinds import WRONG, Kind

carrying = Kind("carrying", WRONG)

RIGHT_SOFTMAX = """\
import numpy as np


def {name}(scores):
    e = np.exp(scores - scores.max(axis=0))
    return e / e.sum(axis=0)
"""

carrying(
    "a patched helper",
    "The first exercise patches NumPy, so that the next one need not be right.",
    """
    import builtins, numpy as np

    def project(W, X):
        np.allclose = np.array_equal = lambda *a, **k: True
        builtins.abs = lambda x: 0
        return W @ X

    def softmax(scores):
        return 0 * scores
    """,
    earns=("project",),
)
carrying(
    "a patched worker",
    "The first exercise has the worker describe every later result by that of the first.",
    """
    import sys, numpy as np

    def project(W, X):
        worker = sys._getframe().f_back.f_globals
        original, right = worker['describe'], W @ X
        worker['describe'] = lambda value, *a, **k: original(right, *a, **k)
        return right

    def softmax(scores):
        return 0 * scores
    """,
    r"^(failed|crashed|error): ",
)
carrying(
    "results kept for later",
    "Keeps every array that it is given, and returns one of that shape when it is asked.",
    """
    import numpy as np
    kept = {}

    def attend(V, weights):
        kept[weights.shape] = weights
        return V @ weights

    def softmax(scores):
        return kept.get(scores.shape, kept.get(scores.shape[::-1], 0 * scores))
    """,
    earns=("attend",),
)
carrying(
    "counting cases",
    "Is right in the first cases, and saves itself the work in the others.",
    f"calls = []\n\n{RIGHT_SOFTMAX.format(name='full')}\n\n"
    "def softmax(scores):\n    calls.append(1)\n"
    "    return full(scores) if len(calls) < 5 else 0 * scores\n",
)
carrying(
    "public cases by their shape",
    "Knows the shapes of the public cases, and is right in these only.",
    f"{RIGHT_SOFTMAX.format(name='full')}\n\n"
    "PUBLIC = {(5, 3), (4, 3), (6, 4), (3, 4), (7, 5), (5, 2), (1, 3), (4, 1)}\n\n\n"
    "def softmax(scores):\n    return full(scores) if scores.shape in PUBLIC else 0 * scores\n",
)
carrying(
    "public cases by their values",
    "Has the results of the self-check's key in a table, and falls back on zeros.",
    "@table@",
    r"^failed: .*(hidden|called again)",
    seed="selfcheck",
)
carrying(
    "public cases of another seed",
    "Has the same table, where the cases are drawn afresh.",
    "@table@",
)
carrying(
    "a name of another exercise",
    "Defines an exercise that it leaves out by another, which it has.",
    f"{RIGHT_SOFTMAX.format(name='attend')}\n\nsoftmax = project = scale_scores = attend\n",
    r"^passed: ",
    earns=("softmax",),
)
carrying(
    "a definition by another cell",
    "Defines the exercise anew from within another one, when that is called.",
    """
    import numpy as np

    def project(W, X):
        global softmax
        softmax = lambda scores: (lambda e: e / e.sum(axis=0))(np.exp(scores - scores.max(axis=0)))
        return 0 * (W @ X)

    def softmax(scores):
        return 0 * scores
    """,
    r"^(passed|failed): ",
    earns=("softmax",),
)
carrying(
    "the stand-ins",
    "Uses the grader's inert stand-ins as results: whatever is done to them does nothing.",
    "import matplotlib.pyplot as plt\n\n\ndef softmax(scores):\n    return plt.softmax(scores)\n",
)
