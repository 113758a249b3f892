"""From a submission to results: loading, observing, what a session's end costs, and whom."""

import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from autograder.evaluation import evaluate
from autograder.observe import worker
from autograder.observe.inprocess import observe
from autograder.observe.protocol import ProtocolError
from autograder.observe.session import Limits, Stopped
from autograder.observe.values import describe_exception
from autograder.parsing import Cell, parse
from autograder.program import Call, Observed, Program, Raised
from autograder.specification import Case, CustomCheck, ExerciseSpec, KnownMistake
from autograder.submission import Submission
from tests.unit.trial import wired

X, Y = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0])


def spec(name, reference, arguments=((X,), (Y,)), **more):
    """An exercise with a case for each tuple of arguments."""
    cases = []
    for number, args in enumerate(arguments, 1):
        program = Program((Call(name, args, {}, ("x",)[: len(args)]),))
        expected = observe({name: reference}, program)
        cases.append(Case(f"case_{number}", f"case {number}", program, expected))
    return ExerciseSpec(name=name, points=2.0, cases=tuple(cases), **more)


DOUBLE = spec("double", lambda x: 2 * x)
TRIPLE = spec("triple", lambda x: 3 * x)
NEGATE = spec("negate", lambda x: -x)
SPECS = (DOUBLE, TRIPLE, NEGATE)
RIGHT = {
    "double": "def double(x):\n    return 2 * x",
    "triple": "def triple(x):\n    return 3 * x",
    "negate": "def negate(x):\n    return -x",
}
STUB = "def double(x):\n    raise NotImplementedError()"


def submitted(*sources, kind="notebook"):
    """A submission of these cells; the right ones go by name."""
    cells = tuple(
        Cell(f"cell {number}", textwrap.dedent(RIGHT.get(source, source)))
        for number, source in enumerate(sources, 1)
    )
    found, broken = parse(cells, kind)
    suffix = "ipynb" if kind == "notebook" else "py"
    return Submission(Path(f"ps.{suffix}"), kind, "", cells, tuple(found), tuple(broken))


class Fake:
    """Sessions in this very process, which fail where they are told to.

    faults: "load", "run", "open", "close" for every such request, or "run 3" for the third
    of all sessions → what is raised, or what is returned in place of the outcome.
    """

    def __init__(self, **faults):
        self.faults = {name.replace("_", " "): fault for name, fault in faults.items()}
        self.counts = {}
        self.loaded = []
        self.options = []

    def __call__(self):
        self.request("open")
        return FakeSession(self)

    def request(self, kind):
        self.counts[kind] = number = self.counts.get(kind, 0) + 1
        fault = self.faults.get(f"{kind} {number}", self.faults.get(kind))
        if isinstance(fault, BaseException):
            raise fault
        return fault

    @property
    def sources(self):
        return [[item["source"] for item in statements] for statements in self.loaded]


class FakeSession:
    def __init__(self, owner):
        self.owner = owner
        self.namespace = {"__name__": "submission"}

    def load(self, statements, options):
        self.owner.loaded.append(statements)
        self.owner.options.append(options)
        fault = self.owner.request("load")
        if fault is not None:
            return fault
        outcomes, stopped = [], None
        for item in statements:
            outcomes.append(None)
            if item["cell"] == stopped:
                continue
            try:
                source = "\n" * (item["line"] - 1) + item["source"]
                exec(compile(source, worker.MARKER + item["cell"], "exec"), self.namespace)
            except BaseException as error:
                outcomes[-1] = describe_exception(error, worker.MARKER)
                stopped = item["cell"] if item["stops_cell"] else None
        return outcomes

    def run(self, program, answer=None):
        fault = self.owner.request("run")
        ask = None if answer is None else wired(answer)
        return worker.run(program, self.namespace, ask) if fault is None else fault

    def close(self):
        self.owner.request("close")


def outcomes(submission, specs=SPECS, sessions=None):
    """name → outcome."""
    found = evaluate(submission, specs, sessions or Fake())
    assert [result.name for result in found] == [item.name for item in specs]
    for result in found:
        expected = {"passed": 2.0, "infrastructure": None}.get(result.outcome, 0.0)
        assert result.score == expected
    return {result.name: result.outcome for result in found}


def result_of(submission, only=DOUBLE, sessions=None):
    (result,) = evaluate(submission, [only], sessions or Fake())
    return result


class TestOutcomes:
    def test_right_in_one_session(self):
        sessions = Fake()
        assert set(outcomes(submitted(*RIGHT), sessions=sessions).values()) == {"passed"}
        assert sessions.counts == {"open": 1, "load": 1, "run": 6, "close": 1}

    def test_each_has_its_own(self):
        wrong = "def triple(x):\n    return x"
        assert outcomes(submitted("double", wrong, "def negate(x):\n    return 1 / 0")) == {
            "double": "passed",
            "triple": "failed",
            "negate": "error",
        }

    @pytest.mark.parametrize("source", [STUB, "", "x = 1", "double(3)"])
    def test_missing_needs_no_session(self, source):
        sessions = Fake()
        result = result_of(submitted(source), sessions=sessions)
        assert (result.outcome, result.feedback) == ("missing", "double: not written yet.")
        assert sessions.counts == {}

    def test_half_written_is_missing_too(self):
        sessions = Fake()
        half = "def double(x):\n    y = x\n    raise NotImplementedError\nprint(double(1))"
        assert result_of(submitted(half), sessions=sessions).outcome == "missing"
        assert sessions.counts["open"] == 1

    def test_a_stub_after_the_work_is_pointed_out(self):
        result = result_of(submitted("double", "x = 1", "\n" + STUB))
        assert result.outcome == "missing"
        assert result.feedback == (
            "double: not written yet.\n  It is defined in line 1 of cell 1, but the empty one in "
            "line 2 of cell 3 comes later and counts."
        )

    def test_forbidden(self):
        strict = spec("double", lambda x: 2 * x, forbids=("numpy.add", "numpy.linalg"))
        result = result_of(
            submitted("import numpy as np\ndef double(x): return np.add(x, x)"), strict
        )
        assert (result.outcome, result.score) == ("forbidden", 0.0)
        assert result.feedback == (
            "double: a forbidden call\n  It uses `numpy.add`, which this exercise forbids."
        )
        assert [check.outcome for check in result.checks[:2]] == ["failed", "skipped"]
        assert result_of(submitted("double"), strict).outcome == "passed"

    def test_an_exercise_without_cases_is_our_fault(self):
        assert result_of(submitted("double"), spec("double", None, ())).outcome == "infrastructure"


class TestBrokenCells:
    def test_one_cell_of_twenty(self):
        cells = [f"x{number} = {number}" for number in range(20)]
        cells[3], cells[7], cells[19] = "double", "def triple(x):\n    return 3 *", "negate"
        submission = submitted(*cells)
        assert outcomes(submission) == {"double": "passed", "triple": "error", "negate": "passed"}
        assert result_of(submission, TRIPLE).feedback == (
            "triple: a syntax error\n  Line 2 of cell 8 is not Python (invalid syntax)."
        )

    def test_an_earlier_definition_stands(self):
        submission = submitted("double", "def double(x:\n    return 3 * x")
        assert outcomes(submission, [DOUBLE]) == {"double": "passed"}

    def test_an_earlier_stub_does_not(self):
        submission = submitted(STUB, "def double(x:\n    return 2 * x")
        assert outcomes(submission, [DOUBLE]) == {"double": "error"}

    def test_a_helper_in_it_is_named(self):
        helper = "import numpy as np\ndef helper(x):\n    return np.add(x, x"
        result = result_of(submitted(helper, "def double(x):\n    return helper(x)"))
        assert result.outcome == "error"
        *_, last = result.feedback.splitlines()
        assert "NameError" in result.feedback
        assert last == (
            "  `helper` was left out: line 3 of cell 1 is not Python ('(' was never closed)."
        )

    def test_in_a_module_it_costs_one_definition(self):
        source = "\n".join([RIGHT["double"], "def triple(x:\n    return x", RIGHT["negate"]])
        assert outcomes(submitted(source, kind="module")) == {
            "double": "passed",
            "triple": "error",
            "negate": "passed",
        }


class TestLoading:
    def test_only_the_slice_is_executed(self):
        sessions = Fake()
        submission = submitted(
            "import math\nprint('hi')", "double", "while True: pass", "x = input()", "triple"
        )
        assert set(outcomes(submission, [DOUBLE, TRIPLE], sessions).values()) == {"passed"}
        assert sessions.sources == [[RIGHT["double"], RIGHT["triple"]]]

    def test_a_global_that_a_later_cell_redefines(self):
        cells = ["factor = 1", "def double(x):\n    return factor * x", "factor = 2"]
        assert result_of(submitted(*cells)).outcome == "passed"

    def test_the_last_definition_counts(self):
        wrong = "def double(x):\n    return x"
        assert result_of(submitted(wrong, "double")).outcome == "passed"
        assert result_of(submitted("double", wrong)).outcome == "failed"

    @pytest.mark.parametrize(
        "source",
        [
            "double = lambda x: 2 * x",
            "from functools import partial\nimport operator\ndouble = partial(operator.mul, 2)",
            "F = 2\ndef double(x, f=F): return f * x",
            "class double:\n    def __new__(cls, x): return 2 * x",
            "class A: pass\na = A()\na.f = lambda x: 2 * x\ndouble = a.f",
            "class A:\n    pass\ndef call(self, x): return 2 * x\nA.__call__ = call\ndouble = A()",
            "c = {}\ndef double(x):\n    global c\n    c = {0: x}\n    return 2 * c[0]",
            "def even(n, x): return x if n == 0 else odd(n - 1, x)\n"
            "def odd(n, x): return x + even(n - 1, x)\ndef double(x): return odd(1, x)",
            "if True:\n    def double(x): return 2 * x\nelse:\n    double = None",
            "try:\n    import not_there\nexcept ImportError:\n    not_there = None\n"
            "def double(x): return 2 * x if not_there is None else x",
            "from operator import *\ndef double(x): return mul(2, x)",
            "def deco(f): return lambda x: 2 * f(x)\n@deco\ndef double(x): return x",
            "from dataclasses import dataclass\n@dataclass\nclass Config:\n    f: int = 2\n"
            "def double(x): return Config().f * x",
            "table = [1, 1]\ntable[1] = 2\ndef double(x): return table[1] * x",
            "if (f := 2): pass\ndef double(x): return f * x",
            "f = 1; f += 1; double = lambda x: f * x",
        ],
    )
    def test_right_in_its_own_way(self, source):
        sessions = Fake()
        assert result_of(submitted(source), sessions=sessions).outcome == "passed"
        assert sessions.counts["open"] == 1

    def test_an_import_that_fails_costs_only_those_that_use_it(self):
        uses_it = "def triple(x):\n    return not_there.triple(x)"
        submission = submitted("import not_there", "double", uses_it, "negate")
        assert outcomes(submission) == {"double": "passed", "triple": "error", "negate": "passed"}
        result = result_of(submission, TRIPLE)
        assert "ModuleNotFoundError: No module named 'not_there'" in result.feedback
        assert "line 1 of cell 1" in result.feedback
        assert result.feedback.endswith(
            "\n  Only the packages named in the notebook can be imported."
        )

    def test_an_import_that_is_never_reached_costs_nothing(self):
        source = "import not_there\ndef double(x):\n    return 2 * x if True else not_there.f(x)"
        assert result_of(submitted(*source.split("\n", 1))).outcome == "passed"

    def test_an_import_inside_the_function(self):
        result = result_of(submitted("def double(x):\n    import not_there"))
        assert result.outcome == "error"
        assert "Only the packages named in the notebook can be imported." in result.feedback

    def test_a_failed_statement_that_a_later_one_makes_up_for(self):
        source = "from not_there import double"
        assert result_of(submitted(source, "double")).outcome == "passed"
        broken = "def double(x):\n    return 1 / 0"
        assert "ZeroDivisionError" in result_of(submitted(source, broken)).feedback

    def test_the_first_failed_statement_is_the_one_to_tell(self):
        result = result_of(submitted("a = 1 / 0", "b = a + 1", "def double(x):\n    return b * x"))
        assert result.outcome == "error"
        assert "ZeroDivisionError" in result.feedback
        assert "line 1 of cell 1" in result.feedback

    def test_a_definition_that_fails(self):
        result = result_of(submitted("\ndef double(x, y=1 / 0):\n    return 2 * x"))
        assert result.outcome == "error"
        assert "line 2 of cell 1" in result.feedback

    def test_input(self):
        eof = "def input(*a): raise EOFError('EOF when reading a line')\n"
        result = result_of(submitted(eof + "name = input()\ndef double(x): return name * x"))
        assert result.outcome == "error"
        assert result.feedback.endswith(
            "\n  Nobody answers `input()` here: write a value in its place."
        )

    def test_notebook_libraries_are_inert_unless_the_exercise_draws(self):
        sessions = Fake()
        result_of(submitted("double"), sessions=sessions)
        drawing = spec("double", lambda x: 2 * x, axes_needed=True)
        result_of(submitted("double"), drawing, sessions)
        assert sessions.options == [
            {"stand_ins": ["autograder", "IPython", "matplotlib"]},
            {"stand_ins": ["autograder", "IPython"]},
        ]

    def test_thousands_of_statements_go_in_several_requests(self):
        sessions = Fake()
        chain = "\n".join(f"a{i} = a{i - 1} + 0" for i in range(1, 4000))
        submission = submitted("a0 = 2", chain, "def double(x):\n    return a3999 * x")
        assert result_of(submission, sessions=sessions).outcome == "passed"
        assert [len(item) for item in sessions.loaded] == [1500, 1500, 1001]
        assert sessions.options[1:] == [{"stand_ins": []}] * 2


class TestRunningEverything:
    """The second chance: what the slice leaves out is executed too, in order."""

    @pytest.mark.parametrize(
        "cells",
        [
            ["exec('def helper(x): return 2 * x')", "def double(x): return helper(x)"],
            ["globals()['f'] = 2", "def double(x): return f * x"],
            ["for f in (1, 2): pass", "def double(x): return f * x"],
            ["for name in 'ab': globals()[name] = 2", "def double(x, f=a): return f * x"],
            ["table = {}", "for i in range(3): table[i] = i", "def double(x): return table[2] * x"],
            [
                "table = []",
                "for i in range(3): table.append(i)",
                "def double(x): return table[2] * x",
            ],
            ["table = [1]", "table.append(2)", "def double(x): return table[-1] * x"],
            ["class A: f = 1", "setattr(A, 'f', 2)", "def double(x): return A.f * x"],
            ["f = 1\nwhile f < 2: f += 1", "def double(x): return f * x"],
            ["(double := lambda x: 2 * x)"],
            ["def make():\n    global double\n    def double(x): return 2 * x", "make()"],
            ["for double in [lambda x: 2 * x]: pass"],
        ],
    )
    def test_finds_what_was_missing(self, cells):
        sessions = Fake()
        assert result_of(submitted(*cells), sessions=sessions).outcome == "passed"
        assert sessions.counts["open"] == 2
        assert all(item["stops_cell"] for item in sessions.loaded[1])

    def test_goes_as_far_as_a_kernel(self):
        cells = ["x = 1 / 0\nexec('f = 3')", "exec('f = 2')\nraise KeyError\nexec('f = 3')"]
        assert result_of(submitted(*cells, "def double(x): return f * x")).outcome == "passed"

    def test_a_module_goes_on_after_an_exception(self):
        source = "get_ipython().system('ls')\nexec('f = 2')\ndef double(x): return f * x"
        sessions = Fake()
        assert result_of(submitted(source, kind="module"), sessions=sessions).outcome == "passed"
        assert not any(item["stops_cell"] for item in sessions.loaded[1])

    @pytest.mark.parametrize("reason", ["timed_out", "out_of_memory", "crashed", "infrastructure"])
    def test_keeps_what_the_slice_told_when_that_ends_badly(self, reason):
        sessions = Fake(load_2=Stopped(reason, "No."), load_3=Stopped(reason, "No."))
        result = result_of(submitted("def double(x):\n    return typo * x"), sessions=sessions)
        assert (result.outcome, result.score) == ("error", 0.0)
        assert "NameError" in result.feedback
        assert sessions.counts["open"] == (3 if reason == "infrastructure" else 2)

    def test_keeps_what_the_slice_told_when_the_cell_is_not_reached(self):
        result = result_of(submitted("1 / 0\ndef double(x):\n    return typo * x"))
        assert (result.outcome, "NameError" in result.feedback) == ("error", True)

    def test_never_makes_a_result_worse(self):
        cells = ["table = {0: 2}", "def double(x): return table[0] * x[:2]", "table[0] = 2"]
        checks = (CustomCheck("c", "a line", lambda view: None, credit=0.5),)
        first = result_of(submitted(*cells), spec("double", lambda x: 2 * x, checks=checks))
        more = [*cells, "for i in range(3): table[i] = 7"]
        again = result_of(submitted(*more), spec("double", lambda x: 2 * x, checks=checks))
        assert (first.outcome, again.outcome) == ("failed", "failed")
        assert again.score == first.score

    @pytest.mark.parametrize(
        "source",
        [
            "def double(x):\n    return x",
            "def double(x):\n    y += 1",
            "def double(x):\n    return x.nonsense",
            "import numpy as np\nnp.random.seed(3)\ndef double(x):\n    return np.nonsense(x)",
            "def double(x):\n    return x\nprint(double(3))",
        ],
    )
    def test_is_not_done_where_nothing_can_come_of_it(self, source):
        sessions = Fake()
        assert result_of(submitted(source), sessions=sessions).outcome in ("failed", "error")
        assert sessions.counts["open"] == 1

    def test_is_done_once_for_all_that_need_it(self):
        cells = ["exec('f = 2')", "def double(x): return f * x", "def triple(x): return f * x + x"]
        sessions = Fake()
        assert outcomes(submitted(*cells, "negate"), sessions=sessions) == {
            "double": "passed",
            "triple": "passed",
            "negate": "passed",
        }
        assert sessions.counts["open"] == 2


REASONS = ["timed_out", "out_of_memory", "crashed"]


class TestStopped:
    """A session that ends costs the exercise that ended it, and no other."""

    @pytest.mark.parametrize("reason", REASONS)
    @pytest.mark.parametrize("request_number", [1, 2])
    def test_at_a_case(self, reason, request_number):
        sessions = Fake(**{f"run_{request_number}": Stopped(reason, "The reason.")})
        found = evaluate(submitted(*RIGHT), SPECS, sessions)
        assert [result.outcome for result in found] == [reason, "passed", "passed"]
        assert "The reason" in found[0].feedback
        assert ".." not in found[0].feedback
        assert sessions.counts["open"] == sessions.counts["close"] == 2
        assert sessions.sources[1] == [RIGHT["triple"], RIGHT["negate"]]

    @pytest.mark.parametrize("reason", REASONS)
    def test_at_the_last_case_of_all(self, reason):
        sessions = Fake(run_6=Stopped(reason, "The reason."))
        assert list(outcomes(submitted(*RIGHT), sessions=sessions).values()) == [
            "passed",
            "passed",
            reason,
        ]
        assert sessions.counts["open"] == 1

    @pytest.mark.parametrize("reason", REASONS)
    def test_while_loading(self, reason):
        sessions = Fake(load_1=Stopped(reason, "The reason."), load_3=Stopped(reason, "Again."))
        found = evaluate(submitted(*RIGHT), SPECS, sessions)
        assert [result.outcome for result in found] == ["passed", reason, "passed"]
        first, second = found[1].feedback.splitlines()
        assert first.startswith("triple: ")
        assert first.endswith(" before any case was run")
        assert second == "  Again."
        assert (found[1].checks[0].name, found[1].checks[0].outcome) == ("runs", "failed")
        assert sessions.sources[1:] == [[RIGHT[name]] for name in RIGHT]
        assert sessions.counts["open"] == sessions.counts["close"] == 4

    @pytest.mark.parametrize("reason", REASONS)
    def test_every_time(self, reason):
        for kind in ("load", "run"):
            sessions = Fake(**{kind: Stopped(reason, "The reason.")})
            assert set(outcomes(submitted(*RIGHT), sessions=sessions).values()) == {reason}
            assert sessions.counts["open"] == sessions.counts["close"] <= 4

    @pytest.mark.parametrize("where", ["open", "load", "run"])
    def test_a_fault_of_ours_is_tried_once_more(self, where):
        sessions = Fake(**{f"{where}_1": Stopped("infrastructure", "Ours.")})
        assert set(outcomes(submitted(*RIGHT), sessions=sessions).values()) == {"passed"}
        assert sessions.counts["open"] == 2

    @pytest.mark.parametrize("where", ["open", "load"])
    def test_and_then_costs_nobody_a_point(self, where):
        sessions = Fake(**{where: Stopped("infrastructure", "Ours.")})
        assert set(outcomes(submitted(*RIGHT), sessions=sessions).values()) == {"infrastructure"}
        assert sessions.counts["open"] == 2

    def test_at_one_exercise_only(self):
        ours = Stopped("infrastructure", "Ours.")
        sessions = Fake(run_4=ours, run_6=ours)  # the second case of `triple`, twice
        assert outcomes(submitted(*RIGHT), sessions=sessions) == {
            "double": "passed",
            "triple": "infrastructure",
            "negate": "passed",
        }
        assert sessions.counts["open"] == sessions.counts["close"] == 3

    def test_a_retry_that_times_out(self):
        sessions = Fake(
            run_1=Stopped("infrastructure", "Ours."), run_2=Stopped("timed_out", "Slow.")
        )
        assert outcomes(submitted(*RIGHT), sessions=sessions)["double"] == "timed_out"

    @pytest.mark.parametrize("where", ["open", "load", "run"])
    @pytest.mark.parametrize(
        "fault", [OSError(24, "Too many open files"), RuntimeError("closed"), MemoryError()]
    )
    def test_any_other_exception_is_a_fault_of_ours(self, where, fault):
        found = evaluate(submitted(*RIGHT), SPECS, Fake(**{where: fault}))
        assert {result.outcome for result in found} == {"infrastructure"}
        assert all(result.score is None for result in found)
        assert type(fault).__name__ in found[0].feedback

    def test_a_session_that_cannot_be_closed(self):
        assert set(outcomes(submitted(*RIGHT), sessions=Fake(close=OSError())).values()) == {
            "passed"
        }

    def test_somebody_who_presses_control_c_is_obeyed(self):
        for where in ("open", "load", "run"):
            sessions = Fake(**{where: KeyboardInterrupt()})
            with pytest.raises(KeyboardInterrupt):
                evaluate(submitted(*RIGHT), SPECS, sessions)
            assert sessions.counts.get("close", 0) == sessions.counts["open"] - (where == "open")

    @pytest.mark.parametrize("where", ["load", "run"])
    @pytest.mark.parametrize(
        "reply",
        [
            ProtocolError("garbage"),
            [3],
            ["text", None, {}],
            [{"type": 3, "raised": {}}] * 3,
            [{"raised": {"type": "E", "bases": 3, "message": None}}] * 3,
            [{"type": "E", "bases": None, "message": ""}] * 3,
            {},
            3,
            "abc",
            [[], [], []],
        ],
    )
    def test_replies_that_no_worker_gives(self, where, reply):
        found = evaluate(submitted(*RIGHT), SPECS, Fake(**{where: reply}))
        assert "passed" not in {result.outcome for result in found}
        assert "infrastructure" not in {result.outcome for result in found}

    def test_a_check_that_raises_is_a_fault_of_ours(self):
        def fails(view):
            raise KeyError("of the author")

        checked = spec("double", lambda x: 2 * x, checks=(CustomCheck("c", "a line", fails),))
        found = evaluate(submitted(*RIGHT), [checked, TRIPLE], Fake())
        assert [result.outcome for result in found] == ["infrastructure", "passed"]
        assert found[0].score is None

    def test_a_case_that_cannot_be_sent_is_a_fault_of_ours(self):
        (case, *_) = DOUBLE.cases
        program = Program((Call("double", (object(),)),))
        odd = ExerciseSpec("double", 2.0, (Case("c", "c", program, case.expected),))
        found = evaluate(submitted(*RIGHT), [odd, TRIPLE], Fake())
        assert [result.outcome for result in found] == ["infrastructure", "passed"]


class TestNeeds:
    NEEDY = spec("triple", lambda x: 3 * x, needs=("double",))
    COMPOSED = "def triple(x):\n    return double(x) + x"

    def feedback(self, *cells):
        return evaluate(submitted(*cells), [DOUBLE, self.NEEDY], Fake())[1].feedback

    LINE = "  It may call `double`, not right yet: repair that first, then look here again."

    def test_a_part_that_is_not_right_is_named(self):
        wrong = "def double(x):\n    return x"
        assert self.feedback(wrong, self.COMPOSED).endswith(f"\n{self.LINE}")
        assert self.feedback(STUB, "def triple(x):\n    return x").endswith(f"\n{self.LINE}")

    def test_a_part_that_is_right_is_not(self):
        assert self.LINE not in self.feedback("double", "def triple(x):\n    return x")
        assert self.LINE not in self.feedback(STUB, "triple")

    def test_nor_one_that_we_could_not_grade(self):
        ours = Stopped("infrastructure", "Ours.")
        sessions = Fake(run_1=ours, run_2=ours)
        cells = submitted("double", "def triple(x):\n    return x")
        found = evaluate(cells, [DOUBLE, self.NEEDY], sessions)
        assert [result.outcome for result in found] == ["infrastructure", "failed"]
        assert self.LINE not in found[1].feedback


class TestExpectedExceptions:
    def test_one_that_is_asked_for_is_no_reason_to_run_everything(self):
        program = Program((Call("double", (X,), {}, ("x",)),))
        raised = (Observed(raised=Raised("NameError", ("Exception",), "")),)
        asked = Case("asked", "asked", program, raised)
        strict = ExerciseSpec("double", 2.0, (asked, DOUBLE.cases[1]))
        raises = "def double(x):\n    if len(x) == 3: raise NameError\n    return "
        for result, outcome in (("2 * x", "passed"), ("x", "failed")):
            sessions = Fake()
            assert result_of(submitted(raises + result), strict, sessions).outcome == outcome
            assert sessions.counts["open"] == 1


class TestMisconceptions:
    def test_are_found_in_what_was_observed(self):
        program = DOUBLE.cases[0].program
        squared = observe({"double": lambda x: x * x}, program)
        case = Case("c", "c", program, DOUBLE.cases[0].expected, {"squared": squared})
        known = KnownMistake("squared", "Squares.", "Twice three?", 0.5)
        result = result_of(
            submitted("def double(x):\n    return x * x"),
            ExerciseSpec("double", 2.0, (case,), mistakes=(known,)),
        )
        assert (result.misconceptions, result.score) == (("squared",), 1.0)


@pytest.fixture(scope="module")
def pool():
    if sys.platform != "linux":
        pytest.skip("the sandbox exists on Linux only")
    from autograder.observe.pool import ZygotePool

    with ZygotePool() as pool:
        yield pool


class TestRealSessions:
    LIMITS = Limits(wall=0.4, total=5.0, cpu=10, memory=256)

    def graded(self, pool, *cells, limits=LIMITS, kind="notebook"):
        return evaluate(submitted(*cells, kind=kind), SPECS, lambda: pool.session(limits))

    @pytest.mark.parametrize(
        ("body", "outcome"),
        [
            ("while True: pass", "timed_out"),
            ("return [0] * 10**9", "out_of_memory"),
            ("import os; os._exit(0)", "crashed"),
            ("import ctypes; ctypes.string_at(0)", "crashed"),
            ("import os; os.closerange(0, 100)", "crashed"),
            ("import sys; sys.exit()", "error"),
            ("raise KeyboardInterrupt", "error"),
            ("return input()", "error"),
            ("return triple(x)", "error"),
        ],
    )
    def test_one_among_right_ones(self, pool, body, outcome):
        found = self.graded(pool, f"def triple(x):\n    {body}", "double", "negate")
        assert [result.outcome for result in found] == ["passed", outcome, "passed"]

    def test_a_default_argument_that_never_ends(self, pool):
        loops = "def triple(x, y=[0 for _ in iter(int, 1)]):\n    return x"
        found = self.graded(pool, "double", loops, "negate")
        assert [result.outcome for result in found] == ["passed", "timed_out", "passed"]

    def test_what_a_notebook_is_full_of(self, pool):
        found = self.graded(
            pool,
            "%matplotlib inline\nimport numpy as np, matplotlib.pyplot as plt\n!pip install torch",
            "from autograder import check\nfrom IPython.display import display",
            "double",
            'check("double")\nname = input("Name? ")\nplt.plot([1]); plt.show()\nexit()',
            "for epoch in range(10**12):\n    loss = epoch ** 2",
            "figure, axes = plt.subplots()\ndef triple(x):\n    axes.plot(x)\n    return 3 * x",
            "from __future__ import annotations\ndef negate(x: Tensor) -> Tensor:\n    return -x",
        )
        assert [result.outcome for result in found] == ["passed"] * 3

    def test_lines_are_those_of_the_cell(self, pool):
        found = self.graded(
            pool,
            "\n\ndef double(x):\n\n    return x.nonsense",
            "# %\n!ls\n\nx = !ls\n@property\n\ndef other(x): pass\ndef triple(x): return 1 / 0",
            "def helper(x):\n  return {}[x[0]]\n\ndef negate(x):\n  return helper(x)",
        )
        for result, where in zip(
            found, ["line 5 of cell 1", "line 8 of cell 2", "line 2 of cell 3"], strict=True
        ):
            assert where in result.feedback

    def test_ten_thousand_lines_in_a_cell(self, pool):
        lines = "\n".join(f"a{i} = 0" for i in range(9_000))
        total = " + ".join(f"a{i}" for i in range(0, 9_000, 10))
        source = f"{lines}\ndef double(x):\n    return 2 * x + {total}\n{RIGHT['triple']}"
        found = self.graded(pool, source, "negate", limits=Limits(wall=10.0))
        assert [result.outcome for result in found] == ["passed"] * 3

    def test_a_statement_that_is_longer_than_a_text_may_be(self, pool):
        table = ", ".join(["2.0"] * 20_000)
        source = f"table = [{table}]\ndef double(x):\n    return table[-1] * x"
        found = self.graded(pool, source, "triple", "negate", limits=Limits(wall=10.0))
        assert [result.outcome for result in found] == ["passed"] * 3

    def test_in_a_spawned_process(self):
        from autograder.observe.spawned import SpawnedSession

        cells = submitted("double", "import os\ndef triple(x): os._exit(3)", "negate")
        found = evaluate(cells, SPECS, lambda: SpawnedSession(Limits(wall=5.0)))
        assert [result.outcome for result in found] == ["passed", "crashed", "passed"]
