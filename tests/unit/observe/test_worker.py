"""Statements executed and programs run, in this process: what comes back, and what is put back."""

import random
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from autograder.observe import protocol, worker
from autograder.observe.protocol import Opaque
from autograder.program import Backward, Call, Construct, DescribeModule, Mode, Program, Slot
from autograder.wire import program_to_wire
from tests.unit.observe.test_protocol import same


def load(*sources, **options):
    """Load sources, each a cell of its own; the namespace and the outcomes."""
    namespace = {"__name__": "submission"}
    statements = [
        {"source": source, "line": 1, "cell": f"cell {number}", "binds": [], **options}
        for number, source in enumerate(sources)
    ]
    return namespace, worker.load(statements, namespace, ())


def run(namespace, *steps, ask=None, limit=protocol.DEFAULT_BODY_LIMIT, live=False, **options):
    wire = program_to_wire(Program(steps, **options))
    return worker.run(wire, namespace, ask, limit, live=live)


class TestLoad:
    def test_one_that_fails_costs_itself_only(self):
        names, outcomes = load("a = 1", "b = 1 / 0", "c = a + 1", "import sys; sys.exit()", "d = 4")
        assert (names["c"], names["d"]) == (2, 4)
        assert [outcome and outcome["type"] for outcome in outcomes] == [
            None, "ZeroDivisionError", None, "SystemExit", None,
        ]  # fmt: skip
        assert "b" not in names

    def test_lines_are_those_of_the_cell(self):
        names = {}
        statement = {"source": "x = 1\ny = x.z", "line": 7, "cell": "cell 2", "binds": []}
        (outcome,) = worker.load([statement], names, ())
        assert (outcome["line"], outcome["cell"]) == (8, "cell 2")

    def test_a_cell_stops_where_a_kernel_would(self):
        statements = [
            {"source": source, "line": 1, "cell": cell, "binds": [], "stops_cell": True}
            for source, cell in [("1 / 0", "one"), ("x = 1", "one"), ("y = 2", "two")]
        ]
        names = {}
        outcomes = worker.load(statements, names, ())
        assert "x" not in names
        assert names["y"] == 2
        assert [outcome is None for outcome in outcomes] == [False, True, True]

    def test_a_syntax_error(self):
        _, (outcome,) = load("x = (")
        assert (outcome["type"], outcome["line"], outcome["cell"]) == ("SyntaxError", 1, "cell 0")

    def test_future_statements_hold_for_what_follows(self):
        later = "def f(x: not_there) -> alas: return x"
        _, outcomes = load(later)
        assert outcomes[0]["type"] == "NameError"
        _, outcomes = load("from __future__ import annotations", later)
        assert outcomes == [None, None]

    def test_ours_do_not_hold_for_them(self):
        names, _ = load("def f(x: int): return x")
        assert names["f"].__annotations__ == {"x": int}


class TestStandIns:
    """In a process of its own: stand-ins are for good."""

    def executed(self, code):
        prelude = "from autograder.observe import stand_ins\n"
        done = subprocess.run(
            [sys.executable, "-c", prelude + textwrap.dedent(code)],
            capture_output=True, text=True, encoding="utf-8", check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def test_a_scratch_cell_that_plots(self):
        assert (
            self.executed("""
            stand_ins.install_stand_ins(["matplotlib", "IPython", "autograder"])
            import matplotlib.pyplot as plt
            from matplotlib import cm
            from IPython.display import display, HTML
            from autograder import check
            import autograder.anything
            figure, axes = plt.subplots(2, figsize=(3, 4))
            axes[0].imshow([[1]], cmap=cm.viridis).set_clim(0, 1)
            axes[1] = None
            with plt.style.context("ggplot"):
                plt.show()
            display(HTML("x"))
            for ax in axes.flat:
                ax.grid()
            check("softmax")
            print("through")
        """)
            == "through\n"
        )

    def test_nothing_else_is_touched(self):
        assert "No module named 'matplotlib2'" in self.executed("""
            stand_ins.install_stand_ins(["matplotlib"])
            try:
                import matplotlib2
            except ImportError as error:
                print(error)
        """)

    def test_none_are_installed_for_no_names(self):
        assert (
            self.executed("""
            import sys
            before = list(sys.meta_path)
            stand_ins.install_stand_ins([])
            print(sys.meta_path == before)
        """)
            == "True\n"
        )


class TestRun:
    def test_the_first_step_that_raises_ends_the_program(self):
        names, _ = load("def f(x): return 1 // x")
        outcomes = run(names, Call("f", (1,)), Call("f", (0,)), Call("f", (1,)))
        assert outcomes[0]["value"] == 1
        assert outcomes[1]["raised"]["type"] == "ZeroDivisionError"
        assert (outcomes[1]["raised"]["line"], outcomes[1]["raised"]["function"]) == (1, "f")
        assert len(outcomes) == 2

    @pytest.mark.parametrize("kind", ["SystemExit", "KeyboardInterrupt", "GeneratorExit"])
    def test_nothing_escapes(self, kind):
        names, _ = load(f"def f(): raise {kind}")
        assert run(names, Call("f"))[0]["raised"]["type"] == kind

    def test_a_name_that_is_not_there(self):
        assert run({}, Call("f"))[0]["raised"]["type"] == "Missing"
        assert run({}, Construct("C", "made"))[0]["raised"]["type"] == "Missing"

    def test_arguments_by_name(self):
        names, _ = load("def f(a, b=0, *, c=0): a[0] = 9; c[0] = 9; return b")
        call = Call("f", (np.zeros(2), 1), {"c": np.zeros(2)}, ("a", "b"))
        (outcome,) = run(names, call)
        assert (outcome["value"], outcome["changed"]) == (1, ["a", "c"])

    def test_arguments_without_a_name(self):
        names, _ = load("def f(a, b, c=None): b[0] = 9")
        call = Call("f", (np.zeros(2), np.zeros(2)), {"c": np.zeros(2)})
        assert run(names, call)[0]["changed"] == ["argument 2"]

    def test_arguments_are_watched_only_where_asked(self):
        names, _ = load("def f(a): a[0] = 9")
        assert run(names, Call("f", (np.zeros(2),), watch=()))[0]["changed"] == []

    def test_each_call_has_arguments_of_its_own(self):
        names, _ = load("def f(a): a += 1; return a")
        x = np.zeros(1)
        outcomes = run(names, Call("f", (x,)), Call("f", (x,)))
        assert [outcome["value"].data.item() for outcome in outcomes] == [1, 1]
        assert x.item() == 0

    def test_results_and_arguments_are_kept(self):
        names, _ = load("def pair(x): return x + 1, x", "def f(x): return x")
        outcomes = run(
            names,
            Call("pair", (np.ones(1),), argument_names=("x",), slot="made"),
            Call("f", (Slot("made", 0),)),
            Call("f", (Slot("made.x"),)),
        )
        assert [outcome["value"].data.item() for outcome in outcomes[1:]] == [2, 1]

    def test_the_namespace_is_left_as_it_was(self):
        names, _ = load("def f(): return g()", "def g(): return 1")
        before = dict(names)
        run(names, Call("f"), answered=("g", "h"), ask=lambda question: 2)
        assert names == before

    def test_global_generators_are_seeded_and_put_back(self):
        names, _ = load(
            "import random, numpy as np\ndef f(): return [random.random(), np.random.rand()]"
        )
        states = random.getstate(), np.random.get_state()[1].tolist()
        one, two, other = (
            run(names, Call("f"), seed=seed, live=True)[0]["value"] for seed in (1, 1, 2)
        )
        assert same(one, two)
        assert not same(one, other)
        assert states == (random.getstate(), np.random.get_state()[1].tolist())

    def test_floating_point_warnings_are_silent(self):
        names, _ = load("import numpy as np\ndef f(x): return 1 / x")
        assert np.isinf(run(names, Call("f", (np.zeros(1),)))[0]["value"].data).all()

    def test_results_share_what_may_be_sent(self):
        names, _ = load("import numpy as np\ndef f(): return np.zeros(800)")
        outcomes = run(names, *[Call("f")] * 3, limit=16_000)
        assert [outcome["value"].data is None for outcome in outcomes] == [False, False, True]

    def test_deep_results_cross_too(self):
        names, _ = load(
            "def f():\n  deep = {'x': 1}\n  for _ in range(50): deep = [deep, 'a']\n  return deep"
        )
        outcomes = run(names, Call("f"))
        assert same(protocol.decode(protocol.encode(outcomes)), outcomes)

    def test_construct_says_the_type_only(self):
        names, _ = load("class C:\n  def __call__(self, x): return x + 1")
        outcomes = run(names, Construct("C", "made"), Call(Slot("made"), (1,)))
        assert (outcomes[0]["value"], outcomes[1]["value"]) == (Opaque("C"), 2)

    @pytest.mark.parametrize(
        "step", [Mode("made", True), DescribeModule("made"), Backward("made", module="made")]
    )
    def test_steps_for_modules_on_something_else(self, step):
        names, _ = load("def f(): return 3")
        outcome = run(names, Call("f", slot="made"), step)[1]
        assert outcome["raised"]["bases"][:1] == ["Exception"]
        assert "expected a torch.nn.Module, got a value of type int" in outcome["raised"]["message"]


class TestDouble:
    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    def test_dtypes(self, torch):
        names = {"f": lambda dtype: str(dtype)}
        wanted = {torch.float32: "torch.float64", torch.float16: "torch.float64",
                  torch.int64: "torch.int64", torch.bool: "torch.bool"}  # fmt: skip
        for dtype, double in wanted.items():
            assert run(names, Call("f", (dtype,)))[0]["value"] == str(dtype)
            assert run(names, Call("f", (dtype,)), double=True)[0]["value"] == double

    def test_the_default_is_put_back(self, torch):
        names = {"f": lambda: str(torch.get_default_dtype())}
        assert run(names, Call("f"), double=True)[0]["value"] == "torch.float64"
        assert run(names, Call("f"))[0]["value"] == "torch.float32"

    def test_the_generator_of_torch(self, torch):
        names = {"f": lambda: torch.rand(2)}
        before = torch.get_rng_state()
        assert same(*(run(names, Call("f"), seed=5, live=True)[0]["value"] for _ in range(2)))
        assert torch.equal(before, torch.get_rng_state())


class TestTensors:
    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    def crossed(self, value):
        from tests.unit.observe.test_values import crossed

        return crossed(value)

    @pytest.mark.parametrize(
        "name", ["bool", "uint8", "int64", "float16", "bfloat16", "float32", "complex64"]
    )
    def test_every_dtype(self, torch, name):
        found = self.crossed(torch.ones((2, 3), dtype=getattr(torch, name)))
        assert (found.dtype, found.shape, found.framework) == (name, (2, 3), "torch")
        assert found.data.tolist() == [[1] * 3] * 2

    def test_right_forms(self, torch):
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        for value in (x, x * 1, torch.nn.Parameter(x), x.T.T, x.flip(0).flip(0), x.detach()):
            assert self.crossed(value).data.tolist() == [[1, 2], [3, 4]]
        assert self.crossed(x * 1).requires_grad
        assert self.crossed(torch.tensor(3.0)).shape == ()
        conj = torch.tensor([1 + 1j]).conj()
        assert self.crossed(conj).data.tolist() == [1 - 1j]

    def test_a_broadcast_view_is_as_large_as_it_looks(self, torch):
        found = self.crossed(torch.ones(1).expand(10**6, 10**6))
        assert (found.shape, found.data) == ((10**6, 10**6), None)

    def test_what_has_no_plain_numbers(self, torch):
        sparse = torch.eye(3).to_sparse()
        meta = torch.empty(3, device="meta")
        odd = torch.zeros(2, dtype=torch.float8_e4m3fn)
        huge_odd = odd.expand(10**9, 2)
        many = torch.zeros((1,) * 17)
        for value in (sparse, meta, odd, huge_odd, many):
            assert isinstance(self.crossed(value), Opaque)

    def test_a_subclass_that_does_harm(self, torch):
        class Evil(torch.Tensor):
            @classmethod
            def __torch_function__(cls, *args, **kwargs):
                raise AssertionError("a method of the submission was called")

            def detach(self):
                raise AssertionError("a method of the submission was called")

            __eq__ = numpy = cpu = detach

        value = torch.ones(2).as_subclass(Evil)
        assert self.crossed(value).data.tolist() == [1, 1]


class TestServe:
    """Requests in, replies out, over two buffers."""

    def served(self, *requests, answers=()):
        inbox = bytearray()
        for kind, body in requests:
            inbox += protocol.pack_frame(kind, b"n" * 16, protocol.encode(body))
        replies = []

        def read(count):
            if len(inbox) < count:
                raise EOFError
            data = bytes(inbox[:count])
            del inbox[:count]
            return data

        def write(data):
            nonce, kind, _ = protocol.unpack_header(data[: protocol.HEADER.size], 1 << 30)
            body = protocol.decode(data[protocol.HEADER.size :])
            replies.append((kind, body))
            if kind == protocol.ASK:
                answer = protocol.encode(answers[len(replies) - 2])
                inbox[:0] = protocol.pack_frame(protocol.ANSWER, nonce, answer)

        worker.serve(read, write)
        return replies

    def loading(self, source):
        statement = {"source": source, "line": 1, "cell": "cell 1", "binds": []}
        return protocol.LOAD, {"statements": [statement], "options": {}}

    def running(self, *steps, **options):
        return protocol.RUN, program_to_wire(Program(steps, **options))

    def test_load_and_run(self):
        replies = self.served(self.loading("def f(x): return x + 1"), self.running(Call("f", (1,))))
        assert replies[0] == (protocol.LOADED, [None])
        kind, (outcome,) = replies[1]
        assert (kind, outcome["value"]) == (protocol.OBSERVED, 2)

    def test_a_call_is_put_to_the_grader(self):
        source = "def f(x): return g(x) + 1\ndef g(x): return 'mine'"
        replies = self.served(
            self.loading(source),
            self.running(Call("f", (1,)), answered=("g",)),
            answers=[{"value": 41}],
        )
        assert replies[1] == (
            protocol.ASK,
            {"name": "g", "args": [1], "kwargs": {}, "cotangents": None},
        )
        assert replies[2][1][0]["value"] == 42

    def test_a_refused_call(self):
        replies = self.served(
            self.loading("def f(x): return g(x)"),
            self.running(Call("f", (1,)), answered=("g",)),
            answers=[{"refused": "too often"}],
        )
        raised = replies[2][1][0]["raised"]
        assert (raised["type"], raised["message"]) == ("RuntimeError", "too often")


class TestTryEach:
    """Variants of a statement, one after another in one namespace."""

    def tried(self, *sources, before=None, seconds=9.0, restore="def f(x): return x", program=None):
        namespace = {"__name__": "submission"}
        call = Program((Call("f", (1.0,)),)) if program is None else program
        wires = [[{"source": source, "line": 3, "cell": "cell 1"}] for source in sources]
        request = {
            "trials": wires,
            "restore": [{"source": restore, "line": 3, "cell": "cell 1", "binds": []}],
            "before": None if before is None else program_to_wire(before),
            "program": program_to_wire(call),
            "seconds": seconds,
            "flags": 0,
        }
        results = worker.try_each(protocol.decode(protocol.encode(request)), namespace)
        return results[:-1], results[-1], namespace

    def test_each_gives_its_own(self):
        results, _, _ = self.tried("def f(x): return x + 1", "def f(x): return x * 5")
        assert [result["outcomes"][0]["value"] for result in results] == [2.0, 5.0]

    def test_one_that_fails_costs_itself_only(self):
        results, _, _ = self.tried("def f(x): return (", "\n1 / 0", "def f(x): return x")
        assert results[0]["raised"]["type"] == "SyntaxError"
        assert (results[1]["raised"]["type"], results[1]["raised"]["line"]) == (
            "ZeroDivisionError",
            4,
        )
        assert results[2]["outcomes"][0]["value"] == 1.0

    def test_lines_are_the_students(self):
        (result,), _, _ = self.tried("def f(x):\n    return x.nothing")
        assert result["outcomes"][0]["raised"]["line"] == 4

    def test_what_was_there_is_put_back(self):
        _, _, names = self.tried("def f(x): return 7")
        assert names["f"](3) == 3

    def test_the_time_ends_it(self):
        results, last, _ = self.tried(*["def f(x): return x"] * 3, seconds=-1.0)
        assert results == [None] * 3
        assert last["seconds"] > 0

    def test_an_object_is_made_once_and_becomes_each_variant(self):
        source = (
            "class A:\n"
            "    def __init__(self): self.made = object()\n"
            "    def __call__(self, other): return self is other, {}\n"
        )
        namespace = {"__name__": "submission"}
        wires = [
            {"source": source.format(n), "line": 1, "cell": "cell 1", "binds": []} for n in range(3)
        ]
        worker.load(wires[:1], namespace, ())
        request = {
            "trials": [wires[1:2], wires[2:]],
            "restore": wires[:1],
            "before": program_to_wire(Program((Construct("A", "made"),))),
            "program": program_to_wire(Program((Call(Slot("made"), (Slot("made"),)),))),
            "seconds": 9.0,
            "flags": 0,
        }
        results = worker.try_each(request, namespace)[:-1]
        assert [result["outcomes"][0]["value"] for result in results] == [[True, 1], [True, 2]]
